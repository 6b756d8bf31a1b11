"""Rows in deviations from their means, by noisy sums."""

from __future__ import annotations

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.curator.task import Task
from discreet.models.logistic.feature_moments import ExpectedMoments, shrink_moments
from discreet.models.shared.scaling import StandardisedRows, find_indicators, standardise_features
from discreet.query.images import Scaled
from discreet.query.moment_sums import MomentSums

CLIP_AT = 4.0  # deviations from its mean at which a feature is clipped, unless said otherwise
NAME = "means and squares"


def scale_features(
    task: Task, bounds: Bounds, n: float, clip: float | None, share: Share, rare: float = 0.0
) -> StandardisedRows:
    """Each feature by its own mean and deviation, as far as noise lets one see them.

    `rare` is added to the deviation of an indicator, at right angles: a rare one is then no longer than others.
    """
    found = task.curator.measure(MomentSums(Scaled.from_bounds(bounds, False), name=NAME), share)
    means, squares = np.split(np.asarray(found.value) / n, [len(bounds.lower)])
    expected = ExpectedMoments.from_bounds(bounds, task.intercept)
    centre, spread = shrink_moments(means, squares, float(np.max(found.std)) / n, expected, task.intercept)
    spread = np.where(find_indicators(bounds, task.intercept), np.hypot(spread, rare), spread)
    return standardise_features(bounds, task.intercept, clip, centre, spread)
