"""One column of a table: its entries as text, and which of them are missing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl


def text(column: pl.Series) -> pl.Series:
    """The entries as the text that a hierarchy's domain is written in: 39, not 39.0; 2024-02-28 for moments."""
    kind = column.dtype
    if kind == pl.Object or kind.is_nested() or kind == pl.Binary:
        raise TypeError(f"The column {column.name!r} mixes types, or is not of text, numbers or dates.")
    if kind.is_float():
        whole = column.drop_nulls().drop_nans()
        return (
            column.cast(pl.Int64, strict=False).cast(pl.String)
            if whole.eq(whole.floor()).all()
            else column.cast(pl.String)
        )
    return (column.cast(pl.Date) if isinstance(kind, pl.Datetime) else column).cast(pl.String)


def nulls(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Where the column has null or NaN."""
    empty = column.is_null()
    if column.dtype.is_float():
        empty = empty | column.is_nan().fill_null(True)
    return empty.to_numpy()
