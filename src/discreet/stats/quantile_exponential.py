"""Quantiles by the exponential mechanism over the points of a fine public grid (Smith 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget
from discreet.curator.procedures import Inside
from discreet.engines import Rows
from discreet.events import Choice, Composed, Event
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.points import DecimalGrid, exponential_on_grid
from discreet.query.lipschitz import rank_score
from discreet.stats.ranks import Ranked, count_cells, rank_rows

Pieces = NDArray[Any]

NEGLIGIBLE = 84.0  # points that are e^84 times less likely weigh less than 2^-60 of the best one, all together
FARTHEST = 1 << 15  # the most rows on either side of a rank that are scored one by one
COARSE = 1 << 16  # the number of equal cells that are scored where more rows would matter


@dataclass(frozen=True)
class PointsAtRanks(Inside):
    """A point of the grid for each rank, chosen by its distance from that rank, in rows.

    Attributes
    ----------
    grid : the public points.
    ranks : the wanted ranks, as shares of the rows.
    column : the column that rows are ranked by.
    fine : False to score equal cells, which takes one reading of the rows, whatever ε is.
    about : a released or public number; if given, rows are ranked by their distance from it.

    With L rows below a point, U rows at or below it, n rows in all and rank a/b, the score of the point is
    -max(0, bL - an, an - bU), cut off where it is too low to matter. (For a tiny ε so many rows matter that equal cells
    are scored instead.)
    """

    name: str
    grid: DecimalGrid
    ranks: tuple[Fraction, ...]
    about: float | None = None
    column: int = 0
    fine: bool = True
    proof: ClassVar[str] = "points"
    pays: ClassVar[tuple[type[Event], ...]] = (Choice, Composed)

    def check(self, event: Event) -> None:
        """Raise, before anything is charged, if there is no proof or the event is not one choice for each rank."""
        super().check(event)
        if [type(one) for one in _list_events(event)] != [Choice] * len(self.ranks):
            raise ValueError("Points at ranks are paid for by one choice each.")

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The chosen points, in the order of the ranks."""
        steps = [rank_score(rank).step(budget.neighbours) for rank in self.ranks]
        epsilons = [one.epsilon for one in _list_events(event) if isinstance(one, Choice)]
        asked = list(zip(self.ranks, epsilons, steps, strict=True))
        far = max(count_rows_that_matter(*one) for one in asked)
        if not self.fine or far * len(self.ranks) > FARTHEST:
            starts, counts = count_cells(rows, self.grid, COARSE, self.about, self.column)
            ends = np.append(starts, self.grid.last + 1)  # an empty last piece marks the end of the grid
            pieces = [np.vstack([ends, np.append(rank_score(rank).function(counts), 0)]) for rank in self.ranks]
        else:
            near = rank_rows(rows, self.grid, self.ranks, far, self.about, self.column)
            pieces = [score_pieces(near.near(rank, far), self.grid, rank, far) for rank in self.ranks]
        drawn = [
            exponential_on_grid(piece, self.grid, epsilon, step, rng)
            for piece, (_, epsilon, step) in zip(pieces, asked, strict=True)
        ]
        return self.grid.values(drawn), None


def _list_events(event: Event) -> tuple[Event, ...]:
    return event.events if isinstance(event, Composed) else (event,)


def count_rows_that_matter(rank: Fraction, epsilon: float, step: Fraction) -> int:
    """The distance from a rank, in rows, at which a point is e^-84 times as likely as one at the rank."""
    return math.ceil(NEGLIGIBLE * 2 * float(step) / (epsilon * rank.denominator))


def score_pieces(near: Ranked, grid: DecimalGrid, rank: Fraction, far: int) -> Pieces:
    """The score of every point of the grid, piece by piece: points that rows take, and gaps between them.

    Scores are cut off `far` rows away, so that rows further off need not be known.
    """
    a, b = rank.numerator, rank.denominator
    many, target = 4 * far + 12, a * near.n
    below, upto = near.below.astype(object) * b, (near.below + near.counts).astype(object) * b
    points = np.minimum(0, np.minimum(target - below, upto - target))
    gaps = -abs(upto - target)  # the score of the gap above each point
    first = -abs(target - below[:1]) if len(below) else -abs(np.array([target - b * near.n], dtype=object))
    starts = np.concatenate([[grid.first], np.column_stack([near.codes, near.codes + 1]).ravel()])
    scores = np.concatenate([first, np.column_stack([points, gaps]).ravel()])
    pieces = np.full((2, many), 0, dtype=object)  # a fixed number of pieces, whatever the rows: the last ones are empty
    pieces[0] = grid.last + 1
    pieces[0, : len(starts)] = starts
    pieces[1, : len(scores)] = np.maximum(scores, -b * far)
    return pieces
