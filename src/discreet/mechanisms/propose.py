"""Propose-test-release (ME7): noise of a proposed scale, where a noisy test says that the rows are stable at it.

A *distance* says how many rows would have to change before a value could move by more than a proposed scale. It must be
a lower bound of that number which differs by at most 1 between neighbours: proved, case by case. It is asked whether it
is above a threshold, with noise: where it is 0 the answer is yes with probability at most δ/2 only. Several scales are
proposed one after the other (sparse vector), so that all tests together cost one. `proofs/propose.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.events import Approximate
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.threshold import AboveThreshold


def first_stable(distances: Iterable[int], event: Approximate, proposals: int, rng: Keystream) -> int:
    """The number of the first proposal that passes the test, or -1.

    Parameters
    ----------
    distances : one for each of at most `proposals` proposals, in public order: 0 where the value may move by more than
        is proposed; each moves by at most 1 between neighbours.
    event : half of its ε and of its δ are spent.

    Guarantee: (ε/2, 0)-DP; and a proposal of distance 0 is the answer with probability at most δ/2.
    """
    gate = AboveThreshold(threshold_for(event, proposals), event.epsilon / 2, 1, rng)
    return next((number for number, distance in enumerate(distances) if gate.ask(distance)), -1)


def threshold_for(event: Approximate, proposals: int) -> int:
    """The least threshold at which proposals of distance 0 pass any of the tests with probability at most δ/2.

    >>> threshold_for(Approximate(1.0, 1e-6), 8)
    111
    """
    least, enough = 1, 1
    while _passing(enough, event, proposals) > event.delta / 2:
        least, enough = enough, 2 * enough
    while least < enough:
        middle = (least + enough) // 2
        rare = _passing(middle, event, proposals) <= event.delta / 2
        least, enough = (least, middle) if rare else (middle + 1, enough)
    return enough


def _passing(threshold: int, event: Approximate, proposals: int) -> float:
    """Proposals × P(ν - ρ >= threshold), rounded up: ρ and ν as `AboveThreshold` draws them for half of ε."""
    nu, rho = event.epsilon * 2 / 13, event.epsilon * 5 / 26  # rates of the two laws: P(ν) ∝ p^|ν|, P(ρ) ∝ q^|ρ|
    p, q, t = math.exp(-nu), math.exp(-rho), threshold
    both, share = -math.expm1(-nu - rho), -math.expm1(-rho) / (1 + q)
    far_p, far_q = math.exp(-nu * t), math.exp(-rho * t)
    below = share / (1 + p) * (far_p * p * q / both + (far_p - far_q) / -math.expm1(nu - rho))  # -ρ < threshold
    above = far_q / (1 + q) - share * p * far_q / (both * (1 + p))  # -ρ >= threshold
    return proposals * (below + above) * (1 + 1e-6)
