"""One column of a table: its entries as text, and which of them are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def text(column: pl.Series) -> pl.Series:
    """The entries as the text that a hierarchy's domain is written in: 39, not 39.0; 2024-02-28 for moments.

    Each entry by itself, whatever the others are, so that two tables agree; null and NaN are null.

    >>> text(pl.Series([39.0, 41.5, -0.0])).to_list()
    ['39', '41.5', '0']
    """
    kind = column.dtype
    if kind == pl.Object or kind.is_nested() or kind == pl.Binary:
        raise TypeError(f"The column {column.name!r} mixes types, or is not of text, numbers or dates.")
    if kind.is_float():
        number = column.fill_nan(None)
        whole = number.cast(pl.Int64, strict=False)  # null where it is too large
        exact = (whole.cast(kind) == number).fill_null(False)
        return whole.cast(pl.String).zip_with(exact, number.cast(pl.String))
    return (column.cast(pl.Date) if isinstance(kind, pl.Datetime) else column).cast(pl.String)


def words(values: Iterable[Any]) -> list[str]:
    """The same for a list, which may mix types: what a column with these values has as text.

    >>> words([True, 1.0, "unknown"])
    ['true', '1', 'unknown']
    """
    given = list(values)
    try:
        found = text(pl.Series("values", given)).to_list()
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        found = [text(pl.Series("values", [value])).item() for value in given]
    if None in found:
        raise ValueError(f"A list of values has {found.count(None)} missing ones. Hint: `with_missing('unknown')`.")
    return found


def names(given: str | Sequence[str]) -> list[str]:
    """Names of columns; one may be given by itself."""
    return [given] if isinstance(given, str) else list(given)


def unrecorded(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Where a sensitive column, or one that names people, tells nothing: null, NaN, or text of white space alone.

    >>> unrecorded(pl.Series(["flu", "", " ", None])).tolist()
    [False, True, True, True]
    """
    empty = nulls(column)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return empty
    blank = (column.cast(pl.String).str.strip_chars() == "").fill_null(False).to_numpy()
    return np.asarray(empty | blank)


def nulls(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Where the column has null or NaN."""
    empty = column.is_null()
    if column.dtype.is_float():
        empty = empty | column.is_nan().fill_null(True)
    return empty.to_numpy()
