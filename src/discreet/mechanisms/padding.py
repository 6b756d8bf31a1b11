"""Padding (ME9): a count that is never below the truth, for what must have room: dummies in a shuffle, sizes of shards.

Noise from one side alone, such as an exponential, keeps no promise: an answer below a neighbour's true count proves
which table it was. So the noise has two sides, is moved up by a public margin, and is cut off at the truth, which
happens with probability at most δ.
"""

from __future__ import annotations

import math

from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.samplers import discrete_laplace
from discreet.mechanisms.threshold import is_rare


def pad_count(count: int, epsilon: Number, delta: float, sensitivity: int = 1, rng: Keystream | None = None) -> int:
    """A whole number that is at least the count: count + max(0, margin + discrete Laplace noise of scale Δ/ε).

    Parameters
    ----------
    count : how many there are.
    sensitivity : Δ, by how many two neighbours' counts differ at most.

    Guarantee: (ε, δ)-DP (`proofs/padding.md`).

    >>> pad_count(1000, 1.0, 1e-6) >= 1000
    True
    """
    exact = int(whole("pad_count", "count", count))
    margin = padding_margin(epsilon, delta, sensitivity)
    scale = positive("pad_count", "sensitivity", sensitivity) / positive("pad_count", "epsilon", epsilon)
    return exact + max(0, margin + discrete_laplace(scale, rng=rng))


def padding_margin(epsilon: Number, delta: float, sensitivity: int = 1) -> int:
    """The least margin τ with P(G ≤ Δ - 1 - τ) ≤ δ, G discrete Laplace of scale Δ/ε, certified; the padding's median.

    P(G ≤ -m) = q^m/(1 + q) for m ≥ 1, with q = exp(-ε/Δ); so τ = m + Δ - 1 with the least such m.

    >>> padding_margin(1.0, 1e-6), padding_margin(1.0, 1e-6, 10)
    (14, 141)
    """
    exact, most = positive("pad_count", "epsilon", epsilon), positive("pad_count", "delta", delta)
    size = int(whole("pad_count", "sensitivity", sensitivity))
    if size < 1 or most >= 1:
        raise ValueError("pad_count needs a whole `sensitivity` >= 1 and a `delta` < 1. "
                         f"Got {sensitivity!r} and {delta!r}.")  # fmt: skip
    rate = exact / size
    guess = -math.log(float(most)) - math.log1p(math.exp(-min(float(rate), 700.0)))
    m = max(1, math.floor(guess / float(rate)) - 1)
    while not is_rare(m, rate, most):
        m += 1
    return m + size - 1
