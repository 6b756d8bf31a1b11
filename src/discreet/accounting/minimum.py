"""The dominating pair of `Minimum`: a minimiser whose objective got a random linear term.

With μ = 1/noise_multiplier and κ = excess, the loss is at most max(0, G) without the row and κ + max(0, G) with it,
G ~ N(μ²/2, μ²); where the slope of a row's loss may have either sign it is at most μ²/2 + μ|Z|, and κ + μ²/2 + μ|Z|.
Beyond those two ends the hockey-stick curve of the pair is that of the bounds, between them it is their chord:

| part | P's mass | Q's mass | losses |
| --- | --- | --- | --- |
| right tail, z ≥ y | s Φ(−y) | s e^(−κ) Φ(−y − μ) | κ + μ²/2 + μz |
| left tail, z ≥ x | s Φ(−x − μ) | s Φ(−x) | −(μ²/2 + μz) |
| two atoms | what is left | what is left | at the ends of the tails |

with s = 1 and x = −μ/2, or s = 2. Every x and y are valid, as the atoms make up for them; those at which nothing is
left for the right atom (s = 1), or for both (s = 2), are the tightest. Proof: `mechanisms/proofs/accounting.md`, 2.7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from discreet.accounting import gauss

UNIT = 2.0**-53
_LEAST = 1e-6, 1e-9  # a smaller inverse noise, or excess, is taken to be this large
_FAR = 300.0  # excesses, and
_LOUD = 30.0  # inverse noises, beyond which simple upper bounds stand in
_UP = 1e-14  # exceeds the rounding of the inverse normal


@dataclass(frozen=True)
class Shape:
    """Where the tails of the pair begin, and the atoms there: P's masses, rounded up by up to 2 × `doubt`."""

    mu: float
    excess: float
    sides: int
    x: float
    y: float

    @property
    def left(self) -> float:
        """The loss at which the left tail begins."""
        return 0.0 if self.sides == 1 else -self.mu * (self.mu / 2 + self.x)

    @property
    def right(self) -> float:
        """The loss at which the right tail begins."""
        return self.excess + self.mu * (self.mu / 2 + self.y)

    @property
    def atoms(self) -> tuple[float, float]:
        """P's masses at `left` and at `right`."""
        low, high, doubt = self._exact
        return max(0.0, low) + doubt, max(0.0, high) + doubt

    @property
    def _exact(self) -> tuple[float, float, float]:
        """The atoms as they come out, perhaps a little below zero, and how far rounding may have moved them."""
        of_p = _within(self.sides, self.y), self.sides * tail(self.x + self.mu)
        of_q = _within(self.sides, self.x), self.sides * math.exp(-self.excess) * tail(self.y + self.mu)
        apart, tilt = -math.expm1(self.left - self.right), math.exp(self.left)
        p, q = of_p[0] - of_p[1], tilt * (of_q[0] - of_q[1])
        digits = 4 + self.right - self.left + (self.mu + max(self.x, self.y)) ** 2
        doubt = 16 * UNIT * digits * (sum(of_p) + tilt * sum(of_q)) / apart
        return (q - p * math.exp(self.left - self.right)) / apart, (p - q) / apart, doubt

    @property
    def cover(self) -> float:
        """The μ of Gaussian differential privacy that covers the pair; rounded up."""
        low, high, doubt = self._exact
        missed = self.sides * tail(self.x + self.mu)
        found = self.sides * math.exp(-self.excess) * tail(self.y + self.mu)
        middle = missed + low - 2 * doubt, found + (high - 2 * doubt) * math.exp(-self.right)
        corners = ((_within(self.sides, self.y), found), middle, (missed, _within(self.sides, self.x)))
        if min(map(min, corners)) < 1e-300:
            return _far(self.mu, self.excess, self.sides)
        return max(_quantile(a) + _quantile(b) for a, b in corners)

    def renyi(self, order: int) -> float:
        """The Rényi divergence of whole order, the larger of both directions; rounded up."""
        larger = max(self._moment(order - 1), self._moment(-order))
        return min(larger / (order - 1), order * self.cover**2 / 2 * (1 + 1e-12))

    def _moment(self, power: int) -> float:
        """The logarithm of E_P e^(power × loss), for power = a − 1 or −a: both add a(a−1)μ²/2 to the exponents."""
        grown = power * (power + 1) * self.mu**2 / 2 + math.log(self.sides)
        exponents = [grown + power * self.excess + log_tail(self.y - power * self.mu)]
        exponents.append(grown + log_tail(self.x + (power + 1) * self.mu))
        ends = (self.left, self.right)
        exponents += [math.log(mass) + power * loss for mass, loss in zip(self.atoms, ends, strict=True)]
        largest = max(exponents)
        total = largest + math.log(math.fsum(math.exp(term - largest) for term in exponents))
        return total + 16 * UNIT * (4 + abs(largest) + abs(power) * self.right + 4 * grown)


