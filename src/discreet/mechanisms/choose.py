"""Choice among public candidates by score (ME3): the exponential mechanism and permute-and-flip.

Both favour high scores; gaps to the best score are whole numbers, so probabilities are exact. Let
c = ε/(2Δ), or ε/Δ if the scores are monotonic: adding a person moves all of them the same way (counts do).

| rule | law | cost |
| --- | --- | --- |
| `exponential` | P(i) ∝ exp(c·score_i) | ε-DP, and ε-bounded-range: ε²/8 in zCDP |
| `permute_and_flip` | in random order, each is taken with probability exp(-c·gap_i) | ε-DP, ε²/2 in zCDP |

Permute-and-flip is never worse in expected score at the same ε (McKenna and Sheldon 2020). The random
draws made do not depend on the scores, unless one is closer to a boundary than floats can tell (see
`proofs/choose.md`).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.lazy import Lazy, exp_bounds
from discreet.mechanisms.samplers import coins, floats


def exponential(
    scores: Any, epsilon: Number, sensitivity: Number, rng: Keystream | None = None, *, monotonic: bool = False
) -> int:
    """The index of a candidate, drawn with probability ∝ exp(c·score).

    Parameters
    - scores: whole numbers, one per candidate.
    - sensitivity: Δ, a bound on the change of any one score between neighbours.

    Guarantee: ε-DP, exactly. Nothing is assumed of the neighbour relation but the bound (and the
    direction, if `monotonic`).

    >>> exponential([0, 10**6, 3], 1.0, 1)
    1
    """
    gaps, rate = _gaps(scores), rate_of(epsilon, sensitivity, monotonic)
    edges = np.cumsum(np.exp(-floats(gaps, rate)))
    u = Lazy((rng or default()).word() >> 11, 53, rng or default())
    spot, slack = u.m * 2.0**-53 * edges[-1], _slack(len(gaps), float(edges[-1]))
    i = int(np.searchsorted(edges, spot, side="right"))
    sure = i < len(gaps) and spot + slack < edges[i] and (i == 0 or edges[i - 1] <= spot - slack)
    return i if sure else _settle(gaps, rate, u)


def _slack(n: int, total: float) -> float:
    """A bound of all float errors in `exponential`: weights within 2^-50, sums rounded n times."""
    return n * (1 + total) * 2.0**-48


def _settle(gaps: NDArray[Any], rate: Fraction, u: Lazy) -> int:
    """The i with edge(i - 1) ≤ U·edge(n - 1) < edge(i), from bounds of the weights that grow tighter."""
    while True:
        weights = [exp_bounds(rate * int(gap), u.bits + 64) for gap in gaps]
        lows, highs = list(accumulate(low for low, _ in weights)), list(accumulate(high for _, high in weights))
        i = next((i for i, high in enumerate(highs) if u.m * lows[-1] < high << u.bits), len(highs) - 1)
        if (u.m + 1) * highs[-1] <= lows[i] << u.bits:
            return i
        u.reveal()


def permute_and_flip(
    scores: Any, epsilon: Number, sensitivity: Number, rng: Keystream | None = None, *, monotonic: bool = False
) -> int:
    """The index of the first candidate, in random order, whose coin of probability exp(-c·gap) shows heads.

    Parameters and guarantee are those of `exponential`, except that it is not bounded-range.

    >>> permute_and_flip([0, 10**6, 3], 1.0, 1)
    1
    """
    gaps, rng = _gaps(scores), rng or default()
    order = permutation(len(gaps), rng)
    heads = coins(gaps, rate_of(epsilon, sensitivity, monotonic), rng)
    return int(order[heads[order]][0])  # the best candidate's coin always shows heads


def report_noisy_max(
    scores: Any,
    epsilon: Number,
    sensitivity: Number,
    noise: Literal["exponential", "gumbel"] = "exponential",
    rng: Keystream | None = None,
    *,
    monotonic: bool = False,
) -> int:
    """The index of the largest of score + noise/c.

    Exponential noise has the law of permute-and-flip (Ding, Kifer and others 2021) and Gumbel noise that
    of the exponential mechanism, so these are drawn, exactly; a maximum of floats would be neither exact
    nor safe.

    >>> report_noisy_max([0, 10**6, 3], 1.0, 1, noise="gumbel")
    1
    """
    if noise not in ("exponential", "gumbel"):
        raise ValueError(f"The `noise` of report_noisy_max is 'exponential' or 'gumbel'. Got {noise!r}.")
    rule = permute_and_flip if noise == "exponential" else exponential
    return rule(scores, epsilon, sensitivity, rng, monotonic=monotonic)


def permutation(n: int, rng: Keystream) -> NDArray[np.int64]:
    """A uniform permutation: the order of n words of 64 bits, drawn again if two are equal.

    >>> sorted(permutation(4, default()).tolist())
    [0, 1, 2, 3]
    """
    while True:
        words = rng.u64(n)
        order = np.argsort(words)
        if n < 2 or bool((np.diff(words[order]) > 0).all()):
            return order


def _gaps(scores: Any) -> NDArray[Any]:
    exact = whole("choose", "scores", scores)
    if exact.ndim != 1 or not exact.size:
        raise ValueError("The `scores` of a choice must be a sequence of one or more whole numbers.")
    best = int(exact.max())
    if exact.dtype == object or best - int(exact.min()) >= 1 << 63:
        return whole("choose", "scores", [best - int(score) for score in exact])
    return np.asarray(best - exact)


def rate_of(epsilon: Number, sensitivity: Number, monotonic: bool) -> Fraction:
    """c: by how much each unit of score multiplies the logarithm of the odds."""
    exact = positive("choose", "epsilon", epsilon) / positive("choose", "sensitivity", sensitivity)
    return exact if monotonic else exact / 2
