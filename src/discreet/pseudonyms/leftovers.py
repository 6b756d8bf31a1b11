"""Columns of polars without what they keep of rows that are gone.

A text of polars is a view into a buffer, and rows that are left out leave the buffer as it was. Whoever pickles the
frame, or writes it as IPC, hands their text over. A value that was set to null is still beneath it. So columns that can
hold text are copied row by row, through Arrow.

| column | what comes back |
| --- | --- |
| text, bytes, categories, lists, arrays, structs | the same type; a copy of the rows that are there |
| Enum | an Enum of the values that rows hold, in its order |
| an Enum inside a list, array or struct | text |
| numbers, dates, objects | as polars gathers them |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Rows = npt.NDArray[np.int64]


def copied(frame: pl.DataFrame, rows: Rows | None = None) -> pl.DataFrame:
    """Some rows of a frame, in their order, and nothing of the others; all rows if None.

    >>> towns = pl.Series("town", ["north", "south"], pl.Enum(["north", "south"]))
    >>> few = copied(towns.to_frame(), np.array([1]))
    >>> few["town"].to_list(), few.schema["town"]
    (['south'], Enum(categories=['south']))
    """
    return frame.select(_copied(column, rows) for column in frame.get_columns())


def _copied(column: pl.Series, rows: Rows | None) -> pl.Series:
    if not isinstance(column.dtype, (pl.String, pl.Binary, pl.Categorical, pl.Enum)) and not column.dtype.is_nested():
        return column if rows is None else column.gather(rows)
    plain = column.cast(_plain(column.dtype))
    try:
        whole: Any = plain.to_arrow(compat_level=pl.CompatLevel.oldest())  # texts one after another, not views
        taken = whole.take(pa.array(np.arange(len(column)) if rows is None else rows))
        fresh = pl.Series(column.name, pl.from_arrow(taken)).cast(plain.dtype)
    except (pa.ArrowException, pl.exceptions.PolarsError):  # numbers of 128 bits, which Arrow does not have
        own = plain if rows is None else plain.gather(rows)
        fresh = pl.Series(column.name, own.to_list(), plain.dtype)
    return _listed(fresh, column.dtype) if isinstance(column.dtype, pl.Enum) else fresh


def _plain(kind: Any) -> Any:
    """A type with text in place of every Enum."""
    if isinstance(kind, pl.Enum):
        return pl.String()
    if isinstance(kind, pl.List):
        return pl.List(_plain(kind.inner))
    if isinstance(kind, pl.Array):
        return pl.Array(_plain(kind.inner), kind.size)
    if isinstance(kind, pl.Struct):
        return pl.Struct([pl.Field(one.name, _plain(one.dtype)) for one in kind.fields])
    return kind


def _listed(texts: pl.Series, kind: pl.Enum) -> pl.Series:
    used = kind.categories.filter(kind.categories.is_in(texts.unique().implode()))
    return texts.cast(pl.Enum(copied(used.to_frame()).to_series()))
