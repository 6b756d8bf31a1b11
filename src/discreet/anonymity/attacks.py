"""Attacks on a published table: what an attacker learns who holds a second table, or knows a little.

Run them on your own releases. What they find, people can find; what they do not find, others may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import names, text, unrecorded
from discreet.anonymity.encode import distinct, pack, read
from discreet.anonymity.fits import BLOCK, column, fitting
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.people import number_people, person_column, refuse_publication
from discreet.anonymity.risk import coded
from discreet.arguments import check_whole

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
    reidentified : people and rows that fit each other and nobody else; with `person`, people whom rows of one person
        alone fit, of which one fits nobody else.
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
    *,
    person: Any = None,
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
    person : the published table's column that names people, or an array with one name for each of its rows (such as
        `Anonymised.people`), where people have several rows: five rows of one person then hide nobody. It scores the
        attack, as `truth` does. Each row of the attacker's table is a person.

    A person and a row that fit each other and nobody else are a re-identification. Of c rows that fit a person, and F
    people who fit the row, a guess is right with probability 1/max(c, F) at best.

    | edge case | what happens |
    | --- | --- |
    | no row fits anybody | all counts are 0 |
    | a missing value in the attacker's table | fits `*` alone |
    | a missing or blank name in a column of `truth` | is nobody's: it scores nothing |
    | a missing or blank `person` | ValueError |
    | `*` in every column | fits everybody |

    Examples
    --------
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
    theirs = read(released, list(dict.fromkeys([*(other for _, other, _ in rules), *keys[:1], *person_column(person)])))
    ours = read(auxiliary, list(dict.fromkeys([*(mine for mine, _, _ in rules), *keys[1:]])))
    columns = [column(ours[mine], _known(theirs[other]), way) for mine, other, way in rules]
    people, rows, a, b = fitting(columns)
    whose = number_people(theirs, person)
    weights = rows.weights if whose is None else count_in_groups(rows.group_of, whose, len(rows.weights))
    total = np.bincount(a, weights[b], minlength=len(people.weights))
    fit_person = total if whose is None else total - count_repeats(a, b, rows.group_of, whose, len(people.weights))
    fit_row = np.bincount(b, people.weights[a], minlength=len(rows.weights))
    most = np.maximum(fit_person[a], fit_row[b])
    once = fit_person[a] / total[a]  # somebody whose rows fit in two groups is guessed in one of them
    found = Linkage(
        people=len(ours),
        rows=len(theirs),
        matched=int(people.weights[fit_person > 0].sum()),
        strangers=int(rows.weights[fit_row == 0].sum()),
        reidentified=len(np.unique(a[most == 1])),
        expected=float((people.weights[a] * weights[b] * once / most**2).sum()),
    )
    if not keys:
        return found
    one, row = _true(ours[keys[1]], theirs[keys[0]], several=whose is not None)
    fits = np.logical_and.reduce([c.fits(one, row) for c in columns])
    most = np.maximum(fit_person[people.group_of[one]], fit_row[rows.group_of[row]])[fits]
    chance = np.zeros(len(ours))
    np.maximum.at(chance, one[fits], 1 / most)  # of somebody's rows the one that gives them away most
    return replace(found, expected=float(chance.sum()), correct=int((chance == 1).sum()))


def count_in_groups(group_of: Ints, person: Ints, groups: int) -> Ints:
    """How many people have rows in each group."""
    people = int(person.max(initial=0)) + 1
    return np.bincount(np.unique(group_of * people + person) // people, minlength=groups)


def count_repeats(a: Ints, b: Ints, group_of: Ints, person: Ints, count: int) -> Ints:
    """For each of so many groups of the attacker's people, how often somebody fits it by a second group of rows.

    The pairs of groups that fit are (a, b). Only those who have rows in several groups can be counted twice.
    """
    people = int(person.max(initial=0)) + 1
    owner, whose = np.divmod(np.unique(group_of * people + person), people)
    several = np.bincount(whose)[whose] > 1
    owner, whose = owner[several], whose[several]
    start = np.searchsorted(owner, b)
    size = np.searchsorted(owner, b, "right") - start
    repeats = np.zeros(count, dtype=np.int64)
    for some in split_pairs(a, size):
        within = np.arange(size[some].sum()) - np.repeat(np.cumsum(size[some]) - size[some], size[some])
        mine, them = np.repeat(a[some], size[some]), whose[np.repeat(start[some], size[some]) + within]
        once = np.unique(mine * people + them) // people
        repeats += np.bincount(mine, minlength=count) - np.bincount(once, minlength=count)
    return repeats


def split_pairs(a: Ints, size: Ints) -> list[Ints]:
    """The places of pairs, in blocks of bounded size, so that all pairs of one `a` are in one block."""
    order = np.argsort(a, kind="stable")
    block = np.cumsum(size[order])[np.searchsorted(a[order], a[order])] // BLOCK
    return np.split(order, np.flatnonzero(np.diff(block)) + 1)


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


def _true(ours: pl.Series, theirs: pl.Series, several: bool) -> tuple[Ints, Ints]:
    """The places of the same person in both tables; with `several`, people may have several published rows."""
    left = pl.DataFrame({"id": text(ours)}).with_row_index("person").filter(pl.Series(~unrecorded(ours)))
    right = pl.DataFrame({"id": text(theirs)}).with_row_index("row").filter(pl.Series(~unrecorded(theirs)))
    both = left.join(right, on="id", how="inner")
    if len(both) > (len(right) if several else min(len(left), len(right))):
        raise ValueError("The columns of `truth` must name each person once.")
    return both["person"].to_numpy().astype(np.int64), both["row"].to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Disclosure:
    """What the sensitive values of the classes give away, without anybody being singled out.

    Parameters
    ----------
    rows : the rows looked at, those that have a value; with `person`, each person once for each value in each class.
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


