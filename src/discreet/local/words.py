"""Shares of words from bits of Bloom filters: least squares on candidates, with or without negative shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local.lasting import Rappor

Floats = NDArray[np.float64]


def decode_words(
    design: Rappor, shares: Floats, people: NDArray[np.int64], candidates: list[str], unbiased: bool
) -> dict[str, tuple[float, float]]:
    """The share and the standard deviation of each candidate, from the shares of bits in each cohort."""
    from scipy.optimize import nnls

    if len(set(candidates)) < len(candidates) or not candidates:
        raise ValueError("The `candidates` must be words, no two alike.")
    table = place_words(design, candidates)
    weight = np.repeat(np.sqrt(people / max(1, people.sum())), design.size)
    system, right = table * weight[:, None], shares.ravel() * weight
    gram = system.T @ system
    if unbiased:
        if np.linalg.matrix_rank(gram) < len(candidates):
            raise ValueError("These bits cannot distinguish so many candidates. Hint: unbiased=False, or more bits.")
        found = np.linalg.solve(gram, system.T @ right)
    else:  # the Cholesky factor gives the same least squares with as many rows as candidates
        ridge = 1e-10 * np.trace(gram) / len(gram)
        factor = np.linalg.cholesky(gram + ridge * np.eye(len(gram)))
        found = nnls(factor.T, np.linalg.solve(factor, system.T @ right), maxiter=30 * len(candidates))[0]
    p, q = design.rates
    noise = 0.25 if design.instant else max(p * (1 - p), q * (1 - q))
    spread = np.sqrt(np.clip(np.diag(np.linalg.pinv(gram)), 0, None) * noise / max(1, people.sum())) / (p - q)
    return {word: (float(x), float(s)) for word, x, s in zip(candidates, found, spread, strict=True)}


def place_words(design: Rappor, candidates: list[str]) -> Floats:
    """The bits that each candidate sets in each cohort, as a column."""
    table = np.zeros((design.cohorts * design.size, len(candidates)))
    for cohort in range(design.cohorts):
        for column, word in enumerate(candidates):
            table[[cohort * design.size + bit for bit in design.find_bits(word, cohort)], column] = 1
    return table
