"""Descent along noisy gradients, with steps as long as the loss is flat where the walk has come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Share
from discreet.curator import Curator
from discreet.models.logistic.directions import Directions, gradient, many, two

Floats = NDArray[np.float64]

BENT = 0.2  # about the curvature of the loss along a standardised feature
STEEP = 0.25  # its curvature where both classes are even
LONGEST = 20.0  # how much longer than there a step may be
DAMP = 10.0  # of the noise of a step: how much of it in θ is as bad as no longer step
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class Path:
    """Where a walk has been, the start first, and the deviation of the noise that each step gave a coordinate."""

    places: tuple[Floats, ...]
    noises: tuple[float, ...] = ()


@dataclass(frozen=True)
class Walk:
    """Descent along noisy gradients.

    Attributes
    ----------
    curator, directions, clip : who answers, the rows, and the length their gradients are clipped to.
    n, step : the number of rows, and how far to follow the average gradient.
    level : of white rows the vector whose product with θ is the intercept: steps then grow as the loss gets flatter.
        None for steps that stay as they are.
    rarest : how flat the loss is along the rarest class, next to even ones.
    length : of a typical row; None for that of standardised ones.
    """

    curator: Curator
    directions: Directions
    clip: float
    n: float
    step: float
    level: Floats | None = None
    rarest: float = 1.0
    length: float | None = None

    def run(self, theta: Floats, shares: Sequence[Share]) -> tuple[Floats, Path]:
        """The average of the second half of the steps, and the path."""
        self.curator.keep()
        path = self.along(Path((theta,)), shares)
        return np.asarray(np.mean(path.places[1 + len(shares) // 2 :], axis=0)), path

    def along(self, path: Path, shares: Sequence[Share]) -> Path:
        """The path and one more step per share."""
        for share in shares:
            path = self._on(path, share, f"round {len(path.noises) + 1}")
        return path

    def _on(self, path: Path, share: Share, name: str) -> Path:
        theta = path.places[-1]
        query = gradient(self.directions, theta, self.clip, two if len(theta) == 1 else many, name)
        found = self.curator.measure(query, share)
        move = found.value.reshape(self.directions.width, -1).T / self.n
        noise = float(found.std) / self.n
        if len(theta) > 1:  # gradients of all classes add up to zero: what does not is noise
            move = move - move.mean(axis=0)
            noise *= math.sqrt(1 - 1 / len(theta))
        across, along = self._longer(theta, noise)
        ahead = theta / max(float(np.sqrt((theta**2).sum())), 1e-300)
        move = across * move + (along - across) * float((move * ahead).sum()) * ahead
        each = math.sqrt(((theta.size - 1) * across**2 + along**2) / theta.size)
        return Path((*path.places, theta + self.step * move), (*path.noises, self.step * each * noise))

    def _longer(self, theta: Floats, noise: float) -> tuple[float, float]:
        if self.level is None or len(theta) > 1:
            return 1.0, 1.0
        return longer(theta[0], float(self.level @ theta[0]), noise)

    def end(self, path: Path) -> tuple[Floats, float]:
        """Where the path leads, and the deviation that noise gives a coordinate of it.

        Its later places are averaged, which averages their noise: half of them, or fewer where the loss hardly pulls
        back (rows whose gradients are clipped have no curvature), so that each step still counts in all later places.
        """
        rounds = len(path.noises)
        bent = BENT * self.rarest * min(self.clip / (self.length or math.sqrt(self.directions.width)), 1.0)
        pull = min(self.step * bent, 1.0)
        late = max(1, round(rounds / 2 * min(1.0, rounds * pull / 2)))
        return np.asarray(np.mean(path.places[-late:], axis=0)), remembered(path.noises, 1 - pull, late)


def longer(theta: Floats, level: float, noise: float) -> tuple[float, float]:
    """How much longer steps across θ and along it may be than where both classes are even.

    White rows are nearly normal: their margins have the mean `level` and the variance ‖θ‖² - level², so that the
    curvature E p(1 - p) z z' is an integral in one dimension, and Newton's step costs nothing. Noise damps it, as a
    prior as wide as θ is would do.

    >>> longer(np.array([0.0, 0.0]), 0.0, 0.0), [round(times, 2) for times in longer(np.array([0.0, 3.0]), 0.0, 0.0)]
    ((1.0, 1.0), [2.18, 8.98])
    >>> longer(np.array([0.0, 3.0]), 0.0, 1.0)
    (1.0, 1.0)
    """
    length = float(theta @ theta)
    margins = level + math.sqrt(max(length - level**2, 0.0)) * NODES
    bend = WEIGHTS / WEIGHTS.sum() / (2 + 2 * np.cosh(np.minimum(np.abs(margins), 50.0)))
    across = float(bend.sum())
    along = min(across, float((bend * margins**2).sum()) / length) if length > 1e-6 else across
    doubt = DAMP * noise**2 * len(theta) / max(length, 1e-6)
    first, second = (min(max(1.0, STEEP / (bent + doubt / bent)), LONGEST) for bent in (across, along))
    return first, second


def remembered(noises: Sequence[float], factor: float, late: int) -> float:
    """The deviation of the average of the `late` last places of a walk whose steps have such noise, forgotten so fast.

    >>> remembered([1.0], 0.5, 1), round(remembered([1.0] * 4, 0.0, 2), 3)
    (1.0, 0.707)
    """
    rounds = len(noises)
    power = factor ** np.arange(rounds)
    weights = [power[max(rounds - late - j, 0) : rounds - j].sum() for j in range(rounds)]
    return float(np.sqrt(np.square(np.array(weights) * noises).sum()) / late)
