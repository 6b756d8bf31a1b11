"""Who will be readmitted? A private classifier, its probabilities, and a paid answer to how good it is.

    python examples/classify.py

It takes a few seconds, and draws output/classify.png. The rows are invented.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import discreet as dc
from discreet import evaluate
from discreet.datasets import HOSPITAL, hospital
from discreet.models import LogisticRegression

CLASSES = ["home", "readmitted"]


def patients(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Invented patients, and whether they came back."""
    columns, cost = hospital(n, seed)
    back = np.random.default_rng(seed).logistic(cost / 5_000 - 4.5) > 0
    return np.column_stack(list(columns.values())), np.where(back, CLASSES[1], CLASSES[0])


def main(folder: Path = Path("output")) -> Path:
    """Learn from some patients, be judged by others, and draw what was paid for."""
    X, y = patients(20_000, seed=1)
    ledger = dc.Ledger(dc.Budget(1.0, 1e-6), data="patients of 2025")
    model = LogisticRegression(epsilon=1.0, bounds=HOSPITAL, classes=CLASSES, ledger=ledger).fit(X, y)
    odds = dict(zip(HOSPITAL.columns, model.coef_[0], strict=True))
    print(f"{model.release_.budget}; a year of age multiplies the odds by {np.exp(odds['age']):.2f}")

    # other people, so another account: their rows are private too
    X_test, y_test = patients(5_000, seed=2)
    judged = dc.Ledger(dc.Budget(1.0), data="patients of 2026")
    accuracy = evaluate.private_accuracy(model, X_test, y_test, epsilon=0.3, ledger=judged)
    low, high = accuracy.interval
    print(f"Accuracy on patients of 2026: {accuracy.value:.3f} (95% interval {low:.3f} to {high:.3f})")
    scores = evaluate.private_scores(model, X_test, y_test, epsilon=0.7, ledger=judged)
    area = evaluate.auc_of(scores)
    print(f"AUC: {area.value:.3f} ({area.interval[0]:.3f} to {area.interval[1]:.3f}), from one histogram of scores")
    print(judged)
    return draw(evaluate.roc_of(scores), evaluate.calibration_of(scores), folder)


def draw(roc: evaluate.Roc, calibration: evaluate.Calibration, folder: Path) -> Path:
    """ROC curve and calibration, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
    roc.plot(left)
    calibration.plot(right)
    folder.mkdir(exist_ok=True)
    path = folder / "classify.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"\n{path}")
    return path


if __name__ == "__main__":
    main()
