"""Columns: what privacy.toml says of each, strictly checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.arguments import is_number

KINDS = ("number", "category", "skip")


@dataclass(frozen=True)
class Column:
    """A column: a number within [low, high], one of public values, or one that is never read."""

    name: str
    kind: str
    low: float | None = None
    high: float | None = None
    values: tuple[Any, ...] = ()
    whole: bool = False

    def __post_init__(self) -> None:
        if not printable(self.name):
            raise ValueError("A column's name must be printable text of 1 to 200 characters.")
        if not isinstance(self.whole, bool) or (self.whole and self.kind != "number"):
            raise ValueError(f"The `whole` of {self.name!r} must be true or false, and is for numbers.")
        if self.kind not in KINDS:
            raise ValueError(f"The `kind` of {self.name!r} must be one of {list(KINDS)}. Got {self.kind!r}.")
        if self.kind == "number":
            self._check_range()
        if self.kind == "category":
            self._check_values()
        if (self.kind != "number" and (self.low, self.high) != (None, None)) or (
            self.kind != "category" and self.values
        ):
            raise ValueError(
                f"The column {self.name!r} is of kind {self.kind!r}: `low` and `high` belong to numbers, `values` to "
                "categories."
            )

    @property
    def sort(self) -> str:
        """What its cells are: "number", "text" or "truth"."""
        return _sort(self.values[0]) or "" if self.kind == "category" else "number"

    def _check_range(self) -> None:
        if self.low is None or self.high is None:
            raise ValueError(
                f"The column {self.name!r} is a number without `low` and `high`. Hint: write the range that such "
                f'numbers have by their meaning (an age: 0 to 120), or kind = "skip" to leave the column out.'
            )
        if not (_number(self.low) and _number(self.high) and self.low < self.high):
            raise ValueError(
                f"The column {self.name!r} needs finite numbers low < high. Got {self.low!r} and {self.high!r}."
            )
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise ValueError(f"The column {self.name!r} is of whole numbers: so must be `low` and `high`.")

    def _check_values(self) -> None:
        if len(self.values) < 2 or len(set(self.values)) < len(self.values):
            raise ValueError(
                f"The category {self.name!r} needs two or more distinct `values`. Hint: list those that there may be, "
                "from a code book; they are never collected from the data, since a rare one would give its holder away."
            )
        kinds = {_sort(value) for value in self.values}
        if len(kinds) > 1 or None in kinds:
            raise ValueError(f"The `values` of {self.name!r} must be all text, all numbers, or all true and false.")


def printable(text: str) -> bool:
    """Whether a name can be shown in a terminal as it is."""
    return 0 < len(text) <= 200 and text.isprintable()


def _number(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _sort(value: Any) -> str | None:
    if isinstance(value, bool):
        return "truth"
    return "number" if _number(value) else "text" if isinstance(value, str) else None
