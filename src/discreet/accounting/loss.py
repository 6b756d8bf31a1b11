"""The privacy loss of an output: how much likelier it was on one data set than on its neighbour, as a logarithm.

ε-DP says that the loss of no output exceeds ε; (ε, δ)-DP bounds how often it may. Here it is a quantity to look at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.leaves import whole
from discreet.accounting.pairs import joint
from discreet.events import Event, Gaussian, Laplace, Minimum

Floats = NDArray[np.float64]


@singledispatch
def privacy_loss(event: Event, output: ArrayLike) -> Any:
    """The loss log p(output | one data set) / p(output | its neighbour) of an additive mechanism.

    Outputs are in sensitivities: the exact answers of the two neighbours are 0 and 1, the worst case. Of a `Minimum`
    the output is the random term along the row that one data set has and its neighbour has not, in units of the largest
    gradient and away from it, and the loss is the largest that it can be.

    >>> float(privacy_loss(Laplace(2.0), -3.0)), float(privacy_loss(Gaussian(1.0), 0.5))
    (0.5, 0.0)
    """
    raise TypeError(
        "The loss of a single output is known for Gaussian and Laplace events, and bounded for Minimum. "
        f"Got {type(event).__name__}."
    )


@privacy_loss.register
def _(event: Gaussian, output: ArrayLike) -> Any:
    # (x - 1)²/2σ² - x²/2σ²
    return (1 - 2 * np.asarray(output, np.float64)) / (2 * event.noise_multiplier**2)


@privacy_loss.register
def _(event: Laplace, output: ArrayLike) -> Any:
    # |x - 1| - |x| = 1 - 2x between the two answers, ±1 beyond them
    return (1 - 2 * np.clip(np.asarray(output, np.float64), 0, 1)) / event.scale


@privacy_loss.register
def _(event: Minimum, output: ArrayLike) -> Any:
    # a slope between 0 and that of the Gaussian: the larger of both ends
    size, scale = np.asarray(output, np.float64), 2 * event.noise_multiplier**2
    most = 1 + 2 * np.abs(size) if event.two_sided else np.maximum(0.0, 1 - 2 * size)
    return event.excess + most / scale


@dataclass(frozen=True)
class LossDistribution:
    """Which losses occur how often, for outputs on the data set whose loss is worse.

    `beyond(ε)` is the probability that the loss exceeds ε. It is more than the δ that goes with ε, since δ counts a
    loss of l only by 1 - e^(ε - l).
    """

    losses: Floats
    probabilities: Floats
    unbounded: float

    def beyond(self, epsilon: float) -> float:
        """The probability of a loss above ε."""
        return float(self.probabilities[self.losses > epsilon].sum() + self.unbounded)

    @property
    def mean(self) -> float:
        """The expected loss (the divergence of the two laws), where it is bounded."""
        return float(self.losses @ self.probabilities)


def loss_distribution(events: Event | Iterable[Event], step: float = 1e-3, tail: float = 1e-12) -> LossDistribution:
    """The distribution of the privacy loss of all the events together, on a grid of width `step`.

    For looking at: it errs on the side of larger losses. Guarantees come from `epsilon` and `delta`.

    >>> losses = loss_distribution(Gaussian(2.0))
    >>> round(losses.mean, 3), round(losses.beyond(0.125), 2)
    (0.125, 0.5)
    """
    pair = joint(whole(events), step, tail)[0]
    return LossDistribution(pair.losses, pair.masses, pair.above)
