"""A stream: rounds of different rows under one plan, charged once before the first."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Share
from discreet.curator import Curator
from discreet.curator.total_noise import deviation_of
from discreet.engines import Rows
from discreet.engines.opening import as_rows
from discreet.errors import BudgetExceeded
from discreet.models.online.learners import Learner
from discreet.models.online.row_gradients import Loss, Mistakes, Shrunk, Slopes
from discreet.models.online.running_sums import Past, RunningSum, Strategy
from discreet.query import BoundedSum
from discreet.release import Release

Floats = NDArray[np.float64]

NAME = "gradients"
LONGEST = 2.0**55  # steps of a grid: no longer noise is drawn
NOTE = "each round asked for gradients at a point that depended on earlier answers"


class Stream:
    """One run of a learner: the point it is at, and the right to the rounds that are left.

    Parameters
    ----------
    curator : the one the plan was, or will be, charged by.
    share : what buys the gradients. Every row is in one round, so every round may use it (`proofs/online.md`).
    learner : the rule for the next point.
    rows : the image of a row.
    loss : of a margin.
    shape : how many linear scores there are (one per class, or a single one for two), and of how many coefficients.
    watch : what buys the number of rows, and of mistakes made before they were learnt from; None for no such count.
    """

    def __init__(
        self,
        curator: Curator,
        share: Share,
        learner: Learner,
        rows: Shrunk,
        loss: Loss,
        shape: tuple[int, int],
        watch: Share | None = None,
    ) -> None:
        self._share, self._rows, self._loss, self._watch = share, rows, loss, watch
        self.learner = learner
        self.points: list[Floats] = [np.zeros(shape)]
        self._answers: list[Floats] = []
        self._seen: list[Release] = []
        self._past = Past()
        self._lock = threading.Lock()
        self._before = tuple(curator.releases)
        # of the curator only the account goes on: its rows are not kept
        self.curator = curator.without_rows()

    @property
    def round(self) -> int:
        """How many rounds were begun."""
        return len(self.points) - 1

    def refuse_more(self) -> None:
        """Raise if no round is left."""
        horizon = self.learner.game.horizon
        if self.round >= horizon:
            raise BudgetExceeded(
                f"All {horizon} rounds of this stream have been played: its budget is spent. No row was read. Hint: a "
                "larger `horizon` next time; `fit`, or a new estimator, starts another stream and is charged again."
            )

    def play(self, curator: Curator) -> None:
        """One round: gradients of these rows at the present point, then the next point."""
        with self._lock:
            self.refuse_more()
            w = self.points[-1]
            self.points.append(w)  # from here on the round counts, whatever happens in it
            try:
                self._play(curator, w)
            finally:
                if self.round == self.learner.game.horizon:
                    self._past = Past()  # nothing exact outlives the stream

    def _play(self, curator: Curator, w: Floats) -> None:
        # BOUND: a row is shrunk onto a ball, slopes are within [-1, 1]
        slopes = Slopes(self._rows, w, self._loss, self.learner.implicit(self.round))
        radius = self._rows.radius
        query = BoundedSum(self._rows, slopes, norm=radius * np.sqrt(len(w)), left_norm=radius, name=NAME, bits=16)

        # SUMMARISE + PRIVATISE: over the rows of this round, or over all rounds so far
        seen = self._look(curator, w)
        release = self._measure(curator, query)
        self._seen += seen  # a round of which this failed shows nothing at all

        # SOLVE: the next point
        shape = (-1, *release.value.shape[-2:])
        self._answers.append(release.value.reshape(shape).swapaxes(1, 2))
        self.points[-1] = self.learner.step(w, self._answers)
        self._publish(release)

    def _measure(self, curator: Curator, query: BoundedSum) -> Release:
        if self.learner.strategy is not None:
            return curator.run(self._running(curator, query, self.learner.strategy), self._share)
        return curator.measure(query, self._share)

    def _running(self, curator: Curator, query: BoundedSum, strategy: Strategy) -> RunningSum:
        """The sum over all rounds, on a coarser grid where ε is so small that noise would be too long for it."""
        inside = RunningSum(NAME, *curator.expect(query), strategy, self._past)
        event = curator.buys(self._share)
        noise = deviation_of(event, 1, float(inside.sensitivity(self._share.budget.neighbours)))
        if noise < LONGEST or query.bits == 1:
            return inside
        return self._running(curator, replace(query, bits=query.bits - 1), strategy)

    def _look(self, curator: Curator, w: Floats) -> list[Release]:
        if self._watch is None:
            return []
        query = BoundedSum(Mistakes(self._rows, w), norm=np.sqrt(2), name="rows and mistakes")
        return [curator.measure(query, self._watch)]

    @property
    def mistakes(self) -> tuple[float, float]:
        """The fraction of rows got wrong before they were learnt from, and the noise in it; NaN if not counted."""
        if not self._seen:
            return np.nan, np.nan
        rows, wrong = np.sum([release.value for release in self._seen], axis=0)
        noise = float(self._seen[0].std) * np.sqrt(len(self._seen))
        return float(np.clip(wrong / max(rows, 1.0), 0, 1)), float(min(1.0, noise / max(rows, 1.0)))

    def _publish(self, release: Release) -> None:
        """All rounds so far, as one release."""
        whole = [replace(release, value=np.concatenate(self._answers))]
        if self._seen:
            whole.append(replace(self._seen[0], value=np.array([seen.value for seen in self._seen])))
        self.curator.releases[:] = [*self._before, *whole]

    def __deepcopy__(self, memo: object) -> Stream:
        return self  # copies of a model share its stream, as they share its ledger

    def __reduce__(self) -> NoReturn:
        raise TypeError("A stream is not pickled: it holds exact sums, and the right to its rounds.")

    def __repr__(self) -> str:
        return f"<Stream: round {self.round} of {self.learner.game.horizon}>"


def coded(X: Any, y: Any, classes: Any) -> Rows:
    """Rows of a later round, their targets as places in the classes."""
    rows: Rows = as_rows(X, y, labels=True).encode_targets(classes)
    return rows
