"""What an event costs, in each currency a budget can be kept in.

| currency | cost | of a composition |
| --- | --- | --- |
| `pure` | ε, with the event's own δ set aside (`slack`) | sum |
| `mu` | μ of Gaussian differential privacy (Dong, Roth & Su 2022), the same δ set aside | μ² adds |
| `renyi` | Rényi divergence at one whole order (Mironov 2017), the same δ set aside | sum |

All of them stay valid when each event is chosen after seeing the results of the ones before. Repetition is
handled in one place, `discreet.events.flatten`: each rule below sees one event that ran once. Sums are exact
and rounded up to the next double at the end; a rule that is not exact is multiplied by `UP`, which exceeds
its rounding error. The claims are proved in `mechanisms/proofs/accounting.md`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, singledispatch

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import minimum
from discreet.arguments import check_whole
from discreet.errors import NotSupported
from discreet.events import Approximate, Choice, Either, Event, Gaussian, Laplace, Minimum, Pure, Sampled, flatten

UP = 1 + 1e-12
_FAR = 300.0  # beyond this many nats simple upper bounds stand in for closed forms that would overflow


def pure(event: Event) -> float:
    """The ε of the event with its `slack` set aside; infinite if it has none.

    >>> pure(Laplace(4.0)), pure(Gaussian(1.0))
    (0.25, inf)
    """
    total = pure_total(event)
    return math.inf if total is None else upward(total)


def pure_total(event: Event) -> Fraction | None:
    """The same, exactly; None if it is infinite."""
    total = Fraction(0)
    for leaf, times in flatten(event):
        part = _pure(leaf)
        if part is None:
            return None
        total += times * part
    return total


def slack(event: Event) -> float:
    """The δ that comes on top of the other costs: at most the sum, and at most 1 − Π(1 − δ).

    >>> slack(Approximate(1.0, 1e-6)), slack(Sampled(0.5, Approximate(1.0, 1e-6)))
    (1e-06, 5e-07)
    """
    parts = [(_slack(leaf), times) for leaf, times in flatten(event)]
    added = upward(sum((times * part for part, times in parts), Fraction(0)))
    if added >= 1 and any(part >= 1 for part, _ in parts):
        return 1.0
    joint = -math.expm1(math.fsum(times * math.log1p(-part) for part, times in parts))
    return min(added, joint * UP, 1.0)


def mu(event: Event) -> float:
    """The μ of the event with its `slack` set aside. Sampling brings nothing in this currency.

    >>> mu(Gaussian(4.0)), round(mu(Pure(1.0)), 6)
    (0.25, 1.232035)
    """
    square = sum((times * _mu_squared(leaf) for leaf, times in flatten(event)), Fraction(0))
    return root(square)


def renyi(event: Event, order: int) -> float:
    """The Rényi divergence of whole order ≥ 2 of the event with its `slack` set aside.

    >>> renyi(Gaussian(2.0), 4), renyi(Choice(1.0), 4)
    (0.5, 0.5)
    """
    order = check_whole("", "order", order, 2)
    return upward(sum((times * _renyi(leaf, order) for leaf, times in flatten(event)), Fraction(0)))


def only_gaussian(event: Event) -> bool:
    """Whether nothing but Gaussians ran."""
    return all(isinstance(leaf, Gaussian) for leaf, _ in flatten(event))


def excess(event: Event) -> float:
    """What no noise takes away: the sum of the excesses of all `Minimum` that ran on the whole data.

    >>> excess(Minimum(1.0, 0.25))
    0.25
    """
    minima = ((leaf, times) for leaf, times in flatten(event) if isinstance(leaf, Minimum))
    return upward(sum((times * Fraction(leaf.excess) for leaf, times in minima), Fraction(0)))


def upward(exact: Fraction) -> float:
    """The smallest double that is not below `exact`."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def downward(exact: Fraction) -> float:
    """The largest double that is not above `exact`."""
    return -upward(-exact)


def root(square: Fraction) -> float:
    """The square root, rounded up to a double.

    >>> root(Fraction(9, 16))
    0.75
    """
    value = math.sqrt(upward(square))
    while value > 0 and Fraction(math.nextafter(value, 0.0)) ** 2 >= square:
        value = math.nextafter(value, 0.0)
    while Fraction(value) ** 2 < square:
        value = math.nextafter(value, math.inf)
    return value


# ε ---------------------------------------------------------------------------------------------------


@singledispatch
def _pure(event: Event) -> Fraction | None:
    raise TypeError(f"The `event` must be an Event of discreet.events. Got {type(event).__name__}.")


