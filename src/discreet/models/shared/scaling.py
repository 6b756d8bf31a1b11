"""Rows brought to a common scale by means and deviations that were paid for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.query.images import Scaled

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StandardisedRows:
    """Standardised rows (1, z), the scaled ones they come from, and what leads from one to the other.

    Attributes
    ----------
    rows, scaled : images of rows: features in deviations from their means, and in [-1, 1] by the bounds. Both clip
        features where `low` and `high` say, in scaled units.
    frame : the matrix F with rows = F' scaled.
    narrow : the bounds of the clipped features, in the units of the data.
    """

    rows: Scaled
    scaled: Scaled
    frame: Floats
    low: Floats
    high: Floats
    narrow: Bounds

    @property
    def clips_features(self) -> bool:
        """Whether any feature is clipped before its bounds."""
        return bool(((self.low > -1) | (self.high < 1)).any())


def standardise_features(
    bounds: Bounds, intercept: bool, clip: float | None, mean: Floats, spread: Floats
) -> StandardisedRows:
    """Rows in deviations `spread` from `mean`, both in scaled units, clipped at so many deviations."""
    d = len(mean)
    low, high = find_clip_limits(bounds, intercept, clip, mean, spread)
    lower = bounds.centre + low * bounds.half
    upper = np.maximum(bounds.centre + high * bounds.half, np.nextafter(lower, np.inf))
    narrow = bounds.with_ends(lower, upper)
    scaled = Scaled(narrow, intercept, 1 / bounds.half, -bounds.centre / bounds.half)
    rows = Scaled(narrow, intercept, 1 / (bounds.half * spread), -(bounds.centre / bounds.half + mean) / spread)
    frame = np.zeros((d + intercept, d + intercept))
    frame[intercept:, intercept:] = np.diag(1 / spread)
    frame[:intercept, :intercept], frame[:intercept, intercept:] = 1.0, -mean / spread
    return StandardisedRows(rows, scaled, frame, low, high, narrow)


def find_clip_limits(
    bounds: Bounds, intercept: bool, clip: float | None, mean: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Where features are clipped, scaled: so many deviations from the mean, and nowhere for indicators.

    A rare indicator is far from its mean in deviations.
    """
    whole = find_indicators(bounds, intercept) if clip is not None else np.ones(len(mean), dtype=bool)
    reach = np.where(whole, np.inf, (clip or 0.0) * spread)
    low = np.where(whole, -1.0, np.clip(mean - reach, -1.0, 1.0 - 2e-6))
    return low, np.where(whole, 1.0, np.clip(mean + reach, low + 1e-6, 1.0))


def find_indicators(bounds: Bounds, intercept: bool) -> NDArray[np.bool_]:
    """Which features are indicators, as far as public facts tell: those within 0 and 1."""
    least = 0.0 if intercept else -1.0  # without an intercept bounds are around zero
    return np.asarray((bounds.lower == least) & (bounds.upper == 1))


def centre_at_zero(bounds: Bounds) -> Bounds:
    """Bounds with zero in their middle: without an intercept nothing can make up for a shift."""
    far = np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))
    return bounds.with_ends(-far, far)
