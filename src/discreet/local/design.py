"""Designs: how one of d values is reported, the variance of the estimate, and the choice of a design for a survey.

A report *supports* the values whose set it is in. It supports the person's own value with probability p, any other
with probability q. So (share of supporting reports − q)/(p − q) is an unbiased estimate of a share, with variance
c(1 − c)/(n(p − q)²), where c is the expected share of supporting reports. p and q are exact fractions.

| design | report | n·variance of a rare value at d = 100, ε = 1 |
| --- | --- | --- |
| `Direct` (k-ary; Warner's for two) | a value | 34 |
| `Coins` (two values) | a value | as Warner's, ε ≥ ln 3 with fair coins |
| `Subset` | s values | 3.59 |
| `Projective` | a point | 3.69 |
| `Hashed` (OLH) | a hash and a bin | 3.69 |
| `Unary` (OUE) | about d/(e^ε + 1) values | 3.68 |
| `Unary` (SUE) | about d/(e^(ε/2) + 1) values | 3.92 |
| `Hadamard` | a row | 4.68 |

References: Warner 1965; Kairouz, Bonawitz & Ramage 2016; Ye & Barg 2018 (subsets); Wang et al. 2017 (OUE, OLH);
Acharya, Sun & Zhang 2019 (Hadamard); Feldman, Nelson, Nguyen & Talwar 2022 (projective geometry).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from discreet.local import randomise
from discreet.local.odds import ONE, odds_of
from discreet.local.randomise import Bits, ReportNumbers, count_points

MERSENNE = (1 << 31) - 1  # the prime of the field of hashes
_CELLS = 1 << 24  # the largest table by which reports of a projective design are decoded


@dataclass(frozen=True)
class Design(ABC):
    """How one of `size` values, or a number or a vector, is reported.

    Parameters
    ----------
    size : the number of values, levels or coordinates.
    odds : W, in units of 2^-48: a report of the value's own set is W/2^48 times as likely as any other report.
    """

    size: int
    odds: int
    method: ClassVar[str] = ""
    kind: ClassVar[str] = "choice"
    lasting: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole = all(_is_whole(getattr(self, f.name)) for f in fields(self))
        if not whole or self.size < 2 or self.odds <= ONE or not self._is_sound():
            raise ValueError(f"The numbers of a design by {self.method!r} do not fit together.")

    def _is_sound(self) -> bool:
        return True

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values; at most e^ε."""
        return Fraction(self.odds, ONE)

    @abstractmethod
    def variance(self, share: float = 0.0) -> float:
        """The variance of the estimate, times n."""

    @property
    def largest_variance(self) -> float:
        """The largest variance of the estimate, whatever people answer; of a mean on [-1, 1]; times n."""
        return self.variance()

    @abstractmethod
    def answer(self, value: Any, bits: Bits) -> ReportNumbers:
        """A report of the value."""

    @abstractmethod
    def accepts(self, report: ReportNumbers) -> bool:
        """Whether a report could have been made by this design."""

    def fits(self, question: Any) -> bool:
        """Whether the design is for this question."""
        return question.kind in (self.kind, "below", "prefix") and self.size == question.size

    def describe_numbers(self) -> dict[str, Any]:
        """The parameters of the design, without the number of values and the odds."""
        return {field.name: _as_lists(getattr(self, field.name)) for field in fields(self)[2:]}


@dataclass(frozen=True)
class ShareDesign(Design):
    """A design whose reports support values, by which the share of each value is estimated."""

    @property
    @abstractmethod
    def own_rate(self) -> Fraction:
        """p: the probability that a report supports the value that was given."""

    @property
    @abstractmethod
    def other_rate(self) -> Fraction:
        """q: the probability that a report supports another value."""

    @cached_property
    def rates(self) -> tuple[float, float]:
        """P and q, as floats."""
        return float(self.own_rate), float(self.other_rate)

    @property
    def mean_support(self) -> float:
        """The number of values that a report supports, on average."""
        p, q = self.rates
        return p + (self.size - 1) * q

    def variance(self, share: float = 0.0) -> float:
        """The variance of the estimate of a share, times n."""
        p, q = self.rates
        c = q + share * (p - q)
        return c * (1 - c) / (p - q) ** 2


@dataclass(frozen=True)
class MeanDesign(Design):
    """A design whose reports stand for numbers on [-1, 1] or beyond, by which means of coordinates are estimated."""

    @abstractmethod
    def variance(self, share: float = 0.0) -> float:
        """The variance of the estimated mean, times n."""


def _is_whole(value: Any) -> bool:
    return all(map(_is_whole, value)) if isinstance(value, tuple) else type(value) is int


def _as_lists(value: Any) -> Any:
    return [_as_lists(part) for part in value] if isinstance(value, tuple) else value


