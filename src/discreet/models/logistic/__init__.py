"""Logistic regression."""

from discreet.models.logistic.regression import LogisticRegression

__all__ = ["LogisticRegression"]
