"""The one place where rows, noise and ledger meet, and the one entrance to it."""

from discreet.budget.plan_costs import deal
from discreet.curator.curator import Bound, Curator
from discreet.curator.total_noise import noise_source

__all__ = [
    "Bound",
    "Curator",
    "deal",
    "noise_source",
]
