"""Synthetic data: how to split the budget, and accuracy against ε and n.

Source: "Robust private linear regression", the algorithm of Honkela, Das, Nieminen, Dikmen & Kaski (Biology Direct
2018), figures 4.1 to 4.3 of the thesis on it. It found the best split at p1 = 0.35 (X'X), p2 = 0.60 (X'y), p3 = 0.05
(y'y) for 500 rows of 10 columns and ε = 2; accuracy that grows with ε; and accuracy that first drops when 100 private
rows are added to 10 public ones, then nearly reaches that without privacy at 800.

Public here: the model the data are drawn from, hence bounds of 4 standard deviations (features ±4, target ±4√11), and
the number of rows. Unlike the source, rows are not brought to unit length, and every repeat draws its own coefficients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

import discreet as dc
from discreet.models import LinearRegression, Statistics
from discreet.models.linear.auxiliary_data import OMEGAS, choose_split
from discreet.studies.common import (
    DELTA,
    LINES,
    WIDTH,
    Floats,
    Outcome,
    Row,
    add_public_rows,
    average_by,
    make_seed,
    place_two_lists,
    rank_correlation,
    run_fits,
    use_seeds,
    wrap_sentences,
)

D, PUBLIC, TEST = 10, 10, 100
BOUNDS = dc.Bounds(-4, 4, target=(-4 * math.sqrt(1 + D), 4 * math.sqrt(1 + D)))
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (0, 100, 200, 300, 400, 500, 600, 700, 800)
SPLIT_ROWS, SPLIT_EPSILON = 500, 2.0
THIRDS = (0.05, 0.25)  # shares of y'y that are drawn
METHODS = ("robust", "auto, δ = 0", "auto, δ = 1e-6", "not private", "public rows alone")
AS_SOURCE, STRONGER, AS_HERE = "as in the source", "the same, prior 10", "as here"
RULES: dict[str, Any] = {
    AS_SOURCE: 1.0,
    STRONGER: 10.0,
    AS_HERE: None,
}  # precision of a prior that takes moments for exact


def run_study(quick: bool, data: str | None, workers: int) -> Outcome:
    """Splits on auxiliary data, then fits on synthetic data."""
    splits = run_fits(score_split, [(i, quick) for i in range(2 if quick else 20)], workers)
    epsilons, sizes = (EPSILONS[::3], SIZES[::4]) if quick else (EPSILONS, SIZES)
    repeats = range(3 if quick else 50)
    against_epsilon = [(i, 500, e) for e in epsilons for i in repeats]
    against_n = [(i, n, 2.0) for n in sizes for i in repeats]
    fits = run_fits(measure_accuracy, against_epsilon + against_n, workers)
    half = len(against_epsilon) * len(METHODS)
    for i, row in enumerate(fits):
        row["panel"] = "against ε" if i < half else "against n"
    best = find_best_splits(splits)
    rows = [_make_row("split", **row) for row in _average_splits(splits)] + [_make_row(**row) for row in fits]
    return Outcome(
        rows,
        lambda figure: draw_figure(figure, splits, best, fits),
        (WIDTH, 6.8),
        write_report(fits, best, len(repeats)),
    )


def _make_row(panel: str, rule: str = "", p1: Any = "", p2: Any = "", p3: Any = "", **rest: Any) -> Row:
    names = ("method", "n", "epsilon", "repeat")
    found = {"panel": panel, "rule": rule, "p1": p1, "p2": p2, "p3": p3, **{name: rest.get(name, "") for name in names}}
    return {**found, "accuracy": rest["accuracy"]}


# -- the split ---------------------------------------------------------------------------------------------------------


def score_split(repeat: int, quick: bool) -> list[Row]:
    """How well a target is predicted for each split and pair of thresholds, on one auxiliary data set.

    By three rules: with the noise of the source (for replaced rows; twice as much on X'X and X'y) and its posterior,
    which takes noisy moments for exact, at its precisions λ = λ0 = 1 and at λ0 = 10; and with the noise and the
    noise-aware posterior of this library. Accuracy is the correlation with the target in the population, known in
    closed form. The noise of y'y does not enter: it moves no prediction, only takes its share.
    """
    rng = np.random.default_rng(make_seed(4, repeat))
    beta = rng.normal(size=D)
    X = rng.normal(size=(SPLIT_ROWS, D))
    y = (X @ beta + rng.normal(size=SPLIT_ROWS)) / math.sqrt(1 + beta @ beta)
    found = []
    for rule in RULES:
        omegas = np.array(OMEGAS) if rule == AS_HERE else np.round(np.arange(1, 21) * 0.1, 1)
        omegas = omegas[:: 4 if quick else 1]
        xx = np.stack([np.clip(X, -o, o).T @ np.clip(X, -o, o) for o in omegas])
        xy = np.stack([[np.clip(X, -o, o).T @ np.clip(y, -u, u) for u in omegas] for o in omegas])
        noises = [_draw_noise(rng) for _ in range(2 if quick else 5)]
        for p3 in THIRDS:
            for p1 in np.round(np.arange(0.05, 0.951 - p3, 0.15 if quick else 0.05), 2):
                p2 = round(1 - p3 - p1, 2)
                if p2 >= 0.05:
                    scores = [_find_directions(rule, xx, xy, omegas, p1, p2, *noise) @ beta for noise in noises]
                    mean = np.mean(scores, axis=0) / math.sqrt(1 + beta @ beta)
                    found.append({"rule": rule, "p1": float(p1), "p2": p2, "p3": p3, "accuracy": mean})
    return found


def _draw_noise(rng: np.random.Generator) -> tuple[Floats, Floats]:
    upper = np.triu(rng.laplace(size=(D, D)))
    return upper + np.triu(upper, 1).T, rng.laplace(size=D)


def _find_directions(
    rule: str, xx: Floats, xy: Floats, omegas: Floats, p1: float, p2: float, of_xx: Floats, of_xy: Floats
) -> Floats:
    """Directions θ/‖θ‖ from noisy moments, for each pair of thresholds."""
    double = 1 if rule == AS_HERE else 2
    wide_xx = double * D * (D + 1) / 2 * omegas**2 / (p1 * SPLIT_EPSILON)
    wide_xy = double * D * np.outer(omegas, omegas) / (p2 * SPLIT_EPSILON)
    S = xx + wide_xx[:, None, None] * of_xx
    b = xy + wide_xy[:, :, None] * of_xy
    if rule != AS_HERE:  # rows of unit length there, of length √D here
        theta = np.linalg.solve((S + RULES[rule] * D * np.eye(D))[:, None], b[..., None])[..., 0]
    else:
        values, vectors = np.linalg.eigh(S)
        s, turned = np.maximum(values, 0)[:, None], np.einsum("oij,oui->ouj", vectors, b)
        noise = 0.5 * s + 2 * wide_xy[:, :, None] ** 2 + 2 * wide_xx[:, None, None] ** 2
        theta = np.einsum("oij,ouj->oui", vectors, s * turned / (s**2 + D * noise))
    return np.asarray(theta / np.maximum(np.linalg.norm(theta, axis=2, keepdims=True), 1e-12))


def _average_splits(splits: list[Row]) -> list[Row]:
    """Over the auxiliary data sets, at the best thresholds of each split."""
    groups: dict[tuple[Any, ...], list[Floats]] = {}
    for row in splits:
        groups.setdefault((row["rule"], row["p1"], row["p2"], row["p3"]), []).append(row["accuracy"])
    names = ("rule", "p1", "p2", "p3")
    return [
        {**dict(zip(names, key, strict=True)), "accuracy": float(np.mean(found, axis=0).max())}
        for key, found in groups.items()
    ]


def find_best_splits(splits: list[Row]) -> dict[str, Row]:
    """The best split of each rule."""
    means = _average_splits(splits)
    return {rule: max((r for r in means if r["rule"] == rule), key=lambda row: row["accuracy"]) for rule in RULES}


# -- accuracy ----------------------------------------------------------------------------------------------------------


def measure_accuracy(repeat: int, n: int, epsilon: float) -> list[Row]:
    """Spearman's correlation on unseen rows, for each method, on one synthetic data set."""
    rng = np.random.default_rng(make_seed(40, repeat))
    beta, X = rng.normal(size=D), rng.normal(size=(1000, D))
    y = X @ beta + rng.normal(size=1000)
    test, public, private = np.split(np.arange(TEST + PUBLIC + n), [TEST, TEST + PUBLIC])
    lines = {
        "not private": _fit_plain(X[TEST : TEST + PUBLIC + n], y[TEST : TEST + PUBLIC + n]),
        "public rows alone": _fit_plain(X[public], y[public]),
    }
    start = make_seed(400, repeat, n, round(1000 * epsilon))
    for method in METHODS[:3]:
        if n:
            lines[method] = _fit_private(method, epsilon, X[private], y[private], X[public], y[public], start)
        else:
            lines[method] = lines["public rows alone"]
    return [
        {
            "method": method,
            "n": n,
            "epsilon": epsilon,
            "repeat": repeat,
            "accuracy": rank_correlation(X[test] @ lines[method], y[test]),
        }
        for method in METHODS
    ]


