"""The estimators and rows of a study, from the forms in which they may be given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from discreet.arguments import is_number
from discreet.bounds import Bounds
from discreet.evaluate.nested_parameters import find_owners, refuse_model
from discreet.evaluate.runner import StudyRows, take_rows


def name_estimators(estimators: Any, delta: float) -> dict[str, Any]:
    """Estimators by name, from one, a list or a mapping of estimators and classes of estimators.

    Estimators in a list are named by their class, and by the parameters in which those of one class differ.

    >>> from discreet.models import LinearRegression, Ridge
    >>> list(name_estimators([Ridge, LinearRegression(method="adassp"), LinearRegression()], 1e-6))
    ['Ridge', "LinearRegression(method='adassp')", "LinearRegression(method='auto')"]
    """
    if isinstance(estimators, Mapping):
        found = {str(name): _make_estimator(given, delta) for name, given in estimators.items()}
    else:
        listed = estimators if isinstance(estimators, (list, tuple)) else [estimators]
        models = [_make_estimator(given, delta) for given in listed]
        found = dict(zip(_make_names(models), models, strict=True))
    if not found:
        raise ValueError("There are no estimators to evaluate.")
    for name, model in found.items():
        refuse_model(name, model)
    if len({is_classifier(model) for model in found.values()}) > 1:
        raise ValueError("Regressors and classifiers have different kinds of scores. Hint: one frontier for each.")
    return found


def _make_estimator(given: Any, delta: float) -> Any:
    """An estimator as it is; of a class, an instance with this δ, if it has one."""
    model = given() if isinstance(given, type) else given
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"The `estimators` are estimators, classes of them or a mapping. Got {type(given).__name__}.")
    if isinstance(given, type) and "delta" in model.get_params():
        model.set_params(delta=delta)
    return model


def _make_names(models: list[Any]) -> list[str]:
    names = [type(model).__name__ + _describe_difference(model, models) for model in models]
    often = Counter(names)
    return [f"{name} {i}" if often[name] > 1 else name for i, name in enumerate(names, 1)]


def _describe_difference(model: Any, models: list[Any]) -> str:
    kin = [other.get_params(deep=False) for other in models if type(other) is type(model)]
    mine = model.get_params(deep=False)
    differ = [name for name in mine if any(repr(other[name]) != repr(mine[name]) for other in kin)]
    short = [f"{name}={mine[name]!r}" for name in differ if len(repr(mine[name])) <= 30]
    return f"({', '.join(short)})" if short else ""


def prepare_rows(X: Any, y: Any, models: Mapping[str, Any], test: float) -> tuple[StudyRows, dict[str, Any]]:
    """The rows of the study, and the estimators adapted to them.

    Rows with a missing or infinite number are left out, as in private fits. A frame of numbers becomes an array, which
    many processes can share; bounds by name are then put into the order of its columns.
    """
    if isinstance(X, Mapping):
        import polars

        X = polars.DataFrame(dict(X))
    y = np.asarray(y)
    units = {model.get_params().get(f"{owner}unit") for model in models.values() for owner in find_owners(model)} - {
        None
    }
    plain = _read_numbers(_drop_units(X, units))
    if np.shape(plain)[:1] != y.shape:
        raise ValueError(f"X and y must have as many rows as each other. Got {len(plain)} and shape {y.shape}.")
    whole = np.ones(len(y), bool)
    for part in (plain, y):
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            whole &= np.isfinite(part).reshape(len(y), -1).all(axis=1)
    kept = np.flatnonzero(whole)
    plain, y, X = (part if whole.all() else take_rows(part, kept) for part in (plain, y, X))
    held, owned = _count_held_out(test, len(y)), _number_units(X, units)
    if isinstance(plain, np.ndarray) and not units and all(map(_has_own_bounds, models.values())):
        columns = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        return StudyRows(plain, y, plain, held), {
            name: _order_bounds(m, plain.shape[1], columns) for name, m in models.items()
        }
    return StudyRows(X, y, plain, held, owned), dict(models)


def _count_held_out(test: float, size: int) -> int:
    if not is_number(test) or not 0 < test < 1:
        raise ValueError(f"The `test` of the frontier must be a share of the rows within 0 and 1. Got {test!r}.")
    held = round(test * size)
    if not 0 < held < size:
        raise ValueError(
            f"Of {size} complete rows, {held} would be held out: training and test need one row or more each."
        )
    return held


def _read_numbers(X: Any) -> Any:
    """The table as an array of numbers; unchanged if it holds anything else."""
    try:
        array = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    except (TypeError, ValueError):
        return X
    if array.ndim != 2:
        raise ValueError(f"X must have rows and columns. Got {array.ndim} dimension(s).")
    return array


def _drop_units(X: Any, units: set[Any]) -> Any:
    if not units:
        return X
    missing = [unit for unit in units if unit not in getattr(X, "columns", ())]
    if missing:
        raise ValueError(f"The `unit` {missing[0]!r} must be a column of X.")
    return X.drop(columns=list(units)) if hasattr(X, "iloc") else X.drop(*units)


def _number_units(X: Any, units: set[Any]) -> Any:
    """The unit of each row, as whole numbers."""
    if not units:
        return None
    if len(units) > 1:
        raise ValueError(f"The estimators of a frontier have one `unit`. Got {sorted(units)}. Hint: one frontier each.")
    (unit,) = units
    return np.unique([str(value) for value in np.asarray(X[unit])], return_inverse=True)[1]


def _has_own_bounds(model: Any) -> bool:
    """Whether all bounds with column names are the estimator's own, not those of a part."""
    bounds = {name: value for name, value in model.get_params().items() if isinstance(value, Bounds)}
    return all(name == "bounds" or value.columns is None for name, value in bounds.items())


def _order_bounds(model: Any, width: int, columns: list[str] | None) -> Any:
    bounds = model.get_params(deep=False).get("bounds")
    if columns is None or bounds is None or bounds.columns is None:
        return model
    from sklearn.base import clone

    return clone(model).set_params(bounds=bounds.matched(width, columns))
