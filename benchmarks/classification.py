"""How good logistic regression is at each ε, beside its rivals: test accuracy on published data sets; and how fast.

    python benchmarks/classification.py [--data DIR] [--seeds 5] [--quick] [--sets NAME ...]

Protocol: a fifth of the rows for testing, drawn anew for each seed (MNIST: its own test set); features clipped to
public bounds (stated below, or the minima and maxima of the published set), categories as indicators; of adult its
training file; δ = 1e-6; the number of rows private unless said otherwise; constants chosen by other sets, though not
without a look at breast cancer and MNIST (see tuning/choose_logistic.py). `ordinary` is logistic regression without
privacy in the coordinates of the bounds, hardly penalised; `majority` the likelier class. Noise is seeded: figures
repeat. Splits differ more than methods do: on bank, `ordinary` has .905 for seed 0, .902 for seed 1 and .897 for seed
3. Compare figures of the same seeds. Of sets with fewer than 1,000 rows there are 40 times as many seeds: five of
breast cancer have a mean that is off by .05 at ε = 0.1.

GOALS are figures published for tight objective perturbation, on fewer seeds. Two are beyond logistic regression here:
on bank `ordinary` has .9008 for five seeds (.9032 for the first two), the goals at ε = 3 and 10 are .903 and .905; what
they were published for, tight objective perturbation of unit rows with an exact minimum, has .8998 and .9005 here.
They take the number of rows for public: so asked, `auto` has .868 on breast cancer at ε = 0.1, where .80 is the goal.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

if "OPENBLAS_NUM_THREADS" not in os.environ and __name__ != "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression as Ordinary
from sklearn.naive_bayes import CategoricalNB as OrdinaryNaive

from discreet import Bounds, NoiseWarning, NotPrivateWarning
from discreet.features import OrientationHistograms
from discreet.models import GaussianNB, LogisticRegression, MixedNB

Floats = NDArray[np.float64]

EPSILONS = (0.1, 1.0, 3.0, 10.0)
DELTA = 1e-6
ADULT = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 20_000),
    "capital_loss": (0, 4_000),
    "hours_per_week": (1, 99),
}
BANK = {
    "balance": (-2_000, 10_000),
    "day": (1, 31),
    "duration": (0, 2_000),
    "campaign": (1, 20),
    "pdays": (-1, 400),
    "previous": (0, 20),
}
GOALS = {
    "adult": (0.836, 0.848, 0.849, 0.851),
    "bank": (0.891, 0.901, 0.903, 0.905),
    "MNIST 4 vs 9": (0.90, 0.953, 0.959, 0.964),
    "MNIST 4 vs 9, orientations": (0.97, 0.985, 0.987, 0.99),
    "breast cancer": (0.80, 0.92, 0.935, 0.945),
}
SETS = (*GOALS, "digits")
METHODS = {
    "auto": {},
    "auto, n public": {"n": True},
    "auto, δ = 0": {"delta": 0.0},
    "gradient": {"method": "gradient"},
    "sgd": {"method": "sgd"},
    "quadratic": {"method": "quadratic"},
    "objective": {"method": "objective"},
    "objective-pure": {"method": "objective-pure", "delta": 0.0, "n": True},
    "output, δ = 0": {"method": "output", "delta": 0.0, "n": True},
}
SMALL, TIMES = 1_000, 40  # sets of fewer rows get so many times the seeds
SLOW = ("objective", "objective-pure", "output, δ = 0")


@dataclass(frozen=True)
class Table:
    """A data set, its public bounds, and how many of its rows are for training if that is fixed."""

    X: Floats
    y: NDArray[np.int64]
    bounds: Bounds
    train: int | None = None

    def split(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.train is not None:
            return np.arange(self.train), np.arange(self.train, len(self.y))
        order = np.random.default_rng(seed).permutation(len(self.y))
        fifth = len(order) // 5
        return order[fifth:], order[:fifth]


def frame(
    path: Path, target: str, positive: str, stated: dict[str, tuple[float, float]], drop: tuple[str, ...]
) -> Table:
    """Columns of numbers within bounds, all others as indicators."""
    table = pd.read_parquet(path).dropna()
    if "split" in table:
        table = table[table.pop("split") == "train"]
    table = table.drop(columns=list(drop))
    y = table.pop(target).astype(str).str.contains(positive).to_numpy(np.int64)
    columns, low, high = [], [], []
    for name in table:
        values = table[name]
        if values.dtype.kind in "iuf" and values.nunique() > 2:
            first, last = stated.get(str(name), (float(values.min()), float(values.max())))
            columns.append(values.to_numpy(float)[:, None])
        else:
            columns.append(pd.get_dummies(values).to_numpy(float))
            first, last = 0.0, 1.0
        low += [first] * columns[-1].shape[1]
        high += [last] * columns[-1].shape[1]
    return Table(np.hstack(columns), y, Bounds(low, high, classes=(0, 1)))


@cache
def load(name: str, folder: Path) -> Table | None:
    """The data set, or None where its file is missing."""
    if name == "breast cancer":
        data = load_breast_cancer()
        return Table(data.data, data.target, Bounds(data.data.min(axis=0), data.data.max(axis=0), classes=(0, 1)))
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return Table(X, y, Bounds(0, 16, classes=range(10)).matched(64))
    if name == "adult" and (folder / "adult.parquet").exists():
        return frame(folder / "adult.parquet", "income", ">50K", ADULT, ("fnlwgt", "native_country"))
    if name == "bank" and (folder / "bank_marketing.parquet").exists():
        return frame(folder / "bank_marketing.parquet", "y", "yes|1", BANK, ("age",))
    if name.startswith("MNIST") and (folder / "mnist.npz").exists():
        return mnist(folder / "mnist.npz", "orientations" in name)
    return None


def mnist(path: Path, orientations: bool) -> Table:
    data = {key.lower(): value for key, value in np.load(path).items()}
    parts = []
    for part in ("train", "test"):
        X, y = data[f"x_{part}"], data[f"y_{part}"]
        chosen = (y == 4) | (y == 9)
        parts.append((X[chosen].reshape(-1, 784) / 255.0, (y[chosen] == 9).astype(np.int64)))
    X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    bounds = Bounds(0, 1, classes=(0, 1)).matched(784)
    if orientations:
        features = OrientationHistograms(bounds=Bounds(0, 1, classes=(0, 1)))
        X = features.fit_transform(X)
        bounds = Bounds(features.out_bounds.lower, features.out_bounds.upper, classes=(0, 1)).matched(X.shape[1])
    return Table(np.ascontiguousarray(X), y, bounds, len(parts[0][1]))


def accuracy(job: tuple[str, Path, str, float, int]) -> float:
    name, folder, method, epsilon, seed = job
    table = load(name, folder)
    assert table is not None
    train, test = table.split(seed)
    if method == "ordinary":
        X = np.clip((table.X - table.bounds.centre) / table.bounds.half, -1, 1)
        return float(Ordinary(C=10, max_iter=5_000).fit(X[train], table.y[train]).score(X[test], table.y[test]))
    if method == "majority":
        return float((table.y[test] == np.bincount(table.y[train]).argmax()).mean())
    options = {"delta": DELTA} | METHODS[method]
    options["n"] = len(train) if options.get("n") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.simplefilter("ignore", NoiseWarning)
        model = LogisticRegression(epsilon, bounds=table.bounds, random_state=seed, **options)
        return float(model.fit(table.X[train], table.y[train]).score(table.X[test], table.y[test]))


def row(pool: ProcessPoolExecutor, name: str, folder: Path, method: str, seeds: int) -> list[float]:
    jobs = [(name, folder, method, epsilon, seed) for epsilon in EPSILONS for seed in range(seeds)]
    found = np.array(list(pool.map(accuracy, jobs, chunksize=1 + seeds // 50))).reshape(len(EPSILONS), seeds)
    return [float(mean) for mean in found.mean(axis=1)]


def accuracies(folder: Path, seeds: int, quick: bool, names: tuple[str, ...]) -> None:
    print(f"test accuracy at ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}; means over seeds")
    with ProcessPoolExecutor(2) as pool:
        for name in names:
            table = load(name, folder)
            if table is None:
                print(f"\n{name}: its file is not in {folder}. Hint: --data DIR.")
                continue
            many = seeds * TIMES if len(table.y) < SMALL else seeds
            print(f"\n{name} ({len(table.y):,} rows × {table.X.shape[1]} columns; {many} seeds)")
            if name in GOALS:
                print(f"  {'to reach':18}", *(f"{goal:7.3f}" for goal in GOALS[name]))
            wide = table.X.shape[1] > 200 or name == "digits"
            methods = [m for m in METHODS if not (m in SLOW and wide)] if not quick else ["auto"]
            for method in ("majority", "ordinary"):
                print(f"  {method:18} {np.mean([accuracy((name, folder, method, 1.0, s)) for s in range(many)]):7.4f}")
            for method in methods:
                print(f"  {method:18}", *(f"{mean:7.4f}" for mean in row(pool, name, folder, method, many)), flush=True)


NAIVE = {  # naive Bayes beside regression, with categories as such
    "GaussianNB of numbers": lambda lists, options: GaussianNB(**options),
    "MixedNB": lambda lists, options: MixedNB(categories=lists, **options),
    "MixedNB, gaussian": lambda lists, options: MixedNB(categories=lists, numbers="gaussian", **options),
}
NAIVE_GOALS = {"adult": (0.82, 0.83), "nursery": (0.89, 0.905)}  # at ε = 0.1 and 1
BINS = 64  # of a number, for naive Bayes without privacy


def mixed_table(name: str, folder: Path) -> tuple[pd.DataFrame, NDArray[Any], dict[str, list[str]], Bounds]:
    """Numbers, and categories with their lists."""
    table = pd.read_parquet(folder / f"{name}.parquet").dropna()
    if "split" in table:
        table = table[table.pop("split") == "train"].drop(columns=["fnlwgt", "native_country"])
    y = table.pop("income" if name == "adult" else "class").astype(str).to_numpy()
    ranges = {column: ADULT[column] for column in table if column in ADULT and name == "adult"}
    lists = {column: sorted(table[column].astype(str).unique()) for column in table if column not in ranges}
    table = table.astype(dict.fromkeys(lists, str))
    return table, y, lists, Bounds(ranges | dict.fromkeys(lists, (0.0, 1.0)), classes=sorted(set(y)))


def ordinary_naive(
    table: pd.DataFrame, y: NDArray[Any], lists: dict[str, list[str]], bounds: Bounds, train: Any
) -> Any:
    """Predictions of scikit-learn's naive Bayes, numbers in even bins within their bounds."""
    ranges = dict(zip(bounds.columns or (), zip(bounds.lower, bounds.upper, strict=True), strict=True))
    codes = []
    for column in table:
        if column in lists:
            codes.append([lists[column].index(value) for value in table[column]])
        else:
            low, high = ranges[column]
            codes.append(np.clip((table[column] - low) / (high - low) * BINS, 0, BINS - 1).astype(int))
    X = np.column_stack(codes)
    return OrdinaryNaive(min_categories=X.max(axis=0) + 1).fit(X[train], y[train]).predict(X)


