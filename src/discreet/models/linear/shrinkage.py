"""SOLVE: coefficients from noisy moments, shrunk by what is known of the noise (empirical Bayes).

The moments of a part say b = A θ + e, where e is noise of known size: of the products, of the matrix (times θ), and of
the sample. Coefficients are measured from the private mean of the target, a line without slopes. They have a prior
N(0, τ²) there, which gives

    θ = Σ w(τ) (J + 1/τ²)⁻¹ h,   J = A Ω A,   h = A Ω b,   Ω = Cov(e)⁻¹,

summed over parts: each enters with its own precision. The weights w are the evidence: the likelihood of the released
moments under that prior. So slopes shrink to nothing, and the answer to the private mean, as the noise grows. Nothing
here sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.linear.known_moments import KnownMoments

Floats = NDArray[np.float64]

NOISE_FLOOR = 0.7  # eigenvalues below so much of the noise's spectral norm are taken for it
EXPLAINED_SHARES = np.logspace(-3, 0, 25)  # parts of the target's variance that slopes may explain, a priori
NOTHING_CHANCE = 0.1  # the chance that they explain nothing, a priori
SAMPLING_SHARE = (
    0.25  # of the sampling noise that counts in shrinking: in full it would shrink more than predictions like
)
MEAN_VARIANCE = 0.1  # variance of a scaled mean, a priori
ROUNDS = 4  # of estimating how large coefficients are, for the noise of the matrix times them


@dataclass(frozen=True)
class Solution:
    """Coefficients of (1, u) in scaled units; and `centre`, what the moments alone say of them, with its covariance.

    The covariance holds sampling and privacy noise together.
    """

    theta: Floats
    covariance: Floats
    centre: Floats


def floor_spectrum(gram: Floats, std: float, floor: float = NOISE_FLOOR) -> tuple[Floats, Floats]:
    """Eigenvalues, floored at the size of the noise, and eigenvectors of a noisy second-moment matrix."""
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, floor * std * math.sqrt(2 * len(gram)) + 1e-9), vectors


def shrink_coefficients(parts: Sequence[KnownMoments]) -> Solution:
    """The coefficients that these parts speak for.

    The first private part that informs sets the coordinates in which coefficients are a priori alike. Parts that are a
    mean alone say what the target is at the mean of the features.
    """
    speaking = [part for part in parts if part.has_slopes]
    means = [part for part in parts if not part.has_slopes]
    if not speaking:
        return _solve_means(means)
    first = next((part for part in speaking if not part.is_public), speaking[0])
    evidence = [_make_evidence(part, first) for part in speaking]
    prior = _prior_variances(first)
    step, spread = np.zeros(len(prior)), prior
    for _ in range(ROUNDS):
        information, pull = _sum_information(evidence, means, first, step, spread, SAMPLING_SHARE)
        step, spread = _average_posterior(information, pull, prior[-len(first.mean) :])
    alone, pull = _sum_unshrunk(evidence, means, first, step, spread)
    covariance = _invert_positive(alone + np.diag(_vague_precision(first)))
    theta, centre = (first.centre + first.frame @ one for one in (step, covariance @ pull))
    return Solution(theta, first.frame @ covariance @ first.frame.T, centre)


def _solve_means(parts: Sequence[KnownMoments]) -> Solution:
    """Means alone, averaged by their precision; shrunk to the middle of the range where they are mostly noise."""
    precision = sum(1 / _mean_variance(part) for part in parts)
    mean = sum((part.line / _mean_variance(part) for part in parts), np.zeros_like(parts[0].line)) / precision
    theta: Floats = mean * MEAN_VARIANCE / (MEAN_VARIANCE + 1 / precision)
    covariance = np.eye(len(theta))  # nothing is known of slopes: within the range, they may be anything
    covariance[0, 0] = 1 / precision + len(theta) - 1
    return Solution(theta, covariance, theta)


def _mean_variance(part: KnownMoments) -> float:
    return part.cross_std**2 + part.variance / max(part.count, 1.0) + 1e-12


@dataclass(frozen=True)
class _Evidence:
    """A part in the working coordinates: eigenvalues and vectors of its matrix, b rotated, and its noise."""

    turn: Floats  # working coordinates -> eigenvectors of the part's matrix
    off: Floats  # where the part's line is, from the centre, along these
    level: Floats  # the direction that its level is known along
    values: Floats
    products: Floats  # about the centre
    known: NDArray[np.bool_]  # eigenvalues that stand out of the noise
    part: KnownMoments

    def noise_variance(self, step: Floats, spread: Floats, sample: float) -> Floats:
        """The variance of e along each eigenvector: the matrix's noise is times the distance to the part's line."""
        part = self.part
        sample = 1.0 if part.is_public else sample  # that is all the noise there is
        far = float(((self.turn @ step - self.off) ** 2).sum() + (self.turn**2 @ spread).sum())
        return part.cross_std**2 + part.gram_std**2 / 2 * far + sample * part.variance * self.values + 1e-12


def _make_evidence(part: KnownMoments, first: KnownMoments) -> _Evidence:
    values, vectors = floor_spectrum(part.gram, part.gram_std)
    raw = np.einsum("ij,ik,kj->j", vectors, part.gram, vectors)
    turn = vectors.T if part is first else vectors.T @ np.linalg.solve(part.frame, first.frame)
    off = vectors.T @ np.linalg.solve(part.frame, part.line - first.centre)
    products = vectors.T @ part.cross + values * off
    level = (vectors @ turn)[0]
    return _Evidence(turn, off, level, values, products, raw >= values * (1 - 1e-9), part)


def _prior_variances(first: KnownMoments) -> Floats:
    """Variances of the coordinates a priori, for slopes that explain all of the target's: alike, the level's known."""
    intercept = len(first.line) - len(first.mean)
    slopes = np.diag(first.gram)[intercept:] / max(first.count, 1.0)
    whole = first.variance if first.whole is None else first.whole
    each = whole / max(float(slopes.sum()), 0.1 * len(slopes), 1e-12)
    return np.append(np.zeros(intercept), np.full(len(slopes), each))


def _sum_information(
    evidence: list[_Evidence],
    means: list[KnownMoments],
    first: KnownMoments,
    step: Floats,
    spread: Floats,
    sample: float,
) -> tuple[Floats, Floats]:
    """J and h of all parts, in the working coordinates."""
    width = len(first.line)
    total, pull = np.zeros((width, width)), np.zeros(width)
    for one in evidence:
        noise = one.noise_variance(step, spread, sample)
        total += (one.turn.T * (one.values**2 / noise)) @ one.turn
        pull += one.turn.T @ (one.values * one.products / noise)
        if len(one.part.mean) < width and one.part.start_std < math.inf:
            at, off = one.level, float(np.linalg.solve(one.part.frame, one.part.centre - first.centre)[0])
            variance = one.part.start_std**2 + sample * one.part.variance / max(one.part.count, 1.0) + 1e-12
            total += np.outer(at, at) / variance
            pull += at * off / variance
    for part in means:
        at, off, variance = _locate_mean(part, first)
        total += np.outer(at, at) / variance
        pull += at * off / variance
    return total, pull


def _average_posterior(information: Floats, pull: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Mean and variances of coefficients, averaged over parts of this variance of slopes by the evidence for each."""
    intercept = len(pull) - len(prior)
    corner = information[:intercept, :intercept] + np.eye(intercept) / MEAN_VARIANCE
    side = np.linalg.solve(corner, information[:intercept, intercept:])
    inner = information[intercept:, intercept:] - information[intercept:, :intercept] @ side
    root = np.sqrt(prior)
    values, vectors = np.linalg.eigh(root[:, None] * inner * root)
    values, along = np.maximum(values, 0.0), vectors.T @ (root * (pull[intercept:] - side.T @ pull[:intercept]))

    taus = np.append(0.0, EXPLAINED_SHARES)[:, None]
    spread = taus / (1 + taus * values)
    means = along * spread
    log = (along * means - np.log1p(taus * values)).sum(axis=1) / 2
    log += np.log(
        np.append(NOTHING_CHANCE, np.full(len(EXPLAINED_SHARES), (1 - NOTHING_CHANCE) / len(EXPLAINED_SHARES)))
    )
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    turned = root[:, None] * vectors
    slopes = turned @ (weight @ means)
    variances = weight @ (spread @ (turned**2).T + (means @ turned.T) ** 2) - slopes**2
    level = np.linalg.solve(corner, pull[:intercept]) - side @ slopes
    return np.append(level, slopes), np.append(1 / np.diag(corner), variances)


