"""The frontier: accuracy against ε and the number of rows, between a model without privacy and a trivial one.

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
from discreet.evaluate.bands import Band, make_band
from discreet.evaluate.candidates import name_estimators, prepare_rows
from discreet.evaluate.ceiling import label_of, make_counterpart, make_floor
from discreet.evaluate.runner import Job, Progress, Score, StudyRows, run_jobs

Kind = Literal["private", "ceiling", "floor"]
SIGNS = {"r2": "R²", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "roc_auc": "AUC"}
NOTE = (
    "An evaluation, NOT private: every fit is seeded and nothing was charged. "
    "The rows must be public, or simulated from public facts."
)


@dataclass(frozen=True)
class Run:
    """One fit and its score; ε is None for a ceiling or the floor."""

    estimator: str
    kind: Kind
    epsilon: float | None
    n: int
    repeat: int
    score: float


@dataclass(frozen=True, eq=False)
class Frontier:
    """Scores of many fits, by estimator, ε and number of rows, and the scores of the ceilings and of the floor.

    Attributes
    ----------
    runs : one `Run` per fit.
    ceilings : for each private estimator, the name of its counterpart without privacy.
    measure : the name of the score; larger is better.
    quantiles : the ends of the bands.
    note : a reminder that this is an evaluation, and of the rows it may be used on.
    """

    runs: tuple[Run, ...]
    ceilings: Mapping[str, str]
    measure: str
    quantiles: tuple[float, float] = (0.1, 0.9)
    note: str = NOTE

    @property
    def estimators(self) -> tuple[str, ...]:
        """The names of the private estimators, in order."""
        return tuple(self.ceilings)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The values of ε, rising."""
        return tuple(sorted({run.epsilon for run in self.runs if run.epsilon is not None}))

    @property
    def ns(self) -> tuple[int, ...]:
        """The numbers of training rows, rising."""
        return tuple(sorted({run.n for run in self.runs}))

    @property
    def floor(self) -> str:
        """The name of the trivial model."""
        return next(run.estimator for run in self.runs if run.kind == "floor")

    @cached_property
    def _scores_by_setting(self) -> dict[tuple[str, float | None, int], list[float]]:
        found: dict[tuple[str, float | None, int], list[float]] = {}
        for one in self.runs:
            found.setdefault((one.estimator, one.epsilon, one.n), []).append(one.score)
        return found

    def at(self, estimator: str, epsilon: float | None = None, n: int | None = None) -> Band:
        """Median, mean and band of an estimator at ε (None for a ceiling or the floor) and n (None: all rows)."""
        return make_band(self._scores_by_setting[estimator, epsilon, self.ns[-1] if n is None else n], self.quantiles)

    def kept(self, estimator: str, epsilon: float, n: int | None = None) -> float:
        """The share of the ceiling's gain over the floor that an estimator keeps, by medians; NaN without a gain."""
        top, bottom = self.at(self.ceilings[estimator], None, n).median, self.at(self.floor, None, n).median
        return (self.at(estimator, epsilon, n).median - bottom) / (top - bottom) if top > bottom else float("nan")

    def needed(self, share: float = 0.9, n: int | None = None) -> dict[str, float | None]:
        """For each estimator the smallest ε from which on it keeps this share; None if no ε that was tried does."""
        return {name: self._find_needed(name, share, n) for name in self.estimators}

    def _find_needed(self, name: str, share: float, n: int | None) -> float | None:
        enough = None
        for epsilon in reversed(self.epsilons):
            if not self.kept(name, epsilon, n) >= share:
                break
            enough = epsilon
        return enough

    def frame(self) -> Any:
        """A tidy polars frame: one row per estimator, epsilon, n, repeat and score."""
        import polars

        kinds = {"epsilon": polars.Float64, "n": polars.Int64, "repeat": polars.Int64, "score": polars.Float64}
        return polars.DataFrame([asdict(run) for run in self.runs], schema_overrides=kinds, infer_schema_length=None)

    def summary(self) -> Any:
        """A polars frame of median, mean and band over the repeats, and the share of the ceiling's gain kept."""
        import polars

        kinds = {one.estimator: one.kind for one in self.runs}
        rows = [
            {"estimator": name, "kind": kinds[name], "epsilon": epsilon, "n": n, **self.at(name, epsilon, n)._asdict()}
            | {"kept": None if epsilon is None else self.kept(name, epsilon, n)}
            for name, epsilon, n in self._scores_by_setting
        ]
        return polars.DataFrame(rows, schema_overrides={"epsilon": polars.Float64, "kept": polars.Float64})

    def sentence(self) -> str:
        """The result in plain words."""
        from discreet.evaluate.frontier_summary import write_sentence

        return write_sentence(self)

    def plot(self, against: str = "epsilon", axes: Any = None) -> Any:
        """Scores with their bands against "epsilon" or "n"; see `discreet.plots.frontier`."""
        from discreet.plots import frontier as draw

        return draw(self, against, axes=axes)

    def figure(self) -> Any:
        """Both pictures side by side, with the note below: a matplotlib figure, to be saved."""
        from discreet.plots.frontier import draw_figure

        return draw_figure(self)

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
    """Accuracy or R² of private models against ε and n, between a ceiling without privacy and a trivial floor.

    NOT private: fits are seeded and nothing is charged. For rows that are public, or simulated from public facts.

    Parameters
    ----------
    estimators : one, a list, or a mapping of names: estimators, or classes of estimators. They only need an `epsilon`;
        a `ledger` is refused. An `n` that is given is replaced by the number of training rows.
    X, y : arrays or frames. Rows with a missing or infinite number are left out.
    epsilons : the values of ε to try.
    ns : numbers of training rows; a quarter, half and all of those that are not held out if None.
    repeats : the number of repeats, each with a new split and new noise. Smaller sets of rows are parts of larger ones,
        and all estimators see the same rows. If estimators name a `unit`, no unit is both in training and in the test.
    n_jobs : the number of processes, as in scikit-learn: None for one, -1 for all cores. Scores do not depend on it.
    score : R² or accuracy if None; or the name of a scorer of scikit-learn; or a function of model, X and y, larger
        is better (without a cache).
    test : the share of the rows that scores are measured on.
    delta : the δ of estimators given as classes; others keep their own.
    random_state : a whole number >= 0; the same number gives the same study, bit for bit.
    cache : a folder for scores; a score of the same rows, parameters, seed and code is not computed again, so an
        interrupted study can go on. The folder is as sensitive as the study.
    progress : a function of the number of fits that are done and the number of all fits.
    ceiling : a mapping of estimators' names to models that replace scikit-learn's counterparts.

    | case | result |
    | --- | --- |
    | private fits at a small ε | may score far below the floor: medians and bands are shown, not means |
    | the ceiling is no better than the floor | there is no gain to keep: shares are NaN |
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
    models = name_estimators(estimators, delta)
    rows, models = prepare_rows(X, y, models, test)
    epsilons, ns = _read_epsilons(epsilons), _read_sizes(ns, len(rows.y) - rows.held)
    above = {name: (ceiling or {}).get(name) or make_counterpart(model) for name, model in models.items()}
    ceilings, distinct = _merge_ceilings(above)
    below = make_floor(next(iter(models.values())))
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
    measure, scorer = _make_scorer(score, below, cache)
    kept = None if cache is None else caching.Cache(Path(cache), _digest_study(rows, from_seed, measure))
    jobs = [job for _, _, job in entries]
    found = run_jobs(jobs, rows, scorer, seed=from_seed, n_jobs=n_jobs, cache=kept, progress=progress)
    runs = tuple(
        Run(name, kind, job.epsilon, job.n, job.repeat, value)
        for (name, kind, job), value in zip(entries, found, strict=True)
    )
    return Frontier(runs, ceilings, measure)


def _merge_ceilings(above: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """The name of each estimator's ceiling, and each different ceiling once."""
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