def naive(folder: Path, seeds: int) -> None:
    """Test accuracy of naive Bayes on adult and nursery, for δ = 1e-6 and 0."""
    for name, goals in NAIVE_GOALS.items():
        if not (folder / f"{name}.parquet").exists():
            print(f"\n{name}: its file is not in {folder}. Hint: --data DIR.")
            continue
        table, y, lists, bounds = mixed_table(name, folder)
        splits = [np.random.default_rng(seed).permutation(len(y)) for seed in range(seeds)]
        splits = [(order[len(y) // 5 :], order[: len(y) // 5]) for order in splits]
        print(f"\nnaive Bayes on {name} ({len(y):,} rows × {table.shape[1]} columns; {seeds} seeds)")
        print(f"  {'to reach':26}", *(f"{goal:7.3f}" for goal in goals))
        found = [(ordinary_naive(table, y, lists, bounds, train) == y)[test].mean() for train, test in splits]
        print(f"  {'without privacy':26} {np.mean(found):7.4f}", flush=True)
        for method, make in NAIVE.items():
            numbers = [column for column in table if column not in lists]
            if method != "MixedNB" and not numbers:
                continue
            some = table[numbers] if "numbers" in method else table
            known = (
                Bounds({column: ADULT[column] for column in numbers}, classes=bounds.classes)
                if "numbers" in method
                else bounds
            )
            for delta in (DELTA, 0.0):
                means = []
                for epsilon in EPSILONS:
                    scores = []
                    for seed, (train, test) in enumerate(splits):
                        options = {"epsilon": epsilon, "delta": delta, "bounds": known, "random_state": seed}
                        model = make(lists, options).fit(some.iloc[train], y[train])
                        scores.append(model.score(some.iloc[test], y[test]))
                    means.append(np.mean(scores))
                print(
                    f"  {method + (', δ = 0' if not delta else ''):26}", *(f"{mean:7.4f}" for mean in means), flush=True
                )


def speed(rows: int = 100_000, width: int = 50) -> None:
    """Fit time beside scikit-learn's, the fastest of three."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, width))
    y = (X @ rng.normal(size=width) + rng.normal(size=rows) > 0).astype(int)
    times: dict[str, float] = {}
    for name, model in {"ours": LogisticRegression(bounds=Bounds(-1, 1, classes=(0, 1))), "theirs": Ordinary()}.items():
        for _ in range(3):
            start = time.perf_counter()
            model.fit(X, y)
            times[name] = min(times.get(name, np.inf), time.perf_counter() - start)
    print(f"{rows:,} rows × {width} columns")
    print(f"  scikit-learn's LogisticRegression  {times['theirs']:7.3f} s")
    ratio = times["ours"] / times["theirs"]
    print(f"  discreet's LogisticRegression      {times['ours']:7.3f} s   ratio {ratio:.2f}  (goal: at most 3)\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=shared, help="folder of the published sets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the default method alone")
    parser.add_argument("--naive", action="store_true", help="naive Bayes alone")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="which of them")
    options = parser.parse_args()
    if options.naive:
        warnings.simplefilter("ignore")
        naive(options.data, options.seeds)
        return
    speed()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    accuracies(options.data, options.seeds, options.quick, tuple(options.sets))
    warnings.simplefilter("ignore")
    naive(options.data, options.seeds)


if __name__ == "__main__":
    main()
