"""Which engine reads what a user hands over."""

from __future__ import annotations

from typing import Any

from discreet.engines import BaseRows, Rows
from discreet.engines.memory import Memory
from discreet.engines.tables import split_column
from discreet.errors import NotSupported
from discreet.labels import unit_name


def is_rows(X: Any) -> bool:
    """Whether X is rows behind an engine."""
    return all(hasattr(type(X), name) for name in ("sum", "make_empty_batch", "count_replace_one"))


def is_lazy(X: Any) -> bool:
    """Whether X is a table that is read piece by piece: of Spark, DuckDB or Arrow, or a lazy polars frame."""
    family = type(X).__module__.split(".")[0].lstrip("_")
    if family == "polars":
        return type(X).__name__ == "LazyFrame"
    return family in ("duckdb", "pyspark") or (family == "pyarrow" and hasattr(X, "schema"))


def as_rows(X: Any, y: Any = None, *, numeric: bool = True, labels: bool = False, unit: Any = None) -> Rows:
    """Rows behind an engine: as they are, of a table that lies elsewhere, or in memory.

    Parameters
    ----------
    X : rows behind an engine, a table that lies elsewhere, an array, a frame, a list of lists.
    y : the targets; of a table that lies elsewhere, or of a frame, also the name of the column.
    numeric, labels : whether features are numbers, and targets of any type.
    unit : who rows belong to: the name of a column, or, for rows in memory, a column of its own.
    """
    if is_lazy(X):
        X, y = _open_table(X, y), None
    if not is_rows(X):
        if isinstance(y, str) and y in getattr(X, "columns", ()):
            if isinstance(unit, str) and unit == y:
                raise ValueError(f"The column {y!r} is the target: it cannot be the unit too.")
            X, y = split_column(X, y)
        elif isinstance(y, str):
            names = [name for name in getattr(X, "columns", ()) if isinstance(name, str)]
            raise ValueError(
                f"There is no column {y!r} to be the target. "
                + (f"There are: {names}." if names else "Hint: an array has no names; give y as an array.")
            )
        return Memory(X, y, numeric=numeric, labels=labels, unit=unit)
    if y is not None:
        raise ValueError("Rows behind an engine bring their own target: leave y out.")
    _refuse_incomplete(X)
    return _check_unit(X.expect_types(numeric=numeric, labels=labels), unit)


def as_memory_rows(X: Any, y: Any = None, *, numeric: bool = True, labels: bool = False) -> Memory:
    """Rows that need no protection, where they can be looked at: in memory. Options as in `as_rows`."""
    rows = as_rows(X, y, numeric=numeric, labels=labels)
    rows = rows if isinstance(rows, Memory) else rows.hold_in_memory()
    if not isinstance(rows, Memory):
        raise NotSupported(f"A {type(X).__name__} is not held in memory. Hint: hand over an array or a frame.")
    return rows


def _refuse_incomplete(rows: Any) -> None:
    """Raise if rows of somebody's own engine lack something of the protocol."""
    names = (*BaseRows.__annotations__, *vars(BaseRows))
    missing = [name for name in names if not name.startswith("_") and not hasattr(rows, name)]
    if missing:
        raise TypeError(
            f"A {type(rows).__name__} is not complete: an engine's rows have all of discreet.engines.Rows. Missing: "
            f"{sorted(set(missing))}. Hint: inherit discreet.engines.BaseRows, which has defaults."
        )


def _check_unit(rows: Rows, unit: Any) -> Rows:
    """The rows, belonging to this unit and no other."""
    told = rows.unit
    if told is unit or (isinstance(told, str) and told == unit):
        return rows
    if told is not None:
        raise ValueError(
            f"These rows belong to units ({unit_name(told)!r}), and the promise is for another ({unit_name(unit)!r}). "
            "Hint: say the same `unit` to both."
        )
    if not isinstance(unit, str):
        raise TypeError("The unit of rows behind an engine is one of their columns: give its name.")
    return rows.assign_units(unit)


def _open_table(X: Any, target: Any) -> Rows:
    """Rows of a table that lies elsewhere."""
    if target is not None and not isinstance(target, str):
        raise TypeError(f"The target of a {type(X).__name__} is one of its columns: give its name as y.")
    if type(X).__module__.startswith("pyspark"):
        from discreet.engines.spark import from_spark

        return from_spark(X, target)
    from discreet.engines.stream.sources import open_stream

    rows = open_stream(X, target)
    if rows is None:
        raise TypeError(f"A {type(X).__name__} of {type(X).__module__} is no table that can be read.")
    return rows
