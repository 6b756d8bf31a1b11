"""Naive Bayes: features that are independent given the class, learnt from one release of sums over each class."""

from discreet.models.naive_bayes.categorical import CategoricalNB, MixedNB
from discreet.models.naive_bayes.gaussian import GaussianNB

__all__ = ["CategoricalNB", "GaussianNB", "MixedNB"]
