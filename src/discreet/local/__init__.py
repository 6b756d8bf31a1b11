"""Local privacy: every person adds noise on their own device, so the collector need not be trusted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.local.bulk import answer_many
    from discreet.local.device import Device, Report
    from discreet.local.distribution import Bisection, Distribution
    from discreet.local.estimate import Estimate
    from discreet.local.heavy import HeavyHitters
    from discreet.local.models import GradientOracle, LinearRegression, LogisticRegression
    from discreet.local.shuffle import amplified_epsilon
    from discreet.local.survey import Survey

__all__ = [
    "Bisection",
    "Device",
    "Distribution",
    "Estimate",
    "GradientOracle",
    "HeavyHitters",
    "LinearRegression",
    "LogisticRegression",
    "Report",
    "Survey",
    "amplified_epsilon",
    "answer_many",
]

_HOMES = {
    "Bisection": "distribution",
    "Device": "device",
    "Distribution": "distribution",
    "Estimate": "estimate",
    "GradientOracle": "models",
    "HeavyHitters": "heavy",
    "LinearRegression": "models",
    "LogisticRegression": "models",
    "Report": "device",
    "Survey": "survey",
    "amplified_epsilon": "shuffle",
    "answer_many": "bulk",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a device needs no NumPy."""
    if name in _HOMES:
        return getattr(import_module(f"discreet.local.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
