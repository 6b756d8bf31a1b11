"""Error against the number of rows and ε: what a budget buys, on rows that you may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from discreet.evaluate.bands import band
from discreet.evaluate.nested_parameters import refuse
from discreet.evaluate.runner import Job, Rows, run
from discreet.plots.bands import Line, draw

RUN = np.dtype([("epsilon", "f8"), ("size", "i8"), ("repeat", "i8"), ("error", "f8")])


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Errors of many fits, by ε and number of rows.

    Attributes
    ----------
    runs : a structured array with the fields epsilon, size, repeat and error: one entry per fit.
    quantiles : the ends of the bands.
    measure : what the error is.
    """

    runs: NDArray[Any]
    quantiles: tuple[float, float]
    measure: str

    def table(self) -> list[dict[str, float]]:
        """Tidy: for each ε and size the median, the mean and the band."""
        return [self._row(epsilon, size) for epsilon in self._values("epsilon") for size in self._values("size")]

    def _values(self, field: str) -> list[float]:
        return list(dict.fromkeys(self.runs[field].tolist()))

    def _row(self, epsilon: float, size: float) -> dict[str, float]:
        here = self.runs[(self.runs["epsilon"] == epsilon) & (self.runs["size"] == size)]["error"]
        return {"epsilon": epsilon, "size": size, **band(here, self.quantiles)._asdict()}

    def plot(self, ax: Any = None, against: str = "size") -> Any:
        """Median error with its band, against "size" (a line per ε) or "epsilon" (a line per size)."""
        if against not in ("size", "epsilon"):
            raise ValueError(f'`against` is "size" or "epsilon". Got {against!r}.')
        other = "epsilon" if against == "size" else "size"
        table = self.table()
        lines = [
            Line.of(
                f"{_SIGN[other]} = {value:{_FORMAT[other]}}", against, [row for row in table if row[other] == value]
            )
            for value in self._values(other)
        ]
        ax = draw(lines, ax)
        ax.set(xlabel={"size": "rows", "epsilon": "ε"}[against], ylabel=self.measure)
        return ax


_SIGN, _FORMAT = {"epsilon": "ε", "size": "n"}, {"epsilon": "g", "size": ",.0f"}


def error_curve(
    make_estimator: Callable[[float], Any] | Any,
    X: Any,
    y: Any,
    *,
    epsilons: Sequence[float],
    sizes: Sequence[int],
    repeats: int = 10,
    seed: int = 0,
    test_share: float = 0.25,
    quantiles: tuple[float, float] = (0.1, 0.9),
    n_jobs: int | None = None,
) -> ErrorCurve:
    """Error on held-out rows against the number of training rows and ε. NOT private: a study of rows you may see.

    `frontier` is the same for several estimators at once, beside a ceiling and a floor, and can be stopped and resumed.

    Parameters
    ----------
    make_estimator : a function of ε that returns an estimator, or an estimator whose `epsilon` is set.
    X, y : arrays.
    epsilons, sizes : what to try; sizes of training rows.
    repeats : how often, each with a fresh split and fresh noise; smaller sizes are parts of larger ones.
    seed : the study repeats itself to the bit. Fits are seeded with it and marked as not private.
    test_share : of the rows, to measure errors on.
    quantiles : the ends of the bands.
    n_jobs : how many processes; the errors do not depend on it.

    The error is the share of wrong classes, or the root of the mean squared error.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.models import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> model = LinearRegression(bounds=dc.Bounds(-1, 1, target=(-2, 2)))
    >>> curve = error_curve(model, X, X @ [1, -1], epsilons=[0.1, 10.0], sizes=[3000], repeats=5)
    >>> small, large = curve.table()
    >>> bool(large["median"] < small["median"])
    True
    """
    X, y = np.asarray(X), np.asarray(y)
    held = round(test_share * len(X))
    if not 0 < held < len(X) or max(sizes) > len(X) - held or min(sizes) < 1:
        raise ValueError(f"There are {len(X)} rows, {held} of them held out: `sizes` must be within the rest.")
    if repeats < 1:
        raise ValueError(f"The `repeats` of error_curve must be at least 1. Got {repeats!r}.")
    given = hasattr(make_estimator, "fit")
    if given:
        refuse(type(make_estimator).__name__, make_estimator)
    model = make_estimator if given else make_estimator(epsilons[0])
    wanted = [(epsilon, int(size), repeat) for repeat in range(repeats) for epsilon in epsilons for size in sizes]
    errors = run([Job(make_estimator, *one) for one in wanted], Rows(X, y, X, held), _error, seed=seed, n_jobs=n_jobs)
    runs = np.array([(*one, error) for one, error in zip(wanted, errors, strict=True)], dtype=RUN)
    measure = "share of wrong classes" if is_classifier(model) else "root mean squared error"
    return ErrorCurve(runs, quantiles, measure)


def _error(model: Any, X: Any, y: Any) -> float:
    said = model.predict(X)
    return float(np.mean(said != y)) if is_classifier(model) else float(np.sqrt(np.mean(np.square(said - y))))
