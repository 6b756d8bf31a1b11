"""Means and deviations of features from noisy sums, shrunk towards each other by what is known of the noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDE = 0.5  # how far the average of all scaled features may be expected from the middle of their bounds
LEAST = 0.02  # of the average variance: what a variance is never shrunk below
FLAT = 1.5  # variances below so much of their noise are taken for it


def shrunk_moments(means: Floats, squares: Floats, noise: float, centred: bool) -> tuple[Floats, Floats]:
    """Where to centre features, and their deviations from there; all scaled into [-1, 1].

    Parameters
    ----------
    means, squares : noisy means of the features and of their squares.
    noise : the standard deviation of the noise in each.
    centred : False keeps the middle of the bounds as the centre.

    Empirical Bayes: features are taken for a sample from one population of features, so that with much noise all get
    one common centre and deviation, which is known far better, and with little noise each its own.

    >>> centre, spread = shrunk_moments(np.array([0.5, -0.5]), np.array([0.26, 0.29]), 1e-6, True)
    >>> centre.round(3), spread.round(3)
    (array([ 0.5, -0.5]), array([0.1, 0.2]))
    >>> shrunk_moments(np.array([2.0, -1.0]), np.array([3.0, -2.0]), 3.0, True)[0].round(2)  # hardly anything known
    array([0.03, 0.03])
    """
    average = float(means.mean())
    known = average * WIDE**2 / (WIDE**2 + noise**2 / len(means))
    centre = known + (means - average) * _share(means, noise**2)
    centre = np.clip(centre, -1.0, 1.0) if centred else np.zeros(len(means))
    about = squares - 2 * centre * means + centre**2  # mean squared distance from the centre
    doubt = noise**2 * (1 + 4 * centre**2)
    share = _share(about, float(doubt.mean()))
    common = min(max(float(about.mean()), LEAST), 1.0)
    least = max(FLAT * noise * share, LEAST * common * (1 - share), 1e-6)
    return centre, np.sqrt(np.clip(common + share * (about - about.mean()), least, 1.0))


def _share(values: Floats, doubt: float) -> float:
    """How much of the variation of noisy values is their own."""
    seen = float(((values - values.mean()) ** 2).mean())
    return max(0.0, 1 - doubt / max(seen, 1e-300))


def shrunk_correlations(look: Floats, noise: float) -> tuple[Floats, float]:
    """Noisy second moments of standardised rows, shrunk towards the identity; and how much was kept of them.

    Parameters
    ----------
    look : the noisy average of x x'.
    noise : the standard deviation of the noise on its diagonal (less by √2 off it).

    Ledoit & Wolf's idea (2004) with noise of known size: the identity is where rows would be if nothing were known.

    >>> matrix, kept = shrunk_correlations(np.array([[1.0, 0.8], [0.8, 1.0]]), 0.01)
    >>> matrix.round(2), round(kept, 2)
    (array([[1. , 0.8],
           [0.8, 1. ]]), 1.0)
    """
    d = len(look)
    apart = look - np.eye(d)
    kept = max(0.0, 1 - noise**2 * d * (d + 1) / 2 / max(float((apart**2).sum()), 1e-300))
    return np.eye(d) + kept * apart, kept


def trusted(kept: float, width: int) -> bool:
    """Whether so much of the correlations of `width` features cannot well be noise, which leaves 0 ± 2/√(d(d + 1)).

    >>> trusted(0.5, 2), trusted(0.5, 20)
    (False, True)
    """
    return kept > 2 / math.sqrt(width * (width + 1))


def whitening(matrix: Floats, floor: float) -> Floats:
    """W with W'MW = 1, where eigenvalues of M above the floor are concerned."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors / np.sqrt(np.maximum(values, floor)))


def spectral(noise: float, width: int) -> float:
    """About how large the eigenvalues of a symmetric matrix of noise are."""
    return noise * math.sqrt(2 * width)
