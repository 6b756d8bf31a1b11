"""Does a node meet the criteria, and how many rows must go so that it does?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.anonymity.criteria import Criterion, KAnonymity
from discreet.anonymity.encode import Encoded, distinct, pack
from discreet.anonymity.groups import Bools, Entries, Groups, Histogram, share_values, weigh_people
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.people import Crowds, count_by_tuple, find_scattered
from discreet.anonymity.rollup import Counted, Rollup

Ints = npt.NDArray[np.int64]
Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was found at a node.

    Parameters
    ----------
    groups : its classes; `kept` says which of them meet every criterion looked at.
    feasible : all criteria are met after suppressing at most the rows allowed.
    dead : the criteria that stay monotone under suppression fail, hence every node below fails too.
    """

    groups: Groups
    feasible: bool
    dead: bool


class Checker:
    """Judges nodes.

    Parameters
    ----------
    encoded, hierarchies : the table.
    criteria : all must be met by every published class.
    limit : how many rows may be suppressed; none if a criterion `keeps_all` and rows would be removed.
    star : suppressed rows are published as `*`; then their class must meet the criteria as well.
    population : distinct tuples and counts of the population, as (codes, counts); or the population encoded, with
        people, where it says whose rows are whose.
    """

    def __init__(
        self,
        encoded: Encoded,
        hierarchies: Sequence[Hierarchy],
        criteria: Sequence[Criterion],
        limit: int,
        *,
        star: bool = False,
        population: tuple[Ints, Ints] | Encoded | None = None,
    ) -> None:
        self.keeps_all = not star and any(getattr(c, "keeps_all", False) for c in criteria)
        limit = 0 if self.keeps_all else limit
        self.rows, self.limit, self.star, self.criteria = encoded.n, limit, star, list(criteria)
        self.several, scattered = encoded.person is not None, find_scattered(encoded)
        tagged = [c for c in criteria if inferable(c, limit, len(encoded.sensitive))]
        if self.several:
            tagged = [c for c in tagged if inferable_with_people(c, limit, scattered)]
        self.coarse = [c for c in tagged if c.needs != "sensitive"]
        self.by_rows = [
            c for c in self.coarse if c.needs == "sizes" and (not self.several or isinstance(c, KAnonymity))
        ]
        self.fine = [c for c in tagged if c.needs == "sensitive"]
        self.loose = [c for c in criteria if c not in tagged]
        self.tags_all = not self.loose and not star
        self.heights = tuple(h.height for h in hierarchies)
        known = population if isinstance(population, Encoded) else None
        self.codes, self.sizes, people = joined(encoded, population)
        self.rollup = Rollup(self.codes, self.sizes, hierarchies, population=people)
        self.crowds = Crowds(encoded, hierarchies, known) if self.several else None
        self.values = None
        if any(c.needs == "sensitive" for c in criteria):
            self.values = Values(encoded, hierarchies)
        self.looked = 0

    def groups(self, node: Node, *, sensitive: bool = True) -> Groups:
        """The classes of a node, before anything is judged."""
        counted = self.rollup.count(node)
        groups = Groups(counted.sizes, self.rows, counted.population, example=counted.example)
        if counted.population is not None:
            inside = counted.sizes > 0
            groups = Groups(
                counted.sizes[inside],
                self.rows,
                counted.population[inside],
                absent=not inside.all(),
                example=counted.example[inside],
            )
        return self.filled(self.peopled(groups, node), node) if sensitive else groups

    def peopled(self, groups: Groups, node: Node) -> Groups:
        """With the people, where it is known whose rows are whose."""
        if self.crowds is None:
            return groups
        members, population = self.crowds.count(node)
        return replace(groups, members=members, population=groups.population if population is None else population)

    def filled(self, groups: Groups, node: Node) -> Groups:
        """With the sensitive values."""
        return groups if self.values is None else replace(groups, histograms=self.values.histograms(node))

    def raise_to(self, floor: Node) -> None:
        """Only nodes at or above `floor` will be judged from now on."""
        for counts in (self.crowds, self.values):
            if counts is not None:
                counts.rollup.raise_to(floor)
        self.rollup.raise_to(floor)

    def tagged(self, node: Node) -> Verdict:
        """The criteria from which other nodes can be inferred, alone."""
        self.looked += 1
        groups = self.groups(node, sensitive=False)
        kept = meets(self.by_rows if self.several else self.coarse, groups)
        dead = self.over(groups, kept)
        if not dead and self.several:  # classes with too few rows have too few people; the others are counted
            groups = self.peopled(groups, node)
            kept = meets(self.coarse, groups)
            dead = self.over(groups, kept)
        if not dead and self.fine:
            groups = self.filled(groups, node)
            kept &= meets(self.fine, groups)
            dead = self.over(groups, kept)
        return Verdict(replace(groups, kept=kept), not dead, dead)

    def judge(self, node: Node) -> Verdict:
        """All criteria."""
        first = self.tagged(node)
        return first if first.dead or self.tags_all else self.completed(node, first)

    def completed(self, node: Node, first: Verdict) -> Verdict:
        """The rest of the criteria, after those of `tagged`."""
        groups = self.filled(first.groups, node)
        kept = first.groups.published & meets(self.loose, groups)
        groups = replace(groups, kept=kept)
        return Verdict(groups, not self.over(groups, kept) and self.starred(groups), False)

    def over(self, groups: Groups, kept: Bools) -> bool:
        """More rows would have to go than may."""
        return int(groups.sizes[~kept].sum()) > self.limit

    def starred(self, groups: Groups) -> bool:
        """The class of the rows published as `*`, if there is one, meets the criteria too."""
        if not self.star or groups.published.all():
            return True
        return bool(meets(self.criteria, groups.union(~groups.published)).all())


