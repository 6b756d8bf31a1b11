"""Means and deviations of features from noisy sums, shrunk towards each other by what is known of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.models.shared.scaling import find_indicators

Floats = NDArray[np.float64]

USUAL_CENTRE, CENTRE_STD = (
    -0.37,
    0.25,
)  # where scaled features are on average, and how far from there all together may well be
NUMBER_SPREAD, INDICATOR_SPREAD = 0.58, 0.9  # their deviations
VARIANCE_STD = 0.6  # how far their variances, all together, may well be from such, as a share of them
VARIANCE_LEAST = 0.15  # and at least, as a share of them, where noise leaves it open
UNSURE_DEVIATIONS = 5.0  # deviations of the noise in their average, within which it is left open
VARIANCE_FLOOR = 0.02  # of the common variance: what one variance is never shrunk below
NOISE_FLOOR = 1.5  # variances below so much of their noise are taken for it


@dataclass(frozen=True)
class ExpectedMoments:
    """What public facts tell of features before any is read: where they are in [-1, 1], and their deviations.

    Numbers crowd in the lower part of their range (prices, counts, ages) unless it is symmetric about zero; indicators
    are spread further than numbers. LOW is an average over the data sets of benchmarks/tuning. The deviations are those
    of evenly spread values, larger than the average, since deviations that are taken too small make noise large.
    """

    centre: Floats
    spread: Floats

    @classmethod
    def from_bounds(cls, bounds: Bounds, intercept: bool) -> ExpectedMoments:
        """Of features with such bounds."""
        centre = np.where(bounds.lower == -bounds.upper, 0.0, USUAL_CENTRE)
        return cls(centre, np.where(find_indicators(bounds, intercept), INDICATOR_SPREAD, NUMBER_SPREAD))


def shrink_moments(
    means: Floats, squares: Floats, noise: float, expected: ExpectedMoments, centred: bool = True
) -> tuple[Floats, Floats]:
    """Where to centre features, and their deviations from there; all scaled into [-1, 1].

    Parameters
    ----------
    means, squares : noisy means of the features and of their squares.
    noise : the standard deviation of the noise in each.
    expected : what they are taken for where noise hides them.
    centred : False keeps the middle of the bounds as the centre.

    Empirical Bayes: features are taken for a sample from one population of features, so that with much noise all are as
    expected, with less all together are as far from there as they seem to be, and with little noise each by itself.

    >>> typical = ExpectedMoments(np.zeros(2), np.full(2, 0.3))
    >>> centre, spread = shrink_moments(np.array([0.5, -0.5]), np.array([0.26, 0.29]), 1e-6, typical)
    >>> centre.round(3), spread.round(3)
    (array([ 0.5, -0.5]), array([0.1, 0.2]))
    >>> shrink_moments(np.array([2.0, -1.0]), np.array([3.0, -2.0]), 3.0, typical)[0].round(2)  # hardly anything known
    array([0.01, 0.01])
    """
    together, apart, *_ = _shrink_values(means - expected.centre, np.full(len(means), noise), CENTRE_STD)
    centre = np.clip(expected.centre + together + apart, -1.0, 1.0) if centred else np.zeros(len(means))
    about = squares - 2 * centre * means + centre**2  # mean squared distance from the centre
    usual = expected.spread**2
    doubt = noise * np.sqrt(1 + 4 * centre**2) / usual
    together, apart, own, vague = _shrink_values(about / usual - 1, doubt, VARIANCE_STD)
    common = max(1 + together, min(VARIANCE_LEAST, UNSURE_DEVIATIONS * vague))
    least = np.maximum(NOISE_FLOOR * noise * own / usual, VARIANCE_FLOOR * common * (1 - own))
    return centre, np.sqrt(np.clip(usual * np.maximum(common + apart, least), 1e-6, 1.0))


def _shrink_values(values: Floats, doubt: Floats, scale: float) -> tuple[float, Floats, float, float]:
    """Noisy values, expected at zero: what they have in common, and how far each is from that.

    Besides: how much of the variation between them cannot be noise; and the deviation of the noise in their average.
    """
    weights = np.maximum(doubt, 1e-150) ** -2.0
    average = float(np.average(values, weights=weights))
    seen = float(((values - average) ** 2).mean())
    own = max(0.0, 1 - float((doubt**2).mean()) / max(seen, 1e-300))
    vague = float(weights.sum()) ** -0.5
    return average * scale**2 / (scale**2 + vague**2), own * (values - average), own, vague


def shrink_correlations(look: Floats, noise: float) -> tuple[Floats, float]:
    """Noisy second moments of standardised rows, shrunk towards the identity; and how much was kept of them.

    Parameters
    ----------
    look : the noisy average of x x'.
    noise : the standard deviation of the noise on its diagonal (less by √2 off it).

    Ledoit & Wolf's idea (2004) with noise of known size: the identity is where rows would be if nothing were known.

    >>> matrix, kept = shrink_correlations(np.array([[1.0, 0.8], [0.8, 1.0]]), 0.01)
    >>> matrix.round(2), round(kept, 2)
    (array([[1. , 0.8],
           [0.8, 1. ]]), 1.0)
    """
    d = len(look)
    apart = look - np.eye(d)
    kept = max(0.0, 1 - noise**2 * d * (d + 1) / 2 / max(float((apart**2).sum()), 1e-300))
    return np.eye(d) + kept * apart, kept


def exceeds_noise(kept: float, width: int) -> bool:
    """Whether so much of the correlations of `width` features cannot well be noise, which leaves 0 ± 2/√(d(d + 1)).

    >>> exceeds_noise(0.5, 2), exceeds_noise(0.5, 20)
    (False, True)
    """
    return kept > 2 / math.sqrt(width * (width + 1))


def whiten_matrix(matrix: Floats, floor: float) -> tuple[Floats, Floats]:
    """The eigenvalues of M, at least the floor; and W with W'MW = 1, where eigenvalues above it are concerned."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, floor)
    return values, np.asarray(vectors / np.sqrt(values))


def noise_spectral_norm(noise: float, width: int) -> float:
    """About how large the eigenvalues of a symmetric matrix of noise are."""
    return noise * math.sqrt(2 * width)
