"""Questions, and BOUND on the device: the whole number that stands for a person's answer.

A value that the question does not list never raises, because an error would reveal something. It is replaced by the
public "other" value, or by a value drawn uniformly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isqrt
from typing import Any, ClassVar

from discreet.local.randomise import Bits

Value = str | int | bool

GRID = 1 << 20  # numbers become places from -GRID to GRID
LARGEST_WHOLE = (1 << 53) - 1  # the largest exact whole number of JavaScript


@dataclass(frozen=True)
class ChoiceQuestion:
    """A choice of one value.

    Parameters
    ----------
    values : text, whole numbers or True and False; all different.
    other : the value that stands for everything else; if None, an unknown value is replaced by a random one.

    >>> ChoiceQuestion(("A", "B", "other"), other="other").encode_answer("C", Bits())
    2
    """

    values: tuple[Value, ...]
    other: Value | None = None
    kind: ClassVar[str] = "choice"
    measure: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if len(self.values) < 2 or not all(map(_is_plain, self.values)):
            raise ValueError("The `values` of a choice must be two or more: text, whole numbers, or True and False.")
        if len(set(map(json.dumps, self.values))) < len(self.values):
            raise ValueError("The `values` of a choice must differ from each other.")
        if self.other is not None and find_value(self.values, self.other) is None:
            raise ValueError(f"The `other` of a choice must be one of its values. Got {self.other!r}.")

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    def encode_answer(self, value: Any, bits: Bits) -> int:
        """The place of the value."""
        place = find_value(self.values, value)
        if place is None and self.other is not None:
            place = find_value(self.values, self.other)
        return bits.draw_below(self.size) if place is None else place

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "values": list(self.values), "other": self.other}


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return not any(0xD800 <= ord(letter) < 0xE000 for letter in value)  # surrogates cannot be written to a file
    return type(value) in (int, bool) and abs(value) <= LARGEST_WHOLE


def find_value(values: tuple[Value, ...], value: Any) -> int | None:
    """The place of a value, or None; True is not 1."""
    return next((i for i, one in enumerate(values) if type(one) is type(value) and one == value), None)


@dataclass(frozen=True)
class NumberQuestion:
    """A number within public bounds; numbers outside are clipped, and anything else counts as the middle.

    >>> question = NumberQuestion("0", "10")
    >>> question.encode_answer(5, Bits()), question.encode_answer(1e300, Bits()) == GRID
    (0, True)
    """

    low: str
    high: str
    kind: ClassVar[str] = "number"
    measure: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, write_bound(name, getattr(self, name)))
        if not Fraction(self.low) < Fraction(self.high):
            raise ValueError(f"The bounds of a number must be low < high. Got {self.low}, {self.high}.")

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds."""
        return Fraction(self.low), Fraction(self.high)

    def encode_answer(self, value: Any, bits: Bits) -> int:
        """The place of a number on a grid from -GRID to GRID."""
        return place_number(value, *self.ends)

    def decode_mean(self, value: Any) -> Any:
        """A mean on [-1, 1] or beyond, in the units of the bounds."""
        low, high = map(float, self.ends)
        return (low + high) / 2 + (high - low) / 2 * value

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class VectorQuestion:
    """`size` numbers: each within public bounds ("cube"), or all together no longer than `high` ("ball").

    A value that is not a list of `size` numbers counts as the centre, as does an entry that is not a number; a vector
    that is too long is shortened.
    """

    size: int
    low: str
    high: str
    shape: str = "cube"
    kind: ClassVar[str] = "vector"
    measure: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, write_bound(name, getattr(self, name)))
        low, high = self.ends
        if type(self.size) is not int or not 1 <= self.size <= 1 << 16:
            raise ValueError(f"The `size` of a vector must be a whole number within [1, 65536]. Got {self.size!r}.")
        if self.shape not in ("cube", "ball") or low >= high or (self.shape == "ball" and low != -high):
            raise ValueError("A vector is in a cube, low < high, or in a ball around 0, low = -high.")

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds of each number."""
        return Fraction(self.low), Fraction(self.high)

    def encode_answer(self, value: Any, bits: Bits) -> tuple[int, ...]:
        """The places of the numbers on a grid from -GRID to GRID; in a ball, within the unit ball."""
        parts = list(value) if hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) else []
        low, high = self.ends
        places = [place_number(part, low, high) for part in parts] if len(parts) == self.size else [0] * self.size
        if self.shape == "ball":
            longest = isqrt(sum(x * x for x in places)) + 1
            if longest > GRID:
                places = [x * GRID // longest if x >= 0 else -(-x * GRID // longest) for x in places]
        return tuple(places)

    def decode_mean(self, value: Any) -> Any:
        """A mean vector on [-1, 1] or beyond, in the units of the bounds."""
        low, high = map(float, self.ends)
        return (low + high) / 2 + (high - low) / 2 * value

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "size": self.size, "low": self.low, "high": self.high, "shape": self.shape}


@dataclass(frozen=True)
class BelowQuestion:
    """Whether a number is below a public threshold; anything that is not a number is not below."""

    threshold: str
    kind: ClassVar[str] = "below"
    measure: ClassVar[str] = "share"
    values: ClassVar[tuple[bool, bool]] = (False, True)
    size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", write_bound("threshold", self.threshold))

    def encode_answer(self, value: Any, bits: Bits) -> int:
        """1 if the number is below the threshold, else 0."""
        number = read_number(value)
        return int(number is not None and number < Fraction(self.threshold))

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "threshold": self.threshold}


@dataclass(frozen=True)
class TreeQuestion:
    """A number within public bounds, as its cell in each of `depth` divisions, each `base` times finer."""

    low: str
    high: str
    base: int = 4
    depth: int = 5
    kind: ClassVar[str] = "tree"
    measure: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", NumberQuestion(self.low, self.high).low)
        object.__setattr__(self, "high", NumberQuestion(self.low, self.high).high)
        if not (type(self.base) is type(self.depth) is int and self.base > 1 and 1 <= self.depth <= 16):
            raise ValueError("The `base` and `depth` of a tree must be whole numbers, base > 1, depth within [1, 16].")
        if self.base**self.depth > 1 << 16:
            raise ValueError("A tree has 65,536 leaves at most.")

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds."""
        return Fraction(self.low), Fraction(self.high)

    @property
    def parts(self) -> tuple[ChoiceQuestion, ...]:
        """Each division as a question."""
        return tuple(ChoiceQuestion(tuple(range(self.base**level))) for level in range(1, self.depth + 1))

    def encode_answer(self, value: Any, bits: Bits) -> tuple[int, ...]:
        """The cell of the number in each division."""
        place = min(place_number(value, *self.ends) + GRID, 2 * GRID - 1)
        return tuple(place * self.base**level // (2 * GRID) for level in range(1, self.depth + 1))

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "low": self.low, "high": self.high, "base": self.base, "depth": self.depth}


