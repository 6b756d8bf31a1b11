"""Losses of a linear score, and their slopes: what a row says of its own score, by elementwise arithmetic alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp2, expit

from discreet.query import halved

Floats = NDArray[np.float64]
Slope = Callable[[Floats, Floats], Floats]

LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Loss:
    """A loss by its slope: d loss / d score, of scores (one line per column of coefficients) and targets.

    Targets are places in the list of classes, or numbers within [-1, 1]. Every slope is a function of one row's scores
    and target alone, bit for bit: SciPy's `expit` and `exp2` go element by element, sums in a fixed order.
    """

    name: str
    slope: Slope
    columns: int = 1


def loss_of(name: str, classes: int = 2, width: float = 0.1) -> Loss:
    """The loss of that name, for so many classes; of "huber", `width` is where it turns from a square to a line.

    >>> loss_of("log").slope(np.zeros((1, 2)), np.array([0.0, 1.0]))
    array([[ 0.5, -0.5]])
    >>> loss_of("hinge", 3).slope(np.zeros((3, 1)), np.array([2.0])).ravel()
    array([ 1.,  1., -1.])
    """
    columns = classes if classes > 2 else 1
    if name == "log":
        return Loss(name, _softmax if columns > 1 else _logistic, columns)
    if name == "hinge":
        return Loss(name, _hinges if columns > 1 else _hinge, columns)
    if name == "huber":
        return Loss(name, lambda score, y: np.clip(score - y, -width, width))
    assert name == "squared"
    return Loss(name, lambda score, y: score - y)


def _logistic(score: Floats, y: Floats) -> Floats:
    return np.asarray(expit(score) - y)


def _softmax(score: Floats, y: Floats) -> Floats:
    e = exp2((score - score.max(axis=0)) * LOG2E)
    return np.asarray(e / halved(e.copy()) - _one_hot(y, len(score)))


def _hinge(score: Floats, y: Floats) -> Floats:
    sign = 2.0 * y - 1.0
    return np.where(sign * score < 1.0, -sign, 0.0)


def _hinges(score: Floats, y: Floats) -> Floats:
    """One hinge per class: this one against the rest."""
    sign = 2.0 * _one_hot(y, len(score)) - 1.0
    return np.where(sign * score < 1.0, -sign, 0.0)


def _one_hot(y: Floats, size: int) -> Floats:
    return np.asarray(y == np.arange(size)[:, None], np.float64)
