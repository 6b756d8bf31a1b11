"""How many rows private quartiles of d columns need, to be better than the bounds alone (`stats.mean_vectors.ENOUGH`).

    python benchmarks/tuning/vectors.py

Means of normal columns of unknown scales, without bounds and n: the error with quartiles divided by that without, by
the power of e that the rule looks at. Quartiles pay where it is below 1. Medians of 9 seeds:

    n, d, ε    500, 5, 1    1000, 10, .3    1000, 10, .5    1000, 10, 1    4000, 20, .3    4000, 20, 1
    power      7.3          3.4             5.3             9.6            8.8             26.9
    ratio      .69          .72             .49             .58            .33             .48
"""

from __future__ import annotations

import warnings

import numpy as np

from discreet import stats
from discreet.stats import mean_vectors as vectors


def error(n: int, d: int, epsilon: float, enough: float, seed: int) -> float:
    """The scaled error of the mean, with the rule's bar at `enough`."""
    vectors.ENOUGH = enough
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-1, 1, d)
    middle = rng.uniform(-3, 3, d) * scale
    X = middle + rng.normal(size=(n, d)) * scale
    found = stats.mean(X, epsilon=epsilon, delta=1e-6, random_state=seed).value
    return float(np.linalg.norm((found - middle) / scale))


def main() -> None:
    """Print a line for each table."""
    warnings.simplefilter("ignore")
    power = vectors._are_enough
    seen: list[float] = []
    vectors._are_enough = lambda question, share, n: (
        seen.append(n / 6 * question.curator.buys(share).epsilon) or power(question, share, n)
    )
    for n, d, epsilon in ((500, 5, 1), (1000, 10, 0.3), (1000, 10, 0.5), (1000, 10, 1), (4000, 20, 0.3), (4000, 20, 1)):
        ratios = [error(n, d, epsilon, -1e9, s) / error(n, d, epsilon, 1e9, s) for s in range(9)]
        print(
            f"n {n}, d {d}, ε {epsilon}: power {np.median(seen[-18:]):.2f}, ratio {np.median(ratios):.2f}", flush=True
        )


if __name__ == "__main__":
    main()
