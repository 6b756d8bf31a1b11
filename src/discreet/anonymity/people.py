"""People, not rows: whose row each is, and how many people the classes of a node have.

Numbers of rows add up where classes are merged; numbers of people do not, since somebody may have rows in both. So the
pairs of class and person are merged, and counted at each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import text, unrecorded
from discreet.anonymity.encode import Encoded, columnwise, distinct, pack, scanned
from discreet.anonymity.groups import Members
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.rollup import Rollup
from discreet.errors import DiscreetError

Ints = npt.NDArray[np.int64]
Node = tuple[int, ...]


class MissingPerson(DiscreetError, ValueError):
    """A row does not say whose it is."""


def person_column(person: Any) -> list[str]:
    """The column that names people, to be read with the others; none if there is an array of names instead."""
    return [person] if isinstance(person, str) else []


def refuse_publication(person: Any, columns: Sequence[str]) -> None:
    """The column that names people is none of those looked at or published."""
    if isinstance(person, str) and person in columns:
        raise ValueError(
            f"The column {person!r} names people, so it is never published, nor is it a quasi-identifier. Hint: give "
            "it as `person` alone."
        )


def number_people(frame: pl.DataFrame, person: Any) -> Ints | None:
    """Whose row each is, as a number from 0 without gaps; None if nobody says."""
    if person is None:
        return None
    names = frame[person] if isinstance(person, str) else columnwise({"person": person})["person"]
    if len(names) != len(frame):
        raise ValueError(f"`person` must have one name for each row. Got {len(names)} names for {len(frame)} rows.")
    gone = int(unrecorded(names).sum())
    if gone:
        raise MissingPerson(
            f"`person` is missing or blank in {gone} rows, which may be of anybody. Hint: leave these rows out, or "
            "fill these names in."
        )
    return text(names).rank("dense").cast(pl.Int64).to_numpy() - 1


def has_column(table: Any, person: Any) -> bool:
    """Whether a table has the column that names people."""
    return isinstance(person, str) and person in scanned(table).collect_schema().names()


def repeated(person: Ints | None) -> Ints | None:
    """The people, if some of them have several rows: else to count rows is to count people."""
    return None if person is None or int(person.max(initial=-1)) + 1 == len(person) else person


def count_by_tuple(encoded: Encoded) -> Ints:
    """How many people have each distinct tuple."""
    if encoded.person is None:
        return encoded.weights
    pairs = np.unique(pack([encoded.row_of, encoded.person], [len(encoded.codes), int(encoded.person.max()) + 1]))
    return np.bincount(pairs // (int(encoded.person.max()) + 1), minlength=len(encoded.codes))


def find_scattered(encoded: Encoded) -> bool:
    """Whether somebody has rows with different quasi-identifiers, so that they may lie in several classes."""
    if encoded.person is None:
        return False
    return int(count_by_tuple(encoded).sum()) > int(encoded.person.max()) + 1


class Crowds:
    """The people in the classes of any node.

    Parameters
    ----------
    encoded : the table, with people.
    hierarchies : one for each column.
    population : the population, if it says whose rows are whose.
    """

    def __init__(self, encoded: Encoded, hierarchies: Sequence[Hierarchy], population: Encoded | None = None) -> None:
        codes, person, here = list_pairs(encoded)
        there = np.zeros(len(here), dtype=np.int64)
        if population is not None:
            more, others, count = list_pairs(population)
            codes, person = np.concatenate([codes, more]), np.concatenate([person, others])
            here, there = np.append(here, np.zeros_like(count)), np.append(there, count)
        self.people = int(person.max(initial=0)) + 1
        self.known = population is not None
        self.rollup = Rollup(codes, here, hierarchies, label=person, labels=self.people, population=there)

    def count(self, node: Node) -> tuple[Members, Ints | None]:
        """The people in each class that has rows of the table; and how many of the population, where that is known."""
        counted = self.rollup.count(node)
        assert counted.population is not None
        klass = counted.keys // self.people
        home = np.cumsum(np.diff(klass, prepend=klass[:1]) != 0)
        here = counted.sizes > 0
        inside, owner = np.unique(home[here], return_inverse=True)
        others = np.bincount(home[counted.population > 0], minlength=int(home[-1]) + 1)[inside] if self.known else None
        return Members(owner, (counted.keys % self.people)[here]), others


def list_pairs(encoded: Encoded) -> tuple[Ints, Ints, Ints]:
    """Each distinct pair of tuple and person: the tuple's codes, the person, and how many rows they are."""
    assert encoded.person is not None
    keys = pack([encoded.row_of, encoded.person], [len(encoded.codes), int(encoded.person.max()) + 1])
    _, example, count = distinct(keys)
    return encoded.codes[encoded.row_of[example]], encoded.person[example], count
