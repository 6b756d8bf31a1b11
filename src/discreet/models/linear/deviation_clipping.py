"""Clipping at c deviations (LR9): bounds narrowed to where most rows are, by private means and deviations."""

from __future__ import annotations

import math

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Part, Share, radial
from discreet.curator.task import Task
from discreet.models.linear.scaled_rows import features, target
from discreet.query import Batch, BoundedSum

FOR_CLIPPING = 0.15  # of the budget
NOTE = f"values were clipped at {{:g}} standard deviations, estimated privately with {FOR_CLIPPING:.0%} of the budget"


def narrow_bounds(task: Task, c: float | None, *parts: float | Part) -> tuple[Bounds, tuple[Share, ...]]:
    """Bounds of c deviations to either side of the mean, features and target alike, and the shares of the rest.

    One vector of sums buys them: of the count, of every column and of its square. For None, the bounds as they are.
    """
    if c is None:
        return task.deal(*parts)
    task.note(NOTE.format(c))
    plain = [part if isinstance(part, Part) else Part(part) for part in parts]
    extra = sum(part.weight for part in plain) * FOR_CLIPPING / (1 - FOR_CLIPPING)
    bounds, (share, *rest) = task.deal(radial(extra), *plain)
    x, y = features(bounds, False), target(bounds)

    def powers(rows: Batch) -> np.ndarray:
        both = np.column_stack([x(rows), y(rows)])
        return np.column_stack([np.ones(len(both)) + 0 * both[:, 0], both, both**2])

    width = task.curator.width + 1
    sums = task.curator.measure(
        BoundedSum(powers, norm=math.sqrt(1 + 2 * width), name="means and squares, to clip by"), share
    )
    noise = float(sums.std)
    rows = max(float(sums.value[0]) if task.n is None else task.n, noise, 1.0)
    mean = np.clip(sums.value[1 : 1 + width] / rows, -1, 1)
    deviation = np.sqrt(np.clip(sums.value[1 + width :] / rows - mean**2, min(2 * noise / rows, 1.0), 1.0))
    low, high = np.maximum(mean - c * deviation, -1), np.minimum(mean + c * deviation, 1)
    low, high = np.minimum(low, 1 - 1e-6), np.maximum(high, -1 + 1e-6)
    middle, half = bounds.target_scale
    ends = (middle + half * float(low[-1]), middle + half * float(max(high[-1], low[-1] + 1e-6)))
    lower = bounds.centre + bounds.half * low[:-1]
    upper = bounds.centre + bounds.half * np.maximum(high, low + 1e-6)[:-1]
    return Bounds(lower, upper, ends), tuple(rest)
