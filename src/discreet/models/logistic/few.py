"""Where rows are too few for slopes: a class for all of them, or one line, told by nearly all of the budget.

Rows are counted first. Where they are few, the shares of all the rest pay for a choice that they cover (`verdict.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.images import Scaled
from discreet.models.fit import ADAPTS, Fit, Floats
from discreet.models.logistic.counts import Counts, Number, row_count, shares_of, total_rows
from discreet.models.logistic.verdict import verdict
from discreet.task import Task

FEW_ROWS = 60.0  # rows times ε: with fewer, slopes are not worth asking for
AGAIN = 0.08  # of the budget: to count rows once more, or to measure means and squares twice
CLEAR = 2.0  # deviations of the noise by which rows are many enough not to be counted again

ALONE = (
    "too few rows for this budget to learn slopes one by one: a class for all rows, or a line across them, was chosen"
)


def surely_many(rows: Number, task: Task) -> bool:
    """Whether rows are many, as far as one can tell, and need not be counted again."""
    return rows.value - CLEAR * rows.std > _enough(task)


def counted(rows: Number, task: Task, share: Share | None, classes: int) -> tuple[Number, bool]:
    """The number of rows, better known if it is not public, and whether they are few."""
    if share is not None:
        rows = rows.and_by(row_count(task.curator, share, classes))
    return rows, (rows.value if task.n is None else task.n) < _enough(task)


def _enough(task: Task) -> float:
    exchange = 2 if task.budget.neighbours == "replace-one" else 1
    return enough(task.budget.epsilon) * exchange * task.curator.group


def enough(epsilon: float) -> float:
    """Rows that slopes need, where neighbours differ by one of them."""
    return FEW_ROWS / epsilon


def chosen(task: Task, bounds: Bounds, rows: Number, shares: Sequence[Share]) -> Fit:
    """A class or a line, and how often it is right."""
    image, none = Scaled.by(bounds, True), np.zeros((0, 1, task.width))
    theta = verdict(task, image, bounds, none, total_rows(rows, task.n), shares).theta
    task.note(*((ADAPTS, ALONE) if task.n is None else (ALONE,)))
    return Fit(theta, bounds=bounds, narrow=bounds)


def by_shares(counts: Counts, task: Task) -> Floats:
    """Log odds of the classes alone, as coefficients: no slopes."""
    odds = np.log(shares_of(counts))
    levels = np.array([odds[1] - odds[0]]) if len(odds) == 2 else odds - odds.mean()
    theta = np.zeros((len(levels), task.width))
    if task.intercept:
        theta[:, 0] = levels
    return theta
