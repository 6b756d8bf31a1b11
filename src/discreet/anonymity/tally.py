"""The sensitive values in classes that are given row by row, counted for the criteria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.anonymity.encode import Encoded, pack
from discreet.anonymity.groups import Entries, Groups, Histogram, Members, share_values, weigh_people
from discreet.anonymity.partition import Check
from discreet.errors import NotSupported

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def tally(encoded: Encoded, rows: Ints, labels: Ints, count: int) -> Groups:
    """The classes `labels`, numbered below `count`, of the given rows of a table."""
    found = {name: _histogram(encoded, name, rows, labels, count) for name in encoded.sensitive}
    sizes = np.bincount(labels, minlength=count)
    return Groups(sizes, encoded.n, histograms=found, members=_members(encoded, rows, labels))


def _members(encoded: Encoded, rows: Ints, labels: Ints) -> Members | None:
    if encoded.person is None:
        return None
    people = int(encoded.person.max(initial=0)) + 1
    return Members(*np.divmod(np.unique(labels * people + encoded.person[rows]), people))


def checker(encoded: Encoded, criteria: Sequence[Any], of_row: Ints) -> Check:
    """Whether classes of points (distinct tuples, or rows) meet all criteria."""
    if any(criterion.needs == "population" for criterion in criteria):
        raise NotSupported("Not yet: local recoding knows no population table. Hint: method='optimal'.")
    points_in_all = int(of_row.max()) + 1 if len(of_row) else 0

    def check(points: Ints, labels: Ints, count: int) -> Bools:
        place = np.full(points_in_all, -1, dtype=np.int64)
        place[points] = labels
        rows = np.flatnonzero(place[of_row] >= 0)
        groups = tally(encoded, rows, place[of_row[rows]], count)
        passed: Bools = np.logical_and.reduce([criterion.check(groups) for criterion in criteria])
        return passed

    return check


def _histogram(encoded: Encoded, name: str, rows: Ints, labels: Ints, count: int) -> Histogram:
    """Of one sensitive column, the others dividing each class further."""
    others = [other for other in encoded.sensitive if other != name]
    sizes = [len(encoded.sensitive_names[other]) for other in others]
    keys = pack([labels, *(encoded.sensitive[other][rows] for other in others)], [count, *sizes])
    _, example, part = np.unique(keys, return_index=True, return_inverse=True)
    names, values = tuple(encoded.sensitive_names[name]), encoded.sensitive[name]
    reference = share_values(values, len(names), encoded.person)
    missing, width = encoded.sensitive_missing.get(name), max(len(names), 1)
    if encoded.person is None:
        kinds, counts = np.unique(part * width + values[rows], return_counts=True)
        owner, value = np.divmod(kinds, width)
        return Histogram(labels[example], owner, value, counts.astype(np.int64), reference, names, None, missing)
    people = int(encoded.person.max(initial=0)) + 1
    kinds, counts = np.unique((part * people + encoded.person[rows]) * width + values[rows], return_counts=True)
    entries = Entries(kinds // (people * width), kinds // width % people, kinds % width, counts.astype(np.int64))
    return weigh_people(labels[example], entries, reference, names, None, missing)
