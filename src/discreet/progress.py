"""Progress: the share of long work that is done, on the terminal of whoever waits for it.

How many rows there are is a value too. So a bar shows hundredths of the work, and never a number of rows or of steps.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, Self

PATIENCE = 2.0  # seconds before a bar appears by itself
Progress = bool | Callable[[float], None] | None


class Bar:
    """How much of some work is done.

    Parameters
    ----------
    shown : True or False; None for a bar on an interactive terminal, once the work takes longer than two seconds; or a
        function, which is called with the share in place of a bar.
    title : what is done.

    Examples
    --------
    >>> with Bar(print, "adding up") as bar:
    ...     for done in range(1, 4):
    ...         bar.at(done / 3)
    0.33
    0.66
    1.0
    """

    def __init__(self, shown: Progress, title: str) -> None:
        self._call = shown if callable(shown) else None
        self._asked = shown is True
        self._shown = self._asked or (shown is None and is_interactive())
        self._title, self._start, self._share, self._turns = title, time.monotonic(), 0.0, 1
        self._bar: Any = None

    def at(self, share: float | None) -> None:
        """So much is done; less than before if the work begins anew; None where nobody knows."""
        if share is not None:
            share = math.floor(100 * min(share, 1.0) + 1e-9) / 100
            self._turns += share < self._share
        if self._call is not None and share not in (None, self._share):
            self._call(share)
        self._share = self._share if share is None else share
        if self._shown and (self._bar is not None or time.monotonic() - self._start > PATIENCE):
            self._draw(share)

    def _draw(self, share: float | None) -> None:
        if self._bar is None:
            self._open()
        title = self._title if self._turns == 1 else f"{self._title}, reading {self._turns}"
        if share is not None:
            self._bar.update(self._task, completed=share, total=1.0, description=title)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
        self._bar = Progress(*columns, console=console, transient=console.is_terminal)
        self._task = self._bar.add_task(self._title, total=None)
        self._bar.start()

    def __enter__(self) -> Self:
        if self._asked:
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def is_interactive() -> bool:
    """Whether somebody watches the terminal."""
    return bool(sys.stderr is not None and sys.stderr.isatty())
