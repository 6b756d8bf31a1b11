"""Independent reals that are never rounded: known to some bits, with more to be had.

Each magnitude lies in [m, m + 1]·2^-bits, m a Python int, and its further bits are fair: `refine` draws them.

Proof: `proofs/samplers.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.rejection import Plan, one

_NORMAL = Plan(2, Fraction(1), rounded=True)
_EXPONENTIAL = Plan(1, Fraction(1), rounded=True)


@dataclass
class Reals:
    """Signed reals: `signs[i]`·x with x in [m[i], m[i] + 1]·2^-bits.

    >>> z = normals(3, Keystream.seeded(1))
    >>> before, bits = list(z.m), z.bits
    >>> z.refine()
    >>> [m >> 64 for m in z.m] == before, z.bits - bits
    (True, 64)
    """

    m: list[int]
    signs: list[int]
    bits: int
    rng: Keystream

    def refine(self) -> None:
        """Reveal 64 more bits of each."""
        self.m = [m << 64 | self.rng.word() for m in self.m]
        self.bits += 64


def normals(n: int, rng: Keystream) -> Reals:
    """`n` independent standard normals."""
    return _reals(_NORMAL, n, rng)


def exponentials(n: int, rng: Keystream) -> Reals:
    """`n` independent standard exponentials, signs all +1."""
    reals = _reals(_EXPONENTIAL, n, rng)
    reals.signs = [1] * n
    return reals


def _reals(plan: Plan, n: int, rng: Keystream) -> Reals:
    draws = [one(plan, rng) for _ in range(n)]
    # a draw that was settled exactly knows more bits of V; the others are brought to as many
    bits = max((v.bits for _, v, _ in draws), default=64)
    for _, v, _ in draws:
        while v.bits < bits:
            v.reveal()
    m = [k << bits | v.m for k, v, _ in draws]
    return Reals(m, [-1 if negative else 1 for *_, negative in draws], bits - plan.j, rng)
