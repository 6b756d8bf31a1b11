"""Tables of several kinds in memory: identifiers out, pseudonyms in, the rest as it was.

| kind | comes back as |
| --- | --- |
| pandas DataFrame | the same, with its index (not for a partner: an index can be joined), without `attrs` |
| polars DataFrame, LazyFrame | the same; a LazyFrame is collected first |
| pyarrow Table, RecordBatch | a Table, without metadata |
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.pseudonyms.errors import MissingIdentifiers
from discreet.pseudonyms.values import described

Rows = npt.NDArray[np.int64]
UNREADABLE = "\ufffd"  # what no field reads


def kind(table: Any) -> str:
    """Which kind of table something is: "pandas", "polars", "lazy" or "arrow"; pandas is not imported to tell."""
    if isinstance(table, pl.DataFrame):
        return "polars"
    if isinstance(table, pl.LazyFrame):
        return "lazy"
    if isinstance(table, (pa.Table, pa.RecordBatch)):
        return "arrow"
    origin = type(table).__module__.partition(".")[0]
    if origin == "pandas" and type(table).__name__ == "DataFrame":
        return "pandas"
    raise TypeError(
        "The `table` must be a pandas or polars data frame, a pyarrow Table, a Spark data frame, or the path of a CSV "
        f"or Parquet file. Got {type(table).__name__}."
    )


def collected(table: Any) -> Any:
    """The table itself; a LazyFrame run, so that it runs once. What polars says of a failure may hold values."""
    if not isinstance(table, pl.LazyFrame):
        return table
    try:
        return table.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = type(error).__name__
    raise ValueError(f"The LazyFrame could not be collected ({reason}). What polars says may hold values.")


def names(table: Any) -> list[str]:
    """The names of the columns."""
    if kind(table) == "pandas":
        return [str(name) for name in table.columns]
    return list(table.schema.names if kind(table) == "arrow" else table.columns)


def mapping(identifiers: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Columns and the fields that they are of: a list names columns like fields."""
    if isinstance(identifiers, str):
        raise TypeError(f'The `identifiers` must be a list or a mapping. Hint: identifiers=["{identifiers}"].')
    if isinstance(identifiers, Mapping):
        found = dict(identifiers)
    else:
        found = {name: name for name in identifiers}
        if len(found) != len(identifiers):
            raise ValueError("The `identifiers` must name each column once.")
    if not found:
        raise ValueError("The `identifiers` must name at least one column.")
    if len(set(found.values())) != len(found):
        raise ValueError("The `identifiers` must map each column to a field of its own: two columns share one.")
    return found


def check(there: Sequence[str], identifiers: Mapping[str, str], column: str) -> None:
    """Refuse identifiers that the table does not have, has twice, or a new name that it has already."""
    absent = [name for name in identifiers if name not in there]
    if absent:
        raise MissingIdentifiers(f"The table has no columns {absent}. It has: {list(there)}.")
    twice = sorted({name for name in [*identifiers, column] if list(there).count(name) > 1})
    if twice:
        raise ValueError(f"Column names must differ. Twice: {twice}.")
    if column in there and column not in identifiers:
        raise ValueError(f"The table has a column {column!r} already. Hint: column=... names the one of pseudonyms.")


def raw(table: Any, identifiers: Mapping[str, str], days: Container[str] = ()) -> pl.DataFrame:
    """The identifiers of a table, each named after its field.

    Parameters
    ----------
    identifiers : columns and their fields.
    days : the fields that are dates: elsewhere, in columns of several types, a date does not parse.
    """
    found = {field: _column(table, name) for name, field in identifiers.items()}
    return pl.DataFrame({field: _told(column, field in days) for field, column in found.items()})


def compared(table: Any, names: Sequence[str]) -> pl.DataFrame:
    """Some columns in a form in which equal values are equal, and others are not, whatever they are."""
    found = {name: _column(table, name) for name in names}
    return pl.DataFrame(
        {
            name: pl.Series([repr(value) for value in column], dtype=pl.String) if column.dtype == pl.Object else column
            for name, column in found.items()
        }
    )


def _column(table: Any, name: str) -> pl.Series:
    if kind(table) == "arrow":
        return _from_arrow(table.column(name))
    return _from_pandas(table[name]) if kind(table) == "pandas" else pl.Series(table[name])


def _from_arrow(column: Any) -> pl.Series:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pl.Series(pl.from_arrow(column))


def _from_pandas(column: Any) -> pl.Series:
    if str(column.dtype) == "category":
        column = column.astype(column.cat.categories.dtype)
    if column.dtype == object:
        return pl.Series(column.to_list(), dtype=pl.Object)
    return pl.Series(pl.from_pandas(column.reset_index(drop=True), nan_to_null=True))


def _told(column: pl.Series, days: bool) -> pl.Series:
    """A column that can be compared; values of several types become text, each by itself, as a field reads them."""
    if column.dtype != pl.Object:
        return column
    texts = [described(value, days) for value in column]
    return pl.Series([UNREADABLE if text is None else text for text in texts], dtype=pl.String)


def replaced(
    table: Any,
    identifiers: Sequence[str],
    column: str,
    words: pl.Series,
    rows: Rows | None = None,
    *,
    index: bool = True,
) -> Any:
    """The table with a column of words in place of the first identifier, without the others.

    Parameters
    ----------
    words : one for each row of the result.
    rows : which rows of the table the result has, in which order; all, in theirs, if None.
    index : keep the index of a pandas frame.
    """
    form, there = kind(table), names(table)
    place = min(there.index(name) for name in identifiers)  # those before it stay
    if form == "pandas":
        return _pandas(table, identifiers, place, column, words, rows, index)
    if form == "arrow":
        return _arrow(table, identifiers, place, column, words, rows)
    frame = table if rows is None else table[rows]
    return frame.drop(identifiers).insert_column(place, words.alias(column))


def _pandas(
    table: Any, identifiers: Sequence[str], place: int, column: str, words: pl.Series, rows: Rows | None, index: bool
) -> Any:
    frame = table.drop(columns=list(identifiers))
    frame = frame if rows is None else frame.iloc[rows]
    frame = frame.copy() if index else frame.reset_index(drop=True)
    frame.attrs = {}
    frame.insert(place, column, words.to_list())
    return frame


def _arrow(
    table: Any, identifiers: Sequence[str], place: int, column: str, words: pl.Series, rows: Rows | None
) -> pa.Table:
    whole = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
    rest = whole.drop_columns(list(identifiers)).replace_schema_metadata(None)
    rest = rest if rows is None else rest.take(pa.array(rows))
    return rest.add_column(place, column, words.to_arrow().cast(pa.string()))
