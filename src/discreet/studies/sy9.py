"""Private gradient descent on written fours and nines: rows, batches, epochs and dimensions, at three ε.

Source: I. B. Einarsson, "Machine Learning with Respect to Privacy" (DTU 2018), figures 4.19 and 4.21 to 4.23, after
Song, Chaudhuri & Sarwate (2013): logistic regression on MNIST's 4 and 9 in one pass over batches that do not overlap,
noise of gamma radius on every batch, steps of 1/√t, 50 random projections of rows of unit length. It found errors of
about 10% at best (ε = 1 nearly as good as ε = 10 with all rows), 35% at ε = 0.1 (4.21); large batches wherever there is
noise, small ones without (4.19); nothing gained by ten epochs without noise (4.22); and at batches of 5, dimensions 15,
50, 100, 200 and 784: the fewer the better at ε = 1, 50 the best and all 784 the worst at ε = 10, and more always better
without noise (4.23).

What is different here: its noise has a direction drawn *in* the ball, too short; here it lies on the sphere. Its batch
size and penalty are chosen on the data, for nothing; here everything is fixed beforehand. "Source's settings" are its
batches of 5, steps of 1/√t, last iterate. "pure" and "Gaussian" are the library's descent, with its own steps: 64 and
32 for rows of unit length, gradients clipped at 1/2 (what they all have where descent starts), momentum and averages;
one pass in batches by its rule, and ten epochs of Poisson lots of a tenth of the rows. ε is for adding or removing a
row (the source's for replacing one, which is at most twice as much).

Public here: the number of rows, the two classes. Rows have length 1 by division by their own length, before and after a
random projection with a public seed; neither costs anything. PCA on the data, as elsewhere in the source, would.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as Plain

import discreet as dc
from discreet.features import RandomProjection
from discreet.models.sgd import SGDClassifier
from discreet.studies.common import (
    DELTA,
    LINES,
    WIDTH,
    Digits,
    Floats,
    Outcome,
    Row,
    average_by,
    draw_band,
    load_fours_and_nines,
    make_seed,
    mark_axis,
    mark_error_axis,
    normalise_rows,
    place_names_above,
    run_fits,
    use_seeds,
    wrap_sentences,
)

EPSILONS = (0.1, 1.0, 10.0)
REPEATS = 3
USUAL = {"d": 50, "batch": 0, "epochs": 0}  # 0: the method's own
AXES: dict[str, tuple[int, ...]] = {
    "n": (235, 1175, 2350, 4700, 8225, 11750),
    "batch": (20, 100, 500, 2000, 10_000),
    "epochs": (1, 2, 5, 10, 20),
    "d": (15, 50, 100, 200, 784),
}
LABELS = {"n": "images", "batch": "images in a batch", "epochs": "epochs", "d": "dimensions"}
SOURCE, PURE, GAUSSIAN, PLAIN = "source's settings, δ = 0", "pure, δ = 0", "Gaussian, δ = 1e-6", "not private"
METHODS = (SOURCE, PURE, GAUSSIAN)
SHOWN = {"n": METHODS, "batch": (PURE, GAUSSIAN), "epochs": (PURE, GAUSSIAN), "d": METHODS}
CLIP = 0.5


def run_study(quick: bool, data: str | None, workers: int) -> Outcome:
    """Every axis, method and ε, with the rows in another order each time."""
    images = load_fours_and_nines(quick, data)
    most = len(images.X) if quick else AXES["n"][-1]
    axes = _make_quick_axes(most) if quick else AXES
    repeats = 1 if quick else REPEATS
    cells = sorted(_list_cells(axes, most), key=lambda cell: -_estimate_cost(cell))
    rows = run_fits(measure_error, [(images, cell, repeat) for cell in cells for repeat in range(repeats)], workers)
    where = "scikit-learn's digits, NOT the study's data: no data folder was found" if images.made_up else "MNIST"
    head = f"SY9. Fours and nines ({where}): {most} images, {repeats} orders of the rows, errors on unseen images."
    return Outcome(rows, lambda figure: draw_figure(figure, rows, axes), (WIDTH, 9.5), write_report(head, rows, axes))


def _make_quick_axes(most: int) -> dict[str, tuple[int, ...]]:
    return {"n": (most // 5, most), "batch": (most // 20, most // 2), "epochs": (1, 5), "d": (15, 50)}


def _list_cells(axes: dict[str, tuple[int, ...]], most: int) -> list[Row]:
    cells: list[Row] = []
    for axis, values in axes.items():
        for value in values:
            cell = {"axis": axis, "n": most, **USUAL, axis: value}
            cells += [{**cell, "method": m, "epsilon": e} for m in SHOWN[axis] for e in EPSILONS]
            cells.append({**cell, "method": PLAIN, "epsilon": 0.0})
    return cells


def _estimate_cost(cell: Row) -> float:
    """About how long a cell takes: the longest are to start first."""
    steps = {SOURCE: cell["n"] / 5, PURE: 50, GAUSSIAN: 100, PLAIN: 100}[cell["method"]]
    return float(steps * cell["d"])


def measure_error(images: Digits, cell: Row, repeat: int) -> list[Row]:
    """The error of one cell."""
    order = np.random.default_rng(make_seed(90, repeat)).permutation(len(images.X))[: cell["n"]]
    X, test = project_images(images, order, cell["d"], repeat)
    y = images.y[order]
    if cell["method"] == PLAIN:
        model: Any = Plain(C=100.0, fit_intercept=False, max_iter=1000).fit(X, y)
    else:
        with use_seeds():
            model = make_classifier(cell, make_seed(900, repeat, *_make_key(cell))).fit(X, y)
    return [{**cell, "repeat": repeat, "error": float(1 - model.score(test, images.test_y))}]


def _make_key(cell: Row) -> tuple[int, ...]:
    numbers = (cell["n"], cell["d"], cell["batch"], cell["epochs"], round(10 * cell["epsilon"]))
    return METHODS.index(cell["method"]), *map(int, numbers)


def project_images(images: Digits, order: Any, d: int, repeat: int) -> tuple[Floats, Floats]:
    """Rows of unit length, in d random directions; all of them where d is no less."""
    X, test = normalise_rows(images.X[order]), normalise_rows(images.test_X)
    if d >= X.shape[1]:
        return X, test
    projection = RandomProjection(d, bounds=dc.Bounds(-1, 1), seed=repeat)
    return normalise_rows(projection.fit_transform(X)), normalise_rows(projection.transform(test))


def make_classifier(cell: Row, start: int) -> SGDClassifier:
    """The descent of a cell. The library scales rows in [-1, 1] by 1/√d: steps are d, clips 1/√d of those stated."""
    d, n = cell["d"], cell["n"]
    public: Row = {"n": n, "bounds": dc.Bounds(-1, 1), "classes": [4, 9], "random_state": start, "fit_intercept": False}
    size = {"lot": min(cell["batch"], n)} if cell["batch"] else {}
    epochs = {"epochs": cell["epochs"]} if cell["epochs"] else {}
    if cell["method"] == SOURCE:
        slow: Row = {"lot": 5, "learning_rate": "sqrt", "momentum": 0.0, "average": False, "eta0": float(d)}
        return SGDClassifier(cell["epsilon"], 0.0, noise="pure", clip=1 / math.sqrt(d), **slow, **public)
    clip = CLIP / math.sqrt(d)
    if cell["method"] == PURE:
        return SGDClassifier(cell["epsilon"], 0.0, noise="pure", clip=clip, eta0=64.0 * d, **size, **epochs, **public)
    return SGDClassifier(cell["epsilon"], DELTA, clip=clip, eta0=32.0 * d, **size, **epochs, **public)


# -- the picture and the words -----------------------------------------------------------------------------------------


def _average_errors(rows: list[Row]) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Mean and standard error for each axis, method, ε and value on the axis."""
    return average_by(
        ({**row, "value": row[row["axis"]]} for row in rows), "error", "axis", "method", "epsilon", "value"
    )


