"""Arrow columns: what kind of values they hold, and the numbers and labels in them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.labels import canonical, codes_of

Kind = Literal["number", "text", "nothing", "other"]


def classify_type(of: pa.DataType) -> Kind:
    """What a column of this type holds; a dictionary, what its values are.

    >>> classify_type(pa.int8()), classify_type(pa.dictionary(pa.int32(), pa.string())), classify_type(pa.date32())
    ('number', 'text', 'other')
    """
    of = of.value_type if pa.types.is_dictionary(of) else of
    types = pa.types
    if types.is_integer(of) or types.is_floating(of) or types.is_boolean(of) or types.is_decimal(of):
        return "number"
    if types.is_string(of) or types.is_large_string(of) or getattr(types, "is_string_view", lambda _: False)(of):
        return "text"
    return "nothing" if types.is_null(of) else "other"


def find_arrow_label_type(of: pa.DataType) -> type[bool] | type[float] | None:
    """What labels of this type are made of, where that is not whole numbers or text.

    >>> find_arrow_label_type(pa.bool_()), find_arrow_label_type(pa.float32()), find_arrow_label_type(pa.int8())
    (<class 'bool'>, <class 'float'>, None)
    """
    of = of.value_type if pa.types.is_dictionary(of) else of
    return bool if pa.types.is_boolean(of) else float if pa.types.is_floating(of) else None


class ReadBuffer:
    """A place for each thread to read features into, again and again: fresh memory would be slower."""

    def __init__(self) -> None:
        self._own = threading.local()

    def __call__(self, columns: int, rows: int) -> NDArray[np.float64]:
        """An array of (columns, rows), to be filled."""
        held = getattr(self._own, "held", None)
        if held is None or held.shape[1] < rows:
            held = self._own.held = np.empty((columns, rows))
        return np.asarray(held[:, :rows])


def read_matrix(batch: pa.RecordBatch, names: Sequence[str], room: ReadBuffer) -> NDArray[Any]:
    """Columns of numbers as one table of floats that lies column by column, missing values as NaN.

    Parameters
    ----------
    room : where to put them.
    """
    values = room(len(names), batch.num_rows)
    for row, name in zip(values, names, strict=True):
        _fill_numbers(row, batch.column(name))
    return values.T


def read_numbers(column: pa.Array) -> NDArray[np.float64]:
    """A column of numbers as floats; missing values as NaN."""
    values = np.empty(len(column))
    _fill_numbers(values, column)
    return values


def _fill_numbers(out: NDArray[np.float64], column: pa.Array) -> None:
    if pa.types.is_null(column.type):
        out[:] = np.nan
        return
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    with np.errstate(all="ignore"):  # a warning would tell of a value
        np.copyto(out, _read_buffer(column), casting="unsafe")
    if column.null_count:
        out[column.is_null().to_numpy(zero_copy_only=False)] = np.nan


def _read_buffer(column: pa.Array) -> NDArray[Any]:
    """The values as they lie, with whatever lies where one is missing."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if column.null_count:
        column = pa.Array.from_buffers(column.type, len(column), [None, column.buffers()[1]], offset=column.offset)
    return np.asarray(column.to_numpy())


def read_objects(batch: pa.RecordBatch, names: Sequence[str]) -> NDArray[Any]:
    """Columns of anything, each value as it is."""
    table = np.empty((batch.num_rows, len(names)), dtype=object)
    for i, name in enumerate(names):
        table[:, i] = batch.column(name).to_pylist()
    return table


def read_labels(column: pa.Array) -> NDArray[Any]:
    """A column of labels, each value as it is; None where it is missing."""
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def find_distinct(column: pa.Array) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes into a list of values that differ, in their canonical form; the last of the list is None, for no value."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = coded.dictionary.to_pylist()
    if not pa.types.is_integer(coded.type.value_type) and classify_type(coded.type) != "text":
        values = [canonical(value) for value in values]
    codes = coded.indices
    codes = codes.cast(pa.int64()).fill_null(len(values)) if codes.null_count else codes
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.intp), [*values, None]


def encode_arrow_labels(column: pa.Array, classes: Sequence[Any]) -> NDArray[np.float64]:
    """The place of each label in a list of classes; NaN for any other."""
    codes, values = find_distinct(column)
    known = np.empty(len(values), dtype=object)
    known[:] = values
    found = codes_of(known, classes)
    found[-1] = -1  # what is missing is no class
    return np.where(found < 0, np.nan, found)[codes]


def count_arrow_labels(target: Any) -> Counter[Any]:
    """How many rows hold each target, an Arrow column or an array; missing ones are left out."""
    if isinstance(target, pa.Array):
        codes, values = find_distinct(target)
        rows = np.bincount(codes, minlength=len(values)).tolist()
    else:
        found, counts = np.unique(target, return_counts=True)
        values, rows = found.tolist(), counts.tolist()
    counter: Counter[Any] = Counter()
    for value, count in zip(values, rows, strict=True):
        label = canonical(value)
        if label is not None and count:
            counter[label] += count
    return counter
