"""AUC, ROC curve and calibration on private test rows: all from one noisy histogram of predicted probabilities.

The histogram is charged once; everything computed from it is post-processing, and free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import is_whole
from discreet.evaluate.curves import Calibration, Roc
from discreet.evaluate.paid import find_joint_cells, open_test_question
from discreet.evaluate.ratio import estimate_share
from discreet.events import Laplace, flatten
from discreet.models.selection import row_predictions as alone
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release
from discreet.stats.statistic import Options

Floats = NDArray[np.float64]

DRAWS = 2000
FEW = 4.0  # a class whose noisy count is below this many standard deviations of noise is too small for an AUC


def private_scores(
    model: Any,
    X: Any,
    y: Any = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    bins: Any = 32,
    classes: Sequence[Any] | None = None,
    **options: Unpack[Options],
) -> Release:
    """The noisy number of rows of each of two classes at each predicted probability of the second class.

    Parameters
    ----------
    model : a fitted classifier with `predict_proba`, or `decision_function` (mapped by the logistic function).
    X, y, classes, options : as in `private_accuracy`; two classes.
    bins : the number of equal cells within [0, 1], or rising edges: public. Where many probabilities are close to each
        other, finer cells there give a more precise AUC.

    `auc_of`, `roc_of` and `calibration_of` compute these from the release at no further cost.

    Notes
    -----
    (ε, δ)-differential privacy of the test rows: each row adds one to one cell.
    """
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    question, asked, known = open_test_question("private_scores", method, model, X, y, epsilon, delta, classes, options)
    if len(known) != 2:
        raise ValueError(f"private_scores is about two classes. Got {len(known)}.")
    edges = _read_edges(bins)
    size = len(edges) - 1

    # BOUND + SUMMARISE: each row adds one to the cell of its class and its probability
    def find_cells(rows: Batch) -> NDArray[np.int64]:
        p = alone.probabilities(asked, rows.X)
        return find_joint_cells(rows, size, np.searchsorted(edges[1:-1], p, side="right"), ~np.isfinite(p))

    query = BoundedSum(OneHot(find_cells, 2 * size), order=question.order, name="probabilities by class")
    # PRIVATISE
    with alone.silence():
        noisy = question.curator.measure(query, question.budget.whole())
    # SOLVE
    value, axes = noisy.value.reshape(2, size), (known, tuple(edges.tolist()))
    return replace(question.answer("private_scores", value, noisy.std, axes=axes), confidence=question.confidence)


def private_auc(model: Any, X: Any, y: Any = None, epsilon: float = 1.0, delta: float = 0.0, **options: Any) -> Release:
    """The area under the ROC curve on private test rows; parameters are those of `private_scores`.

    Rows within a cell count as ties. The interval is for the population; it is simulated, with sampling and noise, from
    the released histogram. If a class has hardly any rows, the interval is [0, 1].

    Notes
    -----
    (ε, δ)-differential privacy of the test rows.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> model = LogisticRegression().fit([[-1, 0], [1, 0]], [0, 1])
    >>> answer = private_auc(model, X, X[:, 0] > 0, epsilon=1.0, classes=[0, 1])
    >>> bool(answer.value > 0.95)
    True
    """
    return auc_of(private_scores(model, X, y, epsilon, delta, **options))


def private_calibration(
    model: Any, X: Any, y: Any = None, epsilon: float = 1.0, delta: float = 0.0, *, bins: Any = 10, **options: Any
) -> Release:
    """The share of the second class among rows of each predicted probability; parameters as in `private_scores`.

    The interval holds for each cell separately, for the population. Cells without rows have intervals of about [0, 1].
    """
    table = private_scores(model, X, y, epsilon, delta, bins=bins, **options)
    curve = calibration_of(table)
    return replace(
        table, name="private_calibration", value=curve.observed, interval=curve.interval, std=None, axes=table.axes[1:]
    )


def auc_of(table: Release) -> Release:
    """The AUC and its interval, from the histogram of `private_scores`.

    The estimate is a bilinear form in two independent unbiased histograms, divided by the product of their totals. It
    is unbiased up to the noise in the totals; noise in empty cells is not clipped, so it does not pull the AUC to ½.
    """
    counts, std = np.asarray(table.value, np.float64), float(table.std)
    totals = counts.sum(axis=1)
    if totals.min() < FEW * std * np.sqrt(counts.shape[1]) or totals.min() < 1:
        return replace(table, name="private_auc", value=0.5, std=0.5, interval=(0.0, 1.0), axes=())
    value = float(np.clip(_compute_area(counts), 0, 1))
    centre = np.maximum(counts, 0.0)
    centre *= (totals / centre.sum(axis=1))[:, None]
    rng = np.random.default_rng(20_140_101)  # public numbers suffice: the laws are known, the histogram is released
    noise = _draw_noise(table, (DRAWS, *counts.shape), rng)
    moved = _compute_area(rng.poisson(centre, noise.shape) + noise) - _compute_area(centre)
    still = _compute_area(centre + noise) - _compute_area(centre)
    tail = (1 - (table.confidence or 0.95)) / 2
    low, high = np.quantile(moved, [1 - tail, tail])
    interval = float(np.clip(value - low, 0, 1)), float(np.clip(value - high, 0, 1))
    return replace(table, name="private_auc", value=value, std=float(still.std()), interval=interval, axes=())


def roc_of(table: Release) -> Roc:
    """The ROC curve, from the histogram of `private_scores`, made monotonic."""
    counts = np.asarray(table.value, np.float64)[:, ::-1]
    rates = np.cumsum(counts, axis=1) / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    fpr, tpr = np.clip(np.maximum.accumulate(np.column_stack([[0.0, 0.0], rates]), axis=1), 0, 1)
    thresholds = np.array([np.inf, *table.axes[1][:-1][::-1]])
    return Roc(fpr, tpr, thresholds, float(auc_of(table).value))


def calibration_of(table: Release) -> Calibration:
    """Predicted and observed shares in each cell, with intervals, from the histogram of `private_scores`.

    The predicted probability of a cell is its middle.
    """
    confidence, edges = table.confidence or 0.95, np.array(table.axes[1])
    found = [
        estimate_share(pos, neg, float(table.std), table.event, confidence) for neg, pos in np.asarray(table.value).T
    ]
    ends = np.array([interval for _, _, interval in found])
    middle, counts = (edges[1:] + edges[:-1]) / 2, np.maximum(np.asarray(table.value).sum(axis=0), 0.0)
    return Calibration(edges, middle, np.array([p for p, _, _ in found]), counts, (ends[:, 0], ends[:, 1]))


def _compute_area(counts: Any) -> Any:
    """P(score of a positive row > score of a negative row) + ½P(equal), for one or many pairs of histograms."""
    negative, positive = counts[..., 0, :], counts[..., 1, :]
    below = np.cumsum(negative, axis=-1) - negative / 2
    totals = np.maximum(negative.sum(axis=-1), 1.0) * np.maximum(positive.sum(axis=-1), 1.0)
    return (positive * below).sum(axis=-1) / totals


def _draw_noise(table: Release, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if any(isinstance(leaf, Laplace) for leaf, _ in flatten(table.event)):
        return rng.laplace(scale=float(table.std) / np.sqrt(2), size=shape)
    return rng.normal(scale=float(table.std), size=shape)


def _read_edges(bins: Any) -> Floats:
    if np.ndim(bins) == 0:
        if not is_whole(bins) or not 2 <= bins <= 1 << 16:
            raise ValueError(f"`bins` must be a whole number from 2, or rising edges within [0, 1]. Got {bins!r}.")
        return np.linspace(0.0, 1.0, int(bins) + 1)
    edges = np.asarray(bins, np.float64)
    if edges.ndim != 1 or len(edges) < 3 or not (np.diff(edges) > 0).all() or edges[0] != 0 or edges[-1] != 1:
        raise ValueError("The edges in `bins` must rise from 0 to 1, with two cells or more.")
    return edges
