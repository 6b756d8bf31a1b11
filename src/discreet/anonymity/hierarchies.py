"""How a column is made coarser: the groups of its values at every level.

A hierarchy is public. It is written down, or built from a public list of values, before the table is seen, so its
own labels may appear in messages; the values of a table may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity import builders
from discreet.anonymity.columns import nulls, text, words
from discreet.errors import DiscreetError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SPAN = 10_000  # numbers within this range are looked up once each


class HierarchyError(DiscreetError, ValueError):
    """A hierarchy is no tree, or does not cover the column it is used for."""


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """The groups of a column's values, level by level, from the values themselves to the coarsest groups.

    Use a constructor: `from_table`, `intervals`, `quantiles`, `dates`, `prefix`, `tree`, `ordered`, `flat`.

    Parameters
    ----------
    domain : the values at level 0, as text; for continuous intervals the finest intervals.
    names : names[level] lists the labels of the groups of that level.
    codes : codes[level][i] is the group of the i-th value of the domain.
    leaves : leaves[level][g] is the number of values of the domain in group g.
    edges : for continuous intervals, their end points; else None.
    missing : the value that stands for null and NaN; None makes them an error.

    | edge case | what happens |
    | --- | --- |
    | two groups of a level share a label | they are one group, as nobody could tell them apart |
    | a group lies in two groups of the next level | HierarchyError: not a tree |
    | a domain of one value | its loss is 0 at every level |
    | the last level has several groups | allowed; nothing coarser is ever published |

    Examples
    --------
    >>> ages = Hierarchy.intervals(0, 99, width=10, factors=(2,))
    >>> ages.height, ages.names[1][:2], ages.names[2][:2]
    (4, ['0-9', '10-19'], ['0-19', '20-39'])
    """

    domain: tuple[str, ...]
    names: tuple[list[str], ...]
    codes: tuple[Ints, ...]
    leaves: tuple[Ints, ...]
    edges: Floats | None = None
    missing: str | None = None

    @classmethod
    def of(cls, levels: Sequence[Sequence[str]], *, edges: Floats | None = None) -> Hierarchy:
        """From the labels of every value at every level: levels[0] is the domain.

        >>> Hierarchy.of([["a", "b", "c"], ["ab", "ab", "c"], ["*", "*", "*"]]).leaves[1]
        array([2, 1])
        """
        validate(levels)
        pairs = [group(labels) for labels in levels]
        codes = tuple(sealed(c) for _, c in pairs)
        leaves = tuple(sealed(np.bincount(c).astype(np.int64)) for c in codes)
        return cls(tuple(levels[0]), tuple(n for n, _ in pairs), codes, leaves, edges)

    @classmethod
    def from_table(cls, table: Any, *, attribute: str | None = None) -> Hierarchy:
        """From a frame or CSV file: one row for each value, one column for each level, as other tools write them.

        A file has no header and is separated by ';' or ','. A frame with the columns attribute, level, value and
        generalised is read as the long form; `attribute` says which one is meant.

        >>> Hierarchy.from_table(pl.DataFrame({"0": ["Paris", "Lyon", "Bonn"], "1": ["FR", "FR", "DE"]})).names[1]
        ['FR', 'DE']
        """
        return cls.of(builders.table(table, attribute))

    @classmethod
    def intervals(
        cls,
        low: float = 0,
        high: float = 0,
        width: float | None = None,
        *,
        edges: Sequence[float] | None = None,
        factors: Sequence[int] = (2, 2),
        whole: bool = True,
    ) -> Hierarchy:
        """Intervals of numbers from `low` to `high`, both included, each next level joining `factors` of them.

        With `whole` the values are whole numbers and level 0 is the number itself; without, level 0 is the finest
        interval, since no two people share an exact measurement.

        >>> Hierarchy.intervals(edges=[0.0, 1.5, 4.0, 9.0], whole=False, factors=(2,)).names[1]
        ['[0, 4)', '[4, 9]']
        """
        ends = builders.edges(low, high, width, edges)
        return cls.of(builders.intervals(ends, factors, whole), edges=None if whole else sealed(ends))

    @classmethod
    def quantiles(
        cls, sample: Iterable[float], bins: int, low: float, high: float, *, factors: Sequence[int] = (2, 2)
    ) -> Hierarchy:
        """Intervals of measurements that hold about equally many of a *public* sample (never of the table itself).

        >>> Hierarchy.quantiles([1.0, 2.0, 3.0, 10.0], 2, 0.0, 100.0, factors=()).domain
        ('[0, 2.5)', '[2.5, 100]')
        """
        return cls.intervals(edges=builders.quantiles(sample, bins, low, high), factors=factors, whole=False)

    @classmethod
    def dates(
        cls, start: date | str, end: date | str, units: Sequence[str] = ("day", "month", "quarter", "year", "decade")
    ) -> Hierarchy:
        """Every day from `start` to `end`, both included, then the coarser units, then `*` if several groups are left.

        >>> [level[0] for level in Hierarchy.dates("2024-02-28", "2024-03-01").names]
        ['2024-02-28', '2024-02', '2024-Q1', '2024', '2020s']
        """
        return cls.of(builders.dates(start, end, units))

    @classmethod
    def prefix(cls, values: Iterable[Any], length: int | None = None, *, from_end: bool = True) -> Hierarchy:
        """Mask one more character at each level, from the end (postcodes) or from the start.

        >>> Hierarchy.prefix(["4767", "4790"]).names[2:4]
        (['47**'], ['4***'])
        """
        return cls.of(builders.prefix(words(values), length, from_end))

    @classmethod
    def tree(cls, tree: Mapping[str, Any] | str) -> Hierarchy:
        """From a nested mapping whose ends are lists of values, or the same as (plain) YAML text.

        >>> Hierarchy.tree({"any": {"cold": ["flu", "cough"], "heart": ["stroke"]}}).names[1]
        ['cold', 'heart']
        """
        return cls.of(builders.tree(tree))

    @classmethod
    def ordered(cls, values: Iterable[Any], sizes: Sequence[int] = (2,)) -> Hierarchy:
        """Runs of `sizes[0]`, `sizes[1]`, ... neighbouring values of a public ordered list, then `*`.

        >>> Hierarchy.ordered(["low", "middle", "high", "top"], sizes=(2,)).names[1]
        ['low - middle', 'high - top']
        """
        return cls.of(builders.ordered(words(values), sizes))

    @classmethod
    def flat(cls, values: Iterable[Any]) -> Hierarchy:
        """The value itself or nothing: two levels.

        >>> Hierarchy.flat(["f", "m"]).height
        2
        """
        return cls.ordered(values, sizes=())

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.domain)} values, {self.height} levels)"

    @property
    def height(self) -> int:
        """The number of levels, level 0 included."""
        return len(self.names)

    def sizes(self) -> list[int]:
        """The number of groups at every level."""
        return [len(names) for names in self.names]

    def ncp(self, level: int) -> Floats:
        """(leaves − 1)/(domain − 1) for every value of the domain: 0 for the value itself, 1 for all of them."""
        spread = max(len(self.domain) - 1, 1)
        counted: Floats = (self.leaves[level][self.codes[level]] - 1) / spread
        return counted

    def up(self, lower: int, upper: int) -> Ints:
        """The group at level `upper` of each group at level `lower`."""
        step = np.zeros(len(self.names[lower]), dtype=np.int64)
        step[self.codes[lower]] = self.codes[upper]
        return step

    def with_missing(self, name: str) -> Hierarchy:
        """The same, where null and NaN count as the value `name`, added beside the others if it is not in the domain.

        >>> Hierarchy.flat(["f", "m"]).with_missing("unknown").domain
        ('f', 'm', 'unknown')
        """
        if name in self.domain:
            return replace(self, missing=name)
        top = self.names[-1][0] if len(self.names[-1]) == 1 else name
        added = [name] * (self.height - 1) + [top]
        labels = [
            [names[c] for c in codes] + [new] for names, codes, new in zip(self.names, self.codes, added, strict=True)
        ]
        return replace(Hierarchy.of(labels, edges=self.edges), missing=name)

    def encode(self, column: pl.Series, *, show: bool = False) -> Ints:
        """The place in the domain of every entry of a column.

        Raises HierarchyError with the column's name and how many *distinct* values are not covered; `show=True` also
        names up to five of them (they are values of rows: for the eyes of whoever may see the table).
        """
        empty = nulls(column)
        if empty.any() and self.missing is None:
            raise HierarchyError(
                f"The column {column.name!r} has {int(empty.sum())} missing entries and its hierarchy has none. "
                "Hint: name the category they shall be, `hierarchy.with_missing('unknown')` or `missing='unknown'`."
            )
        found = self._place(column, empty)
        self._refuse(column, found < 0, show)
        return found

    def _place(self, column: pl.Series, empty: npt.NDArray[np.bool_]) -> Ints:
        if self.edges is not None:
            return self._interval(column, empty)
        if column.dtype.is_integer() and len(column) > SPAN and not empty.any():
            low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
            if high - low < SPAN:  # look up each number once, not each row
                each = pl.Series(np.arange(low, high + 1))
                return np.take(self._place(each, nulls(each)), column.to_numpy().astype(np.int64) - low)
        domain = pl.Series("domain", self.domain)
        filled = text(column)
        if empty.any():
            filled = pl.select(pl.when(pl.Series(empty)).then(pl.lit(self.missing)).otherwise(filled)).to_series()
        found = filled.cast(pl.Enum(domain), strict=False).to_physical()
        return found.cast(pl.Int64).fill_null(-1).to_numpy()

    def _interval(self, column: pl.Series, empty: npt.NDArray[np.bool_]) -> Ints:
        assert self.edges is not None
        numbers = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
        found = np.searchsorted(self.edges, numbers, side="right").astype(np.int64) - 1
        found = np.where(inside, np.minimum(found, len(self.edges) - 2), -1)
        return np.where(empty, self.domain.index(self.missing), found) if self.missing is not None else found

    def _refuse(self, column: pl.Series, lost: npt.NDArray[np.bool_], show: bool) -> None:
        if not lost.any():
            return
        values = column.filter(pl.Series(lost)).unique()
        named = f" ({', '.join(map(repr, values.head(5).to_list()))} ...)" if show else ""
        raise HierarchyError(
            f"The column {column.name!r} has {len(values)} distinct values{named} that its hierarchy of "
            f"{len(self.domain)} values does not cover. Hint: add them to the hierarchy, or clean the column; "
            "`hierarchy.encode(column, show=True)` names them."
        )


def group(labels: Sequence[str]) -> tuple[list[str], Ints]:
    """The distinct labels in order of first use, and the place of each entry's label among them."""
    places: dict[str, int] = {}
    codes = np.fromiter((places.setdefault(label, len(places)) for label in labels), np.int64, len(labels))
    return list(places), codes


def sealed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array


def validate(levels: Sequence[Sequence[str]]) -> None:
    """A tree over distinct values, or a HierarchyError that says where it is none."""
    if not levels or not len(levels[0]):
        raise HierarchyError("A hierarchy needs at least one level and one value.")
    if len({len(labels) for labels in levels}) != 1:
        raise HierarchyError("Every level of a hierarchy must have a label for every value.")
    repeated = len(levels[0]) - len(set(levels[0]))
    if repeated:
        raise HierarchyError(f"The values at level 0 must be distinct. {repeated} are repeated.")
    for level, (fine, coarse) in enumerate(pairwise(levels)):
        above: dict[str, str] = {}
        for low, high in zip(fine, coarse, strict=True):
            if above.setdefault(low, high) != high:
                raise HierarchyError(
                    f"Not a tree: the group {low!r} of level {level} lies in both {above[low]!r} and {high!r} "
                    f"at level {level + 1}."
                )