def _make_scorer(score: Any, model: Any, cache: Any) -> tuple[str, Score]:
    if callable(score):
        if cache is not None:
            raise ValueError("The cache cannot distinguish `score` functions. Hint: a name, or cache=None.")
        return getattr(score, "__name__", "score").replace("<lambda>", "score"), score
    name = score or ("accuracy" if is_classifier(model) else "r2")
    try:
        return SIGNS.get(name, name.replace("_", " ")), get_scorer(name)
    except (ValueError, AttributeError):
        raise ValueError(
            f"The `score` must be the name of a scorer of scikit-learn, or a function. Got {score!r}."
        ) from None


def _digest_study(rows: StudyRows, seed: int, measure: str) -> str:
    data = (
        caching.digest_tables(rows.y, rows.X)
        if rows.X is rows.plain
        else caching.digest_tables(rows.y, rows.X, rows.plain)
    )
    return caching.digest_json([caching.VERSION, caching.digest_code(), data, rows.held, seed, measure])


def _read_epsilons(given: Sequence[float]) -> list[float]:
    found = sorted({float(epsilon) for epsilon in given})
    if not found or not all(np.isfinite(found)) or found[0] <= 0:
        raise ValueError(f"The `epsilons` of the frontier must be finite numbers > 0. Got {given!r}.")
    return found


def _read_sizes(given: Sequence[int] | None, most: int) -> list[int]:
    if given is None:
        return sorted({max(1, most // 4), max(1, most // 2), most})
    found = sorted({check_whole("the frontier", "ns", n) for n in given})
    if not found or found[-1] > most:
        raise ValueError(
            f"The `ns` of the frontier must be within the {most} rows that are not held out. Got {given!r}."
        )
    return found
