"""Tables in memory, read block by block: arrays, frames, sparse matrices; and columns of targets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.query import Batch, Image

CELLS = 1 << 18  # of a block: about what a core keeps in its cache


def take_rows(values: NDArray[Any], rows: Any) -> NDArray[Any]:
    """Some of the rows: a slice of them, or by their numbers, which is faster than by marks where they are few."""
    return values[rows] if isinstance(rows, slice) else values.take(rows, axis=0)


class ArrayTable:
    """A NumPy array, read as it lies."""

    def __init__(self, values: NDArray[Any], columns: tuple[str, ...] | None = None, numeric: bool = True) -> None:
        if values.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: one row per unit, one column "
                "per feature (`X.reshape(-1, 1)` for a single feature)."
            )
        self._values, self._numeric = _check_numbers(values, "X") if numeric else values, numeric
        self.columns, self.width = columns, values.shape[1]

    def __len__(self) -> int:
        return len(self._values)

    def take(self, rows: Any) -> ArrayTable:
        return ArrayTable(take_rows(self._values, rows), self.columns, self._numeric)

    def split_column(self, name: str) -> tuple[ArrayTable, NDArray[Any]]:
        """The table without a column, and that column as it is."""
        assert self.columns is not None
        place = self.columns.index(name)
        rest = tuple(other for other in self.columns if other != name)
        return ArrayTable(np.delete(self._values, place, axis=1), rest, self._numeric), self._values[:, place]

    def read_block(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._values[start:stop]
        with np.errstate(all="ignore"):  # a warning would tell of a value
            return np.asarray(rows, np.float64) if self._numeric else rows


class PandasTable:
    """A pandas frame."""

    def __init__(self, frame: Any, numeric: bool) -> None:
        self._frame, self._numeric = frame, numeric
        self.columns, self.width = check_names(frame.columns), frame.shape[1]
        if numeric:
            kinds = [dtype.kind in "biuf" for dtype in frame.dtypes]
            check_numeric(list(zip(frame.columns, kinds, strict=True)))

    def __len__(self) -> int:
        return len(self._frame)

    def take(self, rows: Any) -> PandasTable:
        return PandasTable(self._frame.iloc[rows], self._numeric)

    def split_column(self, name: str) -> tuple[PandasTable, Any]:
        return PandasTable(self._frame.drop(columns=name), self._numeric), self._frame[name]

    def read_block(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._frame.iloc[start:stop]
        if self._numeric:
            return np.asarray(rows.to_numpy(np.float64, na_value=np.nan))
        return _stack_objects([rows.iloc[:, i].to_numpy(dtype=object) for i in range(self.width)], len(rows))


class PolarsTable:
    """A polars frame."""

    def __init__(self, frame: Any, numeric: bool) -> None:
        self._frame, self._numeric = frame, numeric
        self.columns, self.width = check_names(frame.columns), frame.width
        if numeric:
            check_numeric([(name, kind.is_numeric() or str(kind) == "Boolean") for name, kind in frame.schema.items()])

    def __len__(self) -> int:
        return int(self._frame.height)

    def take(self, rows: Any) -> PolarsTable:
        return PolarsTable(self._frame[rows], self._numeric)

    def split_column(self, name: str) -> tuple[PolarsTable, Any]:
        return PolarsTable(self._frame.drop(name), self._numeric), self._frame[name]

    def read_block(self, start: int, stop: int) -> NDArray[Any]:
        import polars

        rows = self._frame.slice(start, stop - start)
        if self._numeric:
            return np.asarray(rows.select(polars.all().cast(polars.Float64)).to_numpy())
        return _stack_objects([column.to_list() for column in rows.get_columns()], rows.height)


class SparseTable:
    """A sparse matrix, made dense block by block."""

    columns = None

    def __init__(self, matrix: Any) -> None:
        if matrix.dtype.kind not in "biuf":
            _check_numbers(np.empty((0, 0), matrix.dtype), "X")
        self._matrix, self.width = matrix.tocsr(), matrix.shape[1]

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def take(self, rows: Any) -> SparseTable:
        return SparseTable(self._matrix[rows])

    def split_column(self, name: str) -> NoReturn:
        raise ValueError("A sparse matrix has no names of columns: give the unit as an array.")

    def read_block(self, start: int, stop: int) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            return np.asarray(self._matrix[start:stop].toarray(), np.float64)


class MappedTable:
    """A function of the rows of another table."""

    def __init__(self, table: Table, image: Image, columns: tuple[str, ...] | None) -> None:
        self._table, self._image, self.columns = table, image, columns
        self.width = self._apply_image(0, 0).shape[1]
        if columns is not None and len(columns) != self.width:
            raise ValueError(f"There must be a name for each of {self.width} columns. Got {len(columns)}.")

    def __len__(self) -> int:
        return len(self._table)

    def take(self, rows: Any) -> MappedTable:
        return MappedTable(self._table.take(rows), self._image, self.columns)

    def split_column(self, name: str) -> NoReturn:
        raise ValueError("Rows are told of their units before they are mapped.")

    def read_block(self, start: int, stop: int) -> NDArray[Any]:
        size = max(64, CELLS // max(1, self._table.width, self.width))
        if stop - start <= size:
            return self._apply_image(start, stop)
        stop = min(stop, len(self))
        values = np.empty((stop - start, self.width))
        for first in range(start, stop, size):
            values[first - start : first - start + size] = self._apply_image(first, min(first + size, stop))
        return values

    def _apply_image(self, start: int, stop: int) -> NDArray[Any]:
        with np.errstate(all="ignore"):  # a warning would tell of a value
            return np.asarray(self._image(Batch(self._table.read_block(start, stop))), np.float64)


Table = ArrayTable | PandasTable | PolarsTable | SparseTable | MappedTable


def wrap_table(X: Any, numeric: bool) -> Table:
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("Masked arrays are not supported: the mask would be lost. Hint: X.filled(np.nan).")
    if isinstance(X, np.ndarray):
        return ArrayTable(X, numeric=numeric)
    family = type(X).__module__.split(".")[0]
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        return SparseTable(X)
    if type(X).__name__ == "LazyFrame":
        raise TypeError("A lazy polars frame is not in memory. Hint: `.collect()` it.")
    if family == "pandas" and hasattr(X, "columns"):
        return PandasTable(X, numeric)
    if family == "polars" and hasattr(X, "columns"):
        return PolarsTable(X, numeric)
    return ArrayTable(as_rows_of_cells(X, "X", numeric), numeric=numeric)


def split_column(X: Any, unit: Any) -> tuple[Any, Any]:
    """The table without the column that names the units, and that column; a column of its own as it is."""
    if not isinstance(unit, str):
        return X, unit
    names = [name for name in getattr(X, "columns", ()) if isinstance(name, str)]
    if unit not in names:
        raise ValueError(
            f"There is no column {unit!r} to say which unit a row belongs to. "
            + (f"There are: {names}." if names else "Hint: an array has no names; give unit=array.")
        )
    rest = X.drop(columns=unit) if type(X).__module__.split(".")[0] == "pandas" else X.drop(unit)
    return rest, X[unit]


def read_column(values: Any, name: str) -> NDArray[np.float64]:
    """One number per row, as floats; missing values as NaN."""
    if type(values).__module__.split(".")[0] == "pandas" and hasattr(values, "dtype"):
        values = values.to_numpy(np.float64, na_value=np.nan) if values.dtype.kind in "biuf" else values.to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"Masked arrays are not supported: the mask would be lost. Hint: {name}.filled(np.nan).")
    array = values if isinstance(values, np.ndarray) else as_column(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one number per row: y should be a 1d array. Several targets are not supported."
        )
    with np.errstate(all="ignore"):
        return np.asarray(_check_numbers(array, name), np.float64)


def read_label_column(values: Any, name: str) -> NDArray[Any]:
    """One label per row, as they are."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"Masked arrays are not supported: the mask would be lost. Hint: {name}.filled(np.nan).")
    series = hasattr(values, "to_numpy") or hasattr(values, "categories")
    array = _read_series(values) if series else as_column(values, numeric=False)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one label per row: y should be a 1d array. Several targets are not supported."
        )
    return array


