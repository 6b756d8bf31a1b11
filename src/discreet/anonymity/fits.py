"""Who fits which row, where the rows are generalised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import text
from discreet.anonymity.covers import Values
from discreet.anonymity.encode import distinct, pack
from discreet.anonymity.hierarchies import Hierarchy
from discreet.errors import NotSupported

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CELLS = 500_000_000  # entries of a table of values by labels
BLOCK = 20_000_000  # pairs looked at together


@dataclass(frozen=True, eq=False)
class Column:
    """One column joined on: which value each person has, which label each row, and which labels fit which values."""

    person: Ints
    row: Ints
    value: Ints
    label: Ints
    values: int
    labels: int

    @property
    def single(self) -> bool:
        """Whether no value has two labels, so that fitting is being equal."""
        return len(np.unique(self.value)) == len(self.value)

    def label_of(self) -> Ints:
        """The one label of each value; -1 if none."""
        found = np.full(self.values, -1, dtype=np.int64)
        found[self.value] = self.label
        return found

    def fits(self, people: Ints, rows: Ints) -> Bools:
        """Whether people fit rows, pair by pair."""
        pairs = np.sort(self.value * self.labels + self.label)
        asked = self.person[people] * self.labels + self.row[rows]
        found = np.minimum(np.searchsorted(pairs, asked), max(len(pairs) - 1, 0))
        return pairs[found] == asked if len(pairs) else np.zeros(len(asked), dtype=bool)

    def table(self) -> Bools:
        """Values by labels: what fits."""
        if self.values * self.labels > CELLS:
            raise NotSupported("Not yet: a column with that many values and overlapping labels. Hint: take a sample.")
        fits = np.zeros((self.values, self.labels), dtype=bool)
        fits[self.value, self.label] = True
        return fits


@dataclass(frozen=True, eq=False)
class Grouped:
    """People (or rows) with equal entries, as one.

    Parameters
    ----------
    codes : (groups, columns); the entries.
    weights : how many each stands for.
    group_of : the group of each person or row.
    """

    codes: Ints
    weights: Ints
    group_of: Ints

    @classmethod
    def of(cls, columns: Sequence[Ints]) -> Grouped:
        """Group by columns of whole numbers >= 0."""
        group_of, example, weights = distinct(pack(columns, [int(c.max(initial=0)) + 1 for c in columns]))
        return cls(np.stack([c[example] for c in columns], axis=1).astype(np.int64), weights, group_of)


def fitting(columns: Sequence[Column]) -> tuple[Grouped, Grouped, Ints, Ints]:
    """People and rows in groups, and the pairs of groups that fit.

    Where a column's labels do not overlap, fitting is having the same label, and sorting finds it; only what agrees in
    all such columns is compared label by label in the others.
    """
    single = [column.single for column in columns]
    people = Grouped.of([c.label_of()[c.person] + 1 if s else c.person for c, s in zip(columns, single, strict=True)])
    rows = Grouped.of([c.row + 1 if s else c.row for c, s in zip(columns, single, strict=True)])
    equal, loose = np.flatnonzero(single), np.flatnonzero(~np.array(single))
    mine, other = _keys(people.codes[:, equal], rows.codes[:, equal])
    if not len(loose):
        _, a, b = np.intersect1d(mine, other, return_indices=True)
        return people, rows, a, b
    tables = {j: columns[j].table() for j in map(int, loose)}
    pairs = [_compared(people, rows, a, b, tables) for a, b in _sharing(mine, other)]
    nothing = np.zeros(0, dtype=np.int64)
    return (
        people,
        rows,
        np.concatenate([nothing, *(p for p, _ in pairs)]),
        np.concatenate([nothing, *(r for _, r in pairs)]),
    )


def _keys(mine: Ints, other: Ints) -> tuple[Ints, Ints]:
    """One number for each combination of labels, on both sides; rows have no label 0, which fits nothing."""
    if not mine.shape[1]:
        return np.zeros(len(mine), dtype=np.int64), np.zeros(len(other), dtype=np.int64)
    both = np.concatenate([mine, other])
    keys = distinct(pack(list(both.T), [int(c.max(initial=0)) + 1 for c in both.T]))[0]
    return keys[: len(mine)], keys[len(mine) :]


def _sharing(mine: Ints, other: Ints) -> list[tuple[Ints, Ints]]:
    """The places of equal keys on both sides, in blocks of bounded size."""
    a, b = np.argsort(mine, kind="stable"), np.argsort(other, kind="stable")
    found = []
    for key in np.intersect1d(mine, other):
        left = a[slice(*np.searchsorted(mine, [key, key + 1], sorter=a))]
        right = b[slice(*np.searchsorted(other, [key, key + 1], sorter=b))]
        parts = -(-len(left) * len(right) // BLOCK)
        found += [(part, right) for part in np.array_split(left, parts)]
    return found


def _compared(people: Grouped, rows: Grouped, a: Ints, b: Ints, tables: dict[int, Bools]) -> tuple[Ints, Ints]:
    fits = np.ones((len(a), len(b)), dtype=bool)
    for j, table in tables.items():
        fits &= table[people.codes[a, j]][:, rows.codes[b, j]]
    i, k = np.nonzero(fits)
    return a[i], b[k]


def column(mine: pl.Series, other: pl.Series, way: Hierarchy | Callable[[Any], Any] | None) -> Column:
    """Find out which labels fit which values."""
    person, row = text(mine), text(other).fill_null("*")
    known, labels = person.drop_nulls().unique(maintain_order=True), row.unique(maintain_order=True).to_list()
    if callable(way):
        shown = dict(zip(text(mine.unique()).to_list(), [_word(way(v)) for v in mine.unique().to_list()], strict=True))
        place = {label: i for i, label in enumerate(labels)}
        held = [(v, place[shown[word]]) for v, word in enumerate(known.to_list()) if shown[word] in place]
        value, label = np.array(held, dtype=np.int64).reshape(-1, 2).T
    else:
        values = Values(known.to_list())
        found = [_leaves(values, way, name) for name in labels]
        value = np.concatenate([*found, np.zeros(0, dtype=np.int64)])
        label = np.repeat(np.arange(len(labels)), [len(f) for f in found])
    absent = np.flatnonzero(np.array(labels) == "*")  # someone without a value may be any
    value, label = np.r_[value, np.full(len(absent), len(known))], np.r_[label, absent]
    words = person.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(len(known)).to_numpy()
    rows = row.cast(pl.Enum(labels)).to_physical().cast(pl.Int64).to_numpy()
    return Column(words, rows, value.astype(np.int64), label.astype(np.int64), len(known) + 1, len(labels))


def _word(value: Any) -> str:
    return "*" if value is None else str(value)


def _leaves(values: Values, tree: Hierarchy | None, label: str) -> Ints:
    """The values a label stands for: by the hierarchy if it knows the label, else as the label reads."""
    if tree is not None and tree.edges is None:
        for names, codes in zip(tree.names, tree.codes, strict=True):
            if label in names:
                inside = np.flatnonzero(codes == names.index(label))
                return values.named([tree.domain[i] for i in inside])
    return values.covered(label)
