"""SOLVE: coefficients from noisy moments, shrunk by what is known of the noise (empirical Bayes).

The moments of a part say b = A θ + e, where e is noise of known size: of the products, of the matrix (times θ), and of
the sample. A prior θ ~ N(0, τ²) in the coordinates of the moments, its τ chosen by likelihood, gives

    θ = (J + 1/τ²)^-1 h,   J = A Ω A,   h = A Ω b,   Ω = Cov(e)^-1,

summed over parts: each enters with its own precision. Nothing here sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.linear.part import Part

Floats = NDArray[np.float64]

FLOOR = 0.7  # eigenvalues below so much of the noise's spectral norm are taken for it
PRIORS = np.concatenate([[1e-12], np.logspace(-6, 0.5, 40)])  # variances τ² tried
SAMPLE = 0.25  # of the sampling noise that counts in shrinking: in full it would shrink more than predictions like
LIKELY = 0.1  # variance of a scaled mean, a priori


@dataclass(frozen=True)
class Solved:
    """Coefficients of (1, u) in scaled units, and their covariance: sampling and privacy noise together."""

    theta: Floats
    covariance: Floats


@dataclass(frozen=True)
class _Evidence:
    """A part in the working coordinates: eigenvalues and vectors of its matrix, b rotated, and its noise."""

    turn: Floats  # working coordinates -> eigenvectors of the part's matrix
    values: Floats
    products: Floats
    product_variance: float
    matrix_variance: float
    sample_variance: float
    known: NDArray[np.bool_]  # eigenvalues that stand out of the noise

    def noise(self, prior: float, sample: float) -> Floats:
        """The variance of e along each eigenvector, for coefficients of variance `prior`."""
        size, sample = (
            prior * len(self.values),
            sample if self.product_variance else 1.0,
        )  # public: that is all there is
        return self.product_variance + self.matrix_variance * size + sample * self.sample_variance * self.values + 1e-12


def spectrum(gram: Floats, std: float, floor: float = FLOOR) -> tuple[Floats, Floats]:
    """Eigenvalues, floored at the size of the noise, and eigenvectors of a noisy second-moment matrix."""
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, floor * std * math.sqrt(2 * len(gram)) + 1e-9), vectors


def shrunk(parts: Sequence[Part], sample: float = SAMPLE) -> Solved:
    """The coefficients that these parts speak for.

    The first private part that informs sets the coordinates in which coefficients are a priori alike. Parts that are a
    mean alone say what the target is at the mean of the features.
    """
    speaking = [part for part in parts if part.informs]
    means = [part for part in parts if not part.informs]
    if not speaking:
        return _mean(means)
    first = next((part for part in speaking if not part.public), speaking[0])
    evidence = [_evidence(part, first) for part in speaking]
    step, covariance = _posterior(evidence, first, means, sample)
    return Solved(first.line + first.frame @ step, first.frame @ covariance @ first.frame.T)


def _mean(parts: Sequence[Part]) -> Solved:
    """Means alone, averaged by their precision; shrunk to the middle of the range where they are mostly noise."""
    precision = sum(1 / _variance_of_mean(part) for part in parts)
    mean = sum((part.line / _variance_of_mean(part) for part in parts), np.zeros_like(parts[0].line)) / precision
    theta: Floats = mean * LIKELY / (LIKELY + 1 / precision)
    covariance = np.eye(len(theta))  # nothing is known of slopes: within the range, they may be anything
    covariance[0, 0] = 1 / precision + len(theta) - 1
    return Solved(theta, covariance)


def _variance_of_mean(part: Part) -> float:
    return part.cross_std**2 + part.variance / max(part.count, 1.0) + 1e-12


def _largest(part: Part) -> float:
    """The variance of the target, about: no coefficient of a standardised coordinate is larger, squared.

    Intervals allow for as much: they do not know of the shrinking, which draws towards smaller ones.
    """
    return part.variance + float(np.sum(np.linalg.solve(part.frame, part.line) ** 2))


def _evidence(part: Part, first: Part) -> _Evidence:
    values, vectors = spectrum(part.gram, part.gram_std)
    raw = np.einsum("ij,ik,kj->j", vectors, part.gram, vectors)
    products = vectors.T @ part.about(first.line)
    turn = vectors.T if part is first else vectors.T @ np.linalg.solve(part.frame, first.frame)
    offset = 0.0 if part is first else float(np.sum(np.linalg.solve(part.frame, part.line - first.line) ** 2))
    of_products = part.cross_std**2 + part.gram_std**2 * offset / 2
    return _Evidence(
        turn, values, products, of_products, part.gram_std**2 / 2, part.variance, raw >= values * (1 - 1e-9)
    )


def _posterior(evidence: list[_Evidence], first: Part, means: list[Part], sample: float) -> tuple[Floats, Floats]:
    """The posterior mean; and the covariance, of what the moments alone say."""
    if len(evidence) == 1 and not means:
        return _one(evidence[0], sample, _largest(first))
    sides = [_side(part, first) for part in means]
    best = max((_solve(evidence, sides, prior, sample) for prior in PRIORS), key=lambda one: one[0])
    information = _information(evidence, sides, best[2])
    return best[1], _inverse(information + np.eye(len(information)) / _largest(first))


def _one(one: _Evidence, sample: float, largest: float) -> tuple[Floats, Floats]:
    """One part alone: everything is diagonal in its eigenvectors."""
    noise = np.stack([one.noise(prior, sample) for prior in PRIORS])
    total = one.values**2 * PRIORS[:, None] + noise
    likelihood = -(np.log(total) + one.products**2 / total).sum(axis=1) / 2
    best = int(likelihood.argmax())
    step = one.products * one.values * PRIORS[best] / total[best]
    variance = 1 / (one.known * one.values**2 / one.noise(PRIORS[best], 1.0) + 1 / largest)
    return one.turn.T @ step, (one.turn.T * variance) @ one.turn


def _side(part: Part, first: Part) -> tuple[Floats, float, float]:
    """A mean alone, in the working coordinates: where the features' mean is, how far off the line is, and its noise."""
    at = np.append(np.ones(len(first.line) - len(first.mean)), first.mean)
    return first.frame.T @ at, float(part.line[0] - at @ first.line), _variance_of_mean(part)


