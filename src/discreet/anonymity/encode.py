"""A table as weighted distinct tuples of whole numbers, on which everything else works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import nulls, text, unrecorded
from discreet.anonymity.hierarchies import Hierarchy

Ints = npt.NDArray[np.int64]
ROOM = 2**62  # packed keys stay below this


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table after encoding: its distinct tuples of quasi-identifiers at level 0, and who has them.

    Parameters
    ----------
    columns : the quasi-identifiers, in order.
    codes : (distinct, d); each distinct tuple as places in the hierarchies' domains.
    weights : (distinct,); how many rows have it.
    row_of : (n,); which distinct tuple each row has.
    sensitive : for each sensitive column the code (n,) of each row.
    sensitive_names : for each sensitive column the labels of its codes.
    sensitive_missing : for each sensitive column with missing entries their code.
    person : (n,); whose row each is, as a number; None if each row is a person.
    """

    columns: list[str]
    codes: Ints
    weights: Ints
    row_of: Ints
    sensitive: dict[str, Ints]
    sensitive_names: dict[str, list[str]]
    sensitive_missing: dict[str, int] = field(default_factory=dict)
    person: Ints | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.row_of)


def encode(
    table: Any,
    quasi_identifiers: Mapping[str, Hierarchy],
    sensitive: Sequence[str] = (),
    *,
    missing: str | None = None,
    person: Ints | None = None,
) -> Encoded:
    """Encode a table; every value must be covered by its column's hierarchy.

    Parameters
    ----------
    table : polars (lazy too), pandas or pyarrow frame, mapping of columns, or path of a CSV or Parquet file.
    quasi_identifiers : a hierarchy for each column.
    sensitive : columns whose values are kept exact.
    missing : the category of null and NaN in columns whose hierarchy names none; in a sensitive column, blank text and
        cells that read so are missing too.
    person : whose row each is, as a number from 0 without gaps (see `discreet.anonymity.people`).

    Examples
    --------
    >>> rows = {"zip": ["10", "11", "10"], "illness": ["flu", "flu", "cold"]}
    >>> found = encode(rows, {"zip": Hierarchy.prefix(["10", "11"])}, ["illness"])
    >>> found.weights, found.row_of, found.sensitive["illness"]
    (array([2, 1]), array([0, 1, 0]), array([1, 1, 0]))
    """
    names = list(quasi_identifiers)
    frame = read(table, [*names, *sensitive])
    trees = filled(frame, quasi_identifiers, missing)
    places = [trees[name].encode(frame[name]).astype(np.int32) for name in names]
    keys = pack(places, [len(trees[name].domain) for name in names])
    row_of, example, weights = distinct(keys)
    codes = np.stack([place[example] for place in places], axis=1).astype(np.int64)
    exact = {name: labelled(frame[name], missing) for name in sensitive}
    labels = {name: words for name, (_, words) in exact.items()}
    gone = {name: words.index(str(missing)) for name, words in labels.items() if missing in words}
    return Encoded(names, codes, weights, row_of, {n: c for n, (c, _) in exact.items()}, labels, gone, person)


def filled(frame: pl.DataFrame, trees: Mapping[str, Hierarchy], missing: str | None) -> dict[str, Hierarchy]:
    """The hierarchies, where `missing` is a value of those whose columns have empty entries."""
    if missing is None:
        return dict(trees)
    lacking = {name for name, tree in trees.items() if tree.missing is None and nulls(frame[name]).any()}
    return {name: tree.with_missing(missing) if name in lacking else tree for name, tree in trees.items()}


