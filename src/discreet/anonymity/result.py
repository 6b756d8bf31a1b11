"""A release and what it cost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.alone import Alone
from discreet.anonymity.criteria import Criterion
from discreet.anonymity.hierarchies import Hierarchy

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
ANY = "*"


@dataclass(frozen=True, eq=False)
class Anonymised:
    """A generalised table.

    It meets the criteria it was asked to meet, and no more: whoever knows more than the quasi-identifiers, or holds a
    second release of the same people, may learn about a person. For a promise against anybody use a private release.

    Parameters
    ----------
    table : what may be published: fresh rows in random order, without index, unused categories or metadata.
    levels : the level of each quasi-identifier in its hierarchy; None for each if recoded locally.
    loss : of the kind asked for.
    losses : of every kind that has a name.
    classes : the sizes of the published classes, largest first, in people if `person` was given, else in rows; with
        `star` that of the rows published as `*` too.
    suppressed : the share of rows not published (or published as `*`).
    searched : how many nodes were looked at.
    complete : False if the search ended early: then a better node may exist.
    rows : rows of the input.
    criteria : what every published class meets.
    method : how the release was found.
    heights : the number of levels of each quasi-identifier.
    reason : why the search ended early: "time" ran out, or the "size" of the lattice; else empty.
    star : the suppressed rows are published as `*`.
    alone : which shares stand alone, or in groups of fewer than k, by the columns that were kept as they are.
    people : whose row each row of `table` is, as a number that tells nothing else, to measure risks and run attacks by
        people; never to be published. None if `person` was not given.
    person : the column that named people, if one did.
    """

    table: pl.DataFrame = field(repr=False)
    levels: dict[str, int | None]
    loss: float
    losses: dict[str, float]
    classes: Ints = field(repr=False)
    suppressed: float
    searched: int
    complete: bool
    rows: int
    criteria: tuple[Criterion, ...]
    method: str
    heights: dict[str, int] = field(repr=False)
    reason: str = ""
    star: bool = False
    alone: Alone = field(default_factory=Alone)
    people: Ints | None = field(default=None, repr=False)
    person: str | None = field(default=None, repr=False)

    def report(self, **options: Any) -> Any:
        """A page that a data-protection officer can read; see `discreet.anonymity.report`."""
        from discreet.anonymity.report import report

        return report(self, **options)


def published(
    frame: pl.DataFrame,
    columns: Mapping[str, pl.Series],
    places: Ints,
    others: Sequence[str],
    kept: Bools,
    rows: Ints,
) -> pl.DataFrame:
    """The generalised columns (each row's entry is at its place) and those carried over, of the given rows in order."""
    where, shown = places[rows], kept[rows]
    parts = {name: starred(labels.gather(where), shown) for name, labels in columns.items()}
    parts |= {name: plain(frame[name]).gather(rows) for name in others}
    return pl.DataFrame({name: part.rechunk() for name, part in parts.items()})


def draw_rows(kept: Bools, *, star: bool = False) -> Ints:
    """The rows to publish, in random order."""
    rows = np.arange(len(kept)) if star else np.flatnonzero(kept)
    return rows[shuffled(len(rows))]


def shuffled(count: int) -> Ints:
    """A permutation by keys from the system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).argsort()


def renumber_people(person: Ints | None) -> Ints | None:
    """Whose row each is, numbered as they come, so that the numbers tell nothing of the names."""
    if person is None:
        return None
    _, first, place = np.unique(person, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place].astype(np.int64)


def plain(column: pl.Series) -> pl.Series:
    """Without categories, which would list values of rows that are gone."""
    kind = column.dtype
    return column.cast(pl.String) if kind in (pl.Categorical, pl.Enum) else column


def generalised(tree: Hierarchy, level: int, places: Ints, kind: pl.DataType) -> pl.Series:
    """The labels of a column at a level; the values themselves keep the type they had."""
    labels = pl.Series(tree.names[level])
    if level == 0 and tree.edges is None:
        labels = typed(labels, kind)
    return labels.gather(tree.codes[level][places])


def typed(labels: pl.Series, kind: pl.DataType) -> pl.Series:
    if kind.is_integer() or kind.is_float():
        back = labels.cast(kind, strict=False)
    elif kind == pl.Date:
        back = labels.str.to_date("%Y-%m-%d", strict=False)
    else:
        return labels
    return labels if back.has_nulls() else back


def starred(column: pl.Series, shown: Bools) -> pl.Series:
    """`*` in place of the rows that are not shown."""
    if shown.all():
        return column
    return pl.select(pl.when(pl.Series(shown)).then(column.cast(pl.String)).otherwise(pl.lit(ANY))).to_series()
