"""The replay audit: what one row, or one unit, moves in each answer, divided by the noise of that answer.

A run on one table is recorded, its answers are given again to a run on another table (`checks.tape`). Then

- the two must ask the same questions and learn the same model: all else is post-processing;
- where the tables are neighbours, the privacy loss of all answers, composed, is at most what was declared.

A few fits take the place of thousands of runs of an attack, and a loss shows to the digit. What a replay cannot see is
the law of the noise, which tests of its own look at; whether coins are fair, which lots and blocks rest on; and what
goes on in procedures that are no noise on a number (`unreplayed_procedures`): they are taken at what they charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from discreet import accounting
from discreet.bounds import Bounds
from discreet.checks.behaviour import _budget, _fit, _quiet, _shapes
from discreet.checks.specimens import Data, Table, extremes, neighbours_of, private_procedures
from discreet.checks.tape import Tape
from discreet.ledger import Ledger
from discreet.release import Release

BY_MODEL = "the model depends on the rows by more than the answers"
ROUNDING = 1e-6  # costs are rounded upward, by less than this share of ε


def replay_audit(run: Callable[[Any], Any], data: Any, neighbour: Any, delta: float = 0.0) -> float:
    """The privacy loss ε, at this δ, between what `run` releases of one table and of its neighbour.

    Parameters
    ----------
    run : a function of a table that releases something of it; seeded, where it draws more than noise and coins.
    data, neighbour : two tables; rows that they share are in the same places.
    delta : at which ε is stated; 0 for the largest loss of pure mechanisms.

    Examples
    --------
    >>> from discreet.stats import mean
    >>> def release(x):
    ...     return mean(x, epsilon=1.0, bounds=(0, 10))
    >>> x = np.array([[3.0], [4.0]])
    >>> round(replay_audit(release, x, np.vstack([x, [[10.0]]])), 9), replay_audit(release, x, x)
    (1.0, 0.0)
    """
    (tape,) = _replays(run, data, [neighbour])
    return accounting.epsilon(tape.loss(), delta)


def _replays(run: Callable[[Any], Any], data: Any, others: Iterable[Any]) -> Iterator[Tape]:
    """The tape of a run, after its answers were given again to a run on each of the other tables."""
    tape = Tape()
    with tape.recorded():
        first = left_by(run(data))
    for other in others:
        with tape.replayed():
            second = left_by(run(other))
        assert first == second, BY_MODEL
        yield tape


def check_replay(estimator: Any) -> None:
    """Given the same answers, the same questions are asked and the same model is learnt, whatever the rows.

    So nothing but what was released has decided on either: control flow, shapes and coefficients are post-processing.
    (Where one row is exchanged for another their number is public, and may decide too: it is the same for all tables.)
    """
    *small, last = extremes(estimator)
    exchange = _budget(estimator).neighbours == "replace-one"
    first, *others = [data for data in (*small, last) if not exchange or len(data[0]) == len(last[0])]
    for shared in (False, True):

        def run(data: Data, shared: bool = shared) -> Any:
            with _quiet():
                _fit(estimator, data, ledger=Ledger(_budget(estimator)) if shared else None, random_state=5)
            return estimator

        for _ in _replays(run, first, others):
            pass  # what is replayed is compared


def check_replayed_loss(estimator: Any) -> None:
    """No row, however strange, tells more of itself, in all answers together, than is declared."""
    for name, loss in replayed_losses(estimator):
        check_loss(name, loss, estimator)


def replayed_losses(estimator: Any, many: int | None = None, seed: int = 5) -> Iterator[tuple[str, float]]:
    """What each of several strangers, with `many` rows each if they are units, tells of itself: ε at the estimator's δ.

    The noise is that of a seed, and so are coins: on which lots, and in which block, a stranger is.
    """

    def run(table: Table) -> Any:
        if table.units is not None:
            _set_unit(estimator, table.units)
        with _quiet():
            _fit(estimator, (table.rows(estimator), None), random_state=seed)
        return estimator

    group = getattr(estimator, "max_rows_per_unit", None) or 1
    for table, others in neighbours_of(estimator, many):
        for name, tape in zip(others, _replays(run, table, others.values()), strict=True):
            yield f"{name} beside {len(table.X)} rows", accounting.epsilon(tape.loss(group), estimator.delta)


def check_loss(name: str, loss: float, estimator: Any) -> None:
    """Raise if a loss is larger than what the estimator declares."""
    declared = estimator.epsilon
    assert loss <= declared * (1 + ROUNDING), f"{name}: ε = {loss:.6g} was lost where {declared:g} was declared"


def unreplayed_procedures() -> list[str]:
    """The names of the procedures whose privacy loss a replay cannot see; black-box audits attack them as a whole.

    >>> unreplayed_procedures()
    ['FoundLabels', 'PerturbedMinimum', 'PosteriorDraw', 'SmoothRank', 'StableBlocks', 'StableMedian', 'StableRank']
    """
    return sorted(name for name, kind in private_procedures().items() if not kind.replayable)


def left_by(result: Any) -> Any:
    """What a run has left, bit for bit: numbers, arrays, labels, bounds and notes, of models inside others too."""
    if isinstance(result, Release):
        left = [result.name, result.value, result.std, result.interval, result.notes, *_shapes(result)]
        return [left_by(value) for value in left]
    if isinstance(result, Bounds):
        return result.lower.tobytes(), result.upper.tobytes(), repr(result)
    if hasattr(result, "release_"):
        kept = {name: value for name, value in vars(result).items() if name.endswith("_")}
        return {name: left_by(value) for name, value in kept.items()}
    if isinstance(result, (np.ndarray, np.generic, int, float)):
        array = np.asarray(result)
        return array.tolist() if array.dtype == object else array.tobytes()
    if isinstance(result, (tuple, list)):
        return [left_by(value) for value in result]
    return result if isinstance(result, str) else None


def _set_unit(estimator: Any, units: Any) -> None:
    """Tell the estimator whose rows are; of a search, tell the one inside it."""
    inner = "estimator__unit" if "estimator__unit" in estimator.get_params() else "unit"
    estimator.set_params(**{inner: units})
