"""Lasting surveys: a permanent response is drawn once per cell of a value, and each report is drawn from it.

A *cell* is all that a design reveals of a value: its bin, bits or bucket. The permanent response to a cell is drawn
once, at ε, from the device's secret. All reports are drawn from it, so they are its post-processing. The first answer
pays for `cells` cells; a value in a cell that is not paid for repeats the previous response.

| design | cell of a value | content of a report |
| --- | --- | --- |
| `Loloha` | its bin, of `bins` | a bin, by a hash that the device keeps |
| `Rappor` | the value itself: the vocabulary is open | bits of a Bloom filter |
| `BitFlip` | its bucket, if it is one of the `asked` ones, or none | a bit for each of these buckets |

The guarantee protects what values were, not when they changed: for two histories that move between cells at the same
times, the probabilities of all reports together differ by a factor of at most e^(cells·ε). With one cell, this holds
for any two histories. Proof: `mechanisms/proofs/local.md`.

References: Erlingsson, Pihur & Korolova 2014 (RAPPOR); Ding, Kulkarni & Yekhanin 2017 (dBitFlip); Arcolezi et al. 2023
(LOLOHA).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any, ClassVar

from discreet.local.design import MERSENNE, ShareDesign, is_prime, is_sorted_below
from discreet.local.odds import ONE, odds_of
from discreet.local.randomise import Bits, ReportNumbers, answer_direct, choose_places

Settled = tuple[int, ...]


@dataclass(frozen=True)
class Lasting(ShareDesign):
    """A design with permanent responses that a device keeps; `odds` are those of a permanent response."""

    cells: int = 1
    lasting: ClassVar[bool] = True

    @abstractmethod
    def draw_setup(self, bits: Bits) -> Settled:
        """What the device keeps for this survey, independent of the value; reports reveal it."""

    @abstractmethod
    def find_cell(self, value: Any, settled: Settled) -> Any:
        """The cell of a value: all that is revealed of it."""

    @abstractmethod
    def draw_response(self, cell: Any, settled: Settled, bits: Bits) -> ReportNumbers:
        """The permanent response to a cell."""

    @abstractmethod
    def draw_report(self, response: ReportNumbers, settled: Settled, bits: Bits) -> ReportNumbers:
        """A report, drawn from a permanent response."""

    def answer(self, value: Any, bits: Bits) -> ReportNumbers:
        settled = self.draw_setup(bits)
        return self.draw_report(self.draw_response(self.find_cell(value, settled), settled, bits), settled, bits)

    def _is_sound(self) -> bool:
        return 1 <= self.cells <= 1 << 16 and self._are_parts_sound()

    @abstractmethod
    def _are_parts_sound(self) -> bool:
        """Whether the parameters of this design fit together."""


@dataclass(frozen=True)
class Loloha(Lasting):
    """A value's bin by a hash that the device keeps: a permanent randomised response, randomised again per report."""

    bins: int = 2
    instant: int = 0
    prime: int = MERSENNE
    method: ClassVar[str] = "loloha"

    def _are_parts_sound(self) -> bool:
        hashed = 2 <= self.bins <= self.prime and self.size <= self.prime <= MERSENNE and is_prime(self.prime)
        return hashed and self.instant > ONE

    @property
    def own_rate(self) -> Fraction:
        keep, again = (Fraction(w, w + (self.bins - 1) * ONE) for w in (self.odds, self.instant))
        return keep * again + (1 - keep) * (1 - again) / (self.bins - 1)

    @property
    def other_rate(self) -> Fraction:
        few, more = divmod(self.prime, self.bins)
        pairs = more * (few + 1) * few + (self.bins - more) * few * (few - 1)
        together = Fraction(pairs, self.prime * (self.prime - 1))
        return together * self.own_rate + (1 - together) * (1 - self.own_rate) / (self.bins - 1)

    def draw_setup(self, bits: Bits) -> Settled:
        return 1 + bits.draw_below(self.prime - 1), bits.draw_below(self.prime)

    def find_cell(self, value: int, settled: Settled) -> int:
        return (settled[0] * value + settled[1]) % self.prime % self.bins

    def draw_response(self, cell: int, settled: Settled, bits: Bits) -> ReportNumbers:
        return answer_direct(bits, cell, self.bins, self.odds)

    def draw_report(self, response: ReportNumbers, settled: Settled, bits: Bits) -> ReportNumbers:
        return (*settled, *answer_direct(bits, response[0], self.bins, self.instant))

    def accepts(self, report: ReportNumbers) -> bool:
        if len(report) != 3:
            return False
        a, b, heard = report
        return 1 <= a < self.prime and 0 <= b < self.prime and 0 <= heard < self.bins


