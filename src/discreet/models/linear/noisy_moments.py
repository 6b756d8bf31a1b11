"""The posterior of a linear regression whose second moments are known only with noise.

A part of the data is v = (1, x, y) for each of its n rows, in scaled units; S = Σ v v' is its matrix of second moments,
and what is known is S plus noise of a known law. All that the noise hides is kept as unknown and drawn along:

    S = n F F', F lower triangular          the true second moments: positive definite whatever the noise says
    F, rows of x                            means of x from N(0, ½²), deviations from |N(0, ½²)|, any correlations alike
    λ0 from Gamma(a0, b0), λ from Gamma(a, b)
    β | λ0 from N(0, I/λ0)                  the coefficients, the intercept among them
    y | x, β, λ from N(β·(1, x), 1/λ), so that, exactly and whatever the law of x,
        X'y | X'X from N(X'X β, X'X/λ)
        residual sum of squares from χ²(n - p)/λ
    n                                       flat, where it is not public

β is integrated out while walking, and drawn exactly afterwards. Several parts have their own S and share β, λ and λ0;
public parts are known exactly, and enter as a prior of β and λ. `hamiltonian.py` walks.

References: G. Bernstein & D. Sheldon, "Differentially private Bayesian linear regression", NeurIPS 2019, who take S for
normal; N. Ju, J. Awan, R. Gong & V. Rao, "Data augmentation MCMC for Bayesian inference from privatized data", NeurIPS
2022, who draw each row. D. Lewandowski, D. Kurowicka & H. Joe, J. Multivariate Analysis 2009, for the correlations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from discreet.arguments import check_positive
from discreet.models.linear.correlation_prior import CorrelationCoordinates

Floats = NDArray[np.float64]

SPREAD = 0.5  # of the means and of the deviations of features scaled into [-1, 1], a priori
EXACT = 1e-4  # noise below so many √n counts as so much: far less than n rows vary anyway
FAR = 60.0  # no coordinate is as large: most are logarithms
RARE = 0.1  # λ0/λ, about: slopes are vague where n·deviation² is below it


@dataclass(frozen=True, eq=False)
class Noisy:
    """The second moments of some rows, and how well they are known.

    Attributes
    ----------
    matrix : the sum of v v' over rows, v = (1, x, y) in scaled units, with noise; its first entry is the count. Leading
        axes, if any, are problems apart, solved together.
    std : the standard deviation of the noise in each entry: 0 where it is exact (public), infinite where it is unknown.
    radial : whether the noise is that of the ℓ2 norm mechanism (of density ∝ exp(-‖noise‖/scale) in the Frobenius norm)
        and not Gaussian.
    """

    matrix: Floats
    std: Floats
    radial: bool = False

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, np.float64)
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] < 3:
            raise ValueError(f"The `matrix` of Noisy must be square, over (1, x, y). Got the shape {matrix.shape}.")
        std = np.broadcast_to(np.asarray(self.std, np.float64), matrix.shape)
        fair = (std >= 0).all() and (std == std.swapaxes(-1, -2)).all()
        if not (fair and np.isfinite(matrix[std < np.inf]).all()):
            raise ValueError("The `matrix` of Noisy must be finite, and `std` symmetric and >= 0.")
        object.__setattr__(self, "matrix", (matrix + matrix.swapaxes(-1, -2)) / 2)
        object.__setattr__(self, "std", std)

    @property
    def is_public(self) -> bool:
        """Whether all of it is exact."""
        return not self.std.any()

    def __add__(self, other: Noisy) -> Noisy:
        """Both parts as one: quicker to solve, but the more exact part is drowned in the noise of the other.

        The sum of two noises of the norm mechanism is taken for Gaussian.
        """
        noisy = [part for part in (self, other) if not part.is_public]
        radial = len(noisy) == 1 and noisy[0].radial
        return Noisy(self.matrix + other.matrix, np.hypot(self.std, other.std), radial)


@dataclass(frozen=True)
class Prior:
    """Gamma priors (shape, rate) of the precision of the coefficients, `a0, b0`, and of the target, `a, b`.

    In scaled units, where targets and features lie within [-1, 1]: by default coefficients of size about 0.7, and
    residuals of a standard deviation of about 0.27 (within 0.13 and 1, nine times in ten).
    """

    a0: float = 2.0
    b0: float = 1.0
    a: float = 1.0
    b: float = 0.05

    def __post_init__(self) -> None:
        for name in ("a0", "b0", "a", "b"):
            check_positive("the prior", name, getattr(self, name))


class DensityPoint(NamedTuple):
    """A point read: n - p - 1, n, t, log(λnρ²), the rows of x, g, the map from g to c, F, moments nFF', λ and λ0."""

    more: Floats
    n: Floats
    t: Floats
    log_chi: Floats
    rows: CorrelationCoordinates
    g: Floats
    U: Floats
    F: Floats
    S: Floats
    lam: Floats
    lam0: Floats


