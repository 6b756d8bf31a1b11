"""Functions of exact totals whose sensitivity is proved: what may stand between a sum and its noise.

The list is short on purpose. `mechanisms/proofs/lipschitz.md` has a proof for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.budget import Neighbours
from discreet.query.integer_sums import Exact
from discreet.query.sums import BoundedSum, OneHot

ROWS = 2.0**32  # totals are projected onto what so many rows can add up to, so that float error has a public bound


@dataclass(frozen=True)
class Lipschitz:
    """A real function of a symmetric matrix, 1-Lipschitz in the spectral norm, computed in floats of stated error.

    `error(d)` is a bound on the float error relative to the Frobenius norm of the matrix.
    """

    name: str
    function: Callable[[np.ndarray], float]
    error: Callable[[int], float]

    def check(self, query: BoundedSum) -> None:
        """Raise if this is not proved for such a sum."""
        if not query.is_symmetric or query.order != 2:
            raise ValueError(f"{self.name!r} is proved for sums of x x' bounded in ℓ2 only.")

    def apply(
        self, total: Exact, query: BoundedSum, widths: tuple[int, int], neighbours: Neighbours
    ) -> tuple[Exact, Fraction]:
        """The value on the query's grid, and its sensitivity with float error charged."""
        one = query.sensitivity(widths, neighbours)
        radius = ROWS * float(one)
        matrix = total.astype(np.float64)
        matrix *= min(1.0, radius / max(float(np.linalg.norm(matrix)), 1e-300))  # a projection: 1-Lipschitz
        value = np.array(round(self.function(matrix)), dtype=object)
        slack = 2 * self.error(len(matrix)) * radius + 1  # float error of either neighbour, and rounding to the grid
        return value, one + Fraction(math.ceil(slack))


def _find_smallest_eigenvalue(matrix: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])


# LAPACK's symmetric eigensolver is backward stable: error <= p(d) u ‖A‖, p(d) modest; 16 d covers it and the projection
smallest_eigenvalue = Lipschitz("smallest eigenvalue", _find_smallest_eigenvalue, lambda d: 16 * d * 2.0**-53)


@dataclass(frozen=True)
class Score:
    """Scores of public candidates, computed from an exact total, in integers."""

    name: str
    function: Callable[[Exact], Exact]
    step: Callable[[Neighbours], Fraction]

    def check(self, query: BoundedSum) -> None:
        """Raise if this is not proved for such a sum."""
        if not isinstance(query.left, OneHot) or query.left.columns > 1 or query.right is not None:
            raise ValueError(f"The score {self.name!r} is proved for counts of one table of cells only.")

    def __call__(self, total: Exact, neighbours: Neighbours) -> tuple[Exact, Fraction]:
        """The scores and how far any of them can move between neighbours."""
        return self.function(total), self.step(neighbours)


def rank_score(rank: Fraction, name: str = "quantile") -> Score:
    """How near each cell of a histogram is to holding the quantile of the given rank.

    With L rows below the cell, U up to and with it, n in all and rank a/b: -max(0, bL - an, an - bU), 0 for the cell
    that holds the quantile. One row moves bL - an by b - a or -a: at most max(a, b - a) added or removed, b exchanged.
    """
    a, b = rank.numerator, rank.denominator

    def function(counts: Exact) -> Exact:
        if counts.sum() > 1 << 40:
            counts = counts.astype(object)
        upto = np.cumsum(counts)
        below, n = upto - counts, upto[-1]
        return np.asarray(np.minimum(0, np.minimum(a * n - b * below, b * upto - a * n)))

    def step(neighbours: Neighbours) -> Fraction:
        return Fraction(max(a, b - a) if neighbours == "add-remove" else b)

    return Score(name, function, step)
