"""Dominating pairs on a grid of privacy losses.

A pair (P, Q) dominates an event when telling P from Q is at least as easy as telling the event's results on
one neighbour from those on the other. Here it is kept as P's masses at the losses log(dP/dQ) = k × step, with
P's mass at loss +∞ (`above`) and Q's mass at loss −∞ (`below`); Q's mass at loss l is P's times e^(−l).

Every mass that falls between two grid points is split over the two so that both P's and Q's mass are kept. That
is the least pessimistic grid pair that dominates (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022), and all
its terms are positive, so nothing cancels. A tail that is cut off becomes perfectly distinguishing: its P mass
goes to +∞, its Q mass to −∞. Proofs: `mechanisms/proofs/accounting.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, singledispatch

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.curves import amplified, mu, pure, slack, terms
from discreet.accounting.leaves import gather
from discreet.accounting.minimum import Shape, shape
from discreet.accounting.minimum import tail as beyond
from discreet.events import Approximate, Choice, Either, Event, Gaussian, Laplace, Minimum, Sampled

Floats = NDArray[np.float64]

_UNDERFLOW = 37.0  # the normal density at 37 is still an ordinary double
_HOPELESS = 300.0  # an ε beyond which an event is taken to reveal everything
_DIRECT = 4096  # grid points up to which two pairs are convolved term by term
LARGEST = 2**21  # grid points of anything
FINEST = 2**17  # the largest loss of one event is at most so many steps


class GridTooLarge(Exception):
    """The step is too fine for the range of the losses; a coarser one is as valid."""


@dataclass(frozen=True)
class Pair:
    """P's masses at the losses (first + i) × step, at +∞, and Q's mass at −∞.

    Rounding may have moved a loss by `blur`, and a mass by `error` times itself.
    """

    step: float
    first: int
    masses: Floats
    above: float = 0.0
    below: float = 0.0
    blur: float = 0.0
    error: float = 2e-12

    @property
    def losses(self) -> Floats:
        """The losses of the grid points."""
        return self.step * np.arange(self.first, self.first + len(self.masses), dtype=np.float64)

    @property
    def partner(self) -> Floats:
        """Q's masses at the same losses."""
        with np.errstate(divide="ignore"):
            return np.exp(np.log(self.masses) - self.losses)


Directions = tuple[Pair, Pair]  # one unit removed, one unit added


def pairs(event: Event, step: float, tail: float) -> Directions:
    """Dominating pairs of one leaf, for removing and for adding a unit; a mass of `tail` may be cut off."""
    if isinstance(event, Sampled):
        remove, add = joint(event.event, step, tail)
        return thinned(remove, event.rate, step, tail), thinned_reversed(add, event.rate, step, tail)
    if isinstance(event, Minimum):
        return _minimum(event, step, tail)
    pair = _pair(event, step, tail)
    return pair, pair  # the other leaves are symmetric


# One event -----------------------------------------------------------------------------------------


@singledispatch
def _pair(event: Event, step: float, tail: float) -> Pair:
    """Anything ε-DP is dominated by randomised response (Kairouz, Oh & Viswanath 2015)."""
    epsilon = pure(event)
    if epsilon > _HOPELESS:
        return _revealing(step)
    masses = np.array([1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))])
    return split(np.array([epsilon, -epsilon]), masses, step)


@_pair.register
def _(event: Approximate, step: float, tail: float) -> Pair:
    pair = _pair.dispatch(Event)(event, step, tail)
    return _leaking(pair, event.delta)


