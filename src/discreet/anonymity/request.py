"""What is asked for, checked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.checker import Checker
from discreet.anonymity.criteria import Criterion, DistinctL, KAnonymity, TCloseness
from discreet.anonymity.encode import Encoded, encode, filled, read
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.people import has_column, number_people, person_column, refuse_publication, repeated
from discreet.arguments import is_number, is_whole

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Request:
    """A table and what its release must meet."""

    frame: pl.DataFrame
    trees: dict[str, Hierarchy]
    encoded: Encoded
    criteria: list[Criterion]
    suppress: float
    star: bool
    population: tuple[Ints, Ints] | Encoded | None
    keep: list[str]
    person: Ints | None = None  # whose row each is, also where everybody has one

    @property
    def limit(self) -> int:
        """How many rows may be suppressed; rounding must not cost one that is allowed."""
        return int(np.floor(self.suppress * self.encoded.n + 1e-9))

    @property
    def k(self) -> int:
        """The largest k asked for; 1 if none is."""
        return max((c.k for c in self.criteria if isinstance(c, KAnonymity)), default=1)

    def checker(self) -> Checker:
        """What judges nodes."""
        trees = list(self.trees.values())
        return Checker(self.encoded, trees, self.criteria, self.limit, star=self.star, population=self.population)


def prepare(
    table: Any,
    quasi_identifiers: Mapping[str, Hierarchy],
    *,
    sensitive: Sequence[str] = (),
    k: int | None = None,
    l: int | Criterion | None = None,
    t: float | Criterion | None = None,
    criteria: Sequence[Criterion] = (),
    suppress: float = 0.0,
    star: bool = False,
    population: Any = None,
    missing: str | None = None,
    keep: Sequence[str] = (),
    person: Any = None,
) -> Request:
    """Check the arguments, then read and encode the table."""
    sensitive, keep = listed("sensitive", sensitive), listed("keep", keep)
    columns(quasi_identifiers, sensitive, keep, person)
    asked = gathered(k, l, t, criteria)
    wanted(asked, sensitive, population)
    if not 0 <= suppress < 1:
        raise ValueError(f"`suppress` must be a share of rows in [0, 1). Got {suppress}.")
    frame = read(table, [*quasi_identifiers, *sensitive, *keep, *person_column(person)])
    people = number_people(frame, person)
    counted(frame, asked, people)
    trees = filled(frame, quasi_identifiers, missing)
    others = None if population is None else encode_population(population, trees, person)
    several = people if isinstance(others, Encoded) else repeated(people)
    encoded = encode(frame, trees, sensitive, missing=missing, person=several)
    return Request(frame, trees, encoded, asked, float(suppress), star, others, keep, people)


def encode_population(population: Any, trees: Mapping[str, Hierarchy], person: Any) -> tuple[Ints, Ints] | Encoded:
    """The population: with people if it has their column, else each of its rows is a person."""
    if not has_column(population, person):
        others = encode(population, trees)
        return others.codes, others.weights
    frame = read(population, [*trees, person])
    return encode(frame, trees, person=number_people(frame, person))


def listed(name: str, value: Sequence[str]) -> list[str]:
    if isinstance(value, str):
        raise TypeError(f"`{name}` must be a list of columns. Got a single string. Hint: [{value!r}].")
    return list(value)


def columns(trees: Mapping[str, Hierarchy], sensitive: list[str], keep: list[str], person: Any = None) -> None:
    """Each column has one part, and each quasi-identifier a hierarchy."""
    if not isinstance(trees, Mapping) or not trees:
        raise ValueError("`quasi_identifiers` must map at least one column to its hierarchy.")
    bare = [name for name, tree in trees.items() if not isinstance(tree, Hierarchy)]
    if bare:
        raise TypeError(f"Every quasi-identifier needs a Hierarchy. Without one: {', '.join(map(str, bare))}.")
    for name, others in (("sensitive", sensitive), ("keep", keep)):
        twice = [c for c in others if c in trees]
        if twice:
            raise ValueError(f"A column of `{name}` cannot be a quasi-identifier as well: {', '.join(twice)}.")
    refuse_publication(person, [*trees, *sensitive, *keep])


def gathered(
    k: int | None, l: int | Criterion | None, t: float | Criterion | None, criteria: Sequence[Criterion]
) -> list[Criterion]:
    """The short forms k, l and t as criteria, before the others."""
    found: list[Any] = [] if k is None else [KAnonymity(k)]
    if l is not None:
        found.append(DistinctL(int(l)) if is_whole(l) else l)
    if t is not None:
        found.append(TCloseness(float(t)) if is_number(t) else t)
    found += criteria
    if not found:
        raise ValueError("Nothing is asked for. Hint: k=5.")
    bad = [type(c).__name__ for c in found if not hasattr(c, "check") or isinstance(c, type)]
    if bad:
        raise TypeError(f"A criterion must be an object such as KAnonymity(5). Got {', '.join(bad)}.")
    return found


def wanted(criteria: Sequence[Criterion], sensitive: list[str], population: Any) -> None:
    """What the criteria look at is there."""
    for criterion in criteria:
        name = type(criterion).__name__
        column = getattr(criterion, "column", None)
        if criterion.needs == "sensitive" and not sensitive:
            raise ValueError(f"{name} needs a sensitive column. Hint: sensitive=['diagnosis'].")
        if column is not None and column not in sensitive:
            raise ValueError(f"{name} is about the column {column!r}, which is not in `sensitive`.")
        if criterion.needs == "population" and population is None:
            raise ValueError(f"{name} needs a `population` table with the same quasi-identifiers.")


def counted(frame: pl.DataFrame, criteria: Sequence[Criterion], people: Ints | None = None) -> None:
    if frame.height == 0:
        raise ValueError("The table has no rows.")
    count, unit = (frame.height, "rows") if people is None else (int(people.max()) + 1, "people")
    for criterion in criteria:
        if isinstance(criterion, KAnonymity) and criterion.k > count:
            raise ValueError(f"k = {criterion.k} is more than the table's {count} {unit}. Hint: a smaller k.")
