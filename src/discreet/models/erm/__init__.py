"""Empirical risk minimisation with noise: on the objective, or on its minimum."""

from discreet.models.erm.objective import objective, objective_pure
from discreet.models.erm.output import output
from discreet.models.erm.problem import Objective
from discreet.models.shared.losses import HuberHinge, Logistic

__all__ = ["HuberHinge", "Logistic", "Objective", "objective", "objective_pure", "output"]
