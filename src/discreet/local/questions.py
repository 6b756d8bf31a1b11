"""BOUND on the device: what a question is about, and the whole number that stands for what a person says.

A value outside of the question never raises, for an error is an answer too: it counts as the public "other" value, or
as one drawn uniformly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.local.randomise import Bits

Value = str | int | bool

LARGEST_WHOLE = (1 << 53) - 1  # of whole numbers that JavaScript knows


@dataclass(frozen=True)
class Choice:
    """One of some values.

    Parameters
    ----------
    values : text, whole numbers or True and False; no two alike.
    other : the value that stands for everything else; without it, what is none of the values counts as one of them,
        drawn uniformly.

    >>> Choice(("A", "B", "other"), other="other").encode("C", Bits())
    2
    """

    values: tuple[Value, ...]
    other: Value | None = None
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if len(self.values) < 2 or not all(map(_is_plain, self.values)):
            raise ValueError("The `values` of a choice must be two or more: text, whole numbers, or True and False.")
        if len(set(map(json.dumps, self.values))) < len(self.values):
            raise ValueError("The `values` of a choice must differ from each other.")
        if self.other is not None and _find(self.values, self.other) is None:
            raise ValueError(f"The `other` of a choice must be one of its values. Got {self.other!r}.")

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)

    def encode(self, value: Any, bits: Bits) -> int:
        """The place of the value."""
        place = _find(self.values, value)
        if place is None and self.other is not None:
            place = _find(self.values, self.other)
        return bits.below(self.size) if place is None else place

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "values": list(self.values), "other": self.other}


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return not any(0xD800 <= ord(letter) < 0xE000 for letter in value)  # what no file can hold
    return type(value) in (int, bool) and abs(value) <= LARGEST_WHOLE


def _find(values: tuple[Value, ...], value: Any) -> int | None:
    """The place of a value; True is not 1."""
    return next((i for i, one in enumerate(values) if type(one) is type(value) and one == value), None)


QUESTIONS: dict[str, Any] = {"choice": Choice}
"""The class of each kind of question."""


def read_question(document: Any) -> Any:
    """The question that `to_dict` described."""
    content = dict(document)
    return QUESTIONS[content.pop("kind")](**content)