@_pair.register
def _(event: Gaussian, step: float, tail: float) -> Pair:
    size = mu(event)
    if size > _UNDERFLOW - 10:
        return _revealing(step)
    reach = min(math.sqrt(2 * math.log(1 / tail)), _UNDERFLOW - size)
    edge = size * size / 2 + size * reach
    narrow = size / (2 * (reach + size) + 8)  # the log density changes by at most about ½ over this width
    losses, widths = _quadrature(_breaks(-edge, edge, step, narrow), nodes=3 if 16 * step < narrow else 5)
    z = (losses - size * size / 2) / size
    masses = np.exp(-z * z / 2) * widths / (size * math.sqrt(2 * math.pi))
    cut = math.erfc(reach / math.sqrt(2)) / 2 + math.erfc((reach + size) / math.sqrt(2)) / 2
    return split(losses, masses, step, above=cut * (1 + 1e-9), below=cut * (1 + 1e-9))


@_pair.register
def _(event: Laplace, step: float, tail: float) -> Pair:
    epsilon = pure(event)
    if epsilon > _HOPELESS:
        return _revealing(step)
    losses, masses = _ramp(epsilon, step)
    ends = np.array([0.5, math.exp(-epsilon) / 2])
    masses = masses * -math.expm1(-epsilon) / 2
    return split(np.append(losses, [epsilon, -epsilon]), np.append(masses, ends), step)


@_pair.register
def _(event: Choice, step: float, tail: float) -> Pair:
    """Bounded range: the hockey-stick curve is at most (1 − e^((x−ε)/2))² / (1 − e^(−ε)) at x."""
    if event.rule == "permute-and-flip" or event.epsilon > _HOPELESS:
        return _pair.dispatch(Event)(event, step, tail)
    return split(*_ramp(event.epsilon, step), step)


@_pair.register
def _(event: Either, step: float, tail: float) -> Pair:
    """A Gaussian that costs as much as the dearest of them dominates each."""
    return _pair(_covering(event), step, tail)


def _covering(event: Either) -> Event:
    return Gaussian(math.nextafter(1 / mu(event), 0.0))


def _ramp(epsilon: float, step: float) -> tuple[Floats, Floats]:
    """Losses in (−ε, ε) with density ½ e^((l−ε)/2) / (1 − e^(−ε))."""
    losses, widths = _quadrature(_breaks(-epsilon, epsilon, step, 0.25))
    return losses, np.exp((losses - epsilon) / 2) * widths / (-2 * math.expm1(-epsilon))


def _minimum(event: Minimum, step: float, tail: float) -> Directions:
    """With the row, the loss may be larger by the excess; without it, it may not: the two directions differ."""
    found = shape(*terms(event))
    if found is None or found.mu > _UNDERFLOW - 10:
        return _revealing(step), _revealing(step)
    reach = min(max(math.sqrt(2 * math.log(1 / tail)), found.x + 1, found.y + 1), _UNDERFLOW - found.mu)
    right, of_p, _ = _normal_tail(found, found.y, reach, step, found.excess)
    left, _, of_q = _normal_tail(found, found.x, reach, step, 0.0)
    losses = np.concatenate([found.excess + right, -left, [found.left, found.right]])
    masses = np.concatenate([of_p, of_q, found.atoms])
    cut = found.sides * (beyond(reach) + beyond(reach + found.mu)) * (1 + 1e-9)
    partner = masses * np.exp(-losses)
    return split(losses, masses, step, cut, cut), split(-losses, partner, step, cut, cut)


def _normal_tail(pair: Shape, start: float, reach: float, step: float, excess: float) -> tuple[Floats, Floats, Floats]:
    """Losses μ²/2 + μz for z from start to reach, with s times the normal masses of z and of z + μ."""
    size = pair.mu
    narrow = size / (2 * (reach + size) + 8)
    low, high = (size * (size / 2 + z) for z in (start, reach))
    breaks = _breaks(low, high, step, narrow, excess)
    losses, widths = _quadrature(breaks, nodes=3 if 16 * step < narrow else 5)
    z = losses / size - size / 2
    heights = pair.sides * widths / (size * math.sqrt(2 * math.pi))
    return losses, np.exp(-z * z / 2) * heights, np.exp(-((z + size) ** 2) / 2) * heights


def _revealing(step: float) -> Pair:
    return Pair(step, 0, np.full(1, 1e-300), above=1.0, below=1.0)


