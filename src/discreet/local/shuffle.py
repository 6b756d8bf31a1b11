"""Privacy amplification by shuffling: the guarantee against somebody who sees all reports in random order only.

Among n reports a person's own hides among clones: with probability e^(−ε₀) a pure ε₀ report is drawn from a law that
does not depend on the value (Feldman, McMillan & Talwar 2021); for binary randomised response, with 2/(e^ε₀ + 1). It
remains to compare two binomial counts: their divergence is summed here and rounded up.

This holds if the shuffler really removes names, order and time, and only for `n` *honest* people who report once each:
people who invent reports hide nobody. Permanent responses that are reported again and again are not amplified.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import NotSupported
from discreet.local.design import Direct
from discreet.local.lasting import Lasting
from discreet.local.odds import read_epsilon
from discreet.local.survey import Survey

_SLACK = 1e-11  # bound of the rounding error in sums of probabilities
_STEPS = 50


def amplified_epsilon(survey: Survey | float, n: int, delta: float = 1e-6, *, method: str = "numerical") -> float:
    """The ε, at δ, of all n shuffled reports, for each person; never below the truth, never above ε₀.

    Parameters
    ----------
    survey : a survey, or the ε₀ of any pure report.
    n : a lower bound of the number of honest people, who report once each.
    delta : the δ of the guarantee, 1e-9 or more.
    method : "numerical", or "closed" for the formula of the paper, as a check.

    >>> [round(amplified_epsilon(epsilon, 10_000), 4) for epsilon in (1.0, 2.0)]
    [0.053, 0.155]
    """
    if isinstance(survey, Survey) and isinstance(survey.design, Lasting):
        raise NotSupported("Shuffling does not amplify lasting surveys: repeated reports can be told from each other.")
    epsilon = float(survey.epsilon if isinstance(survey, Survey) else read_epsilon(survey))
    if type(n) is not int or n < 1:
        raise ValueError(f"The `n` of shuffled reports must be a whole number > 0. Got {n!r}.")
    if not 1e-9 <= delta < 1:
        raise ValueError(f"The `delta` of shuffled reports must be within [1e-9, 1). Got {delta!r}.")
    if method == "closed":
        return closed_form(epsilon, n, delta)
    if method != "numerical":
        raise ValueError(f"The `method` of shuffled reports is numerical or closed. Got {method!r}.")
    binary = isinstance(survey, Survey) and isinstance(survey.design, Direct) and survey.design.size == 2
    blanket = 2 / (math.exp(epsilon) + 1) if binary else math.exp(-epsilon)
    low, high = 0.0, epsilon
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if clone_delta(n, epsilon, blanket, middle) <= delta else (middle, high)
    return min(epsilon, high * (1 + 1e-9))


def clone_delta(n: int, epsilon: float, blanket: float, at: float) -> float:
    """The δ at ε = `at`, rounded up: A + 1 against A heads among C clones, mixed by the person's own ε₀ report."""
    from scipy.stats import binom

    power, truth = math.exp(at), 1 / (1 + math.exp(-epsilon))
    more, less = truth - power * (1 - truth), power * truth - (1 - truth)
    if more <= 0:
        return 0.0
    first, last = int(binom.ppf(1e-13, n - 1, blanket)), int(binom.isf(1e-13, n - 1, blanket))
    clones = np.arange(max(0, first - 1), min(n - 1, last + 1) + 1)
    # the likelihood ratio grows with the number a of heads, from 0 to c + 1: the divergence is a sum over a >= least
    least = np.floor((clones + 1) * less / (more + less)) + 1
    up, down = binom.sf(least - 2, clones, 0.5), binom.sf(least - 1, clones, 0.5)
    parts = binom.pmf(clones, n - 1, blanket) * np.maximum(0, more * up - less * down)
    return float(parts.sum()) + 2e-13 + _SLACK


def closed_form(epsilon: float, n: int, delta: float) -> float:
    """The bound of the paper's theorem; ε₀ where the theorem does not apply."""
    if epsilon > math.log(n / (16 * math.log(2 / delta))) if n > 16 * math.log(2 / delta) else True:
        return epsilon
    power = math.exp(epsilon)
    root = 8 * math.sqrt(power * math.log(4 / delta) / n) + 8 * power / n
    return min(epsilon, math.log1p((power - 1) / (power + 1) * root))


def exact_delta(epsilon: Any, n: int, at: float) -> float:
    """The exact δ at ε = `at` of n shuffled binary responses, if one person's answer changes and all others are 0.

    No bound may be below it. It enumerates all outcomes: for tests with small n.

    >>> exact_delta(1, 3, 1.0) == 0
    True
    """
    from math import comb

    keep = Fraction(1) - 1 / (1 + Fraction(math.exp(float(read_epsilon(epsilon)))))
    power = Fraction(math.exp(at))
    others = [comb(n - 1, a) * (1 - keep) ** a * keep ** (n - 1 - a) for a in range(n)] + [Fraction(0)]
    ones = [keep * (others[a - 1] if a else 0) + (1 - keep) * others[a] for a in range(n + 1)]
    zeros = [(1 - keep) * (others[a - 1] if a else 0) + keep * others[a] for a in range(n + 1)]
    there = sum((max(Fraction(0), p - power * q) for p, q in zip(ones, zeros, strict=True)), Fraction(0))
    back = sum((max(Fraction(0), q - power * p) for p, q in zip(ones, zeros, strict=True)), Fraction(0))
    return float(max(there, back))
