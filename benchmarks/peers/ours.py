"""This library on the same tasks."""

from __future__ import annotations

import sys
from typing import Any

from tasks import DELTA, Table, run, tell

import discreet as dc
from discreet.models import LinearRegression, LogisticRegression
from discreet.stats import histogram, mean, median


def statistic(ask: Any, **options: Any) -> Any:
    """A statistic with pure ε, n public."""

    def answer(table: Table, epsilon: float, seed: int) -> Any:
        bounds = (table.low, table.high)
        return ask(table.X, bounds=bounds, epsilon=epsilon, n=len(table.X), random_state=seed, **options).value

    return answer


def linear(table: Table, epsilon: float, seed: int) -> Any:
    bounds = dc.Bounds(table.low, table.high, target=(table.y.min(), table.y.max()))
    model = LinearRegression(epsilon, DELTA, bounds=bounds, n=len(table.y), random_state=seed)
    return model.fit(table.X, table.y).predict(table.test_X)


def logistic(table: Table, epsilon: float, seed: int) -> Any:
    bounds = dc.Bounds(table.low, table.high, classes=range(int(table.y.max()) + 1))
    model = LogisticRegression(epsilon, DELTA, bounds=bounds, n=len(table.y), random_state=seed)
    return model.fit(table.X, table.y).predict(table.test_X)


LIBRARY = {
    "mean of 1,000 ages: error in years": statistic(mean),
    "median of 1,000 ages: error in years": statistic(median, confidence=None),  # theirs have no interval
    "histogram of 1,000 ages: share misplaced": statistic(histogram, bins=10),
    "linear, diabetes: R²": linear,
    "linear, 10,000 x 10: R²": linear,
    "logistic, breast cancer: accuracy": logistic,
    "logistic, digits: accuracy": logistic,
}

if __name__ == "__main__":
    tell(run({"discreet": LIBRARY}, "--quick" in sys.argv))
