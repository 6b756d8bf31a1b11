"""Local recoding: the table is cut again and again, as long as both halves are still anonymous.

Other than a generalisation of whole columns, two rows of equal age may be published with different intervals. That
loses far less, and is harder to analyse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.boxes import SET, Axis
from discreet.anonymity.cuts import Crowd
from discreet.anonymity.encode import Encoded
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.partition import Classes, divide
from discreet.anonymity.tally import checker

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Recoded:
    """A table divided into classes.

    Parameters
    ----------
    columns : the quasi-identifiers.
    labels : (n,); the class of each row.
    texts : for each column what is published of each class.
    loss : the mean over all cells of (values - 1)/(domain - 1).
    """

    columns: list[str]
    labels: Ints
    texts: dict[str, list[str]]
    loss: float

    @property
    def classes(self) -> Ints:
        """The number of rows of each class."""
        return np.bincount(self.labels, minlength=len(next(iter(self.texts.values()))))

    def count_people(self, person: Ints | None) -> Ints:
        """The number of people of each class: of its rows, if nobody says whose they are."""
        if person is None:
            return self.classes
        return Crowd(np.arange(len(person)), person).count(self.labels, len(self.classes))

    def frame(self) -> pl.DataFrame:
        """The published quasi-identifiers, in the order of the rows."""
        return pl.DataFrame({name: pl.Series(self.texts[name]).gather(self.labels) for name in self.columns})


def mondrian(
    encoded: Encoded,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    criteria: Sequence[Any] = (),
    *,
    tight: bool = True,
    strict: bool = True,
    recode: str = "sets",
) -> Recoded:
    """Divide a table into classes of at least k rows that lose little.

    Each class is cut in two where the halves lose least, as long as both have k rows and meet every criterion. Where
    the table says whose rows are whose, they need rows of k people.

    Parameters
    ----------
    encoded : the table, from `encode`.
    hierarchies : one for each quasi-identifier.
    k : the least number of rows of a class.
    criteria : what else both halves of a cut must meet (diversity, closeness).
    tight : publish the extremes (or the set) of the members' values: more useful, but an end point often belongs to one
        person alone, whose value is thereby published. False publishes the region between the cuts, which are put
        midway between values.
    strict : rows with equal values stay together. False (relaxed) lets rows that share the value at a cut go to either
        side; classes come closer to k rows.
    recode : "sets" publishes intervals of numbers and days and sets of other values; "nodes" publishes only groups of
        the hierarchies.

    Notes
    -----
    Every class has rows of at least k people and meets every criterion. That is all: nothing here is a promise about
    what can be learnt of anybody.

    | edge case | what happens |
    | --- | --- |
    | k > n, or the whole table fails a criterion | ValueError |
    | no cut is allowed | one class |
    | a hierarchy without a top group, "nodes" | its top groups are never joined; ValueError if one has too few rows |

    References
    ----------
    K. LeFevre, D. DeWitt, R. Ramakrishnan. Mondrian multidimensional k-anonymity. ICDE 2006. (There the cut is the
    median of the widest column; here all cuts of all columns are compared by the loss they leave.)

    Examples
    --------
    >>> from discreet.anonymity.encode import encode
    >>> ages = {"age": Hierarchy.intervals(0, 99, width=10)}
    >>> found = mondrian(encode({"age": [20, 21, 24, 60, 66]}, ages), ages, k=2)
    >>> found.frame()["age"].to_list()
    ['20-24', '20-24', '20-24', '60-66', '60-66']
    """
    if recode not in ("sets", "nodes"):
        raise ValueError(f'`recode` must be "sets" or "nodes". Got {recode!r}.')
    axes = [Axis.of(hierarchies[name], recode) for name in encoded.columns]
    codes = encoded.codes if strict else encoded.codes[encoded.row_of]
    weights = encoded.weights if strict else np.ones(encoded.n, dtype=np.int64)
    of_row = encoded.row_of if strict else np.arange(encoded.n)
    places = np.stack([axis.place_of[codes[:, j]] for j, axis in enumerate(axes)], axis=1)
    check = checker(encoded, criteria, of_row) if len(criteria) else None
    crowd = None if encoded.person is None else list_crowd(of_row, encoded.person)
    classes = divide(axes, places, weights, k, strict, check, crowd)
    return published(encoded, axes, places, weights, of_row, classes, tight)


def list_crowd(of_row: Ints, person: Ints) -> Crowd:
    """Each pair of point and person once."""
    people = int(person.max(initial=0)) + 1
    return Crowd(*np.divmod(np.unique(of_row * people + person), people))


def published(
    encoded: Encoded,
    axes: Sequence[Axis],
    places: Ints,
    weights: Ints,
    of_row: Ints,
    classes: Classes,
    tight: bool,
) -> Recoded:
    """What each class is published as, and the loss."""
    count = len(classes.low)
    sizes = np.bincount(classes.labels, weights, minlength=count)
    texts, loss = {}, 0.0
    for j, (name, axis) in enumerate(zip(encoded.columns, axes, strict=True)):
        low, high, held = classes.low[:, j], classes.high[:, j], None
        if tight:
            low, high, held = _members(classes.labels, places[:, j], axis.size)
        cost = axis.cost(low, high) if held is None or axis.kind != SET else (_lengths(held) - 1) * axis.unit
        loss += float(cost @ sizes) / (sizes.sum() * len(axes))
        texts[name] = [
            axis.text(a, b, None if held is None else held[c]) for c, (a, b) in enumerate(zip(low, high, strict=True))
        ]
    return Recoded(list(encoded.columns), classes.labels[of_row], texts, loss)


def _members(labels: Ints, places: Ints, size: int) -> tuple[Ints, Ints, list[Ints]]:
    """The lowest and highest place in each class, and all of them."""
    pairs = np.unique(labels * size + places)
    owner, place = np.divmod(pairs, size)
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    return place[starts], place[np.append(starts[1:], len(place)) - 1], np.split(place, starts[1:])


def _lengths(held: Sequence[Ints]) -> Floats:
    return np.array([len(places) for places in held], dtype=np.float64)
