"""Shrinkage of shares: non-parametric empirical Bayes with noise of a known law.

The noise of an unbiased share is about normal, with a variance that follows from the share and the design. The prior
of the shares is estimated from all of them: weights on a grid, by expectation-maximisation. A shrunk share is the
posterior mean given the noisy one (Robbins 1956; Kiefer & Wolfowitz 1956).

A few values are not enough to estimate a prior. They are projected to the nearest shares that are not negative and add
up to 1. The true shares are such shares, so the projection is never farther from them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local.design import ShareDesign

Floats = NDArray[np.float64]

_FEW = 50  # fewer values than these are projected
_ROUNDS = 200
_PIECES = 4096  # the most noisy shares for which posterior means are computed separately
_GRID = 240


def shrink_shares(noisy: Floats, design: ShareDesign, n: int) -> Floats:
    """The posterior mean of each share; for a few values, their projection to possible shares.

    >>> from discreet.local.design import make_design
    >>> from fractions import Fraction
    >>> noisy = np.array([0.9, *[-0.02, 0.02] * 50])
    >>> shrunk = shrink_shares(noisy, make_design("oue", 101, Fraction(1)), 10_000)
    >>> bool(shrunk[0] > 0.85), bool(shrunk[1:].max() < 0.01)
    (True, True)
    """
    if len(noisy) < _FEW:
        return project_simplex(noisy)
    top = max(float(noisy.max()), 1 / len(noisy))
    grid = choose_grid(noisy, top, compute_deviations(np.zeros(1), design, n)[0])
    sums, places = _bin_shares(noisy)
    like = compute_likelihoods(sums, grid, design, n)
    weights = np.full(len(grid), 1 / len(grid))
    times = np.bincount(places, minlength=len(sums))
    for _ in range(_ROUNDS):
        mixed = like @ weights
        weights *= like.T @ (times / mixed) / len(noisy)
    means = like @ (weights * grid) / (like @ weights)
    return np.asarray(means[places])


def project_simplex(shares: Floats) -> Floats:
    """The nearest shares that are not negative and add up to 1.

    >>> project_simplex(np.array([0.8, 0.6, -0.4])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    falling = np.sort(shares)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(shares) + 1)
    return np.asarray(np.maximum(shares - over[np.flatnonzero(falling > over)[-1]], 0))


def compute_deviations(shares: Floats, design: ShareDesign, n: int) -> Floats:
    """The standard deviation of the noisy share, at each true share."""
    p, q = design.rates
    c = q + shares * (p - q)
    return np.asarray(np.sqrt(c * (1 - c) / n) / (p - q))


def choose_grid(noisy: Floats, top: float, noise: float) -> Floats:
    """The grid of the prior: fine near zero, and with the largest noisy shares, so that these are hardly moved."""
    low = np.linspace(0, min(top, 6 * noise), _GRID // 2)
    far = np.geomspace(max(6 * noise, 1e-12), top, _GRID // 2) if top > 6 * noise else np.zeros(0)
    seen = np.sort(noisy[noisy > 3 * noise])[-_GRID:]
    return np.unique(np.clip(np.concatenate([low, far, seen]), 0, 1))


def compute_likelihoods(noisy: Floats, grid: Floats, design: ShareDesign, n: int) -> Floats:
    """The density of each noisy share at each share of the grid, divided by the largest density of that noisy share."""
    spread = compute_deviations(grid, design, n)
    exponent = -((noisy[:, None] - grid) ** 2) / (2 * spread**2) - np.log(spread)
    return np.asarray(np.exp(exponent - exponent.max(1, keepdims=True)))


def _bin_shares(noisy: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """At most `_PIECES` different shares, and which of them each noisy share belongs to."""
    if len(noisy) <= _PIECES:
        return noisy, np.arange(len(noisy))
    edges = np.linspace(noisy.min(), noisy.max(), _PIECES)
    places = np.searchsorted(edges, noisy)
    kept, places = np.unique(places, return_inverse=True)
    middle = np.bincount(places, noisy) / np.bincount(places)
    del kept
    return np.asarray(middle), places
