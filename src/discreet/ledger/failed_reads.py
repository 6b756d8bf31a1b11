"""Reading: when rows cannot be read, say what that cost and how to go on, and nothing of what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget
from discreet.engines import BaseRows, Coins, Rows
from discreet.errors import DiscreetError, EngineError, ReadError
from discreet.events import Event
from discreet.query import Batch, BoundedSum, Exact, Image, Together

END = object()


@dataclass
class Reading:
    """How far one run got with its rows.

    Attributes
    ----------
    budget : what it promised to spend.
    retrying : whether a second run finds the charge paid.
    shown : whether something of the run was shown already, by a callback say: then a second run pays again.
    charges : what was charged so far.
    started : whether rows were asked for since: what happens from then on may depend on them.
    outlook : what a failure means for what comes next; empty for what it means to a run by itself.
    """

    budget: Budget
    retrying: bool = False
    shown: bool = False
    charges: Sequence[Event] = ()
    started: bool = False
    outlook: str = ""

    def of(self, rows: Rows) -> Rows:
        """The rows, watched; rows that are watched already stay with the run that began first."""
        return rows if isinstance(rows, Watched) else Watched(rows, self)

    def call(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What the method returns; where it fails after a charge, `ReadError`."""
        if not self.charges:
            return method(*arguments, **options)
        self.started = True
        try:
            return method(*arguments, **options)
        except Exception as error:
            if isinstance(error, DiscreetError) and not isinstance(error, EngineError):
                raise
            failure, cause = self._failure(error), error if _safe(error) else None
        # raised out here, so that the first error, which may hold values, is not kept as the context of the second
        raise failure from cause

    def _failure(self, error: Exception) -> ReadError:
        told = _sentence(str(error)) if _safe(error) else f" ({type(error).__name__})."
        error.__cause__ = error.__context__ = None
        error.__traceback__ = None
        paid = f"The plan of {self.budget} had been charged before reading, and stays charged"
        return ReadError(f"Reading the rows failed{told} {paid}; {self._outlook}")

    @property
    def _outlook(self) -> str:
        if self.outlook:
            return self.outlook
        if self.shown:
            return "what was shown while it ran has left, so a second run pays again."
        if self.retrying:
            return (
                "nothing was released. Run the same again with this ledger, on the same data: it is not charged a "
                "second time. Files that had to be replaced, even by equal ones, are other data, and pay again."
            )
        return (
            "nothing was released. A second run pays again. Hint: with `ledger=ledger.retrying(version)`, what fails "
            "like this can be run again without being charged a second time."
        )


def _sentence(message: str) -> str:
    return f": {message}" if message.endswith(("?", "!")) else f": {message.rstrip('.')}."


def _safe(error: Exception) -> bool:
    """Whether the engine vouches that the message names files and columns, never values."""
    return isinstance(error, EngineError) or getattr(type(error), "tells_no_values", False) is True


class Watched(BaseRows):
    """Rows behind an engine, each reading of which is watched."""

    def __init__(self, rows: Rows, reading: Reading) -> None:
        self._rows, self._reading = rows, reading
        self.width, self.columns, self.unit, self.adder = rows.width, rows.columns, rows.unit, rows.adder

    def make_empty_batch(self) -> Batch:
        """A batch without rows."""
        return self._rows.make_empty_batch()

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total of the query over all rows."""
        total: Exact = self._reading.call(self._rows.sum, query)
        return total

    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target."""
        counts: dict[Any, int] = self._reading.call(self._rows.count_labels)
        return counts

    def count_replace_one(self) -> int:
        """The number of rows."""
        return int(self._reading.call(self._rows.count_replace_one))

    def sample(self, rate: float, coins: Coins) -> Rows:
        """A sample, watched."""
        return self._watched(self._rows.sample, rate, coins)

    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Rows]:
        """Blocks, each watched."""
        return self._each(self._reading.call(self._rows.split_into_blocks, count, coins))

    def encode_targets(self, classes: Sequence[Any]) -> Rows:
        """Rows of places in a list of classes, watched."""
        return self._watched(self._rows.encode_targets, classes)

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Rows:
        """Rows of images, watched."""
        return self._watched(self._rows.map, image, columns)

    def assign_units(self, unit: str) -> Rows:
        """Rows of units, watched."""
        return self._watched(self._rows.assign_units, unit)

    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Rows:
        """At most so many rows of each unit, watched."""
        return self._watched(self._rows.limit_rows_per_unit, limit, coins)

    def share_within_units(self) -> Rows:
        """Rows that share what their unit may add, watched."""
        return self._watched(self._rows.share_within_units)

    def expect_types(self, *, numeric: bool = True, labels: bool = False) -> Rows:
        """The same rows for a use of them, watched."""
        return self._watched(self._rows.expect_types, numeric=numeric, labels=labels)

    def hold_in_memory(self, dtype: Any = np.float64) -> Rows:
        """The same rows in memory where the engine offers it, watched."""
        return self._watched(self._rows.hold_in_memory, dtype)

    def cache_images(self) -> Rows:
        """The same rows with what queries make of them kept where the engine offers it, watched."""
        return self._watched(self._rows.cache_images)

    def count_arrays(self) -> int:
        """How many arrays the engine gives."""
        return self._rows.count_arrays()

    def read_arrays(self) -> tuple[NDArray[Any], ...]:
        """All rows as arrays."""
        tables: tuple[NDArray[Any], ...] = self._reading.call(self._rows.read_arrays)
        return tables

    def check_places(self) -> None:
        """Raise if rows have no places that stay."""
        self._reading.call(self._rows.check_places)

    def read_version(self) -> str | None:
        """The engine's digest."""
        return self._rows.read_version()

    def describe_roles(self) -> tuple[str, str, str]:
        """The engine's roles."""
        return self._rows.describe_roles()

    def _watched(self, method: Callable[..., Rows], *arguments: Any, **options: Any) -> Rows:
        return self._made(self._reading.call(method, *arguments, **options))

    def _each(self, blocks: Iterator[Rows]) -> Iterator[Rows]:
        while (block := self._reading.call(next, blocks, END)) is not END:
            yield self._made(block)

    def _made(self, rows: Rows) -> Rows:
        made = self._reading.of(rows)
        made.adder = self.adder
        return made