def _leaking(pair: Pair, delta: float) -> Pair:
    """The pair, except that with probability δ everything is revealed."""
    revealed = min(1.0, pair.above + delta)
    return replace(pair, masses=np.maximum(pair.masses * (1 - delta), 1e-300), above=revealed, below=revealed)


# From densities to the grid ------------------------------------------------------------------------


def _breaks(low: float, high: float, step: float, widest: float, shift: float = 0.0) -> Floats:
    """Points from low to high, at most `widest` apart, among them every one that `shift` moves to a grid point."""
    first, last = math.ceil((low + shift) / step), math.floor((high + shift) / step)
    if last - first > 2 * LARGEST:
        raise GridTooLarge
    grid = step * np.arange(first, last + 1, dtype=np.float64) - shift
    even = np.linspace(low, high, 2 + math.ceil((high - low) / widest) if widest < step else 2)
    return np.unique(np.clip(np.concatenate([grid, even]), low, high))


def _quadrature(breaks: Floats, nodes: int = 5) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss-Legendre on each interval between breaks."""
    half, middle = np.diff(breaks) / 2, (breaks[1:] + breaks[:-1]) / 2
    at, weights = _legendre(nodes)
    return (middle[:, None] + half[:, None] * at).ravel(), (half[:, None] * weights).ravel()


@lru_cache(maxsize=4)
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    at, weights = np.polynomial.legendre.leggauss(nodes)
    return at, weights


def split(losses: Floats, masses: Floats, step: float, above: float = 0.0, below: float = 0.0) -> Pair:
    """Put each mass on the two grid points around its loss, keeping both P's and Q's mass.

    >>> pair = split(np.array([0.5]), np.array([1.0]), 1.0)
    >>> pair.masses.round(6), bool(abs((pair.masses * np.exp(-pair.losses)).sum() - math.exp(-0.5)) < 1e-15)
    (array([0.377541, 0.622459]), True)
    """
    losses, masses = losses[masses > 0], masses[masses > 0]
    cell = np.floor(losses / step)
    beyond = np.clip(losses - cell * step, 0.0, step)
    first, size = int(cell.min()), int(cell.max() - cell.min()) + 2
    if size > LARGEST:
        raise GridTooLarge
    place = (cell - first).astype(np.int64)
    upper = masses * (np.expm1(-beyond) / math.expm1(-step))
    lower = masses * (np.expm1(step - beyond) / math.expm1(step))
    total = np.bincount(place, lower, size).astype(np.float64) + np.bincount(place + 1, upper, size)
    blur = 16 * 2.0**-53 * (1 + float(np.abs(losses).max()))
    return Pair(step, first, total, above, below, blur)


# A random sample -----------------------------------------------------------------------------------


def thinned(pair: Pair, rate: float, step: float, tail: float = 0.0) -> Pair:
    """((1−q) Q + q P, Q): the unit removed was in the sample with probability q (Zhu, Dong & Wang 2022).

    Where Q alone has mass the loss is log(1−q). A mere tail goes to the lowest other loss instead, with the Q
    mass that this leaves over at −∞, so that it does not stretch the grid.
    """
    losses = np.logaddexp(math.log1p(-rate), math.log(rate) + pair.losses)
    masses = (1 - rate) * pair.partner + rate * pair.masses
    slight = pair.below <= 64 * tail
    losses = np.append(losses, losses.min() if slight else math.log1p(-rate))
    masses = np.append(masses, (1 - rate) * pair.below)
    below = pair.below if slight else 0.0
    return _coarser(split(losses, masses, step, above=rate * pair.above, below=below), pair, rate)


def thinned_reversed(pair: Pair, rate: float, step: float, tail: float = 0.0) -> Pair:
    """(P, (1−q) P + q Q): the unit added is in the sample with probability q.

    Where P alone has mass the loss is −log(1−q). A mere tail goes to +∞ instead.
    """
    losses = -np.logaddexp(math.log1p(-rate), math.log(rate) - pair.losses)
    slight = pair.above <= 64 * tail
    losses = np.append(losses, losses.max() if slight else -math.log1p(-rate))
    masses = np.append(pair.masses, 0.0 if slight else pair.above)
    above, below = pair.above if slight else 0.0, rate * pair.below + (pair.above if slight else 0.0)
    return _coarser(split(losses, masses, step, above=above, below=min(1.0, below)), pair, rate)


def _coarser(pair: Pair, inner: Pair, rate: float) -> Pair:
    """The pair with the rounding of the one it was made from added to its own."""
    blur = pair.blur + inner.blur + 16 * 2.0**-53 * abs(math.log(rate))
    return replace(pair, blur=blur, error=inner.error + 2e-12 + inner.blur)


# Several events on one sample ----------------------------------------------------------------------


def joint(event: Event, step: float, tail: float) -> Directions:
    """Dominating pairs of a composition, on a grid no finer than `step`, mass by mass."""
    leaves = gather(event)
    alone = len(leaves) == 1 and leaves[0][1] == 1
    step = max(step, 2 * extent(event, tail) / (FINEST if alone else _DIRECT))
    if alone:
        return pairs(leaves[0][0], step, tail)
    parts = [(pairs(leaf, step, tail), times) for leaf, times in leaves]
    remove, add = ([(both[way], times) for both, times in parts] for way in (0, 1))
    return _product(remove, tail), _product(add, tail)


def extent(event: Event, tail: float) -> float:
    """How large a loss is to be expected, roughly: it sets the grid, not the guarantee."""
    if isinstance(event, Sampled) and event.rate > 0:
        apart = -math.log1p(-event.rate) if slack(event) > 0 and event.rate < 1 else 0.0
        return max(apart, amplified(extent(event.event, tail), event.rate))
    if isinstance(event, Either):
        return extent(_covering(event), tail)
    if isinstance(event, Minimum):
        return event.excess + extent(Gaussian(event.noise_multiplier), tail)
    size = mu(event)
    return min(pure(event), size * size / 2 + size * min(math.sqrt(2 * math.log(1 / tail)), _UNDERFLOW))


def _product(parts: list[tuple[Pair, int]], tail: float) -> Pair:
    total: Pair | None = None
    for pair, times in parts:
        while times:  # by squaring
            if times % 2:
                total = pair if total is None else _convolved(total, pair, tail)
            times //= 2
            pair = _convolved(pair, pair, tail) if times else pair
    assert total is not None, "a composition inside a sample has at least one leaf"
    return total


def _convolved(a: Pair, b: Pair, tail: float) -> Pair:
    """Both: losses add. Term by term, because an FFT would drown the tails in rounding."""
    masses = np.convolve(a.masses, b.masses)
    first, size = a.first + b.first, len(masses)
    hidden = size**2 * 1e-3 * math.exp(min(0.0, max(0, -first) * a.step - 700.0))  # what underflow can hide of Q
    both = Pair(
        a.step,
        first,
        masses,
        above=min(1.0, a.above + b.above + 1e-300),
        below=min(1.0, a.below + b.below + hidden),
        blur=a.blur + b.blur,
        error=a.error + b.error + size * 2.0**-52,
    )
    return _trimmed(both, tail)


def _trimmed(pair: Pair, tail: float) -> Pair:
    """Without the ends that hold less than `tail` of P and of Q."""
    larger = np.maximum(pair.masses, pair.partner)
    start = int(np.searchsorted(np.cumsum(larger), tail))
    stop = len(larger) - int(np.searchsorted(np.cumsum(larger[::-1]), tail))
    if start >= stop:
        return pair
    above, below = (min(1.0, mass + 2 * tail * (1 + 1e-9)) for mass in (pair.above, pair.below))
    return replace(pair, first=pair.first + start, masses=pair.masses[start:stop], above=above, below=below)
