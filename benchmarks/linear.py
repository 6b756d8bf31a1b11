"""How good linear regression is at each ε, beside its rivals: mean test R² over published data sets.

    python benchmarks/linear.py [--data DIR] [--folds 10] [--quick]

Protocol: each set's published test folds, features and target within public bounds (the minima and maxima of the
published set), δ = 1e-6 (0 for the pure methods), n public unless said otherwise, constant columns left out,
predictions within the target's bounds. R² is 1 - squared error over that of the training mean. Noise is seeded:
figures repeat.

Constants of the default depend on public numbers alone. `leave-one-out` shows that they are not fitted to single sets:
for each set it chooses the best of nine variants (rows and residuals clipped at 0.7, 1 and 1.4 times the rule) on the
*other* sets, and scores it on this one; were the constants tuned to sets, that would change the mean.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression as Ordinary

from discreet import Bounds, NoiseWarning, NotPrivateWarning
from discreet.accounting import noise_multiplier
from discreet.models import LinearRegression
from discreet.models.linear import ebssp

Floats = NDArray[np.float64]

TWELVE = "housing airfoil concrete wine skillcraft sml parkinsons pol elevators bike protein keggdirected".split()  # noqa: SIM905
OTHERS = "yacht solar servo pendulum forest machine autos concreteslump pumadyn32nm kin40k tamielectric".split()  # noqa: SIM905
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6
PURE = ("auto, δ = 0", "robust", "functional", "output, δ = 0")
NOISY = ("auto", "auto, n paid for", "auto, no bounds", "adassp", "ssp", "output, δ > 0", "posterior", "private mean")


@dataclass(frozen=True)
class Split:
    """One training and test split of a set."""

    X: Floats
    y: Floats
    test_X: Floats
    test_y: Floats
    bounds: Bounds

    def score(self, predicted: Floats) -> float:
        """R² against the mean of the training targets."""
        return float(1 - np.mean((self.test_y - predicted) ** 2) / np.mean((self.test_y - self.y.mean()) ** 2))


def splits(folder: Path, name: str, folds: int) -> Iterator[Split]:
    """The published folds of a set."""
    table = pd.read_parquet(folder / f"uci_{name}.parquet")
    X, y = table.drop(columns="y").to_numpy(float), table["y"].to_numpy(float)
    X = X[:, X.std(axis=0) > 0]
    bounds = Bounds(X.min(axis=0), X.max(axis=0), target=(y.min(), y.max()))
    assigned = pd.read_parquet(folder / "uci_cv_folds.parquet")
    key, row, fold = assigned.columns
    mine = assigned[assigned[key].isin([name, f"uci_{name}"])].sort_values(row)[fold].to_numpy()
    for one in np.unique(mine)[:folds]:
        test = mine == one
        yield Split(X[~test], y[~test], X[test], y[test], bounds)


def model(method: str, epsilon: float, split: Split, seed: int) -> LinearRegression:
    """The estimator that a row of the table stands for."""
    name = method.split(",")[0]
    delta = 0.0 if method in PURE else DELTA
    n = None if "paid for" in method else len(split.y)
    bounds = None if "no bounds" in method else split.bounds
    return LinearRegression(epsilon, delta, method=name, n=n, bounds=bounds, random_state=seed)


def predict(method: str, epsilon: float, split: Split, seed: int) -> Floats:
    """The predictions of a method on the test rows."""
    if method == "non-private":
        return np.clip(Ordinary().fit(split.X, split.y).predict(split.test_X), *split.bounds.target)
    if method == "private mean":
        middle, half = split.bounds.target_scale
        noise = np.random.default_rng(seed).normal() * noise_multiplier(epsilon, DELTA)
        mean = (split.bounds.scale_target(split.y).sum() + noise) / len(split.y)
        return np.full(len(split.test_X), middle + half * float(np.clip(mean, -1, 1)))
    return model(method, epsilon, split, seed).fit(split.X, split.y).predict(split.test_X)


def run_set(folder: Path, name: str, methods: tuple[str, ...], folds: int) -> list[tuple[str, str, float, int, float]]:
    """R² of every method at every ε on every fold of a set."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.simplefilter("ignore", NoiseWarning)
        for fold, split in enumerate(splits(folder, name, folds)):
            for method, epsilon in product(methods, EPSILONS):
                rows.append((name, method, epsilon, fold, split.score(predict(method, epsilon, split, fold + 1))))
    return rows


