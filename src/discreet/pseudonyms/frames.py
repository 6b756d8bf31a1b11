"""Tables of several kinds in memory: identifiers out, pseudonyms in, the rest as it was.

| kind | comes back as |
| --- | --- |
| pandas DataFrame | the same, with its index (not for a partner: it can be joined), without `attrs` and names of axes |
| polars DataFrame, LazyFrame | the same, with an Enum of values in use; a LazyFrame is collected first |
| pyarrow Table, RecordBatch | a Table, without metadata of tables, columns or what is in them |

Names of columns are no secrets, but a file without a header has values in their place, and so has a data frame that was
read from one. So no error lists the names that a table has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.pseudonyms.categories import categories, decoded, tidied
from discreet.pseudonyms.errors import MissingIdentifiers
from discreet.pseudonyms.leftovers import copied
from discreet.pseudonyms.roles import Role, all_identifiers
from discreet.pseudonyms.tokens import plain_texts
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
    """The names of the columns; labels of pandas that are no text as text."""
    if kind(table) == "pandas":
        return [str(name) for name in table.columns]
    return list(table.schema.names if kind(table) == "arrow" else table.columns)


def check(
    there: Sequence[str],
    roles: Sequence[Role],
    declared: Iterable[str] = (),
    keep: Sequence[str] = (),
) -> None:
    """Refuse columns with which no table can be made, or that would stay in clear.

    Parameters
    ----------
    there : the names of the columns.
    roles : the people of each row, by their columns.
    declared : all fields of the vault.
    keep : columns that may stay although they are called like a field.
    """
    identifiers = all_identifiers(roles)
    fields = {name.casefold(): name for name in declared}
    absent = [name for name in identifiers if name not in there]
    if absent:
        known = sorted({fields[name.strip().casefold()] for name in there if name.strip().casefold() in fields})
        raise MissingIdentifiers(
            f"The table has no columns {absent}. Of {len(there)} columns {len(known)} are called like a declared field"
            f"{': ' + ', '.join(known) if known else ''}. Hint: is there a header line, with names?"
        )
    if len(set(there)) != len(there):
        twice = [name for name in identifiers if list(there).count(name) > 1]
        extra = len(there) - len(set(there))
        raise ValueError(f"Column names must differ. {extra} are there again{f', also {twice}' if twice else ''}.")
    for role in roles:
        if role.column in there and role.column not in role.identifiers:
            raise ValueError(
                f"The table has a column {role.column!r} already. Hint: column=... names the one of pseudonyms."
            )
    _check_clear([name for name in there if name not in identifiers], fields, keep)


def _check_clear(remaining: Sequence[str], fields: Mapping[str, str], keep: Sequence[str]) -> None:
    """Refuse a declared field that would stay in clear, unless it is to be kept."""
    unknown = [name for name in keep if name not in remaining]
    if unknown:
        raise ValueError(f"The `keep` must name columns that remain. Got {unknown}.")
    clear = [name for name in remaining if name.strip().casefold() in fields and name not in keep]
    if clear:
        raise ValueError(
            f"The columns {clear} are called like declared fields and would stay in clear. "
            f"Hint: name them as identifiers, leave them out, or keep={clear}."
        )


def check_index(table: Any, identifiers: Mapping[str, str], declared: Iterable[str], keep: Sequence[str]) -> None:
    """Refuse a pandas index that says who rows are of: called like a field, or the same as an identifier."""
    if kind(table) != "pandas":
        return
    fields = {name.casefold() for name in declared}
    named = [str(name) for name in table.index.names if name is not None and str(name).strip().casefold() in fields]
    if [name for name in named if name not in keep] or any(_is_index(table, name) for name in identifiers):
        raise ValueError(
            "The index of the table says who rows are of. Hint: frame.reset_index(drop=True), or frame.reset_index() "
            "and its column as an identifier."
        )


def _is_index(table: Any, name: str) -> bool:
    if table.index.nlevels > 1 or type(table.index).__name__ == "RangeIndex" or not len(table):
        return False
    try:
        return bool(np.array_equal(table.index.to_numpy(), _series(table, name).to_numpy()))
    except TypeError:  # values that do not compare
        return False


def raw(table: Any, identifiers: Mapping[str, str], days: Container[str] = ()) -> pl.DataFrame:
    """The identifiers of a table, each named after its field.

    Parameters
    ----------
    identifiers : columns and their fields.
    days : the fields that are dates: elsewhere, in columns of several types, a date does not parse.
    """
    found = {field: _column(table, name) for name, field in identifiers.items()}
    return pl.DataFrame({field: _told(column, field in days) for field, column in found.items()})


def texts(table: Any, names: Sequence[str]) -> dict[str, pl.Series]:
    """What is text in some columns; of others nothing."""
    return {name: _text(_column(table, name)) for name in names}


def index_texts(table: Any) -> dict[str, pl.Series]:
    """The same of the index of a pandas frame, by the names of its levels."""
    if kind(table) != "pandas":
        return {}
    named = {f"index {at}" if name is None else str(name): at for at, name in enumerate(table.index.names)}
    return {name: _text(_from_pandas(table.index.get_level_values(at).to_series())) for name, at in named.items()}


def _text(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Object:
        return pl.Series([value if isinstance(value, str) else None for value in column], dtype=pl.String)
    if column.dtype == pl.Binary:
        return plain_texts(column.to_arrow())
    known = isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum))
    return column.cast(pl.String) if known else pl.Series([], dtype=pl.String)


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
    return _from_pandas(_series(table, name)) if kind(table) == "pandas" else pl.Series(table[name])


def _series(table: Any, name: str) -> Any:
    """A column of pandas by its place: its label may be a number or a tuple."""
    return table.iloc[:, names(table).index(name)]


def _from_arrow(column: Any) -> pl.Series:
    if pa.types.is_dictionary(column.type):
        column = decoded(pa.table({"": column})).column(0)
    return pl.Series(pl.from_arrow(column))


def _from_pandas(column: Any) -> pl.Series:
    if str(column.dtype) == "category":
        column = column.astype(column.cat.categories.dtype)
    if column.dtype == object:
        return _from_objects(column)
    with contextlib.suppress(pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError, NotImplementedError):
        return pl.Series(pl.from_pandas(column.reset_index(drop=True), nan_to_null=True))
    return pl.Series(column.to_list(), dtype=pl.Object)  # complex, sparse: what a field does not read is counted


def _from_objects(column: Any) -> pl.Series:
    """Objects as text if all of them are text or missing, which is fast; otherwise one by one."""
    try:
        found = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        found = None
    if found is not None and (pa.types.is_string(found.type) or pa.types.is_large_string(found.type)):
        return pl.Series(pl.from_arrow(found))
    return pl.Series(column.to_list(), dtype=pl.Object)


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
    columns = copied(table.drop(identifiers), rows).get_columns()
    return pl.DataFrame([*columns[:place], words.alias(column), *columns[place:]])


def replaced_all(
    table: Any, roles: Sequence[Role], words: Sequence[pl.Series], rows: Rows | None = None, *, index: bool = True
) -> Any:
    """The same for all people of each row: a column of words in place of the identifiers of each."""
    for role, own in zip(roles, words, strict=True):
        table, rows = replaced(table, list(role.identifiers), role.column, own, rows, index=index), None
    return table


def _pandas(
    table: Any, identifiers: Sequence[str], place: int, column: str, words: pl.Series, rows: Rows | None, index: bool
) -> Any:
    frame = table.iloc[:, [at for at, name in enumerate(names(table)) if name not in identifiers]]
    frame = frame if rows is None else frame.iloc[rows]
    frame = frame.copy() if index else frame.reset_index(drop=True)
    frame.attrs = {}
    frame.columns = frame.columns.set_names([None] * frame.columns.nlevels)
    frame.index = _used(frame.index)
    for at in np.flatnonzero(frame.dtypes.astype(str) == "category"):
        frame.isetitem(at, categories(frame.iloc[:, at]))
    levels = frame.columns.nlevels
    label = column if levels == 1 else (column, *[""] * (levels - 1))
    frame.insert(place, label, words.to_pandas().array)  # an array has no index to be aligned
    return frame


def _used(index: Any) -> Any:
    """An index without values that no row has."""
    for method in ("remove_unused_levels", "remove_unused_categories"):
        if hasattr(index, method):
            return getattr(index, method)()
    return index


def _arrow(
    table: Any, identifiers: Sequence[str], place: int, column: str, words: pl.Series, rows: Rows | None
) -> pa.Table:
    whole = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
    rest = whole.drop_columns(list(identifiers))
    if not rest.num_columns:
        return pa.table({column: words.to_arrow().cast(pa.string())})
    rest = tidied(rest if rows is None else rest.take(pa.array(rows)))
    return rest.add_column(place, column, words.to_arrow().cast(pa.string()))
