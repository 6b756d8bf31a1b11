"""What every method of linear regression is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget, Share
from discreet.curator import Curator
from discreet.images import Scaled
from discreet.models.linear.part import Part
from discreet.query import Batch

Floats = NDArray[np.float64]

ADAPTS = "later questions depended on earlier answers"


@dataclass(frozen=True)
class Problem:
    """A regression to solve: the right to measure, and what is public.

    Attributes
    ----------
    curator : answers `measure` and the like.
    budget : what may be spent.
    deal : `bounds, shares = deal(*parts)`: the bounds of the data, and one share of the budget per part. Called once.
    n : the number of rows where it is public, else None.
    intercept : whether the model has one.
    clip : how many standard deviations from its mean a feature may be, for methods that clip there; None for as far as
        the bounds.
    """

    curator: Curator
    budget: Budget
    deal: Callable[..., tuple[Bounds, tuple[Share, ...]]]
    n: int | None
    intercept: bool
    clip: float | None = None

    @property
    def width(self) -> int:
        """The number of coefficients, the intercept among them."""
        return self.curator.width + self.intercept


@dataclass(frozen=True)
class Fit:
    """A regression solved, in scaled units: the target in [-1, 1] is about theta · (1, x), features in [-1, 1].

    Attributes
    ----------
    theta : the coefficients, the intercept first if there is one.
    covariance : how far `centre` may be from the coefficients of the population: sampling and privacy noise together;
        None where a method does not know.
    centre : what intervals are around: theta, unless a penalty has moved that.
    residual : the standard deviation of the target about the regression, scaled.
    part : the moments it was solved from, where they can be solved again.
    notes : for the receipt.
    """

    theta: Floats
    covariance: Floats | None = None
    residual: float | None = None
    part: Part | None = None
    centre: Floats | None = None
    notes: tuple[str, ...] = ()


def features(bounds: Bounds, intercept: bool) -> Scaled:
    """The rows as vectors (1, x), features scaled into [-1, 1]: of length at most the root of their width."""
    return Scaled.by(bounds, intercept)


def target(bounds: Bounds) -> Callable[[Batch], Floats]:
    """The targets, scaled into [-1, 1]."""

    def y(rows: Batch) -> Floats:
        assert rows.y is not None
        return bounds.scale_target(rows.y)

    return y
