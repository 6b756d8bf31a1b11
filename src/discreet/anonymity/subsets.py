"""Which few columns single people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.anonymity.encode import pack

Ints = npt.NDArray[np.int64]
EFFORT = 200_000_000  # rows looked at, over all sets of columns


@dataclass(frozen=True)
class Identifying:
    """A set of columns under which the share `unique` of the rows, or of the people, is alone in a class."""

    columns: tuple[str, ...]
    unique: float


def identifying(
    columns: Sequence[str],
    codes: Sequence[Ints],
    above: float,
    largest: int = 4,
    effort: int = EFFORT,
    person: Ints | None = None,
) -> tuple[list[Identifying], bool]:
    """The smallest sets of columns, of at most `largest`, under which more than the share `above` of rows is unique.

    With `person`, whose row each is, the share is that of people who have a row in a class without anybody else.
    More columns only single out more rows, so no set that contains one already found is looked at. The second result
    is False if the work was cut short.

    >>> codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1])]
    >>> identifying(["a", "b", "c"], codes, above=0.5)[0]
    [Identifying(columns=('a', 'b'), unique=1.0)]
    """
    widths = [int(code.max()) + 1 if len(code) else 1 for code in codes]
    rows = max(len(codes[0]), 1) if codes else 1
    found: list[tuple[tuple[int, ...], float]] = []
    for size in range(1, min(largest, len(columns)) + 1):
        for places in combinations(range(len(columns)), size):
            if any(set(smaller) <= set(places) for smaller, _ in found):
                continue
            if effort < rows:
                return _named(columns, found), False
            effort -= rows
            share = count_alone_in(pack([codes[p] for p in places], [widths[p] for p in places]), person)
            if share > above:
                found.append((places, share))
    return _named(columns, found), True


def count_alone_in(keys: Ints, person: Ints | None = None) -> float:
    """The share of entries that occur once; or of people who have an entry that nobody else has.

    >>> count_alone_in(np.array([7, 7, 8])), count_alone_in(np.array([7, 7, 8]), np.array([0, 0, 1]))
    (0.3333333333333333, 1.0)
    """
    if not len(keys):
        return 0.0
    if person is not None:
        least = count_least(np.unique(keys, return_inverse=True)[1], person)
        return float((least == 1).mean())
    ranked = np.sort(keys)
    fresh = np.r_[True, ranked[1:] != ranked[:-1], True]
    return float((fresh[1:] & fresh[:-1]).sum() / len(keys))


def size_groups(keys: Ints, person: Ints | None = None) -> Ints:
    """For each entry how many have the same key; or for each person, how many people in the smallest such group.

    >>> size_groups(np.array([7, 7, 8])), size_groups(np.array([7, 7, 8]), np.array([0, 0, 1]))
    (array([2, 2, 1]), array([1, 1]))
    """
    _, group, count = np.unique(keys, return_inverse=True, return_counts=True)
    return count[group] if person is None else count_least(group, person)


def count_least(klass: Ints, person: Ints) -> Ints:
    """For each person how many people are in the smallest class in which they have a row, themselves included.

    Classes and people are numbers from 0; people without gaps.
    """
    people = int(person.max(initial=-1)) + 1
    owner, whose = np.divmod(np.unique(klass * max(people, 1) + person), max(people, 1))
    least = np.full(people, len(person), dtype=np.int64)
    np.minimum.at(least, whose, np.bincount(owner)[owner])
    return least


def _named(columns: Sequence[str], found: list[tuple[tuple[int, ...], float]]) -> list[Identifying]:
    ranked = sorted(found, key=lambda one: (len(one[0]), -one[1]))
    return [Identifying(tuple(columns[p] for p in places), share) for places, share in ranked]
