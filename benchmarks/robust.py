"""Medians and means next to those without privacy: the median |error| of several seeds, at ε = 0.1 and 1.

    OPENBLAS_NUM_THREADS=1 python benchmarks/robust.py [--quick]

A median of four columns by each method, with its interval; the mean of a table whose bounds nobody stated. Truths are
no round numbers, which the default method would favour (but for whole numbers).
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from discreet import stats

SEEDS = 5 if "--quick" in sys.argv else 25
SHIFT = 0.37114
COLUMNS = {
    "normal(170, 10) in [0, 400], n 1k": (lambda rng: rng.normal(170 + SHIFT, 10, 1000), (0, 400), 170 + SHIFT),
    "lognormal(10, 1) in [0, 1e7], n 1k": (lambda rng: rng.lognormal(10, 1, 1000), (0, 1e7), np.exp(10)),
    "Cauchy in ±1e6, n 10k": (lambda rng: rng.standard_cauchy(10_000) + SHIFT, (-1e6, 1e6), SHIFT),
    "Poisson(3) in [0, 100], n 1k": (lambda rng: rng.poisson(3, 1000).astype(float), (0, 100), 3.0),
}
METHODS = ("exponential", "histogram", "smooth", "ptr")


def medians() -> None:
    """A line for each column: without privacy, then each method at both ε."""
    print("| column | no privacy | " + " | ".join(METHODS) + " |\n" + "| --- " * (2 + len(METHODS)) + "|")
    for name, (draw, bounds, truth) in COLUMNS.items():
        columns = [draw(np.random.default_rng(seed)) for seed in range(SEEDS)]
        cells = [f"{np.median([abs(np.median(x) - truth) for x in columns]):.2g}"]
        for method in METHODS:
            errors = [
                np.median([abs(stats.median(x, bounds, e, 1e-6, method=method).value - truth) for x in columns])
                for e in (0.1, 1.0)
            ]
            cells.append(" / ".join(f"{error:.2g}" for error in errors))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def means() -> None:
    """Tables of unknown scales, without bounds: the length of the error, each column by its deviation."""
    print("\n| table, δ = 1e-6, no bounds, n private | no privacy | ε = 1 | 3 |\n| --- | --- | --- | --- |")
    for n, d in ((1000, 10), (10_000, 50)):
        found: list[list[float]] = []
        for seed in range(max(3, SEEDS // 5)):
            rng = np.random.default_rng(seed)
            scale = 10 ** rng.uniform(-1, 1, d)
            truth = rng.uniform(-3, 3, d) * scale
            X = truth + rng.normal(size=(n, d)) * scale
            answers = [X.mean(axis=0), *(stats.mean(X, epsilon=e, delta=1e-6).value for e in (1.0, 3.0))]
            found.append([float(np.linalg.norm((answer - truth) / scale)) for answer in answers])
        print(
            f"| n {n}, d {d} | " + " | ".join(f"{error:.3f}" for error in np.median(found, axis=0)) + " |", flush=True
        )


def speed() -> None:
    """Times of a median of a million rows, divided by NumPy's."""
    x = np.random.default_rng(0).normal(170, 10, 1_000_000)
    times = []
    for work in (lambda: np.median(x), lambda: stats.median(x, (0, 400))):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    print(f"\nA median of 10^6 rows with its interval takes {times[1] / times[0]:.0f} times as long as numpy.median.")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    medians()
    means()
    speed()
