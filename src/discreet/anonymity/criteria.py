"""What every class of a published table must meet.

A criterion says whether it is `monotone` (classes that meet it still do when merged, so a node above a good one is
good) and whether it stays so with suppression (`monotone_with_suppression`: fewer rows fail the higher one goes). A
search may infer one node from another only then.

| criterion | monotone | with suppression |
| --- | --- | --- |
| KAnonymity, KMap | yes | yes |
| DistinctL | yes | yes with one sensitive column; with several a part that fails takes its whole class along |
| EntropyL, RecursiveCL, TCloseness, DeltaPresence | yes | no: a failing class can swallow a good one |

Where people have several rows, criteria count people (`Groups.count_people`). Somebody in two classes counts once when
these are merged, so that the shares in both together are not the mean of their shares. A criterion is monotone then
only if it says so (`monotone_with_people`); one on sensitive values besides only if nothing is suppressed and nobody
has rows with different quasi-identifiers.

A missing sensitive value is no value. Diversity must hold whatever the missing ones are, that is, if they are all the
commonest value of their class; closeness is judged on the recorded values, and on how many are missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from discreet.anonymity.groups import Bools, Groups, Histogram, concentrate
from discreet.anonymity.hierarchies import Hierarchy, HierarchyError
from discreet.arguments import check_whole

Floats = npt.NDArray[np.float64]
CLOSE = 1e-12  # rounding allowed where a bound is met with equality
BLOCK = 4_000_000  # entries of a dense matrix of shares


class Criterion(Protocol):
    """Something each class must meet; `needs` is "sizes", "sensitive" or "population"."""

    @property
    def monotone(self) -> bool: ...
    @property
    def monotone_with_suppression(self) -> bool: ...
    @property
    def needs(self) -> str: ...

    def check(self, groups: Groups) -> Bools:
        """Which classes meet it."""
        ...


@dataclass(frozen=True)
class KAnonymity:
    """Every class has at least k rows; of at least k people, if it is known whose they are. Samarati & Sweeney 1998.

    >>> KAnonymity(2).check(Groups(np.array([1, 2, 3]), 6))
    array([False,  True,  True])
    """

    k: int
    monotone = True
    monotone_with_suppression = True
    monotone_with_people = True
    needs = "sizes"

    def __post_init__(self) -> None:
        check_whole(type(self).__name__, "k", self.k)

    def check(self, groups: Groups) -> Bools:
        """Which classes are large enough."""
        return groups.count_people() >= self.k


@dataclass(frozen=True)
class KMap:
    """Every class has at least k people in the population that the table is a part of. Sweeney 2002."""

    k: int
    monotone = True
    monotone_with_suppression = True
    monotone_with_people = True
    needs = "population"

    def __post_init__(self) -> None:
        check_whole(type(self).__name__, "k", self.k)

    def check(self, groups: Groups) -> Bools:
        """Which classes are large enough in the population."""
        assert groups.population is not None
        return groups.population >= self.k


@dataclass(frozen=True)
class DeltaPresence:
    """The share of each class of the population that is in the table lies in [low, high].

    Nergiz, Atzori & Clifton, SIGMOD 2007. With low > 0 a class of the population without any row in the table breaks
    it for the whole node: its people are known to be absent, and no suppression helps them. Nor may rows be removed
    then (`keeps_all`): the people of a class that was removed would be taken for absent.
    """

    low: float
    high: float
    monotone = True
    monotone_with_suppression = False
    needs = "population"

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError(f"DeltaPresence needs 0 <= low <= high <= 1. Got {self.low}, {self.high}.")

    @property
    def keeps_all(self) -> bool:
        """Removing a class would break it, for its share would become 0."""
        return self.low > 0

    def check(self, groups: Groups) -> Bools:
        """Which classes are neither surely in the table nor surely out of it."""
        assert groups.population is not None
        share = groups.count_people() / np.maximum(groups.population, 1)
        inside: Bools = (share >= self.low - CLOSE) & (share <= self.high + CLOSE)
        return inside & (self.low == 0 or not groups.absent)


class Sensitive(ABC):
    """A criterion on the sensitive values in each class, for one sensitive column or (None) for each of them."""

    monotone = True
    monotone_with_people = False
    needs = "sensitive"
    column: str | None

    @abstractmethod
    def holds(self, found: Histogram) -> Bools:
        """Which parts of classes meet it."""

    def check(self, groups: Groups) -> Bools:
        """Which classes meet it in all their parts."""
        fine = np.ones(len(groups.sizes), dtype=bool)
        for name, found in groups.histograms.items():
            if self.column in (None, name):
                fine[found.home[~self.holds(found)]] = False
        return fine


@dataclass(frozen=True)
class DistinctL(Sensitive):
    """Every class has at least l different sensitive values.

    A missing value counts for nothing. Of people with several rows, everybody counts for one value, whichever makes
    the class least diverse (`groups.concentrate`): the l - 1 commonest values have fewer people than the class.
    """

    l: int
    column: str | None = None
    monotone_with_suppression = True
    monotone_with_people = True

    def __post_init__(self) -> None:
        check_whole(type(self).__name__, "l", self.l)

    def holds(self, found: Histogram) -> Bools:
        """Which parts have enough values."""
        return count_values(found) >= self.l


@dataclass(frozen=True)
class EntropyL(Sensitive):
    """The entropy of the sensitive values in every class is at least log l. Machanavajjhala et al. 2007.

    Missing values count as the commonest one, and people with several values for the one that makes the entropy least.
    """

    l: float
    column: str | None = None
    monotone_with_suppression = False

    def __post_init__(self) -> None:
        if not self.l >= 1:
            raise ValueError(f"The `l` of EntropyL must be at least 1. Got {self.l}.")

    def holds(self, found: Histogram) -> Bools:
        """Which parts have enough entropy."""
        enough: Bools = entropies(found) >= np.log(self.l) - CLOSE
        return enough


@dataclass(frozen=True)
class RecursiveCL(Sensitive):
    """In every class the commonest value is rarer than c times all from the l-th commonest on. Machanavajjhala 2007.

    Missing values count as the commonest one, and people with several values for the commonest of theirs.
    """

    c: float
    l: int
    column: str | None = None
    monotone_with_suppression = False
    monotone_with_people = True

    def __post_init__(self) -> None:
        check_whole(type(self).__name__, "l", self.l)
        if not self.c > 0:
            raise ValueError(f"The `c` of RecursiveCL must be > 0. Got {self.c}.")

    def holds(self, found: Histogram) -> Bools:
        """Which parts have r1 < c (r_l + ... + r_m)."""
        owner, count = concentrate(found)
        order = np.lexsort((-count, owner))
        owner, count = owner[order], count[order]
        first = np.searchsorted(owner, np.arange(found.parts))
        rank = np.arange(len(owner)) - first[owner]
        tail = np.bincount(owner, weights=np.where(rank >= self.l - 1, count, 0), minlength=found.parts)
        return count[first] < self.c * tail


@dataclass(frozen=True)
class TCloseness(Sensitive):
    """The sensitive values in every class are distributed as in the whole table, within t.

    Li, Li & Venkatasubramanian, ICDE 2007: the earth mover's distance. The reference is the input table, fixed, also
    when rows are suppressed. With people, everybody counts as one: by the shares of their rows in the class, and in the
    table. Where values are missing, the distance is the larger of two: that of the recorded values from the recorded
    values of the table, which missing ones cannot dilute; and how much more or less is missing than in the table (for
    "equal": with missing as one more value).

    Parameters
    ----------
    t : the largest distance allowed, in [0, 1].
    distance : "equal" (half the sum of differences), "ordered" (mean absolute cumulative difference), or a Hierarchy
        of the sensitive column (mass moves within the lowest common group, at the height of that group).
    order : for "ordered", the values from lowest to highest; by default numbers by size (also
        where all of a text column are), other text by alphabet.
    """

    t: float
    distance: Literal["equal", "ordered"] | Hierarchy = "equal"
    column: str | None = None
    order: tuple[str, ...] | None = None
    monotone_with_suppression = False
    monotone_with_people = True

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise ValueError(f"The `t` of TCloseness must be in [0, 1]. Got {self.t}.")
        if not isinstance(self.distance, Hierarchy) and self.distance not in ("equal", "ordered"):
            raise ValueError(f"The distance must be 'equal', 'ordered' or a Hierarchy. Got {self.distance!r}.")

    def holds(self, found: Histogram) -> Bools:
        """Which parts are close to the table."""
        return self.distances(found) <= self.t + CLOSE

    def distances(self, found: Histogram) -> Floats:
        """The distance of each part from the table."""
        if found.missing is None:
            return self._apart(found)
        seen = found.drop_missing()
        near = np.where(seen.totals() > 0, self._apart(seen), 0.0) if len(seen.owner) else np.zeros(found.parts)
        return np.maximum(near, equal(found) if self.distance == "equal" else gap(found))

    def _apart(self, found: Histogram) -> Floats:
        if self.distance == "equal":
            return equal(found)
        block = max(BLOCK // len(found.reference), 1)
        starts = range(0, found.parts, block)
        return np.concatenate([self._moved(found, s, min(s + block, found.parts)) for s in starts] or [np.zeros(0)])

    def _moved(self, found: Histogram, first: int, last: int) -> Floats:
        extra = found.dense(first, last) - found.reference
        if isinstance(self.distance, Hierarchy):
            return hierarchical(extra, ladder(self.distance, found.names))
        if self.order is not None:
            extra = extra[:, ranked(self.order, found.names)]
        moved: Floats = np.abs(np.cumsum(extra, axis=1)).sum(axis=1) / max(extra.shape[1] - 1, 1)
        return moved


def count_values(found: Histogram) -> npt.NDArray[np.int64]:
    """How many different values each part has for sure."""
    return np.bincount(concentrate(found)[0], minlength=found.parts)


def entropies(found: Histogram) -> Floats:
    """The entropy of the values in each part, at the least."""
    owner, count = concentrate(found)
    share = count / np.bincount(owner, weights=count, minlength=found.parts)[owner]
    return -np.bincount(owner, weights=share * np.log(share), minlength=found.parts).astype(np.float64)


def gap(found: Histogram) -> Floats:
    """The difference between the share missing in each part and that in the table."""
    assert found.missing is not None
    gone = np.where(found.value == found.missing, found.count, 0)
    share = np.bincount(found.owner, weights=gone, minlength=found.parts) / found.totals()
    return np.asarray(np.abs(share - found.reference[found.missing]))


def equal(found: Histogram) -> Floats:
    """½ Σ|p − q|, where values that do not occur in a part add q."""
    known = found.reference[found.value]
    change = np.abs(found.shares() - known) - known
    half: Floats = (1 + np.bincount(found.owner, weights=change, minlength=found.parts)) / 2
    return half


def hierarchical(extra: Floats, steps: Sequence[npt.NDArray[np.int64]]) -> Floats:
    """Σ over groups N of height(N)/H · min(mass its children have too much, mass they have too little)."""
    cost = np.zeros(len(extra))
    for height, step in enumerate(steps, 1):
        into = np.zeros((extra.shape[1], step.max() + 1))
        into[np.arange(len(step)), step] = 1.0
        cost += height / len(steps) * np.minimum(np.maximum(extra, 0) @ into, np.maximum(-extra, 0) @ into).sum(axis=1)
        extra = extra @ into
    return cost


@lru_cache(maxsize=32)
def ladder(tree: Hierarchy, names: tuple[str, ...]) -> tuple[npt.NDArray[np.int64], ...]:
    """For each level the group above every group; level 0 is in the order of `names`, the last is one group."""
    places = {value: i for i, value in enumerate(tree.domain)}
    absent = sum(name not in places for name in names)
    if absent:
        raise HierarchyError(f"The hierarchy of the sensitive column lacks {absent} of its {len(names)} values.")
    ups = [tree.up(level, level + 1) for level in range(tree.height - 1)]
    ups = ups if len(tree.names[-1]) == 1 else [*ups, np.zeros(len(tree.names[-1]), dtype=np.int64)]
    return (ups[0][tree.codes[0][[places[name] for name in names]]], *ups[1:])


@lru_cache(maxsize=32)
def ranked(order: tuple[str, ...], names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """The places of the table's values in the order given; values that do not occur are left out."""
    places = {name: i for i, name in enumerate(names)}
    if set(names) - set(order):
        raise ValueError(f"The order of the sensitive column lacks {len(set(names) - set(order))} of its values.")
    return np.array([places[str(value)] for value in order if value in places])
