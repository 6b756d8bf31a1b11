"""Reports per second and errors of local privacy, beside its peers in the same run: `python benchmarks/local.py`.

CPU time on one core, d = 100 values, ε = 1, zipf 1.1. Peers are run where they can be imported: pure-ldp and
multi-freq-ldpy, with xxhash below 4 and statsmodels. Peers that clip and renormalise their shares are biased, and look
better for it: errors are compared with the theory of an unbiased estimate.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.local import Device, Estimate, Survey, answer_many

D, EPSILON, N, FEW = 100, 1.0, 200_000, 5000
PEOPLE = np.random.default_rng(0).choice(D, N, p=(share := 1 / np.arange(1, D + 1) ** 1.1) / share.sum())


def seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    run()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return max(statistics.median(found), 1e-9)


def ours() -> dict[str, tuple[float, float]]:
    rates = {}
    print("ours: vectors of 2e5, M reports/s on the device and at the collector; n·MSE and theory")
    for method in ("direct", "hadamard", "hash", "projective", "oue", "sue", "subset"):
        survey = Survey.choice("x", range(D), EPSILON, method=method)
        reports = answer_many(survey, PEOPLE)
        some = 20_000 if method == "hash" else N

        def collect(survey: Survey = survey, some: int = some, reports: Any = reports) -> Estimate:
            tally = Estimate(survey)
            tally.add_many(reports[:some])
            tally.value  # noqa: B018
            return tally

        client = N / seconds(lambda s=survey: answer_many(s, PEOPLE)) / 1e6
        server = some / seconds(collect) / 1e6
        truth = np.bincount(PEOPLE[:some], minlength=D) / some
        error = some * np.mean((collect().value - truth) ** 2)
        rates[method] = client, server
        print(f"  {method:10} {client:8.2f} {server:8.2f}   {error:6.2f} {survey.design.variance(1 / D):6.2f}")
    for name, survey, values in (
        ("one bit", Survey.number("x", 0, D, EPSILON, method="bit"), PEOPLE),
        ("table", Survey.number("x", 0, D, EPSILON), PEOPLE),
        ("privunitg", Survey.vector("x", 10, EPSILON), np.zeros((20_000, 10)) + 0.1),
    ):
        print(f"  {name:10} {len(values) / seconds(lambda s=survey, v=values: answer_many(s, v)) / 1e6:8.2f}")
    surveys = [Survey.choice(f"{i}", range(D), EPSILON, method="direct") for i in range(FEW)]
    print(f"  a device in memory, a new survey each: {FEW / seconds(lambda: one_by_one(surveys), 3):,.0f}/s")
    return rates


def one_by_one(surveys: list[Survey]) -> None:
    device = Device(budget=len(surveys) * EPSILON)
    for survey in surveys:
        device.answer(survey, 3)


def importing() -> None:
    """What the client part costs to import, beside an interpreter that imports nothing."""
    found = []
    for code in ("pass", "from discreet.local import Device, Survey"):
        start = time.perf_counter()
        for _ in range(5):
            subprocess.run([sys.executable, "-c", code], check=True)
        found.append((time.perf_counter() - start) / 5)
    empty, whole = (1000 * one for one in found)
    print(f"import of the device: {whole - empty:.0f} ms beyond an empty interpreter's {empty:.0f}")


def peers(rates: dict[str, tuple[float, float]]) -> None:
    for name, run in (("pure-ldp", pure_ldp), ("multi-freq-ldpy", multi_freq)):
        try:
            found = run()
        except ImportError as error:
            print(f"{name}: not here ({type(error).__name__})")
            continue
        print(f"{name}: k reports/s on the device; how many times as fast ours is")
        for method, rate in found.items():
            print(f"  {method:10} {rate / 1e3:8.1f}   {rates[method][0] * 1e6 / rate:8.0f}")


def pure_ldp() -> dict[str, float]:
    home = "pure_ldp.frequency_oracles"
    values = (PEOPLE[:FEW] + 1).tolist()
    clients = {
        "direct": importlib.import_module(f"{home}.direct_encoding").DEClient(EPSILON, D),
        "oue": importlib.import_module(f"{home}.unary_encoding").UEClient(EPSILON, D, use_oue=True),
        "hash": importlib.import_module(f"{home}.local_hashing").LHClient(EPSILON, D, use_olh=True),
    }
    return {name: FEW / seconds(lambda c=one: [c.privatise(v) for v in values], 3) for name, one in clients.items()}


def multi_freq() -> dict[str, float]:
    home, values = "multi_freq_ldpy.pure_frequency_oracles", PEOPLE[:FEW].tolist()
    found = {"direct": "GRR", "oue": "UE", "hash": "LH", "subset": "SS"}
    rates = {}
    for method, name in found.items():
        client = getattr(importlib.import_module(f"{home}.{name}"), f"{name}_Client")
        rates[method] = FEW / seconds(lambda c=client: [c(v, D, EPSILON) for v in values], 3)
    return rates


if __name__ == "__main__":
    rates = ours()
    importing()
    peers(rates)
