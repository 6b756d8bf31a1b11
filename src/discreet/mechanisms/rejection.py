"""The one sampler behind all noise: a magnitude 2^j·(K + V), accepted with probability exp(-h).

The target has density ∝ exp(-a·x^q) at x = magnitude / 2^j, with a = 1/(q·s^q) and s = scale / 2^j in
[16, 32). K comes from a table of proposal scale just above s, V is uniform, and
h = a·(K + V)^q - b·K^q ≥ 0 is what the proposal left out. One word of 64 bits gives the first 16 bits of
the U behind K, a sign, and 47 bits of the R that is compared with exp(-h); a second word gives 64 bits of
V. Floats decide R < exp(-h) only where the two are further apart than `BRACKET`, a proved bound of their
error; the other draws, some 2^-39 of them, are settled exactly (`discreet.mechanisms.lazy`).

Proof: `proofs/samplers.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.lazy import Lazy, below_exp
from discreet.mechanisms.tables import Table, exponent, proposal, table

BRACKET = 2.0**-40  # floats are trusted beyond this distance; tests widen it, which must change no decision
CHUNK = 1 << 14  # draws per batch, so that temporaries stay in the cache
_R_BITS = 47
_R_UNIT = 2.0**-_R_BITS


@dataclass(frozen=True)
class Plan:
    """What is computed once for a law: its power q (1 Laplace, 2 normal), its scale, whether it is rounded.

    >>> plan = Plan(2, Fraction(1000), rounded=True)
    >>> plan.j, float(plan.s), float(plan.a)
    (5, 31.25, 0.000512)
    """

    power: int
    scale: Fraction
    rounded: bool

    @cached_property
    def j(self) -> int:
        """The binary exponent; a discrete law is not stretched below its own grid."""
        j = exponent(self.scale) - 4
        return j if self.rounded else max(j, 0)

    @cached_property
    def s(self) -> Fraction:
        """The scale of K + V."""
        return self.scale / Fraction(2) ** self.j

    @cached_property
    def a(self) -> Fraction:
        """The rate of the target."""
        return 1 / (self.power * self.s**self.power)

    @cached_property
    def table(self) -> Table:
        """The law of K."""
        return table(self.power, proposal(self.s), half=not self.rounded and self.j == 0)

    @cached_property
    def two_zeros(self) -> bool:
        """Whether zero would be drawn with either sign and count twice."""
        return not self.rounded and self.j > 0

    @cached_property
    def rates(self) -> tuple[float, float]:
        """The nearest floats to the rates of target and proposal."""
        return float(self.a), float(self.table.rate)

    @cached_property
    def mask(self) -> int:
        """The bits of V: all of them for a rounded law, the first j for a discrete one."""
        return (1 << 64) - (1 if self.rounded else 1 << (64 - self.j))

    @property
    def effort(self) -> float:
        """Proposals per draw, roughly."""
        return 1.15 if self.s >= 16 else 1.3

    def exponent(self, k: int, v: Fraction) -> Fraction:
        """h, exactly."""
        target, drawn = (k + v) ** self.power, k**self.power
        h: Fraction = self.a * target - self.table.rate * drawn
        return h

    def magnitude(self, k: Any, v: Any) -> Any:
        """2^j·(K + V) to the nearest whole number, from the first j + 1 bits of V.

        A discrete law has only j bits, the last one is 0 and nothing is rounded.

        >>> Plan(2, Fraction(1000), rounded=True).magnitude(1, 0b000011)
        34
        >>> Plan(2, Fraction(1), rounded=True).magnitude(24, 0)
        2
        """
        if self.j < 0:  # V cannot matter: half a unit is 2^(-j-1) steps of K
            return (k + (1 << (-self.j - 1))) >> -self.j
        return (k << self.j) + ((v + 1) >> 1)

    @property
    def unread(self) -> int:
        """How many of the 64 bits of V the magnitude does not read."""
        return 63 - max(self.j, 0)


def one(plan: Plan, rng: Keystream) -> tuple[int, Lazy, bool]:
    """One accepted (K, V, negative) in plain Python: for scalars, and for reals that will be refined."""
    (a, b), q, guide = plan.rates, plan.power, plan.table.guide
    while True:
        w = rng.word()
        k: int = guide.item(w & 0xFFFF)
        if k < 0:
            k = plan.table.find(w & 0xFFFF, rng)
        m = rng.word() & plan.mask if plan.mask else 0
        negative = bool(w & 0x10000)
        if plan.two_zeros and negative and not k and not m:
            continue
        margin = math.exp(b * k**q - a * (k + m * 2.0**-64) ** q) - (w >> 17) * _R_UNIT
        v = Lazy(m, 64, rng if plan.rounded else None)
        if abs(margin) < BRACKET or k > plan.table.top:
            if _accept(plan, k, v, w >> 17, rng):
                return k, v, negative
        elif margin > 0:
            return k, v, negative


def _accept(plan: Plan, k: int, v: Lazy, r: int, rng: Keystream) -> bool:
    return below_exp(Lazy(r, _R_BITS, rng), v, lambda known: plan.exponent(k, known))


def batch(plan: Plan, proposals: int, rng: Keystream) -> NDArray[Any]:
    """The signed values accepted among so many proposals: int64, or Python ints if one does not fit."""
    w = rng.u64(proposals)
    k = plan.table.draw(w.astype(np.uint16), rng)
    m = rng.u64(proposals) & np.uint64(plan.mask) if plan.mask else np.zeros(1, dtype=np.uint64)
    accepted = _decide(plan, k, m, w >> np.uint64(17), rng)
    sign = 1 - (w >> np.uint64(15) & np.uint64(2)).view(np.int64)
    x = _values(plan, k, m)
    if plan.two_zeros:
        accepted &= (x != 0) | (sign > 0)
    x *= sign.astype(x.dtype, copy=False)
    return x[accepted]


def _decide(
    plan: Plan, k: NDArray[np.int64], m: NDArray[np.uint64], r: NDArray[np.uint64], rng: Keystream
) -> NDArray[np.bool_]:
    """R < exp(-h) for each proposal."""
    (a, b), size = plan.rates, k.astype(np.float64)
    x = (m >> np.uint64(11)).view(np.int64) * 2.0**-53 + size
    h = a * x - b * size if plan.power == 1 else a * (x * x) - b * (size * size)
    margin = np.exp(-h) - r.view(np.int64) * _R_UNIT
    accepted: NDArray[np.bool_] = margin > 0
    for i in np.flatnonzero((np.abs(margin) < BRACKET) | (k > plan.table.top)):
        v = Lazy(int(m[i % len(m)]), 64, rng if plan.rounded else None)
        accepted[i] = _accept(plan, int(k[i]), v, int(r[i]), rng)
    return accepted


def _values(plan: Plan, k: NDArray[np.int64], m: NDArray[np.uint64]) -> NDArray[Any]:
    v = (m >> np.uint64(plan.unread)).view(np.int64)
    # beyond the table a magnitude may leave int64; such draws are as rare as their law says, and exact
    if k.max(initial=0) >= 1 << (62 - max(plan.j, 0)):
        return np.asarray(plan.magnitude(k.astype(object), v.astype(object)), dtype=object)
    return np.asarray(plan.magnitude(k, v))


def many(plan: Plan, n: int, rng: Keystream) -> NDArray[Any]:
    """`n` independent draws."""
    out: NDArray[Any] = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        x = batch(plan, min(CHUNK, int((n - filled) * plan.effort) + 16), rng)[: n - filled]
        out = out.astype(object) if x.dtype == object and out.dtype != object else out
        out[filled : filled + len(x)] = x
        filled += len(x)
    return out
