"""Losses of a margin: how wrong the sign of a score is, and how sure of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]


class Loss(Protocol):
    """A convex loss of the margin m = y·u·θ, y = ±1, whose slope lies within -1 and 0.

    `slope` goes element by element, so that what it says of a row depends on that row alone, bit for bit; its float
    error is at most 2^-53·(4 + 2·curvature·(1 + |m|)).
    """

    @property
    def curvature(self) -> float:
        """The largest second derivative."""

    @property
    def start(self) -> float:
        """The loss at margin 0."""

    def value(self, margin: Floats) -> Floats:
        """The loss."""

    def slope(self, margin: Floats) -> Floats:
        """Its derivative."""


@dataclass(frozen=True)
class Logistic:
    """log(1 + e^-m).

    >>> Logistic().slope(np.array([0.0])), Logistic().curvature
    (array([-0.5]), 0.25)
    """

    @property
    def curvature(self) -> float:
        """The largest second derivative."""
        return 0.25

    @property
    def start(self) -> float:
        """The loss at margin 0."""
        return math.log(2)

    def value(self, margin: Floats) -> Floats:
        """The loss."""
        return np.logaddexp(0.0, -margin)

    def slope(self, margin: Floats) -> Floats:
        """Its derivative."""
        return np.asarray(-expit(-margin))


@dataclass(frozen=True)
class HuberHinge:
    """The hinge 1 - m, with its corner rounded between the margins 1 - h and 1 + h by a parabola.

    Parameters
    ----------
    h : how wide the rounding is; the curvature is 1/(2h).

    Reference: Chapelle, *Training a support vector machine in the primal*, Neural Computation 2007.

    >>> HuberHinge(0.5).slope(np.array([0.0, 1.0, 2.0]))
    array([-1. , -0.5, -0. ])
    """

    h: float = 0.5

    def __post_init__(self) -> None:
        number = isinstance(self.h, (int, float)) and not isinstance(self.h, bool)
        if not (number and 0.01 <= self.h <= 1):
            raise ValueError(f"The `h` of the Huber hinge must be within 0.01 and 1. Got {self.h!r}.")

    @property
    def curvature(self) -> float:
        """The largest second derivative."""
        return 1 / (2 * self.h)

    @property
    def start(self) -> float:
        """The loss at margin 0."""
        return float(self.value(np.zeros(1))[0])

    def value(self, margin: Floats) -> Floats:
        """The loss."""
        inside = np.clip(1 + self.h - margin, 0.0, 2 * self.h)
        return np.asarray(inside**2 / (4 * self.h) + np.maximum(1 - self.h - margin, 0.0))

    def slope(self, margin: Floats) -> Floats:
        """Its derivative."""
        return np.asarray(-np.clip((1 + self.h - margin) / (2 * self.h), 0.0, 1.0))