@lru_cache(maxsize=4096)
def shape(mu: float, excess: float, two_sided: bool) -> Shape | None:
    """The tightest pair, or None where μ or the excess is so large that everything is as good as revealed."""
    mu, excess = max(mu, _LEAST[0]), max(excess, _LEAST[1])
    if mu > _LOUD or excess > _FAR:
        return None
    x, y = _both(mu, excess) if two_sided else (-mu / 2, _single(mu, excess))
    return Shape(mu, excess, 2 if two_sided else 1, x, y)


def renyi(mu: float, excess: float, two_sided: bool, order: int) -> float:
    """The Rényi divergence of whole order ≥ 2 of a minimum; rounded up."""
    found = shape(mu, excess, two_sided)
    return found.renyi(order) if found else order * cover(mu, excess, two_sided) ** 2 / 2 * (1 + 1e-12)


def cover(mu: float, excess: float, two_sided: bool) -> float:
    """The μ of Gaussian differential privacy that a minimum needs; rounded up.

    >>> round(cover(0.2, 0.3, False), 4), round(cover(0.2, 0.0, False), 4)
    (0.3756, 0.2)
    """
    found = shape(mu, excess, two_sided)
    return found.cover if found else _far(mu, excess, 2 if two_sided else 1)


def _single(mu: float, excess: float) -> float:
    """Where the line from the curve at loss 0 touches the right tail: Φ(y) + e^(−κ) Φ(−y−μ) = 2 Φ(−μ/2)."""
    factor, wanted = math.exp(-excess), 2 * tail(mu / 2)
    return gauss.last(lambda y: tail(-y) + factor * tail(y + mu) >= wanted, 38.0, -mu / 2)


def _both(mu: float, excess: float) -> tuple[float, float]:
    """Where one line touches both tails: 2Φ(−x−μ) + 2Φ(−y) = 1 = 2Φ(−x) + 2 e^(−κ) Φ(−y−μ)."""
    factor = 2 * math.exp(-excess)
    x = gauss.last(lambda x: _within(2, x) >= factor * tail(_opposite(x + mu) + mu), 38.0, 0.0)
    return x, _opposite(x + mu)


def _opposite(t: float) -> float:
    """The y ≥ 0 with erf(y/√2) = 2 Φ(−t), about."""
    wanted = 2 * tail(t)
    if wanted > 0.45:
        return -NormalDist().inv_cdf(max(_within(2, t), 1e-300) / 2)
    y = 0.0
    for _ in range(8):  # Newton from below: erf is concave
        y += (wanted - math.erf(y / math.sqrt(2))) / 2 * math.sqrt(2 * math.pi) * math.exp(y * y / 2)
    return y


def _far(mu: float, excess: float, sides: int) -> float:
    """A simple upper bound by Φ(−u) ≤ e^(−u²/2)/2 and, for t ≥ 0, Φ(−t) ≥ φ(t)/(1 + t)."""
    if sides == 1:  # the corner of the symmetric pair: α = 2Φ(−μ/2) / (1 + e^κ)
        return 2 * math.sqrt(2 * (excess + mu * mu / 8 + math.log1p(mu / 2) + 1)) * (1 + 1e-12)
    return 2 * math.sqrt(2 * (excess + (1 + mu) ** 2 / 2 + math.log(2 + mu) + 1)) * (1 + 1e-12)


def tail(t: float) -> float:
    """Φ(−t)."""
    return math.erfc(t / math.sqrt(2)) / 2


def log_tail(t: float) -> float:
    """The logarithm of Φ(−t)."""
    return math.log(tail(t)) if t < 5 else math.log(gauss.mills(t) / math.sqrt(2 * math.pi)) - t * t / 2


def _within(sides: int, t: float) -> float:
    """1 − s Φ(−t), with all its digits."""
    return tail(-t) if sides == 1 else math.erf(t / math.sqrt(2))


def _quantile(mass: float) -> float:
    """The u with Φ(−u) = mass, rounded up."""
    u = -NormalDist().inv_cdf(mass * (1 - _UP))
    return u + _UP * (1 + abs(u))
