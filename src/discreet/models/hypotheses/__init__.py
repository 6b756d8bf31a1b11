"""The best of a finite class of hypotheses, by the exponential mechanism."""

from discreet.models.hypotheses.families import Conjunction, Stump, conjunctions, stumps
from discreet.models.hypotheses.finite_class import Answers, HypothesisClass

__all__ = [
    "Answers",
    "Conjunction",
    "HypothesisClass",
    "Stump",
    "conjunctions",
    "stumps",
]
