"""Exact noise: four laws on the whole numbers, and a coin.

| law | probability of x |
| --- | --- |
| `discrete_laplace(scale)` | ∝ exp(-abs(x)/scale) |
| `discrete_gaussian(scale)` | ∝ exp(-x²/(2·scale²)) |
| `rounded_laplace(scale)` | that of round(L), L of the Laplace law of that scale |
| `rounded_normal(scale)` | that of round(scale·Z), Z standard normal |

For a whole number s, s + round(Y) = round(s + Y): adding rounded noise to a sum on the grid is a
post-processing of the continuous mechanism, so its guarantee holds to the letter. The laws are exact,
tails included, for any rational scale within [2^-40, 2^56] (a float is a rational); the bits come from a
cryptographic generator. Results are int64; one that does not fit (probability below 2^-90 at any scale)
wraps modulo 2^64, as sums of int64 do. `unwrapped` returns Python ints in that event.

Proof: `proofs/samplers.md`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import rejection
from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.lazy import Lazy, below_exp
from discreet.mechanisms.rejection import Plan

Size = int | tuple[int, ...]

_LAWS = {  # name: (power, rounded)
    "discrete_laplace": (1, False),
    "discrete_gaussian": (2, False),
    "rounded_laplace": (1, True),
    "rounded_normal": (2, True),
}
_FEW = 12  # up to here plain Python is faster than arrays


@overload
def discrete_laplace(scale: Number, size: None = None, rng: Keystream | None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Size, rng: Keystream | None = None) -> NDArray[np.int64]: ...
def discrete_laplace(scale: Number, size: Size | None = None, rng: Keystream | None = None) -> int | NDArray[np.int64]:
    """Whole numbers with P(x) ∝ exp(-abs(x)/scale).

    >>> discrete_laplace(2.5, size=(2, 3)).shape
    (2, 3)
    """
    return _draw("discrete_laplace", scale, size, rng)


@overload
def discrete_gaussian(scale: Number, size: None = None, rng: Keystream | None = None) -> int: ...
@overload
def discrete_gaussian(scale: Number, size: Size, rng: Keystream | None = None) -> NDArray[np.int64]: ...
def discrete_gaussian(scale: Number, size: Size | None = None, rng: Keystream | None = None) -> int | NDArray[np.int64]:
    """Whole numbers with P(x) ∝ exp(-x²/(2·scale²)).

    >>> discrete_gaussian(Fraction(1, 10), size=5, rng=Keystream.seeded(1))
    array([0, 0, 0, 0, 0])
    """
    return _draw("discrete_gaussian", scale, size, rng)


@overload
def rounded_laplace(scale: Number, size: None = None, rng: Keystream | None = None) -> int: ...
@overload
def rounded_laplace(scale: Number, size: Size, rng: Keystream | None = None) -> NDArray[np.int64]: ...
def rounded_laplace(scale: Number, size: Size | None = None, rng: Keystream | None = None) -> int | NDArray[np.int64]:
    """The Laplace law of that scale, rounded to the nearest whole number.

    >>> isinstance(rounded_laplace(2**40), int)
    True
    """
    return _draw("rounded_laplace", scale, size, rng)


@overload
def rounded_normal(scale: Number, size: None = None, rng: Keystream | None = None) -> int: ...
@overload
def rounded_normal(scale: Number, size: Size, rng: Keystream | None = None) -> NDArray[np.int64]: ...
def rounded_normal(scale: Number, size: Size | None = None, rng: Keystream | None = None) -> int | NDArray[np.int64]:
    """The normal law of that standard deviation, rounded to the nearest whole number.

    >>> x = rounded_normal(1e9, size=1000, rng=Keystream.seeded(1))
    >>> bool(0.9e9 < x.std() < 1.1e9)
    True
    """
    return _draw("rounded_normal", scale, size, rng)


def unwrapped(law: str, scale: Number, n: int, rng: Keystream | None = None) -> NDArray[Any]:
    """`n` draws of the law of that name: int64, or Python ints in the event that one does not fit."""
    plan, rng = _plan(law, scale), rng or default()
    if n <= _FEW:
        return whole("sampler", "draw", [_one(plan, rng) for _ in range(n)])
    return rejection.many(plan, n, rng)


def _draw(law: str, scale: Number, size: Size | None, rng: Keystream | None) -> int | NDArray[np.int64]:
    if size is None:
        return _wrap(_one(_plan(law, scale), rng or default()))
    shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    if any(length < 0 for length in shape):
        raise ValueError(f"The `size` of {law} must not be negative. Got {size!r}.")
    x = unwrapped(law, scale, math.prod(shape), rng)
    return (np.array([_wrap(v) for v in x], dtype=np.int64) if x.dtype == object else x).reshape(shape)


def _one(plan: Plan, rng: Keystream) -> int:
    k, v, negative = rejection.one(plan, rng)
    x: int = plan.magnitude(k, v.m >> (plan.unread + v.bits - 64))
    return -x if negative else x


def _wrap(x: int) -> int:
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


@lru_cache(maxsize=1024, typed=True)
def _plan(law: str, scale: Number) -> Plan:
    power, rounded = _LAWS[law]
    exact = positive(law, "scale", scale)
    if not Fraction(1, 1 << 40) <= exact <= 1 << 56:
        raise ValueError(
            f"The `scale` of {law} must be within [2^-40, 2^56]. Got {scale!r}. Hint: choose another grid."
        )
    return Plan(power, exact, rounded)


@overload
def bernoulli_exp(gamma: Fraction | int, rng: Keystream | None = None) -> bool: ...
@overload
def bernoulli_exp(gamma: tuple[Any, int], rng: Keystream | None = None) -> NDArray[np.bool_]: ...
def bernoulli_exp(gamma: Fraction | int | tuple[Any, int], rng: Keystream | None = None) -> bool | NDArray[np.bool_]:
    """A coin that shows True with probability exp(-gamma), exactly.

    `gamma` is a rational ≥ 0, or (whole numerators, denominator) for many coins at once.

    >>> bernoulli_exp(0), bernoulli_exp(Fraction(10**9))
    (True, False)
    >>> bernoulli_exp(([0, 10**9], 3)).tolist()
    [True, False]
    """
    if not isinstance(gamma, tuple):
        exact = Fraction(gamma)
        return bool(coins([exact.numerator], Fraction(1, exact.denominator), rng or default())[0])
    tops = np.asarray(gamma[0])
    return coins(tops.ravel(), Fraction(1, gamma[1]), rng or default()).reshape(tops.shape)


def coins(tops: Any, rate: Fraction, rng: Keystream) -> NDArray[np.bool_]:
    """Coins of probability exp(-rate·top), for whole numbers top ≥ 0: all are flipped at once, exactly.

    >>> coins([0, 10**400], Fraction(1, 3), default()).tolist()
    [True, False]
    """
    tops = whole("coins", "tops", tops)
    if tops.size and (tops.min() < 0 or rate < 0):
        raise ValueError("The exponent of a coin must be >= 0: its probability is exp(-exponent).")
    r = rng.u64(len(tops)) >> np.uint64(11)
    margin = np.exp(-floats(tops, rate)) - r * 2.0**-53
    heads: NDArray[np.bool_] = margin > 0
    for i in np.flatnonzero(np.abs(margin) < rejection.BRACKET):
        heads[i] = _coin(rate * int(tops[i]), Lazy(int(r[i]), 53, rng))
    return heads


def _coin(gamma: Fraction, r: Lazy) -> bool:
    return below_exp(r, Lazy(0, 0), lambda _: gamma)


def floats(tops: NDArray[Any], rate: Fraction) -> NDArray[np.float64]:
    """rate·top within a relative 2^-51, or else so near to 0 or so large that exp(-·) cannot tell.

    >>> floats(np.array([3, 10**400]), Fraction(1, 2)).tolist()
    [1.5, 1e+300]
    """
    if tops.dtype == object:
        return np.array([float(min(rate * int(top), Fraction(10**300))) for top in tops], dtype=np.float64)
    return tops * float(min(rate, Fraction(10**9)))
