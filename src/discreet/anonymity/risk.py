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
from discreet.anonymity.subsets import Identifying, identifying
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

    Parameters
    ----------
    columns : the quasi-identifiers.
    rows : the number of rows.
    sizes : the number of rows of each class, smallest first.
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

    @property
    def classes(self) -> pl.DataFrame:
        """How many classes there are of each size."""
        size, classes = np.unique(self.sizes, return_counts=True)
        return pl.DataFrame({"size": size, "classes": classes})

    def below(self, k: int) -> float:
        """The share of rows in classes of fewer than k rows."""
        return float(self.sizes[self.sizes < k].sum() / max(self.rows, 1))

    def __str__(self) -> str:
        lines = [
            f"{self.rows:,} rows in {len(self.sizes):,} classes by {', '.join(self.columns)}",
            f"prosecutor  {self.prosecutor}",
            f"journalist  {self.journalist} ({self.basis})",
            f"marketer    {self.marketer:.3g} of the rows",
            f"unique      {self.sample_unique:.3g} of the rows in the table, {self.population_unique:.3g} in the "
            f"population ({self.basis})",
            *(f"{' + '.join(s.columns)}: {s.unique:.3g} of the rows are unique" for s in self.identifying[:SHOWN]),
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
) -> Risk:
    """The risk that people are found in a table by columns that others know.

    Parameters
    ----------
    table : a frame, a mapping of columns, or the path of a CSV or Parquet file; one row per person.
    quasi_identifiers : the columns others may know; one may be named by itself.
    population : a table of the population with the same columns, of which `table` is a part.
    sampling_fraction : without such a table, the share of the population that is in `table`, which must be a simple
        random sample: sizes in the population are then estimated (`discreet.anonymity.uniques` has the model and its
        limits). With neither, the table is taken to be the whole population.
    above : name the smallest sets of columns that single out more than this share of the rows.
    show_labels : also give the classes themselves. A class of one *is* a row.

    | edge case | what happens |
    | --- | --- |
    | a missing value | counts as a value of its own |
    | an empty table | all risks are 0 |
    | a row that the population lacks | counted in `outside`; its class is as large as in the table |

    Example
    -------
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
    frame = read(table, names)
    everyone = None if population is None else read(population, names)
    codes, others = coded(frame, everyone)
    row_of, example, sizes = distinct(pack(codes, [_width(c, o) for c, o in zip(codes, others, strict=True)]))
    share, alone, basis, outside = _population(codes, others, row_of, sizes, everyone is not None, sampling_fraction)
    found, complete = identifying(names, codes, above)
    n = len(frame)
    return Risk(
        columns=tuple(names),
        rows=n,
        sizes=np.sort(sizes),
        prosecutor=_odds(1 / sizes, sizes),
        journalist=_odds(share, sizes, expected=sampling_fraction is not None),
        marketer=_odds(share, sizes).mean,
        sample_unique=float((sizes == 1).sum() / max(n, 1)),
        population_unique=float(alone / max(n, 1)),
        basis=basis,
        outside=outside,
        identifying=tuple(found),
        above=above,
        complete=complete,
        labels=_labels(frame[example], sizes) if show_labels else None,
    )


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


def _population(
    codes: list[Ints], others: list[Ints], row_of: Ints, sizes: Ints, known: bool, fraction: float | None
) -> tuple[Floats, float, str, int]:
    """For each class the mean of 1/(size in the population); rows alone in it; the basis; rows outside."""
    if known:
        widths = [_width(c, o) for c, o in zip(codes, others, strict=True)]
        keys = pack([np.concatenate(pair) for pair in zip(codes, others, strict=True)], widths)
        count, people = len(row_of), distinct(keys)[0]
        large = np.zeros(len(sizes), dtype=np.int64)
        large[row_of] = np.bincount(people[count:], minlength=int(people.max(initial=0)) + 1)[people[:count]]
        outside = int(sizes[large < sizes].sum())
        large = np.maximum(large, sizes)
        return 1 / large, int((large == 1).sum()), "population table", outside
    if fraction is None or not len(sizes):
        return 1 / sizes, int((sizes == 1).sum()), "the table is the whole population", 0
    model = Pitman.fit(sizes, round(sizes.sum() / fraction))
    alone = float((sizes == 1).sum()) * model.unique
    return model.share(sizes), alone, f"estimated by the Ewens-Pitman model from {fraction:g} of it", 0


def _width(codes: Ints, others: Ints) -> int:
    return int(max(codes.max(initial=0), others.max(initial=0))) + 1


def _odds(share: Floats, sizes: Ints, expected: bool = False) -> Odds:
    return Odds(float(share.max(initial=0.0)), float(share @ sizes / max(sizes.sum(), 1)), expected)


def _labels(classes: pl.DataFrame, sizes: Ints) -> pl.DataFrame:
    """The classes with their sizes, in a last column of a name that is free: size, size_, ..."""
    name = "size"
    while name in classes.columns:
        name += "_"
    return classes.with_columns(pl.Series(name, sizes)).sort(name)
