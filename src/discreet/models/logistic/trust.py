"""How much to trust slopes that noise may have made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.models.fit import Floats
from discreet.models.logistic.counts import Counts, shares_of
from discreet.models.logistic.walk import Path, Walk

AHEAD = 0.4  # of what it may be worth: so far ahead of the next the likeliest class outweighs what may be noise
SURE = 1.0  # deviations of the length of noise by which slopes must be longer, to be none


@dataclass(frozen=True)
class Moved:
    """How far a walk has led from class shares alone, and the covariance of the noise in it; the intercept first."""

    way: Floats
    covariance: Floats

    @classmethod
    def by(cls, walk: Walk, path: Path, white: Floats, start: Floats) -> Moved:
        """By a walk along a path of rows that were whitened by a matrix."""
        theta, noise = walk.end(path)
        return cls(np.asarray(theta @ white.T - start), noise**2 * white @ white.T)

    @property
    def signal(self) -> float:
        """The part of the slopes that is surely no noise, as far as their length tells (James & Stein 1961).

        >>> Moved(np.array([[0.0, 4.0, 0.0]]), np.eye(3)).signal
        0.75
        """
        slopes, of_slopes = self.way[:, 1:], self.covariance[1:, 1:]
        noise = float(np.trace(of_slopes)) * len(slopes)  # of the squared length, and SURE deviations of it
        noise += SURE * math.sqrt(2 * float((of_slopes**2).sum()) * len(slopes))
        return max(0.0, 1 - noise / max(float((slopes**2).sum()), 1e-300))

    def trust(self, likeliest: float) -> float:
        """How much is kept of the way: the part that is surely no noise, and some of the rest.

        The less of it the more the likeliest class alone is worth (from 0 to 1). Where classes are even there is
        nothing to lose by it; where one is far ahead it would be voted down by noise.

        >>> moved = Moved(np.array([[0.0, 4.0, 0.0]]), np.eye(3))
        >>> [moved.trust(likeliest) for likeliest in (0.0, 0.25, 0.5)]
        [1.0, 0.84375, 0.75]
        """
        return self.signal + (1 - self.signal) * max(0.0, 1 - likeliest / AHEAD)


def worth(counts: Counts) -> float:
    """What to name the likeliest class alone is worth, from 0 to 1: how far it is ahead of the next one.

    >>> round(worth(Counts(np.array([9_000.0, 1_000.0]), 1.0)), 3), worth(Counts(np.array([5.0]), 1.0))
    (0.8, 1.0)
    """
    first, second = (*np.sort(shares_of(counts))[::-1], 0.0)[:2]
    return float((first - second) / (first + second))
