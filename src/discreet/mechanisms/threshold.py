"""Thresholds: the first query above one (sparse vector), and which unknown keys may be named at all.

Proof: `proofs/threshold.md`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from discreet.errors import NotSupported
from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.lazy import exp_bounds
from discreet.mechanisms.samplers import unwrapped

Key = TypeVar("Key", bound=Hashable)


class AboveThreshold:
    """Answers False to any number of queries, until one seems above the threshold: True, and it is spent.

    Parameters
    - threshold: a whole number, public.
    - sensitivity: Δ, a bound on the change of any one query between neighbours; queries are whole numbers.
    - monotonic: all queries move the same way between neighbours (counts do); halves their noise.

    Guarantee: ε-DP for all answers together, however many and however chosen. Nothing is assumed of the
    neighbour relation but the bound.

    The noise is discrete Laplace: of scale Δ/ε₁ on the threshold, drawn once, and 2Δ/ε₂ on each query
    (Δ/ε₂ if monotonic), with ε₁ + ε₂ = ε in the proportion that makes the variance of their difference
    least.

    >>> gate = AboveThreshold(1000, 1.0, 1)
    >>> gate.ask(0), gate.ask(5000)
    (False, True)
    """

    def __init__(
        self,
        threshold: int,
        epsilon: Number,
        sensitivity: Number,
        rng: Keystream | None = None,
        *,
        monotonic: bool = False,
    ) -> None:
        exact = positive("AboveThreshold", "epsilon", epsilon)
        # whole numbers move by whole steps
        delta = math.floor(positive("AboveThreshold", "sensitivity", sensitivity))
        if delta < 1:
            raise ValueError(f"The `sensitivity` of AboveThreshold must be >= 1. Got {sensitivity!r}.")
        # least (1/ε₁)² + (m/ε₂)² at ε₂ = m^(2/3)·ε₁; m = 1 or 2, and 2^(2/3) is near 8/5
        for_threshold = exact * (Fraction(1, 2) if monotonic else Fraction(5, 13))
        self._rng = rng or default()
        self._scale = (1 if monotonic else 2) * delta / (exact - for_threshold)
        self._bar = _whole(threshold) + _noise(delta / for_threshold, self._rng)
        self._spent = False

    def ask(self, value: int) -> bool:
        """Whether `value`, the answer to the next query, seems to be at or above the threshold."""
        if self._spent:
            raise NotSupported("This AboveThreshold has said True and is spent. Hint: pay for another.")
        self._spent = _whole(value) + _noise(self._scale, self._rng) >= self._bar
        return self._spent


def select_keys(
    counts: Mapping[Key, int],
    epsilon: Number,
    delta: float,
    rng: Keystream | None = None,
    *,
    max_keys_per_unit: int = 1,
) -> dict[Key, int]:
    """The keys with noisy counts above a threshold, and those counts; for keys that are not public.

    Parameters
    - counts: how many units hold each key; a unit adds at most 1 to at most `max_keys_per_unit` of them.

    Guarantee: (ε, δ)-DP when a unit is added or removed. Noise is discrete Laplace of scale
    `max_keys_per_unit`/ε; the threshold is the least at which the keys of a unit that are nobody else's
    show with probability at most δ altogether (`key_threshold`). What is returned is sorted by the keys'
    repr, as the order of `counts` may tell something about rows.

    | edge | result |
    | --- | --- |
    | no keys | {} |
    | a count of 0 or less | as if the key were absent |

    >>> select_keys({"common": 10_000, "rare": 1}, 1.0, 1e-6, Keystream.seeded(1))
    {'common': 10000}
    """
    scale = max_keys_per_unit / positive("select_keys", "epsilon", epsilon)
    least = key_threshold(epsilon, delta, max_keys_per_unit)
    held = {key: _whole(count) for key, count in counts.items() if count > 0}
    noise = unwrapped("discrete_laplace", scale, len(held), rng)
    noisy = {key: count + int(x) for (key, count), x in zip(held.items(), noise, strict=True)}
    return {key: noisy[key] for key in sorted(noisy, key=repr) if noisy[key] >= least}


def key_threshold(epsilon: Number, delta: float, max_keys_per_unit: int = 1) -> int:
    """The least whole t with m·P(1 + X ≥ t) ≤ δ, X discrete Laplace of scale m/ε, certified.

    P(X ≥ t - 1) = q^(t - 1)/(1 + q) for t ≥ 2, with q = exp(-ε/m).

    >>> key_threshold(1.0, 1e-6)
    15
    """
    exact = positive("select_keys", "epsilon", epsilon)
    m, most = max_keys_per_unit, positive("select_keys", "delta", delta)
    if isinstance(m, bool) or not isinstance(m, int) or m < 1 or most >= 1:
        raise ValueError("select_keys needs whole `max_keys_per_unit` >= 1 and `delta` < 1. "
                         f"Got {max_keys_per_unit!r} and {delta!r}.")  # fmt: skip
    rate = exact / m
    guess = math.log(m / most) - math.log1p(math.exp(-min(float(rate), 700.0)))
    t = max(2, math.floor(guess / float(rate)) - 1)
    while not is_rare(t - 1, rate, most / m):
        t += 1
    return t


def is_rare(x: int, rate: Fraction, most: Fraction) -> bool:
    """Whether q^x/(1 + q) ≤ most, q = exp(-rate), by bounds that err to the safe side by 2^-64 of `most` at most."""
    bits = 80 + most.denominator.bit_length() - most.numerator.bit_length()
    high, low = exp_bounds(rate * x, bits)[1], exp_bounds(rate, bits)[0]
    return Fraction(high, (1 << bits) + low) <= most


def _noise(scale: Fraction, rng: Keystream) -> int:
    return int(unwrapped("discrete_laplace", scale, 1, rng)[0])


def _whole(value: Any) -> int:
    return int(whole("threshold", "value", value))