def _fit_plain(X: Floats, y: Floats) -> Floats:
    return np.asarray(Ridge(alpha=1.0).fit(X, y).coef_)


def _fit_private(
    method: str, epsilon: float, X: Floats, y: Floats, X_public: Floats, y_public: Floats, start: int
) -> Any:
    options: Row = {"n": len(X), "bounds": BOUNDS, "random_state": start}
    with use_seeds():
        if method == "robust":
            model = LinearRegression(epsilon, 0.0, method="robust", **options).fit(X, y)
            return add_public_rows(model, X_public, y_public)[1:]
        delta = DELTA if method.endswith("1e-6") else 0.0
        private = Statistics.release(X, y, epsilon, delta, **options)
    return LinearRegression.from_statistics(private + Statistics.public(X_public, y_public, bounds=BOUNDS)).coef_


# -- the picture and the words -----------------------------------------------------------------------------------------


def draw_figure(figure: Any, splits: list[Row], best: dict[str, Row], fits: list[Row]) -> None:
    """Three panels: split, ε, n; and the names of their lines."""
    left, middle, right, names = figure.subplots(2, 2).ravel()
    means = _average_splits(splits)
    for rule, grey in zip(RULES, ("0.65", "0.4", "0.0"), strict=True):
        for p3, dash in zip(THIRDS, ("-", "--"), strict=True):
            line = sorted((r["p2"], r["accuracy"]) for r in means if r["rule"] == rule and r["p3"] == p3)
            left.plot(*zip(*line, strict=True), color=grey, linestyle=dash, label=f"{rule}, y'y {p3:g}")
        left.plot(best[rule]["p2"], best[rule]["accuracy"], "x", color=grey, markersize=9)
    left.set(
        xlabel="share of X'y  (X'X has the rest)",
        ylabel="correlation, auxiliary data",
        title=f"Split: {SPLIT_ROWS} rows, ε = {SPLIT_EPSILON:g}",
    )
    for axes, name, key in ((middle, "against ε", "epsilon"), (right, "against n", "n")):
        found = average_by((row for row in fits if row["panel"] == name), "accuracy", "method", key)
        for method, look in zip(METHODS, LINES, strict=False):
            points = sorted((k[1], *v) for k, v in found.items() if k[0] == method)
            x, y, error = zip(*points, strict=True)
            axes.errorbar(x, y, error, label=method, **look)
        axes.set(ylabel="Spearman's correlation", ylim=(None, 1))
    middle.set(xscale="log", xlabel="ε", title="500 private + 10 public rows")
    middle.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
    middle.minorticks_off()
    right.set(xlabel="private rows", title="ε = 2, 10 public rows")
    place_two_lists(names, {"split": left, "against ε and rows": middle})