def is_one_below(report: ReportNumbers, limit: int) -> bool:
    return len(report) == 1 and 0 <= report[0] < limit


def is_sorted_below(report: ReportNumbers, limit: int) -> bool:
    ascending = all(a < b for a, b in pairwise(report))
    return ascending and (not report or (report[0] >= 0 and report[-1] < limit))


@dataclass(frozen=True)
class Direct(ShareDesign):
    """Randomised response: the value itself, or one of the others."""

    method: ClassVar[str] = "direct"

    @property
    def own_rate(self) -> Fraction:
        return Fraction(self.odds, self.odds + (self.size - 1) * ONE)

    @property
    def other_rate(self) -> Fraction:
        return Fraction(ONE, self.odds + (self.size - 1) * ONE)

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return randomise.answer_direct(bits, value, self.size, self.odds)

    def accepts(self, report: ReportNumbers) -> bool:
        return is_one_below(report, self.size)


@dataclass(frozen=True)
class TwoCoins(Direct):
    """Yes or no, by two coins; the same law as Warner's randomised response at these odds."""

    method: ClassVar[str] = "coins"

    def _is_sound(self) -> bool:
        return self.size == 2

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return randomise.answer_coins(bits, value, self.odds)


@dataclass(frozen=True)
class Subset(ShareDesign):
    """A set of `chosen` values, likely to hold the person's own."""

    chosen: int = 1
    method: ClassVar[str] = "subset"

    def _is_sound(self) -> bool:
        return 1 <= self.chosen < self.size

    @property
    def own_rate(self) -> Fraction:
        inside = self.chosen * self.odds
        return Fraction(inside, inside + (self.size - self.chosen) * ONE)

    @property
    def other_rate(self) -> Fraction:
        return (self.chosen - self.own_rate) / (self.size - 1)

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return randomise.answer_subset(bits, value, self.size, self.chosen, self.odds)

    def accepts(self, report: ReportNumbers) -> bool:
        return len(report) == self.chosen and is_sorted_below(report, self.size)


@dataclass(frozen=True)
class Hadamard(ShareDesign):
    """A row of a Hadamard matrix of `order` rows, likely to have +1 in the value's column."""

    order: int = 4
    method: ClassVar[str] = "hadamard"

    def _is_sound(self) -> bool:
        return self.order.bit_count() == 1 and self.size < self.order <= _CELLS

    @property
    def own_rate(self) -> Fraction:
        return Fraction(self.odds, self.odds + ONE)

    @property
    def other_rate(self) -> Fraction:
        return Fraction(1, 2)

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return randomise.answer_hadamard(bits, value, self.order, self.odds)

    def accepts(self, report: ReportNumbers) -> bool:
        return is_one_below(report, self.order)


@dataclass(frozen=True)
class Projective(ShareDesign):
    """A point of the projective space of `t` coordinates modulo the prime `q`, likely on the value's hyperplane."""

    q: int = 2
    t: int = 2
    method: ClassVar[str] = "projective"

    def _is_sound(self) -> bool:
        return is_prime(self.q) and self.t >= 2 and self.q**self.t <= _CELLS and self.size <= self.points

    @cached_property
    def points(self) -> int:
        """The number of points."""
        return count_points(self.q, self.t)

    @property
    def own_rate(self) -> Fraction:
        inside = count_points(self.q, self.t - 1)
        return Fraction(inside * self.odds, inside * self.odds + (self.points - inside) * ONE)

    @property
    def other_rate(self) -> Fraction:
        inside, both = count_points(self.q, self.t - 1), count_points(self.q, self.t - 2)
        whole = inside * self.odds + (self.points - inside) * ONE
        return Fraction(both * self.odds + (inside - both) * ONE, whole)

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return randomise.answer_projective(bits, value, self.q, self.t, self.odds)

    def accepts(self, report: ReportNumbers) -> bool:
        return is_one_below(report, self.points)


@dataclass(frozen=True)
class Hashed(ShareDesign):
    """A hash x ↦ (a·x + b) mod `prime` mod `bins`, drawn by the person, and the value's bin by randomised response."""

    bins: int = 2
    prime: int = MERSENNE
    method: ClassVar[str] = "hash"

    def _is_sound(self) -> bool:
        return 2 <= self.bins <= self.prime and self.size <= self.prime <= MERSENNE and is_prime(self.prime)

    @property
    def own_rate(self) -> Fraction:
        return Fraction(self.odds, self.odds + (self.bins - 1) * ONE)

    @property
    def other_rate(self) -> Fraction:
        # two values have two different residues, and all such pairs are equally likely: exact, not 1/bins
        few, more = divmod(self.prime, self.bins)
        pairs = more * (few + 1) * few + (self.bins - more) * few * (few - 1)
        together = Fraction(pairs, self.prime * (self.prime - 1))
        return together * self.own_rate + (1 - together) * (1 - self.own_rate) / (self.bins - 1)

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        return randomise.answer_hash(bits, value, self.bins, self.prime, self.odds)

    def accepts(self, report: ReportNumbers) -> bool:
        if len(report) != 3:
            return False
        a, b, heard = report
        return 1 <= a < self.prime and 0 <= b < self.prime and 0 <= heard < self.bins