@dataclass(frozen=True)
class Rappor(Lasting):
    """A Bloom filter of `size` bits by `hashes` hashes of one of `cohorts`; each bit is kept with `odds`, else flipped.

    If `instant`, a report shows a bit of the response that is 1 with probability 3/4, and one that is 0 with 1/2.
    """

    hashes: int = 1
    cohorts: int = 16
    instant: int = 0
    method: ClassVar[str] = "rappor"
    kind: ClassVar[str] = "text"

    def _are_parts_sound(self) -> bool:
        return 1 <= self.hashes < self.size <= 1 << 12 and 1 <= self.cohorts <= 1 << 12 and self.instant in (0, 1)

    def fits(self, question: Any) -> bool:
        return bool(question.kind == "text")

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.odds, ONE) ** (
            2 * self.hashes
        )  # the filters of two values differ in at most 2·hashes bits

    @property
    def own_rate(self) -> Fraction:
        keep = Fraction(self.odds, self.odds + ONE)
        return keep * Fraction(3, 4) + (1 - keep) * Fraction(1, 2) if self.instant else keep

    @property
    def other_rate(self) -> Fraction:
        keep = Fraction(ONE, self.odds + ONE)
        return keep * Fraction(3, 4) + (1 - keep) * Fraction(1, 2) if self.instant else keep

    def draw_setup(self, bits: Bits) -> Settled:
        return (bits.draw_below(self.cohorts),)

    def find_cell(self, value: str, settled: Settled) -> str:
        return value

    def find_bits(self, value: str, cohort: int) -> tuple[int, ...]:
        """The bits of a value in a cohort; public."""
        words = (sha256(f"{cohort}/{i}/{value}".encode()).digest() for i in range(self.hashes))
        return tuple(sorted({int.from_bytes(word, "big") % self.size for word in words}))

    def draw_response(self, cell: str, settled: Settled, bits: Bits) -> ReportNumbers:
        mine, whole = set(self.find_bits(cell, settled[0])), self.odds + ONE
        return tuple(i for i in range(self.size) if bits.flip_coin(self.odds if i in mine else ONE, whole))

    def draw_report(self, response: ReportNumbers, settled: Settled, bits: Bits) -> ReportNumbers:
        if self.instant:
            shown, response = set(response), ()
            response = tuple(i for i in range(self.size) if bits.flip_coin(3 if i in shown else 2, 4))
        return (*settled, *response)

    def accepts(self, report: ReportNumbers) -> bool:
        return len(report) > 0 and 0 <= report[0] < self.cohorts and is_sorted_below(report[1:], self.size)


@dataclass(frozen=True)
class BitFlip(Lasting):
    """A bit for each of the `asked` buckets that the device keeps: whether the value is in it, or the opposite."""

    asked: int = 1
    method: ClassVar[str] = "bitflip"

    def _are_parts_sound(self) -> bool:
        return 1 <= self.asked <= self.size

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.odds, ONE) ** min(2, self.asked)

    @property
    def own_rate(self) -> Fraction:
        return Fraction(self.odds, self.odds + ONE)

    @property
    def other_rate(self) -> Fraction:
        return Fraction(ONE, self.odds + ONE)

    def variance(self, share: float = 0.0) -> float:
        """The variance of the estimate of a share, times n; only some people are asked about it."""
        return super().variance(share) * self.size / self.asked

    def draw_setup(self, bits: Bits) -> Settled:
        return tuple(choose_places(bits, self.size, self.asked))

    def find_cell(self, value: int, settled: Settled) -> int:
        return value if value in settled else -1

    def draw_response(self, cell: int, settled: Settled, bits: Bits) -> ReportNumbers:
        whole = self.odds + ONE
        return tuple(int(bits.flip_coin(self.odds if bucket == cell else ONE, whole)) for bucket in settled)

    def draw_report(self, response: ReportNumbers, settled: Settled, bits: Bits) -> ReportNumbers:
        return tuple(2 * bucket + bit for bucket, bit in zip(settled, response, strict=True))

    def accepts(self, report: ReportNumbers) -> bool:
        return len(report) == self.asked and is_sorted_below(tuple(one >> 1 for one in report), self.size)


def make_loloha(size: int, epsilon: Fraction, first: Fraction, bins: int, cells: int | None) -> Loloha:
    """The design with a permanent response at ε, whose first report alone has the guarantee `first`."""
    odds = odds_of(epsilon)
    a, g = odds / ONE, bins
    b = odds_of(first) / ONE
    # a response kept with P, a report kept with R: (PR + (1-P)(1-R)/(g-1)) : ((1-P)R/(g-1) + …) = e^first
    keep, wanted = a / (a + g - 1), b / (b + g - 1)
    again = (wanted - (1 - keep) / (g - 1)) / (keep - (1 - keep) / (g - 1))
    instant = int(again / (1 - again) * (g - 1) * ONE)
    return Loloha(size, odds, g if cells is None else cells, g, instant)
