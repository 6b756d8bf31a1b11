"""The Laplace mechanism on whole numbers (ME1): round(total + L), or, of counts, total + G: exactly.

Proof: `proofs/laplace.md`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.events import Laplace, Pure
from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.gaussian import plus
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.samplers import unwrapped


def add_laplace(total: Any, sensitivity: Number, event: Laplace, rng: Keystream | None = None) -> NDArray[Any]:
    """The total plus Laplace noise of scale `event.scale`·`sensitivity` on each entry, rounded.

    Parameters
    - total: whole numbers (grid units), any shape, Python ints of any size welcome.
    - sensitivity: a bound on the ℓ1 distance of two neighbours' totals, in grid units.

    Guarantee: (1/`event.scale`)-DP, exactly: a post-processing of the continuous Laplace mechanism.
    Nothing is assumed of the neighbour relation but the bound.

    | edge | result |
    | --- | --- |
    | empty total | empty |
    | result beyond int64 | an array of Python ints |

    >>> add_laplace(1000, 1, Laplace(0.001))
    array(1000)
    """
    exact = whole("add_laplace", "total", total)
    scale = Fraction(event.scale) * positive("add_laplace", "sensitivity", sensitivity)
    return plus(exact, unwrapped("rounded_laplace", scale, exact.size, rng).reshape(exact.shape))


def add_discrete_laplace(total: Any, sensitivity: Number, event: Pure, rng: Keystream | None = None) -> NDArray[Any]:
    """The total plus G on each entry, a whole number with P(G = g) ∝ exp(-`epsilon`·|g| / `sensitivity`).

    Parameters
    - total: counts, or other whole numbers whose unit is what one row may change; any shape.
    - sensitivity: a bound on the ℓ1 distance of two neighbours' totals, in the same units.

    Guarantee: `event.epsilon`-DP, exactly. Nothing is assumed of the neighbour relation but the bound.

    For a count no other noise of that promise is better (Ghosh, Roughgarden & Sundararajan 2009): its deviation is less
    than Laplace noise's √2·sensitivity/ε, by little for small ε and without limit for large. In a composition it counts
    as `Pure`, a little more than `Laplace`.

    | edge | result |
    | --- | --- |
    | empty total | empty |
    | result beyond int64 | an array of Python ints |

    >>> add_discrete_laplace([1000, 0], 1, Pure(50.0))
    array([1000,    0])
    """
    exact = whole("add_discrete_laplace", "total", total)
    scale = positive("add_discrete_laplace", "sensitivity", sensitivity) / Fraction(event.epsilon)
    return plus(exact, unwrapped("discrete_laplace", scale, exact.size, rng).reshape(exact.shape))


def discrete_laplace_std(scale: float) -> float:
    """The standard deviation of a whole number with P(g) ∝ exp(-|g| / scale).

    >>> round(discrete_laplace_std(1.0), 4), round(discrete_laplace_std(1e6) / 1e6, 4)
    (1.357, 1.4142)
    """
    ratio = math.exp(-1 / scale)
    return math.sqrt(2 * ratio) / -math.expm1(-1 / scale)
