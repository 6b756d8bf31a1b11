"""Arguments of a description: the columns it is about, and the checks made before anything is charged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.engines.opening import as_rows, is_lazy, is_rows

Interval = tuple[float, float]


def select_columns(X: Any, wanted: list[str], unit: Any) -> Any:
    """The wanted columns of a frame or an Arrow table, so that no other column can interfere; other data as rows."""
    named = [*wanted, unit] if isinstance(unit, str) and unit not in wanted else wanted
    family, kind = type(X).__module__.split(".")[0], type(X).__name__
    if family in ("pandas", "polars") and kind == "DataFrame":
        refuse_missing_columns(list(X.columns), wanted)
        return X[named]
    if family == "pyarrow" and kind in ("Table", "RecordBatch"):
        refuse_missing_columns(X.schema.names, wanted)
        X = X.select(named)
    return as_rows(X, numeric=False, unit=unit) if is_lazy(X) or is_rows(X) else X


def has_only_numbers(X: Any, bounds: Mapping[str, Interval], unit: Any) -> bool:
    """Whether all columns except the unit are columns of numbers."""
    names = getattr(X, "columns", None)
    return names is None or {name for name in names if not (isinstance(unit, str) and name == unit)} <= set(bounds)


def refuse_missing_columns(names: list[str], wanted: Sequence[str]) -> None:
    """Raise if a column that is wanted does not exist."""
    missing = [name for name in wanted if name not in names]
    if missing:
        known = f"There are: {names}." if names else "These rows have no column names."
        raise ValueError(f"There are no columns {missing} to describe. {known}")


def refuse_unbounded_whole(bounds: Mapping[str, Interval], whole: Collection[str]) -> None:
    """Raise if a column of whole numbers has no bounds."""
    strange = sorted(set(whole) - set(bounds))
    if isinstance(whole, str) or strange:
        raise ValueError(
            f"`whole` names columns that have `bounds`. Got {whole if isinstance(whole, str) else strange!r}."
        )


def refuse_bad_columns(bounds: Mapping[str, Interval], lists: Mapping[str, tuple[Any, ...]], cells: int) -> None:
    """Raise if bounds, lists of categories and the number of cells are not valid together."""
    if not bounds and not lists:
        raise ValueError("There is nothing to describe. Hint: `bounds` of numbers, or `categories`.")
    both = sorted(set(bounds) & set(lists))
    if both:
        raise ValueError(f"A column is a number or a category, not both: {both}.")
    check_whole("describe", "cells", cells, 4, 4096)
    if bounds:
        Bounds(dict(bounds))
    for name, values in lists.items():
        if len(values) < 1 or len(set(values)) < len(values):
            raise ValueError(f"The categories of {name!r} must be distinct, and at least one.")
