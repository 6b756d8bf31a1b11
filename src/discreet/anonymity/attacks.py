"""Attacks on a published table: what an attacker learns who holds a second table, or knows a little.

Run them on your own releases. What they find, people can find; what they do not find, others may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import names, text
from discreet.anonymity.encode import distinct, pack, read
from discreet.anonymity.fits import column, fitting
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.risk import coded

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
DAY = r"\d{4}-\d\d-\d\d"
OR_MISSING = rf"^({DAY}(?: to {DAY})?|{NUMBER}(?:(?:-| to ){NUMBER})?|\[{NUMBER}, {NUMBER}[\])]) or .+$"


@dataclass(frozen=True)
class Linkage:
    """What joining two tables gives away.

    Parameters
    ----------
    people : rows of the attacker's table.
    rows : rows of the published table.
    matched : people whom at least one published row fits.
    strangers : rows that fit nobody: their people are not on the list, or a label cannot be read without a Hierarchy.
    reidentified : people and rows that fit each other and nobody else.
    expected : how many guesses would be right if everybody who can be is in both tables and the attacker guesses among
        what fits; with the truth, the same counted on the true pairs.
    correct : how many of `reidentified` are right; None without the truth.
    """

    people: int
    rows: int
    matched: int
    strangers: int
    reidentified: int
    expected: float
    correct: int | None = None

    def __str__(self) -> str:
        right = "" if self.correct is None else f", {self.correct:,} of them rightly"
        return (
            f"{self.people:,} people against {self.rows:,} rows: {self.reidentified:,} re-identified{right}; "
            f"{self.matched:,} fit some row, {self.strangers:,} rows fit nobody; "
            f"{self.expected:,.1f} right guesses expected"
        )


def linkage_attack(
    released: Any,
    auxiliary: Any,
    on: Mapping[str, Any] | Sequence[str] | str,
    truth: tuple[str, str] | str | None = None,
) -> Linkage:
    """Join a published table with one that has names, and count who is found.

    Parameters
    ----------
    released : the published table; its cells may be generalised (see `discreet.anonymity.covers` for the forms).
    auxiliary : the attacker's table, with exact values.
    on : for each column of the attacker's table the published column; or a function or Hierarchy that generalises it
        (then the published column has the same name), or a pair (published column, function or Hierarchy). A list
        (or one name) gives columns that are called alike.
    truth : the columns (published, attacker's), or the one of both, by which the same person is known: to score the
        attack, never to run it.

    A person and a row that fit each other and nobody else are a re-identification. Of c rows that fit a person, and F
    people who fit the row, a guess is right with probability 1/max(c, F) at best.

    | edge case | what happens |
    | --- | --- |
    | no row fits anybody | all counts are 0 |
    | a missing value in the attacker's table | fits `*` alone |
    | `*` in every column | fits everybody |

    Example
    -------
    >>> published = {"age": ["20-29", "20-29", "30-39"], "illness": ["flu", "cold", "asthma"]}
    >>> names = {"name": ["Ann", "Bea", "Cem"], "age": [21, 28, 35]}
    >>> found = linkage_attack(published, names, on=["age"])
    >>> found.reidentified, found.expected
    (1, 2.0)
    """
    rules = [_rule(m, on[m]) for m in on] if isinstance(on, Mapping) else [_rule(m, m) for m in names(on)]
    if not rules:
        raise ValueError("Name at least one column to join on.")
    keys = () if truth is None else (truth, truth) if isinstance(truth, str) else truth
    theirs = read(released, list(dict.fromkeys([*(other for _, other, _ in rules), *keys[:1]])))
    ours = read(auxiliary, list(dict.fromkeys([*(mine for mine, _, _ in rules), *keys[1:]])))
    columns = [column(ours[mine], _known(theirs[other]), way) for mine, other, way in rules]
    people, rows, a, b = fitting(columns)
    fit_person = np.bincount(a, rows.weights[b], minlength=len(people.weights))
    fit_row = np.bincount(b, people.weights[a], minlength=len(rows.weights))
    most = np.maximum(fit_person[a], fit_row[b])
    found = Linkage(
        people=len(ours),
        rows=len(theirs),
        matched=int(people.weights[fit_person > 0].sum()),
        strangers=int(rows.weights[fit_row == 0].sum()),
        reidentified=int((most == 1).sum()),
        expected=float((people.weights[a] * rows.weights[b] / most**2).sum()),
    )
    if not keys:
        return found
    person, row = _true(ours[keys[1]], theirs[keys[0]])
    fits = np.logical_and.reduce([c.fits(person, row) for c in columns])
    most = np.maximum(fit_person[people.group_of[person]], fit_row[rows.group_of[row]])[fits]
    return replace(found, expected=float((1 / most).sum()), correct=int((most == 1).sum()))


def _rule(mine: str, given: Any) -> tuple[str, str, Any]:
    if isinstance(given, str):
        return mine, given, None
    if isinstance(given, tuple):
        return mine, given[0], given[1]
    if callable(given) or isinstance(given, Hierarchy):
        return mine, mine, given
    raise TypeError(f"`on[{mine!r}]` must be a column, a function, a Hierarchy, or a pair. Got {type(given).__name__}.")


def _known(labels: pl.Series) -> pl.Series:
    """Where a label is an interval or a number "or unknown", the part that can be known."""
    return labels.str.replace(OR_MISSING, "$1") if labels.dtype == pl.String else labels


def _true(ours: pl.Series, theirs: pl.Series) -> tuple[Ints, Ints]:
    """The places of the same person in both tables."""
    left = pl.DataFrame({"id": text(ours)}).with_row_index("person")
    right = pl.DataFrame({"id": text(theirs)}).with_row_index("row")
    both = left.join(right, on="id", how="inner")
    if len(both) > min(len(left), len(right)):
        raise ValueError("The columns of `truth` must name each person once.")
    return both["person"].to_numpy().astype(np.int64), both["row"].to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Disclosure:
    """What the sensitive values of the classes give away, without anybody being singled out.

    Parameters
    ----------
    rows : the rows looked at.
    disclosed : how many of them have a sensitive value that is certain to the attacker.
    classes : the classes that give it away.
    largest, mean : the attacker's confidence in the right value, for the row most at risk and on average.
    """

    rows: int
    disclosed: int
    classes: int
    largest: float
    mean: float

    @property
    def share(self) -> float:
        """The share of rows disclosed."""
        return self.disclosed / max(self.rows, 1)

    def __str__(self) -> str:
        return (
            f"{self.disclosed:,} of {self.rows:,} rows disclosed, in {self.classes:,} classes; confidence at most "
            f"{self.largest:.3g}, on average {self.mean:.3g}"
        )


def homogeneity_attack(released: Any, quasi_identifiers: Sequence[str] | str, sensitive: str) -> Disclosure:
    """Find classes in which everybody has the same sensitive value: whoever is in one is known to have it.

    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, "l-diversity", TKDD 2007, section 2.

    >>> table = {"zip": ["1*", "1*", "2*", "2*"], "illness": ["flu", "flu", "flu", "cold"]}
    >>> print(homogeneity_attack(table, ["zip"], "illness"))
    2 of 4 rows disclosed, in 1 classes; confidence at most 1, on average 0.75
    """
    return background_attack(released, quasi_identifiers, sensitive, 0)


def background_attack(
    released: Any, quasi_identifiers: Sequence[str] | str, sensitive: str, excluded: int | Sequence[Any] = 1
) -> Disclosure:
    """The same for an attacker who also knows what a person does *not* have.

    Parameters
    ----------
    released : the published table; rows with equal quasi-identifiers are a class.
    quasi_identifiers : its columns.
    sensitive : the column the attacker wants to know.
    excluded : values the attacker rules out (people who have one of them are left out); or their number m: then for
        each row the m commonest other values of its class, the worst case. A class with at most m + 1 different values
        gives everybody in it away.

    | edge case | what happens |
    | --- | --- |
    | `excluded` is one text, not a list | TypeError |
    | a value that is ruled out does not occur | ValueError, with how many such there are |

    >>> table = {"zip": ["1*", "1*", "1*", "2*", "2*"], "illness": ["flu", "flu", "cold", "flu", "flu"]}
    >>> background_attack(table, ["zip"], "illness", 1).share, background_attack(table, ["zip"], "illness", 0).share
    (1.0, 0.4)
    """
    frame = read(released, [*names(quasi_identifiers), sensitive])
    if not isinstance(excluded, int | np.integer):
        return _worst(frame.filter(~_ruled_out(frame[sensitive], excluded)), 0)
    if excluded < 0:
        raise ValueError(f"`excluded` must be at least 0. Got {excluded}.")
    return _worst(frame, int(excluded))


def _ruled_out(column: pl.Series, excluded: Sequence[Any]) -> pl.Series:
    """Which rows have one of the values, all of which must occur: a value misspelt would rule out nothing."""
    if isinstance(excluded, str | bytes):
        raise TypeError("`excluded` must be a list of values, or their number. Hint: put the one value in a list.")
    try:
        values = pl.Series("excluded", list(excluded))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise TypeError("The values of `excluded` mix types. Hint: give them in the type of the column.") from None
    out, held = text(values).unique(), text(column)
    absent = int((~out.is_in(held.unique().to_list(), nulls_equal=True)).sum())
    if absent:
        raise ValueError(f"{absent} of the values in `excluded` do not occur in the column {column.name!r}.")
    return held.is_in(out.to_list(), nulls_equal=True)


def _worst(frame: pl.DataFrame, m: int) -> Disclosure:
    """The attacker's confidence in each value of each class, once the m commonest others are out."""
    codes = coded(frame)[0]
    widths = [int(c.max(initial=0)) + 1 for c in codes]
    klass = distinct(pack(codes[:-1], widths[:-1]))[0]
    entries, count = np.unique(klass * widths[-1] + codes[-1], return_counts=True)
    owner = entries // widths[-1]
    order = np.lexsort((-count, owner))
    owner, count = owner[order], count[order]
    starts = np.searchsorted(owner, np.arange(int(owner.max(initial=-1)) + 1))
    rank = np.arange(len(owner)) - starts[owner]
    total = np.bincount(owner, count)
    top = np.bincount(owner, np.where(rank < m, count, 0))[owner]
    next_ = np.bincount(owner, np.where(rank == m, count, 0))[owner]
    others = np.where(rank < m, top - count + next_, top)  # the m commonest other than one's own
    confidence = count / (total[owner] - others)
    sure = others + count == total[owner]
    rows = int(count.sum())
    return Disclosure(
        rows=rows,
        disclosed=int(count[sure].sum()),
        classes=len(np.unique(owner[sure])),
        largest=float(confidence.max(initial=0.0)),
        mean=float(confidence @ count / max(rows, 1)),
    )
