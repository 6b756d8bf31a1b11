"""Reading: when rows cannot be read, say what that cost and how to go on, and nothing of what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.budget import Budget
from discreet.engines.opening import is_rows
from discreet.errors import DiscreetError, EngineError, ReadError
from discreet.events import Event

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

    def of(self, rows: Any) -> Any:
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


class Watched:
    """Rows behind an engine, each reading of which is watched."""

    def __init__(self, rows: Any, reading: Reading) -> None:
        self._rows, self._reading = rows, reading
        self.width, self.columns = rows.width, rows.columns

    def empty(self) -> Any:
        """A batch without rows."""
        return self._rows.empty()

    def sum(self, query: Any) -> Any:
        """The exact total of the query over all rows."""
        return self._reading.call(self._rows.sum, query)

    def count_replace_one(self) -> int:
        """The number of rows."""
        return int(self._reading.call(self._rows.count_replace_one))

    def __getattr__(self, name: str) -> Any:
        if name in ("_rows", "_reading") or name.startswith("__"):  # while it is being copied
            raise AttributeError(name)
        value = getattr(self._rows, name)
        return self._watched(value) if callable(value) else value

    def _watched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            found = self._reading.call(method, *arguments, **options)
            if isinstance(found, Iterator):
                return self._each(found)
            return self._reading.of(found) if is_rows(found) else found

        return watched

    def _each(self, blocks: Iterator[Any]) -> Iterator[Any]:
        while (block := self._reading.call(next, blocks, END)) is not END:
            yield self._reading.of(block) if is_rows(block) else block
