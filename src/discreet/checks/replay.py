"""Replay: the answers given to one table are given again to others, and nothing else may differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.checks.behaviour import _budget, _fit, _quiet, _shapes
from discreet.checks.specimens import extremes
from discreet.curator import Curator
from discreet.ledger import Ledger
from discreet.release import Release

BY_ANSWERS = "which questions are asked depends on the rows by more than the answers"


def check_replay(estimator: Any) -> None:
    """Given the same answers, the same questions are asked and the same model is learnt, whatever the rows.

    So nothing but what was released has decided on either: control flow, shapes and coefficients are post-processing.
    (Where one row is exchanged for another their number is public, and may decide too: it is the same for all tables.)
    """
    *small, last = extremes(estimator)
    exchange = _budget(estimator).neighbours == "replace-one"
    first, *others = [data for data in (*small, last) if not exchange or len(data[0]) == len(last[0])]
    for shared in (False, True):
        answers: list[Release] = []
        with _recorded(answers):
            given = _seeded(estimator, first, shared)
        model = _left(estimator)
        for data in others:
            with _replayed(answers):
                again = _seeded(estimator, data, shared)
            assert _shapes(again) == _shapes(given) and again.notes == given.notes, BY_ANSWERS
            assert _left(estimator) == model, "the model depends on the rows by more than the answers"


def _seeded(estimator: Any, data: Any, shared: bool) -> Release:
    with _quiet():
        return _fit(estimator, data, ledger=Ledger(_budget(estimator)) if shared else None, random_state=5)


@contextmanager
def _recorded(answers: list[Release]) -> Iterator[None]:
    """Within it, all that leaves a curator is written down."""
    true = Curator._release

    def release(self: Curator, *what: Any) -> Release:
        answers.append(true(self, *what))
        return answers[-1]

    with patch.object(Curator, "_release", release):
        yield


@contextmanager
def _replayed(answers: list[Release]) -> Iterator[None]:
    """Within it, answers are those written down, one after the other, whatever the rows."""
    true, left = Curator._release, iter(answers)

    def release(self: Curator, name: str, value: Any, std: Any, event: Any, budget: Budget) -> Release:
        past = next(left, None)
        assert past is not None and past.name == name and np.shape(past.value) == np.shape(value), BY_ANSWERS
        return true(self, name, past.value, past.std, event, budget)

    with patch.object(Curator, "_release", release):
        yield


def _left(estimator: Any) -> dict[str, Any]:
    """What a fit has left, bit for bit: numbers, arrays, labels and bounds."""
    left: dict[str, Any] = {}
    for name, value in vars(estimator).items():
        if name.endswith("_") and isinstance(value, Bounds):
            left[name] = (value.lower.tobytes(), value.upper.tobytes(), repr(value))
        elif name.endswith("_") and isinstance(value, (np.ndarray, np.generic, int, float, str)):
            array = np.asarray(value)
            left[name] = array.tolist() if array.dtype == object else array.tobytes()
    return left
