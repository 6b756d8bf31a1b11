"""A bar for long readings: rows a second, on the terminal of whoever waits."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

PATIENCE = 2.0  # seconds before a bar appears by itself


class Bar:
    """How far one reading of the rows has come.

    It shows numbers of rows, to whoever sits at the terminal, and nobody else.

    Parameters
    ----------
    shown : True or False; None for a bar on an interactive terminal, once a reading takes longer than two seconds.
    title : what is read.
    total : how many rows there are, if that is known.
    """

    def __init__(self, shown: bool | None, title: str, total: int | None) -> None:
        self._asked = shown
        self._shown = _interactive() if shown is None else shown
        self._title, self._total, self._done, self._start = title, total, 0, time.monotonic()
        self._bar: Any = None

    def advance(self, rows: int) -> None:
        """So many rows more were read."""
        self._done += rows
        if not self._shown:
            return
        if self._bar is None and (self._asked or time.monotonic() - self._start > PATIENCE):
            self._open()
        if self._bar is not None:
            speed = self._done / max(time.monotonic() - self._start, 1e-9)
            self._bar.update(self._task, completed=self._done, speed=f"{speed:,.0f} rows/s")

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        texts = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[speed]}")
        console = Console(stderr=True)
        self._bar = Progress(*texts, TimeRemainingColumn(), console=console, transient=console.is_terminal)
        self._task = self._bar.add_task(self._title, total=self._total, speed="")
        self._bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _interactive() -> bool:
    return bool(sys.stderr is not None and sys.stderr.isatty())
