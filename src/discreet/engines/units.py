"""Units: who a row belongs to, as numbers and as names that are the same on every engine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Coins
from discreet.labels import canonical

_NUMBER, _TEXT, _REAL = 0, 1, 2
FAR = 2**1000
MISSING = np.uint64(1)  # bits that stand for no value: of no float that occurs


@dataclass(frozen=True)
class Units:
    """Which unit each row belongs to (-1: to none), the units' names, and whether rows share what a unit may add."""

    codes: NDArray[np.int64]
    names: NDArray[np.uint8]
    shared: bool = False

    @classmethod
    def from_column(cls, values: Any) -> Units:
        """The units of a column."""
        return cls(*number_units(values))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """What part each row is of its unit."""
        return compute_unit_shares(self.codes)

    def spread_to_rows(self, of_units: NDArray[Any]) -> NDArray[Any]:
        """What each unit has, for each of its rows; nothing (False, or a number beyond all) where there is no unit."""
        none = False if of_units.dtype == bool else np.iinfo(of_units.dtype).max
        return np.append(of_units, np.array(none, of_units.dtype))[self.codes]

    def take(self, rows: Any) -> Units:
        """The units of some of the rows."""
        return replace(self, codes=self.codes[rows])


def number_units(values: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The number of each row's unit, -1 where it is missing, and the name of each unit in 15 bytes.

    Units that are equal are one, whatever type an engine gives them: 7, 7.0 and True are numbers, "7" is text.

    >>> codes, names = number_units([7, "a", None, 7.0])
    >>> bool(codes[0] == codes[3] != codes[1]), int(codes[2]), names.shape
    (True, -1, (2, 15))
    """
    codes, distinct = _find_distinct(values)
    forms = [_find_form(value) for value in distinct]
    found: dict[Any, int] = {}
    places = np.array([-1 if form is None else found.setdefault(form, len(found)) for form in forms] + [-1])
    names = np.frombuffer(b"".join(map(_name_unit, found)), np.uint8).reshape(len(found), 15)
    return places[codes].astype(np.int64), names


def _find_distinct(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes into a list of distinct values; -1 for what is missing."""
    array = values if isinstance(values, np.ndarray) else _read_units(values)
    if array.dtype.kind not in "biufSUO":
        raise TypeError(f"Units are numbers or texts, not of type {array.dtype}. Hint: unit.astype(str).")
    if array.dtype.kind in "biufSU":
        found, codes = np.unique(array, return_inverse=True)
        return codes.reshape(-1).astype(np.int64), found.tolist()
    seen: dict[Any, int] = {}

    def place(value: Any) -> int:
        form = _find_form(value)
        return -1 if form is None else seen.setdefault(form, len(seen))

    return np.asarray(np.frompyfunc(place, 1, 1)(array), np.int64), list(seen)


def _find_form(value: Any) -> Any:
    """One form for values that are equal; None for what is missing."""
    form = canonical(value)
    if form is None and isinstance(value, (bytes, date, UUID, Decimal)):
        return f"{type(value).__name__} {value!r}"
    return form


def _read_units(values: Any) -> NDArray[Any]:
    from discreet.engines.tables import read_label_column

    try:
        return read_label_column(values, "unit")
    except ValueError:
        raise ValueError("There must be one unit for each row: a column, or an array of one dimension.") from None


def _name_unit(form: Any) -> bytes:
    if isinstance(form, int) and -(1 << 111) <= form < 1 << 111:
        return bytes([_NUMBER]) + form.to_bytes(14, "big", signed=True)
    kind, text = (_TEXT, form) if isinstance(form, str) else (_REAL, repr(form))
    return bytes([kind]) + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=14).digest()


def mark_rows(columns: list[NDArray[Any]], coins: Coins, units: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each row, by what it holds and whose it is, under a key: rows of a unit are ranked by it.

    The order of rows does not matter. Equal rows of a unit get equal numbers, so they rank one after the other: a value
    that a unit holds often is hardly likelier to come first than one that it holds once.

    Parameters
    ----------
    units : 64 fair bits for each row's unit, so that what is kept of one says nothing of what is kept of another.
    """
    keys = coins.look_up_words(0, len(columns) + 1) | np.uint64(1)
    total = units.copy()
    for key, values in zip(keys, columns, strict=False):
        word = _hash_values(values, coins)
        total += key * (word ^ (word >> np.uint64(32)))  # the low bits of most floats are zeros
        total ^= total >> np.uint64(29)
    return np.asarray((total ^ (total >> np.uint64(32))) * keys[-1])


def _hash_values(values: NDArray[Any], coins: Coins) -> NDArray[np.uint64]:
    """64 bits for each value: of a number those of its float, whatever type holds it; of a text, by its name."""
    if values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            number = np.asarray(values, np.float64) + 0.0  # -0.0 is 0.0
        return np.where(np.isnan(number), MISSING, number.view(np.uint64))
    codes, distinct = _find_distinct(values)
    forms = [_find_form(value) for value in distinct]
    texts = coins.look_up_unit_words(np.frombuffer(b"".join(map(_name_unit, forms)), np.uint8).reshape(len(forms), 15))
    numbers = np.array(
        [float(form) if isinstance(form, (int, float)) and abs(form) < FAR else np.nan for form in forms]
    )
    words = np.where(np.isnan(numbers), texts, (numbers + 0.0).view(np.uint64)) if forms else texts
    return np.append(words, MISSING)[codes]


def select_first_rows(codes: NDArray[np.int64], rank: NDArray[np.uint64], limit: int) -> NDArray[np.bool_]:
    """Which rows are among the `limit` of their unit that rank first; none of no unit (code -1).

    >>> select_first_rows(np.array([0, 0, 1, -1, 0]), np.array([5, 3, 9, 1, 4], np.uint64), 2).tolist()
    [False, True, True, False, True]
    """
    order = np.lexsort((rank, codes))
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]]) if len(codes) else np.zeros(0, int)
    lengths = np.diff(np.r_[starts, len(codes)])
    place = np.arange(len(codes)) - np.repeat(starts, lengths)
    kept = np.zeros(len(codes), dtype=bool)
    kept[order] = place < limit
    return kept & (codes >= 0)


def compute_unit_shares(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """What part each row is of its unit: one over the number of its rows; 0 for rows of no unit.

    A hair less where that is not 1, so that what rounding adds keeps the unit's sum within its bound.
    """
    counts = np.bincount(codes[codes >= 0], minlength=1)
    return np.where(codes < 0, 0.0, round_factors_down(1.0 / np.maximum(counts, 1))[codes])


def clip_unit_sums(codes: NDArray[np.int64], sizes: NDArray[np.float64], limit: int) -> NDArray[np.float64]:
    """The factor for each row that keeps the sum over its unit within a limit, where the rows' sizes are these.

    >>> clip_unit_sums(np.array([0, 0, 1, -1]), np.array([6.0, 2.0, 3.0, 1.0]), 4).round(9).tolist()
    [0.5, 0.5, 1.0, 0.0]
    """
    totals = np.bincount(np.maximum(codes, 0), np.where(codes < 0, 0.0, sizes), minlength=1)
    return np.where(codes < 0, 0.0, round_factors_down(limit / np.maximum(totals, limit))[codes])


def round_factors_down(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factors rounded down by more than any arithmetic with them can round up; 1 stays 1."""
    return np.where(factor >= 1, 1.0, factor * (1 - 2.0**-40))
