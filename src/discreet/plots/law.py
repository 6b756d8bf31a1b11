"""The privacy-loss distribution of composed events, on a grid that is fine enough to be drawn.

`accounting.loss_distribution` adds up losses term by term, on a grid that becomes coarse for many repeats. For a
picture the sum is computed by Fourier transform, whose rounding errors of about 1e-12 are invisible.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.accounting.leaves import gather
from discreet.accounting.loss import LossDistribution, loss_distribution
from discreet.events import Event

WIDE = 12.0  # the grid reaches this many standard deviations of the sum to either side
LARGEST = 2**22  # the most points of the grid
NOTHING = 1e-15  # smaller probabilities are rounding errors


def compute_loss_law(event: Event, step: float) -> LossDistribution:
    """The distribution of the total privacy loss of an event, on a grid of about this step.

    >>> from discreet.events import Gaussian, Repeated
    >>> found = compute_loss_law(Repeated(Gaussian(20.0), 100), 1e-3)
    >>> round(found.mean, 3), round(found.beyond(0.125), 2)
    (0.125, 0.5)
    """
    leaves = gather(event)
    times = sum(often for _, often in leaves)
    if times <= 1:
        return loss_distribution(event, step)
    fine = step / math.sqrt(times)
    while True:
        parts = [(loss_distribution(leaf, fine), often) for leaf, often in leaves]
        coarsest = max(_read_step(part, fine) for part, _ in parts)
        spread = math.sqrt(math.fsum(often * _compute_variance(part) for part, often in parts))
        wide = max(2 * WIDE * spread, *(float(np.ptp(part.losses)) for part, _ in parts))
        needed = max(coarsest, wide / LARGEST)
        if needed <= fine * (1 + 1e-9):
            return _add_losses(parts, fine, wide)
        fine = needed


def _read_step(part: LossDistribution, asked: float) -> float:
    return float(part.losses[1] - part.losses[0]) if len(part.losses) > 1 else asked


def _compute_variance(part: LossDistribution) -> float:
    return float(np.square(part.losses - part.mean) @ part.probabilities)


def _add_losses(parts: list[tuple[LossDistribution, int]], step: float, wide: float) -> LossDistribution:
    """The distribution of the sum: a product of Fourier transforms, on a circle around the mean of the sum."""
    size = 1 << math.ceil(math.log2(wide / step + 4))
    spectrum, mean, bounded = np.ones(size // 2 + 1, np.complex128), 0.0, 1.0
    for part, often in parts:
        circle = np.zeros(size)
        np.add.at(circle, np.rint(part.losses / step).astype(np.int64) % size, part.probabilities)
        spectrum *= np.fft.rfft(circle) ** often
        mean, bounded = mean + often * part.mean, bounded * (1 - part.unbounded) ** often
    first = round(mean / step) - size // 2
    places = first + np.arange(size)
    masses = np.fft.irfft(spectrum, size)[places % size]
    masses[masses < NOTHING] = 0.0
    return LossDistribution(np.asarray(places * step, np.float64), masses, 1 - bounded)