def write_report(fits: list[Row], best: dict[str, Row], repeats: int) -> str:
    """What the source found, what this run found, and why they differ."""
    by = {
        panel: average_by((row for row in fits if row["panel"] == panel), "accuracy", "method", "n", "epsilon")
        for panel in ("against ε", "against n")
    }

    def write_line(method: str, panel: str) -> str:
        return " ".join(f"{v[0]:.2f}" for k, v in sorted(by[panel].items()) if k[0] == method)

    epsilons = " ".join(f"{e:g}" for e in sorted({k[2] for k in by["against ε"]}))
    sizes = " ".join(f"{n}" for n in sorted({k[1] for k in by["against n"]}))
    chosen = choose_split(SPLIT_ROWS, D, SPLIT_EPSILON)
    accuracies = ", ".join(f"{row['accuracy']:.2f}" for row in best.values())
    shares = {rule: f"({row['p1']:.2f}, {row['p2']:.2f}, {row['p3']:.2f})" for rule, row in best.items()}
    return "\n".join(
        [
            f"SY4. Synthetic data, d = {D}, {repeats} repeats. Accuracy: Spearman's correlation on {TEST} unseen rows.",
            "",
            wrap_sentences(
                "Split of ε among (X'X, X'y, y'y), 500 rows, ε = 2. Source: (0.35, 0.60, 0.05). Here,",
                f"with the source's noise and posterior (λ = λ0 = 1): {shares[AS_SOURCE]}; with λ0 = 10:",
                f"{shares[STRONGER]}; with noise and posterior of the library: {shares[AS_HERE]};",
                f"`choose_split` takes ({chosen.p1:.2f}, {chosen.p2:.2f}, {chosen.p3:.2f}).",
                f"Accuracies at the first three: {accuracies}.",
                "y'y gets the least in all. X'X matters the less the more a posterior shrinks: the source, which fits",
                "its precisions, lies between the first two. The columns of this model are independent, so that a",
                "strong prior, which all but ignores X'X, does well on it.",
            ),
            "",
            f"Accuracy against ε = {epsilons} (500 private + 10 public rows).",
            *(f"  {method:18} {write_line(method, 'against ε')}" for method in METHODS),
            f"Accuracy against n = {sizes} (ε = 2, 10 public rows).",
            *(f"  {method:18} {write_line(method, 'against n')}" for method in METHODS),
            "",
            explain_accuracy(by["against n"]),
        ]
    )


def explain_accuracy(found: dict[tuple[Any, ...], tuple[float, float]]) -> str:
    """In a few sentences, from this run."""
    sizes = sorted({key[1] for key in found})
    first, last = sizes[1], sizes[-1]

    def find_accuracy(method: str, n: int) -> float:
        return found[method, n, 2.0][0]

    return wrap_sentences(
        "The source's robust regression drops when the first 100 private rows come and nearly reaches the accuracy",
        f"without privacy at 800. Here robust goes from {find_accuracy('robust', 0):.2f} (no private row) to",
        f"{find_accuracy('robust', first):.2f} at {first} and {find_accuracy('robust', last):.2f} at {last};",
        f"{find_accuracy('not private', last):.2f}",
        "without privacy. It pays a fifth of ε for the means and deviations that the source reads off the data for",
        "nothing, and gets half the noise on X'X back.",
        f"Auto has {find_accuracy('auto, δ = 0', last):.2f} (δ = 0) and",
        f"{find_accuracy('auto, δ = 1e-6', last):.2f} (δ = 1e-6) at {last}:",
        "Gaussian noise grows with the square root of the number of moments, Laplace noise with their number.",
    )
