"""All minimal generalisations: Incognito.

LeFevre, DeWitt & Ramakrishnan, SIGMOD 2005. A table that is anonymous in some columns is so in each part of them
(merging classes keeps a monotone criterion), so the sets of columns are gone through by size, and a node is looked at
only if it passed in every set with one column less. What passes is judged on *all* its columns jointly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.anonymity.checker import Checker
from discreet.anonymity.criteria import Criterion
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.lattice import minimal
from discreet.anonymity.losses import Loss
from discreet.anonymity.request import prepare
from discreet.anonymity.search import Clock, Found
from discreet.errors import NotSupported

Node = tuple[int, ...]
Bools = npt.NDArray[np.bool_]


def minimal_generalisations(
    table: Any,
    quasi_identifiers: Mapping[str, Hierarchy],
    *,
    sensitive: Sequence[str] = (),
    k: int | None = 5,
    l: int | Criterion | None = None,
    t: float | Criterion | None = None,
    criteria: Sequence[Criterion] = (),
    suppress: float = 0.0,
    population: Any = None,
    missing: str | None = None,
    person: Any = None,
) -> list[dict[str, int]]:
    """Every combination of levels that meets the criteria while no finer one does.

    Parameters
    ----------
    as in `anonymise`. Criteria must be monotone under the suppression asked for, else NotSupported is raised: a
    finer node could then be good above one that is not, and "minimal" would mean little.

    Examples
    --------
    >>> rows = {"zip": ["10", "11", "20", "21"], "sex": ["f", "m", "f", "m"]}
    >>> trees = {"zip": Hierarchy.prefix(["10", "11", "20", "21"]), "sex": Hierarchy.flat("fm")}
    >>> minimal_generalisations(rows, trees, k=2)
    [{'zip': 1, 'sex': 1}, {'zip': 2, 'sex': 0}]
    """
    request = prepare(
        table, quasi_identifiers, sensitive=sensitive, k=k, l=l, t=t, criteria=criteria, suppress=suppress,
        population=population, missing=missing, person=person,
    )  # fmt: skip
    nodes, _ = frontier(request.checker(), Clock(None))
    return [dict(zip(request.trees, node, strict=True)) for node in nodes]


def frontier(checker: Checker, clock: Clock) -> tuple[list[Node], bool]:
    """The minimal nodes (those found so far, if time runs out), and whether time sufficed to find them."""
    monotone(checker)
    columns = range(len(checker.heights))
    passed: dict[tuple[int, ...], Bools] = {(): np.ones((), dtype=bool)}
    for count in range(1, len(checker.heights) + 1):
        known, passed = passed, {}
        for chosen in combinations(columns, count):
            passed[chosen] = surveyed(checker, chosen, candidates(checker, chosen, known), clock)
            if clock.over():
                return minimal(passed[chosen]) if count == len(columns) else [], False
    return minimal(passed[tuple(columns)]), True


def monotone(checker: Checker) -> None:
    """Refuse what has no frontier."""
    if not checker.tags_all:
        loose = ", ".join(str(c) for c in checker.loose) or "publishing suppressed rows as `*`"
        why = "with suppression, or where people have several rows" if checker.several else "with suppression"
        raise NotSupported(
            f"Never possible: {loose} is not monotone {why}, so there is no frontier of minimal nodes. "
            f"Hint: method='optimal'{'' if checker.several else ', or suppress=0'}."
        )


def candidates(checker: Checker, chosen: tuple[int, ...], known: Mapping[tuple[int, ...], Bools]) -> Bools:
    """The nodes that passed in every set with one column less."""
    possible = np.ones([checker.heights[c] for c in chosen], dtype=bool)
    for axis in range(len(chosen)):
        possible &= np.expand_dims(known[(*chosen[:axis], *chosen[axis + 1 :])], axis)
    return possible


def surveyed(checker: Checker, chosen: tuple[int, ...], possible: Bools, clock: Clock) -> Bools:
    """Which nodes of a set of columns pass: from fine to coarse, what passes settles all above it."""
    passed = np.zeros_like(possible)
    depth = np.indices(possible.shape).sum(axis=0)
    places = np.argwhere(possible)
    for place in places[np.argsort(depth[possible], kind="stable")]:
        node = tuple(int(level) for level in place)
        if clock.over():
            break
        if not passed[node] and checker.tagged(widened(checker, chosen, node)).feasible:
            passed[tuple(slice(level, None) for level in node)] = True
    return passed


def widened(checker: Checker, chosen: tuple[int, ...], node: Node) -> Node:
    """The node of all columns, where those not chosen are left out."""
    full = list(checker.heights)
    for column, level in zip(chosen, node, strict=True):
        full[column] = level
    return tuple(full)


def incognito(checker: Checker, loss: Loss, limit: float | None = None) -> Found:
    """The best of the minimal nodes, which need not be the best of all; if time runs out, the best found so far."""
    clock, top = Clock(limit), tuple(h - 1 for h in checker.heights)
    monotone(checker)
    if not checker.judge(top).feasible:
        return Found(None, float("inf"), checker.looked, True, top)
    nodes, complete = frontier(checker, clock)
    worth = {node: loss.of(node, checker.judge(node).groups) for node in nodes or [top]}
    best = min(worth, key=lambda node: worth[node])
    return Found(best, worth[best], checker.looked, complete, top, "" if complete else "time")
