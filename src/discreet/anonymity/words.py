"""Anonymity in plain words, for people who answer for the data and do not write programs."""

from __future__ import annotations

from typing import Any

from discreet.anonymity.criteria import (
    DeltaPresence,
    DistinctL,
    EntropyL,
    KAnonymity,
    KMap,
    RecursiveCL,
    TCloseness,
)

METHODS = {
    "optimal": "Whole columns were made coarser; of all combinations of levels the one that loses least was taken.",
    "incognito": "Whole columns were made coarser; of the combinations that cannot be refined the one that loses least "
    "was taken.",
    "mondrian": "Rows were put into groups of similar rows, and each group was given common intervals or sets of "
    "values. Two people of the same age may be published with different intervals. If the intervals are tight (the "
    "default), their ends are values of people in the group, often of one person alone.",
}

LOSSES = {
    "ncp": "detail lost, from 0 (nothing) to 1 (everything)",
    "entropy": "uncertainty added, from 0 to 1",
    "discernibility": "pairs of rows that cannot be told apart",
    "average": "mean size of a group, in multiples of the smallest allowed",
}

LIMITS = (
    (
        "Somebody who knows something else",
        "Groups hide people from those who know the listed columns and nothing more. A colleague who knows that a "
        "person was never treated for one illness, or a neighbour who knows where somebody was in March, can rule out "
        "rows and may be left with one.",
    ),
    (
        "What is not published speaks too",
        "Four people are in a table, and a city is published with its mean income only if at least three of them live "
        "there. Somebody knows that two live in Los Angeles and a third in New York. Nothing is published, and so "
        "they learn that the fourth does not live in Los Angeles. No rule was broken, no small group was shown, and a "
        "fact about one person came out.",
    ),
    (
        "Several releases of the same people",
        "Two tables that are each anonymous can be laid side by side. A person who is in one group of five here and in "
        "another group of five there may be the only one in both. Each further release, and each correction of "
        "this one, has to be judged together with all before it.",
    ),
    (
        "What the group has in common",
        "If everybody in a group has the same illness, or nearly so, one need not know which row is whose. The figures "
        "on disclosure above say how far this goes here.",
    ),
    (
        "Columns that were not listed",
        "Any column that is published as it is, and that others might know, can single people out. Only the listed "
        "columns were made coarser. The figures on standing alone above say how far this goes here.",
    ),
)

CLOSING = (
    "This table is anonymous in the sense stated above and in no other. It is not differentially private: there is no "
    "bound on what somebody with other knowledge can learn. Where such a bound is needed, publish statistics or models "
    "with noise instead of rows."
)


def criterion(one: Any, unit: str = "rows") -> str:
    """What a criterion demands, in a sentence; `unit` is what is counted, "rows" or "people"."""
    where = f" of {one.column}" if getattr(one, "column", None) else " of each sensitive column"
    if isinstance(one, KAnonymity) and unit == "people":
        return (
            f"Every published row looks like rows of at least {one.k - 1} other people in the listed columns "
            f"(k = {one.k})."
        )
    if isinstance(one, KAnonymity):
        return f"Every published row looks like at least {one.k - 1} others in the listed columns (k = {one.k})."
    if isinstance(one, KMap):
        return f"Every published row looks like at least {one.k} people of the population (k-map, k = {one.k})."
    if isinstance(one, DeltaPresence):
        return f"Of the people in the population who fit a group, {one.low:.0%} to {one.high:.0%} are in the table."
    if isinstance(one, DistinctL):
        return f"Every group has at least {one.l} different values{where} (l = {one.l})."
    if isinstance(one, EntropyL):
        return (
            f"The values{where} in every group are as mixed as {one.l:g} equally common ones (entropy l = {one.l:g})."
        )
    if isinstance(one, RecursiveCL):
        return (
            f"In every group the commonest value{where} is rarer than {one.c:g} times all from place {one.l} on "
            f"together (recursive c = {one.c:g}, l = {one.l})."
        )
    if isinstance(one, TCloseness):
        return f"The values{where} in every group are spread as in the whole table, within {one.t:g} (t = {one.t:g})."
    return str(one)


def percent(share: float) -> str:
    """A share for reading: never 0% or 100% where it is not.

    >>> percent(0.5), percent(0.0), percent(0.00001), percent(0.99999)
    ('50.0%', '0%', 'under 0.1%', 'over 99.9%')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return "under 0.1%" if share < 0.001 else "over 99.9%" if share > 0.999 else f"{share:.1%}"
