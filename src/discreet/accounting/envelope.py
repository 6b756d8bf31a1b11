"""The pair of which no curve of several is anywhere above: what an analyst may choose among them costs.

On a grid of losses k·h a symmetric pair is known by P's masses at k = 1, 2, …: at −k they are e^(−kh) times those, and
the rest is at 0. With Eₖ = Σ over j > k of e^((k−j)h) pⱼ, the curve δ at the grid points is Dₖ = (e^h − 1)·Σ over i ≥ k
of Eᵢ: sums of positive terms, so that nothing cancels. Proof: `mechanisms/proofs/accounting.md`, 2.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]

_UNIT = 2.0**-53


def envelope(ways: Sequence[Floats], step: float, total: float) -> Floats:
    """P's masses at the losses −K…K of a symmetric pair that dominates several, given theirs at 1…K; they sum to total.

    >>> envelope([np.array([0.0, 0.3]), np.array([0.5])], math.log(2.0), 1.0).round(3)
    array([0.075, 0.025, 0.55 , 0.05 , 0.3  ])
    """
    size = max(len(masses) for masses in ways)
    padded = [np.pad(masses, (0, size - len(masses))) for masses in ways]
    right = reduce(lambda one, other: _upper(one, other, step), padded)
    left = right * np.exp(-step * np.arange(1, size + 1))
    middle = max(total - math.fsum(right) - math.fsum(left), 0.0)
    return np.concatenate([left[::-1], [middle], right])


def _upper(one: Floats, other: Floats, step: float) -> Floats:
    """Masses at 1…K of the least grid pair that dominates both: chords between the larger values of the two curves."""
    (a, slopes_a), (b, slopes_b) = _curve(one, step), _curve(other, step)
    first = a >= b
    tall = np.maximum(a, b)
    # minus the slope of each chord in e^ε, times e^(kh): E itself wherever both ends are on the same curve
    same = first[:-1] == first[1:]
    chords = np.where(first[:-1], slopes_a[:-1], slopes_b[:-1])
    chords = np.where(same, chords, (tall[:-1] - tall[1:]) / math.expm1(step))
    masses = np.where(first[1:], one, other)
    there = np.flatnonzero(~(same & np.append(same[1:], True)))  # a chord from one curve to the other begins or ends
    after = np.append(chords[1:], 0.0)
    doubt = 8 * _UNIT * tall[there] / math.expm1(step)
    masses[there] = np.maximum(math.exp(step) * chords[there] - after[there], 0.0) + doubt
    return masses


def _curve(masses: Floats, step: float) -> tuple[Floats, Floats]:
    """D and E at 0…K."""
    fall = math.exp(-step)
    slopes = np.append(lfilter([fall], [1.0, -fall], masses[::-1])[::-1], 0.0)
    return np.cumsum(slopes[::-1])[::-1] * math.expm1(step), slopes
