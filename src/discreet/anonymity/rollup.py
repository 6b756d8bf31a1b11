"""The classes of a node, counted by merging those of a finer one.

Tuples are packed into whole numbers, digit by digit. Making one column coarser changes one digit of the keys, and the
keys that become equal are merged. A node is reached from the table itself column by column, and what was counted on
the way serves the next nodes: LeFevre, DeWitt & Ramakrishnan, "Incognito", SIGMOD 2005, section 3.2 (roll-up).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.anonymity.encode import ROOM, pack
from discreet.anonymity.hierarchies import Hierarchy

Ints = npt.NDArray[np.int64]
Node = tuple[int, ...]
CACHE = 8_000_000  # classes remembered, at 24 to 32 bytes each


@dataclass(frozen=True, eq=False)
class Counted:
    """The classes of one node in the order of their keys: an example entry, the rows of the table, the population's."""

    keys: Ints
    example: Ints
    sizes: Ints
    population: Ints | None


class Rollup:
    """Counts the classes of any node of the lattice of full-domain generalisations.

    Parameters
    ----------
    codes : (entries, d) places of the entries in the hierarchies' domains.
    sizes : rows of the table that have the entry.
    hierarchies : one for each column; the level `height` leaves a column out.
    label, labels : an exact digit, the last, that no node makes coarser, and how many there are.
    population : rows of the population that have the entry.
    """

    def __init__(
        self,
        codes: Ints,
        sizes: Ints,
        hierarchies: Sequence[Hierarchy],
        *,
        label: Ints | None = None,
        labels: int = 1,
        population: Ints | None = None,
    ) -> None:
        self.columns = [np.ascontiguousarray(codes[:, c]) for c in range(codes.shape[1])]
        self.widths = [len(h.domain) for h in hierarchies]
        self.steps = [[*h.codes, np.zeros(len(h.domain), dtype=np.int64)] for h in hierarchies]
        self.label = np.zeros(len(sizes), dtype=np.int64) if label is None else label
        self.labels = labels
        strides = np.cumprod([1, labels, *map(float, self.widths[::-1])])
        self.wide = strides[-1] >= ROOM
        self.strides = [0] * len(self.widths) if self.wide else [int(s) for s in strides[1:-1][::-1]]
        # the most varied column first: what is merged last, again and again, should be small
        self.order = sorted(range(len(self.widths)), key=lambda c: -variety(self.columns[c], sizes))
        self.floor: Node = (0,) * len(self.widths)
        self.cache: OrderedDict[Node, Counted] = OrderedDict()
        self.held = 0
        self.base = self._start(sizes, population)

    def _start(self, sizes: Ints, population: Ints | None) -> Counted:
        keys = pack([*self.columns, self.label], [*self.widths, self.labels])
        return merged(Counted(keys, np.arange(len(keys)), sizes, population), keys)

    def count(self, node: Node) -> Counted:
        """The classes of a node."""
        last = next((c for c in reversed(self.order) if node[c] > self.floor[c]), None)
        if last is None:
            return self.base
        known = self.cache.get(node)
        if known is not None:
            self.cache.move_to_end(node)
            return known
        below = self._kept((*node[:last], self.floor[last], *node[last + 1 :]))
        return merged(below, self._keys(below, node, last))

    def raise_to(self, floor: Node) -> None:
        """From now on only nodes at or above `floor` will be asked for."""
        self.base = self.count(floor)
        self.floor = floor
        self.cache.clear()
        self.held = 0

    def _kept(self, node: Node) -> Counted:
        counted = self.count(node)
        if counted is not self.base and node not in self.cache:
            self.cache[node] = counted
            self.held += len(counted.keys)
            while self.held > CACHE:
                _, old = self.cache.popitem(last=False)
                self.held -= len(old.keys)
        return counted

    def _keys(self, below: Counted, node: Node, column: int) -> Ints:
        if self.wide:
            digits = [s[l][c[below.example]] for s, l, c in zip(self.steps, node, self.columns, strict=True)]
            return pack([*digits, self.label[below.example]], [*self.widths, self.labels])
        step = (self.steps[column][node[column]] - self.steps[column][self.floor[column]]) * self.strides[column]
        keys: Ints = below.keys + step[self.columns[column][below.example]]
        return keys


def variety(column: Ints, sizes: Ints) -> float:
    """The entropy of a column."""
    share = np.bincount(column, weights=sizes)
    share = share[share > 0] / max(sizes.sum(), 1)
    return float(-(share * np.log(share)).sum())


def merged(below: Counted, keys: Ints) -> Counted:
    """Classes of equal keys become one."""
    order = np.argsort(keys, kind="stable")  # runs that are in order already are merged, not sorted
    ranked = keys[order]
    new = np.empty(len(ranked), dtype=bool)
    new[:1] = True
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    population = None if below.population is None else np.add.reduceat(below.population[order], starts)
    return Counted(
        ranked[starts], below.example[order[starts]], np.add.reduceat(below.sizes[order], starts), population
    )
