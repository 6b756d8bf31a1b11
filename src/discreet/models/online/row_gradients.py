"""The gradient of one row's loss, as the image of a bounded sum.

A row z = (1, features in [-1, 1]) is shrunk onto a ball of public radius; its loss is a convex function of the margin
m = ±θ·z with slope in [-1, 0], so that its gradient has at most that radius for norm. For more than two classes there
is one such loss for each (one against the rest), of the same row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.models.shared.losses import Hinge, Logistic
from discreet.query import Batch, Image, halved

Floats = NDArray[np.float64]
Loss = Literal["log", "hinge"]

MARGIN: dict[str, Logistic | Hinge] = {"log": Logistic(), "hinge": Hinge()}
HALVINGS = 40  # of the interval a slope is looked for in: the same for every row


@dataclass(frozen=True, eq=False)
class Shrunk:
    """The rows of another image, the long ones shrunk onto a ball: directions, and so linear decisions, stay."""

    image: Image
    radius: float

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row, of length at most `radius`."""
        z = batch.make_once(self.image, lambda: self.image(batch))
        with np.errstate(all="ignore"):
            shorter = np.minimum(1.0, self.radius / np.sqrt(halved((z * z).T.copy())))
            return np.asarray(z * shorter[:, None])


@dataclass(frozen=True, eq=False)
class Slopes:
    """The derivative of each class's loss by its score θ·z, in [-1, 1].

    Parameters
    ----------
    rows : gives z.
    theta : one row of coefficients per score.
    loss : "log", ln(1 + e^-m), or "hinge", max(0, 1 - m), of the margin m.
    implicit : (η, α) for the slope at the *implicit* step's end, argmin ½‖w - θ‖² + η(loss(w) + α/2‖w‖²) of this row
        alone; None for the slope at θ.
    """

    rows: Image
    theta: Floats
    loss: Loss
    implicit: tuple[float, float] | None = None

    def __call__(self, batch: Batch) -> Floats:
        """One slope per row and score. All of it is elementwise, or added up in a fixed order."""
        z = batch.make_once(self.rows, lambda: self.rows(batch)).T
        slopes = np.empty((len(batch), len(self.theta)))
        for k, theta in enumerate(self.theta):
            side = np.where(_is(batch, k if len(self.theta) > 1 else 1), 1.0, -1.0)
            margin = side * halved(z * theta[:, None])
            slopes[:, k] = -side * self._steepness(margin, z)
        return slopes

    def _steepness(self, margin: Floats, z: Floats) -> Floats:
        if self.implicit is None:
            return -MARGIN[self.loss].slope(margin)
        eta, alpha = self.implicit
        reach, shrink = eta * halved(z * z), 1 + eta * alpha
        # the step's end has margin (m + reach·q)/shrink, and q is the steepness there
        if self.loss == "hinge":
            with np.errstate(all="ignore"):
                return np.asarray(np.clip((shrink - margin) / reach, 0.0, 1.0))
        low, high = np.zeros_like(margin), np.ones_like(margin)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = middle < expit(-(margin + reach * middle) / shrink)
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2


@dataclass(frozen=True, eq=False)
class Mistakes:
    """(1, whether the row's class is not the one with the largest score at θ)."""

    rows: Image
    theta: Floats

    def __call__(self, batch: Batch) -> Floats:
        """Two numbers per row."""
        z = batch.make_once(self.rows, lambda: self.rows(batch)).T
        scores = np.array([halved(z * theta[:, None]) for theta in self.theta])
        said = scores.argmax(axis=0) if len(scores) > 1 else (scores[0] > 0).astype(int)
        wrong = np.ones(len(batch))
        for place in range(max(2, len(scores))):
            wrong[_is(batch, place) & (said == place)] = 0.0
        there = np.where(np.isnan(z[0]), np.nan, 1.0)
        return np.column_stack([there, wrong])


def _is(batch: Batch, place: int) -> NDArray[np.bool_]:
    if batch.y is None or batch.y.dtype.kind != "f":  # not coded: nobody's class
        return np.zeros(len(batch), dtype=bool)
    return np.asarray(batch.y == place)
