"""Samples: rows for a frontier, invented from public facts or read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.cli.columns import Column
    from discreet.cli.table import Table

HELD = 0.2  # the share of rows that a frontier tests on


def size(table: Table, n: int | None, each: int | None) -> tuple[int, int]:
    """How many units are to be learnt from, and how many rows each has."""
    units = n or table.facts.n
    if units is None:
        raise ValueError("To simulate, say how many rows there are (--n).")
    if table.unit is None:
        if each not in (None, 1):
            raise ValueError(f"The --rows-per-unit needs a unit; {table.facts.file} has none.")
        return units, 1
    each = each or table.facts.max_rows_per_unit
    if each is None:
        raise ValueError(
            f"To simulate, say how many rows each {table.unit} has: --rows-per-unit, or max_rows_per_unit in "
            f"{table.facts.file}."
        )
    return units, each


def simulated(
    table: Table, columns: list[Column], target: Column, of: tuple[int, int], expected: float | None, seed: int
) -> tuple[Any, Any, Any]:
    """Rows invented from public facts, and so many more than wanted as are held out; no data are read."""
    from discreet.bounds import Bounds
    from discreet.evaluate import simulate

    if expected is None:
        raise ValueError("To simulate, say how good the best model is, as you guess (--expected).")
    units, each = of
    rows = round(units * each / (1 - HELD))
    numbers: Any = {one.name: (one.low, one.high) for one in columns if one.kind == "number"}
    if not numbers:
        raise ValueError("To simulate, at least one feature must be a number.")
    aim: Any = {"target": (target.low, target.high)} if target.kind == "number" else {"classes": target.values}
    lists = {one.name: one.values for one in columns if one.kind == "category"}
    kind: Any = "regression" if target.kind == "number" else "classification"
    made = simulate(kind, bounds=Bounds(numbers, **aim), n=rows, expected=expected, categories=lists, random_state=seed)
    owners = [f"{i // each}" for i in range(rows)]
    return _framed(table, made.columns, made.X, owners), made.y, made.bounds


def _framed(table: Table, names: Sequence[str], X: Any, owners: Any) -> Any:
    """Features, with a column of units where rows belong to any."""
    if table.unit is None:
        return X
    import polars

    return polars.DataFrame({**dict(zip(names, X.T, strict=True)), table.unit: list(owners)})


def read(table: Table, columns: list[Column], target: Column) -> tuple[Any, Any]:
    """All rows, in memory."""
    import numpy as np

    from discreet.cli.table import cells, types
    from discreet.query import Batch

    encoder, wanted = table.encoder(columns), [*columns, target]
    names, sorts = [one.name for one in wanted], types(wanted)
    if table.unit:
        names, sorts = [*names, table.unit], sorts | {table.unit: "text"}
    blocks = list(cells(table.path, names, sorts))
    rows = np.concatenate(blocks) if blocks else np.empty((0, len(names)), dtype=object)
    many = len(columns)
    X, y, owners = encoder(Batch(rows[:, :many])), rows[:, many], rows[:, -1]
    if target.kind == "number":
        y = np.array([np.nan if cell is None else float(cell) for cell in y])
        return _framed(table, encoder.feature_names, X, owners), y
    known = np.isin(y, np.array(target.values, dtype=object))
    return _framed(table, encoder.feature_names, X[known], owners[known]), np.array(y[known].tolist())
