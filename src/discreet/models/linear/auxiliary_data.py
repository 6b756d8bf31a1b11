"""Where to spend and where to clip, chosen on auxiliary data: public, drawn from a model, so that it costs nothing.

The auxiliary data have as many rows and columns as the real ones: x ~ N(0, I), β ~ N(0, I), y ~ N(x·β, 1), all
standardised. Their clipped second moments are known in closed form, so that no rows need be drawn: only β, the sampling
error of X'y by the central limit theorem, and Laplace noise, the same for every choice that is compared.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.budget import Neighbours

Floats = NDArray[np.float64]

SHARES = tuple(round(0.05 * i, 2) for i in range(1, 19))  # of X'X; y'y has the least, X'y the rest
LEAST = 0.05
OMEGAS = (0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.1, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)
WORK = 4000  # at most so many auxiliary coordinates: draws times columns


class BudgetSplit(NamedTuple):
    """The shares of X'X, X'y and y'y, and the thresholds of features and target, in standard deviations."""

    p1: float
    p2: float
    p3: float
    omega_x: float
    omega_y: float


def choose_split(n: float, d: int, epsilon: float, neighbours: Neighbours = "add-remove") -> BudgetSplit:
    """The split of ε and the thresholds that predict best on auxiliary data of `n` rows and `d` columns.

    Parameters
    ----------
    n, d : the number of rows (rounded to a power of √2) and of columns.
    epsilon : what the three releases may spend together.
    neighbours : an exchanged row moves X'y twice as far, X'X and y'y no further than an added one.

    The share of y'y is the least of the grid, 5%: it says how large the residuals are and nothing of where they point,
    so prediction never gains from more.

    Reference: the method is that of Honkela, Das, Nieminen, Dikmen & Kaski, "Efficient differentially private learning
    improves drug sensitivity prediction", Biology Direct 2018, with a grid that is coarser and
    reaches further, for large n; thresholds below 0.3 leave little but signs and are not offered.

    >>> choose_split(500, 10, 2.0).p3
    0.05
    """
    return _search_grid(round_rows(n), d, float(epsilon), neighbours, SHARES)


def choose_thresholds(
    n: float, d: int, epsilon: float, p1: float, neighbours: Neighbours = "add-remove"
) -> BudgetSplit:
    """The same with the split given, as it must be where the number of rows is learnt on the way."""
    return _search_grid(round_rows(n), d, float(epsilon), neighbours, (p1,))


def round_rows(n: float) -> float:
    """The nearest power of √2, at least 1: so many sizes are told apart, and no more.

    >>> round_rows(500)
    512.0
    """
    return float(round(math.sqrt(2.0) ** round(2 * math.log2(max(n, 1.0))), 6))


@lru_cache(maxsize=256)
def _search_grid(n: float, d: int, epsilon: float, neighbours: Neighbours, shares: tuple[float, ...]) -> BudgetSplit:
    draws = _Draws.for_width(d)
    found = [(_prediction_risks(draws, n, epsilon, neighbours, p1, x), p1, x) for p1 in shares for x in OMEGAS]
    risks, p1, x = min(found, key=lambda item: float(item[0].min()))
    return BudgetSplit(p1, round(1 - LEAST - p1, 2), LEAST, x, OMEGAS[int(risks.argmin())])


class _Draws(NamedTuple):
    """Auxiliary worlds, all in the eigenbasis of the noise of their X'X: worlds × columns."""

    size: Floats  # squared length of the correlations of the features with the target
    rho: Floats  # these correlations
    cubes: Floats  # and their cubes
    values: Floats  # eigenvalues of the noise of X'X, at scale 1
    noise: Floats  # of X'y, at scale 1
    sampling: Floats  # of X'y, standard normal

    @classmethod
    def for_width(cls, d: int) -> _Draws:
        rng, worlds = np.random.default_rng(d), max(4, min(200, WORK // d))
        beta = rng.normal(size=(worlds, d))
        rho = beta / np.sqrt(1 + (beta**2).sum(axis=1, keepdims=True))
        upper = np.triu(rng.laplace(size=(worlds, d, d)))
        values, vectors = np.linalg.eigh(upper + np.triu(upper, 1).swapaxes(1, 2))
        drawn = (rho, rho**3, rng.laplace(size=(worlds, d)), rng.normal(size=(worlds, d)))
        rho, cubes, noise, sampling = (np.einsum("wij,wi->wj", vectors, one) for one in drawn)
        return cls((rho**2).sum(axis=1)[:, None], rho, cubes, values, noise, sampling)


def _prediction_risks(draws: _Draws, n: float, epsilon: float, neighbours: Neighbours, p1: float, x: float) -> Floats:
    """The mean squared error of prediction for each threshold of the target, in units of its variance."""
    d, y = draws.rho.shape[1], np.array(OMEGAS)[:, None, None]
    wide_xx = d * (d + 1) / 2 * x**2 / (p1 * epsilon)
    wide_xy = (1 if neighbours == "add-remove" else 2) * d * x * y / ((1 - LEAST - p1) * epsilon)
    (linear, cubic), (slope, bend) = _hermite_coefficients(x), _hermite_coefficients(y)

    # E clip(x)·clip(y) for normals of correlation ρ: the first two terms of Mehler's series; thresholds × worlds × d
    mean = linear * slope * draws.rho + cubic * bend * draws.cubes / 6
    xx, yy = clipped_second_moment(x), clipped_second_moment(y)
    left = np.maximum(yy - (mean**2).sum(axis=2, keepdims=True) / xx, 0.05 * yy)
    b = n * mean + np.sqrt(n * xx * left) * draws.sampling + wide_xy * draws.noise
    s = np.maximum(n * xx + wide_xx * draws.values, 0)
    theta = s * b / (s**2 + (d + 1) * (left * s + 2 * wide_xy**2 + 2 * wide_xx**2 * draws.size))
    return np.asarray(((theta - draws.rho) ** 2).sum(axis=2).mean(axis=1))


def normal_share(omega: float) -> float:
    """The part of a normal law within `omega` standard deviations.

    >>> round(normal_share(2.0), 3)
    0.954
    """
    return float(2 * ndtr(omega) - 1)


def clipped_second_moment(omega: Any) -> Any:
    """E clip(z, ±ω)² for a standard normal z."""
    inside = 2 * ndtr(omega) - 1
    return inside - 2 * omega * _normal_density(omega) + omega**2 * (1 - inside)


def _hermite_coefficients(omega: Any) -> tuple[Any, Any]:
    """The first and third Hermite coefficients of clip(·, ±ω)."""
    return 2 * ndtr(omega) - 1, -2 * omega * _normal_density(omega)


def _normal_density(omega: Any) -> Any:
    return np.exp(-np.square(omega) / 2) / math.sqrt(2 * math.pi)