def _solve(
    evidence: list[_Evidence], sides: list[tuple[Floats, float, float]], prior: float, sample: float
) -> tuple[float, Floats, float]:
    """The log-likelihood of a prior variance, the posterior mean, and that prior."""
    width = evidence[0].turn.shape[1]
    information, pull, likelihood = np.zeros((width, width)), np.zeros(width), 0.0
    for one in evidence:
        noise = one.noise(prior, sample)
        information += (one.turn.T * (one.values**2 / noise)) @ one.turn
        pull += one.turn.T @ (one.values * one.products / noise)
        likelihood -= float((np.log(noise) + one.products**2 / noise).sum()) / 2
    for at, off, variance in sides:
        information += np.outer(at, at) / variance
        pull += at * off / variance
    values, vectors = np.linalg.eigh(information)
    total = np.maximum(values, 0) + 1 / prior
    step = vectors @ ((vectors.T @ pull) / total)
    likelihood += float(pull @ step) / 2 - float(np.log(total * prior).sum()) / 2
    return likelihood, step, prior


def _information(evidence: list[_Evidence], sides: list[tuple[Floats, float, float]], prior: float) -> Floats:
    """What the parts say of each direction, with all of the sampling noise, where it stands out of the noise."""
    width = evidence[0].turn.shape[1]
    total = np.zeros((width, width))
    for one in evidence:
        total += (one.turn.T * (one.known * one.values**2 / one.noise(prior, 1.0))) @ one.turn
    for at, _, variance in sides:
        total += np.outer(at, at) / variance
    return total


def _inverse(matrix: Floats) -> Floats:
    """Of a positive definite matrix, whatever rounding made of it."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.maximum(values, 1e-15 * values[-1])) @ vectors.T)


@dataclass(frozen=True)
class Moments:
    """The normal equations of all parts together, in scaled units, gram θ = products: a row counts as one again."""

    gram: Floats
    products: Floats
    count: float


def pooled(parts: Sequence[Part], theta: Floats) -> Moments:
    """The parts that inform as one set of normal equations; exact where each part's line is, and noisy away from it."""
    width = len(theta)
    gram, products, count = np.zeros((width, width)), np.zeros(width), 0.0
    for part in parts:
        if part.informs:
            one, pull = _upright(part, theta)
            gram, products, count = gram + one, products + pull, count + part.count
    return Moments(gram, gram @ theta + products, max(count, 1.0))


def _upright(part: Part, theta: Floats) -> tuple[Floats, Floats]:
    """A part's matrix and its products about theta, for rows (1, u) that count as one each."""
    values, vectors = spectrum(part.gram, part.gram_std)
    inverse = np.linalg.inv(part.frame)
    gram = inverse.T @ (vectors * values) @ vectors.T @ inverse
    # the mean weight of a row, as the coordinates that are 1 on average have it
    weight = min(max(float(np.trace(part.gram)) / (part.count * len(theta)), 0.1), 1.0) if part.count else 1.0
    weight = 1.0 if part.public else weight
    return gram / weight, inverse.T @ part.about(theta) / weight
