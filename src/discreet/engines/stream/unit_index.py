"""Units whose rows lie in many pieces: which there are, how many rows each has, and which of them rank first.

Memory is in proportion to the number of units: about 150 bytes for each (400 while their names are made), and 24 for
each row of a unit that may count.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.arrow import find_distinct
from discreet.engines.units import number_units, select_first_rows

SOME = 1 << 20  # rows to gather before those that rank first are picked


class UnitIndex:
    """The units of a column, numbered as they come; units that are equal by value are one.

    >>> index = UnitIndex()
    >>> index.add(*find_distinct(pa.array(["a", None, "b", "a"])))
    >>> index.encode_units(pa.array(["b", "a", None])).tolist(), index.counts.tolist()
    ([1, 0, -1], [2, 1])
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._counts = np.zeros(0, np.int64)
        self._lock = threading.Lock()
        self._names: NDArray[np.uint8] | None = None

    def add(self, codes: NDArray[np.intp], values: list[Any]) -> None:
        """Add the units of a piece: codes into a list of values, where None stands for no unit (`find_distinct`)."""
        rows = np.bincount(codes, minlength=len(values))
        with self._lock:
            # a unit that only a dictionary names, but no row, is none
            there = [
                -1 if value is None or not count else self._number_unit(value)
                for value, count in zip(values, rows, strict=True)
            ]
            if len(self._known) > len(self._counts):
                self._counts = np.append(self._counts, np.zeros(2 * len(self._known), np.int64))
            numbers = np.array(there)
            np.add.at(self._counts, numbers[numbers >= 0], rows[numbers >= 0])

    def _number_unit(self, value: Any) -> int:
        return self._known.setdefault(value, len(self._known))

    def encode_units(self, column: pa.Array) -> NDArray[np.int64]:
        """The number of each row's unit; -1 where it is missing."""
        codes, values = find_distinct(column)
        known = self._known
        return np.array([known.get(value, -1) for value in values], np.int64)[codes]

    def __len__(self) -> int:
        return len(self._known)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each unit has."""
        return self._counts[: len(self._known)]

    @property
    def names(self) -> NDArray[np.uint8]:
        """The units' names, the same on every engine."""
        if self._names is None:
            values = np.empty(len(self._known), dtype=object)
            values[:] = list(self._known)
            codes, names = number_units(values)
            self._names = names[codes]
        return self._names


class FirstRows:
    """Of each unit the `limit` rows that rank first by (mark, place), gathered piece by piece in any order."""

    def __init__(self, limit: int, units: int) -> None:
        self._limit, self._units = limit, units
        self._rows = (np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64))
        self._new: list[tuple[NDArray[Any], ...]] = []
        self._waiting = 0

    def add(self, codes: NDArray[np.int64], marks: NDArray[np.uint64], places: NDArray[np.int64]) -> None:
        """Take in the rows of a piece."""
        self._new.append((codes, marks, places))
        self._waiting += len(codes)
        if self._waiting > max(SOME, len(self._rows[0])):
            self._pick_rows()

    def _pick_rows(self) -> None:
        codes, marks, places = (np.concatenate(parts) for parts in zip(self._rows, *self._new, strict=True))
        order = np.argsort(places)  # rows of equal marks rank by place
        codes, marks, places = codes[order], marks[order], places[order]
        kept = select_first_rows(codes, marks, self._limit)
        self._rows, self._new, self._waiting = (codes[kept], marks[kept], places[kept]), [], 0

    def find_last_ranks(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """For each unit, the mark and the place of the last row that counts."""
        self._pick_rows()
        codes, marks, places = self._rows
        order = np.lexsort((places, marks, codes))
        ends = np.zeros(self._units, np.uint64), np.full(self._units, -1, np.int64)
        ends[0][codes[order]], ends[1][codes[order]] = marks[order], places[order]  # the last one stays
        return ends
