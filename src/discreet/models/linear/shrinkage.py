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

from discreet.models.linear.known_moments import Part

Floats = NDArray[np.float64]

FLOOR = 0.7  # eigenvalues below so much of the noise's spectral norm are taken for it
EXPLAINED = np.logspace(-3, 0, 25)  # parts of the target's variance that slopes may explain, a priori
NOTHING = 0.1  # the chance that they explain nothing, a priori
SAMPLE = 0.25  # of the sampling noise that counts in shrinking: in full it would shrink more than predictions like
LIKELY = 0.1  # variance of a scaled mean, a priori
ROUNDS = 4  # of estimating how large coefficients are, for the noise of the matrix times them


@dataclass(frozen=True)
class Solved:
    """Coefficients of (1, u) in scaled units; and `centre`, what the moments alone say of them, with its covariance.

    The covariance holds sampling and privacy noise together.
    """

    theta: Floats
    covariance: Floats
    centre: Floats


def spectrum(gram: Floats, std: float, floor: float = FLOOR) -> tuple[Floats, Floats]:
    """Eigenvalues, floored at the size of the noise, and eigenvectors of a noisy second-moment matrix."""
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, floor * std * math.sqrt(2 * len(gram)) + 1e-9), vectors


def shrunk(parts: Sequence[Part]) -> Solved:
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
    prior = _prior(first)
    step, spread = np.zeros(len(prior)), prior
    for _ in range(ROUNDS):
        information, pull = _information(evidence, means, first, step, spread, SAMPLE)
        step, spread = _posterior(information, pull, prior[-len(first.mean) :])
    alone, pull = _alone(evidence, means, first, step, spread)
    covariance = _inverse(alone + np.diag(_vague(first)))
    theta, centre = (first.centre + first.frame @ one for one in (step, covariance @ pull))
    return Solved(theta, first.frame @ covariance @ first.frame.T, centre)


def _mean(parts: Sequence[Part]) -> Solved:
    """Means alone, averaged by their precision; shrunk to the middle of the range where they are mostly noise."""
    precision = sum(1 / _variance_of_mean(part) for part in parts)
    mean = sum((part.line / _variance_of_mean(part) for part in parts), np.zeros_like(parts[0].line)) / precision
    theta: Floats = mean * LIKELY / (LIKELY + 1 / precision)
    covariance = np.eye(len(theta))  # nothing is known of slopes: within the range, they may be anything
    covariance[0, 0] = 1 / precision + len(theta) - 1
    return Solved(theta, covariance, theta)


def _variance_of_mean(part: Part) -> float:
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
    part: Part

    def noise(self, step: Floats, spread: Floats, sample: float) -> Floats:
        """The variance of e along each eigenvector: the matrix's noise is times the distance to the part's line."""
        part = self.part
        sample = 1.0 if part.public else sample  # that is all the noise there is
        far = float(((self.turn @ step - self.off) ** 2).sum() + (self.turn**2 @ spread).sum())
        return part.cross_std**2 + part.gram_std**2 / 2 * far + sample * part.variance * self.values + 1e-12


def _evidence(part: Part, first: Part) -> _Evidence:
    values, vectors = spectrum(part.gram, part.gram_std)
    raw = np.einsum("ij,ik,kj->j", vectors, part.gram, vectors)
    turn = vectors.T if part is first else vectors.T @ np.linalg.solve(part.frame, first.frame)
    off = vectors.T @ np.linalg.solve(part.frame, part.line - first.centre)
    products = vectors.T @ part.cross + values * off
    level = (vectors @ turn)[0]
    return _Evidence(turn, off, level, values, products, raw >= values * (1 - 1e-9), part)


def _prior(first: Part) -> Floats:
    """Variances of the coordinates a priori, for slopes that explain all of the target's: alike, the level's known."""
    intercept = len(first.line) - len(first.mean)
    slopes = np.diag(first.gram)[intercept:] / max(first.count, 1.0)
    whole = first.variance if first.whole is None else first.whole
    each = whole / max(float(slopes.sum()), 0.1 * len(slopes), 1e-12)
    return np.append(np.zeros(intercept), np.full(len(slopes), each))


