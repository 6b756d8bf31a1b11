"""The estimators and rows of a study, in whatever form they are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from discreet.arguments import is_number
from discreet.bounds import Bounds
from discreet.evaluate.nested_parameters import owners, refuse
from discreet.evaluate.runner import Rows


def named(estimators: Any, delta: float) -> dict[str, Any]:
    """Estimators by name, from one, a list or a mapping of estimators and classes of them.

    Those of a list are named by their class, and by the parameters in which those of one class differ.

    >>> from discreet.models import LinearRegression, Ridge
    >>> list(named([Ridge, LinearRegression(method="adassp"), LinearRegression()], 1e-6))
    ['Ridge', "LinearRegression(method='adassp')", "LinearRegression(method='auto')"]
    """
    if isinstance(estimators, Mapping):
        found = {str(name): _made(given, delta) for name, given in estimators.items()}
    else:
        listed = estimators if isinstance(estimators, (list, tuple)) else [estimators]
        models = [_made(given, delta) for given in listed]
        found = dict(zip(_names(models), models, strict=True))
    if not found:
        raise ValueError("There are no estimators to evaluate.")
    for name, model in found.items():
        refuse(name, model)
    if len({is_classifier(model) for model in found.values()}) > 1:
        raise ValueError("Regressors and classifiers have scores of different kinds. Hint: one frontier for each.")
    return found


def _made(given: Any, delta: float) -> Any:
    """An estimator as it is; a class with this δ, if it has one."""
    model = given() if isinstance(given, type) else given
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"The `estimators` are estimators, classes of them or a mapping. Got {type(given).__name__}.")
    if isinstance(given, type) and "delta" in model.get_params():
        model.set_params(delta=delta)
    return model


def _names(models: list[Any]) -> list[str]:
    names = [type(model).__name__ + _difference(model, models) for model in models]
    often = Counter(names)
    return [f"{name} {i}" if often[name] > 1 else name for i, name in enumerate(names, 1)]


def _difference(model: Any, models: list[Any]) -> str:
    kin = [other.get_params(deep=False) for other in models if type(other) is type(model)]
    mine = model.get_params(deep=False)
    differ = [name for name in mine if any(repr(other[name]) != repr(mine[name]) for other in kin)]
    short = [f"{name}={mine[name]!r}" for name in differ if len(repr(mine[name])) <= 30]
    return f"({', '.join(short)})" if short else ""


def rows_of(X: Any, y: Any, models: Mapping[str, Any], test: float) -> tuple[Rows, dict[str, Any]]:
    """The rows of the study, and the estimators fit for them.

    Rows with a number that is missing or infinite are left out, as private fits leave them out. A frame of numbers
    becomes an array, which many processes can share; bounds by name are put into its order of columns.
    """
    if isinstance(X, Mapping):
        import polars

        X = polars.DataFrame(dict(X))
    y = np.asarray(y)
    units = {model.get_params().get(f"{owner}unit") for model in models.values() for owner in owners(model)} - {None}
    plain = _numbers(_without(X, units))
    if np.shape(plain)[:1] != y.shape:
        raise ValueError(f"X and y must have as many rows as each other. Got {len(plain)} and shape {y.shape}.")
    whole = np.ones(len(y), bool)
    for part in (plain, y):
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            whole &= np.isfinite(part).reshape(len(y), -1).all(axis=1)
    kept = np.flatnonzero(whole)
    plain, y, X = (part if whole.all() else _taken(part, kept) for part in (plain, y, X))
    held, owned = _held(test, len(y)), _units(X, units)
    if isinstance(plain, np.ndarray) and not units and all(map(_simple, models.values())):
        columns = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        return Rows(plain, y, plain, held), {name: _ordered(m, plain.shape[1], columns) for name, m in models.items()}
    return Rows(X, y, plain, held, owned), dict(models)


def _taken(part: Any, kept: Any) -> Any:
    return part.iloc[kept] if hasattr(part, "iloc") else part[kept]


def _held(test: float, size: int) -> int:
    if not is_number(test) or not 0 < test < 1:
        raise ValueError(f"The `test` of the frontier must be a share of the rows within 0 and 1. Got {test!r}.")
    held = round(test * size)
    if not 0 < held < size:
        raise ValueError(f"Of {size} whole rows, {held} would be held out: there must be some, and some left.")
    return held


def _numbers(X: Any) -> Any:
    """As an array of numbers; as it is, where it holds something else."""
    try:
        array = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    except (TypeError, ValueError):
        return X
    if array.ndim != 2:
        raise ValueError(f"X must have rows and columns. Got {array.ndim} dimension(s).")
    return array


def _without(X: Any, units: set[Any]) -> Any:
    if not units:
        return X
    missing = [unit for unit in units if unit not in getattr(X, "columns", ())]
    if missing:
        raise ValueError(f"The `unit` {missing[0]!r} must be a column of X.")
    return X.drop(columns=list(units)) if hasattr(X, "iloc") else X.drop(*units)


def _units(X: Any, units: set[Any]) -> Any:
    """Whose each row is, as whole numbers."""
    if not units:
        return None
    if len(units) > 1:
        raise ValueError(f"The estimators of a frontier have one `unit`. Got {sorted(units)}. Hint: one frontier each.")
    (unit,) = units
    return np.unique([str(value) for value in np.asarray(X[unit])], return_inverse=True)[1]


def _simple(model: Any) -> bool:
    """Whether all bounds by name are the estimator's own."""
    bounds = {name: value for name, value in model.get_params().items() if isinstance(value, Bounds)}
    return all(name == "bounds" or value.columns is None for name, value in bounds.items())


def _ordered(model: Any, width: int, columns: list[str] | None) -> Any:
    bounds = model.get_params(deep=False).get("bounds")
    if columns is None or bounds is None or bounds.columns is None:
        return model
    from sklearn.base import clone

    return clone(model).set_params(bounds=bounds.matched(width, columns))