def homogeneity_attack(
    released: Any, quasi_identifiers: Sequence[str] | str, sensitive: str, *, person: Any = None
) -> Disclosure:
    """Find classes in which everybody has the same sensitive value: whoever is in one is known to have it.

    Missing values and `person` are as in `background_attack`.

    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, "l-diversity", TKDD 2007, section 2.

    >>> table = {"zip": ["1*", "1*", "2*", "2*"], "illness": ["flu", "flu", "flu", "cold"]}
    >>> print(homogeneity_attack(table, ["zip"], "illness"))
    2 of 4 rows disclosed, in 1 classes; confidence at most 1, on average 0.75
    """
    return background_attack(released, quasi_identifiers, sensitive, 0, person=person)


def background_attack(
    released: Any,
    quasi_identifiers: Sequence[str] | str,
    sensitive: str,
    excluded: int | Sequence[Any] = 1,
    *,
    person: Any = None,
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
    person : the column that names people, or an array with one name for each row (such as `Anonymised.people`), where
        people have several rows. A value is then as common as people have it, and certain if everybody in the class has
        it. With m values ruled out, the people who have them are added up, which is too many, never too few, where
        somebody has several.

    | edge case | what happens |
    | --- | --- |
    | a missing or blank sensitive value | no value: the row is left out, and hides nobody in its class |
    | `excluded` is one text, not a list | TypeError |
    | a value that is ruled out does not occur | ValueError, with how many such there are |

    >>> table = {"zip": ["1*", "1*", "1*", "2*", "2*"], "illness": ["flu", "flu", "cold", "flu", "flu"]}
    >>> background_attack(table, ["zip"], "illness", 1).share, background_attack(table, ["zip"], "illness", 0).share
    (1.0, 0.4)
    """
    columns = [*names(quasi_identifiers), sensitive]
    refuse_publication(person, columns)
    if not isinstance(excluded, Iterable):
        excluded = check_whole("", "excluded", excluded, 0)
    frame = read(released, [*columns, *person_column(person)])
    whose = number_people(frame, person)
    frame, left = frame.select(columns), ~unrecorded(frame[sensitive])
    if isinstance(excluded, Iterable):
        out = _ruled_out(frame[sensitive], excluded).to_numpy()
        left &= ~(out if whose is None else np.isin(whose, whose[out]))
        excluded = 0
    return _worst(frame.filter(pl.Series(left)), excluded, None if whose is None else whose[left])


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


def _worst(frame: pl.DataFrame, m: int, person: Ints | None) -> Disclosure:
    """The attacker's confidence in each value of each class, once the m commonest others are out."""
    codes = coded(frame)[0]
    widths = [int(c.max(initial=0)) + 1 for c in codes]
    klass = distinct(pack(codes[:-1], widths[:-1]))[0]
    key = klass * widths[-1] + codes[-1]
    if person is not None:  # each value of each person in a class once
        people = int(person.max(initial=0)) + 1
        key = np.unique(key * people + person) // people
    entries, count = np.unique(key, return_counts=True)
    owner = entries // widths[-1]
    order = np.lexsort((-count, owner))
    owner, count = owner[order], count[order]
    starts = np.searchsorted(owner, np.arange(int(owner.max(initial=-1)) + 1))
    rank = np.arange(len(owner)) - starts[owner]
    total = np.bincount(owner, count) if person is None else count_in_groups(klass, person, len(starts))
    top = np.bincount(owner, np.where(rank < m, count, 0))[owner]
    next_ = np.bincount(owner, np.where(rank == m, count, 0))[owner]
    others = np.where(rank < m, top - count + next_, top)  # the m commonest other than one's own
    confidence = count / np.maximum(total[owner] - others, count)
    sure = others + count >= total[owner]
    rows = int(count.sum())
    return Disclosure(
        rows=rows,
        disclosed=int(count[sure].sum()),
        classes=len(np.unique(owner[sure])),
        largest=float(confidence.max(initial=0.0)),
        mean=float(confidence @ count / max(rows, 1)),
    )
