"""Error against the number of rows and ε, on rows that you may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from discreet.evaluate.bands import make_band
from discreet.evaluate.nested_parameters import refuse_model
from discreet.evaluate.runner import Job, StudyRows, run_jobs
from discreet.plots.bands import BandLine, draw_lines

RUN = np.dtype([("epsilon", "f8"), ("size", "i8"), ("repeat", "i8"), ("error", "f8")])


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Errors of many fits, by ε and number of rows.

    Attributes
    ----------
    runs : a structured array with the fields epsilon, size, repeat and error: one entry per fit.
    quantiles : the ends of the bands.
    measure : the name of the error.
    """

    runs: NDArray[Any]
    quantiles: tuple[float, float]
    measure: str

    def table(self) -> list[dict[str, float]]:
        """A tidy table: for each ε and size the median, the mean and the band."""
        return [
            self._summarise_runs(epsilon, size)
            for epsilon in self._list_values("epsilon")
            for size in self._list_values("size")
        ]

    def _list_values(self, field: str) -> list[float]:
        return list(dict.fromkeys(self.runs[field].tolist()))

    def _summarise_runs(self, epsilon: float, size: float) -> dict[str, float]:
        here = self.runs[(self.runs["epsilon"] == epsilon) & (self.runs["size"] == size)]["error"]
        return {"epsilon": epsilon, "size": size, **make_band(here, self.quantiles)._asdict()}

    def plot(self, ax: Any = None, against: str = "size") -> Any:
        """Median error with its band, against "size" (a line per ε) or "epsilon" (a line per size)."""
        if against not in ("size", "epsilon"):
            raise ValueError(f'`against` is "size" or "epsilon". Got {against!r}.')
        other = "epsilon" if against == "size" else "size"
        table = self.table()
        lines = [
            BandLine.from_rows(
                f"{_SIGN[other]} = {value:{_FORMAT[other]}}", against, [row for row in table if row[other] == value]
            )
            for value in self._list_values(other)
        ]
        ax = draw_lines(lines, ax)
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

    `frontier` does the same for several estimators, with a ceiling and a floor, and can be interrupted and resumed.

    Parameters
    ----------
    make_estimator : a function of ε that returns an estimator, or an estimator whose `epsilon` is set.
    X, y : arrays.
    epsilons, sizes : the values of ε, and the numbers of training rows, to try.
    repeats : the number of repeats, each with a new split and new noise; smaller sizes are parts of larger ones.
    seed : the seed of all fits, which are marked as not private; the same seed gives the same study, bit for bit.
    test_share : the share of the rows that errors are measured on.
    quantiles : the ends of the bands.
    n_jobs : the number of processes; the errors do not depend on it.

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
        refuse_model(type(make_estimator).__name__, make_estimator)
    model = make_estimator if given else make_estimator(epsilons[0])
    wanted = [(epsilon, int(size), repeat) for repeat in range(repeats) for epsilon in epsilons for size in sizes]
    errors = run_jobs(
        [Job(make_estimator, *one) for one in wanted],
        StudyRows(X, y, X, held),
        _measure_error,
        seed=seed,
        n_jobs=n_jobs,
    )
    runs = np.array([(*one, error) for one, error in zip(wanted, errors, strict=True)], dtype=RUN)
    measure = "share of wrong classes" if is_classifier(model) else "root mean squared error"
    return ErrorCurve(runs, quantiles, measure)


def _measure_error(model: Any, X: Any, y: Any) -> float:
    said = model.predict(X)
    return float(np.mean(said != y)) if is_classifier(model) else float(np.sqrt(np.mean(np.square(said - y))))
