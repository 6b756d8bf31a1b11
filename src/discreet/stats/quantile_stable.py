"""Quantiles by their local sensitivity: noise from smooth sensitivity (ME5), or of a scale that passed a test (ME7).

Both look at the rows around the wanted rank: they bound how far the quantile can move when a number of rows change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget
from discreet.curator.procedures import Inside
from discreet.curator.total_noise import noise_after_test
from discreet.engines import Rows
from discreet.events import Approximate, Event, Pure
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.points import DecimalGrid
from discreet.mechanisms.propose import first_stable, threshold_for
from discreet.mechanisms.smooth import Law, add_smooth, smooth_bound
from discreet.stats.ranks import rank_rows

Ints = NDArray[np.int64]

NEGLIGIBLE = 60.0  # changes of rows are examined until their weight in the smooth bound is below e^-60
FARTHEST = 1 << 12  # the most rows on either side that are looked at
PROPOSALS = 48  # the number of proposed scales, each half of the next; the last one is the range


def find_ranges_near(order: Ints, many: int) -> Ints:
    """The local sensitivity of a rank's value after k = 0, 1, … changes of rows; it never decreases with k.

    `order` holds the row of the rank and at least `many` + 1 rows on either side. After k changes, one more change
    moves the value at worst by the largest difference of two rows that are k + 1 places apart and enclose the rank.

    >>> find_ranges_near(np.array([0, 0, 1, 5, 6, 9, 9]), 2).tolist()
    [4, 5]
    """
    middle = len(order) // 2
    return np.array([(order[middle : middle + k + 2] - order[middle - k - 1 : middle + 1]).max() for k in range(many)])


@dataclass(frozen=True)
class SmoothRank(Inside):
    """The row of a rank plus Cauchy noise in proportion to its smooth sensitivity.

    Attributes
    ----------
    grid : public points; rows are moved to the nearest, and the answer is one of them.
    rank : the wanted rank, as a share of the rows.
    about : a released or public number; if given, rows are ranked by their distance from it.
    degrees : degrees of freedom of Student's t noise; with 1, Cauchy noise, β is largest.
    """

    name: str
    grid: DecimalGrid
    rank: Fraction
    about: float | None = None
    degrees: int = 1
    proof: ClassVar[str] = "smooth"
    pays: ClassVar[tuple[type[Event], ...]] = (Pure,)
    replayable: ClassVar[bool] = False  # the scale of its noise depends on the rows

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The noisy value; it has no standard deviation, because the scale of the noise is private."""
        assert isinstance(event, Pure)
        law = Law.student(event.epsilon, self.degrees)
        many = min(math.ceil(NEGLIGIBLE / law.beta), FARTHEST)
        order = rank_rows(rows, self.grid, (self.rank,), many + 3, self.about).order(self.rank, many + 1, self.grid)
        bound = smooth_bound(find_ranges_near(order, many), law.beta, self.grid.size)
        noisy = add_smooth(int(order[many + 1]), bound, law, rng)
        return self.grid.values(min(max(noisy, self.grid.first), self.grid.last)), None


@dataclass(frozen=True)
class StableRank(Inside):
    """The row of a rank plus Gaussian noise of a scale at which it is stable, if there is one.

    The value is the number of the scale that passed and the row, or -1 and the middle of the range.
    """

    name: str
    grid: DecimalGrid
    rank: Fraction
    about: float | None = None
    proof: ClassVar[str] = "propose"
    pays: ClassVar[tuple[type[Event], ...]] = (Approximate,)
    replayable: ClassVar[bool] = False  # private by the chance that its test fails

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """Propose scales, test them, and release with the first that passes."""
        assert isinstance(event, Approximate)
        many = min(2 * threshold_for(event, PROPOSALS), FARTHEST)
        order = rank_rows(rows, self.grid, (self.rank,), many + 3, self.about).order(self.rank, many + 1, self.grid)
        reach = find_ranges_near(order, many)
        scales = [max(1, self.grid.size >> (PROPOSALS - number)) for number in range(PROPOSALS)]
        number = first_stable((int(np.searchsorted(reach, s, "right")) for s in scales), event, PROPOSALS, rng)
        value = (self.grid.first + self.grid.last) // 2
        if number >= 0:
            noise = noise_after_test(event)
            noisy = int(add_gaussian([int(order[many + 1])], scales[number], noise, rng)[0])
            value = min(max(noisy, self.grid.first), self.grid.last)
        return np.array([float(number), float(self.grid.values(value))]), None
