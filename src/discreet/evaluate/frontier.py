"""The frontier: accuracy against ε and against the number of rows, beside what privacy cannot beat and what is trivial.

Every fit is seeded, so nothing here is private: the rows must be public, or simulated from public facts (`simulate`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from discreet.arguments import check_whole
from discreet.documents import html
from discreet.evaluate import cache as caching
from discreet.evaluate.bands import Band, band
from discreet.evaluate.candidates import named, rows_of
from discreet.evaluate.ceiling import counterpart, floor, label_of
from discreet.evaluate.runner import Job, Progress, Rows, Score, run

Kind = Literal["private", "ceiling", "floor"]
SIGNS = {"r2": "R²", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "roc_auc": "AUC"}
NOTE = (
    "An evaluation, NOT private: every fit is seeded and nothing was charged. "
    "The rows must be public, or simulated from public facts."
)


@dataclass(frozen=True)
class Run:
    """One fit and its score; ε is None for what is not private."""

    estimator: str
    kind: Kind
    epsilon: float | None
    n: int
    repeat: int
    score: float


@dataclass(frozen=True, eq=False)
class Frontier:
    """Scores of many fits, by estimator, ε and number of rows, with those of the ceilings and of the floor.

    Attributes
    ----------
    runs : one `Run` per fit.
    ceilings : for each private estimator, the name of its counterpart without privacy.
    measure : what the score is; larger is better.
    quantiles : the ends of the bands.
    note : that this is an evaluation, and what it may be used on.
    """

    runs: tuple[Run, ...]
    ceilings: Mapping[str, str]
    measure: str
    quantiles: tuple[float, float] = (0.1, 0.9)
    note: str = NOTE

    @property
    def estimators(self) -> tuple[str, ...]:
        """The private ones, in order."""
        return tuple(self.ceilings)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """In rising order."""
        return tuple(sorted({run.epsilon for run in self.runs if run.epsilon is not None}))

    @property
    def ns(self) -> tuple[int, ...]:
        """Numbers of training rows, in rising order."""
        return tuple(sorted({run.n for run in self.runs}))

    @property
    def floor(self) -> str:
        """The name of the trivial model."""
        return next(run.estimator for run in self.runs if run.kind == "floor")

    @cached_property
    def _groups(self) -> dict[tuple[str, float | None, int], list[float]]:
        found: dict[tuple[str, float | None, int], list[float]] = {}
        for one in self.runs:
            found.setdefault((one.estimator, one.epsilon, one.n), []).append(one.score)
        return found

    def at(self, estimator: str, epsilon: float | None = None, n: int | None = None) -> Band:
        """Median, mean and band of an estimator at ε (None for a ceiling or the floor) and n (None: all rows)."""
        return band(self._groups[estimator, epsilon, self.ns[-1] if n is None else n], self.quantiles)

    def kept(self, estimator: str, epsilon: float, n: int | None = None) -> float:
        """How much of the ceiling's gain over the floor an estimator keeps, by medians; NaN where there is none."""
        top, bottom = self.at(self.ceilings[estimator], None, n).median, self.at(self.floor, None, n).median
        return (self.at(estimator, epsilon, n).median - bottom) / (top - bottom) if top > bottom else float("nan")

    def needed(self, share: float = 0.9, n: int | None = None) -> dict[str, float | None]:
        """For each estimator the smallest ε from which on it keeps this share; None where no ε that was tried does."""
        return {name: self._needed(name, share, n) for name in self.estimators}

    def _needed(self, name: str, share: float, n: int | None) -> float | None:
        enough = None
        for epsilon in reversed(self.epsilons):
            if not self.kept(name, epsilon, n) >= share:
                break
            enough = epsilon
        return enough

    def frame(self) -> Any:
        """Tidy, as a polars frame: one row per estimator, epsilon, n, repeat and score."""
        import polars

        kinds = {"epsilon": polars.Float64, "n": polars.Int64, "repeat": polars.Int64, "score": polars.Float64}
        return polars.DataFrame([asdict(run) for run in self.runs], schema_overrides=kinds, infer_schema_length=None)

    def summary(self) -> Any:
        """As a polars frame: median, mean and band over the repeats, and the share of the ceiling that is kept."""
        import polars

        kinds = {one.estimator: one.kind for one in self.runs}
        rows = [
            {"estimator": name, "kind": kinds[name], "epsilon": epsilon, "n": n, **self.at(name, epsilon, n)._asdict()}
            | {"kept": None if epsilon is None else self.kept(name, epsilon, n)}
            for name, epsilon, n in self._groups
        ]
        return polars.DataFrame(rows, schema_overrides={"epsilon": polars.Float64, "kept": polars.Float64})

    def sentence(self) -> str:
        """What the picture says, in plain words."""
        from discreet.evaluate.frontier_summary import sentence

        return sentence(self)

    def plot(self, against: str = "epsilon", axes: Any = None) -> Any:
        """Scores with their bands against "epsilon" or "n"; see `discreet.plots.frontier`."""
        from discreet.plots import frontier as draw

        return draw(self, against, axes=axes)

    def figure(self) -> Any:
        """Both pictures side by side, with the note below: a matplotlib figure, to be saved."""
        from discreet.plots.frontier import figure

        return figure(self)

    def _repr_html_(self) -> str:
        found = self.summary()
        rows = [[f"{cell:.4g}" if isinstance(cell, float) else cell or "" for cell in row] for row in found.rows()]
        table = html.write_table(rows, found.columns, f"{self.measure}: medians and bands over repeats")
        return table + html.write_paragraphs(str(self))

    def __str__(self) -> str:
        return f"{self.sentence()}\n{self.note}"

    def __repr__(self) -> str:
        return f"<Frontier of {', '.join(self.estimators)}: {self.measure}, {len(self.runs)} fits, NOT PRIVATE>"


