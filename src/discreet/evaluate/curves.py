"""Curves and tables of test rows that you may see: exact, and so NOT private.

Protect the results as you protect the rows; `discreet.evaluate.paid` has versions that may be published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

from discreet.plots import rates
from discreet.plots.style import make_axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Roc:
    """True positive rates (`tpr`) against false positive rates (`fpr`), threshold by threshold."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    auc: float

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """The curve, with the diagonal of a guess."""
        return rates.roc(self, label=label, axes=ax)


@dataclass(frozen=True, eq=False)
class Confusion:
    """The number of rows of each class (rows of the table) that were predicted as each class (columns)."""

    classes: tuple[Any, ...]
    counts: NDArray[Any]

    @property
    def accuracy(self) -> float:
        """The share of rows on the diagonal; NaN if there are no rows."""
        total = self.counts.sum()
        return float(np.trace(self.counts) / total) if total > 0 else float("nan")

    @property
    def recall(self) -> Floats:
        """For each class, the share of its rows that was predicted as it."""
        return _divide_counts(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """For each class, the share of its predictions that was right."""
        return _divide_counts(np.diag(self.counts), self.counts.sum(axis=0))

    def plot(self, ax: Any = None) -> Any:
        """The table, each row as shares of its class."""
        ax = make_axes(ax)
        shares = np.nan_to_num(_divide_counts(self.counts, self.counts.sum(axis=1, keepdims=True)))
        ax.imshow(shares, cmap="Greys", vmin=0, vmax=1)
        for (i, j), count in np.ndenumerate(self.counts):
            ax.text(j, i, f"{count:.0f}", ha="center", va="center", color="white" if shares[i, j] > 0.5 else "black")
        places = range(len(self.classes))
        ax.set_xticks(places, [str(label) for label in self.classes])
        ax.set_yticks(places, [str(label) for label in self.classes])
        ax.set(xlabel="predicted", ylabel="true")
        return ax


@dataclass(frozen=True, eq=False)
class Calibration:
    """The observed share of positive rows at each predicted probability; NaN for cells without rows."""

    edges: Floats
    predicted: Floats
    observed: Floats
    counts: Floats
    interval: tuple[Floats, Floats] | None = None

    @property
    def error(self) -> float:
        """The mean distance between predicted and observed shares, weighted by rows (expected calibration error)."""
        there = np.isfinite(self.observed) & (self.counts > 0)
        if not there.any():
            return float("nan")
        return float(np.average(np.abs(self.predicted - self.observed)[there], weights=self.counts[there]))

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Observed against predicted; a calibrated model lies on the diagonal."""
        return rates.calibration(self, label=label, axes=ax)


def roc(y: Any, scores: Any, *, positive: Any = None) -> Roc:
    """The ROC curve of scores. NOT private: for rows that you may see.

    Parameters
    ----------
    y : the true classes, two of them.
    scores : one number per row, larger for the positive class; or two columns, of both classes in order, as
        `predict_proba` has them.
    positive : the positive class; the second in order if None.

    Examples
    --------
    >>> curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.auc, curve.fpr.tolist()
    (0.75, [0.0, 0.0, 0.5, 0.5, 1.0])
    """
    truth, scores = _read_truth(y, positive), _read_scores(scores, y, positive)
    fpr, tpr, thresholds = roc_curve(truth, scores)
    return Roc(fpr, tpr, thresholds, float(roc_auc_score(truth, scores)))


def auc(y: Any, scores: Any, *, positive: Any = None) -> float:
    """The area under the ROC curve: the probability that a positive row scores above a negative one. NOT private.

    Parameters are those of `roc`. With more than two classes `scores` has a column for each, and the result is the mean
    over the classes, each against the rest.

    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    scores = np.asarray(scores, np.float64)
    if scores.ndim == 2 and scores.shape[1] > 2:
        return float(roc_auc_score(np.asarray(y), scores, multi_class="ovr"))
    return float(roc_auc_score(_read_truth(y, positive), _read_scores(scores, y, positive)))


def confusion(y: Any, predicted: Any, classes: Any = None) -> Confusion:
    """The confusion matrix. NOT private: for rows that you may see.

    >>> table = confusion(["a", "b", "b"], ["a", "a", "b"])
    >>> table.counts.tolist(), round(table.accuracy, 3)
    ([[1, 0], [1, 1]], 0.667)
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    known = np.unique(np.concatenate([y, predicted])) if classes is None else np.asarray(classes)
    if len(y) == 0:
        return Confusion(tuple(known.tolist()), np.zeros((len(known), len(known)), dtype=np.int64))
    return Confusion(tuple(known.tolist()), np.asarray(confusion_matrix(y, predicted, labels=known)))


def calibration(y: Any, probabilities: Any, bins: int = 10, *, positive: Any = None) -> Calibration:
    """The observed share of positive rows by predicted probability, in equal cells. NOT private.

    `probabilities` may have two columns, as `predict_proba` returns; the positive class's is used, as in `roc`.

    >>> curve = calibration([0, 1, 1, 1], [0.1, 0.1, 0.9, 0.9], bins=2)
    >>> curve.observed.tolist(), round(curve.error, 6)
    ([0.5, 1.0], 0.25)
    """
    truth, p = _read_truth(y, positive), _read_scores(probabilities, y, positive)
    edges = np.linspace(0, 1, bins + 1)
    cell = np.searchsorted(edges[1:-1], p, side="right")
    counts = np.bincount(cell, minlength=bins).astype(np.float64)
    sums = [np.bincount(cell, weights, bins) for weights in (p, truth)]
    return Calibration(edges, _divide_counts(sums[0], counts), _divide_counts(sums[1], counts), counts)


def _read_truth(y: Any, positive: Any) -> NDArray[np.int64]:
    y = np.asarray(y)
    known = np.unique(y)
    if positive is None:
        if len(known) != 2:
            raise ValueError(f"Two classes are needed, or `positive`, the one of interest. Got {len(known)} classes.")
        positive = known[1]
    return np.asarray(y == positive, np.int64)


def _read_scores(scores: Any, y: Any, positive: Any) -> Floats:
    """One number per row; from two columns, in the order of the classes, the positive class's.

    >>> two = [[0.9, 0.1], [0.2, 0.8]]
    >>> _read_scores(two, [0, 1], None).tolist(), _read_scores(two, ["a", "b"], "a").tolist()
    ([0.1, 0.8], [0.9, 0.2])
    """
    found: Floats = np.asarray(scores, np.float64)
    if found.ndim == 1:
        return found
    known = np.unique(np.asarray(y))
    if found.shape[1:] != (2,) or len(known) > 2:
        raise ValueError(
            "The scores must be one number per row or, for two classes, two columns. Got an array of shape "
            f"{found.shape}, and {len(known)} classes."
        )
    if positive is None or len(known) == 2:
        return found[:, 0 if positive is not None and positive == known[0] else 1]
    others = known[known != positive]
    if len(known) and not len(others):
        raise ValueError("With one class only, its column is not known. Hint: give that column.")
    return found[:, 0 if len(others) and others[0] > positive else 1]


def _divide_counts(part: Any, whole: Any) -> Floats:
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    nothing = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.asarray(np.divide(part, whole, out=nothing, where=whole != 0))
