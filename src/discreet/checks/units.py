"""Checks of privacy for units with many rows: all of a unit's rows together tell no more than was charged for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import accounting
from discreet.budget import Budget
from discreet.checks.behaviour import _bits, _fit, _quiet
from discreet.checks.replay import check_loss, replayed_losses
from discreet.checks.specimens import Asked, ordinary
from discreet.engines import BaseRows
from discreet.engines.memory import Memory
from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.query import Batch, BoundedSum, Exact, Image, Together

MANY = 40  # rows of the hostile unit
ASKED = 25  # of hundreds of sums so many are looked at
Step = tuple[str, tuple[Any, ...], int | None]


@dataclass(frozen=True)
class Summed:
    """A sum that was asked for, of what was made of the rows in these steps, and its total."""

    steps: tuple[Step, ...]
    query: BoundedSum

    def made(self, rows: Any) -> Any:
        """What the steps make of other rows, with the same coins."""
        for name, arguments, block in self.steps:
            rows = getattr(rows, name)(*arguments)
            rows = rows if block is None else list(rows)[block]
        return rows

    def of(self, rows: Any) -> NDArray[Any]:
        """The same sum of other rows, in Python integers."""
        return np.asarray(self.made(rows).sum(self.query).astype(object))


class Recorder(BaseRows):
    """Rows that remember what was asked of them, and of what was made of them."""

    def __init__(self, rows: Memory, steps: tuple[Step, ...] = (), former: Recorder | None = None) -> None:
        self._rows, self._steps = rows, steps
        self.seen: list[Summed] = [] if former is None else former.seen
        self.whole: list[int] = [] if former is None else former.whole  # how many rows were read as they are
        self.width, self.columns, self.unit = rows.width, rows.columns, rows.unit

    def make_empty_batch(self) -> Batch:
        """A batch without rows."""
        return self._rows.make_empty_batch()

    def count_arrays(self) -> int:
        """How many arrays hold the rows."""
        return self._rows.count_arrays()

    def read_arrays(self) -> tuple[NDArray[Any], ...]:
        """The rows as they are, noted."""
        tables = self._rows.read_arrays()
        self.whole.append(len(tables[0]))
        return tables

    def sum(self, query: BoundedSum | Together) -> Exact:
        """A sum, noted."""
        self.seen += [Summed(self._steps, one) for one in (query.queries if isinstance(query, Together) else (query,))]
        return self._rows.sum(query)

    def count_labels(self) -> dict[Any, int]:
        """Counts of labels."""
        return self._rows.count_labels()

    def count_replace_one(self) -> int:
        """The number of rows."""
        return self._rows.count_replace_one()

    def split_into_blocks(self, count: int, coins: Any) -> Iterator[Recorder]:
        """Blocks, noted."""
        for i, block in enumerate(self._rows.split_into_blocks(count, coins)):
            yield Recorder(block, (*self._steps, ("split_into_blocks", (count, coins), i)), self)

    def sample(self, rate: float, coins: Any) -> Recorder:
        """A sample, noted."""
        return self._noted("sample", rate, coins)

    def encode_targets(self, classes: Any) -> Recorder:
        """Rows of places in a list of classes, noted."""
        return self._noted("encode_targets", classes)

    def map(self, image: Image, columns: Any = None) -> Recorder:
        """Rows of images, noted."""
        return self._noted("map", image, columns)

    def assign_units(self, unit: str) -> Recorder:
        """Rows of units, noted."""
        return self._noted("assign_units", unit)

    def limit_rows_per_unit(self, limit: int, coins: Any) -> Recorder:
        """At most so many rows of each unit, noted."""
        return self._noted("limit_rows_per_unit", limit, coins)

    def share_within_units(self) -> Recorder:
        """Rows that share what their unit may add, noted."""
        return self._noted("share_within_units")

    def hold_in_memory(self, dtype: Any = np.float64) -> Recorder:
        """The same rows, their features made now, noted."""
        return self._noted("hold_in_memory", dtype)

    def cache_images(self) -> Recorder:
        """The same rows, with what queries make of them kept, noted."""
        return self._noted("cache_images")

    def _noted(self, name: str, *arguments: Any) -> Recorder:
        made = getattr(self._rows, name)(*arguments)
        return Recorder(made, (*self._steps, (name, arguments, None)), self)


def check_units(estimator: Any) -> None:
    """With a unit, all rows of a unit together tell no more than was charged for; and any order gives the same.

    What they move each sum by is compared with its sensitivity, and what they move each answer by with its noise: the
    privacy loss of all answers together is at most what was declared (`checks.replay`).
    """
    if getattr(estimator, "neighbours", "add-remove") != "add-remove":
        return  # how many rows a unit has is not public
    for limit in (None, 1, 6) if _limited(estimator) else (None,):
        if limit is not None:
            estimator.set_params(max_rows_per_unit=limit)
        _check_moves(estimator, limit or 1)
        for name, loss in replayed_losses(estimator, MANY):
            check_loss(f"a unit with up to {limit or 'all'} of its rows, {name}", loss, estimator)
        _check_order(estimator)
    _check_promise(estimator)


def _limited(estimator: Any) -> bool:
    """Whether it reads so many rows of a unit, if asked to; where n is public it does not."""
    options = estimator.get_params()
    return options.get("n") is None and ("max_rows_per_unit" in options or isinstance(estimator, Asked))


def _check_moves(estimator: Any, group: int) -> None:
    X, y, units = _people(estimator)
    ours = units != "hostile"
    with_all = _rows(estimator, X, y, units)
    recorder = Recorder(with_all)
    estimator.set_params(unit=units)
    _fit(estimator, (recorder, None))
    without = _rows(estimator, X[ours], y[ours], units[ours])
    assert recorder.seen or recorder.whole, "no sum was asked for"
    for asked in recorder.seen[:: 1 + len(recorder.seen) // ASKED]:
        moved = np.asarray(asked.of(with_all) - asked.of(without))
        query = asked.query
        moved = np.triu(moved) if query.is_triangle and moved.ndim == 2 else moved
        widths = query.fixed or query.read_widths(asked.made(without).make_empty_batch())
        limit = group * query.sensitivity(widths, "add-remove")
        size = sum(abs(int(entry)) ** query.order for entry in moved.ravel())
        assert size <= limit**query.order, f"{MANY} rows of one unit moved {query.name!r} beyond what is paid for"


def _check_order(estimator: Any) -> None:
    X, y, units = _people(estimator)
    order = np.random.default_rng(1).permutation(len(X))
    seen = []
    for some in (slice(None), order):
        with _quiet():
            people = units[some]
            estimator.set_params(unit=people)
            release = _fit(estimator, (_rows(estimator, X[some], y[some], people), None), random_state=11)
        seen.append(_bits(release))
    assert seen[0] == seen[1], "with a unit, the release depends on the order of rows"


def _check_promise(estimator: Any) -> None:
    X, y, units = _people(estimator)
    estimator.set_params(unit=units)
    ledger = Ledger(Budget(estimator.epsilon, estimator.delta, unit="unit"))
    release = _fit(estimator, (_rows(estimator, X, y, units), None), ledger=ledger)
    assert release.unit == "unit" and release.budget.epsilon == estimator.epsilon
    (entry,) = ledger.entries
    assert accounting.epsilon(entry.event, estimator.delta) <= estimator.epsilon
    try:
        _fit(estimator, (X, y), ledger=Ledger(Budget(estimator.epsilon, estimator.delta)))
    except LedgerError:
        return
    raise AssertionError("an account for single rows paid for units")


def _people(estimator: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Ordinary rows of a few units, and a unit with many rows, all at the edge."""
    X, y = ordinary(estimator)
    units = np.array([f"unit {i % 53}" for i in range(len(X))] + ["hostile"] * MANY)
    edge = np.where(np.arange(X.shape[1]) % 2 == 0, 1.0, -1.0)
    return np.vstack([X, np.tile(edge, (MANY, 1))]), np.concatenate([y, np.repeat(np.sort(y)[-1:], MANY)]), units


def _rows(estimator: Any, X: NDArray[Any], y: NDArray[Any], units: NDArray[Any]) -> Memory:
    if isinstance(estimator, Asked):
        return Memory(X[:, :1], unit=units)
    if not getattr(estimator, "supervised", True):
        return Memory(X, unit=units)
    return Memory(X, y, labels=hasattr(estimator, "classes"), unit=units)
