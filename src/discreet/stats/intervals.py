"""Confidence intervals that account for both the privacy noise and the sampling."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.events import Event, Laplace, Pure, flatten
from discreet.release import Release, whole_reach

Floats = NDArray[np.float64]

DRAWS = 20_001


def find_half_width(confidence: float, normal: Any, noise: tuple[Any, ...], event: Event) -> Any:
    """The half-width of an interval around 0 that holds a normal error plus noises, with the given confidence.

    `normal` is the standard deviation of the sampling error, `noise` those of independent noises of the event's law. If
    all noise is Gaussian, the half-width is a multiple of the total deviation. With Laplace noise, or the discrete
    noise of counts, which is close to it, the half-width is simulated with public random numbers: it is a property of
    known laws, not of the data.
    """
    variance = np.square(normal) + sum(np.square(part) for part in noise)
    if not any(isinstance(leaf, Laplace | Pure) for leaf, _ in flatten(event)):
        return _normal_quantile(confidence) * np.sqrt(variance)
    gauss, laplace = _draw_errors(len(noise))
    shape = np.broadcast(normal, *noise).shape
    flat = [np.broadcast_to(part, shape).reshape(-1, 1) for part in (normal, *noise)]
    errors = np.abs(flat[0] * gauss + sum(part * law for part, law in zip(flat[1:], laplace, strict=True)))
    found = np.quantile(errors, confidence, axis=1).reshape(shape)
    return found if found.ndim else float(found)


def bound_counts(counts: Release, confidence: float) -> tuple[Floats, Floats]:
    """The interval of each true count, with the given confidence; no end is below zero."""
    whole = isinstance(counts.event, Pure) and not (counts.value % 1).any()
    half = (
        whole_reach(1 - confidence, float(counts.std))
        if whole
        else find_half_width(confidence, 0.0, (counts.std,), counts.event)
    )
    return np.maximum(0.0, counts.value - half), np.maximum(0.0, counts.value + half)


@lru_cache(maxsize=8)
def _draw_errors(noises: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(20_140_101)
    return rng.standard_normal(DRAWS), rng.laplace(scale=np.sqrt(0.5), size=(noises, DRAWS))


def _normal_quantile(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + confidence / 2)
