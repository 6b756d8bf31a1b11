"""Exact noise per second, beside its peers in the same run: `python benchmarks/noise.py`.

CPU time, median of several runs, one core. numpy's floats are the speed to compare with; they are not safe to release.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from discreet.events import Gaussian, Laplace
from discreet.mechanisms import choose, samplers
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import default
from discreet.mechanisms.laplace import add_laplace
from discreet.mechanisms.norm import add_norm

N = 100_000
SCALES = [0.01, 1.0, 10.0, 1000.0, 2.0**20 * 1.3, 2.0**50]


def rate(run: Callable[[], object], n: int, repeats: int = 7) -> float:
    run()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return n / max(statistics.median(seconds), 1e-9)


def repeat(call: Callable[[], object], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def ours() -> dict[str, float]:
    best = {}
    for law in ("discrete_laplace", "discrete_gaussian", "rounded_laplace", "rounded_normal"):
        draw = getattr(samplers, law)
        vector = {scale: rate(lambda d=draw, s=scale: d(s, N), N) for scale in SCALES}
        scalar = {scale: rate(repeat(lambda d=draw, s=scale: d(s), 5000), 5000) for scale in SCALES}
        print(f"{law:18s} vectors of 1e5, M/s:", *(f"{s:g}: {r / 1e6:.1f} " for s, r in vector.items()))
        print(f"{'':18s} scalar calls, k/s:  ", *(f"{s:g}: {r / 1e3:.0f} " for s, r in scalar.items()))
        best[law], best[f"{law}, scalar"] = vector[10.0], scalar[10.0]
    return best


def peers() -> dict[str, float]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    g, few = np.random.default_rng(), [0] * 5000
    whole = dp.vector_domain(dp.atom_domain(T=int))
    laplace = dp.m.make_laplace(whole, dp.l1_distance(T=int), 10.0)
    gaussian = dp.m.make_gaussian(whole, dp.l2_distance(T=float), 10.0)
    one = dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=float), 10.0)
    return {
        "opendp discrete_laplace": rate(lambda: laplace(few), 5000, 3),
        "opendp discrete_gaussian": rate(lambda: gaussian(few), 5000, 3),
        "opendp discrete_gaussian, scalar": rate(repeat(lambda: one(0), 1000), 1000, 3),
        "numpy laplace, unsafe": rate(lambda: g.laplace(0, 10.0, N), N),
        "numpy normal, unsafe": rate(lambda: g.normal(0, 10.0, N), N),
    }


def mechanisms() -> None:
    total, scores = np.zeros(N, dtype=np.int64), np.arange(1000)
    print(f"add_gaussian {rate(lambda: add_gaussian(total, 2**30, Gaussian(1.0)), N) / 1e6:.1f} M/s,", end=" ")
    print(f"add_laplace {rate(lambda: add_laplace(total, 2**30, Laplace(1.0)), N) / 1e6:.1f} M/s,", end=" ")
    print(f"add_norm (d = 100) {rate(lambda: add_norm(total[:100], 2**30, 1.0), 100) / 1e3:.0f} k coordinates/s")
    for rule in (choose.exponential, choose.permute_and_flip):
        calls = rate(repeat(lambda r=rule: r(scores, 1.0, 1), 200), 200)
        print(f"{rule.__name__} among 1000: {calls / 1e3:.1f} k/s")
    print(f"keystream {rate(lambda: default().u64(1 << 15), 1 << 15, 51) / 1e6:.0f} M words/s")


if __name__ == "__main__":
    mine, others = ours(), peers()
    print()
    for name, theirs in others.items():
        print(f"{name:34s} {theirs / 1e6:8.3f} M/s")
    print()
    for name in ("discrete_laplace", "discrete_gaussian", "discrete_gaussian, scalar"):
        print(f"{name}: {mine[name] / others[f'opendp {name}']:.0f} times opendp")
    for name, law in (("laplace", "rounded_laplace"), ("normal", "rounded_normal")):
        print(f"{law}: {mine[law] / others[f'numpy {name}, unsafe']:.2f} times numpy's unsafe floats")
    print()
    mechanisms()
