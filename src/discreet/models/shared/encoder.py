"""Encoder: columns of a table as features, by public lists of categories; nothing is learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.labels import codes_of
from discreet.query import Batch

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Encoder:
    """Numbers as they are; a category as one column of 0 and 1 for each of its values but the first.

    Parameters
    ----------
    columns : their names, in order.
    values : for each column the public list of its values, or None for numbers.

    | cell | what it becomes |
    | --- | --- |
    | a number that is missing, or none | NaN: the row counts for nothing |
    | a category that is missing, or not in the list | NaN, in all columns of the category |

    Examples
    --------
    >>> encoder = Encoder(("age", "ward"), (None, ("north", "south")))
    >>> encoder.feature_names
    ('age', 'ward=south')
    >>> encoder(Batch(np.array([[30, "south"], [None, "north"], [50, "?"]], dtype=object))).tolist()
    [[30.0, 1.0], [nan, 0.0], [50.0, nan]]
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...] | None, ...]

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.values):
            raise ValueError(
                f"An Encoder needs one entry of `values` for each of {len(self.columns)} columns. Got "
                f"{len(self.values)}."
            )

    @property
    def is_numeric(self) -> bool:
        """Whether all columns are numbers, so that nothing is to be done."""
        return all(known is None for known in self.values)

    @property
    def is_sound(self) -> bool:
        """Whether columns are text and values are lists of plain labels, as they may not be in a damaged file."""
        lists = [known for known in self.values if known is not None]
        labels = all(isinstance(known, tuple) and known and all(map(_is_plain_label, known)) for known in lists)
        return labels and all(isinstance(name, str) for name in self.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature."""
        pairs = zip(self.columns, self.values, strict=True)
        return tuple(
            one for name, known in pairs for one in ([name] if known is None else _name_indicators(name, known))
        )

    def make_bounds(self, ranges: Mapping[str, tuple[float, float]], **more: Any) -> Bounds:
        """Bounds of the features: the ranges of numbers, and 0 and 1 for the rest; `more` is for `Bounds`."""
        pairs = zip(self.columns, self.values, strict=True)
        found: dict[str, tuple[float, float]] = {}
        for name, known in pairs:
            found |= {name: ranges[name]} if known is None else dict.fromkeys(_name_indicators(name, known), (0.0, 1.0))
        return Bounds(found, **more)

    def __call__(self, batch: Batch) -> Floats:
        """The features of some rows, whose cells are as they come."""
        pairs = zip(batch.X.T, self.values, strict=True)
        parts = [
            parse_numbers(cells)[:, None] if known is None else _make_indicators(cells, known) for cells, known in pairs
        ]
        return np.hstack([np.empty((len(batch.X), 0)), *parts])


def _is_plain_label(label: Any) -> bool:
    return isinstance(label, (str, bool, int, float)) and label == label  # which NaN is not


def _name_indicators(name: str, known: tuple[Any, ...]) -> list[str]:
    return [f"{name}={value}" for value in known[1:]]


def parse_numbers(cells: NDArray[Any]) -> Floats:
    """Cells of a column as floats; what is no number is missing."""
    return np.asarray(cells if cells.dtype.kind == "f" else np.frompyfunc(_parse_number, 1, 1)(cells), np.float64)


def _parse_number(cell: Any) -> float:
    try:
        return float(cell)
    except Exception:  # whatever a strange cell does: it is missing, and tells nothing of itself
        return np.nan


def _make_indicators(cells: NDArray[Any], known: tuple[Any, ...]) -> Floats:
    codes = codes_of(cells, known)[:, None]
    return np.where(codes < 0, np.nan, codes == np.arange(1, len(known)))
