"""Dividing points into ever smaller classes, as long as each half of a cut passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.anonymity.boxes import NODE, Axis
from discreet.anonymity.cuts import Crowd, Cuts, Points, cuts
from discreet.anonymity.infeasible import Infeasible

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Check = Callable[[Ints, Ints, int], Bools]  # points, the class of each, number of classes -> which classes pass


@dataclass(eq=False)
class Classes:
    """Which class each point is in, and the region of each class: its lowest and highest place on each axis."""

    labels: Ints
    low: Ints
    high: Ints


def divide(
    axes: Sequence[Axis],
    places: Ints,
    weights: Ints,
    k: int,
    strict: bool,
    check: Check | None = None,
    crowd: Crowd | None = None,
) -> Classes:
    """Cut all classes that can be cut, round after round."""
    classes = start(axes, places)
    verify(classes.labels, weights, k, check, crowd)
    active = np.argsort(classes.labels, kind="stable")
    while True:
        active = active[np.bincount(classes.labels[active], weights[active])[classes.labels[active]] >= 2 * k]
        if not len(active):
            return classes
        part = np.unique(classes.labels[active], return_inverse=True)[1]
        some = None if crowd is None else crowd.select(active, len(places))
        points = Points(axes, places[active], weights[active], part, some)
        options = cuts(points, k, strict=strict, balanced=check is not None)
        chosen, right = choose(points, options, active, check)
        split(classes, points, active, options, chosen, right)
        active = active[chosen[part] >= 0]
        active = active[np.argsort(classes.labels[active], kind="stable")]


def start(axes: Sequence[Axis], places: Ints) -> Classes:
    """One class; more if hierarchies whose nodes are published have several top groups, which nothing may join."""
    roofs = [axis.tops if axis.kind == NODE else np.zeros(axis.size, dtype=np.int64) for axis in axes]
    tops = np.stack([roof[place] for roof, place in zip(roofs, places.T, strict=True)])
    found, labels = np.unique(tops, axis=1, return_inverse=True)
    low, high = (
        np.stack([np.searchsorted(roof, top, side) for roof, top in zip(roofs, found, strict=True)], axis=1)
        for side in ("left", "right")
    )
    return Classes(labels.astype(np.int64), low, high - 1)


def verify(labels: Ints, weights: Ints, k: int, check: Check | None, crowd: Crowd | None = None) -> None:
    """Before any cut, every class must be anonymous: cutting makes none so."""
    if k < 1:
        raise ValueError(f"`k` must be at least 1. Got {k}.")
    sizes = np.bincount(labels, weights) if len(labels) else np.zeros(1)
    if crowd is not None:
        sizes = crowd.count(labels, len(sizes)).astype(np.float64)
    if sizes.min() < k:
        raise Infeasible(
            f"No class of {k} {'rows' if crowd is None else 'people'} can be made: even before any cut one has only "
            f"{int(sizes.min())}."
        )
    if check is not None and not check(np.arange(len(labels)), labels, len(sizes)).all():
        raise Infeasible("The whole table does not meet the criteria, so none of its parts need.")


def choose(points: Points, options: Sequence[Cuts], active: Ints, check: Check | None) -> tuple[Ints, Bools]:
    """For each class the first option, best first, whose halves pass (-1: none), and which points go to the right."""
    part = points.part
    scores = np.stack([option.score for option in options])
    ranks = np.argsort(scores[: len(points.axes)], axis=0, kind="stable")
    if len(options) > len(points.axes):
        ranks = np.vstack([ranks, len(points.axes) + np.argsort(scores[len(points.axes) :], axis=0, kind="stable")])
    chosen, right = np.full(scores.shape[1], -1), np.zeros(len(part), dtype=bool)
    for option in ranks:
        open_ = (chosen < 0) & np.isfinite(np.take_along_axis(scores, option[None], axis=0)[0])
        if not open_.any():
            continue
        tried = np.where(open_, option, -1)
        side = sides(options, tried, part)
        passed = open_ if check is None else open_ & both(check, active, part, open_, side)
        chosen[passed] = option[passed]
        right[passed[part]] = side[passed[part]]
        if check is None:
            break
    return chosen, right


def sides(options: Sequence[Cuts], chosen: Ints, part: Ints) -> Bools:
    """Which points the chosen cuts send to the right."""
    right = np.zeros(len(part), dtype=bool)
    for number in np.unique(chosen[chosen >= 0]):
        mine = (chosen == number)[part]
        right[mine] = options[number].right(part)[mine]
    return right


def both(check: Check, active: Ints, part: Ints, open_: Bools, side: Bools) -> Bools:
    """Of which classes both halves pass; those not tried do not."""
    mine = open_[part]
    numbers = np.cumsum(open_) - 1
    passed = check(active[mine], 2 * numbers[part[mine]] + side[mine], 2 * int(open_.sum())).reshape(-1, 2).all(axis=1)
    result = np.zeros(len(open_), dtype=bool)
    result[open_] = passed
    return result


def split(classes: Classes, points: Points, active: Ints, options: Sequence[Cuts], chosen: Ints, right: Bools) -> None:
    """Give right halves new numbers, and both halves their regions: the border lies midway between values."""
    parents = np.flatnonzero(chosen >= 0)
    old = classes.labels[active][points.starts][parents]
    new = np.zeros(len(chosen), dtype=np.int64)
    new[parents] = len(classes.low) + np.arange(len(parents))
    low, high = classes.low[old], classes.high[old]
    for row, parent in enumerate(parents):
        cut = options[chosen[parent]]
        ends = points.places[cut.order[cut.last[parent] + np.arange(2)], cut.axis]
        middle = ends.sum() // 2
        classes.high[old[row], cut.axis] = middle
        low[row, cut.axis] = middle + (ends[0] < ends[1])
    classes.low, classes.high = np.vstack([classes.low, low]), np.vstack([classes.high, high])
    classes.labels[active] = np.where(right, new[points.part], classes.labels[active])
