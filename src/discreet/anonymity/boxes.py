"""What is published of a class of rows: for each column an interval, a set of values, or one node of its hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.anonymity.builders import number
from discreet.anonymity.hierarchies import Hierarchy

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SPAN, SET, NODE = "span", "set", "node"
SMALL = 512  # domains up to this have a table of all pairs


@dataclass(frozen=True, eq=False)
class Axis:
    """A column's domain laid out on a line, neighbours in the hierarchy side by side, so that it can be cut.

    Parameters
    ----------
    tree : the column's hierarchy.
    kind : "span" (published as an interval), "set" (as a set of values) or "node" (as a group of the hierarchy).
    value_at : (domain,); which value of the domain lies at each place of the line.
    place_of : (domain,); where each value of the domain lies.
    apart : whether the last place is that of missing values, which are published as "20-29 or unknown".

    Examples
    --------
    >>> axis = Axis.of(Hierarchy.intervals(0, 99, width=10), "sets")
    >>> axis.kind, axis.text(20, 35, None)
    ('span', '20-35')
    """

    tree: Hierarchy
    kind: str
    value_at: Ints
    place_of: Ints
    apart: bool = False

    @classmethod
    def of(cls, tree: Hierarchy, recode: str) -> Axis:
        """The axis of a hierarchy; `recode` is "sets" or "nodes"."""
        value_at = np.lexsort(tree.codes).astype(np.int64)
        if recode == "nodes":
            return cls(tree, NODE, value_at, np.argsort(value_at))
        apart = not _rises(tree, value_at) and tree.missing in tree.domain
        if apart:
            gap = tree.domain.index(str(tree.missing))
            line = np.append(value_at[value_at != gap], gap)
            apart = _rises(tree, line[:-1])
            value_at = line if apart else value_at
        kind = SPAN if apart or _rises(tree, value_at) else SET
        return cls(tree, kind, value_at, np.argsort(value_at), apart)

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self.value_at)

    @property
    def unit(self) -> float:
        """What one more value in a class costs: 1/(domain - 1)."""
        return 1.0 / max(self.size - 1, 1)

    @property
    def tops(self) -> Ints:
        """The top group of each place; equal ones lie side by side, in order."""
        return np.asarray(self.tree.codes[-1][self.value_at])

    def cost(self, low: Ints, high: Ints) -> Floats:
        """(values - 1)/(domain - 1) of the interval, or of the smallest node, that holds the places low to high.

        With a missing value the interval counts as reaching to the end of the line: no less than what is published.
        """
        if self.kind != NODE:
            return np.asarray((high - low) * self.unit)
        if self._table is not None:
            return np.asarray(self._table[low * self.size + high])
        return np.asarray((self._leaves[self.level(low, high), low] - 1) * self.unit)

    def level(self, low: Ints, high: Ints) -> Ints:
        """The lowest level at which two places are in one group (the number of levels if at none)."""
        groups = self._groups
        return np.asarray((groups[:, low] != groups[:, high]).sum(axis=0), dtype=np.int64)

    def text(self, low: int, high: int, members: Ints | None) -> str:
        """What is published of the places low to high; of `members` alone, if given, where sets are published."""
        if low == high:
            return str(self.tree.domain[self.value_at[low]])
        if self.kind == NODE:
            level = int(self.level(np.array([low]), np.array([high]))[0])
            return str(self.tree.names[level][self.tree.codes[level][self.value_at[low]]])
        held = np.arange(low, high + 1) if members is None else members
        if self.kind == SPAN:
            return self._span(int(held[0]), int(held[-1]), held)
        return "*" if len(held) == self.size else "{" + " | ".join(self._names(held)) + "}"

    @cached_property
    def _table(self) -> Floats | None:
        """The cost of every pair of places, where there are few."""
        if self.size > SMALL:
            return None
        low, high = np.divmod(np.arange(self.size**2), self.size)
        return np.asarray((self._leaves[self.level(low, high), low] - 1) * self.unit)

    def _names(self, places: Ints) -> list[str]:
        return [self.tree.domain[value] for value in self.value_at[places]]

    def _span(self, low: int, high: int, held: Ints) -> str:
        """The interval of the values held, and whether some are missing."""
        if not self.apart or high < self.size - 1:
            return "*" if high - low == self.size - 1 else self._interval(low, high)
        top = int(held[-2])  # the last place is that of missing values
        return "*" if top - low == self.size - 2 else f"{self._interval(low, top)} or {self.tree.missing}"

    def _interval(self, low: int, high: int) -> str:
        if low == high:
            return self._names(np.array([low]))[0]
        if self.tree.edges is not None:
            first, last = number(self.tree.edges[low]), number(self.tree.edges[high + 1])
            return f"[{first}, {last}{']' if high == len(self.tree.edges) - 2 else ')'}"
        first, last = self._names(np.array([low, high]))
        return f"{first}-{last}" if first.isdigit() else f"{first} to {last}"

    @cached_property
    def _groups(self) -> Ints:
        return np.stack(self.tree.codes)[:, self.value_at]

    @cached_property
    def _leaves(self) -> Ints:
        rows = [leaves[codes] for leaves, codes in zip(self.tree.leaves, self.tree.codes, strict=True)]
        top = np.full(self.size, self.size)  # beyond the last level: everything, which is never published
        return np.vstack([np.stack(rows)[:, self.value_at], top])


def _rises(tree: Hierarchy, value_at: Ints) -> bool:
    """Whether the domain is numbers or days, in order along the line; one value has no order to speak of."""
    if tree.edges is not None:
        return len(value_at) == len(tree.edges) - 1
    words = [tree.domain[value] for value in value_at]
    for read in (float, date.fromisoformat):
        try:
            numbers: list[Any] = [read(word) for word in words]
        except ValueError:
            continue
        return len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
    return False
