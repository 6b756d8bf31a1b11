"""When nothing meets the request: which criterion fails, and what could be met instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.anonymity.checker import Checker, meets
from discreet.anonymity.criteria import Criterion, DistinctL, EntropyL, KAnonymity, TCloseness, count_values, entropies
from discreet.anonymity.groups import Bools, Floats, Groups, Histogram
from discreet.anonymity.request import Request
from discreet.errors import DiscreetError

Node = tuple[int, ...]
Relaxable = KAnonymity | DistinctL | EntropyL | TCloseness


class Infeasible(DiscreetError, ValueError):
    """No generalisation of the table meets the request; the message says what could be met instead."""


def refusal(request: Request, checker: Checker, nearest: Node) -> Infeasible:
    """Names the criteria that fail at the node where fewest rows do, and the nearest requests that it meets."""
    groups, limit = checker.groups(nearest), checker.limit
    total = lost(groups, meets(request.criteria, groups))
    if total <= limit:
        return Infeasible(
            "At the node where fewest rows fail, those published as `*` do not meet the criteria together. "
            "Hint: suppressed='remove'."
        )
    hints = nearer(request.criteria, groups, limit, request.star)
    if total < request.encoded.n and not checker.keeps_all and possible(request.criteria, groups, total, request.star):
        hints.append(f"suppress={np.ceil(total / request.encoded.n * 1e4) / 1e4:.4f}")
    share = 0.0 if checker.keeps_all else request.suppress
    return Infeasible(
        f"No generalisation meets the request with at most {share:.2%} of the rows suppressed. At the node "
        f"where fewest rows fail, these do: {failing(request.criteria, groups)}. {said(hints)}"
    )


def uncut(request: Request, *, whole: bool) -> Infeasible:
    """For local recoding: what fails before any cut, in the whole table or in one of its top groups."""
    groups = request.checker().groups(tuple(tree.height - 1 for tree in request.trees.values()))
    if whole:
        groups = groups.union(np.ones(len(groups.sizes), dtype=bool))
    return Infeasible(
        "The whole table, or a top group of it that nothing may join, does not meet the criteria, and cutting mends "
        f"none. These fail: {failing(request.criteria, groups)}. {said(nearer(request.criteria, groups, 0, False))}"
    )


def said(hints: Sequence[str]) -> str:
    return f"Nearest that can be met: {' or '.join(hints) or 'none'}."


def failing(criteria: Sequence[Criterion], groups: Groups) -> str:
    counts = {str(c): lost(groups, c.check(groups)) for c in criteria}
    return ", ".join(f"{name} for {count / groups.rows:.2%} of the rows" for name, count in counts.items() if count)


def lost(groups: Groups, kept: Bools) -> int:
    return int(groups.sizes[~kept].sum())


def possible(criteria: Sequence[Criterion], groups: Groups, limit: int, star: bool) -> bool:
    """A node meets the criteria; so do the rows published as `*`, if they are."""
    kept = meets(criteria, groups)
    if lost(groups, kept) > limit:
        return False
    return not star or bool(kept.all()) or bool(meets(criteria, groups.union(~kept)).all())


def nearer(criteria: Sequence[Criterion], groups: Groups, limit: int, star: bool) -> list[str]:
    """Requests that a node meets: one criterion relaxed; if that is not enough, all that fail together."""
    hints = []
    for place, criterion in enumerate(criteria):
        others = [*criteria[:place], *criteria[place + 1 :]]
        near = relaxed(criterion, groups, meets(others, groups), limit)
        if near is not None and near != criterion and possible([*others, near], groups, limit, star):
            hints.append(wording(near))
    return hints or together(criteria, groups, limit, star)


def together(criteria: Sequence[Criterion], groups: Groups, limit: int, star: bool) -> list[str]:
    fixed = [c for c in criteria if not isinstance(c, Relaxable)]
    found: list[Criterion] = []
    for criterion in criteria:
        if isinstance(criterion, Relaxable):
            near = relaxed(criterion, groups, meets([*fixed, *found], groups), limit)
            if near is None:
                return []
            found.append(near)
    changed = [wording(c) for c in found if isinstance(c, Relaxable) and c not in criteria]
    return [" with ".join(changed)] if changed and possible([*fixed, *found], groups, limit, star) else []


def relaxed(criterion: Criterion, groups: Groups, kept: Bools, limit: int) -> Relaxable | None:
    """The criterion itself or the nearest weaker one that costs no more rows than are left; None if that is empty."""
    room = limit - lost(groups, kept)
    if room < 0 or not isinstance(criterion, Relaxable):
        return None
    scores = grades(criterion, groups)[kept]
    order = np.argsort(scores, kind="stable")
    place = np.searchsorted(np.cumsum(groups.sizes[kept][order]), room, side="right")
    return weakened(criterion, float(scores[order][place]))


def grades(criterion: Relaxable, groups: Groups) -> Floats:
    """How well each class does: its k, its worst part's l, or its worst part's t with a minus."""
    if isinstance(criterion, KAnonymity):
        return groups.count_people().astype(np.float64)
    worst = np.full(len(groups.sizes), np.inf)
    for name, found in groups.histograms.items():
        if criterion.column in (None, name):
            np.minimum.at(worst, found.home, marks(criterion, found))
    return worst


def marks(criterion: DistinctL | EntropyL | TCloseness, found: Histogram) -> npt.NDArray[np.float64]:
    if isinstance(criterion, DistinctL):
        return count_values(found).astype(np.float64)
    return np.exp(entropies(found)) if isinstance(criterion, EntropyL) else -criterion.distances(found)


def weakened(criterion: Relaxable, grade: float) -> Relaxable | None:
    """The criterion with the bound that a grade meets, rounded to the safe side; None where it would ask nothing."""
    if isinstance(criterion, KAnonymity):
        return None if grade <= 1 else replace(criterion, k=min(criterion.k, int(grade)))
    if isinstance(criterion, DistinctL):
        return None if grade <= 1 else replace(criterion, l=min(criterion.l, int(grade)))
    if isinstance(criterion, EntropyL):
        near = float(np.floor(grade * 1e3) / 1e3)
        return None if near <= 1 else replace(criterion, l=min(criterion.l, near))
    far = float(np.ceil(-grade * 1e4) / 1e4)
    return None if far >= 1 else replace(criterion, t=max(criterion.t, far))


def wording(criterion: Relaxable) -> str:
    """As one would ask for it.

    >>> wording(KAnonymity(3)), wording(EntropyL(1.5, "ill")), wording(TCloseness(0.25))
    ('k=3', "l=EntropyL(1.5, 'ill')", 't=0.25')
    """
    if isinstance(criterion, KAnonymity):
        return f"k={criterion.k}"
    of = "" if criterion.column is None else f", {criterion.column!r}"
    if isinstance(criterion, DistinctL):
        return f"l=DistinctL({criterion.l}{of})" if of else f"l={criterion.l}"
    if isinstance(criterion, EntropyL):
        return f"l=EntropyL({criterion.l:g}{of})"
    kind = repr(criterion.distance) if isinstance(criterion.distance, str) else "..."
    return f"t={criterion.t:g}" if kind == "'equal'" and not of else f"t=TCloseness({criterion.t:g}, {kind}{of})"