def table(folder: Path, names: list[str], methods: tuple[str, ...], folds: int) -> pd.DataFrame:
    """All sets, in parallel, with a line of progress each."""
    rows, start = [], time.monotonic()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2) as pool:
        found = [pool.submit(run_set, folder, name, methods, folds) for name in names]
        for name, future in zip(names, found, strict=True):
            rows += future.result()
            print(f"  {name} ({time.monotonic() - start:.0f} s)", file=sys.stderr, flush=True)
    return pd.DataFrame(rows, columns=["set", "method", "epsilon", "fold", "r2"])


def show(title: str, results: pd.DataFrame, order: tuple[str, ...]) -> pd.DataFrame:
    """Mean R², a row per method."""
    mean = results.groupby(["method", "epsilon"]).r2.mean().unstack().reindex(list(order))
    print(f"\n{title}\n{mean.round(3).to_string()}")
    return mean


def compare(results: pd.DataFrame) -> None:
    """The default against AdaSSP and against the private mean, set by set."""
    by = results.groupby(["set", "epsilon", "method"]).r2.mean().unstack()
    better = (by["auto"] > by["adassp"]).mean()
    worst = (by["auto"] - by["private mean"]).sort_values()
    print(f"\nauto above adassp on {better:.0%} of {len(by)} (set, ε) pairs")
    print(f"auto against the private mean, worst pairs:\n{worst.head(4).round(3).to_string()}")


def variants() -> dict[str, dict[str, Callable[[ebssp.ClipSetting], float]]]:
    """The default with its clipping changed."""
    setting = ebssp.ClipSetting
    length, reach = setting.row_length.fget, setting.reach.fget
    assert length is not None and reach is not None
    return {
        f"rows × {a:g}, residuals × {b:g}": {
            "row_length": lambda self, a=a: a * length(self),
            "residual_clip": lambda self, b=b: b * reach(self),
        }
        for a, b in product((0.7, 1.0, 1.4), (0.7, 1.0, 1.4))
    }


def run_variant(folder: Path, name: str, changes: dict[str, Callable[[ebssp.ClipSetting], float]], folds: int) -> float:
    """Mean R² of a variant of the default on one set."""
    with mock.patch.multiple(ebssp.ClipSetting, **{key: property(value) for key, value in changes.items()}):
        return float(np.mean([row[-1] for row in run_set(folder, name, ("auto",), folds)]))


def leave_one_out(folder: Path, names: list[str], folds: int) -> None:
    """Choose the variant on all sets but one, score it on that one."""
    scores = pd.DataFrame(
        {label: [run_variant(folder, name, changes, folds) for name in names] for label, changes in variants().items()},
        index=names,
    )
    plain = "rows × 1, residuals × 1"
    chosen = {name: scores.drop(index=name).mean().idxmax() for name in names}
    left_out = np.mean([scores.loc[name, label] for name, label in chosen.items()])
    print(
        f"\nleave-one-set-out: constants as they are {scores[plain].mean():.4f}, chosen on the other sets "
        f"{left_out:.4f}"
    )
    print(f"  mean of each variant over all sets and ε:\n{scores.mean().round(4).to_string()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1].parent / "shared" / "data")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two folds of four small sets")
    options = parser.parse_args()
    if not (options.data / "uci_cv_folds.parquet").exists():
        print(f"No data sets in {options.data}: name their folder with --data. Nothing was measured.")
        return
    names, others, folds = list(TWELVE), list(OTHERS), options.folds
    if options.quick:
        names, others, folds = ["housing", "airfoil", "concrete", "wine"], ["yacht", "machine"], 2
    methods = ("non-private", *NOISY)
    results = table(options.data, names, methods, folds)
    show(f"{len(names)} sets, δ = {DELTA:g}, mean test R²", results, methods)
    compare(results)
    show("the same, pure ε", table(options.data, names, PURE, folds), PURE)
    unseen = table(options.data, others, ("non-private", "auto", "adassp", "private mean"), folds)
    show(
        f"{len(others)} sets that no constant was chosen on", unseen, ("non-private", "auto", "adassp", "private mean")
    )
    compare(unseen)
    leave_one_out(options.data, names, min(folds, 3))


if __name__ == "__main__":
    main()