@_pure.register
def _(event: Pure | Choice | Approximate) -> Fraction | None:
    return Fraction(event.epsilon)


@_pure.register
def _(event: Laplace) -> Fraction | None:
    return 1 / Fraction(event.scale)


@_pure.register
def _(event: Gaussian | Minimum) -> Fraction | None:
    return None


@_pure.register
def _(event: Either) -> Fraction | None:
    ways = [pure_total(way) for way in event.events]
    return None if None in ways else max(way for way in ways if way is not None)


@_pure.register
def _(event: Sampled) -> Fraction | None:
    inner = pure(event.event)
    if event.rate in (0, 1) or math.isinf(inner):
        return Fraction(0) if event.rate == 0 else None if math.isinf(inner) else Fraction(inner)
    return Fraction(min(inner, amplified(inner, event.rate) * UP))


def amplified(epsilon: float, rate: float) -> float:
    """log(1 + rate (e^ε − 1)): the ε left after Poisson sampling.

    >>> round(amplified(1.0, 0.01), 6)
    0.017037
    """
    if epsilon < _FAR:
        return math.log1p(rate * math.expm1(epsilon))
    return epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon))


# δ on top --------------------------------------------------------------------------------------------


def _slack(event: Event) -> Fraction:
    if isinstance(event, Sampled):
        return Fraction(event.rate) * Fraction(slack(event.event))
    return Fraction(event.delta) if isinstance(event, Approximate) else Fraction(0)


# μ ---------------------------------------------------------------------------------------------------


def _mu_squared(event: Event) -> Fraction:
    if isinstance(event, Gaussian):
        return 1 / Fraction(event.noise_multiplier) ** 2
    if isinstance(event, Minimum):
        return Fraction(minimum.cover(*terms(event))) ** 2
    if isinstance(event, Either):
        return max(Fraction(mu(way)) ** 2 for way in event.events)
    if isinstance(event, Sampled):
        return Fraction(mu(event.event)) ** 2 if event.rate > 0 else Fraction(0)
    if isinstance(event, Choice) and event.rule == "exponential":  # of bounded range
        return Fraction(mu_of_pure(event.epsilon / 2)) ** 2
    return Fraction(mu_of_pure(pure(event))) ** 2


def terms(event: Minimum) -> tuple[float, float, bool]:
    """What `discreet.accounting.minimum` knows an event by: μ of its noise, excess, two sides or one."""
    return upward(1 / Fraction(event.noise_multiplier)), float(event.excess), event.two_sided


def mu_of_pure(epsilon: float) -> float:
    """2 Φ⁻¹(e^ε / (1 + e^ε)), the smallest μ that covers every ε-DP mechanism; rounded up.

    With x = μ/2 it is the root of erf(x/√2) = tanh(ε/2), solved from the side that keeps its digits.
    """
    if epsilon > _FAR:  # 1 − Φ(x) ≤ e^(−x²/2) / 2 gives x ≤ √(2ε)
        return 2 * math.sqrt(2 * epsilon) * UP
    if epsilon < 1:
        x = 0.0
        for _ in range(8):
            x += (math.tanh(epsilon / 2) - math.erf(x / math.sqrt(2))) / (2 * _normal(x))
        return 2 * x * UP
    survival, x = 1 / (1 + math.exp(epsilon)), math.sqrt(2 * epsilon)
    for _ in range(12):  # Newton on the logarithm, which is concave: it comes down from the upper bound √(2ε)
        now = math.erfc(x / math.sqrt(2)) / 2
        x += math.log(now / survival) * now / _normal(x)
    return 2 * x * UP


