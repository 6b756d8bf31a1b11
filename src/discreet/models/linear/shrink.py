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


def spectrum(gram: Floats, std: float, floor: float = FLOOR) -> tuple[Floats, Floats]:
    """Eigenvalues, floored at the size of the noise, and eigenvectors of a noisy second-moment matrix."""
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, floor * std * math.sqrt(2 * len(gram)) + 1e-9), vectors


def shrunk(parts: Sequence[Part], sample: float = SAMPLE) -> Solved:
    """The coefficients that these parts speak for.

    The first private part that informs sets the coordinates in which coefficients are a priori alike; parts too small
    to inform are left out, unless there are none but those.
    """
    speaking = [part for part in parts if part.informs]
    if not speaking:
        return _mean(max(parts, key=lambda part: part.count / (part.cross_std + 1.0)))
    first = next((part for part in speaking if not part.public), speaking[0])
    evidence = [_evidence(part, first) for part in speaking]
    step, covariance = _posterior(evidence, len(first.line), sample, _largest(first))
    return Solved(first.line + first.frame @ step, first.frame @ covariance @ first.frame.T)


@dataclass(frozen=True)
class Moments:
    """The normal equations of all parts together, in scaled units: gram θ = products, about.

    They are weighted so that a row counts as one again where long rows had been shrunk, and the noise of their right
    side at the solution is known.
    """

    line: Floats
    gram: Floats
    products: Floats
    noise: Floats
    variance: float
    count: float

    @property
    def informs(self) -> bool:
        """Whether they say anything of slopes."""
        return self.gram.size > 0

    @property
    def deviation(self) -> float:
        """Of the residuals."""
        return math.sqrt(max(self.variance, 0.0))

    def covariance(self, inverse: Floats) -> Floats:
        """Of coefficients that are `inverse` times the products: sampling and privacy noise."""
        if not self.informs:
            return self.noise
        covariance: Floats = inverse @ (self.noise + self.variance * self.gram) @ inverse.T
        return covariance


def pooled(parts: Sequence[Part]) -> Moments:
    """The parts as one set of normal equations, each where its first solution left it."""
    solved = shrunk(parts)
    speaking = [part for part in parts if part.informs]
    rows = sum(part.count for part in parts)
    variance = sum(part.count * part.variance for part in parts) / max(rows, 1.0)
    width = len(solved.theta)
    if not speaking:
        return Moments(solved.theta, np.zeros((0, 0)), np.zeros(0), solved.covariance, variance, max(rows, 1.0))
    gram, products, noise = np.zeros((width, width)), np.zeros(width), np.zeros((width, width))
    for part in speaking:
        one, pull, spread = _upright(part, solved.theta)
        gram, products, noise = gram + one, products + pull, noise + spread
    count = max(sum(part.count for part in speaking), 1.0)
    return Moments(solved.theta, gram, gram @ solved.theta + products, noise, variance, count)


def _upright(part: Part, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """A part's matrix, its products about theta and their noise, for rows (1, u) that count as one each."""
    values, vectors = spectrum(part.gram, part.gram_std)
    inverse = np.linalg.inv(part.frame)
    gram = inverse.T @ (vectors * values) @ vectors.T @ inverse
    away = inverse @ (theta - part.line)
    width = len(away)
    of_gram = away @ away * np.eye(width) + np.outer(away, away)
    spread = part.cross_std**2 * np.eye(width) + part.gram_std**2 / 2 * of_gram
    # the mean weight of a row, as the coordinates that are 1 on average have it
    weight = min(max(float(np.trace(part.gram)) / (part.count * width), 0.1), 1.0) if part.count else 1.0
    return gram / weight, inverse.T @ part.about(theta) / weight, inverse.T @ spread @ inverse / weight**2


def _mean(part: Part) -> Solved:
    theta = part.line.copy()
    rows = max(part.count, 1.0)
    covariance = np.eye(len(theta))  # nothing is known of slopes: within the range, they may be anything
    covariance[0, 0] = part.variance / rows + (part.cross_std / rows) ** 2
    return Solved(theta, covariance)


def _largest(part: Part) -> float:
    """The variance of the target, about: no coefficient of a standardised coordinate is larger, squared.

    Intervals allow for as much: they do not know of the shrinking, which draws towards smaller ones.
    """
    return part.variance + float(np.sum(np.linalg.solve(part.frame, part.line) ** 2))


def _evidence(part: Part, first: Part) -> _Evidence:
    values, vectors = spectrum(part.gram, part.gram_std)
    products = vectors.T @ part.about(first.line)
    turn = vectors.T if part is first else vectors.T @ np.linalg.solve(part.frame, first.frame)
    offset = 0.0 if part is first else float(np.sum(np.linalg.solve(part.frame, part.line - first.line) ** 2))
    return _Evidence(
        turn,
        values,
        products,
        part.cross_std**2 + part.gram_std**2 * offset / 2,
        part.gram_std**2 / 2,
        part.variance,
    )


def _noise(one: _Evidence, prior: float, sample: float) -> Floats:
    """The variance of e along each eigenvector, for coefficients of variance `prior`."""
    size = prior * len(one.values)
    return one.product_variance + one.matrix_variance * size + sample * one.sample_variance * one.values + 1e-12


def _posterior(evidence: list[_Evidence], width: int, sample: float, largest: float) -> tuple[Floats, Floats]:
    if len(evidence) == 1:
        return _one(evidence[0], sample, largest)
    tried = [_solve(evidence, prior, width, sample) for prior in PRIORS]
    _, step, _, prior = max(tried, key=lambda one: one[0])
    _, _, information, _ = _solve(evidence, prior, width, 1.0)
    return step, np.asarray(np.linalg.inv(information + np.eye(width) / largest), np.float64)


def _one(one: _Evidence, sample: float, largest: float) -> tuple[Floats, Floats]:
    """One part alone: everything is diagonal in its eigenvectors."""
    prior = PRIORS[:, None]
    noise = _noise_of_all(one, sample)
    total = one.values**2 * prior + noise
    likelihood = -(np.log(total) + one.products**2 / total).sum(axis=1) / 2
    best = int(likelihood.argmax())
    step = one.products * one.values * PRIORS[best] / total[best]
    variance = 1 / (one.values**2 / _noise_of_all(one, 1.0)[best] + 1 / largest)
    return one.turn.T @ step, (one.turn.T * variance) @ one.turn


def _noise_of_all(one: _Evidence, sample: float) -> Floats:
    return np.stack([_noise(one, prior, sample) for prior in PRIORS])


def _solve(evidence: list[_Evidence], prior: float, width: int, sample: float) -> tuple[float, Floats, Floats, float]:
    """The log-likelihood of a prior variance, the posterior mean, the information J, and that prior."""
    information, pull, likelihood = np.zeros((width, width)), np.zeros(width), 0.0
    for one in evidence:
        noise = _noise(one, prior, sample)
        information += (one.turn.T * (one.values**2 / noise)) @ one.turn
        pull += one.turn.T @ (one.values * one.products / noise)
        likelihood -= float((np.log(noise) + one.products**2 / noise).sum()) / 2
    root = np.linalg.cholesky(information + np.eye(width) / prior)
    step = np.linalg.solve(root.T, np.linalg.solve(root, pull))
    likelihood += float(pull @ step) / 2 - float(np.log(np.diag(root)).sum()) - width * math.log(prior) / 2
    return likelihood, step, information, prior
