"""What the studies share: finding data, running many fits, scoring, drawing and saving."""

from __future__ import annotations

import csv
import math
import os
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import discreet as dc
from discreet.documents.atomic_files import replace_file
from discreet.models import LinearRegression
from discreet.plots.style import place_marks

Floats = NDArray[np.float64]
Row = dict[str, Any]

DELTA = 1e-6
WIDTH = 8.0  # of a figure, in inches: on a page of text its letters are about as large as the text's
# told apart without colour: by grey, by dash and by mark
LINES: tuple[Row, ...] = (
    {"color": "0.0", "linestyle": "-", "marker": "o"},
    {"color": "0.35", "linestyle": "--", "marker": "s"},
    {"color": "0.55", "linestyle": "-.", "marker": "^"},
    {"color": "0.2", "linestyle": ":", "marker": "D"},
    {"color": "0.65", "linestyle": "-", "marker": "v"},
    {"color": "0.45", "linestyle": (0, (5, 1, 1, 1)), "marker": "x"},
    {"color": "0.1", "linestyle": (0, (1, 3)), "marker": "+"},
)


@dataclass(frozen=True)
class Outcome:
    """What a study found: rows for the CSV, how to draw them, and what to say."""

    rows: list[Row]
    draw: Callable[[Any], None]  # given an empty figure
    size: tuple[float, float]  # of the figure, in inches
    text: str


class MissingData(dc.DiscreetError):
    """A file that a study needs is not there."""


def find_folder(given: str | Path | None = None) -> Path:
    """Where data are looked for: the folder given, or DISCREET_DATA, or ./data."""
    return Path(given or os.environ.get("DISCREET_DATA") or "data")


def read_table(name: str, data: str | Path | None) -> Any:
    """A table of the data folder, as polars reads it."""
    path = find_folder(data) / f"{name}.parquet"
    if not path.is_file():
        raise MissingData(
            f"The file {path} is missing. Hint: --data DIR, or the environment variable DISCREET_DATA, names the "
            "folder that holds it; with --quick the study runs on made-up data."
        )
    import polars

    return polars.read_parquet(path)


@dataclass(frozen=True)
class Digits:
    """Images of written fours and nines, whole numbers from 0 to `white`, to learn from and to test on."""

    X: NDArray[np.uint8]
    y: NDArray[np.uint8]
    test_X: NDArray[np.uint8]
    test_y: NDArray[np.uint8]
    white: int
    made_up: bool = False  # not MNIST, but the small images that come with scikit-learn

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of an image."""
        side = math.isqrt(self.X.shape[1])
        return side, side


def load_fours_and_nines(quick: bool, data: str | Path | None) -> Digits:
    """MNIST's fours and nines, 500 for a quick run; scikit-learn's in a quick run without the file."""
    path, few = find_folder(data) / "mnist.npz", 500 if quick else None
    if path.is_file():
        with np.load(path) as stored:
            X, y = _keep_fours_and_nines(stored["x_train"], stored["y_train"])
            test_X, test_y = _keep_fours_and_nines(stored["x_test"], stored["y_test"])
        return Digits(X[:few], y[:few], test_X[:few], test_y[:few], 255)
    if not quick:
        raise MissingData(
            f"The file {path} is missing: arrays x_train, y_train, x_test, y_test of MNIST. Hint: --data DIR, or the "
            "environment variable DISCREET_DATA, names the folder that holds it; with --quick the study runs on "
            "scikit-learn's digits."
        )
    from sklearn.datasets import load_digits

    X, y = _keep_fours_and_nines(*load_digits(return_X_y=True))
    return Digits(X[:-100], y[:-100], X[-100:], y[-100:], 16, made_up=True)


def _keep_fours_and_nines(images: Any, labels: Any) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    kept = (labels == 4) | (labels == 9)
    return np.asarray(images[kept].reshape(kept.sum(), -1), np.uint8), np.asarray(labels[kept], np.uint8)


def normalise_rows(X: Any) -> Floats:
    """Rows divided by their own lengths: a public function of one row each, so it costs nothing."""
    X = np.asarray(X, np.float64)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12))


@contextmanager
def use_seeds() -> Any:
    """Studies must be repeatable, so their fits are seeded: not private, and here on published data that is no harm.

    They go where noise is all that is left, too, and need not be warned of it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.NotPrivateWarning)
        warnings.simplefilter("ignore", dc.NoiseWarning)
        yield


def make_seed(*parts: int) -> int:
    """One number from several, well mixed."""
    return int(np.random.SeedSequence([*parts]).generate_state(1)[0])


