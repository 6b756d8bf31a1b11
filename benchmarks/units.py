"""What it takes to bound a unit's part in an answer, next to the same pass over single rows, in the same run.

1e6 rows of 1e5 units: X'X of 20 columns, and the sum of a column clipped as a whole for each unit. Finding out which
rows belong together is done once per fit and is shown by itself.

OPENBLAS_NUM_THREADS=1 python benchmarks/units.py
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from discreet.engines.memory import Memory
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.query import Batch, BoundedSum

ROWS, UNITS, WIDTH = (100_000, 10_000, 20) if "--quick" in sys.argv else (1_000_000, 100_000, 20)


def features(batch: Batch) -> np.ndarray:
    return batch.X


def first(batch: Batch) -> np.ndarray:
    return batch.X[:, 0]


def took(work) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    rng = np.random.default_rng(0)
    X, people = rng.uniform(-1, 1, (ROWS, WIDTH)), rng.integers(0, UNITS, ROWS)
    square = BoundedSum(features, features, norm=float(WIDTH))
    single, whole = BoundedSum(first, norm=1.0), BoundedSum(first, norm=1.0, whole=True)
    coins = Coins.draw_key(Keystream.seeded(1))
    rows, known = Memory(X), Memory(X, unit=people)
    bounded, shared = known.limit_rows_per_unit(5, coins), known.share_within_units()
    passes = {"square": took(lambda: rows.sum(square)), "one column": took(lambda: rows.sum(single))}
    print(f"{ROWS:,} rows of {UNITS:,} units, {WIDTH} columns; ratios to the pass over single rows")
    print(f"X'X, at most 5 rows each  {took(lambda: bounded.sum(square)) / passes['square']:.2f}")
    print(f"X'X, rows share           {took(lambda: shared.sum(square)) / passes['square']:.2f}")
    print(f"a column, clipped as a whole {took(lambda: shared.sum(whole)) / passes['one column']:.2f}")
    print("once per fit, in passes of X'X:")
    print(f"who is who                {took(lambda: Memory(X, unit=people)) / passes['square']:.2f}")
    print(f"choosing 5 rows of each   {took(lambda: known.limit_rows_per_unit(5, coins)) / passes['square']:.2f}")


if __name__ == "__main__":
    main()
