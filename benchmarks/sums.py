"""How fast bounded sums and fits are, next to NumPy and scikit-learn in the same run.

python benchmarks/sums.py [rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LinearRegression as Ordinary

import discreet as dc
from discreet.engines.memory import Memory
from discreet.models import LinearRegression
from discreet.query import BoundedSum


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The fastest of some runs: what the work takes when nothing else does."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main(rows: int = 1_000_000, width: int = 50) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (rows, width))
    y = X @ np.linspace(-1, 1, width) + 0.1
    plain = seconds(lambda: X.T @ X)

    def x(batch):
        return batch.X

    query = BoundedSum(x, x, norm=float(width))
    bounded = seconds(lambda: Memory(X).sum(query))
    model = LinearRegression(bounds=dc.Bounds(-1, 1, target=(-30, 30)))
    private = seconds(lambda: model.fit(X, y), 3)
    ordinary = seconds(lambda: Ordinary().fit(X, y), 3)
    print(f"{rows:,} rows × {width} columns")
    print(f"  X.T @ X                          {plain:7.3f} s")
    print(f"  the same, clipped and rounded    {bounded:7.3f} s   ratio {bounded / plain:.2f}  (goal: at most 3)")
    print(f"  scikit-learn's LinearRegression  {ordinary:7.3f} s")
    print(f"  discreet's LinearRegression      {private:7.3f} s   ratio {private / ordinary:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