class MomentDensity:
    """The log density of everything unknown but β, and its gradient, at many points at once.

    Points have the shape (problems, walkers, coordinates). The coordinates are near to independent and of moderate size
    both where noise hides nearly everything and where it hides nothing: part by part log(n - p - 1), then F row by row,
    then log λ and log λ0. In F, with L its rows of x and (c, ρ) its last row,
    - row i of L, but for the mean in it, is σ(a, 1)/√(1 + ‖a‖²): entries left of the diagonal stand as b, with
      a_j = sinh(b_j), the diagonal as z, with σ = s·log(1 + exp(z/s)): positive, and z itself where it is not small;
    - c stands as g, with c_j = √(L_jj² + κ)·g_j + Σ_{i>j} L_ij g_i: nearly the slopes of least squares;
    - ρ stands as t, with log(λ n ρ²) = log(n - p) + t·√(2/(n - p)): nearly standard normal.
    """

    def __init__(self, parts: Sequence[Noisy], known: Floats, intercept: bool, prior: Prior) -> None:
        self.prior, self.first = prior, int(intercept)
        self._weigh_observations(parts, 1 - self.first)
        self.known, self.rows = known[:, None, 1 - self.first :, 1 - self.first :], known[:, None, 0, 0]
        self.wide = self.known.shape[-1]
        self.p = self.wide - 1
        self.tril = np.tril_indices(self.wide)
        free = np.ones((len(parts), 1 + len(self.tril[0])), dtype=bool)
        free[:, 0] = [(part.std[..., 0, 0] > 0).any() for part in parts]
        free[:, 1] &= not intercept  # F[0, 0] = 1: the count is n itself
        self.free = free
        self.x = np.arange(self.first, self.p)
        self.kappa = RARE / np.maximum(self.count, self.p + 2.0)[:, None, :, None]
        self.fixed = np.zeros((len(known), 1, *free.shape))
        self.fixed[..., 0] = np.log(np.maximum(self.count[:, None] - self.p - 1, 1e-9))

    def _weigh_observations(self, parts: Sequence[Noisy], first: int) -> None:
        """What was seen, and the weight of each entry, half of it above and half below the diagonal."""
        self.count = np.stack([part.matrix[:, 0, 0] for part in parts], axis=1)
        least = EXACT * np.sqrt(np.maximum(self.count, 1.0))[..., None, None]
        std = np.maximum(np.stack([part.std for part in parts], axis=1), least)
        weight = np.where(np.eye(std.shape[-1]) > 0, 1.0, 0.5) / std**2
        self.seen = np.stack([np.where(part.std < np.inf, part.matrix, 0.0) for part in parts], axis=1)
        # without an intercept the count stands alone; with one it is an entry like the others
        self.heed = weight[:, None, :, 0, 0] * first
        self.seen, self.weight = self.seen[:, None, :, first:, first:], weight[:, None, :, first:, first:]
        # the norm mechanism's: k entries of variance (k + 1)·scale²
        self.norm = len(np.tril_indices(self.seen.shape[-1])[0]) + 1.0
        self.radial = np.array([part.radial for part in parts])

    def find_start(self) -> Floats:
        """A place to begin: the noised moments, made positive definite."""
        n = np.maximum(np.maximum(self.count, self.p + 2.0), 0.5 / np.sqrt(self.weight[:, 0, :, -1, -1]))
        values, vectors = np.linalg.eigh(self.seen[:, 0] / n[..., None, None])
        F = np.linalg.cholesky((vectors * np.clip(values, 0.02, 2.0)[..., None, :]) @ vectors.swapaxes(-1, -2))
        F = F / F[..., :1, :1] if self.first else F
        precision = np.log(F[..., -1, -1] ** -2).mean(axis=1), np.full(len(n), math.log(self.prior.a0 / self.prior.b0))
        slopes = np.linalg.solve(F[..., :-1, :-1].swapaxes(-1, -2), F[..., -1, :-1, None])[..., 0]
        x = F[..., self.first : -1, self.first : -1]
        diagonal = np.diagonal(x, axis1=-2, axis2=-1).copy()
        x[...] = np.arcsinh(np.tril(x, -1) / diagonal[..., None]) + np.eye(x.shape[-1]) * diagonal[..., None]
        F[..., -1, :-1], F[..., -1, -1] = slopes, 0.0  # t = 0: the residuals are what λ has them be
        full = np.concatenate([np.log(n - self.p - 1)[..., None], F[..., self.tril[0], self.tril[1]]], axis=-1)
        return np.concatenate([full[:, self.free], np.stack(precision, axis=1)], axis=1)

    def _read_points(self, points: Floats) -> DensityPoint:
        shape, first = points.shape[:2], self.first
        full = np.broadcast_to(self.fixed, (*shape, *self.free.shape)).copy()
        full[:, :, self.free] = points[..., :-2]
        F = np.zeros((*shape, len(self.free), self.wide, self.wide))
        F[..., self.tril[0], self.tril[1]] = full[..., 1:]
        more, t, lam, lam0 = np.exp(full[..., 0]), full[..., -1], np.exp(points[..., -2]), np.exp(points[..., -1])
        n = more + (self.p + 1)
        log_chi = np.log(n - self.p) + t * np.sqrt(2 / (n - self.p))
        rows = CorrelationCoordinates.from_block(F[..., first:-1, first:-1])
        g, F[..., first:-1, first:-1] = F[..., -1, :-1].copy(), rows.L
        if first:
            F[..., 0, 0] = 1.0
        U = F[..., :-1, :-1].copy()
        U[..., self.x, self.x] = np.sqrt(U[..., self.x, self.x] ** 2 + self.kappa)
        F[..., -1, :-1] = (g[..., None, :] @ U)[..., 0, :]
        F[..., -1, -1] = np.exp((log_chi - np.log(n * lam[..., None])) / 2)
        return DensityPoint(
            more, n, t, log_chi, rows, g, U, F, n[..., None, None] * (F @ F.swapaxes(-1, -2)), lam, lam0
        )

    def _solve_coefficients(self, S: Floats, lam: Floats, lam0: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """X'X and X'y of all parts together, the covariance of β given them, and its mean."""
        total = S.sum(axis=2) + self.known
        A, b = total[..., :-1, :-1], total[..., :-1, -1]
        Q: Floats = _invert_matrices(self._coefficient_precision(A, lam, lam0))
        return A, b, Q, lam[..., None] * (Q @ b[..., None])[..., 0]

    def _coefficient_precision(self, A: Floats, lam: Floats, lam0: Floats) -> Floats:
        P = lam[..., None, None] * A + lam0[..., None, None] * np.eye(self.p)
        P += 1e-14 * np.trace(P, axis1=-2, axis2=-1)[..., None, None] * np.eye(self.p)  # far out, rounding eats λ0
        return np.asarray(P)

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """The log density up to a constant, and its gradient."""
        lost = np.asarray(~(np.abs(points) < FAR).all(axis=-1))
        at = self._read_points(np.where(lost[..., None], 0.0, points))
        n, lam = at.n, at.lam[..., None]
        A, b, Q, m = self._solve_coefficients(at.S, at.lam, at.lam0)
        log_noise, G = self._noise_density(at.S)

        # through S: the noise, and the coefficients' evidence ½h'P⁻¹h - ½log|P| with P = λX'X + λ0 and h = λX'y
        G[..., :-1, :-1] -= (lam[..., None] / 2 * (Q + m[..., None] * m[..., None, :]))[:, :, None]
        G[..., :-1, -1] += (lam / 2 * m)[:, :, None]
        G[..., -1, :-1] += (lam / 2 * m)[:, :, None]
        slope_F = 2 * n[..., None, None] * (G @ at.F)
        slope_n = (G * at.S).sum(axis=(-2, -1)) / n + self.heed * (self.count[:, None] - n)

        log_rows, slope_t, more_n, more_lam = self._target_density(at, slope_F)
        log_design = self._design_density(at, slope_F)
        log_scales, slope_lam, slope_lam0 = self._scale_density(A, b, Q, m, at.lam, at.lam0)
        alone = -self.heed / 2 * (self.count[:, None] - n) ** 2
        log = (log_noise + log_design + log_rows + alone + np.log(at.more)).sum(axis=2) + log_scales
        slope_F[..., -1, -1] = slope_t
        parts = [((slope_n + more_n) * at.more + 1)[..., None], slope_F[..., self.tril[0], self.tril[1]]]
        scales = [slope_lam + more_lam.sum(axis=2), slope_lam0]
        slope = np.concatenate([np.concatenate(parts, axis=-1)[:, :, self.free], np.stack(scales, axis=-1)], axis=-1)
        return np.where(lost | ~np.isfinite(log), -np.inf, log), slope

    def _noise_density(self, S: Floats) -> tuple[Floats, Floats]:
        error = self.seen - S
        G = self.weight * error
        square = (G * error).sum(axis=(-2, -1))
        length = np.sqrt(self.norm * square)
        far = np.asarray(np.where(self.radial, self.norm / np.maximum(length, 1e-300), 1.0))
        return np.where(self.radial, -length, -square / 2), far[..., None, None] * G

    def _design_density(self, at: DensityPoint, slope_F: Floats) -> Floats:
        """The prior of the rows of x, and of the change of coordinates; slopes along F become slopes along those."""
        first, x, slope_c, design = self.first, self.x, slope_F[..., -1, :-1].copy(), at.F[..., self.first : -1, :-1]
        L, U = at.F[..., x, x], at.U[..., x, x]
        through = at.g[..., None] * slope_c[..., None, :]
        through[..., x, x] *= L / U
        through[..., x, x] += L / U**2
        slope_F[..., :-1, :-1] += np.tril(through)
        slope_F[..., -1, :-1] = (at.U @ slope_c[..., None])[..., 0]
        slope_F[..., first:-1, :-1] -= design / SPREAD**2
        slope_F[..., first:-1, first:-1] = at.rows.pull_back_slope(slope_F[..., first:-1, first:-1])
        return np.asarray(
            at.rows.log_density + np.log(U).sum(axis=-1) - (design**2).sum(axis=(-2, -1)) / (2 * SPREAD**2)
        )

    def _target_density(self, at: DensityPoint, slope_F: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """What n rows say of F's last row (c, ρ): -nλ‖c‖²/2 beside the evidence, and nλρ² from χ²(n - p)."""
        p, n, lam, c, degrees = self.p, at.n, at.lam[..., None], at.F[..., -1, :-1], at.n - self.p
        explained = lam * (c**2).sum(axis=-1) / 2
        chi, half = np.exp(at.log_chi), degrees / 2
        log = p / 2 * np.log(n * lam) - n * explained
        log += half * (at.log_chi - math.log(2)) - chi / 2 - gammaln(half) - np.log(degrees) / 2

        slope_F[..., -1, :-1] -= (n * lam)[..., None] * c
        along = slope_F[..., -1, -1] * at.F[..., -1, -1] / 2  # of log ρ², from the noise
        turn = along + half - chi / 2  # of log χ
        bend = 1 / degrees - at.t * np.sqrt(0.5 / degrees) / degrees  # of log χ with n
        slope_n = p / (2 * n) - explained + turn * bend - along / n
        slope_n += (at.log_chi - math.log(2) - digamma(half) - 1 / degrees) / 2
        return log, turn * np.sqrt(2 / degrees), slope_n, p / 2 - n * explained - along

    def _scale_density(
        self, A: Floats, b: Floats, Q: Floats, m: Floats, lam: Floats, lam0: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The evidence of the coefficients, public rows and priors, and the slopes along log λ and log λ0."""
        prior, p, yy = self.prior, self.p, self.known[..., -1, -1]
        gain = lam * (m * b).sum(axis=-1)
        shape = prior.a + self.rows / 2, prior.a0 + p / 2
        rate = prior.b + yy / 2, prior.b0
        log = gain / 2 + np.linalg.slogdet(Q)[1] / 2
        log = log + shape[0] * np.log(lam) - rate[0] * lam + shape[1] * np.log(lam0) - rate[1] * lam0
        spread = (Q * A).sum(axis=(-2, -1)) + (m[..., None, :] @ A @ m[..., None])[..., 0, 0]
        slope = shape[0] - rate[0] * lam + gain - lam / 2 * spread
        slope0 = shape[1] - rate[1] * lam0 - lam0 / 2 * (np.trace(Q, axis1=-2, axis2=-1) + (m**2).sum(axis=-1))
        return log, slope, slope0

    def draw_coefficients(self, points: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws of β given everything else, and λ."""
        at = self._read_points(points)
        A, _, _, m = self._solve_coefficients(at.S, at.lam, at.lam0)
        root = root_of_inverse(self._coefficient_precision(A, at.lam, at.lam0))
        return m + (root @ rng.normal(size=m.shape)[..., None])[..., 0], at.lam


def _invert_matrices(matrices: Floats) -> Floats:
    """Of positive definite matrices; of such as rounding made singular, of the nearest that are not."""
    try:
        return np.asarray(np.linalg.inv(matrices), np.float64)
    except np.linalg.LinAlgError:
        root = root_of_inverse(matrices)
        return np.asarray(root @ root.swapaxes(-1, -2))


def root_of_inverse(matrices: Floats) -> Floats:
    """R with R R' the inverse, whatever rounding made of positive definite matrices."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(matrices)).swapaxes(-1, -2))
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(np.nan_to_num(matrices, nan=0.0, posinf=1e300, neginf=-1e300))
    least = 1e-15 * np.abs(values).max(axis=-1, keepdims=True) + 1e-300
    return np.asarray(vectors / np.sqrt(np.maximum(values, least))[..., None, :])
