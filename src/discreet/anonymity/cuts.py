"""Every cut of every class along every column, and what the two halves would lose.

All classes of a round are looked at together: the points lie sorted by class, so what precedes and what follows a cut
is a running count (of values met for the first time) or a running extreme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.anonymity.boxes import SET, Axis

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Crowd:
    """The people of points: one entry for each point and person, in order of points."""

    point: Ints
    person: Ints

    def select(self, points: Ints, total: int) -> Crowd:
        """Those of some points out of so many, which are numbered anew."""
        place = np.full(total, -1, dtype=np.int64)
        place[points] = np.arange(len(points))
        there = place[self.point] >= 0
        return Crowd(place[self.point[there]], self.person[there])

    def number(self, part: Ints) -> Ints:
        """A number for each person in each class."""
        people = int(self.person.max(initial=0)) + 1
        return np.asarray(np.unique(part[self.point] * people + self.person, return_inverse=True)[1])

    def count(self, labels: Ints, classes: int) -> Ints:
        """How many people the classes of the points have."""
        people = int(self.person.max(initial=0)) + 1
        return np.bincount(np.unique(labels[self.point] * people + self.person) // people, minlength=classes)


@dataclass(frozen=True, eq=False)
class Points:
    """The points that may still be divided, sorted by class.

    Parameters
    ----------
    axes : one for each column.
    places : (m, d); where each point lies on each axis.
    weights : (m,); how many rows it stands for.
    part : (m,); its class, never falling from one point to the next, without gaps.
    crowd : whose rows the points stand for; None if each row is a person.
    """

    axes: Sequence[Axis]
    places: Ints
    weights: Ints
    part: Ints
    crowd: Crowd | None = None

    @property
    def starts(self) -> Ints:
        """The first point of each class."""
        return np.flatnonzero(np.r_[True, self.part[1:] != self.part[:-1]])

    @property
    def sizes(self) -> Ints:
        """The number of rows of each class."""
        return np.add.reduceat(self.weights, self.starts)


@dataclass(frozen=True, eq=False)
class Cuts:
    """One cut for each class along one column: points up to `last` in `order` go to the left.

    Classes that cannot be cut along it have an infinite score.
    """

    axis: int
    order: Ints
    score: Floats
    last: Ints

    def right(self, part: Ints) -> Bools:
        """Which points go to the right."""
        beyond = np.empty(len(part), dtype=bool)
        beyond[self.order] = np.arange(len(part)) > self.last[part]  # classes keep their places in every order
        return beyond


def cuts(points: Points, k: int, *, strict: bool, balanced: bool) -> list[Cuts]:
    """The best cut of each class along each column; with `balanced` also the most even one, to fall back on.

    The score is what both halves lose together, rows times (values - 1)/(domain - 1) summed over the columns; a cut
    is allowed if both halves have rows of k people and, where `strict`, no value is on both sides.
    """
    orders = [_sorted(points, j) for j in range(len(points.axes))]
    groups = [_grouped(points, j, order) for j, order in enumerate(orders)]
    starts, sizes = points.starts, points.sizes
    whose = None if points.crowd is None else points.crowd.number(points.part)
    found, even = [], []
    for j, order in enumerate(orders):
        left = _since(np.cumsum(points.weights[order]), points.weights[order], starts, points.part)
        rest = sizes[points.part] - left
        here, there = (left, rest) if whose is None else count_sides(points, whose, order, starts)
        allowed = (here >= k) & (there >= k)
        if strict:
            own = groups[j][order]
            allowed[:-1] &= own[:-1] != own[1:]
        before, after = losses(points, order, groups, starts)
        after = np.append(after[1:], 0.0)
        found.append(_best(j, order, np.where(allowed, left * before + rest * after, np.inf), starts, points.part))
        if balanced:
            even.append(_best(j, order, np.where(allowed, np.abs(left - rest), np.inf), starts, points.part))
    return found + even


def count_sides(points: Points, whose: Ints, order: Ints, starts: Ints) -> tuple[Floats, Floats]:
    """For each point in this order, how many people its class has up to and with it, and after it.

    Somebody with rows on both sides counts on both. People are counted where they come first, and where last.
    """
    assert points.crowd is not None
    m, part = len(order), points.part
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(m)
    at = rank[points.crowd.point]
    first, last = np.full(int(whose.max()) + 1, m), np.zeros(int(whose.max()) + 1, dtype=np.int64)
    np.minimum.at(first, whose, at)
    np.maximum.at(last, whose, at)
    come, gone = np.bincount(first, minlength=m), np.bincount(last, minlength=m)
    total = np.add.reduceat(come, starts)[part]
    return _since(np.cumsum(come), come, starts, part), total - _since(np.cumsum(gone), gone, starts, part)


def losses(points: Points, order: Ints, groups: list[Ints], starts: Ints) -> tuple[Floats, Floats]:
    """For each point in this order, the loss of its class up to and with it, and from it on."""
    m, part = len(order), points.part
    places = np.arange(m)
    before, after, new, old = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    for axis, group, column in zip(points.axes, groups, points.places.T, strict=True):
        if axis.kind == SET:
            value = group[order]
            first, last = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
            first[value[::-1]], last[value] = places[::-1], places  # the last to be written stays
            new += np.where(first[value] == places, axis.unit, 0.0)
            old += np.where(last[value] == places, axis.unit, 0.0)
            before -= axis.unit
            after -= axis.unit
        else:
            before += axis.cost(*_extremes(column[order], part * axis.size))
            low, high = _extremes(column[order][::-1], (part[-1] - part[::-1]) * axis.size)
            after += axis.cost(low[::-1], high[::-1])
    ends = np.append(starts[1:], m)
    before += _since(np.cumsum(new), new, starts, part)
    after += _since(np.cumsum(old[::-1]), old[::-1], (m - ends)[::-1], part[-1] - part[::-1])[::-1]
    return before, after


def _extremes(column: Ints, shift: Ints) -> tuple[Ints, Ints]:
    """The least and the greatest so far in each class; `shift` grows by the domain from class to class."""
    return np.minimum.accumulate(column - shift) + shift, np.maximum.accumulate(column + shift) - shift


def _since(total: npt.NDArray[Any], each: npt.NDArray[Any], starts: Ints, part: Ints) -> Floats:
    """A running total, begun anew in each class."""
    return np.asarray(total - (total[starts] - each[starts])[part])


def _sorted(points: Points, j: int) -> Ints:
    return np.argsort(points.part * points.axes[j].size + points.places[:, j], kind="stable")


def _grouped(points: Points, j: int, order: Ints) -> Ints:
    """A number for each value in each class."""
    part, place = points.part, points.places[order, j]
    fresh = np.r_[False, (part[1:] != part[:-1]) | (place[1:] != place[:-1])]
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(fresh)
    return group


def _best(axis: int, order: Ints, score: Floats, starts: Ints, part: Ints) -> Cuts:
    """The first of the smallest scores in each class."""
    least = np.minimum.reduceat(score, starts)
    hits = np.flatnonzero(score == least[part])
    last = np.zeros(len(starts), dtype=np.int64)
    last[part[hits][::-1]] = hits[::-1]
    return Cuts(axis, order, least, last)
