"""The exact privacy curve of the Gaussian mechanism, rounded to the safe side.

A mechanism is μ-GDP when telling two neighbours apart is no easier than telling N(0, 1) from N(μ, 1)
(Dong, Roth & Su 2022). Its (ε, δ) curve is that of the Gaussian mechanism (Balle & Wang 2018):

    δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) = φ(x) (M(x) − M(x + μ)),   x = ε/μ − μ/2,

where M(t) = (1 − Φ(t)) / φ(t) is the Mills ratio. The second form has no e^ε to overflow. Every δ is rounded
up by `SAFETY`, which exceeds the rounding error, so that ε is never below and μ never above the exact value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

SAFETY = 1 + 1e-11
FLOOR = 1e-306  # below this a double has too few digits left; a smaller δ is reported as this one
_SERIES_BELOW = 0.01  # for smaller μ the two Mills ratios agree in too many digits to be subtracted


def delta_of(mu: float, epsilon: float) -> float:
    """The δ of a μ-GDP mechanism at ε; never below the exact value.

    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    if mu <= 0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    x = epsilon / mu - mu / 2
    if x > 38:  # δ ≤ φ(38) / 38 < FLOOR
        return FLOOR
    if mu < _SERIES_BELOW:
        exact = _density(x) * _mills_difference(epsilon / mu, mu / 2)
    elif x < 0:
        exact = math.erfc(x / math.sqrt(2)) / 2 - _density(x) * mills(epsilon / mu + mu / 2)
    else:
        exact = _density(x) * (mills(x) - mills(epsilon / mu + mu / 2))
    return min(1.0, max(exact * SAFETY, FLOOR))


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest ε at which a μ-GDP mechanism has this δ; never below the exact value.

    >>> round(epsilon_of(math.sqrt(1000) / 10, 1e-5), 6)
    17.856587
    """
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    if delta < FLOOR or math.isinf(mu):
        return math.inf
    enough = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    while delta_of(mu, enough) > delta:
        enough *= 2
    return last(lambda epsilon: delta_of(mu, epsilon) <= delta, enough, 0.0)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest μ whose curve passes below (ε, δ); never above the exact value.

    >>> round(1 / mu_of(1.0, 1e-5), 8)
    3.73063163
    """
    if delta < FLOOR:
        return 0.0
    if delta >= 1:
        return math.inf
    too_much = 1.0
    while delta_of(too_much, epsilon) <= delta:
        too_much *= 2
    # a little less, so that events calibrated to this μ, once rounded, still fit when ε is computed back
    return last(lambda mu: delta_of(mu, epsilon) <= delta, 0.0, too_much) * (1 - 1e-14)


def last(holds: Callable[[float], bool], good: float, bad: float, relative: float = 1e-15) -> float:
    """The last number, going from `good` towards `bad`, for which `holds` was seen to be true."""
    for _ in range(1100):
        middle = (good + bad) / 2
        if middle in (good, bad) or abs(good - bad) <= relative * abs(good):
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def mills(t: float) -> float:
    """(1 − Φ(t)) / φ(t) for t ≥ 0, to about 1e-15.

    >>> round(mills(0.0), 12) == round(math.sqrt(math.pi / 2), 12)
    True
    """
    if t < 3:
        return math.sqrt(math.pi / 2) * math.exp(t * t / 2) * math.erfc(t / math.sqrt(2))
    fraction = t  # Laplace's continued fraction t + 1/(t + 2/(t + 3/(t + ...)))
    for k in range(80, 0, -1):
        fraction = t + k / fraction
    return 1 / fraction


def _density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _mills_difference(middle: float, half: float) -> float:
    """M(middle − half) − M(middle + half) by its odd Taylor terms; M⁽ⁿ⁺¹⁾ = n M⁽ⁿ⁻¹⁾ + t M⁽ⁿ⁾."""
    before, now = mills(middle), middle * mills(middle) - 1
    total, power = 0.0, half
    for n in range(1, 8):
        if n % 2:
            total -= 2 * power * now
        before, now = now, n * before + middle * now
        power *= half / (n + 1)
    return total