def frontier(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    epsilons: Sequence[float] = (0.1, 0.3, 1, 3, 10),
    ns: Sequence[int] | None = None,
    repeats: int = 20,
    n_jobs: int | None = None,
    score: str | Score | None = None,
    test: float = 0.2,
    delta: float = 1e-6,
    random_state: int = 0,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    ceiling: Mapping[str, Any] | None = None,
) -> Frontier:
    """Accuracy or R² of private models against ε and n, beside the ceiling without privacy and the trivial floor.

    NOT private: fits are seeded and nothing is charged. For rows that are public, or simulated from public facts.

    Parameters
    ----------
    estimators : one, a list, or a mapping of names: estimators, or classes of them. An `epsilon` is all they need;
        a `ledger` is refused. Where `n` is given it follows the number of rows.
    X, y : arrays or frames. Rows with a missing or infinite number are left out.
    epsilons : what to try.
    ns : numbers of training rows; a quarter, half and all of those that are not held out if None.
    repeats : how often, each with a fresh split and fresh noise. Smaller sets of rows are parts of larger ones, and
        all estimators see the same. Where estimators name a `unit`, no unit is in training and in the test.
    n_jobs : how many processes, as in scikit-learn: None for one, -1 for all cores. The scores do not depend on it.
    score : R² or accuracy if None; or the name of a scorer of scikit-learn; or a function of model, X and y, larger
        is better (without a cache).
    test : the share of the rows that scores are measured on.
    delta : of estimators given as classes; others keep their own.
    random_state : a whole number >= 0: the study repeats itself to the bit.
    cache : a folder; what was computed before from the same rows, parameters, seed and code is not computed again, so
        that a study which was stopped goes on. It is as sensitive as the study.
    progress : a function of how many fits are done and how many there are.
    ceiling : for estimators by name, what to compare with in place of scikit-learn's counterpart.

    | where | what happens |
    | --- | --- |
    | private fits at a small ε | may score far below the floor: medians and bands are shown, not means |
    | the ceiling is no better than the floor | there is nothing to keep: shares are NaN |
    | a file of the cache is damaged | it is computed again |

    Examples
    --------
    >>> from discreet.evaluate import simulate
    >>> from discreet.models import LinearRegression
    >>> import discreet as dc
    >>> X, y = simulate("regression", bounds=dc.Bounds(0, 1, target=(0, 10)), d=3, n=5000, expected=0.7)
    >>> models = {"linear": LinearRegression(bounds=dc.Bounds(0, 1, target=(0, 10)))}
    >>> result = frontier(models, X, y, epsilons=[0.05, 1], repeats=5)
    >>> result.kept("linear", 0.05) < 0.98 < result.kept("linear", 1)
    True
    """
    from_seed = check_whole("the frontier", "random_state", random_state, 0)
    models = named(estimators, delta)
    rows, models = rows_of(X, y, models, test)
    epsilons, ns = _epsilons(epsilons), _ns(ns, len(rows.y) - rows.held)
    above = {name: (ceiling or {}).get(name) or counterpart(model) for name, model in models.items()}
    ceilings, distinct = _distinct(above)
    below = floor(next(iter(models.values())))
    entries: list[tuple[str, Kind, Job]] = []
    for repeat in range(check_whole("the frontier", "repeats", repeats)):
        for n in ns:
            entries += [
                (name, "private", Job(model, epsilon, n, repeat))
                for name, model in models.items()
                for epsilon in epsilons
            ]
            entries += [(name, "ceiling", Job(model, None, n, repeat)) for name, model in distinct.items()]
            entries.append(("majority class" if is_classifier(below) else "mean", "floor", Job(below, None, n, repeat)))
    measure, scorer = _scorer(score, below, cache)
    kept = None if cache is None else caching.Cache(Path(cache), _study(rows, from_seed, measure))
    jobs = [job for _, _, job in entries]
    found = run(jobs, rows, scorer, seed=from_seed, n_jobs=n_jobs, cache=kept, progress=progress)
    runs = tuple(
        Run(name, kind, job.epsilon, job.n, job.repeat, value)
        for (name, kind, job), value in zip(entries, found, strict=True)
    )
    return Frontier(runs, ceilings, measure)


