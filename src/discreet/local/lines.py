"""Designs for a number, on a grid of whole numbers: windows, tables, one bit, and discrete Laplace noise.

A number is first rounded at random to one of two neighbouring levels, of `size` levels over its bounds, so that its
average is kept. Then the level is reported. Every report stands for a number, its *output*. The average output of a
level is the level, so means of outputs are unbiased.

| design | report | worst n·variance on [-1, 1] at ε = 0.5, 1, 2, 4 |
| --- | --- | --- |
| `Cap` of one coordinate (one bit) | a sign | 16.7, 4.68, 1.72, 1.08 |
| `Table` (least variance) | a column | 16.0, 4.00, 0.873, 0.130 |
| `Hybrid` | one bit, or a place | 16.7, 4.27, 0.982, 0.156 |
| `Window` (piecewise) | a place | 21.1, 5.07, 1.09, 0.162 |
| `Laplace` | a place | 32, 8, 2, 0.5 |

References: Duchi, Jordan & Wainwright 2013; Wang et al. 2019 (piecewise, hybrid); Chaudhuri, Guo & Rabbat 2022
(tables of least variance); Li et al. 2020 (square wave).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from discreet.local.design import MeanDesign, is_one_below
from discreet.local.odds import ONE
from discreet.local.questions import GRID
from discreet.local.randomise import Bits, ReportNumbers

OUTPUTS = 1 << 20  # outputs of a table are multiples of 2^-20
_FAR = 40  # Laplace noise is cut off at 40 scales beyond the levels


# -- on the device -----------------------------------------------------------------------------------------------------


def round_level(bits: Bits, value: int, size: int) -> int:
    """One of the two levels beside a number of -GRID .. GRID, so that its average is the number."""
    level, rest = divmod((value + GRID) * (size - 1), 2 * GRID)
    return level + bits.flip_coin(rest, 2 * GRID)


def answer_window(bits: Bits, level: int, size: int, width: int, odds: int) -> ReportNumbers:
    """One of the `width` places from the level on, or one of the others, of size + width − 1 places."""
    if bits.flip_coin(width * odds, width * odds + (size - 1) * ONE):
        return (level + bits.draw_below(width),)
    place = bits.draw_below(size - 1)
    return (place if place < level else place + width,)


def answer_table(bits: Bits, row: tuple[int, ...]) -> ReportNumbers:
    """A column, drawn in proportion to the numbers of a row."""
    drawn = bits.draw_below(sum(row))
    return (next(i for i, end in enumerate(accumulate(row)) if drawn < end),)


def answer_laplace(bits: Bits, level: int, size: int, odds: int, reach: int) -> ReportNumbers:
    """The level plus noise of P(z) ∝ (2^48/odds)^abs(z), clipped to at most `reach` beyond the levels.

    Noise stops at a distance that lies beyond the clipping ends from every level, so the set of reports does not depend
    on the level.
    """
    distance = 0
    negative = bits.flip_coin(1, 2)
    if not bits.flip_coin(odds - ONE, odds + ONE):
        distance = 1
        while distance < size + reach and bits.flip_coin(ONE, odds):
            distance += 1
    place = level + reach + (-distance if negative else distance)
    return (min(max(place, 0), size + 2 * reach - 1),)


# -- designs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LevelDesign(MeanDesign):
    """A level of `size` levels is reported as a number below `report_count`, which stands for an output."""

    kind: ClassVar[str] = "number"

    def fits(self, question: Any) -> bool:
        return bool(question.kind == "number")

    @property
    @abstractmethod
    def report_count(self) -> int:
        """The number of possible reports."""

    @property
    @abstractmethod
    def outputs(self) -> list[Fraction]:
        """The number that each report stands for."""

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return self.answer_level(round_level(bits, value, self.size), bits)

    @abstractmethod
    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        """A report of a level."""

    def accepts(self, report: ReportNumbers) -> bool:
        return is_one_below(report, self.report_count)


@dataclass(frozen=True)
class ListedDesign(LevelDesign):
    """A level design that lists the probabilities of its reports, from which the variance is computed."""

    @abstractmethod
    def list_probabilities(self, level: int) -> list[Fraction]:
        """The probability of each report of a level."""

    @cached_property
    def mean_squares(self) -> list[float]:
        """The mean of the squared outputs at each probed level."""
        outputs = [float(y) for y in self.outputs]
        return [
            sum(float(p) * y * y for p, y in zip(self.list_probabilities(level), outputs, strict=True))
            for level in self._list_probed_levels()
        ]

    @property
    def largest_variance(self) -> float:
        """The largest variance of a mean of outputs, whatever the numbers of people are; times n."""
        return max(self.mean_squares)

    def variance(self, share: float = 1.0) -> float:
        """The largest variance of a mean of outputs among people with the same number, between levels too; times n."""
        means = [2 * level / (self.size - 1) - 1 for level in self._list_probed_levels()]
        pairs = list(zip(means, self.mean_squares, strict=True))
        worst = max(square - mean**2 for mean, square in pairs)
        if self.size > _MANY:
            return worst
        return max(worst, *((a + b) / 2 - ((x + y) / 2) ** 2 for (x, a), (y, b) in pairwise(pairs)))

    def _list_probed_levels(self) -> list[int]:
        """The levels at which the variance can be largest: all of a coarse grid, or an end and the middle."""
        return list(range(self.size)) if self.size <= _MANY else [0, self.size // 2]


_MANY = 33  # a grid with more levels is fine


@dataclass(frozen=True)
class WindowDesign(ListedDesign):
    """A place in a window of `width` places from the level on, likelier than one outside: the piecewise mechanism."""

    width: int = 1
    method: ClassVar[str] = "window"

    def _is_sound(self) -> bool:
        return self.width >= 1 and self.report_count <= 1 << 16

    @property
    def report_count(self) -> int:
        return self.size + self.width - 1

    @cached_property
    def inside(self) -> Fraction:
        """The probability of the window."""
        return Fraction(self.width * self.odds, self.width * self.odds + (self.size - 1) * ONE)

    def list_probabilities(self, level: int) -> list[Fraction]:
        near, far = self.inside / self.width, (1 - self.inside) / (self.size - 1)
        return [near if level <= y < level + self.width else far for y in range(self.report_count)]

    @property
    def outputs(self) -> list[Fraction]:
        # the mean place of a level is a linear function of the level
        width, rest = self.width, (1 - self.inside) / (self.size - 1)
        slope = self.inside - rest * width
        start = self.inside * (width - 1) / 2 + rest * Fraction(
            self.report_count * (self.report_count - 1) - width * (width - 1), 2
        )
        return [(y - start) / slope * 2 / (self.size - 1) - 1 for y in range(self.report_count)]

    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        return answer_window(bits, level, self.size, self.width, self.odds)


@dataclass(frozen=True)
class TableDesign(ListedDesign):
    """A column of a table of whole numbers, drawn in proportion to the level's row.

    The ratio of the largest to the smallest number of a column is at most e^ε, and all rows have the same sum. Both are
    checked, whoever made the table.
    """

    columns: tuple[int, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    method: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(map(tuple, self.rows)))
        super().__post_init__()

    def _is_sound(self) -> bool:
        same = len({sum(row) for row in self.rows}) == 1 and all(len(row) == self.report_count for row in self.rows)
        least = min((x for row in self.rows for x in row), default=0)
        return len(self.rows) == self.size and same and least > 0 and max(map(abs, self.columns)) < 1 << 40

    @property
    def ratio(self) -> Fraction:
        return max(Fraction(max(column), min(column)) for column in zip(*self.rows, strict=True))

    @property
    def report_count(self) -> int:
        return len(self.columns)

    @property
    def outputs(self) -> list[Fraction]:
        return [Fraction(y, OUTPUTS) for y in self.columns]

    def list_probabilities(self, level: int) -> list[Fraction]:
        return [Fraction(x, sum(self.rows[level])) for x in self.rows[level]]

    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        return answer_table(bits, self.rows[level])


@dataclass(frozen=True)
class HybridDesign(WindowDesign):
    """A window with probability `heads`/2^48, else one bit; which of the two does not depend on the number."""

    heads: int = 0
    method: ClassVar[str] = "hybrid"

    def _is_sound(self) -> bool:
        return super()._is_sound() and 0 <= self.heads <= ONE

    @property
    def report_count(self) -> int:
        return self.size + self.width + 1

    @cached_property
    def window(self) -> WindowDesign:
        """The window alone."""
        return WindowDesign(self.size, self.odds, self.width)

    def list_probabilities(self, level: int) -> list[Fraction]:
        share, up = Fraction(self.heads, ONE), Fraction(level, self.size - 1)
        keep = Fraction(self.odds, self.odds + ONE)
        high = up * keep + (1 - up) * (1 - keep)
        return [share * p for p in self.window.list_probabilities(level)] + [
            (1 - share) * (1 - high),
            (1 - share) * high,
        ]

    @property
    def outputs(self) -> list[Fraction]:
        end = Fraction(self.odds + ONE, self.odds - ONE)
        return [*self.window.outputs, -end, end]

    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        if bits.flip_coin(self.heads, ONE):
            return self.window.answer_level(level, bits)
        up = bits.flip_coin(level, self.size - 1)
        return (self.window.report_count + (bits.flip_coin(self.odds, self.odds + ONE) == up),)


@dataclass(frozen=True)
class LaplaceDesign(LevelDesign):
    """The level plus discrete Laplace noise; `odds` is for one step, and all steps of the range together give e^ε."""

    reach: int = 1
    method: ClassVar[str] = "laplace"

    def _is_sound(self) -> bool:
        return 1 <= self.reach <= 1 << 20

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.odds, ONE) ** (self.size - 1)

    @property
    def report_count(self) -> int:
        return self.size + 2 * self.reach

    @property
    def outputs(self) -> list[Fraction]:
        return [Fraction(2 * (y - self.reach), self.size - 1) - 1 for y in range(self.report_count)]

    def variance(self, share: float = 1.0) -> float:
        """The variance of discrete Laplace noise, the same for all numbers, plus a quarter step² for rounding."""
        rate = ONE / self.odds
        return (2 / (self.size - 1)) ** 2 * (2 * rate / (1 - rate) ** 2 + 0.25)

    @property
    def largest_variance(self) -> float:
        return self.variance() + 1

    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        return answer_laplace(bits, level, self.size, self.odds, self.reach)