def _information(
    evidence: list[_Evidence], means: list[Part], first: Part, step: Floats, spread: Floats, sample: float
) -> tuple[Floats, Floats]:
    """J and h of all parts, in the working coordinates."""
    width = len(first.line)
    total, pull = np.zeros((width, width)), np.zeros(width)
    for one in evidence:
        noise = one.noise(step, spread, sample)
        total += (one.turn.T * (one.values**2 / noise)) @ one.turn
        pull += one.turn.T @ (one.values * one.products / noise)
        if len(one.part.mean) < width and one.part.start_std < math.inf:
            at, off = one.level, float(np.linalg.solve(one.part.frame, one.part.centre - first.centre)[0])
            variance = one.part.start_std**2 + sample * one.part.variance / max(one.part.count, 1.0) + 1e-12
            total += np.outer(at, at) / variance
            pull += at * off / variance
    for part in means:
        at, off, variance = _side(part, first)
        total += np.outer(at, at) / variance
        pull += at * off / variance
    return total, pull


def _posterior(information: Floats, pull: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Mean and variances of coefficients, averaged over parts of this variance of slopes by the evidence for each."""
    intercept = len(pull) - len(prior)
    corner = information[:intercept, :intercept] + np.eye(intercept) / LIKELY
    side = np.linalg.solve(corner, information[:intercept, intercept:])
    inner = information[intercept:, intercept:] - information[intercept:, :intercept] @ side
    root = np.sqrt(prior)
    values, vectors = np.linalg.eigh(root[:, None] * inner * root)
    values, along = np.maximum(values, 0.0), vectors.T @ (root * (pull[intercept:] - side.T @ pull[:intercept]))

    taus = np.append(0.0, EXPLAINED)[:, None]
    spread = taus / (1 + taus * values)
    means = along * spread
    log = (along * means - np.log1p(taus * values)).sum(axis=1) / 2
    log += np.log(np.append(NOTHING, np.full(len(EXPLAINED), (1 - NOTHING) / len(EXPLAINED))))
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    turned = root[:, None] * vectors
    slopes = turned @ (weight @ means)
    variances = weight @ (spread @ (turned**2).T + (means @ turned.T) ** 2) - slopes**2
    level = np.linalg.solve(corner, pull[:intercept]) - side @ slopes
    return np.append(level, slopes), np.append(1 / np.diag(corner), variances)


def _side(part: Part, first: Part) -> tuple[Floats, float, float]:
    """A mean alone, in the working coordinates: where the features' mean is, how far off the line is, and its noise."""
    at = np.append(np.ones(len(first.line) - len(first.mean)), first.mean)
    return first.frame.T @ at, float(part.line[0] - at @ first.centre), _variance_of_mean(part)


def _alone(
    evidence: list[_Evidence], means: list[Part], first: Part, step: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """What the parts say of each direction, with all of the sampling noise, where it stands out of the noise."""
    width = len(first.line)
    total, pull = np.zeros((width, width)), np.zeros(width)
    for one in evidence:
        weight = one.known / one.noise(step, spread, 1.0)
        total += (one.turn.T * (weight * one.values**2)) @ one.turn
        pull += one.turn.T @ (weight * one.values * one.products)
    for part in means:
        at, off, variance = _side(part, first)
        total += np.outer(at, at) / variance
        pull += at * off / variance
    return total, pull


def _vague(first: Part) -> Floats:
    """What is known of coefficients beforehand: none of a standardised coordinate, squared, is above the variance.

    Intervals allow for as much: they do not know of the shrinking.
    """
    offset = float(np.sum(np.linalg.solve(first.frame, first.line) ** 2))
    least: Floats = np.full(len(first.line), 1 / (first.variance + offset))
    return least


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
    """A part's matrix and its products about theta, for rows (1, u) that count as one each.

    Where the products are mostly noise, little is left of them: for coefficients as large as the target's deviation.
    """
    values, vectors = spectrum(part.gram, part.gram_std)
    inverse = np.linalg.inv(part.frame)
    gram = inverse.T @ (vectors * values) @ vectors.T @ inverse
    signal = values**2 * (part.variance if part.whole is None else part.whole)
    kept = signal / (signal + part.cross_std**2 + 1e-300)
    products = inverse.T @ (vectors * kept) @ (vectors.T @ part.about(theta))
    weight = 1.0 if part.public or not part.count else _weight(part)
    return gram / weight, products / weight


def _weight(part: Part) -> float:
    """The mean weight of a row, squared; as the coordinates that are 1 on average have it, if it was not measured."""
    rough = float(np.trace(part.gram)) / (part.count * len(part.gram))
    return min(max(rough, 0.1), 1.0) if part.weight is None else part.weight
