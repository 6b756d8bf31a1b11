"""Bars on stderr, where a person watches a terminal: how much of long work is done.

How many rows there are is a value too, so of a reading its share is shown, and no number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Reading:
    """The bar of a verb that reads rows, once or several times."""

    def __init__(self, bar: Any, label: str) -> None:
        self._bar, self._label, self._share, self._passes = bar, label, 0.0, 0
        self._task = bar.add_task(label, total=None)

    def begin(self) -> None:
        """The file is read from its beginning, perhaps once more."""
        self._share, self._passes = 0.0, self._passes + 1

    def reached(self, share: float) -> None:
        """So much of the file was read; parts of it may be done out of turn."""
        self._share = max(share, self._share)
        label = self._label if self._passes < 2 else f"{self._label}, reading {self._passes}"
        self._bar.update(self._task, completed=self._share, total=1.0, description=label)


SHOWN: list[Reading] = []  # the bar on the terminal, if there is one


def begin() -> None:
    """Tell the bar, if there is one, that a reading begins."""
    if SHOWN:
        SHOWN[-1].begin()


def reached(done: float, total: float) -> None:
    """Tell the bar, if there is one, how far a reading has come."""
    if SHOWN and total > 0:
        SHOWN[-1].reached(min(done / total, 1.0))


@contextmanager
def waiting(label: str, json: bool = False) -> Iterator[None]:
    """A bar with the share that is done, where `reached` is told of it, and the time."""
    if json or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        SHOWN.append(Reading(bar, label))
        try:
            yield
        finally:
            SHOWN.pop()


@contextmanager
def counting(label: str, shown: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """A function of how many are done, of how many, which moves a bar with both; None where nobody watches."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