def _distinct(above: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Names of ceilings, and each ceiling once, though several estimators may share it."""
    ceilings: dict[str, str] = {}
    distinct: dict[str, Any] = {}
    for name, model in above.items():
        label = f"scikit-learn {label_of(model)}"
        same = [known for known, other in distinct.items() if repr(other) == repr(model)]
        if not same and label in distinct:
            label = f"{label} for {name}"
        ceilings[name] = same[0] if same else label
        distinct.setdefault(ceilings[name], model)
    return ceilings, distinct


def _scorer(score: Any, model: Any, cache: Any) -> tuple[str, Score]:
    if callable(score):
        if cache is not None:
            raise ValueError("The cache cannot tell one `score` function from another. Hint: a name, or cache=None.")
        return getattr(score, "__name__", "score").replace("<lambda>", "score"), score
    name = score or ("accuracy" if is_classifier(model) else "r2")
    try:
        return SIGNS.get(name, name.replace("_", " ")), get_scorer(name)
    except (ValueError, AttributeError):
        raise ValueError(
            f"The `score` must be the name of a scorer of scikit-learn, or a function. Got {score!r}."
        ) from None


def _study(rows: Rows, seed: int, measure: str) -> str:
    data = caching.bytes_of(rows.y, rows.X) if rows.X is rows.plain else caching.bytes_of(rows.y, rows.X, rows.plain)
    return caching.digest([caching.VERSION, caching.code(), data, rows.held, seed, measure])


def _epsilons(given: Sequence[float]) -> list[float]:
    found = sorted({float(epsilon) for epsilon in given})
    if not found or not all(np.isfinite(found)) or found[0] <= 0:
        raise ValueError(f"The `epsilons` of the frontier must be finite numbers > 0. Got {given!r}.")
    return found


def _ns(given: Sequence[int] | None, most: int) -> list[int]:
    if given is None:
        return sorted({max(1, most // 4), max(1, most // 2), most})
    found = sorted({check_whole("the frontier", "ns", n) for n in given})
    if not found or found[-1] > most:
        raise ValueError(
            f"The `ns` of the frontier must be within the {most} rows that are not held out. Got {given!r}."
        )
    return found