def run_fits(work: Callable[..., list[Row]], jobs: Sequence[tuple[Any, ...]], workers: int = 1) -> list[Row]:
    """The rows of all jobs, in order, on so many processes; a bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    shown = Console(stderr=True)
    results = _start_fits(work, jobs, workers)
    watched = track(results, "fits", len(jobs), console=shown, transient=True, disable=not shown.is_terminal)
    return [row for rows in watched for row in rows]


def _start_fits(work: Callable[..., list[Row]], jobs: Sequence[tuple[Any, ...]], workers: int) -> Iterable[list[Row]]:
    if workers == 1:
        return (work(*job) for job in jobs)
    from joblib import Parallel, delayed

    results: Iterable[list[Row]] = Parallel(workers, return_as="generator")(delayed(work)(*job) for job in jobs)
    return results


def rank_correlation(predicted: Floats, truth: Floats) -> float:
    """Spearman's; zero where all predictions are equal, as they rank nothing."""
    if np.ptp(predicted) == 0:
        return 0.0
    return float(np.corrcoef(rankdata(predicted), rankdata(truth))[0, 1])


def add_public_rows(model: LinearRegression, X: Floats, y: Floats) -> Floats:
    """(intercept, coefficients) of a private model after public rows were seen too, at no cost.

    Bayes' rule: what the model says of its coefficients, N(mean, covariance), is the prior of a regression on the
    public rows. Models that say nothing of their errors stay as they are.
    """
    mean = np.append(model.intercept_, model.coef_)
    if model.covariance_ is None or model.residual_std_ is None or len(X) == 0:
        return mean
    # residuals vary no more than the target does; where noise hides them, the public rows know better
    variance = min(model.residual_std_**2, float(np.var(y, ddof=1))) if len(y) > 1 else model.residual_std_**2
    Z = np.column_stack([np.ones(len(X)), X])
    prior = np.linalg.pinv(model.covariance_, hermitian=True)
    return np.linalg.solve(prior + Z.T @ Z / variance, prior @ mean + Z.T @ y / variance)


def average_by(rows: Iterable[Row], value: str, *keys: str) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Mean of a column for each combination of others, and its standard error."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row[value])
    return {
        key: (float(np.mean(found)), float(np.std(found) / np.sqrt(max(len(found) - 1, 1))))
        for key, found in groups.items()
    }


def draw_band(panel: Any, x: Sequence[float], found: Sequence[tuple[float, float]], label: str, look: Row) -> None:
    """A line of means, with a band of two standard errors to either side."""
    mean, error = np.transpose(found)
    panel.plot(x, mean, label=label, **look)
    panel.fill_between(x, mean - 2 * error, mean + 2 * error, color=look["color"], alpha=0.15, linewidth=0)


def mark_error_axis(panel: Any, low: float = 0.008) -> None:
    """A logarithmic axis of error rates, with marks that read as percentages."""
    shown = [mark for mark in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if mark > low]
    panel.set(yscale="log", ylim=(low, 0.7))
    panel.set_yticks(shown, [f"{mark:.0%}" for mark in shown])
    panel.set_yticks([], minor=True)


def mark_axis(panel: Any, values: Sequence[float], label: str, gap: float = 0.18) -> None:
    """A logarithmic axis below a panel, marked at these values where there is room for a number."""
    panel.set(xscale="log", xlabel=label)
    place_marks(panel.xaxis, list(values), "," if all(value >= 1 for value in values) else "g", gap)


def place_names_above(figure: Any, panel: Any, columns: int) -> None:
    """The names of a panel's lines, above all panels of the figure."""
    figure.legend(*panel.get_legend_handles_labels(), loc="outside upper center", ncols=columns, fontsize=8)


def place_two_lists(empty: Any, panels: dict[str, Any], columns: int = 1) -> None:
    """The names of the lines of two panels, with a heading each, where nothing else is; the second in so many columns.

    Both are to fit: a panel holds about twelve lines.
    """
    for place, (heading, panel) in zip(("upper center", "lower center"), panels.items(), strict=True):
        first = place.startswith("upper")
        look: Row = {"loc": place, "title": heading, "fontsize": 8, "ncols": 1 if first else columns}
        names = empty.legend(*panel.get_legend_handles_labels(), **look)
        if first:
            empty.add_artist(names)  # else the second list takes its place
    empty.axis("off")


def wrap_sentences(*sentences: str) -> str:
    """Sentences as lines of a width that is read with ease."""
    return textwrap.fill(" ".join(sentences), 112)


def save_outcome(outcome: Outcome, name: str, out: str | Path | None = None) -> tuple[Path, Path]:
    """Write the figure and the CSV, each whole or not at all; where they are."""
    picture, numbers = find_outputs(name, out)
    picture.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(numbers) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(outcome.rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in outcome.rows)
    figure = make_figure(outcome)
    with replace_file(picture) as part:
        figure.savefig(part, dpi=130, format="png")
    return picture, numbers


def make_figure(outcome: Outcome) -> Any:
    """The figure of a study, which pyplot does not know of."""
    import matplotlib
    from matplotlib.figure import Figure

    style: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with matplotlib.rc_context({**style, "lines.markersize": 4, "lines.linewidth": 1.2, "axes.titlesize": 9}):
        figure = Figure(figsize=outcome.size, layout="constrained")
        outcome.draw(figure)
    return figure


def find_outputs(name: str, out: str | Path | None = None) -> tuple[Path, Path]:
    """Where the figure and the CSV of a study go: into ./output/studies unless told otherwise."""
    out = Path(out or Path("output") / "studies")
    return out / f"{name}.png", out / f"{name}.csv"