@dataclass(frozen=True)
class SeveralQuestions:
    """Several questions, each with a name; the answer is a dictionary."""

    names: tuple[str, ...]
    parts: tuple[Any, ...]
    kind: ClassVar[str] = "several"
    measure: ClassVar[str] = "estimate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        read = [read_question(part) if isinstance(part, dict) else part for part in self.parts]
        object.__setattr__(self, "parts", tuple(read))
        named = len(set(self.names)) == len(self.names) == len(self.parts) >= 1
        if not named or not all(isinstance(name, str) and name for name in self.names):
            raise ValueError("The questions of a survey must have a name each, no two alike.")
        if any(part.kind in ("several", "tree") for part in self.parts):
            raise ValueError("A question of several is a choice, a number, a vector or a threshold.")

    def encode_answer(self, value: Any, bits: Bits) -> tuple[Any, ...]:
        """The code of the answer to each question, from a dictionary; a missing answer counts as an unknown value."""
        answers = value if isinstance(value, dict) else {}
        return tuple(
            part.encode_answer(answers.get(name), bits) for name, part in zip(self.names, self.parts, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "names": list(self.names), "parts": [part.to_dict() for part in self.parts]}


@dataclass(frozen=True)
class TextQuestion:
    """Any text; anything else counts as the empty text."""

    kind: ClassVar[str] = "text"
    measure: ClassVar[str] = "share"

    def encode_answer(self, value: Any, bits: Bits) -> str:
        """The text."""
        return value if isinstance(value, str) and _is_plain(value) else ""

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind}


@dataclass(frozen=True)
class PrefixQuestion:
    """The beginning of a text, among given prefixes of one length; the last place is for none of them."""

    prefixes: tuple[str, ...]
    kind: ClassVar[str] = "prefix"
    measure: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefixes", tuple(self.prefixes))
        texts = all(isinstance(one, str) and one and _is_plain(one) for one in self.prefixes)
        if (
            not self.prefixes
            or not texts
            or len(set(map(len, self.prefixes))) > 1
            or len(set(self.prefixes)) < self.size - 1
        ):
            raise ValueError("The `prefixes` of a question must be texts of one length, no two alike.")

    @property
    def size(self) -> int:
        """The number of possible answers."""
        return len(self.prefixes) + 1

    @property
    def values(self) -> tuple[str, ...]:
        """The prefixes, and the empty text for none of them."""
        return (*self.prefixes, "")

    def encode_answer(self, value: Any, bits: Bits) -> int:
        """The place of the text's beginning."""
        begin = value[: len(self.prefixes[0])] if isinstance(value, str) else None
        return self.prefixes.index(begin) if begin in self.prefixes else len(self.prefixes)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"kind": self.kind, "prefixes": list(self.prefixes)}


def read_number(value: Any) -> Any:
    """A number as it is, or as a float; None for anything else."""
    if isinstance(value, bool) or not (isinstance(value, (int, float, Fraction)) or hasattr(value, "__float__")):
        return None
    number = value if isinstance(value, (int, Fraction)) else float(value)
    return number if number == number else None


def place_number(value: Any, low: Fraction, high: Fraction) -> int:
    """The nearest place of a grid from -GRID to GRID over the bounds; computed exactly, as a float is a fraction."""
    number = read_number(value)
    if number is None:
        return 0
    if number in (float("inf"), float("-inf")):
        return GRID if number > 0 else -GRID
    share = (Fraction(number) - low) / (high - low)
    return min(max(floor(share * 2 * GRID + Fraction(1, 2)), 0), 2 * GRID) - GRID


def write_bound(name: str, value: Any) -> str:
    """A bound as the decimal in which it was written.

    >>> write_bound("low", -1.5), write_bound("high", 10)
    ('-1.5', '10')
    """
    number = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    try:
        exact = Fraction(str(value)) if number else None
    except (ValueError, ZeroDivisionError):
        exact = None
    if exact is None or abs(exact) > 10**15:
        raise ValueError(f"The `{name}` of a survey must be a finite number within ±1e15. Got {value!r}.")
    return str(value) if isinstance(value, str) else repr(value).removesuffix(".0")


QUESTIONS: dict[str, Any] = {
    one.kind: one
    for one in (
        ChoiceQuestion,
        NumberQuestion,
        VectorQuestion,
        BelowQuestion,
        TreeQuestion,
        SeveralQuestions,
        TextQuestion,
        PrefixQuestion,
    )
}
"""The class of each kind of question."""


def read_question(document: Any) -> Any:
    """The question that `to_dict` described."""
    content = dict(document)
    return QUESTIONS[content.pop("kind")](**content)
