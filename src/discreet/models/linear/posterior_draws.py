"""Draws from the posterior of a linear regression whose second moments are known only with noise.

`moments.py` states the model, `hamiltonian.py` walks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.models.linear.hamiltonian import draw_chains, effective_size, split_rhat
from discreet.models.linear.noisy_moments import MomentDensity, Noisy, Prior, root_of_inverse

__all__ = ["Deferred", "Noisy", "Posterior", "Prior", "sample_posterior"]

Floats = NDArray[np.float64]

WARM = 200  # sweeps of the chain for exact statistics that are thrown away


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws, in scaled units; leading axes as those of the matrices.

    Attributes
    ----------
    coefficients : of shape (…, chains, draws, p), the intercept first if there is one.
    precision : λ, of shape (…, chains, draws).
    rhat, size : split R-hat and effective sample size of each coefficient.
    of_prior : whether nothing could be learnt from the statistics, so that these are draws of the prior.
    """

    coefficients: Floats
    precision: Floats
    rhat: Floats
    size: Floats
    of_prior: bool = False


def sample_posterior(
    parts: Sequence[Noisy],
    *,
    intercept: bool = True,
    prior: Prior = Prior(),  # noqa: B008 - frozen
    draws: int = 2000,
    chains: int = 8,
    seed: int | None = None,
) -> Posterior:
    """Draws of the coefficients given noised second moments: post-processing, from nothing but what was released.

    Parameters
    ----------
    parts : the statistics of one data set or several, public ones among them; all in the same scaled units.
    intercept : whether the model has one. Without, the sums of x and y themselves are not used.
    prior : of the precisions.
    draws, chains : draws in all, divided among so many chains.
    seed : of the draws. This randomness hides nothing: the privacy noise is in the statistics already.

    | statistics | what comes out |
    | --- | --- |
    | of noise alone, not positive definite | nearly the prior |
    | all exact | the textbook posterior, by Gibbs sampling |
    | of fewer rows than coefficients | as if there were one row more than coefficients |

    Examples
    --------
    >>> moments = np.array([[100.0, 5, 20], [5, 30, 10], [20, 10, 12]])
    >>> exact, noised = (sample_posterior([Noisy(moments, std)], seed=0) for std in (0.0, 10.0))
    >>> bool(exact.coefficients.std() < noised.coefficients.std())
    True
    """
    if not parts or len({part.matrix.shape for part in parts}) > 1:
        raise ValueError("The `parts` of a posterior must be one or more, all of one shape.")
    if not (chains >= 1 and draws >= 4 * chains):
        raise ValueError(f"The `draws` must be at least 4 a chain. Got {draws!r} in {chains!r} chains.")
    rng, size = np.random.default_rng(seed), -(-draws // chains)
    lead, wide = parts[0].matrix.shape[:-2], parts[0].matrix.shape[-1]
    shape = (-1, wide, wide)
    flat = [Noisy(part.matrix.reshape(shape), part.std.reshape(shape), part.radial) for part in parts]
    known = sum((part.matrix for part in flat if part.is_public), np.zeros((math.prod(lead), wide, wide)))
    noisy = [part for part in flat if not part.is_public]
    walk = _walk_posterior if noisy else _sample_gibbs
    beta, precision = _keep_finite(lambda: walk(noisy, known, intercept, prior, size, chains, rng))
    unknown = beta is None
    if beta is None or precision is None:
        beta, precision = _draw_prior(len(known), wide - 2 + intercept, prior, size, chains, rng)
    beta, precision = (np.reshape(trace, lead + trace.shape[1:]) for trace in (beta, precision))
    return Posterior(beta, precision, split_rhat(beta), effective_size(beta), unknown)


def _keep_finite(walk: Callable[[], tuple[Floats, Floats]]) -> tuple[Floats, Floats] | tuple[None, None]:
    """What a walk finds; nothing if floats could not hold it: statistics that are noise may be of any size."""
    try:
        beta, precision = walk()
    except (np.linalg.LinAlgError, FloatingPointError, OverflowError):
        return None, None
    sane = np.isfinite(beta).all() and np.isfinite(precision).all() and (precision > 0).all()
    return (beta, precision) if sane else (None, None)


def _draw_prior(
    problems: int, p: int, prior: Prior, draws: int, chains: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draws of the prior: what is known where the statistics say nothing."""
    shape = problems, chains, draws
    spread = rng.gamma(prior.a0, size=shape) / prior.b0
    beta = rng.normal(size=(*shape, p)) / np.sqrt(np.maximum(spread, 1e-6))[..., None]
    return beta, np.maximum(rng.gamma(prior.a, size=shape) / prior.b, 1e-6)


@dataclass(frozen=True, eq=False)
class Deferred:
    """A posterior that is drawn when it is first asked for, the same each time: from a release and a seed alone."""

    statistics: Noisy
    intercept: bool
    prior: Prior
    draws: int
    chains: int
    seed: int
    bounds: Bounds

    @cached_property
    def posterior(self) -> Posterior:
        """The draws, in scaled units."""
        return sample_posterior(
            [self.statistics],
            intercept=self.intercept,
            prior=self.prior,
            draws=self.draws,
            chains=self.chains,
            seed=self.seed,
        )

    @cached_property
    def coefficients(self) -> Floats:
        """Draws of (intercept, coefficients), in the units of the data."""
        theta = self.posterior.coefficients.reshape(-1, self.intercept + len(self.bounds.lower))
        middle, half = self.bounds.target_scale
        slopes = half * theta[:, self.intercept :] / self.bounds.half
        level = middle + half * theta[:, 0] - slopes @ self.bounds.centre if self.intercept else np.zeros(len(theta))
        return np.column_stack([level, slopes])

    @cached_property
    def residual(self) -> Floats:
        """Draws of the residuals' standard deviation, in the units of the data; half the target's range at most."""
        return np.asarray(self.bounds.target_scale[1] * np.minimum(self.posterior.precision.ravel() ** -0.5, 1.0))


def _walk_posterior(
    noisy: list[Noisy], known: Floats, intercept: bool, prior: Prior, draws: int, chains: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    density = MomentDensity(noisy, known, intercept, prior)
    trace = draw_chains(density, density.find_start(), draws, chains, rng)
    points = trace.reshape(len(trace), chains * draws, -1)
    beta, precision = density.draw_coefficients(points, rng)
    return beta.reshape(len(trace), chains, draws, -1), precision.reshape(len(trace), chains, draws)


def _sample_gibbs(
    noisy: list[Noisy], known: Floats, intercept: bool, prior: Prior, draws: int, chains: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The posterior given exact second moments: β, λ and λ0 in turn, each from its own law given the others."""
    n, S = known[:, None, 0, 0], known[:, None, 1 - intercept :, 1 - intercept :]
    A, b, yy = S[..., :-1, :-1], S[..., :-1, -1], S[..., -1, -1]
    lam, lam0 = (np.full((len(known), chains), mean) for mean in (prior.a / prior.b, prior.a0 / prior.b0))
    betas, lams = [], []
    for _ in range(WARM + draws):
        beta = _draw_normal(
            lam[..., None, None] * A + lam0[..., None, None] * np.eye(b.shape[-1]), lam[..., None] * b, rng
        )
        rss = yy - 2 * (beta * b).sum(axis=-1) + (beta[..., None, :] @ A @ beta[..., None])[..., 0, 0]
        lam = rng.gamma(prior.a + np.maximum(n, 0) / 2) / (prior.b + np.maximum(rss, 0) / 2)
        lam0 = rng.gamma(prior.a0 + b.shape[-1] / 2, size=lam.shape) / (prior.b0 + (beta**2).sum(axis=-1) / 2)
        betas.append(beta)
        lams.append(lam)
    return np.stack(betas[WARM:], axis=2), np.stack(lams[WARM:], axis=2)


def _draw_normal(precision: Floats, shift: Floats, rng: np.random.Generator) -> Floats:
    """A draw of N(P⁻¹h, P⁻¹)."""
    root = root_of_inverse(precision)
    mean = root @ (root.swapaxes(-1, -2) @ shift[..., None])
    return np.asarray((mean + root @ rng.normal(size=mean.shape))[..., 0])
