"""Private coefficients with their intervals, next to ordinary least squares: one picture, one summary.

    python examples/coefficients.py

It takes a few seconds, and draws output/coefficients.png. The rows are invented.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression as Ordinary

from discreet.datasets import HOSPITAL, hospital
from discreet.models import LinearRegression

EPSILONS = (0.3, 1.0, 3.0)


def main(folder: Path = Path("output")) -> Path:
    """Fit at several ε, print the summary of one, draw all."""
    columns, cost = hospital(20_000)
    table = pd.DataFrame(columns)
    models = {epsilon: LinearRegression(epsilon, bounds=HOSPITAL).fit(table, cost) for epsilon in EPSILONS}
    print(models[1.0].summary())
    return draw(table, models, Ordinary().fit(table, cost), folder)


def draw(table: pd.DataFrame, models: dict[float, LinearRegression], ordinary: Ordinary, folder: Path) -> Path:
    """Coefficients per standard deviation of their column, which is invented and so may be known."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    scale = table.std().to_numpy()
    at = np.arange(len(scale))
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for i, (epsilon, model) in enumerate(models.items()):
        low, high = (model.interval(0.95)[1:] * scale[:, None]).T
        middle = model.coef_ * scale
        axes.errorbar(
            at + 0.15 * (i - 1),
            middle,
            [middle - low, high - middle],
            fmt="o",
            ms=4,
            color=f"{0.6 - 0.3 * i:.1f}",
            label=f"ε = {epsilon:g}",
        )
    axes.plot(at, ordinary.coef_ * scale, "_", ms=30, color="tab:red", label="without privacy")
    axes.set_xticks(at, table.columns)
    axes.set_ylabel("cost per standard deviation")
    axes.legend(frameon=False)
    folder.mkdir(exist_ok=True)
    path = folder / "coefficients.png"
    figure.savefig(path, dpi=150)
    print(f"\n{path}")
    return path


if __name__ == "__main__":
    main()
