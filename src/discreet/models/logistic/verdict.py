"""The verdict of the rows: a class for all, a line across them, or what was learnt, by how many each gets right.

To choose one of a few candidates is what a small budget does best: a row changes the number of rows that a candidate
gets right by one at most, and the exponential mechanism hardly ever takes one that is right about some 5/ε rows fewer
than the best. So whatever noise has made of slopes, the model is hardly worse than the likeliest class. The lines are
those along which all numbers grow, at several heights: people record things so that more is more (`together.py`).

A choice may be paid for by shares that were dealt for noisy sums (`accounting.curves.choice_within`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import curves
from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.events import Composed
from discreet.images import Line, Mixed, Scaled, missing
from discreet.models.fit import Floats
from discreet.models.hypotheses import BITS, Agreement
from discreet.models.logistic import together
from discreet.query import Batch, BoundedSum, OneHot
from discreet.task import Task

Ints = NDArray[np.int64]

HEIGHTS = (-0.85, -0.7, -0.55, -0.4, -0.25, -0.1, 0.1, 0.3)  # of lines, as averages of features within [-1, 1]
MOST_CLASSES = 10  # with more of them there are no lines: too many pairs
STEEP = 3.0  # of a line: how fast its log odds grow, next to what they are on average
LINES = -1.0  # the logarithm of the odds of all lines together, next to those of a class, before any row is seen
LEARNT = -2.0  # the same, of each model that was learnt
ENOUGH = 30.0  # rows times the ε of a choice: with so much it loses about .01 to an even race at most
MOST = 0.4  # of the last shares, held back for it
PRIOR = 0.3  # variance of how far right answers are ahead of wrong ones
LEAST, SUREST = 0.02, 0.995  # of right answers: so much more than by chance, and at most


@dataclass(frozen=True)
class Lines:
    """Candidates who name one class where the average of all numbers is above a height, and another below.

    Attributes
    ----------
    bounds, classes : by which numbers are scaled into [-1, 1], and how many classes there are.
    """

    bounds: Bounds
    classes: int

    def __len__(self) -> int:
        there = self.classes <= MOST_CLASSES and self._average.any()
        return len(HEIGHTS) * self.classes * (self.classes - 1) if there else 0

    @property
    def _average(self) -> Floats:
        return np.asarray(together.average(self.bounds) ** 2)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(permutations(range(self.classes), 2))

    def said(self, image: Scaled, batch: Batch) -> Ints:
        """What each of them names, for each row: all heights for one pair of classes, then the next."""
        average = Line(image, tuple(self._average))(batch)  # added up in a fixed order: a row's own
        above = average[:, None] > np.array(HEIGHTS)
        return np.hstack([np.where(above, high, low) for low, high in self._pairs])

    def one(self, place: int, image: Scaled, batch: Batch) -> Ints:
        """What one of them names, for each row."""
        pair, height = divmod(place, len(HEIGHTS))
        low, high = self._pairs[pair]
        return np.where(Line(image, tuple(self._average))(batch) > HEIGHTS[height], high, low)

    def coefficients(self, place: int) -> Floats:
        """Of one of them, in the coordinates of the bounds.

        >>> Lines(Bounds([0, 0], [9, 9]), 2).coefficients(6).round(3)
        array([[-0.3,  1.5,  1.5]])
        """
        pair, height = divmod(place, len(HEIGHTS))
        low, high = self._pairs[pair]
        up = self._average.copy()
        up[0] = -HEIGHTS[height]
        if self.classes == 2:
            return np.asarray(STEEP * (up if high else -up)[None])
        theta = np.zeros((self.classes, len(up)))
        theta[:, 0] = -1.0
        theta[low], theta[high] = -up, up
        return STEEP * theta


@dataclass(frozen=True, eq=False)
class Votes:
    """For each row and candidate 1 where it is right and 0 where it is wrong; -1 where the row does not count.

    First come candidates who name one class always, then lines, then models.

    Attributes
    ----------
    image : gives rows within [-1, 1].
    lines : who else there is; they know how many classes there are.
    models : coefficients of models that were learnt, each one row for two classes, else one per class.
    """

    image: Scaled
    lines: Lines
    models: Floats

    def __len__(self) -> int:
        return self.lines.classes + len(self.lines) + len(self.models)

    def __call__(self, batch: Batch) -> Ints:
        """One number per row and candidate."""
        assert batch.y is not None
        there = ~missing(batch) & np.isfinite(batch.y)
        said = [np.tile(np.arange(self.lines.classes), (len(batch), 1))]
        if len(self.lines):
            said.append(self.lines.said(self.image, batch))
        if len(self.models):
            said.append(self._learnt(batch))
        return np.where(there[:, None], np.hstack(said) == batch.y[:, None], -1)

    @cached_property
    def _mixed(self) -> Mixed:
        return Mixed(self.image, self.models.reshape(-1, self.models.shape[-1]).T)

    def _learnt(self, batch: Batch) -> Ints:
        scores = self._mixed(batch).reshape(len(batch), *self.models.shape[:2])
        return np.asarray(scores[:, :, 0] > 0 if scores.shape[2] == 1 else scores.argmax(axis=2), np.int64)

    @property
    def favour(self) -> tuple[float, ...]:
        """The logarithms of the odds of all candidates before any row is seen."""
        across = len(self.lines)
        line = LINES - math.log(max(across, 1))
        return (0.0,) * self.lines.classes + (line,) * across + (LEARNT,) * len(self.models)

    def table(self) -> BoundedSum:
        """How many rows each of them gets wrong and right."""
        return BoundedSum(OneHot(self, 2, len(self)), order=1, name="right and wrong")

    def ahead(self, place: int) -> BoundedSum:
        """How many more rows a class or a line gets right than wrong."""
        line = place - self.lines.classes

        def right(batch: Batch) -> Floats:
            assert batch.y is not None
            said = self.lines.one(line, self.image, batch) if line >= 0 else place
            return np.where(missing(batch) | ~np.isfinite(batch.y), np.nan, np.where(said == batch.y, 1.0, -1.0))

        return BoundedSum(right, norm=1, name="right less wrong")


@dataclass(frozen=True)
class Verdict:
    """What was chosen: coefficients, and a model's place among those that were learnt (None for another candidate)."""

    theta: Floats
    learnt: int | None = None
    line: bool = False


