"""Rows in deviations from their means, by noisy sums: of each feature, or of all of them together."""

from __future__ import annotations

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.images import Line, Scaled
from discreet.models.fit import Floats
from discreet.models.logistic.moments import OFF, Expected, shrunk_moments
from discreet.models.logistic.together import average
from discreet.models.scaling import Standard, standardised
from discreet.powers import Powers
from discreet.query import Batch, BoundedSum
from discreet.task import Task

CLIP_AT = 4.0  # deviations from its mean at which a feature is clipped, unless said otherwise
REACH = 0.3  # of the average of scaled features about where it is expected: further away it is clipped
NAME = "means and squares"


def one_by_one(task: Task, bounds: Bounds, n: float, clip: float | None, *shares: Share) -> Standard:
    """Each feature by its own mean and deviation, as far as noise lets one see them."""
    sums, noise = _measured(task, Powers(Scaled.by(bounds, False), name=NAME), *shares)
    means, squares = np.split(sums / n, [len(bounds.lower)])
    expected = Expected.by(bounds, task.intercept)
    centre, spread = shrunk_moments(means, squares, noise / n, expected, task.intercept)
    return standardised(bounds, task.intercept, clip, centre, spread)


def all_together(task: Task, bounds: Bounds, n: float, clip: float | None, *shares: Share) -> Standard:
    """Features as expected, but for how far all numbers are from there on average.

    That is one number, near to where it is expected: it has much less noise than the average of noisy means, of which
    each may be anywhere in its bounds. It is asked for in the shape of the sums that it takes the place of.
    """
    expected, part = Expected.by(bounds, True), average(bounds)[1:] ** 2
    scaled = Scaled.by(bounds, False)
    away = Line(Scaled(bounds, False, scaled.scale, scaled.shift - expected.centre), tuple(part))

    def image(rows: Batch) -> Floats:
        wide = np.zeros((len(rows), 2 * len(part)))
        wide[:, 0] = np.clip(away(rows) / REACH, -1.0, 1.0)
        return wide

    sums, noise = _measured(task, BoundedSum(image, name=NAME), *shares)
    seen, doubt = REACH * float(sums[0]) / n, REACH * noise / n
    centre = expected.centre + (part > 0) * seen * OFF**2 / (OFF**2 + doubt**2)
    return standardised(bounds, True, clip, np.clip(centre, -1.0, 1.0), expected.spread)


def _measured(task: Task, query: BoundedSum, *shares: Share) -> tuple[Floats, float]:
    """Noisy sums and the deviation of their noise; measured several times, they are averaged by their precision."""
    found = [task.curator.measure(query, share) for share in shares]
    weights = np.array([float(np.max(sums.std)) ** -2 for sums in found])
    return np.average([sums.value for sums in found], axis=0, weights=weights), float(weights.sum()) ** -0.5
