"""Bar: progress in plain text, on the terminal of the one who runs it."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Bar:
    r"""A line on stderr that fills up: what its owner sees on their own terminal is no release.

    >>> import io
    >>> out = io.StringIO()
    >>> bar = Bar("fit", 2, out)
    >>> bar.at(1); bar.at(2)
    >>> out.getvalue().split("\r")[-1]
    'fit [####################] 2/2\n'
    """

    WIDTH = 20
    PAUSE = 0.1  # seconds between two drawings

    def __init__(self, name: str, steps: int, out: TextIO | None = None) -> None:
        self._name, self._steps, self._out, self._drawn = name, steps, out, float("-inf")

    def at(self, step: int) -> None:
        """So many steps are done."""
        now = time.monotonic()
        if step < self._steps and now - self._drawn < self.PAUSE:
            return
        self._drawn, out = now, self._out or sys.stderr
        full = "#" * (self.WIDTH * step // self._steps)
        out.write(f"\r{self._name} [{full:<{self.WIDTH}}] {step}/{self._steps}" + "\n" * (step == self._steps))
        out.flush()
