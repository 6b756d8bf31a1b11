"""What may be spent: a budget, dealt out in shares of a plan; and what a share of a plan buys."""

from discreet.budget.budget import (
    Budget,
    Kind,
    Lot,
    Neighbours,
    Part,
    Plan,
    Share,
    approximate,
    check_unit,
    choice,
    counts,
    inside,
    minimum,
    radial,
    refuse_delta,
    warn_of_delta,
)

__all__ = [
    "Budget",
    "Kind",
    "Lot",
    "Neighbours",
    "Part",
    "Plan",
    "Share",
    "approximate",
    "check_unit",
    "choice",
    "counts",
    "inside",
    "minimum",
    "radial",
    "refuse_delta",
    "warn_of_delta",
]
