"""Schedule and Descent: how far to step, and what becomes of noisy gradients. Post-processing: it never sees rows."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rate = Literal["constant", "sqrt", "inverse"]


@dataclass(frozen=True)
class Schedule:
    """The length of step t = 1, 2, …: eta0, eta0/√t, or 1/(alpha·t) but never above eta0.

    >>> Schedule("sqrt", 8.0).step_length(4), [Schedule("inverse", 8.0, 0.1).step_length(t) for t in (1, 5)]
    (4.0, [8.0, 2.0])
    """

    kind: Rate
    eta0: float
    alpha: float = 0.0

    def step_length(self, t: int) -> float:
        """The length of step t."""
        if self.kind == "sqrt":
            return self.eta0 / math.sqrt(t)
        if self.kind == "inverse":
            return min(self.eta0, 1 / (self.alpha * t))
        return self.eta0


@dataclass
class Descent:
    """Coefficients on their way down: stochastic gradient descent with momentum, shrinkage and averaging.

    Parameters
    ----------
    theta : where it starts, (width, columns).
    schedule : of step lengths; its `alpha` is the strength of the penalty alpha/2·‖θ‖².
    momentum : the step follows a running mean of gradients in which the newest has weight 1 - momentum.
    steps : how many there will be; the average is over the second half of them.
    intercept : whether the first coefficient is one: it is not shrunk.
    """

    theta: Floats
    schedule: Schedule
    momentum: float
    steps: int
    intercept: bool
    t: int = 0
    velocity: Floats = field(init=False)
    total: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.velocity, self.total = np.zeros_like(self.theta), np.zeros_like(self.theta)

    def step(self, gradient: Floats) -> None:
        """One step down this gradient of the mean loss; the penalty is taken at the end of the step, so it is stable.

        >>> down = Descent(np.zeros((1, 1)), Schedule("constant", 2.0), 0.0, 2, False)
        >>> down.step(np.ones((1, 1)))
        >>> down.theta.item()
        -2.0
        """
        self.t += 1
        eta = self.schedule.step_length(self.t)
        self.velocity = self.momentum * self.velocity + (1 - self.momentum) * gradient
        theta = self.theta - eta * self.velocity
        theta[self.intercept :] /= 1 + eta * self.schedule.alpha
        self.theta = theta
        if self.t > self.steps // 2:
            self.total = self.total + theta

    @property
    def average(self) -> Floats:
        """The mean of the second half of the iterates."""
        return self.total / max(1, self.t - self.steps // 2)

    def copy(self) -> Self:
        """A descent that goes on from here by itself."""
        return copy.copy(self)
