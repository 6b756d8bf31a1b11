"""What every library is asked, on the same data and seeds; needs NumPy and scikit-learn alone.

A library is a dictionary from tasks to functions `(table, epsilon, seed) -> answer`. Bounds and the number of rows are
public for all of them; δ = 1e-6 where a library has a use for it.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-6


@dataclass(frozen=True)
class Table:
    """Rows to learn from and to test on, with their public bounds."""

    X: Any
    y: Any = None
    test_X: Any = None
    test_y: Any = None
    low: Any = None
    high: Any = None


def ages() -> Table:
    """A thousand ages of patients, skewed, in whole years."""
    years = np.random.default_rng(0).gamma(6.0, 9.0, 1000).clip(0, 110).round()
    return Table(years, low=0.0, high=120.0)


def split(X: Any, y: Any, seed: int) -> Table:
    """A fifth of the rows for testing; the bounds are those of the published set."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    return Table(X[train], y[train], X[test], y[test], X.min(axis=0), X.max(axis=0))


@cache
def published(name: str) -> tuple[Any, Any]:
    """A set that comes with scikit-learn, or invented rows with a known line through them."""
    loaders = {"breast cancer": load_breast_cancer, "diabetes": load_diabetes, "digits": load_digits}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
        return X[:, np.ptp(X, axis=0) > 0], y
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (10_000, 10))
    return X, X @ np.linspace(-1, 1, 10) + rng.normal(0, 0.5, 10_000)


def error(table: Table, answer: float, truth: Callable[[Any], float]) -> float:
    """How far off a number is."""
    return abs(float(answer) - float(truth(table.X)))


def bins(table: Table, answer: Any) -> float:
    """The share of rows in wrong bins, of a histogram of ten."""
    truth = np.histogram(table.X, 10, (table.low, table.high))[0]
    return float(np.abs(np.asarray(answer) - truth).sum() / 2 / len(table.X))


def r2(table: Table, answer: Any) -> float:
    """1 - squared error over that of the training mean, of predictions within the target's range."""
    guess = np.clip(answer, table.y.min(), table.y.max())
    return float(1 - np.square(table.test_y - guess).sum() / np.square(table.test_y - table.y.mean()).sum())


def accuracy(table: Table, answer: Any) -> float:
    """The share of test rows told right."""
    return float(np.mean(np.asarray(answer) == table.test_y))


TASKS: dict[str, tuple[Callable[[int], Table], Callable[[Table, Any], float], int]] = {
    "mean of 1,000 ages: error in years": (lambda seed: ages(), lambda t, a: error(t, a, np.mean), 200),
    "median of 1,000 ages: error in years": (lambda seed: ages(), lambda t, a: error(t, a, np.median), 100),
    "histogram of 1,000 ages: share misplaced": (lambda seed: ages(), bins, 100),
    "linear, diabetes: R²": (lambda seed: split(*published("diabetes"), seed), r2, 10),
    "linear, 10,000 x 10: R²": (lambda seed: split(*published("invented"), seed), r2, 5),
    "logistic, breast cancer: accuracy": (lambda seed: split(*published("breast cancer"), seed), accuracy, 10),
    "logistic, digits: accuracy": (lambda seed: split(*published("digits"), seed), accuracy, 3),
}


def run(libraries: Mapping[str, Mapping[str, Callable[[Table, float, int], Any]]], quick: bool) -> list[dict[str, Any]]:
    """Scores and processor seconds: the mean over seeds for each library, task and ε."""
    found = []
    for library, answers in libraries.items():
        for task, answer in answers.items():
            make, score, seeds = TASKS[task]
            for epsilon in EPSILONS:
                scores, start = [], time.process_time()
                for seed in range(max(seeds // 5, 2) if quick else seeds):
                    table = make(seed)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        scores.append(score(table, answer(table, epsilon, seed)))
                spent = (time.process_time() - start) / len(scores)
                found.append(
                    {"library": library, "task": task, "epsilon": epsilon, "score": np.mean(scores), "seconds": spent}
                )
                print(f"{library}: {task}, ε = {epsilon:g}", file=sys.stderr)
    return found


def tell(found: list[dict[str, Any]]) -> None:
    """To whoever started this, as JSON."""
    json.dump(found, sys.stdout)