def _read_series(values: Any) -> NDArray[Any]:
    """A series as an array whose type is the schema's: where that has no NumPy type, each value as it is.

    (A library would make floats of all whole numbers for the sake of one that is missing.)
    """
    if isinstance(getattr(values, "dtype", None), np.dtype):
        return np.asarray(values.to_numpy())
    kinds = getattr(values, "cat", values) if type(values).__module__.startswith("pandas") else values
    if hasattr(kinds, "categories") and hasattr(kinds, "codes"):  # to_list would make floats of whole numbers here too
        known = [*kinds.categories.tolist(), None]
        cells = [known[code] for code in np.asarray(kinds.codes)]
    else:
        cells = values.to_list() if hasattr(values, "to_list") else values.to_numpy().ravel().tolist()
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def as_column(values: Any, numeric: bool = True) -> NDArray[Any]:
    """One value per row. Lists have no type: what is no number in them is missing, and no cell changes the shape.

    >>> as_column([1, "x", [2], [3, 4]])
    array([ 1., nan,  2., nan])
    """
    if not _is_list(values):
        return _read_untyped(values, numeric)
    return _as_numbers(np.fromiter(map(_unwrap_cell, values), dtype=object, count=len(values)), numeric)


def as_rows_of_cells(values: Any, name: str, numeric: bool = True) -> NDArray[Any]:
    """A table from a list of rows: a row that is none is missing, and so is a cell that is no number.

    Only rows of different lengths are refused, and a list without any row.
    """
    if not _is_list(values):
        return _read_untyped(values, numeric)
    width = next((len(row) for row in values if _is_row(row)), None)
    if width is None:
        return as_column(values, numeric)
    blank = (None,) * width
    rows = [row if _is_row(row) else blank for row in values]
    if any(len(row) != width for row in rows):
        raise ValueError(f"{name} must be a table: rows of equal length.")
    cells = np.fromiter(chain.from_iterable(rows), dtype=object, count=len(rows) * width)
    return _as_numbers(cells.reshape(len(rows), width), numeric)


