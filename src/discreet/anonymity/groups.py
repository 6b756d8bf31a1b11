"""What a criterion and a loss see of a node: the sizes of its classes and the sensitive values in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each sensitive value occurs in each class, where it occurs at all.

    With several sensitive columns the others count as quasi-identifiers, so that a class falls into parts:
    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, "l-diversity", TKDD 2007, section 4.3.

    Parameters
    ----------
    home : the class of each part.
    owner, value, count : part, sensitive value and number of rows of each entry, in order of parts.
    reference : the share of each value in the whole input table.
    names : the labels of the values.
    other : what the rows of each part have in the other sensitive columns, as a code; None without others.
    """

    home: Ints
    owner: Ints
    value: Ints
    count: Ints
    reference: Floats
    names: tuple[str, ...]
    other: Ints | None = None

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.home)

    def totals(self) -> Floats:
        """The rows in each part."""
        return np.bincount(self.owner, weights=self.count, minlength=self.parts).astype(np.float64)

    def shares(self) -> Floats:
        """The share of each entry in its part."""
        found: Floats = self.count / self.totals()[self.owner]
        return found

    def dense(self, first: int, last: int) -> Floats:
        """Shares of all values in the parts from `first` to before `last`, as a matrix."""
        low, high = np.searchsorted(self.owner, (first, last))
        width = len(self.reference)
        flat = (self.owner[low:high] - first) * width + self.value[low:high]
        counts = np.bincount(flat, weights=self.count[low:high], minlength=(last - first) * width)
        table = counts.reshape(last - first, width)
        shares: Floats = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
        return shares


@dataclass(frozen=True, eq=False)
class Groups:
    """The classes of a node.

    Parameters
    ----------
    sizes : rows of the table in each class.
    rows : rows of the table.
    population : rows of the population in each class; None without a population table.
    absent : whether the population has a class of which the table has no row.
    histograms : for each sensitive column the values in the classes.
    kept : which classes are published; the rows of the others are suppressed.
    example : for each class one entry that lies in it, for losses that look at labels.
    """

    sizes: Ints
    rows: int
    population: Ints | None = None
    absent: bool = False
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    kept: Bools | None = None
    example: Ints | None = None

    @property
    def published(self) -> Bools:
        """Which classes are published."""
        return np.ones(len(self.sizes), dtype=bool) if self.kept is None else self.kept

    @property
    def suppressed(self) -> int:
        """How many rows are not published."""
        return 0 if self.kept is None else int(self.sizes[~self.kept].sum())

    def union(self, chosen: Bools) -> Groups:
        """The chosen classes as a single one."""
        population = None if self.population is None else self.population[chosen].sum(keepdims=True)
        histograms = {name: joined(found, chosen) for name, found in self.histograms.items()}
        return replace(
            self,
            sizes=self.sizes[chosen].sum(keepdims=True),
            population=population,
            histograms=histograms,
            kept=None,
            example=None,
        )


def joined(found: Histogram, chosen: Bools) -> Histogram:
    """The chosen classes as a single one, which the other sensitive columns divide as they divided each."""
    inside = chosen[found.home[found.owner]]
    other = np.zeros(found.parts, dtype=np.int64) if found.other is None else found.other
    width = len(found.reference)
    entries, place = np.unique(other[found.owner[inside]] * width + found.value[inside], return_inverse=True)
    count = np.bincount(place, weights=found.count[inside], minlength=len(entries)).astype(np.int64)
    parts, owner = np.unique(entries // width, return_inverse=True)
    home = np.zeros(len(parts), dtype=np.int64)
    return replace(found, home=home, owner=owner, value=entries % width, count=count, other=parts)
