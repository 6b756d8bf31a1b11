"""The node of least loss among all that meet the criteria.

Best means best of *all* feasible nodes; it need not be a minimal one. Three things spare work, and none of them can
miss the optimum:

- a node whose lower bound is no better than the best loss found is passed by;
- a node that fails criteria which are monotone (under the suppression in force) fails all nodes below it;
- classes are merged from those of finer nodes, never counted from the rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.anonymity.checker import Checker, Verdict
from discreet.anonymity.floor import rule_out
from discreet.anonymity.groups import Groups
from discreet.anonymity.lattice import LARGEST, Lattice, below, size
from discreet.anonymity.losses import Loss

Floats = npt.NDArray[np.float64]
Node = tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """The best node, or None if none meets the criteria; `complete` is False if the search ended before that was sure.

    The `reason` is then "time" (the limit was reached) or "size" (more nodes than can be tagged).
    """

    node: Node | None
    loss: float
    searched: int
    complete: bool
    nearest: Node  # where fewest rows had to be suppressed
    reason: Literal["", "time", "size"] = ""


class Clock:
    """Says when to stop."""

    def __init__(self, limit: float | None) -> None:
        self.end = None if limit is None else time.monotonic() + limit

    def over(self) -> bool:
        """Time is up."""
        return self.end is not None and time.monotonic() >= self.end


@dataclass
class Search:
    """The state of a search: what is known to fail, and the best so far."""

    checker: Checker
    loss: Loss
    clock: Clock
    lattice: Lattice = field(init=False)
    bound: Floats | None = field(init=False)
    best: float = float("inf")
    node: Node | None = None
    least: int = 2**62
    nearest: Node = ()
    seen: set[Node] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lattice = Lattice(self.checker.heights)
        self.bound = self.loss.lower()

    def found(self, complete: bool) -> Found:
        return Found(self.node, self.best, self.checker.looked, complete, self.nearest, "" if complete else "time")

    def open(self, node: Node) -> bool:
        """Not known to fail, not yet looked at, and its bound leaves hope."""
        if self.lattice.failed[node] or node in self.seen:
            return False
        return self.bound is None or bool(self.bound[node] < self.best)

    def look(self, node: Node) -> Verdict:
        """Judge a node, and keep it if it is the best so far."""
        self.seen.add(node)
        first = self.checker.tagged(node)
        verdict = first
        if first.dead:
            self.lattice.fail(node)
        elif not self.checker.tags_all:
            if self.bound is not None and self.loss.of(node, first.groups) >= self.best:
                return first  # the rows already lost cost too much, whatever the other criteria say
            verdict = self.checker.completed(node, first)
        if verdict.groups.suppressed < self.least:
            self.least, self.nearest = verdict.groups.suppressed, node
        if verdict.feasible:
            self.offer(node, verdict.groups)
        return verdict

    def offer(self, node: Node, groups: Groups) -> None:
        value = self.loss.of(node, groups)
        if value < self.best or self.node is None:
            self.best, self.node = value, node

    def descend(self, node: Node) -> None:
        """Go down as long as a finer node is feasible, by the step that promises most."""
        while not self.clock.over():
            steps = sorted(below(node), key=self.hope)
            finer = next((s for s in steps if self.open(s) and self.look(s).feasible), None)
            if finer is None:
                return
            node = finer

    def hope(self, node: Node) -> float:
        return float(self.bound[node]) if self.bound is not None else sum(node)


def optimal(checker: Checker, loss: Loss, limit: float | None = None) -> Found:
    """Search the whole lattice; with a limit in seconds, or more nodes than can be tagged, as much as is possible."""
    if size(checker.heights) > LARGEST:
        return greedy(checker, loss, Clock(limit))
    search = Search(checker, loss, Clock(limit))
    checker.raise_to(rule_out(checker, search.lattice))
    if search.look(search.lattice.top).feasible:
        search.descend(search.lattice.top)
    if search.lattice.failed.all():
        return search.found(True)
    if search.bound is None:
        return exhaust(search)
    return frontier(search, search.bound) if checker.tags_all else ascend(search, search.bound)


def exhaust(search: Search) -> Found:
    """Every node that is not known to fail, the coarsest first, since one that fails settles those below it."""
    for node in search.lattice.ranked():
        if search.clock.over():
            return search.found(False)
        if search.open(node):
            search.look(node)
    return search.found(True)


def frontier(search: Search, bound: Floats) -> Found:
    """By falling bound: a failure there settles most nodes below, and success starts a descent."""
    flat, failed = bound.ravel(), search.lattice.failed.reshape(-1)
    for place in np.argsort(-flat, kind="stable"):
        if failed[place] or flat[place] >= search.best:
            continue
        if search.clock.over():
            return search.found(False)
        node = search.lattice.at(int(place))
        if node not in search.seen and search.look(node).feasible:
            search.descend(node)
    return search.found(True)


def ascend(search: Search, bound: Floats) -> Found:
    """First the frontier of the criteria that can be inferred; then by rising bound until it reaches the best."""
    flat, failed = bound.ravel(), search.lattice.failed.reshape(-1)
    order = np.argsort(flat, kind="stable")
    for place in order[::-1]:
        if failed[place] or flat[place] >= search.best:
            continue
        if search.clock.over():
            return search.found(False)
        node = search.lattice.at(int(place))
        if node not in search.seen and search.checker.tagged(node).dead:
            search.lattice.fail(node)
    for place in order:
        if flat[place] >= search.best:
            break
        if search.clock.over():
            return search.found(False)
        node = search.lattice.at(int(place))
        if search.open(node):
            search.look(node)
    return search.found(True)


def greedy(checker: Checker, loss: Loss, clock: Clock) -> Found:
    """Down from the top, each time to the best of the finer nodes, until none is better. Seldom the optimum."""
    top = tuple(h - 1 for h in checker.heights)
    here: Node | None = top
    best, node = float("inf"), None
    if checker.tagged(top).dead:
        return Found(None, best, checker.looked, True, top)
    while here is not None:
        steps = [here] if node is None else below(here)
        here = None
        for step in steps:
            if clock.over() and node is not None:
                break
            verdict = checker.judge(step)
            value = loss.of(step, verdict.groups) if verdict.feasible else float("inf")
            if verdict.feasible and (value < best or node is None):
                best, node, here = value, step, step
    return Found(node, best, checker.looked, False, top, "time" if clock.over() else "size")
