"""Rows in memory: NumPy arrays, lists, pandas and polars frames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from discreet.engines import Coins
from discreet.labels import canonical, codes_of
from discreet.query import ROWS, Batch, BoundedSum, Exact, Image, Together, Total

CELLS = 1 << 18  # of a block: about what a core keeps in its cache
KEPT = 1 << 27  # of features held in memory: more are made again whenever they are read


def is_rows(X: Any) -> bool:
    """Whether X is rows behind an engine."""
    return all(hasattr(type(X), name) for name in ("sum", "empty", "count_replace_one"))


def as_rows(X: Any, y: Any = None, *, numeric: bool = True, labels: bool = False) -> Any:
    """X as it is if it is rows behind an engine already, else rows in memory; with `labels`, y may be of any type."""
    if is_rows(X):
        if y is not None:
            raise ValueError("Rows behind an engine bring their own target: leave y out.")
        return X
    return Memory(X, y, numeric=numeric, labels=labels)


class Memory:
    """Rows in memory, read block by block: never copied as a whole, never changed.

    Parameters
    ----------
    X : one row per unit: a 2-D array, a list of lists, a pandas or polars frame, a sparse matrix.
    y : one number per row, or None.
    numeric : False keeps the values of X as they are (labels, say) instead of asking for numbers.
    labels : True keeps those of y; `coded` makes numbers of them.
    block : how many rows to read at a time; what fits a core's cache, if None. The result is the same to the bit.
    """

    _kept: dict[tuple[int, int], Batch] | None = None

    def __init__(
        self, X: Any, y: Any = None, *, numeric: bool = True, labels: bool = False, block: int | None = None
    ) -> None:
        self._block = block
        self._table = _table(X, numeric)
        self._y = None if y is None else label_column(y, "y") if labels else column(y, "y")
        self.columns, self.width = self._table.columns, self._table.width
        if self._y is not None and len(self._y) != len(self._table):
            raise ValueError(
                "X and y have different numbers of rows: Found input variables with inconsistent numbers of samples."
            )

    def empty(self) -> Batch:
        """A batch without rows."""
        return self._batch(0, 0)

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total over all rows, in units of the query's grid."""
        np.empty(
            31 << 17
        )  # freed at once: C libraries then keep memory of this size for arrays to come, which is faster
        starts = range(0, max(1, len(self._table)), self._size)

        def work(some: range) -> Total:
            total = Total()
            for start in some:
                total.add(query(self._batch(start, start + self._size)))
            return total

        # exact sums do not care for the order: each core takes every k-th block
        cores = min(_cores(), len(starts) // 4)
        if cores < 2:
            return work(starts).value()
        total = Total()
        with _one_thread_each(), ThreadPoolExecutor(cores) as pool:
            for part in pool.map(work, [starts[i::cores] for i in range(cores)]):
                total.merge(part)
        return total.value()

    @property
    def _size(self) -> int:
        return min(ROWS, self._block or max(256, CELLS // max(1, self.width) // 128 * 128))

    def whole(self) -> NDArray[Any]:
        """All rows as one array, for those who hold them."""
        return self._table.block(0, len(self._table))

    def targets(self) -> NDArray[Any]:
        """All targets as one array, for those who hold them."""
        if self._y is None:
            raise ValueError("These rows bring no target.")
        return self._y

    def coded(self, classes: Sequence[Any]) -> Memory:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""
        codes = codes_of(self.targets(), classes).astype(np.float64)
        some = self._take(slice(None))
        some._y = np.where(codes < 0, np.nan, codes)
        return some

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Memory:
        """Rows whose features are `image(batch)`, made block by block as they are read; targets are kept.

        Parameters
        ----------
        image : of a batch without targets: one vector per row, a function of that row alone, bit for bit.
        columns : names of what comes out.
        """
        some = self._take(slice(None))
        some._table = _Mapped(self._table, image, None if columns is None else tuple(columns))
        some.columns, some.width = some._table.columns, some._table.width
        some._block = min(self._size, some._size)
        return some

    def held(self, dtype: Any = np.float64) -> Memory:
        """The same rows, their features made now and held as `dtype`, which must hold them exactly; unless too many."""
        some, rows = self._take(slice(None)), len(self._table)
        if rows * self.width <= KEPT:
            values = np.empty((rows, self.width), dtype)
            for start in range(0, rows, self._size):
                values[start : start + self._size] = self._table.block(start, min(start + self._size, rows))
            some._table = _Array(values, self.columns)
        return some

    def tally(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones, and what cannot be a label, are left out."""
        targets = self.targets()
        labels = targets.tolist() if targets.dtype != object else [canonical(value) for value in targets]
        counts = Counter(0.0 if label == 0 and isinstance(label, float) else label for label in labels)  # -0.0 is 0.0
        return {label: count for label, count in counts.items() if label is not None and label == label}

    def sample(self, rate: float, coins: Coins) -> Memory:
        """A Poisson sample of the rows."""
        return self._take(_heads(len(self._table), rate, coins) if rate < 1 else slice(None))

    def blocks(self, count: int, coins: Coins) -> Iterator[Memory]:
        """The rows in `count` disjoint blocks: each row is in one of them, drawn for it alone."""
        block = coins.u64(len(self._table)) % np.uint64(count)
        return (self._take(block == np.uint64(i)) for i in range(count))

    def _take(self, heads: Any) -> Memory:
        some = Memory.__new__(Memory)
        some._block, some.columns, some.width = self._block, self.columns, self.width
        some._table = self._table.take(heads)
        some._y = None if self._y is None else _chosen(self._y, heads)
        return some

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
        return len(self._table)

    def keep(self) -> Memory:
        """The same rows, with what queries make of each block kept, if there are not too many of them."""
        some = self._take(slice(None))
        some._kept = {} if 8 * len(self._table) * self.width <= KEPT else None
        return some

    def _batch(self, start: int, stop: int) -> Batch:
        if self._kept is None:
            return self._read(start, stop)
        if (start, stop) not in self._kept:
            self._kept[start, stop] = self._read(start, stop)
        return self._kept[start, stop]

    def _read(self, start: int, stop: int) -> Batch:
        return Batch(self._table.block(start, stop), None if self._y is None else self._y[start:stop])

    def __repr__(self) -> str:
        return f"<Memory: {self.width} columns>"  # the number of rows is private

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are not pickled or copied: they stay where they are.")


def _heads(count: int, rate: float, coins: Coins) -> NDArray[np.bool_]:
    """So many coins that show heads with probability ⌊2^64·rate⌋/2^64: 16 bits decide nearly all, 48 more the rest."""
    top = int(rate * 2.0**64)
    bits = np.asarray(coins.u64(-(-count // 4)), "<u8").view("<u2")[:count]
    heads: NDArray[np.bool_] = bits < np.uint16(top >> 48)
    ties = np.flatnonzero(bits == np.uint16(top >> 48))
    heads[ties] = coins.u64(len(ties)) >> np.uint64(16) < np.uint64(top & ((1 << 48) - 1))
    return heads


def _chosen(values: NDArray[Any], heads: Any) -> NDArray[Any]:
    """The rows with heads; by their numbers, which is faster where they are few."""
    return values[heads] if isinstance(heads, slice) else values.take(np.flatnonzero(heads), axis=0)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread_each() -> Any:
    """Matrix products of one thread each while cores share out the blocks: threads of threads wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Array:
    """A NumPy array, read as it lies."""

    def __init__(self, values: NDArray[Any], columns: tuple[str, ...] | None = None, numeric: bool = True) -> None:
        if values.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: one row per unit, one column "
                "per feature (`X.reshape(-1, 1)` for a single feature)."
            )
        self._values, self._numeric = _numbers(values, "X") if numeric else values, numeric
        self.columns, self.width = columns, values.shape[1]

    def __len__(self) -> int:
        return len(self._values)

    def take(self, heads: Any) -> _Array:
        return _Array(_chosen(self._values, heads), self.columns, self._numeric)

    def block(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._values[start:stop]
        with np.errstate(all="ignore"):  # a warning would tell of a value
            return np.asarray(rows, np.float64) if self._numeric else rows


class _Pandas:
    """A pandas frame."""

    def __init__(self, frame: Any, numeric: bool) -> None:
        self._frame, self._numeric = frame, numeric
        self.columns, self.width = _names(frame.columns), frame.shape[1]
        if numeric:
            kinds = [dtype.kind in "biuf" for dtype in frame.dtypes]
            _check_kinds(list(zip(frame.columns, kinds, strict=True)))

    def __len__(self) -> int:
        return len(self._frame)

    def take(self, heads: Any) -> _Pandas:
        return _Pandas(self._frame.iloc[heads], self._numeric)

    def block(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._frame.iloc[start:stop]
        if self._numeric:
            return np.asarray(rows.to_numpy(np.float64, na_value=np.nan))
        return _objects([rows.iloc[:, i].to_numpy(dtype=object) for i in range(self.width)], len(rows))


class _Polars:
    """A polars frame."""

    def __init__(self, frame: Any, numeric: bool) -> None:
        self._frame, self._numeric = frame, numeric
        self.columns, self.width = _names(frame.columns), frame.width
        if numeric:
            _check_kinds([(name, kind.is_numeric() or str(kind) == "Boolean") for name, kind in frame.schema.items()])

    def __len__(self) -> int:
        return int(self._frame.height)

    def take(self, heads: Any) -> _Polars:
        return _Polars(self._frame if isinstance(heads, slice) else self._frame.filter(heads), self._numeric)

    def block(self, start: int, stop: int) -> NDArray[Any]:
        import polars

        rows = self._frame.slice(start, stop - start)
        if self._numeric:
            return np.asarray(rows.select(polars.all().cast(polars.Float64)).to_numpy())
        return _objects([column.to_list() for column in rows.get_columns()], rows.height)


class _Sparse:
    """A sparse matrix, made dense block by block."""

    columns = None

    def __init__(self, matrix: Any) -> None:
        if matrix.dtype.kind not in "biuf":
            _numbers(np.empty((0, 0), matrix.dtype), "X")
        self._matrix, self.width = matrix.tocsr(), matrix.shape[1]

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def take(self, heads: Any) -> _Sparse:
        return _Sparse(self._matrix[heads])

    def block(self, start: int, stop: int) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            return np.asarray(self._matrix[start:stop].toarray(), np.float64)


class _Mapped:
    """A function of the rows of another table."""

    def __init__(self, table: _Table, image: Image, columns: tuple[str, ...] | None) -> None:
        self._table, self._image, self.columns = table, image, columns
        self.width = self._made(0, 0).shape[1]
        if columns is not None and len(columns) != self.width:
            raise ValueError(f"There must be a name for each of {self.width} columns. Got {len(columns)}.")

    def __len__(self) -> int:
        return len(self._table)

    def take(self, heads: Any) -> _Mapped:
        return _Mapped(self._table.take(heads), self._image, self.columns)

    def block(self, start: int, stop: int) -> NDArray[Any]:
        size = max(64, CELLS // max(1, self._table.width, self.width))
        if stop - start <= size:
            return self._made(start, stop)
        stop = min(stop, len(self))
        values = np.empty((stop - start, self.width))
        for first in range(start, stop, size):
            values[first - start : first - start + size] = self._made(first, min(first + size, stop))
        return values

    def _made(self, start: int, stop: int) -> NDArray[Any]:
        with np.errstate(all="ignore"):  # a warning would tell of a value
            return np.asarray(self._image(Batch(self._table.block(start, stop))), np.float64)


_Table = _Array | _Pandas | _Polars | _Sparse | _Mapped


def _table(X: Any, numeric: bool) -> _Table:
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("Masked arrays are not supported: the mask would be lost. Hint: X.filled(np.nan).")
    if isinstance(X, np.ndarray):
        return _Array(X, numeric=numeric)
    family = type(X).__module__.split(".")[0]
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        return _Sparse(X)
    if type(X).__name__ == "LazyFrame":
        raise TypeError("A lazy polars frame is not in memory. Hint: `.collect()` it.")
    if family == "pandas" and hasattr(X, "columns"):
        return _Pandas(X, numeric)
    if family == "polars" and hasattr(X, "columns"):
        return _Polars(X, numeric)
    return _Array(plain(X, "X", numeric), numeric=numeric)


def column(values: Any, name: str) -> NDArray[np.float64]:
    """One number per row, as floats; missing values as NaN."""
    if type(values).__module__.split(".")[0] == "pandas" and hasattr(values, "dtype"):
        values = values.to_numpy(np.float64, na_value=np.nan) if values.dtype.kind in "biuf" else values.to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"Masked arrays are not supported: the mask would be lost. Hint: {name}.filled(np.nan).")
    array = values if isinstance(values, np.ndarray) else plain(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one number per row: y should be a 1d array. Several targets are not supported."
        )
    with np.errstate(all="ignore"):
        return np.asarray(_numbers(array, name), np.float64)


def label_column(values: Any, name: str) -> NDArray[Any]:
    """One label per row, as they are."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"Masked arrays are not supported: the mask would be lost. Hint: {name}.filled(np.nan).")
    series = hasattr(values, "to_numpy") or hasattr(values, "categories")
    array = _labels(values) if series else plain(values, name, numeric=False)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one label per row: y should be a 1d array. Several targets are not supported."
        )
    return array


def _labels(values: Any) -> NDArray[Any]:
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


def plain(values: Any, name: str, numeric: bool = True) -> NDArray[Any]:
    """An array of what is not one yet. Lists have no type: what is no number in them is missing, and raises nothing."""
    if hasattr(values, "__array__"):
        return np.asarray(values)
    try:
        cells = np.array(values, dtype=object)
    except ValueError:
        raise ValueError(f"{name} must be a table: rows of equal length.") from None
    if cells.ndim == 1 and any(isinstance(row, (list, tuple, np.ndarray)) for row in cells):
        raise ValueError(f"{name} must be a table: rows of equal length.")
    return np.asarray(np.frompyfunc(_number, 1, 1)(cells), np.float64) if numeric else cells


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # whatever a strange value does: it is missing, and tells nothing of itself
        return np.nan


def _objects(columns: list[Any], rows: int) -> NDArray[Any]:
    """Columns of labels side by side, each value as it was: no common type that one row could change for all."""
    table = np.empty((rows, len(columns)), dtype=object)
    for i, values in enumerate(columns):
        table[:, i] = values
    return table


def _numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Numbers as they are; other types are refused by type alone, so that an error tells of no value."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    if values.dtype.kind in "mM":
        raise TypeError(f"{name} holds dates, not numbers. Hint: make numbers of them, such as days since a day.")
    raise TypeError(
        f"{name} is of type {values.dtype}, not of numbers. Hint: {name}.astype(float) where they are numbers; encode "
        "categories with OneHotEncoder(categories=...)."
    )


def _check_kinds(numeric: list[tuple[Any, bool]]) -> None:
    bad = [str(name) for name, fine in numeric if not fine]
    if bad:
        raise TypeError(
            f"Columns that are not numbers: {bad}. Hint: encode categories with OneHotEncoder(categories=...), "
            "which takes the public list of them."
        )


def _names(columns: Any) -> tuple[str, ...] | None:
    if len(set(columns)) != len(columns):
        twice = sorted({str(name) for name in columns if list(columns).count(name) > 1})
        raise ValueError(f"Column names must differ. Twice: {twice}.")
    return tuple(columns) if all(isinstance(name, str) for name in columns) else None