def _locate_mean(part: KnownMoments, first: KnownMoments) -> tuple[Floats, float, float]:
    """A mean alone, in the working coordinates: where the features' mean is, how far off the line is, and its noise."""
    at = np.append(np.ones(len(first.line) - len(first.mean)), first.mean)
    return first.frame.T @ at, float(part.line[0] - at @ first.centre), _mean_variance(part)


def _sum_unshrunk(
    evidence: list[_Evidence], means: list[KnownMoments], first: KnownMoments, step: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """What the parts say of each direction, with all of the sampling noise, where it stands out of the noise."""
    width = len(first.line)
    total, pull = np.zeros((width, width)), np.zeros(width)
    for one in evidence:
        weight = one.known / one.noise_variance(step, spread, 1.0)
        total += (one.turn.T * (weight * one.values**2)) @ one.turn
        pull += one.turn.T @ (weight * one.values * one.products)
    for part in means:
        at, off, variance = _locate_mean(part, first)
        total += np.outer(at, at) / variance
        pull += at * off / variance
    return total, pull


def _vague_precision(first: KnownMoments) -> Floats:
    """What is known of coefficients beforehand: none of a standardised coordinate, squared, is above the variance.

    Intervals allow for as much: they do not know of the shrinking.
    """
    offset = float(np.sum(np.linalg.solve(first.frame, first.line) ** 2))
    least: Floats = np.full(len(first.line), 1 / (first.variance + offset))
    return least


def _invert_positive(matrix: Floats) -> Floats:
    """Of a positive definite matrix, whatever rounding made of it."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.maximum(values, 1e-15 * values[-1])) @ vectors.T)


@dataclass(frozen=True)
class NormalEquations:
    """The normal equations of all parts together, in scaled units, gram θ = products: a row counts as one again."""

    gram: Floats
    products: Floats
    count: float


def pool_parts(parts: Sequence[KnownMoments], theta: Floats) -> NormalEquations:
    """The parts that inform as one set of normal equations; exact where each part's line is, and noisy away from it."""
    width = len(theta)
    gram, products, count = np.zeros((width, width)), np.zeros(width), 0.0
    for part in parts:
        if part.has_slopes:
            one, pull = _restore_weights(part, theta)
            gram, products, count = gram + one, products + pull, count + part.count
    return NormalEquations(gram, gram @ theta + products, max(count, 1.0))


def _restore_weights(part: KnownMoments, theta: Floats) -> tuple[Floats, Floats]:
    """A part's matrix and its products about theta, for rows (1, u) that count as one each.

    Where the products are mostly noise, little is left of them: for coefficients as large as the target's deviation.
    """
    values, vectors = floor_spectrum(part.gram, part.gram_std)
    inverse = np.linalg.inv(part.frame)
    gram = inverse.T @ (vectors * values) @ vectors.T @ inverse
    signal = values**2 * (part.variance if part.whole is None else part.whole)
    kept = signal / (signal + part.cross_std**2 + 1e-300)
    products = inverse.T @ (vectors * kept) @ (vectors.T @ part.move_products(theta))
    weight = 1.0 if part.is_public or not part.count else _mean_square_weight(part)
    return gram / weight, products / weight


def _mean_square_weight(part: KnownMoments) -> float:
    """The mean weight of a row, squared; as the coordinates that are 1 on average have it, if it was not measured."""
    rough = float(np.trace(part.gram)) / (part.count * len(part.gram))
    return min(max(rough, 0.1), 1.0) if part.weight is None else part.weight
