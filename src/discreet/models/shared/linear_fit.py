"""Fit: a linear model solved, in scaled units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds

if TYPE_CHECKING:
    from discreet.models.linear.known_moments import KnownMoments

Floats = NDArray[np.float64]

ADAPTS = "later questions depended on earlier answers"


@dataclass(frozen=True)
class Fit:
    """A linear model solved: of (1, x), features scaled into [-1, 1] by their bounds, and targets too.

    Attributes
    ----------
    theta : the coefficients, the intercept first if there is one; of a classification one row of them for two classes,
        else one per class.
    covariance : how far `centre` may be from the coefficients of the population: sampling and privacy noise together;
        None where a method does not know.
    residual : the standard deviation of the target about the regression, scaled.
    part : the moments it was solved from, where they can be solved again.
    centre : what intervals are around: theta, unless a penalty has moved that.
    bounds : by which features are scaled, where those are not the bounds that were dealt.
    narrow : where features are clipped, if not at these.
    """

    theta: Floats
    covariance: Floats | None = None
    residual: float | None = None
    part: KnownMoments | None = None
    centre: Floats | None = None
    bounds: Bounds | None = None
    narrow: Bounds | None = None