def pack(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> Ints:
    """One whole number for each tuple; equal numbers for equal tuples alone.

    >>> pack([np.array([0, 1]), np.array([2, 0])], [2, 3])
    array([2, 3])
    """
    keys, space = np.zeros(len(columns[0]) if len(columns) else 0, dtype=np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if space * size >= ROOM:
            ranks, keys = np.unique(keys, return_inverse=True)
            space = len(ranks)
        keys = keys * size + column
        space *= size
    return keys


def distinct(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """For each row the place of its key among the distinct ones; an example row and the count of each key."""
    found, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    example = np.empty(len(found), dtype=np.int64)
    example[places] = np.arange(len(keys))
    return places.astype(np.int64), example, counts.astype(np.int64)


def labelled(column: pl.Series, missing: str | None = None) -> tuple[Ints, list[str]]:
    """Codes and labels of a column kept exact, in the order of its values (numbers by size, as text too)."""
    absent = unrecorded(column)
    if absent.any() and missing is None:
        raise ValueError(
            f"The sensitive column {column.name!r} has missing or blank entries. Hint: `missing='unknown'`."
        )
    order = ranked(column.filter(pl.Series(~absent)).unique().sort())
    labels = text(order).unique(maintain_order=True).to_list()
    if absent.any() and missing not in labels:
        labels.append(str(missing))
    words = text(column)
    if absent.any():
        words = pl.select(pl.when(pl.Series(absent)).then(pl.lit(missing)).otherwise(words)).to_series()
    return words.cast(pl.Enum(labels)).to_physical().cast(pl.Int64).to_numpy(), labels


def ranked(values: pl.Series) -> pl.Series:
    """Sorted values; text by size if all of it is numbers, so that 10 of a CSV file follows 2.

    >>> ranked(pl.Series(["1", "10", "2"])).to_list()
    ['1', '2', '10']
    """
    if values.dtype not in (pl.String, pl.Categorical):
        return values
    words = values.cast(pl.String).drop_nulls().sort()
    sizes = words.str.strip_chars().cast(pl.Float64, strict=False)
    if not sizes.is_finite().fill_null(False).all():
        return values
    return words.gather(np.argsort(sizes.to_numpy(), kind="stable"))


def read(table: Any, columns: Sequence[str]) -> pl.DataFrame:
    """The named columns of whatever holds a table; text in CSV files stays text, so 01234 keeps its zero."""
    repeated = sorted({c for c in columns if list(columns).count(c) > 1})
    if repeated:
        raise ValueError(f"A column may be named once. Repeated: {', '.join(repeated)}.")
    lazy = scanned(table)
    known = lazy.collect_schema().names()
    absent = [c for c in columns if c not in known]
    if absent:
        raise ValueError(f"The table has no column {', '.join(map(repr, absent))}. It has {', '.join(known)}.")
    return lazy.select(columns).collect()


def scanned(table: Any) -> pl.LazyFrame:
    if isinstance(table, pl.LazyFrame):
        return table
    if isinstance(table, pl.DataFrame):
        return table.lazy()
    if isinstance(table, str | Path):
        return file(Path(table))
    if type(table).__module__.startswith("pandas"):
        if table.columns.has_duplicates:
            raise ValueError("The frame has two columns of the same name.")
        return columnwise({name: uncategorised(table[name]) for name in table.columns}).lazy()
    if isinstance(table, Mapping):
        return columnwise(table).lazy()
    try:
        return pl.DataFrame(table).lazy()
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise TypeError(
            f"A table must be a frame, a mapping of columns or a path. Got {type(table).__name__}."
        ) from None


def file(path: Path) -> pl.LazyFrame:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.suffix in (".parquet", ".pq"):
        return pl.scan_parquet(path)
    with path.open(encoding="utf-8-sig") as lines:
        first = lines.readline()
    mark = max(",;\t", key=first.count)
    names = [name.strip().strip('"') for name in first.split(mark)]
    if len(set(names)) < len(names):
        raise ValueError("The file has two columns of the same name.")
    return pl.scan_csv(path, separator=mark, infer_schema=False)


def columnwise(columns: Mapping[Any, Any]) -> pl.DataFrame:
    """Column by column, so that one of mixed types is refused by name."""
    found = {}
    for name, values in columns.items():
        pandas = type(values).__module__.startswith("pandas")
        try:
            found[str(name)] = pl.from_pandas(values) if pandas else pl.Series(values)
        except Exception:  # whatever the conversion raises may quote a value
            raise TypeError(f"The column {name!r} mixes types. Hint: make them all text, or all numbers.") from None
    if len({len(values) for values in found.values()}) > 1:
        raise ValueError("The columns of the table differ in length.")
    return pl.DataFrame(found)


def uncategorised(values: Any) -> Any:
    """A pandas column without its categories, some of which may belong to no row."""
    return values.astype(object) if values.dtype.name == "category" else values
