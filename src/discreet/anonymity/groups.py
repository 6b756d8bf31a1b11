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
class Members:
    """Which people have rows in which classes: one entry for each class and person, in order of classes."""

    owner: Ints
    person: Ints

    def count(self, classes: int) -> Ints:
        """How many people each class has."""
        return np.bincount(self.owner, minlength=classes)

    def union(self, chosen: Bools) -> Members:
        """The people of the chosen classes as those of a single one; who is in several of them counts once."""
        person = np.unique(self.person[chosen[self.owner]])
        return Members(np.zeros(len(person), dtype=np.int64), person)


@dataclass(frozen=True, eq=False)
class Entries:
    """The sensitive values of people: one entry for each part of a class, person and value, with its rows."""

    owner: Ints
    person: Ints
    value: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each sensitive value occurs in each class, where it occurs at all.

    With several sensitive columns the others count as quasi-identifiers, so that a class falls into parts:
    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, "l-diversity", TKDD 2007, section 4.3.

    Parameters
    ----------
    home : the class of each part.
    owner, value, count : part, sensitive value and number of rows of each entry, in order of parts; with `people`, the
        sum over people of the share of their rows in the part that has the value, so that everybody counts as one.
    reference : the share of each value in the whole input table, by rows or by people.
    names : the labels of the values.
    other : what the rows of each part have in the other sensitive columns, as a code; None without others.
    missing : the code of missing entries, which are no value; None if there are none.
    people : the values person by person; None if each row is a person.
    """

    home: Ints
    owner: Ints
    value: Ints
    count: Ints | Floats
    reference: Floats
    names: tuple[str, ...]
    other: Ints | None = None
    missing: int | None = None
    people: Entries | None = None

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.home)

    def totals(self) -> Floats:
        """The rows, or people, in each part."""
        return np.bincount(self.owner, weights=self.count, minlength=self.parts).astype(np.float64)

    def shares(self) -> Floats:
        """The share of each entry in its part."""
        found: Floats = self.count / self.totals()[self.owner]
        return found

    def dense(self, first: int, last: int) -> Floats:
        """Shares of all values in the parts from `first` to before `last`, as a matrix; zeros where a part is empty."""
        low, high = np.searchsorted(self.owner, (first, last))
        width = len(self.reference)
        flat = (self.owner[low:high] - first) * width + self.value[low:high]
        counts = np.bincount(flat, weights=self.count[low:high], minlength=(last - first) * width)
        table = counts.reshape(last - first, width)
        total = table.sum(axis=1, keepdims=True)
        shares: Floats = table / np.where(total > 0, total, 1)
        return shares

    def drop_missing(self) -> Histogram:
        """The same without missing entries: parts may be empty, and shares of the table are of what is recorded."""
        if self.missing is None:
            return self
        there = self.value != self.missing
        value = self.value[there]
        reference = np.delete(self.reference, self.missing)
        return replace(
            self,
            owner=self.owner[there],
            value=value - (value > self.missing),
            count=self.count[there],
            reference=reference / max(reference.sum(), 1e-300),
            names=(*self.names[: self.missing], *self.names[self.missing + 1 :]),
            missing=None,
            people=None,
        )

    def count_holders(self) -> tuple[Ints, Ints]:
        """For each entry how many have its value, and for each part how many have a missing entry in it.

        Those with a missing entry are counted as such alone; a missing entry has no holders.
        """
        if self.people is not None:
            return self._count_people(self.people)
        gone = self.value == (-1 if self.missing is None else self.missing)
        unknown = np.bincount(self.owner, weights=np.where(gone, self.count, 0), minlength=self.parts)
        return np.where(gone, 0, self.count).astype(np.int64), unknown.astype(np.int64)

    def _count_people(self, people: Entries) -> tuple[Ints, Ints]:
        gone = people.value == (-1 if self.missing is None else self.missing)
        key = people.owner * (int(people.person.max(initial=0)) + 1) + people.person
        lacking = np.unique(key[gone], return_index=True)[1]
        unknown = np.bincount(people.owner[gone][lacking], minlength=self.parts)
        sure = ~np.isin(key, key[gone])
        width = len(self.names)
        place = np.searchsorted(self.owner * width + self.value, people.owner[sure] * width + people.value[sure])
        return np.bincount(place, minlength=len(self.owner)), unknown


def concentrate(found: Histogram) -> tuple[Ints, Ints]:
    """Part and count of each value, in order of parts, in the least diverse way to count everybody for one value.

    A missing entry may be of any value, and somebody with several values in a part may be counted for any of them. So
    the commonest value gets all who are missing and all who have it, the next as many of those who are left as have it,
    and so on. However one value for each person is picked, the j commonest values have no more people than the first j
    counts here: the pick is at least as diverse, by the number of values, by entropy and by recursive diversity.
    Where each person has one value and none is missing, the counts are those of the values.
    """
    if found.missing is None and found.people is None:
        return found.owner, found.count.astype(np.int64)
    holders, unknown = found.count_holders()
    order = np.lexsort((-holders, found.owner))
    owner, most = found.owner[order], holders[order]
    first = np.searchsorted(owner, np.arange(found.parts))
    upto = np.cumsum(most)
    before = upto - most - (upto - most)[first][owner]
    people = count_persons(found) - unknown
    count = np.clip(people[owner] - before, 0, most)
    count[first] += unknown
    return owner[count > 0], count[count > 0]


def count_persons(found: Histogram) -> Ints:
    """How many people, or rows, each part has."""
    return np.rint(found.totals()).astype(np.int64)


def weigh_people(
    home: Ints,
    entries: Entries,
    reference: Floats,
    names: tuple[str, ...],
    other: Ints | None = None,
    missing: int | None = None,
) -> Histogram:
    """The histogram in which everybody counts as one, by the shares of their rows in the part."""
    people = int(entries.person.max(initial=0)) + 1
    _, whose = np.unique(entries.owner * people + entries.person, return_inverse=True)
    share = entries.rows / np.bincount(whose, weights=entries.rows)[whose]
    width = max(len(names), 1)
    kinds, place = np.unique(entries.owner * width + entries.value, return_inverse=True)
    count = np.bincount(place, weights=share, minlength=len(kinds)).astype(np.float64)
    return Histogram(home, kinds // width, kinds % width, count, reference, names, other, missing, entries)


def share_values(codes: Ints, width: int, person: Ints | None = None) -> Floats:
    """The share of each value in a table, in which everybody counts as one."""
    weights = None if person is None else (1 / np.bincount(person))[person]
    found = np.bincount(codes, weights=weights, minlength=width)
    return np.asarray(found / max(found.sum(), 1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Groups:
    """The classes of a node.

    Parameters
    ----------
    sizes : rows of the table in each class.
    rows : rows of the table.
    population : rows, or people, of the population in each class; None without a population table.
    absent : whether the population has a class of which the table has no row.
    histograms : for each sensitive column the values in the classes.
    kept : which classes are published; the rows of the others are suppressed.
    example : for each class one entry that lies in it, for losses that look at labels.
    members : whose rows the classes have; None if each row is a person.
    """

    sizes: Ints
    rows: int
    population: Ints | None = None
    absent: bool = False
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    kept: Bools | None = None
    example: Ints | None = None
    members: Members | None = None

    def count_people(self) -> Ints:
        """How many people each class has: its rows, unless it is known whose they are."""
        return self.sizes if self.members is None else self.members.count(len(self.sizes))

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
            members=None if self.members is None else self.members.union(chosen),
        )


def joined(found: Histogram, chosen: Bools) -> Histogram:
    """The chosen classes as a single one, which the other sensitive columns divide as they divided each."""
    other = np.zeros(found.parts, dtype=np.int64) if found.other is None else found.other
    if found.people is not None:
        return _joined_people(found, found.people, other, chosen)
    inside = chosen[found.home[found.owner]]
    width = len(found.reference)
    entries, place = np.unique(other[found.owner[inside]] * width + found.value[inside], return_inverse=True)
    count = np.bincount(place, weights=found.count[inside], minlength=len(entries)).astype(np.int64)
    parts, owner = np.unique(entries // width, return_inverse=True)
    home = np.zeros(len(parts), dtype=np.int64)
    return replace(found, home=home, owner=owner, value=entries % width, count=count, other=parts)


def _joined_people(found: Histogram, people: Entries, other: Ints, chosen: Bools) -> Histogram:
    inside = chosen[found.home[people.owner]]
    width, count = len(found.reference), int(people.person.max(initial=0)) + 1
    key = (other[people.owner[inside]] * count + people.person[inside]) * width + people.value[inside]
    entries, place = np.unique(key, return_inverse=True)
    rows = np.bincount(place, weights=people.rows[inside], minlength=len(entries)).astype(np.int64)
    parts, owner = np.unique(entries // (width * count), return_inverse=True)
    merged = Entries(owner, entries // width % count, entries % width, rows)
    home = np.zeros(len(parts), dtype=np.int64)
    return weigh_people(home, merged, found.reference, found.names, parts, found.missing)
