"""What a fitted model says of a row, made of that row alone.

A float matrix product may differ in its last bits with the rows beside it, and then one row could change what is said
of another: a count of errors would not be a sum over rows. So linear models of this library are evaluated term by term
in a fixed order, and any other model is asked row by row, which is slower (some thousands of rows a second).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.bounds import Bounds
from discreet.labels import codes_of
from discreet.models.linear.regression import LinearRegression
from discreet.models.shared.classifier import LinearClassifier, PrivateClassifier
from discreet.models.shared.estimator import PrivateRegressor
from discreet.query import halved

Floats = NDArray[np.float64]


def codes(model: Any, X: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """The place in `classes` of the class predicted for each row; -1 where there is none, or a feature is missing."""
    if _is_linear_classifier(model) and _plain(model, "predict", PrivateClassifier):
        scores = _scores(model, X)
        place = scores.argmax(axis=0) if len(scores) > 1 else (scores[0] > 0).astype(np.intp)
        there = codes_of(model.classes_, classes)[place]
        return np.where(_whole(X), there, -1)
    return _each(model.predict, X, lambda label: int(codes_of(_one(label), classes)[0]), -1).astype(np.int64)


def numbers(model: Any, X: NDArray[Any]) -> Floats:
    """The number predicted for each row; NaN where there is none, or a feature is missing."""
    if _is_line(model):
        return np.where(_whole(X), np.clip(_line(model, X), *model.bounds_.target), np.nan)
    return _each(model.predict, X, float, np.nan)


def probabilities(model: Any, X: NDArray[Any]) -> Floats:
    """The probability of the second of two classes; the logistic of the decision where a model knows no probability."""
    if _is_linear_classifier(model) and len(model.coef_) == 1 and _plain(model, "predict_proba", PrivateClassifier):
        return np.where(_whole(X), expit(_scores(model, X)[0]), np.nan)
    if hasattr(model, "predict_proba"):
        return _each(model.predict_proba, X, lambda row: float(row[1]), np.nan)
    return _each(model.decision_function, X, lambda score: float(expit(score)), np.nan)


def probe(model: Any, width: int, method: str, columns: tuple[str, ...] | None = None) -> None:
    """Raise, before anything is charged, if the model cannot be asked of rows like these: it is asked of zeros."""
    known = getattr(model, "feature_names_in_", None)
    if known is not None and columns is not None and tuple(known) != tuple(columns):
        raise ValueError(f"The columns of the data are not those of the model, in its order: {list(known)}.")
    with silence():
        getattr(model, method)(np.zeros((1, width)))


def _is_linear_classifier(model: Any) -> bool:
    plain = isinstance(model, LinearClassifier) and _plain(model, "decision_function", LinearClassifier)
    return plain and _plain(model, "_clip_rows", PrivateClassifier) and len(model.classes_) > 1


def _plain(model: Any, method: str, owner: type) -> bool:
    return getattr(type(model), method) is getattr(owner, method)


def _is_line(model: Any) -> bool:
    if isinstance(model, LinearRegression):
        return _plain(model, "predict", LinearRegression) and model.rows != "row-norm"
    return isinstance(model, PrivateRegressor) and _plain(model, "predict", PrivateRegressor)


def _scores(model: Any, X: NDArray[Any]) -> Floats:
    if len(X) == 0:
        return np.empty((len(model.coef_), 0))
    rows = model._clip_rows(X)
    sums = [halved(rows.T * row[:, None]) + b for row, b in zip(model.coef_, model.intercept_, strict=True)]
    length = model._measure_lengths(rows)
    return np.stack(sums) if length is None else np.stack(sums) / length


def _line(model: Any, X: NDArray[Any]) -> Floats:
    bounds: Bounds = model.bounds_
    inside = np.clip(np.nan_to_num(X).T, bounds.lower[:, None], bounds.upper[:, None])
    return np.asarray(halved(inside * np.asarray(model.coef_)[:, None]) + model.intercept_)


def _whole(X: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(X).all(axis=1))


def _each(ask: Callable[[Any], Any], X: NDArray[Any], read: Callable[[Any], Any], otherwise: float) -> Floats:
    """Ask of each row by itself. A row that the model cannot bear counts for nothing: an error would tell of it."""
    said = np.full(len(X), otherwise)
    for i in np.flatnonzero(_whole(X)):
        try:
            said[i] = read(ask(X[i : i + 1].copy())[0])
        except Exception:
            said[i] = otherwise
    return said


def _one(label: Any) -> NDArray[Any]:
    cell = np.empty(1, dtype=object)
    cell[0] = label.item() if isinstance(label, np.generic) else label
    return cell


@contextmanager
def silence() -> Iterator[None]:
    """No warning: one that a row caused would tell of it. Around a sum, not in it: blocks are read in threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
