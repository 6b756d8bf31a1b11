"""Many seeded fits and their scores: the loop behind every study of accuracy.

Each fit is a function of its job and of the seed only, so scores do not depend on the order of the jobs, on the number
of processes, or on other jobs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from discreet.errors import DeltaWarning, DiscreetError, NoiseWarning, NotPrivateWarning
from discreet.evaluate.cache import Cache
from discreet.evaluate.nested_parameters import find_epsilon_name, find_owners, find_seed_names

Indices = NDArray[np.intp]
Score = Callable[[Any, Any, Any], float]  # of a model, X and y
Progress = Callable[[int, int], None]  # of the number of fits that are done, and of all fits

QUIET = (NotPrivateWarning, NoiseWarning, DeltaWarning, ConvergenceWarning)  # expected in a study of small ε


@dataclass(frozen=True, eq=False)
class Job:
    """One fit: the model, its ε (None: unchanged), the number of rows, and the number of the repeat."""

    model: Any
    epsilon: float | None
    n: int
    repeat: int


@dataclass(frozen=True, eq=False)
class StudyRows:
    """The rows of a study.

    Attributes
    ----------
    X, y : the rows for private models; X is an array or a frame.
    plain : the same features as an array of numbers, for models of scikit-learn; X where it cannot be one.
    held : the number of rows that are held out for the test.
    units : the unit of each row, as whole numbers, or None; no unit is both in training and in the test.
    """

    X: Any
    y: Any
    plain: Any
    held: int
    units: Indices | None = None

    def split_rows(self, seed: int, repeat: int, n: int) -> tuple[Indices, Indices]:
        """Training and test rows; smaller training sets are parts of larger ones.

        Rows of one unit stay together. The unit at the border is in the test, so training may have a few rows fewer.
        """
        draw = np.random.default_rng([seed, repeat])
        order = draw.permutation(len(self.y))
        if self.units is None:
            return order[self.held : self.held + n], order[: self.held]
        turn = draw.permutation(int(self.units.max()) + 1)[self.units[order]]
        order = order[np.argsort(turn, kind="stable")]
        border = self.units[order[self.held - 1]]
        rest = order[self.held :]
        return rest[self.units[rest] != border][:n], order[: self.held]


def take_rows(X: Any, rows: Indices) -> Any:
    """These rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def run_jobs(
    jobs: Sequence[Job],
    rows: StudyRows,
    score: Score,
    *,
    seed: int,
    n_jobs: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> list[float]:
    """The score of each job, in their order, whatever the number of processes."""
    from joblib import Parallel, delayed

    found = [None if cache is None else cache.recall(job) for job in jobs]
    waiting = [i for i, score in enumerate(found) if score is None]
    done = len(jobs) - len(waiting)
    if progress is not None:
        progress(done, len(jobs))
    # larger arrays are shared by the processes, not sent with every job
    results = Parallel(n_jobs, return_as="generator", max_nbytes="256K")(
        delayed(_score_and_store)(jobs[i], rows, score, seed, cache) for i in waiting
    )
    try:
        for i, result in zip(waiting, results, strict=True):
            found[i], done = result, done + 1
            if progress is not None:
                progress(done, len(jobs))
    except BaseException:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib warns that jobs were cancelled, which is intended
            results.close()
        raise
    return [float(value) for value in found if value is not None]


def _score_and_store(job: Job, rows: StudyRows, score: Score, seed: int, cache: Cache | None) -> float:
    value = _score_job(job, rows, score, seed)
    if cache is not None:
        cache.store(job, value)
    return value


def _score_job(job: Job, rows: StudyRows, score: Score, seed: int) -> float:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    train, test = rows.split_rows(seed, job.repeat, job.n)
    model = _make_seeded_model(job, seed)
    X = rows.plain if job.epsilon is None else rows.X
    # sums of floats depend on the number of threads; with one thread the scores are the same everywhere
    with warnings.catch_warnings(), threadpool_limits(1):
        for category in QUIET if job.epsilon is not None else (Warning,):
            warnings.simplefilter("ignore", category)
        try:
            model.fit(take_rows(X, train), rows.y[train])
            return float(score(model, take_rows(X, test), rows.y[test]))
        except DiscreetError:
            raise
        except Exception as error:
            if job.epsilon is not None:
                raise
            # messages of other libraries may show rows
            raise ValueError(
                f"{type(model).__name__}, the model without privacy, failed on {job.n} rows ({type(error).__name__}). "
                "Hint: larger `ns`, or a `ceiling` of your own."
            ) from None


def _make_seeded_model(job: Job, seed: int) -> Any:
    bits = int(np.float64(job.epsilon or 0).view(np.uint64))
    noise = int(np.random.SeedSequence([seed, job.repeat, job.n, bits]).generate_state(1)[0] >> 1)
    if not hasattr(job.model, "fit"):
        model = job.model(job.epsilon)
        return model.set_params(**dict.fromkeys(find_seed_names(model), noise))
    model = clone(job.model)
    if job.epsilon is not None:
        model.set_params(**{find_epsilon_name(model): job.epsilon})
        public = {f"{owner}n": job.n for owner in find_owners(model) if model.get_params().get(f"{owner}n") is not None}
        model.set_params(**public)
    return model.set_params(**dict.fromkeys(find_seed_names(model), noise))