def verdict(task: Task, image: Scaled, bounds: Bounds, models: Floats, n: float, shares: Sequence[Share]) -> Verdict:
    """A candidate that gets as many rows right as any, or nearly so.

    Of a class or a line, log odds are as large as its answers are more often right than wrong: the smallest share is
    for that, all others for the choice.
    """
    curator, classes = task.curator, len(bounds.classes or ())
    votes = Votes(image, Lines(bounds, classes), models)
    for_odds, for_choice = smallest_first(shares)

    # SUMMARISE + PRIVATISE: how many rows each gets right, and one of them
    query, _ = curator.expect(votes.table())
    place = int(curator.run(Agreement("verdict", query, (0, 1 << BITS), votes.favour), *for_choice).value)
    line, learnt = place - classes, place - classes - len(votes.lines)
    if learnt >= 0:
        return Verdict(models[learnt], learnt)
    found = curator.measure(votes.ahead(place), for_odds)

    # SOLVE: log odds by how often it is right
    ahead, doubt = float(np.ravel(found.value)[0]) / n, float(np.max(found.std)) / n
    hits = float(np.clip((1 + ahead * PRIOR / (PRIOR + doubt**2)) / 2, 1 / classes + LEAST, SUREST))
    size = math.log(hits * (classes - 1) / (1 - hits))
    theta = votes.lines.coefficients(line) if line >= 0 else named(place, classes, task.width)
    return Verdict(size * theta, line=line >= 0)


def named(place: int, classes: int, width: int) -> Floats:
    """Coefficients that name a class always: one row of them for two classes, else one per class.

    >>> named(0, 2, 2).tolist(), named(1, 3, 2).tolist()
    ([[-1.0, 0.0]], [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    """
    theta = np.zeros((1 if classes == 2 else classes, width))
    theta[0 if classes == 2 else place, 0] = -1.0 if classes == 2 and place == 0 else 1.0
    return theta


def held_back(task: Task, shares: Sequence[Share], n: float, classes: int) -> int:
    """How many of the last shares are for a choice, and how right it is; 0 where there are too few of them.

    As many as a choice needs where rows are so many, as far as they go.
    """
    most = math.ceil(MOST * len(shares))
    if not task.intercept or classes < 2 or most < 2:
        return 0
    if task.budget.pure:
        return 2  # only the largest of them pays for a choice
    exchange = 2 if task.budget.neighbours == "replace-one" else 1
    for count in range(2, most):
        _, rest = smallest_first(shares[-count:])
        event = Composed(tuple(task.curator.buys(share) for share in rest))
        if n * curves.choice_within(event) >= ENOUGH * exchange:
            return count
    return most


def smallest_first(shares: Sequence[Share]) -> tuple[Share, tuple[Share, ...]]:
    """The smallest of some shares, for how right a choice is; and all others."""
    first, *rest = sorted(shares, key=lambda share: share.plan.weights[share.index])
    return first, tuple(rest)
