"""The main job on a bundled table: a private model, private statistics, the ledger, and a picture of the trade-off.

make demo
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.linear_model import LinearRegression as Ordinary
from sklearn.model_selection import train_test_split

import discreet as dc
from discreet.datasets import HOSPITAL, hospital
from discreet.models import LinearRegression
from discreet.stats import count, histogram, mean, median

OUTPUT = Path("output")
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
REPEATS = 20
say = Console(width=110).print


def main() -> None:
    """Run the demonstration."""
    say("[bold]1. A table.[/] 40,000 invented patients: what a hospital holds and may not show.")
    columns, cost = hospital(40_000)
    X, X_test, y, y_test = train_test_split(np.column_stack(list(columns.values())), cost, random_state=0)

    say("\n[bold]2. Public facts and a budget.[/] Bounds come from what the columns mean, never from the rows.")
    say(HOSPITAL)
    ledger = dc.Ledger(dc.Budget(epsilon=2.0, delta=1e-6), data="hospital")
    say(ledger)

    say("\n[bold]3. A private model[/] with ε = 1 of it, and with scikit-learn's fit and predict:")
    model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=HOSPITAL, ledger=ledger).fit(X, y)
    ordinary = Ordinary().fit(X, y)
    private, ceiling = model.score(X_test, y_test), ordinary.score(X_test, y_test)
    say(f"R² on unseen patients: {private:.3f} private, {ceiling:.3f} without privacy, 0 for guessing the mean.")
    say(_coefficients(list(columns), model, ordinary))
    say(str(model.release_), markup=False)

    say("\n[bold]4. Private statistics[/], each with a 95% interval:")
    age, promise = X[:, 0], {"epsilon": 0.3, "delta": 1e-6, "ledger": ledger}
    answers = [
        count(age, **promise),
        mean(age, (0, 110), **promise),
        median(y, (0, 60_000), epsilon=0.2, ledger=ledger),
    ]
    for answer, truth in zip(answers, (len(age), age.mean(), np.median(y)), strict=True):
        low, high = answer.interval
        say(f"  {answer.name:9} {answer.value:12,.1f}   [{low:,.1f}, {high:,.1f}]   (truth {truth:,.1f})", markup=False)
    ages = histogram(age, 11, (0, 110), **promise)

    say("\n[bold]5. The ledger[/] knows what was spent, and refuses what would be too much:")
    say(ledger.explain(), markup=False)
    try:
        LinearRegression(epsilon=5.0, bounds=HOSPITAL, ledger=ledger).fit(X, y)
    except dc.BudgetExceeded as refusal:
        say(f"[yellow]{refusal}[/]")

    say("\n[bold]6. A picture[/] of accuracy against ε. (The patients are invented, so trying costs nothing.)")
    scores = np.array([[_score(e, X, y, X_test, y_test) for _ in range(REPEATS)] for e in track(EPSILONS, "fitting")])
    OUTPUT.mkdir(exist_ok=True)
    draw(scores, ceiling, ages, np.histogram(age, 11, (0, 110))[0], OUTPUT / "accuracy.png")
    say(f"Saved [bold]{OUTPUT / 'accuracy.png'}[/].")


def _score(epsilon: float, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> float:
    model = LinearRegression(epsilon=epsilon, delta=1e-6, bounds=HOSPITAL).fit(X, y)
    return float(model.score(X_test, y_test))


def _coefficients(names: list[str], model: LinearRegression, ordinary: Ordinary) -> Table:
    table = Table("yearly cost per unit of", "private", "without privacy")
    for name, ours, theirs in zip(names, model.coef_, ordinary.coef_, strict=True):
        table.add_row(name, f"{ours:,.1f}", f"{theirs:,.1f}")
    return table


def draw(scores: np.ndarray, ceiling: float, ages: dc.Release, truth: np.ndarray, path: Path) -> None:
    """Accuracy against ε with its spread, and a private histogram over the true one."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    low, middle, high = np.quantile(scores, (0.1, 0.5, 0.9), axis=1)
    left.fill_between(EPSILONS, low, high, color="0.85", label="8 of 10 runs")
    left.plot(EPSILONS, middle, "k-o", markersize=4, label="private (median)")
    left.axhline(ceiling, color="0.3", linestyle="--", label="without privacy")
    left.axhline(0, color="0.6", linestyle=":", label="guessing the mean")
    left.set(xscale="log", xlabel="ε  (δ = 1e-6)", ylabel="R² on unseen patients", title="Accuracy against privacy")
    left.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
    left.minorticks_off()
    left.legend(frameon=False, loc="center right")
    edges = np.array(ages.axes[0])
    spread = np.maximum(0, np.stack([ages.value - ages.interval[0], ages.interval[1] - ages.value]))
    right.stairs(truth, edges, fill=True, color="0.85", label="truth")
    right.errorbar((edges[1:] + edges[:-1]) / 2, ages.value, spread, fmt="ko", markersize=4, capsize=3, label="private")
    right.set(xlabel="age", ylabel="patients", title=f"A private histogram (ε = {ages.epsilon:g})")
    right.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
