"""Describe a table privately: how many, how large, how spread and how related, within one budget.

    python examples/describe.py

It takes a second or two. The rows are invented.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dc
from discreet.datasets import HOSPITAL, hospital
from discreet.stats import count, covariance, mean, quantile

QUESTION = 0.3  # ε of one mean, or of one set of quartiles
DELTA = 1e-6


def main() -> None:
    """Ask, and show the account."""
    columns, _ = hospital(20_000)
    ledger = dc.Ledger(dc.Budget(2.0, DELTA), data="hospital")
    ranges = dict(zip(HOSPITAL.columns, zip(HOSPITAL.lower, HOSPITAL.upper, strict=True), strict=True))
    say = Console(width=120).print

    rows = count(columns["age"], epsilon=0.1, delta=DELTA, ledger=ledger)
    say(f"About {rows.value:,.0f} rows ({_interval(rows)}).\n")

    table = Table("column", "mean", "95% interval", "quartiles")
    for name in ("age", "bmi", "blood_pressure"):
        average = mean(columns[name], ranges[name], epsilon=QUESTION, delta=DELTA, ledger=ledger)
        quartiles = quantile(columns[name], [0.25, 0.5, 0.75], ranges[name], epsilon=QUESTION, ledger=ledger)
        table.add_row(name, f"{average.value:.1f}", _interval(average), "  ".join(f"{q:.1f}" for q in quartiles.value))
    say(table)

    X = np.column_stack(list(columns.values()))
    bounds = dc.Bounds(HOSPITAL.lower, HOSPITAL.upper)
    spread = covariance(X, bounds, epsilon=1.0, delta=DELTA, ledger=ledger).value
    scale = np.sqrt(np.maximum(np.diag(spread), 1e-12))
    correlations = Table("correlation", *columns)
    for name, line in zip(columns, np.clip(spread / np.outer(scale, scale), -1, 1), strict=True):
        correlations.add_row(name, *(f"{value:+.2f}" for value in line))
    say(correlations)

    say()
    say(ledger.explain(), markup=False)


def _interval(answer: dc.Release) -> str:
    low, high = answer.interval
    return f"{low:,.1f} to {high:,.1f}"


if __name__ == "__main__":
    main()
