"""Several questions of one survey: a person answers one of them, drawn at random, with the whole ε.

The report names the question that is answered. Its answer has the guarantee ε, and so have a person's answers to all
questions together: replacing all of them changes the probability of a report by a factor of at most e^ε. (Hiding the
question behind invented answers to the others protects one answer with ε, but a person with ln(d(e^ε − 1) + 1) only.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.local.design import Design, describe_design
from discreet.local.randomise import Bits, ReportNumbers


def answer_one(bits: Bits, values: tuple[Any, ...], parts: tuple[Any, ...]) -> ReportNumbers:
    """The number of a question, drawn uniformly, and a report of its value."""
    which = bits.draw_below(len(parts))
    return (which, *parts[which].answer(values[which], bits))


@dataclass(frozen=True)
class OneOf(Design):
    """One of `size` designs, drawn uniformly."""

    parts: tuple[Any, ...] = ()
    method: ClassVar[str] = "one"
    kind: ClassVar[str] = "several"

    def __post_init__(self) -> None:
        if self.size != len(self.parts) or self.size < 1 or self.odds != max(part.odds for part in self.parts):
            raise ValueError("The numbers of a design by 'one' do not fit together.")

    def fits(self, question: Any) -> bool:
        same = len(question.parts) == self.size if hasattr(question, "parts") else False
        return same and all(one.fits(part) for one, part in zip(self.parts, question.parts, strict=True))

    @property
    def ratio(self) -> Fraction:
        return max((part.ratio for part in self.parts), default=Fraction(1))

    @property
    def largest_variance(self) -> float:
        return float(self.size * max(part.largest_variance for part in self.parts))

    def variance(self, share: float = 0.0) -> float:
        """The largest variance of a question's estimate, times n; each question has its part of the people."""
        return self.size * max(float(part.variance(share)) for part in self.parts)

    def answer(self, value: Any, bits: Bits) -> ReportNumbers:
        return answer_one(bits, value, self.parts)

    def accepts(self, report: ReportNumbers) -> bool:
        known = len(report) > 0 and 0 <= report[0] < self.size
        return known and bool(self.parts[report[0]].accepts(report[1:]))

    def describe_numbers(self) -> dict[str, Any]:
        return {"parts": [describe_design(part) for part in self.parts]}