@dataclass(frozen=True)
class Unary(ShareDesign):
    """A coin for each value; "oue": the own value's coin is fair; "sue": its probability is 1 minus the others'."""

    symmetric: int = 0

    @property
    def method(self) -> str:  # type: ignore[override]
        """The name of the method: "sue" or "oue"."""
        return "sue" if self.symmetric else "oue"

    def _is_sound(self) -> bool:
        return self.symmetric in (0, 1)

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.odds, ONE) ** (2 if self.symmetric else 1)

    @property
    def own_rate(self) -> Fraction:
        return 1 - self.other_rate if self.symmetric else Fraction(1, 2)

    @property
    def other_rate(self) -> Fraction:
        return Fraction(ONE, self.odds + ONE)

    def answer(self, value: int, bits: Bits) -> ReportNumbers:
        whole = self.odds + ONE
        return randomise.answer_unary(
            bits, value, self.size, (self.odds, whole) if self.symmetric else (1, 2), (ONE, whole)
        )

    def accepts(self, report: ReportNumbers) -> bool:
        return is_sorted_below(report, self.size)


def describe_design(design: Any) -> dict[str, Any]:
    """A design as a document of text and whole numbers."""
    return {"method": design.method, "size": design.size, "odds": str(design.odds), **design.describe_numbers()}


# -- which design ------------------------------------------------------------------------------------------------------

METHODS = ("auto", "direct", "coins", "subset", "projective", "hash", "oue", "sue", "hadamard")


def make_design(method: str, size: int, epsilon: Fraction) -> ShareDesign:
    """The design of a method for `size` values, with the parameters of least variance.

    >>> make_design("auto", 100, Fraction(1))
    Projective(size=100, odds=765128314358509, q=3, t=5)
    """
    odds = odds_of(epsilon)
    makers: dict[str, Callable[[], ShareDesign]] = {
        "auto": lambda: choose_design(size, epsilon),
        "direct": lambda: Direct(size, odds),
        "coins": lambda: TwoCoins(size, odds),
        "subset": lambda: best_subset(size, odds),
        "projective": lambda: best_projective(size, odds),
        "hash": lambda: Hashed(size, odds, min(max(2, round(odds / ONE) + 1), MERSENNE)),
        "oue": lambda: Unary(size, odds),
        "sue": lambda: Unary(size, odds_of(epsilon / 2), 1),
        "hadamard": lambda: Hadamard(size, odds, 1 << size.bit_length()),
    }
    if method not in makers:
        raise ValueError(f"The `method` of a choice must be one of {', '.join(METHODS)}. Got {method!r}.")
    if method == "coins" and size != 2:
        raise ValueError(f"Two coins answer a question with two values. Got {size}. Hint: method='auto'.")
    return makers[method]()


def choose_design(size: int, epsilon: Fraction) -> ShareDesign:
    """The design of the shortest report (value, point or subset) with a variance within 1.1 of the best subset's."""
    odds = odds_of(epsilon)
    subset = best_subset(size, odds)
    shorter: list[ShareDesign] = [Direct(size, odds)]
    if size > 2:
        shorter.append(best_projective(size, odds))
    return next((one for one in shorter if one.variance() <= 1.1 * subset.variance()), subset)


def best_subset(size: int, odds: int) -> Subset:
    """The subset design of least variance."""
    middle = size / (odds / ONE + 1)
    near = {min(max(1, math.floor(middle) + step), size - 1) for step in (-1, 0, 1, 2)}
    return min((Subset(size, odds, chosen) for chosen in sorted(near)), key=ShareDesign.variance)


def best_projective(size: int, odds: int) -> Projective:
    """The projective design of least variance among those whose decoding table is small enough."""
    found = []
    for q in filter(is_prime, range(2, math.isqrt(_CELLS) + 1)):
        t = next(t for t in range(2, 64) if count_points(q, t) >= size)
        if q**t <= _CELLS:
            found.append(Projective(size, odds, q, t))
        if q > 4 * (odds / ONE + 1) and found:
            break
    if not found:
        raise ValueError(f"A projective design is for fewer values than {size}. Hint: method='hash'.")
    return min(found, key=ShareDesign.variance)


def is_prime(n: int) -> bool:
    """Whether a number is prime.

    >>> [n for n in range(12) if is_prime(n)]
    [2, 3, 5, 7, 11]
    """
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))
