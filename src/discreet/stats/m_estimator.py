"""Any estimator that takes weights, fitted on a noisy histogram instead of the rows (ST5)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.engines.opening import is_rows
from discreet.labels import codes_of
from discreet.stats.counts import histogram
from discreet.stats.statistic import Options

Floats = NDArray[np.float64]

MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class MEstimator:
    """A scikit-learn estimator fitted on the cells of a noisy histogram, each weighted by its count.

    The counts are first replaced by the nearest ones that are not negative and add up to the number of rows. Use it for
    few columns only: the number of cells, and with it the total noise, grows exponentially with the columns.

    Parameters
    ----------
    estimator : a scikit-learn estimator whose `fit` takes `sample_weight`.
    bounds : public bounds of each column, with `target` or `classes` if there is a target.
    cells : the number of equal cells along each column, and along a numerical target.

    Notes
    -----
    The guarantee of the histogram, where a row adds one to one cell. Fitting is post-processing.

    References
    ----------
    Lei, "Differentially private M-estimators", NIPS 2011.

    Examples
    --------
    >>> from sklearn.linear_model import HuberRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, (20_000, 1))
    >>> y = 3 * x[:, 0] + rng.normal(0, 0.3, 20_000)
    >>> robust = MEstimator(HuberRegressor(), Bounds(0, 1, target=(-2, 5)), cells=32)
    >>> model = robust.fit(x, y, epsilon=1.0)
    >>> bool(abs(model.coef_[0] - 3) < 0.1), model.release_.budget.epsilon
    (True, 1.0)
    """

    estimator: Any
    bounds: Bounds
    cells: int = 16

    def fit(self, X: Any, y: Any = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]) -> Any:
        """A fitted copy of the estimator; its `release_` is the histogram, the only thing it was fitted on.

        Rows behind an engine may stand for X, where there is no target to learn.
        """
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise TypeError(
                f"{type(self.estimator).__name__} takes no `sample_weight`: it cannot learn from a histogram."
            )
        if is_rows(X):
            if y is not None or self.bounds.target is not None or self.bounds.classes is not None:
                raise TypeError("An MEstimator learns a target from arrays. Got rows behind an engine.")
            table, edges = X, self._make_edges(X.width)
        else:
            table = np.asarray(X, dtype=np.float64)
            table = table[:, None] if table.ndim == 1 else table
            edges = self._make_edges(table.shape[1])
        if y is not None:
            table, edges = np.column_stack([table, self._encode_target(y)]), [*edges, self._make_target_edges()]

        # BOUND + SUMMARISE + PRIVATISE: the number of rows in each cell
        release = histogram(table, edges if len(edges) > 1 else edges[0], None, epsilon, delta, **options)
        # SOLVE: consistent counts, and the estimator on the middles of cells
        weights = find_nearest_counts(release.value.ravel(), options.get("n"))
        middles = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in map(np.asarray, edges)], indexing="ij")
        points, some = np.column_stack([axis.ravel() for axis in middles]), weights > 0
        fitted = clone(self.estimator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of the estimator would be about cells, not about rows
            if y is None:
                fitted.fit(points[some], sample_weight=weights[some])
            else:
                fitted.fit(points[some, :-1], self._decode_target(points[some, -1]), sample_weight=weights[some])
        fitted.release_ = release
        return fitted

    def _make_edges(self, width: int) -> list[list[float]]:
        check_whole("MEstimator", "cells", self.cells, 2)
        if float(self.cells) ** width > MOST_CELLS:
            raise ValueError(
                f"{self.cells} cells along each of {width} columns are more than {MOST_CELLS} in all. "
                "Hint: fewer `cells`, or fewer columns."
            )
        known = self.bounds.matched(width)
        ends = zip(known.lower.tolist(), known.upper.tolist(), strict=True)
        return [np.linspace(low, high, self.cells + 1).tolist() for low, high in ends]

    def _make_target_edges(self) -> list[float]:
        if self.bounds.classes is not None:
            return [place - 0.5 for place in range(len(self.bounds.classes) + 1)]
        assert self.bounds.target is not None
        return [float(edge) for edge in np.linspace(*self.bounds.target, self.cells + 1)]

    def _encode_target(self, y: Any) -> Floats:
        if self.bounds.classes is not None:
            codes = codes_of(np.asarray(y), list(self.bounds.classes)).astype(np.float64)
            return np.where(codes < 0, np.nan, codes)
        if self.bounds.target is None:
            raise ValueError("The `bounds` of MEstimator need a `target`, or `classes`, where there is a target.")
        return np.asarray(y, dtype=np.float64)

    def _decode_target(self, middles: Floats) -> NDArray[Any]:
        if self.bounds.classes is None:
            return middles
        return np.asarray(np.asarray(self.bounds.classes)[np.rint(middles).astype(int)])


def find_nearest_counts(noisy: Floats, n: int | None = None) -> Floats:
    """The counts nearest to noisy ones that are not negative and add up to n, or to the noisy total.

    >>> find_nearest_counts(np.array([5.0, -1.0, 2.0])).tolist()
    [4.5, 0.0, 1.5]
    """
    total = max(float(noisy.sum()) if n is None else float(n), 1.0)
    falling = np.sort(noisy)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling > over)[-1])
    return np.asarray(np.maximum(noisy - over[kept], 0.0))
