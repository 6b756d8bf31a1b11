"""Deviations and correlations of features as free coordinates, any correlations alike a priori.

Row i of the triangle L of a covariance LL' is σ(a, 1)/√(1 + ‖a‖²), a_j = sinh(b_j) left of the diagonal. Correlation
matrices that are all alike (Lewandowski, Kurowicka & Joe 2009, η = 1) have rows of density ∝ T_ii^(d-i+1) on the half
sphere, T_ii = (1 + ‖a‖²)^-½ the cosine to the pole; its measure is (1 + ‖a‖²)^(-i/2) da, so a has the density
∝ (1 + ‖a‖²)^(-(d+1)/2) in every row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

SMALL = 0.1  # deviations of features below it are small


class CorrelationCoordinates(NamedTuple):
    """Deviations and correlations of x: coordinates (b, z), a = sinh(b), 1 + ‖a‖², σ, and the triangle they make."""

    b: Floats
    z: Floats
    a: Floats
    q: Floats
    sigma: Floats
    L: Floats

    @classmethod
    def from_block(cls, block: Floats) -> CorrelationCoordinates:
        """Read a block of coordinates, b left of the diagonal and z on it."""
        z, b = np.diagonal(block, axis1=-2, axis2=-1).copy(), np.tril(block, -1)
        a = np.sinh(b)
        q, sigma = 1 + (a**2).sum(axis=-1), SMALL * np.logaddexp(0.0, z / SMALL)
        return cls(b, z, a, q, sigma, (a + np.eye(len(block.T))) * (sigma / np.sqrt(q))[..., None])

    @property
    def log_density(self) -> Floats:
        """The log density of any correlations alike, and of the change to b and z."""
        d = self.L.shape[-1]
        change = np.log(expit(self.z / SMALL)).sum(axis=-1) + np.log(np.cosh(self.b)).sum(axis=(-2, -1))
        return np.asarray(change - (d + 1) / 2 * np.log(self.q).sum(axis=-1))

    def pull_back_slope(self, along: Floats) -> Floats:
        """From the slope along L, of everything else, to that along b and z, of everything."""
        d, steep = self.L.shape[-1], expit(self.z / SMALL)
        moved = (along * self.L).sum(axis=-1)
        diagonal = np.diagonal(self.L, axis1=-2, axis2=-1)[..., None]
        slope = diagonal * along - (moved + d + 1)[..., None] * self.a / self.q[..., None]
        slope = np.tril(slope * np.cosh(self.b) + np.tanh(self.b), -1)
        slope[..., np.arange(d), np.arange(d)] = moved / self.sigma * steep + (1 - steep) / SMALL
        return np.asarray(slope)
