"""Many seeded fits and their scores: the one loop behind every study of accuracy.

Each fit is a function of its job and of the seed alone, so the scores do not depend on the order of the jobs, on the
number of processes, or on which other jobs there are.
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
from discreet.evaluate.nested_parameters import epsilon_of, owners, seeds_of

Indices = NDArray[np.intp]
Score = Callable[[Any, Any, Any], float]  # of a model and rows
Progress = Callable[[int, int], None]  # how many are done, of how many

QUIET = (NotPrivateWarning, NoiseWarning, DeltaWarning, ConvergenceWarning)  # a study goes to where it hurts


@dataclass(frozen=True, eq=False)
class Job:
    """One fit: which model, at which ε (None: as it is), on how many rows, in which repeat."""

    model: Any
    epsilon: float | None
    n: int
    repeat: int


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a study.

    Attributes
    ----------
    X, y : what private models learn from; X is an array or a frame.
    plain : the same features as an array of numbers, for models of scikit-learn; X where it cannot be one.
    held : how many rows are kept for the test.
    units : whose each row is, as whole numbers, where rows have owners: nobody is in training and in the test.
    """

    X: Any
    y: Any
    plain: Any
    held: int
    units: Indices | None = None

    def split(self, seed: int, repeat: int, n: int) -> tuple[Indices, Indices]:
        """Training and test rows; smaller training sets are parts of larger ones.

        Rows of one owner stay together. The one at the border is in the test: training may have a few rows less.
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


def taken(X: Any, rows: Indices) -> Any:
    """These rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def run(
    jobs: Sequence[Job],
    rows: Rows,
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
    # arrays of more than so many bytes are shared by the processes, not sent with every job
    results = Parallel(n_jobs, return_as="generator", max_nbytes="256K")(
        delayed(_kept)(jobs[i], rows, score, seed, cache) for i in waiting
    )
    try:
        for i, result in zip(waiting, results, strict=True):
            found[i], done = result, done + 1
            if progress is not None:
                progress(done, len(jobs))
    except BaseException:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that jobs were cancelled: they were meant to be
            results.close()
        raise
    return [float(value) for value in found if value is not None]


def _kept(job: Job, rows: Rows, score: Score, seed: int, cache: Cache | None) -> float:
    value = _scored(job, rows, score, seed)
    if cache is not None:
        cache.store(job, value)
    return value


def _scored(job: Job, rows: Rows, score: Score, seed: int) -> float:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    train, test = rows.split(seed, job.repeat, job.n)
    model = _seeded(job, seed)
    X = rows.plain if job.epsilon is None else rows.X
    # sums of floats depend on the number of threads: one thread, and the scores are the same everywhere
    with warnings.catch_warnings(), threadpool_limits(1):
        for category in QUIET if job.epsilon is not None else (Warning,):
            warnings.simplefilter("ignore", category)
        try:
            model.fit(taken(X, train), rows.y[train])
            return float(score(model, taken(X, test), rows.y[test]))
        except DiscreetError:
            raise
        except Exception as error:
            if job.epsilon is not None:
                raise
            # other libraries' messages may show rows
            raise ValueError(
                f"{type(model).__name__}, the model without privacy, failed on {job.n} rows ({type(error).__name__}). "
                "Hint: larger `ns`, or a `ceiling` of your own."
            ) from None


def _seeded(job: Job, seed: int) -> Any:
    bits = int(np.float64(job.epsilon or 0).view(np.uint64))
    noise = int(np.random.SeedSequence([seed, job.repeat, job.n, bits]).generate_state(1)[0] >> 1)
    if not hasattr(job.model, "fit"):
        model = job.model(job.epsilon)
        return model.set_params(**dict.fromkeys(seeds_of(model), noise))
    model = clone(job.model)
    if job.epsilon is not None:
        model.set_params(**{epsilon_of(model): job.epsilon})
        public = {f"{owner}n": job.n for owner in owners(model) if model.get_params().get(f"{owner}n") is not None}
        model.set_params(**public)
    return model.set_params(**dict.fromkeys(seeds_of(model), noise))