def _normal(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def choice_within(event: Event) -> float:
    """The largest ε of a choice by the exponential mechanism that is covered by Gaussians, or by one of pure events.

    Its trade-off between errors lies above that of a Gaussian with the same μ, and of anything pure with the same ε: so
    whoever has paid for such events may choose in their place (`mechanisms/proofs/accounting.md`, 1.5). Gaussians are
    one together; several pure events are less than one of their sum, so only the largest of them counts.

    >>> from discreet.events import Composed
    >>> round(choice_within(Gaussian(4.0)), 6), choice_within(Composed((Pure(0.25), Pure(0.1))))
    (0.399226, 0.25)
    """
    leaves = [leaf for leaf, _ in flatten(event)]
    if all(isinstance(leaf, Pure | Choice | Laplace) for leaf in leaves):
        return max((downward(_pure(leaf) or Fraction(0)) for leaf in leaves), default=0.0)
    if not only_gaussian(event):
        raise NotSupported("A choice is paid for by Gaussians alone, or by pure events alone.")
    size = mu(event)
    x = size / math.sqrt(8)  # mu_of_pure(ε/2) = μ, that is ε = 2 log(Φ/(1 - Φ)) at μ/2; beyond 30, Φ > 1 - e^(-μ²/8)/2
    if x < 1:
        epsilon = 4 * math.atanh(math.erf(x))
    else:
        epsilon = 2 * (math.log1p(math.erf(x)) - math.log(math.erfc(x))) if size < 30 else size * size / 4
    while mu(Choice(epsilon)) > size:
        epsilon *= 1 - 1e-12
    return epsilon


# Rényi -----------------------------------------------------------------------------------------------


@singledispatch
def _renyi(event: Event, order: int) -> Fraction:
    return Fraction(_response(pure(event), order))


@_renyi.register
def _(event: Gaussian, order: int) -> Fraction:
    return order * _mu_squared(event) / 2


@_renyi.register
def _(event: Laplace, order: int) -> Fraction:
    return Fraction(_laplace(pure(event), order))


@_renyi.register
def _(event: Choice, order: int) -> Fraction:
    anything = Fraction(_response(event.epsilon, order))
    if event.rule == "permute-and-flip":
        return anything
    return min(anything, order * Fraction(event.epsilon) ** 2 / 8)


@_renyi.register
def _(event: Minimum, order: int) -> Fraction:
    return Fraction(minimum.renyi(*terms(event), order))


@_renyi.register
def _(event: Either, order: int) -> Fraction:
    return max(Fraction(renyi(way, order)) for way in event.events)


@_renyi.register
def _(event: Sampled, order: int) -> Fraction:
    if event.rate == 0:
        return Fraction(0)
    whole = Fraction(renyi(event.event, order))
    if event.rate == 1:
        return whole
    if only_gaussian(event.event):
        return min(whole, Fraction(_sampled_gaussian(event.rate, mu(event.event), order)))
    epsilon = pure(event)
    return whole if math.isinf(epsilon) else min(whole, Fraction(_response(epsilon, order)))


def _response(epsilon: float, order: int) -> float:
    """Randomised response, the worst ε-DP mechanism: log(cosh((a − ½)ε) / cosh(ε/2)) / (a − 1)."""
    if order * epsilon > _FAR:
        return min(epsilon, order * epsilon * epsilon / 2)
    up, down = math.sinh(order * epsilon / 2), math.sinh((order - 1) * epsilon / 2)
    excess = 2 * up * down / math.cosh(epsilon / 2)
    return min(math.log1p(excess) / (order - 1) * UP, epsilon)


def _laplace(epsilon: float, order: int) -> float:
    """log(a e^((a−1)ε) + (a−1) e^(−aε)) − log(2a − 1), over a − 1 (Mironov 2017)."""
    if order * epsilon > _FAR:
        return epsilon
    up, down = (order - 1) * epsilon, -order * epsilon
    excess = (order * _beyond_linear(up) + (order - 1) * _beyond_linear(down)) / (2 * order - 1)
    return min(math.log1p(excess) / (order - 1) * UP, epsilon)


def _beyond_linear(x: float) -> float:
    """e^x − 1 − x without cancellation."""
    if abs(x) > 1:
        return math.expm1(x) - x
    term, total, n = x * x / 2, 0.0, 3
    while abs(term) > 1e-18 * abs(total):
        total, term, n = total + term, term * x / n, n + 1
    return total


def _sampled_gaussian(rate: float, mu: float, order: int) -> float:
    """Exact at whole orders (Mironov, Talwar & Zhang 2019).

    log(1 + Σₖ C(a,k) (1−q)^(a−k) q^k (e^(k(k−1)μ²/2) − 1)) / (a − 1)
    """
    k = np.arange(2, order + 1)
    rise = k * (k - 1) * (mu * mu / 2)
    terms = _binomials(order)[2:] + (order - k) * math.log1p(-rate) + k * math.log(rate)
    terms = terms + rise + np.log(-np.expm1(-rise))
    largest = float(terms.max())
    excess = largest + math.log(float(np.exp(terms - largest).sum()))
    return float(np.logaddexp(0.0, excess)) / (order - 1) * UP**10


@lru_cache(maxsize=256)
def _binomials(order: int) -> NDArray[np.float64]:
    """Logarithms of C(order, k) for every k, from exact whole numbers."""
    count, logs = 1, []
    for k in range(order + 1):
        logs.append(math.log(count))
        count = count * (order - k) // (k + 1)
    return np.array(logs)