def _read_untyped(values: Any, numeric: bool) -> NDArray[Any]:
    if hasattr(values, "__array__"):
        return np.asarray(values)
    return _as_numbers(np.array(values, dtype=object), numeric)


def _is_list(values: Any) -> bool:
    """Whether it is a list, a deque, or another sequence without a type; a text is none."""
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray))


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _unwrap_cell(cell: Any) -> Any:
    """The only value of a cell that is a list of one; a cell of several holds no value."""
    if not _is_row(cell):
        return cell
    return cell[0] if len(cell) == 1 else None


def _as_numbers(cells: NDArray[Any], numeric: bool) -> NDArray[Any]:
    return np.asarray(np.frompyfunc(_to_number, 1, 1)(cells), np.float64) if numeric else cells


def _to_number(value: Any) -> float:
    try:
        return np.nan if _is_row(value) else float(value)  # of an array of one, with a warning, which tells of a row
    except Exception:  # whatever a strange value does: it is missing, and tells nothing of itself
        return np.nan


def _stack_objects(columns: list[Any], rows: int) -> NDArray[Any]:
    """Columns of labels side by side, each value as it was: no common type that one row could change for all."""
    table = np.empty((rows, len(columns)), dtype=object)
    for i, values in enumerate(columns):
        table[:, i] = values
    return table


def _check_numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Numbers as they are; other types are refused by type alone, so that an error tells of no value."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    if values.dtype.kind in "mM":
        raise TypeError(f"{name} holds dates, not numbers. Hint: make numbers of them, such as days since a day.")
    otherwise = (
        "classes are for a classifier, such as LogisticRegression"
        if name == "y"
        else "encode categories with OneHotEncoder(categories=...)"
    )
    raise TypeError(
        f"{name} is of type {values.dtype}, not of numbers. Hint: {name}.astype(float) where they are numbers; "
        f"{otherwise}."
    )


def check_numeric(numeric: list[tuple[Any, bool]]) -> None:
    bad = [str(name) for name, fine in numeric if not fine]
    if bad:
        raise TypeError(
            f"Columns that are not numbers: {bad}. Hint: encode categories with OneHotEncoder(categories=...), "
            "which takes the public list of them."
        )


def check_names(columns: Any) -> tuple[str, ...] | None:
    if len(set(columns)) != len(columns):
        twice = sorted({str(name) for name in columns if list(columns).count(name) > 1})
        raise ValueError(f"Column names must differ. Twice: {twice}.")
    return tuple(columns) if all(isinstance(name, str) for name in columns) else None
