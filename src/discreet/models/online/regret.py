"""The regret of a stream, from the rows themselves: for those who hold them. NOT PRIVATE."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.memory import Memory
from discreet.models.online.row_gradients import MARGIN, Loss, Shrunk, Slopes
from discreet.query import Batch

Floats = NDArray[np.float64]

STEPS = 2000


def exact_regret(rows: Memory, image: Shrunk, loss: Loss, points: Floats, rounds: NDArray[Any], radius: float) -> float:
    """Σ loss(point of the row's round) - Σ loss(best point of the ball), over all rows. NOT PRIVATE.

    The best point is found by projected subgradient descent; what it misses makes the regret look smaller.
    """
    X, y = rows.read_features(), rows.read_targets()
    if rounds.shape != y.shape or not (np.isin(rounds, np.arange(len(points) - 1))).all():
        raise ValueError("`rounds` must hold, for each row, the number of a round that was played.")
    z = image(Batch(X))
    there = np.isfinite(z).all(axis=1) & np.isfinite(y)
    z, y, rounds = z[there], y[there], rounds[there]
    played = sum(_total(z[rounds == t], y[rounds == t], points[t], loss) for t in np.unique(rounds))
    return float(played - _best(z, y, points[0] * 0, loss, radius))


def _total(z: Floats, y: Floats, w: Floats, loss: Loss) -> float:
    return float(sum(MARGIN[loss].value(_sides(y, k, len(w)) * (z @ w[k])).sum() for k in range(len(w))))


def _sides(y: Floats, k: int, scores: int) -> Floats:
    return np.where(y == (k if scores > 1 else 1), 1.0, -1.0)


def _best(z: Floats, y: Floats, w: Floats, loss: Loss, radius: float) -> float:
    least, batch = _total(z, y, w, loss), Batch(z, y)
    for step in range(1, STEPS + 1):
        gradient = Slopes(lambda rows: rows.X, w, loss)(batch).T @ z
        w = w - radius / np.sqrt(step) * gradient / max(float(np.linalg.norm(gradient)), 1e-300)
        w = w * min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
        least = min(least, _total(z, y, w, loss))
    return least
