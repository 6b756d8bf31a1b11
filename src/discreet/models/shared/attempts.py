"""Attempts: a fit that fails leaves the estimator as it was; under a retrying ledger, one that ends is stored first."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any

from sklearn.base import clone

from discreet.budget import Budget
from discreet.documents import attributes, dump
from discreet.engines.memory import Memory
from discreet.errors import NotSupported, ReadError
from discreet.ledger import Ledger
from discreet.ledger.retrying import Attempt, Overtaken, Retrying


class RestoreOnError:
    """A context in which an estimator is changed altogether or, if anything is raised, not at all.

    What a failed fit had measured until then is nowhere to be read: not in the estimator, and, where reading failed or
    was interrupted, not in the frames of the traceback either.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._before = estimator, dict(vars(estimator))

    def __enter__(self) -> dict[str, Any]:
        return self._before

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            return
        state = vars(self._estimator)
        state.clear()
        state.update(self._before)
        if isinstance(error, ReadError) or not isinstance(error, Exception):
            raise error.with_traceback(None)


def begin_attempt(estimator: Any, ledger: Ledger, budget: Budget, rows: Any) -> Attempt | None:
    """The fit as an attempt, if the ledger is a retrying one; raises, before any charge, if it cannot be stored."""
    if not isinstance(ledger, Retrying):
        return None
    name = type(estimator).__name__
    if estimator.in_rounds:
        raise NotSupported(f"{name} learns in rounds that follow each other: not yet with a retrying ledger.")
    parameters = estimator.get_params(deep=False)
    attempt = ledger.attempt(type(estimator), parameters, rows, budget)
    if attempt.stored is None:
        if type(estimator).__module__.split(".")[0] != "discreet":
            _rehearse_storing(estimator, rows)
        calls = getattr(estimator, "callback", None) is not None and not estimator.calls_by_task
        if calls or estimator._is_watched("progress"):
            _show_attempt(
                attempt
            )  # how many steps there are may have been learnt; when it calls back, nobody but it knows
    return attempt


def _show_attempt(attempt: Attempt) -> None:
    try:
        attempt.show()
    except Overtaken as other:
        attempt.stored = other.released


def _rehearse_storing(estimator: Any, rows: Any) -> None:
    """Raise if what a fit sets has no stable form, as a fit on no rows tells."""
    name, empty = type(estimator).__name__, rows.make_empty_batch()
    without = {"ledger", "callback", "unit", "max_rows_per_unit"} & set(estimator.get_params(deep=False))
    copy = clone(estimator).set_params(**dict.fromkeys(without))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dump(collect_fitted_state(copy.fit(Memory(empty.X, empty.y, labels=copy.has_labels))))
    except Exception as error:
        raise ValueError(
            f"{name} cannot be retried: a fit on no rows, to see what would be stored, says: {error}. Hint: give it "
            "the ledger itself, which charges every run."
        ) from None


def collect_fitted_state(estimator: Any) -> dict[str, Any]:
    """What a fit has set: public names end with _, private ones begin with it."""
    parameters = estimator.get_params(deep=False)
    state = {name: value for name, value in attributes(estimator).items() if name not in parameters}
    return {name: value for name, value in state.items() if name.startswith("_") or name.endswith("_")}
