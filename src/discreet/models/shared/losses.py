"""Losses, and their slopes: of a margin, for classifiers that tell one class from the rest; of scores, for any model.

Every slope is a function of one row's scores and target alone, bit for bit: SciPy's `expit` and `exp2` go element by
element, sums in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp2, expit

from discreet.query import halved

Floats = NDArray[np.float64]

LOG2E = 1.4426950408889634  # log2 e


# Of a margin ------------------------------------------------------------------------------------------


class MarginLoss(Protocol):
    """A convex loss of the margin m = y·u·θ, y = ±1, whose slope lies within -1 and 0.

    `slope` goes element by element, so that what it says of a row depends on that row alone, bit for bit; its float
    error is at most 2^-53·(4 + 2·curvature·(1 + |m|)).
    """

    @property
    def curvature(self) -> float:
        """The largest second derivative."""

    @property
    def at_zero(self) -> float:
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
    def at_zero(self) -> float:
        """The loss at margin 0."""
        return math.log(2)

    def value(self, margin: Floats) -> Floats:
        """The loss."""
        return np.logaddexp(0.0, -margin)

    def slope(self, margin: Floats) -> Floats:
        """Its derivative."""
        return np.asarray(-expit(-margin))


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - m); it has a corner, and so no curvature.

    >>> Hinge().slope(np.array([0.0, 1.0, 2.0]))
    array([-1., -0., -0.])
    """

    def value(self, margin: Floats) -> Floats:
        """The loss."""
        return np.asarray(np.maximum(0.0, 1 - margin))

    def slope(self, margin: Floats) -> Floats:
        """Its derivative; 0 at the corner."""
        return np.asarray(-(margin < 1).astype(np.float64))


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
    def at_zero(self) -> float:
        """The loss at margin 0."""
        return float(self.value(np.zeros(1))[0])

    def value(self, margin: Floats) -> Floats:
        """The loss."""
        inside = np.clip(1 + self.h - margin, 0.0, 2 * self.h)
        return np.asarray(inside**2 / (4 * self.h) + np.maximum(1 - self.h - margin, 0.0))

    def slope(self, margin: Floats) -> Floats:
        """Its derivative."""
        return np.asarray(-np.clip((1 + self.h - margin) / (2 * self.h), 0.0, 1.0))


# Of scores --------------------------------------------------------------------------------------------

SlopeFunction = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class ScoreLoss:
    """A loss by its slope: d loss / d score, of scores (one line per column of coefficients) and targets.

    Targets are places in the list of classes, or numbers within [-1, 1].
    """

    name: str
    slope: SlopeFunction
    columns: int = 1


def make_loss(name: str, classes: int = 2, width: float = 0.1) -> ScoreLoss:
    """The loss of that name, for so many classes; of "huber", `width` is where it turns from a square to a line.

    >>> make_loss("log").slope(np.zeros((1, 2)), np.array([0.0, 1.0]))
    array([[ 0.5, -0.5]])
    >>> make_loss("hinge", 3).slope(np.zeros((3, 1)), np.array([2.0])).ravel()
    array([ 1.,  1., -1.])
    """
    columns = classes if classes > 2 else 1
    if name == "log":
        return ScoreLoss(name, slope_of_softmax if columns > 1 else slope_of_log, columns)
    if name == "hinge":
        return ScoreLoss(name, _slope_of_hinges if columns > 1 else _slope_of_hinge, columns)
    if name == "huber":
        return ScoreLoss(name, lambda score, y: np.clip(score - y, -width, width))
    assert name == "squared"
    return ScoreLoss(name, lambda score, y: score - y)


def slope_of_log(score: Floats, y: Floats) -> Floats:
    return np.asarray(expit(score) - y)


def slope_of_softmax(score: Floats, y: Floats) -> Floats:
    e = exp2((score - score.max(axis=0)) * LOG2E)
    return np.asarray(e / halved(e.copy()) - _one_hot(y, len(score)))


def _slope_of_hinge(score: Floats, y: Floats) -> Floats:
    sign = 2.0 * y - 1.0
    return np.where(sign * score < 1.0, -sign, 0.0)


def _slope_of_hinges(score: Floats, y: Floats) -> Floats:
    """One hinge per class: this one against the rest."""
    sign = 2.0 * _one_hot(y, len(score)) - 1.0
    return np.where(sign * score < 1.0, -sign, 0.0)


def _one_hot(y: Floats, size: int) -> Floats:
    return np.asarray(y == np.arange(size)[:, None], np.float64)
