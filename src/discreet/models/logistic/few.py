"""Where rows are too few for slopes: the likelier class, told by nearly all of the budget.

A δ brings little to one number: Laplace noise of the same ε has less than half the deviation of Gaussian noise, and
only it tells which of two classes is ahead among a few hundred rows at ε = 0.1. So the plan forks (`budget.instead`):
rows are counted first, and where they are few one count of the classes takes the place of all the rest, which is
Gaussian. The plan costs hardly more than its dearer way. It forks only where no ledger is given: on a shared account
that counts in μ Laplace noise is dear. Where the number of rows is public it need not fork: the one way or the other.
"""

from __future__ import annotations

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Part, Share, instead, radial
from discreet.models.linear.problem import ADAPTS
from discreet.models.logistic.counts import Counts, Number, difference, row_count, shares_of
from discreet.models.logistic.problem import Fit, Floats, Problem

FEW_ROWS, FEW_ROWS_PURE = 26.0, 60.0  # rows times ε: with fewer, slopes are not worth asking for
AGAIN = 0.08  # of the budget: to count rows once more, or to measure means and squares twice
INSTEAD = 0.65  # of ε, for the classes: with so much the other way loses less than a hundredth of its μ²
CLEAR = 2.0  # deviations of the noise by which rows are many enough not to be counted again

CLASSES_ALONE = "too few rows for this budget to learn slopes: only which class is the likelier, and by how much"


def forks(problem: Problem) -> bool:
    """Whether the plan forks."""
    return problem.alone and problem.n is None


def fork() -> tuple[Part, Part]:
    """The parts of a plan where it forks, before all that slopes need."""
    return radial(AGAIN), instead(INSTEAD)


def surely_few(problem: Problem) -> bool:
    """Whether rows are known to be few before anything is asked."""
    return problem.alone and problem.n is not None and problem.n < _enough(problem)


def surely_many(rows: Number, problem: Problem) -> bool:
    """Whether rows are many, as far as one can tell, and need not be counted again."""
    return rows.value - CLEAR * rows.std > _enough(problem)


def counted_again(rows: Number, problem: Problem, share: Share) -> tuple[Number, bool]:
    """The number of rows, better known, and whether they are few."""
    rows = rows.and_by(row_count(problem.curator, share, problem.classes()))
    return rows, rows.value < _enough(problem)


def _enough(problem: Problem) -> float:
    exchange = 2 if problem.budget.neighbours == "replace-one" else 1
    return enough(problem.budget.epsilon, problem.budget.pure) * exchange * problem.curator.group


def enough(epsilon: float, pure: bool) -> float:
    """Rows that slopes need, where neighbours differ by one of them."""
    return (FEW_ROWS_PURE if pure else FEW_ROWS) / epsilon


def likelier(problem: Problem, bounds: Bounds, share: Share, rows: Number) -> Fit:
    """The classes alone, counted with noise bounded in ℓ1."""
    counts = difference(problem.curator, share, problem.classes(), rows)
    notes = (ADAPTS, CLASSES_ALONE) if problem.n is None else (CLASSES_ALONE,)
    return Fit(by_shares(counts, problem), bounds, bounds, notes)


def by_shares(counts: Counts, problem: Problem) -> Floats:
    """Log odds of the classes alone, as coefficients: no slopes."""
    odds = np.log(shares_of(counts))
    levels = np.array([odds[1] - odds[0]]) if len(odds) == 2 else odds - odds.mean()
    theta = np.zeros((len(levels), problem.width))
    if problem.intercept:
        theta[:, 0] = levels
    return theta
