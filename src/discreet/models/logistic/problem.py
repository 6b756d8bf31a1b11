"""What every method of logistic regression is given, and what it gives back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget, Share
from discreet.curator import Curator
from discreet.events import Gaussian, Pure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A classification to solve: the right to measure, and what is public.

    Attributes
    ----------
    curator : answers `measure` and the like.
    budget : what may be spent.
    deal : `bounds, shares = deal(*parts)`: the bounds of the data, and one share of the budget per part. Called once;
        from then on targets are places in the list of classes.
    classes : how many classes there are; to be asked after `deal`.
    n : the number of rows where it is public, else None.
    intercept : whether the model has one.
    clip : how many standard deviations from its mean a feature may be; None for as far as the bounds.
    rounds : of descent; None for a rule.
    """

    curator: Curator
    budget: Budget
    deal: Callable[..., tuple[Bounds, tuple[Share, ...]]]
    classes: Callable[[], int]
    n: int | None
    intercept: bool
    clip: float | None = 4.0
    rounds: int | None = None

    @property
    def width(self) -> int:
        """The number of coefficients of a class, the intercept among them."""
        return self.curator.width + self.intercept

    def noise(self, size: int, share: Share | None = None) -> float:
        """The deviation that a share, or the whole budget, gives each of `size` coordinates of a vector of norm 1."""
        event = self.curator.buys(share or self.budget.whole("radial"))
        exchange = math.sqrt(2) if self.budget.neighbours == "replace-one" else 1.0
        if isinstance(event, Gaussian):
            return event.noise_multiplier * exchange
        assert isinstance(event, Pure)
        return math.sqrt(size + 1) / event.epsilon * exchange


@dataclass(frozen=True)
class Fit:
    """A classification solved: log odds are theta · (1, x) with features scaled into [-1, 1] by `bounds`.

    Attributes
    ----------
    theta : one row for two classes, else one per class; the intercept first if there is one.
    bounds : by which features are scaled.
    narrow : where they are clipped.
    notes : for the receipt.
    """

    theta: Floats
    bounds: Bounds
    narrow: Bounds
    notes: tuple[str, ...] = ()


def around_zero(bounds: Bounds) -> Bounds:
    """Bounds with zero in their middle: without an intercept nothing can make up for a shift."""
    far = np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))
    return Bounds(-far, far, bounds.target, bounds.classes)
