"""A number on a line, randomised on a grid of whole numbers: windows, tables, one bit, and discrete Laplace noise.

A number is first rounded at random to one of the `size` levels of a grid over its bounds, so that on average it is
kept; then its level is reported. Every report stands for a number, its *output*; on average over reports the
output is the level, so that means of outputs are unbiased.

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

OUTPUTS = 1 << 20  # outputs of a table are whole numbers of such parts
_FAR = 40  # scales of Laplace noise; what is farther is reported as that far


# -- on the device -----------------------------------------------------------------------------------------------------


def round_level(bits: Bits, value: int, size: int) -> int:
    """One of the two levels beside a number of -GRID .. GRID, so that on average it is kept."""
    level, rest = divmod((value + GRID) * (size - 1), 2 * GRID)
    return level + bits.flip_coin(rest, 2 * GRID)


def answer_window(bits: Bits, level: int, size: int, width: int, odds: int) -> ReportNumbers:
    """One of the `width` places from the level on, or one of the others, of size + width − 1."""
    if bits.flip_coin(width * odds, width * odds + (size - 1) * ONE):
        return (level + bits.draw_below(width),)
    place = bits.draw_below(size - 1)
    return (place if place < level else place + width,)


def answer_table(bits: Bits, row: tuple[int, ...]) -> ReportNumbers:
    """A column, drawn in proportion to the numbers of a row."""
    drawn = bits.draw_below(sum(row))
    return (next(i for i, end in enumerate(accumulate(row)) if drawn < end),)


def answer_laplace(bits: Bits, level: int, size: int, odds: int, reach: int) -> ReportNumbers:
    """The level with noise of P(z) ∝ (2^48/odds)^abs(z); what is more than `reach` beyond the levels counts as there.

    Noise stops at a distance that leads beyond from every level, so that which reports there are depends on no level.
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
    """How one of `size` levels is reported: by a number below `cells`, each with an output on [-1, 1] or so."""

    kind: ClassVar[str] = "number"

    def fits(self, question: Any) -> bool:
        return bool(question.kind == "number")

    @property
    @abstractmethod
    def report_count(self) -> int:
        """How many reports there are."""

    @property
    @abstractmethod
    def outputs(self) -> list[Fraction]:
        """What each report stands for."""

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return self.answer_level(round_level(bits, value, self.size), bits)

    @abstractmethod
    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        """A report of a level."""

    def accepts(self, report: ReportNumbers) -> bool:
        return is_one_below(report, self.report_count)


@dataclass(frozen=True)
class ListedDesign(LevelDesign):
    """A level design that lists the probability of each report; its variance follows from the list."""

    @abstractmethod
    def list_probabilities(self, level: int) -> list[Fraction]:
        """The probability of each report."""

    @cached_property
    def mean_squares(self) -> list[float]:
        """The mean of squared outputs of a level: of all, or of the lowest and the middle one of a fine grid."""
        outputs = [float(y) for y in self.outputs]
        return [
            sum(float(p) * y * y for p, y in zip(self.list_probabilities(level), outputs, strict=True))
            for level in self._list_probed_levels()
        ]

    @property
    def largest_variance(self) -> float:
        """The largest variance of a mean of outputs, whatever the numbers of people; times n."""
        return max(self.mean_squares)

    def variance(self, share: float = 1.0) -> float:
        """The largest variance of a mean of outputs, between levels too, of people of one number; times n."""
        means = [2 * level / (self.size - 1) - 1 for level in self._list_probed_levels()]
        pairs = list(zip(means, self.mean_squares, strict=True))
        worst = max(square - mean**2 for mean, square in pairs)
        if self.size > _MANY:
            return worst
        return max(worst, *((a + b) / 2 - ((x + y) / 2) ** 2 for (x, a), (y, b) in pairwise(pairs)))

    def _list_probed_levels(self) -> list[int]:
        """The levels at which the variance can be largest: all, or the ends and the middle of a fine grid."""
        return list(range(self.size)) if self.size <= _MANY else [0, self.size // 2]


_MANY = 33


@dataclass(frozen=True)
class WindowDesign(ListedDesign):
    """A place of a window of `width` from the level on, likelier than one outside: the piecewise mechanism."""

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
        # the mean place of a level is linear in it
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

    No column's largest number is more than e^ε times its smallest, rows have one sum: that is checked, whoever made it.
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
    """A window with probability `heads`/2^48, else one bit of the ends, which is known not to depend on the number."""

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
    """The level with discrete Laplace noise; `odds` is for one step, so that all steps together keep the promise."""

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
        """Of discrete Laplace noise, the same for all numbers; rounding adds a quarter of a step at most."""
        rate = ONE / self.odds
        return (2 / (self.size - 1)) ** 2 * (2 * rate / (1 - rate) ** 2 + 0.25)

    @property
    def largest_variance(self) -> float:
        return self.variance() + 1

    def answer_level(self, level: int, bits: Bits) -> ReportNumbers:
        return answer_laplace(bits, level, self.size, self.odds, self.reach)