class Values:
    """The sensitive values in the classes of any node, person by person where these are known."""

    person_of: Ints | None = None
    pattern_of: Ints | None = None

    def __init__(self, encoded: Encoded, hierarchies: Sequence[Hierarchy]) -> None:
        names = list(encoded.sensitive)
        codes = [encoded.sensitive[name] for name in names]
        widths = [len(encoded.sensitive_names[name]) for name in names]
        pattern, example, _ = distinct(pack(codes, widths))
        label, labels = (pattern, len(example)) if encoded.person is None else self._pair(pattern, encoded.person)
        self.labels = labels
        _, row, counts = distinct(encoded.row_of * labels + label)
        self.rollup = Rollup(encoded.codes[encoded.row_of[row]], counts, hierarchies, label=label[row], labels=labels)
        self.views = {}
        for i, name in enumerate(names):
            others = [c[example] for j, c in enumerate(codes) if j != i]
            other = distinct(pack(others, [w for j, w in enumerate(widths) if j != i]))[0] if others else None
            share = share_values(codes[i], widths[i], encoded.person)
            missing = encoded.sensitive_missing.get(name)
            self.views[name] = View(codes[i][example], other, share, tuple(encoded.sensitive_names[name]), missing)

    def _pair(self, pattern: Ints, person: Ints) -> tuple[Ints, int]:
        """A label for each person and what they have: people first, so that the rows of each lie side by side."""
        width = int(pattern.max()) + 1
        label, example, _ = distinct(person * width + pattern)
        self.person_of, self.pattern_of = person[example], pattern[example]
        return label, len(example)

    def histograms(self, node: Node) -> dict[str, Histogram]:
        """For each sensitive column its values in the classes of a node, parted by the other sensitive columns."""
        counted = self.rollup.count(node)
        home, label = runs(counted.keys // self.labels), counted.keys % self.labels
        if self.person_of is None or self.pattern_of is None:
            return {name: view.count(counted, home, label) for name, view in self.views.items()}
        person, pattern = self.person_of[label], self.pattern_of[label]
        return {name: view.count(counted, home, pattern, person) for name, view in self.views.items()}


@dataclass(frozen=True, eq=False)
class View:
    """One sensitive column: its value for each pattern of all of them, and what the others have.

    Parameters
    ----------
    value, other : for each pattern the code of this column, and of the others together; None without others.
    share : of each value in the table.
    names : the labels of the values.
    missing : the code of missing entries; None if there are none.
    """

    value: Ints
    other: Ints | None
    share: npt.NDArray[np.float64]
    names: tuple[str, ...]
    missing: int | None

    def count(self, counted: Counted, home: Ints, pattern: Ints, person: Ints | None = None) -> Histogram:
        """The values in the classes `home`, which the other columns divide into parts."""
        order, parts, owner, others = self._divide(home, pattern)
        value, rows = self.value[pattern[order]], counted.sizes[order]
        if person is None:
            return Histogram(parts, owner, value, rows, self.share, self.names, others, self.missing)
        entries = Entries(owner, person[order], value, rows)
        return weigh_people(parts, entries, self.share, self.names, others, self.missing)

    def _divide(self, home: Ints, pattern: Ints) -> tuple[Ints, Ints, Ints, Ints | None]:
        """The order of parts, the class of each part, the part of each entry, and what the others have in each part."""
        if self.other is None:
            return np.arange(len(home)), np.arange(home[-1] + 1), home, None
        key = home * (int(self.other.max()) + 1) + self.other[pattern]
        order = np.argsort(key, kind="stable")
        owner = runs(key[order])
        firsts = np.flatnonzero(np.diff(owner, prepend=-1))
        return order, home[order][firsts], owner, self.other[pattern[order]][firsts]


def runs(ranked: Ints) -> Ints:
    """The number of the run of equal entries that each entry lies in."""
    return np.cumsum(np.diff(ranked, prepend=ranked[:1]) != 0)


def inferable(criterion: Criterion, limit: int, sensitive: int) -> bool:
    """Whether a node that fails a criterion fails all nodes below it.

    With several sensitive columns a class that fails in one part alone goes as a whole, so that with suppression a
    class can spoil one that it is merged with, whatever the criterion.
    """
    if limit and sensitive > 1 and criterion.needs == "sensitive":
        return False
    return criterion.monotone_with_suppression if limit else criterion.monotone


def inferable_with_people(criterion: Criterion, limit: int, scattered: bool) -> bool:
    """The same where people have several rows; `scattered` if some of somebody's have other quasi-identifiers.

    Classes without people in common are mixed as rows are. But to count everybody for one of their values so that a
    class is least diverse is not monotone once a class that fails is merged with one that does not.
    """
    if not getattr(criterion, "monotone_with_people", False):
        return False
    return criterion.needs != "sensitive" or not (scattered or limit)


def meets(criteria: Sequence[Criterion], groups: Groups) -> Bools:
    kept = np.ones(len(groups.sizes), dtype=bool)
    for criterion in criteria:
        kept &= criterion.check(groups)
    return kept


def joined(encoded: Encoded, population: tuple[Ints, Ints] | Encoded | None) -> tuple[Ints, Ints, Ints | None]:
    """The distinct tuples of table and population together, and how often each occurs in either."""
    if population is None:
        return encoded.codes, encoded.weights, None
    if isinstance(population, Encoded):
        population = (population.codes, count_by_tuple(population))
    codes = np.concatenate([encoded.codes, population[0]])
    widths = [int(w) for w in codes.max(axis=0) + 1]
    place, example, _ = distinct(pack(list(codes.T), widths))
    rows = len(encoded.weights)
    sizes = np.bincount(place[:rows], weights=encoded.weights, minlength=len(example)).astype(np.int64)
    people = np.bincount(place[rows:], weights=population[1], minlength=len(example)).astype(np.int64)
    if (people[place[:rows]] < count_by_tuple(encoded)).any():
        raise ValueError("The population must contain the table: some tuples occur more often in the table.")
    return codes[example], sizes, people
