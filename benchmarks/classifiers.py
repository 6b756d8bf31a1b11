"""How good probabilities and rankings of logistic regression are, on the development sets of 1,000 rows and more.

    python benchmarks/classifiers.py [--data DIR] [--seeds 5] [--method auto] [--save FILE] [--before FILE]
                                     [--only NAME ...] [--epsilons E ...]

Accuracy, area under the ROC curve (AUC; of several classes the mean of each against the rest) and log loss on rows that
were not learnt from, at δ = 1e-6, the number of rows private, for each set of tuning/development.py; seeds draw rows
and noise. Beside log loss that of the class shares alone, noisy with the whole budget, and clipped to
[1/(n + 2), 1 - 1/(n + 2)]. --save writes all figures down; --before compares with what another method, or another
version, has written, seed by seed: differences of means, and two standard errors of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "tuning"))

import numpy as np
from development import Development, large
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from discreet.accounting import noise_multiplier
from discreet.models import LogisticRegression

Floats = NDArray[np.float64]

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6
FIGURES = ("accuracy", "AUC", "log loss")


def figures(table: Development, method: str, epsilon: float, seed: int) -> list[float]:
    """Accuracy, AUC and log loss; and the log loss of noisy class shares."""
    train, test = table.split(seed)
    labels = np.arange(len(table.bounds.classes or ()))
    model = LogisticRegression(epsilon, DELTA, method=method, bounds=table.bounds, random_state=seed)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances = model.fit(table.X[train], table.y[train]).predict_proba(table.X[test])
    y = table.y[test]
    chances = np.clip(chances, 1e-15, 1)
    chances /= chances.sum(axis=1, keepdims=True)
    right = float((chances.argmax(axis=1) == y).mean())
    return [right, area(chances, y), float(log_loss(y, chances, labels=labels)), by_shares(table, epsilon, seed)]


def area(chances: Floats, y: NDArray[np.int64]) -> float:
    each = range(1, 2) if chances.shape[1] == 2 else range(chances.shape[1])
    found = [roc_auc_score(y == k, chances[:, k]) for k in each if 0 < (y == k).sum() < len(y)]
    return float(np.mean(found))


def by_shares(table: Development, epsilon: float, seed: int) -> float:
    """The log loss of class shares, noisy with the whole budget."""
    train, test = table.split(seed)
    k = len(table.bounds.classes or ())
    noise = noise_multiplier(epsilon, DELTA) * np.random.default_rng(seed + 99).normal(size=k)
    counts = np.bincount(table.y[train], minlength=k) + noise
    n = max(float(counts.sum()), 1.0)
    shares = np.clip(counts / n, 1 / (n + 2), 1 - 1 / (n + 2))
    return float(-np.log(shares / shares.sum())[table.y[test]].mean())


def tell(name: str, epsilon: float, found: Floats, before: Floats | None) -> None:
    """One line per set and ε: our means; by how much they differ, with two standard errors."""
    line = f"{name[:38]:38} {epsilon:5g} " + " ".join(f"{mean:.3f}" for mean in found[:, :3].mean(axis=0))
    line += f" ({found[:, 3].mean():.3f})"
    if before is not None:
        seeds = min(len(found), len(before))
        apart = found[:seeds, :3] - before[:seeds, :3]
        error = 2 * apart.std(axis=0, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.full(3, np.nan)
        line += "   " + "  ".join(
            f"{mean:+.3f} ± {two:.3f}" for mean, two in zip(apart.mean(axis=0), error, strict=True)
        )
    print(line, flush=True)


def summary(
    all_found: dict[str, dict[str, list[list[float]]]], before: dict[str, dict[str, list[list[float]]]]
) -> None:
    """Means over sets, at each ε; and how often log loss is above that of class shares by more than chance."""
    print("\nmeans over sets: ε, accuracy, AUC, log loss (class shares alone); and before")
    for epsilon in dict.fromkeys(e for found in all_found.values() for e in found):
        ours = {name: np.array(found[epsilon]) for name, found in all_found.items() if epsilon in found}
        theirs = [
            np.array(before[name][epsilon])[:, :3].mean(axis=0) for name in ours if epsilon in before.get(name, {})
        ]
        mean = np.mean([one.mean(axis=0) for one in ours.values()], axis=0)
        line = f"{epsilon:>5} {mean[0]:.4f} {mean[1]:.4f} {mean[2]:.4f} ({mean[3]:.4f})"
        print(line, *(f"{value:.4f}" for value in np.mean(theirs, axis=0)) if theirs else "")
        for name, one in ours.items():
            above = one[:, 2] - one[:, 3]
            error = 2 * above.std(ddof=1) / np.sqrt(len(above)) if len(above) > 1 else 0.0
            if above.mean() > 0.01 + error:
                print(f"      log loss above that of class shares: {name[:38]:38} {above.mean():+.3f} ± {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=shared, help="folder of the published sets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--before", type=Path, help="figures that were saved, to compare with")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of sets")
    options = parser.parse_args()
    before = json.loads(options.before.read_text()) if options.before else {}
    found: dict[str, dict[str, list[list[float]]]] = {}
    print(f"{options.method}: set, ε, accuracy, AUC, log loss (class shares alone); less what was before, ± 2 errors")
    for table in large(options.data):
        if options.only and not any(part in table.name for part in options.only):
            continue
        for epsilon in options.epsilons:
            rows = [figures(table, options.method, epsilon, seed) for seed in range(options.seeds)]
            found.setdefault(table.name, {})[str(epsilon)] = rows
            earlier = before.get(table.name, {}).get(str(epsilon))
            tell(table.name, epsilon, np.array(rows), None if earlier is None else np.array(earlier))
        if options.save:
            options.save.write_text(json.dumps(found))
    summary(found, before)


if __name__ == "__main__":
    main()
