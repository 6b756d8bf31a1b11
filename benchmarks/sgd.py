"""What a step of private SGD takes, next to the same step without privacy in the same run.

The plain step draws the same kind of Poisson lot with NumPy, takes its rows, and makes two matrix products. Ours maps
the rows once, then draws a lot, adds up clipped gradients in whole numbers and adds exact noise; the map is apart.

OPENBLAS_NUM_THREADS=1 python benchmarks/sgd.py
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import expit

import discreet as dc
from discreet.models.sgd import SGDClassifier

STEPS = 200


class Watch:
    """Seconds of processor time between steps."""

    def __init__(self) -> None:
        self.times = [time.process_time()]

    def __call__(self, *_: object) -> None:
        self.times.append(time.process_time())

    @property
    def step(self) -> float:
        """The median step."""
        return float(np.median(np.diff(self.times)[1:]))

    @property
    def once(self) -> float:
        """All that was done before the second step, but one step."""
        return self.times[1] - self.times[0] - self.step


def plain(X: np.ndarray, y: np.ndarray, lot: int) -> Watch:
    """The same descent without privacy."""
    coins, theta, watch = np.random.default_rng(1), np.zeros(X.shape[1]), Watch()
    for _ in range(STEPS):
        heads = coins.random(len(X)) < lot / len(X)
        x = X[heads]
        theta = theta - x.T @ (expit(x @ theta) - y[heads]) / lot
        watch()
    return watch


def private(X: np.ndarray, y: np.ndarray, lot: int, **options) -> Watch:
    """A private fit; the calibration of its noise is remembered from one fit to the next."""
    rate = lot / len(X)
    model = SGDClassifier(rate=rate, epochs=STEPS * rate, bounds=dc.Bounds(-1, 1, classes=[0, 1]), **options)
    model.fit(X[:10], y[:10])
    watch = Watch()
    model.set_params(callback=watch).fit(X, y)
    return watch


def main(rows: int = 100_000, lot: int = 1000) -> None:
    for width in (50, 784):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (rows, width))
        y = (X @ rng.normal(size=width) > 0).astype(np.int64)
        usual = min(plain(X, y, lot).step for _ in range(3))
        known = [private(X, y, lot, n=rows) for _ in range(3)]
        step, counted = min(watch.step for watch in known), min(private(X, y, lot).step for _ in range(3))
        print(f"{rows:,} rows × {width} columns, lots of {lot:,}")
        print(f"  a step without privacy        {1e3 * usual:7.3f} ms")
        print(f"  a private step, n public      {1e3 * step:7.3f} ms   ratio {step / usual:.2f}  (goal: at most 1.5)")
        print(f"  a private step, rows counted  {1e3 * counted:7.3f} ms   ratio {counted / usual:.2f}")
        print(f"  once: rows mapped, plan paid  {1e3 * min(watch.once for watch in known):7.1f} ms")


if __name__ == "__main__":
    main()
