"""Columns that keep a list of their values beside the rows: categories of pandas, dictionaries of Arrow.

Such a list outlives the rows. It can hold values of rows that were left out, and its order can tell the order in which
rows stood before they were shuffled. So a list is made anew from the rows that are there, and sorted; where the order
has a meaning (ordered categories) it stays, without what no row holds.

| column | what comes back |
| --- | --- |
| dictionary, categories | the same type; values that are used, sorted |
| of values that cannot be sorted | plain values (Arrow), or values in their order (pandas) |
| a dictionary inside a list, struct or map | plain values |
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def bare(schema: pa.Schema) -> pa.Schema:
    """A schema without metadata of any kind: of the table, of columns, of what is inside them."""
    return pa.schema([_field(one, outer=True) for one in schema])


def _field(one: pa.Field, outer: bool = False) -> pa.Field:
    whole = outer and pa.types.is_dictionary(one.type)
    return pa.field(one.name, one.type if whole else _inner(one.type), one.nullable)


def _inner(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _inner(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([_field(kind.field(place)) for place in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_field(kind.key_field), _field(kind.item_field), kind.keys_sorted)
    if pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field), kind.list_size)
    return kind


def decoded(table: pa.Table) -> pa.Table:
    """The table with plain values in place of dictionaries."""
    columns = [_plain(column) for column in table.columns]
    return pa.table(columns, pa.schema([one.with_type(c.type) for one, c in zip(table.schema, columns, strict=True)]))


def tidied(table: pa.Table, like: pa.Schema | None = None) -> pa.Table:
    """The table without metadata, and with dictionaries of the values that its rows hold.

    Parameters
    ----------
    like : where the table was decoded, the schema with the dictionaries that it is to have again.
    """
    schema = bare(like or table.schema)
    columns = [
        _encoded(column, one.type) if pa.types.is_dictionary(one.type) else column.cast(one.type)
        for column, one in zip(table.columns, schema, strict=True)
    ]
    return pa.table(columns, pa.schema([one.with_type(c.type) for one, c in zip(schema, columns, strict=True)]))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return column
    return pa.chunked_array([one.dictionary.take(one.indices) for one in column.chunks], column.type.value_type)


def _encoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column as a dictionary of what is in it."""
    plain = _plain(column)
    try:
        values = pc.unique(plain).drop_null()
        values = _in_order(column, values) if kind.ordered else values.take(pc.array_sort_indices(values))
        places = pc.index_in(plain, value_set=values).cast(kind.index_type)
    except pa.ArrowException:
        return plain
    chunks = [pa.DictionaryArray.from_arrays(one, values, ordered=kind.ordered) for one in places.chunks]
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, values.type, kind.ordered))


def _in_order(column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    """Values in the order of the column's own dictionary."""
    if not pa.types.is_dictionary(column.type) or not column.num_chunks:
        return values
    known = column.unify_dictionaries().chunk(0).dictionary
    return known.filter(pc.is_in(known, value_set=values))


def categories(column: Any) -> Any:
    """A categorical column of pandas with the categories that its rows hold."""
    used = column.cat.remove_unused_categories()
    if used.cat.ordered:
        return used
    try:
        return used.cat.reorder_categories(sorted(used.cat.categories))
    except TypeError:  # values of several types have no order
        return used