def draw_figure(figure: Any, rows: list[Row], axes: dict[str, tuple[int, ...]]) -> None:
    """A line of panels for each axis, a column for each ε."""
    found = _average_errors(rows)
    grid = figure.subplots(len(axes), len(EPSILONS), sharey=True)
    for line, (axis, values) in zip(grid, axes.items(), strict=True):
        for panel, epsilon in zip(line, EPSILONS, strict=True):
            for method, look in zip(METHODS, LINES, strict=False):
                if method in SHOWN[axis]:
                    draw_band(panel, values, [found[axis, method, epsilon, v] for v in values], method, look)
            floor = [found[axis, PLAIN, 0.0, v][0] for v in values]
            panel.plot(values, floor, color="0.3", linewidth=0.8, dashes=(1, 1), label=PLAIN)
            panel.set(title=f"ε = {epsilon:g}")
            mark_error_axis(panel, 0.02)
            mark_axis(panel, values, LABELS[axis])
        line[0].set_ylabel("error")
    place_names_above(figure, grid[0, -1], 4)


def write_report(head: str, rows: list[Row], axes: dict[str, tuple[int, ...]]) -> str:
    """What the source found, what this run found, and why they differ."""
    found = _average_errors(rows)

    def write_block(axis: str) -> list[str]:
        values = axes[axis]
        lines = [f"  {LABELS[axis]:34} {' '.join(f'{v:6}' for v in values)}"]
        for epsilon in EPSILONS:
            for method in SHOWN[axis]:
                cells = " ".join(f"{found[axis, method, epsilon, v][0]:6.3f}" for v in values)
                lines.append(f"    ε = {epsilon:<4g} {method:23} {cells}")
        floor = " ".join(f"{found[axis, PLAIN, 0.0, v][0]:6.3f}" for v in values)
        return [*lines, f"    {PLAIN:32} {floor}"]

    return "\n".join(
        [head, *(line for axis in axes for line in ("", *write_block(axis))), "", *write_comparison(found, axes)]
    )


