"""The Laplace mechanism on whole numbers (ME1): round(total + L), exactly.

Proof: `proofs/laplace.md`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.events import Laplace
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
