"""A vector of the cube: some coordinates are rounded to signs, and similar signs are reported.

`asked` of the coordinates are drawn independently of their values, and their numbers are rounded at random to −1 or 1.
The report is a vertex of the cube. Vertices that agree with the signs in at least `least` places (the *cap*) have odds
e^ε against the others; the report is uniform inside the cap and outside. With `ties`, a vertex that agrees in exactly
half of the places belongs half to either side.

| method | cap | n·variance per coordinate, over d, at d = 27, ε = 1, 2, 4 |
| --- | --- | --- |
| "cap" | the cap of least variance | 4.65, 1.29, 0.385 |
| "sparse" | one coordinate | 4.65, 1.69, 1.04 |
| "vertices" | all coordinates, agreement in at least half of them | 7.18, 2.62, 1.62 |

References: Duchi, Jordan & Wainwright 2013 (vertices; its constant for even d counts ties fully in both halves);
Nguyên et al. 2016 (one coordinate); Bhowmick et al. 2018 (caps).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import comb
from typing import Any, ClassVar

from discreet.local.design import MeanDesign, is_sorted_below
from discreet.local.odds import ONE
from discreet.local.questions import GRID
from discreet.local.randomise import Bits, ReportNumbers, choose_places

Counts = tuple[int, ...]


def count_agreements(asked: int, least: int, ties: int) -> tuple[Counts, Counts]:
    """The number of vertices that agree in 0, 1 .. `asked` places, inside the cap and outside; twice that with ties.

    >>> count_agreements(2, 1, 1)
    ((0, 2, 2), (2, 2, 0))
    """
    whole = [comb(asked, a) * (2 if ties else 1) for a in range(asked + 1)]
    inside = [x // 2 if ties and a == least else x if a >= least else 0 for a, x in enumerate(whole)]
    return tuple(inside), tuple(x - y for x, y in zip(whole, inside, strict=True))


def answer_cap(
    bits: Bits, value: tuple[int, ...], asked: int, sides: tuple[Counts, Counts], odds: int
) -> ReportNumbers:
    """The asked places in order, with signs: 2·place for minus, 2·place + 1 for plus."""
    places = choose_places(bits, len(value), asked)
    plus = [bits.flip_coin(value[place] + GRID, 2 * GRID) for place in places]
    inside, outside = map(sum, sides)
    near = bits.flip_coin(inside * odds, inside * odds + outside * ONE)
    counts = sides[0] if near else sides[1]
    drawn = bits.draw_below(sum(counts))
    agree = set(choose_places(bits, asked, next(a for a, end in enumerate(accumulate(counts)) if drawn < end)))
    return tuple(2 * place + (plus[i] == (i in agree)) for i, place in enumerate(places))


@dataclass(frozen=True)
class Cap(MeanDesign):
    """A vertex of the cube of `asked` of `size` coordinates, likely to agree with the numbers."""

    asked: int = 1
    least: int = 1
    ties: int = 0
    method: ClassVar[str] = "cap"
    kind: ClassVar[str] = "vector"

    def __post_init__(self) -> None:
        if self.size != 1:  # the base class asks for two values or more; a vector may have one number
            super().__post_init__()
        elif self.odds <= ONE or not self._is_sound():
            raise ValueError("The numbers of a design by 'cap' do not fit together.")

    def _is_sound(self) -> bool:
        half = self.ties in (0, 1) and (not self.ties or 2 * self.least == self.asked)
        return (
            1 <= self.asked <= self.size
            and self.asked <= 4096
            and 2 * self.least >= self.asked
            and (1 <= self.least <= self.asked)
            and half
        )

    def fits(self, question: Any) -> bool:
        if question.kind == "number":
            return self.size == 1
        cube = question.kind == "products" or (question.kind == "vector" and question.shape == "cube")
        return bool(cube and self.size == question.size)

    @cached_property
    def sides(self) -> tuple[Counts, Counts]:
        """The number of vertices by the number of places in which they agree, inside the cap and outside."""
        return count_agreements(self.asked, self.least, self.ties)

    @cached_property
    def scale(self) -> Fraction:
        """The number that a sign stands for, so that its average is the person's number."""
        inside, outside = self.sides
        whole = sum(inside) * self.odds + sum(outside) * ONE
        excess = sum(
            (2 * a - self.asked) * (i * self.odds + o * ONE)
            for a, (i, o) in enumerate(zip(inside, outside, strict=True))
        )
        return Fraction(self.size * whole, excess)  # size/asked · asked·whole/excess

    def variance(self, share: float = 0.0) -> float:
        """The variance of the mean of a coordinate whose numbers are all `share`, on [-1, 1], times n."""
        scale = float(self.scale)
        return scale**2 * self.asked / self.size - share**2

    def answer(self, value: Any, bits: Bits) -> ReportNumbers:
        vector = value if isinstance(value, tuple) else (value,)
        return answer_cap(bits, vector, self.asked, self.sides, self.odds)

    def accepts(self, report: ReportNumbers) -> bool:
        places = tuple(one >> 1 for one in report)
        return len(report) == self.asked and is_sorted_below(places, self.size)


def best_cap(size: int, odds: int) -> Cap:
    """The cap of least variance."""
    found = []
    for asked in range(1, min(size, 40) + 1):
        least = [Cap(size, odds, asked, k) for k in range(asked // 2 + 1, asked + 1)]
        found += least if asked % 2 else [*least, Cap(size, odds, asked, asked // 2, 1)]
    return min(found, key=Cap.variance)


def half_cube(size: int, odds: int) -> Cap:
    """The cap of all coordinates, at least half of which agree, with ties halved."""
    return Cap(size, odds, size, (size + 1) // 2, int(size % 2 == 0))
