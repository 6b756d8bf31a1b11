"""Learning from rows as they come: online convex programming, private for the whole stream."""

from discreet.models.online.classifier import OnlineClassifier

__all__ = ["OnlineClassifier"]
