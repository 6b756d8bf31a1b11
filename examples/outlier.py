"""What one outlier does to a mean, a median and a trimmed mean, with and without privacy: output/outlier.png.

    python examples/outlier.py

4,000 salaries, of which one is typed with more and more zeros.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import trim_mean

from discreet import stats

TYPED = 10.0 ** np.arange(4, 10)  # what the last salary is
BOUNDS = (0, 1e9)
NAMES = ("mean", "median", "trimmed mean")


def without(x: np.ndarray) -> list[float]:
    """The three, exactly."""
    return [float(np.mean(x)), float(np.median(x)), float(trim_mean(x, 0.1))]


def private(x: np.ndarray) -> list[float]:
    """The three at ε = 1 each, for bounds that hold the outlier too."""
    answers = stats.mean(x, BOUNDS), stats.median(x, BOUNDS), stats.trimmed_mean(x, 0.1, BOUNDS)
    return [float(answer.value) for answer in answers]


def main() -> None:
    """A table, and a picture."""
    x = np.random.default_rng(0).lognormal(10, 0.5, 4_000)
    rows = [np.append(x[:-1], last) for last in TYPED]
    exact, noisy = np.array([without(row) for row in rows]), np.array([private(row) for row in rows])
    print("the last salary " + "".join(f"{name:>24}" for name in NAMES))
    for last, one, two in zip(TYPED, exact, noisy, strict=True):
        print(f"{last:15,.0f} " + "".join(f"{a:12,.0f}{b:12,.0f}" for a, b in zip(one, two, strict=True)))
    print("\nLeft without privacy, right at ε = 1. The noise in the mean is that of its bounds.")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axis, values, title in zip(axes, (exact, noisy), ("without privacy", "ε = 1"), strict=True):
        for column, style in enumerate(("-", "--", ":")):
            axis.plot(TYPED, np.maximum(values[:, column], 1e3), style, color="black", label=NAMES[column])
        axis.set(xscale="log", yscale="log", title=title, xlabel="the last of 4,000 salaries")
    axes[0].legend(frameon=False)
    Path("output").mkdir(exist_ok=True)
    figure.savefig("output/outlier.png", dpi=150, bbox_inches="tight")
    print("Saved output/outlier.png")


if __name__ == "__main__":
    main()
