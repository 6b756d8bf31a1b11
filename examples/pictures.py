"""The pictures of the documentation: python examples/pictures.py writes them into docs/images/."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np

import discreet as dc
from discreet import plots
from discreet.evaluate import frontier, simulate
from discreet.models import BayesianLinearRegression, LinearRegression
from discreet.stats import histogram, mean, quantile

HERE = Path(__file__).resolve().parent
FACTS = dc.Bounds({"age": (0, 110), "bmi": (10, 60), "visits": (0, 50)}, target=(0, 60_000))
METHODS = {"linear": "auto", "adassp": "adassp"}


def trade_off():
    """Two methods on rows simulated from public facts."""
    data = simulate("regression", bounds=FACTS, n=4000, expected=0.6, categories={"ward": ["north", "south"]})
    models = {name: LinearRegression(method=method, bounds=data.bounds) for name, method in METHODS.items()}
    return frontier(models, *data, epsilons=[0.03, 0.1, 1, 10], repeats=5).figure()


def invented():
    """Rows of nobody, and their bounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 3))
    return X, X @ [1.0, -0.5, 0.0] + rng.normal(0, 0.3, 3000), dc.Bounds(-1, 1, target=(-3, 3))


def charged():
    """A ledger of four charges, and the model of the first. Charges depend on no noise: they need no seed."""
    X, y, bounds = invented()
    ledger = dc.Ledger(dc.Budget(2.0, 1e-6))
    model = LinearRegression(1.0, bounds=bounds, ledger=ledger).fit(X, y)
    mean(X[:, 0], bounds=(-1, 1), epsilon=0.5, delta=1e-6, ledger=ledger)
    histogram(X[:, 1], bins=8, bounds=(-1, 1), epsilon=0.5, delta=1e-6, ledger=ledger)
    quantile(X[:, 2], [0.25, 0.5, 0.75], bounds=(-1, 1), epsilon=0.5, delta=1e-6, ledger=ledger)
    return ledger, model


def fitted():
    """A linear and a Bayesian model."""
    X, y, bounds = invented()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.NotPrivateWarning)  # seeded, for the same pictures each time; nobody is in X
        linear = LinearRegression(1.0, bounds=bounds, random_state=0).fit(X, y)
        return linear, BayesianLinearRegression(0.5, bounds=bounds, random_state=0).fit(X, y)


def main(out: Path = HERE.parent / "docs" / "images") -> None:
    """Draw and save them all."""
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "discreet"
    (ledger, model), (linear, bayesian) = charged(), fitted()
    drawn = {
        "frontier": trade_off(),
        "adversary": plots.adversary([dc.Budget(epsilon, 1e-6) for epsilon in (0.1, 1.0, 3.0)]).figure,
        "privacy_loss": plots.privacy_loss(model.release_).figure,
        "ledger": plots.ledger(ledger).figure,
        "coefficients": plots.coefficients(linear, exact=[1.0, -0.5, 0.0]).figure,
        "posterior": plots.posterior(bayesian, 1).figure,
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        figure.savefig(out / f"{name}.svg", metadata={"Date": None, "Creator": None})
        print(out / f"{name}.svg")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