def write_comparison(found: dict[tuple[Any, ...], tuple[float, float]], axes: dict[str, tuple[int, ...]]) -> list[str]:
    """The source's claims, and what this run says to them."""

    def find_best(axis: str, method: str, epsilon: float) -> int:
        return min(axes[axis], key=lambda value: found[axis, method, epsilon, value][0])

    def list_bests(axis: str, method: str) -> str:
        return ", ".join(str(find_best(axis, method, epsilon)) for epsilon in EPSILONS)

    def list_ends(method: str) -> str:
        return ", ".join(f"{found['n', method, epsilon, axes['n'][-1]][0]:.1%}" for epsilon in EPSILONS)

    widest = axes["d"][-1]
    lows = ", ".join(f"{found['d', GAUSSIAN, epsilon, widest][0]:.1%}" for epsilon in EPSILONS)
    return [
        wrap_sentences(
            f"Error with all images in {USUAL['d']} dimensions at ε = 0.1, 1, 10. Source: about 35%, a little above",
            f"10%, 10%. Here: {list_ends(SOURCE)} with batches of 5 and its steps; {list_ends(PURE)} pure;",
            f"{list_ends(GAUSSIAN)} Gaussian; {found['n', PLAIN, 0.0, axes['n'][-1]][0]:.1%} without privacy.",
        ),
        wrap_sentences(
            "Best of the dimensions tried. Source: 15 at ε = 1, 50 at ε = 10, all without noise. Here, at",
            f"ε = 0.1, 1, 10: {list_bests('d', SOURCE)} with its settings, {list_bests('d', PURE)} pure,",
            f"{list_bests('d', GAUSSIAN)} Gaussian. With Gaussian noise and {widest} dimensions the error is {lows}.",
        ),
        wrap_sentences(
            "Best batch. Source: large wherever there is noise. Here:",
            f"{list_bests('batch', PURE)} pure, {list_bests('batch', GAUSSIAN)} Gaussian (ε = 0.1, 1, 10).",
            "Best number of epochs. Source: more than one gains nothing, and costs ε each. Here:",
            f"{list_bests('epochs', PURE)} pure, where passes share ε,",
            f"and {list_bests('epochs', GAUSSIAN)} Gaussian, where many",
            "epochs cost little more than one. Why they differ: batches of 5 drown in noise, and steps of 1/√t end",
            "before they arrive; few large batches with momentum, averaged, do not.",
        ),
    ]
