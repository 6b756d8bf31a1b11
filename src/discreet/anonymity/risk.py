"""How likely it is that somebody finds a person in a table.

The three attackers are those of K. El Emam and F. Dankar, "Protecting privacy using k-anonymity", JAMIA 15, 2008, and
F. Dankar and K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import names as listed
from discreet.anonymity.columns import text
from discreet.anonymity.encode import distinct, pack, read
from discreet.anonymity.people import has_column, number_people, person_column, refuse_publication
from discreet.anonymity.subsets import Identifying, count_least, identifying
from discreet.anonymity.uniques import Pitman

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SHOWN = 5  # sets of columns in the printed summary


@dataclass(frozen=True)
class Odds:
    """The chance of a right guess: for the row most at risk, and on average over the rows.

    Parameters
    ----------
    largest : for the row most at risk.
    mean : on average over the rows.
    expected : the sizes are estimated: each row's chance is the mean over what the model holds possible, and `largest`
        the largest of these means, which is no bound; the row's class may be smaller.
    """

    largest: float
    mean: float
    expected: bool = False

    def __str__(self) -> str:
        if self.expected:
            return f"{self.largest:.3g} expected for the row most at risk, {self.mean:.3g} on average"
        return f"at most {self.largest:.3g}, on average {self.mean:.3g}"


@dataclass(frozen=True, eq=False)
class Risk:
    """What `risk` found. It shows sizes of classes and names of columns, never a value.

    If people are known, all counts and shares are of people, each by the row at which they are most at risk.

    Parameters
    ----------
    columns : the quasi-identifiers.
    rows : the number of rows.
    sizes : the number of rows, or people, of each class, smallest first.
    prosecutor : the attacker knows that the person is in the table: 1/(size of the class).
    journalist : the attacker knows that the person is in the population: 1/(size of the class in the population), or
        where that size is estimated, what is expected of it.
    marketer : the share of rows an attacker gets right who guesses a person of the population for every row.
    sample_unique : the share of rows that are alone in their class in the table.
    population_unique : the share of rows that are alone in their class in the population.
    basis : where the sizes in the population come from.
    outside : rows whose class the population table has fewer of than the table itself (0 if they fit together).
    identifying : the smallest sets of columns that single out more rows than `above`.
    above : that share.
    complete : whether all sets of up to four columns were looked at.
    labels : the classes themselves with their sizes, smallest first, if asked for; the last column is the size.
    people : the number of people; None if each row is one.
    least : for each person the size of the smallest class they are in; None if each row is a person.
    """

    columns: tuple[str, ...]
    rows: int
    sizes: Ints = field(repr=False)
    prosecutor: Odds
    journalist: Odds
    marketer: float
    sample_unique: float
    population_unique: float
    basis: str
    outside: int
    identifying: tuple[Identifying, ...]
    above: float
    complete: bool
    labels: pl.DataFrame | None = field(default=None, repr=False)
    people: int | None = None
    least: Ints | None = field(default=None, repr=False)

    @property
    def classes(self) -> pl.DataFrame:
        """How many classes there are of each size."""
        size, classes = np.unique(self.sizes, return_counts=True)
        return pl.DataFrame({"size": size, "classes": classes})

    def below(self, k: int) -> float:
        """The share of rows in classes of fewer than k rows; or of people in a class of fewer than k people."""
        if self.least is not None:
            return float((self.least < k).sum() / max(len(self.least), 1))
        return float(self.sizes[self.sizes < k].sum() / max(self.rows, 1))

    def __str__(self) -> str:
        unit, of = ("rows", "") if self.people is None else ("people", f" of {self.people:,} people")
        lines = [
            f"{self.rows:,} rows{of} in {len(self.sizes):,} classes by {', '.join(self.columns)}",
            f"prosecutor  {self.prosecutor}",
            f"journalist  {self.journalist} ({self.basis})",
            f"marketer    {self.marketer:.3g} of the {unit}",
            f"unique      {self.sample_unique:.3g} of the {unit} in the table, {self.population_unique:.3g} in the "
            f"population ({self.basis})",
            *(f"{' + '.join(s.columns)}: {s.unique:.3g} of the {unit} are unique" for s in self.identifying[:SHOWN]),
        ]
        if len(self.identifying) > SHOWN:
            lines.append(f"... and {len(self.identifying) - SHOWN} more sets of columns (`identifying`)")
        if not self.complete:
            lines.append("(not all sets of columns were looked at)")
        return "\n".join(lines)


def risk(
    table: Any,
    quasi_identifiers: Sequence[str] | str,
    population: Any = None,
    sampling_fraction: float | None = None,
    *,
    above: float = 0.05,
    show_labels: bool = False,
    person: Any = None,
) -> Risk:
    """The risk that people are found in a table by columns that others know.

    Parameters
    ----------
    table : a frame, a mapping of columns, or the path of a CSV or Parquet file; one row per person, or see `person`.
    quasi_identifiers : the columns others may know; one may be named by itself.
    population : a table of the population with the same columns, of which `table` is a part. Each of its rows is a
        person, unless it has the column `person`.
    sampling_fraction : without such a table, the share of the population that is in `table`, which must be a simple
        random sample: sizes in the population are then estimated (`discreet.anonymity.uniques` has the model and its
        limits). With neither, the table is taken to be the whole population.
    above : name the smallest sets of columns that single out more than this share of the rows.
    show_labels : also give the classes themselves. A class of one *is* a row.
    person : the column that names people, or an array with one name for each row, where people have several rows: then
        classes are as large as they have people, and everybody counts once, by the row at which they are most at risk.

    | edge case | what happens |
    | --- | --- |
    | a missing value | counts as a value of its own |
    | a missing or blank `person`, or one that is a quasi-identifier too | ValueError |
    | an empty table | all risks are 0 |
    | a row that the population lacks | counted in `outside`; its class is as large as in the table |

    Examples
    --------
    >>> people = {"zip": ["10", "10", "10", "11"], "sex": ["f", "f", "m", "m"]}
    >>> print(risk(people, ["zip", "sex"]))
    4 rows in 3 classes by zip, sex
    prosecutor  at most 1, on average 0.75
    journalist  at most 1, on average 0.75 (the table is the whole population)
    marketer    0.75 of the rows
    unique      0.5 of the rows in the table, 0.5 in the population (the table is the whole population)
    zip: 0.25 of the rows are unique
    """
    names = listed(quasi_identifiers)
    _refuse(names, population, sampling_fraction)
    refuse_publication(person, names)
    frame = read(table, [*names, *person_column(person)])
    people = number_people(frame, person)
    everyone, others = _read_population(population, names, person)
    frame = frame.select(names)
    codes, known = coded(frame, everyone)
    row_of, example, rows = distinct(pack(codes, [_width(c, o) for c, o in zip(codes, known, strict=True)]))
    sizes = rows if people is None else _count_people(row_of, people)
    large, outside = (None, 0) if everyone is None else _count_population(codes, known, row_of, sizes, others)
    share, single, basis = _population(sizes, large, sampling_fraction)
    found, complete = identifying(names, codes, above, person=people)

    def odds(chance: Floats, expected: bool = False) -> Odds:
        return Odds(float(chance.max(initial=0.0)), _mean(chance, sizes, row_of, people), expected)

    return Risk(
        columns=tuple(names),
        rows=len(frame),
        sizes=np.sort(sizes),
        prosecutor=odds(1 / sizes),
        journalist=odds(share, expected=sampling_fraction is not None),
        marketer=odds(share).mean,
        sample_unique=odds((sizes == 1).astype(np.float64)).mean,
        population_unique=odds(single).mean,
        basis=basis,
        outside=outside,
        identifying=tuple(found),
        above=above,
        complete=complete,
        labels=_labels(frame[example], sizes) if show_labels else None,
        people=None if people is None else int(people.max(initial=-1)) + 1,
        least=None if people is None else count_least(row_of, people),
    )


def _read_population(population: Any, names: list[str], person: Any) -> tuple[pl.DataFrame | None, Ints | None]:
    """The population, and whose row each is if it says so."""
    if population is None:
        return None, None
    if not has_column(population, person):
        return read(population, names), None
    frame = read(population, [*names, person])
    return frame.select(names), number_people(frame, person)


def _count_people(klass: Ints, person: Ints) -> Ints:
    """How many people each class has."""
    people = int(person.max(initial=0)) + 1
    return np.bincount(np.unique(klass * people + person) // people, minlength=int(klass.max(initial=-1)) + 1)


def _mean(chance: Floats, sizes: Ints, row_of: Ints, person: Ints | None) -> float:
    """The mean over the rows of what is given for each class; or over people, of the largest in their classes."""
    if person is None:
        return float(chance @ sizes / max(sizes.sum(), 1))
    worst = np.zeros(int(person.max(initial=-1)) + 1)
    np.maximum.at(worst, person, chance[row_of])
    return float(worst.sum() / max(len(worst), 1))


def _refuse(names: list[str], population: Any, fraction: float | None) -> None:
    if not names:
        raise ValueError("Name at least one quasi-identifier.")
    if population is not None and fraction is not None:
        raise ValueError("Give a population table or a sampling fraction, not both.")
    if fraction is not None and not 0 < fraction <= 1:
        raise ValueError(f"`sampling_fraction` must be in (0, 1]. Got {fraction}.")


def coded(frame: pl.DataFrame, other: pl.DataFrame | None = None) -> tuple[list[Ints], list[Ints]]:
    """Each column as whole numbers, equal for equal values, of one table or of two tables alike."""
    here, there = [], []
    for name in frame.columns:
        words = text(frame[name]) if other is None else pl.concat([text(frame[name]), text(other[name])])
        ranks = words.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
        here.append(ranks[: len(frame)])
        there.append(ranks[len(frame) :])
    return here, there


def _count_population(
    codes: list[Ints], others: list[Ints], row_of: Ints, sizes: Ints, person: Ints | None
) -> tuple[Ints, int]:
    """The size of each class in the population table, at least that in the table; and how many it lacks them for."""
    widths = [_width(c, o) for c, o in zip(codes, others, strict=True)]
    klass = distinct(pack([np.concatenate(pair) for pair in zip(codes, others, strict=True)], widths))[0]
    here, there = klass[: len(row_of)], klass[len(row_of) :]
    count = np.bincount(there) if person is None else _count_people(there, person)
    count = np.append(count, np.zeros(int(klass.max(initial=0)) + 1, dtype=np.int64))
    large = np.zeros(len(sizes), dtype=np.int64)
    large[row_of] = count[here]
    return np.maximum(large, sizes), int(sizes[large < sizes].sum())


def _population(sizes: Ints, large: Ints | None, fraction: float | None) -> tuple[Floats, Floats, str]:
    """For each class the mean of 1/(size in the population), the chance that it is of one there, and the basis."""
    if large is not None:
        return 1 / large, (large == 1).astype(np.float64), "population table"
    if fraction is None or not len(sizes):
        return 1 / sizes, (sizes == 1).astype(np.float64), "the table is the whole population"
    model = Pitman.fit(sizes, round(sizes.sum() / fraction))
    basis = f"estimated by the Ewens-Pitman model from {fraction:g} of it"
    return model.share(sizes), np.where(sizes == 1, model.unique, 0.0), basis


def _width(codes: Ints, others: Ints) -> int:
    return int(max(codes.max(initial=0), others.max(initial=0))) + 1


def _labels(classes: pl.DataFrame, sizes: Ints) -> pl.DataFrame:
    """The classes with their sizes, in a last column of a name that is free: size, size_, ..."""
    name = "size"
    while name in classes.columns:
        name += "_"
    return classes.with_columns(pl.Series(name, sizes)).sort(name)
