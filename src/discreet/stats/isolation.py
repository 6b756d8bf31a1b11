"""A user's function on the rows of one block, in a process of its own, so that it cannot change another block.

The process is forked from a clean parent (the fork server of `multiprocessing`), which has the function's module but no
rows. Its time and memory are limited, and what it prints is discarded. If anything goes wrong, the only result is that
there is no answer.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SLACK = 5.0  # extra seconds of wall time, beyond twice the CPU seconds, for a busy machine


@dataclass(frozen=True)
class Runner:
    """Runs a function on a block; returns a vector of `size` finite numbers, or None.

    Attributes
    ----------
    statistic : a function of the block's rows (and targets).
    size : the number of numbers that it should return.
    isolated : run it in a process of its own; otherwise here, where the caller vouches that it keeps no state.
    seconds, memory : the CPU seconds and the bytes that a process may use.
    """

    statistic: Callable[..., Any]
    size: int
    isolated: bool = True
    seconds: int = 30
    memory: int = 1 << 32

    def check(self) -> None:
        """Raise, before anything is charged, if the function cannot be sent to another process."""
        if not self.isolated:
            return
        try:
            pickle.dumps(self.statistic)
        except Exception:
            raise TypeError(
                "A `statistic` that runs in processes of its own must be one that pickle knows by name, such as a "
                "function of a module. Hint: isolated=False runs it here, if you vouch that it keeps no rows."
            ) from None

    def __call__(self, *block: NDArray[Any]) -> Floats | None:
        """The answer of one block."""
        return self._answer_apart(block) if self.isolated else _compute_answer(self.statistic, block, self.size)

    def _answer_apart(self, block: tuple[NDArray[Any], ...]) -> Floats | None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, getattr(self.statistic, "__module__", __name__)])
        ours, theirs = context.Pipe(duplex=False)
        limits = self.seconds, self.memory
        worker = context.Process(
            target=_serve_answer, args=(theirs, self.statistic, block, self.size, limits), daemon=True
        )
        worker.start()
        theirs.close()
        try:
            sent = ours.recv_bytes(16 + 8 * self.size) if ours.poll(2 * self.seconds + SLACK) else b""
        except (EOFError, OSError):
            sent = b""
        finally:
            worker.kill()
            worker.join()
            ours.close()
        return np.frombuffer(sent) if len(sent) == 8 * self.size else None


def _serve_answer(
    pipe: Any, statistic: Callable[..., Any], block: tuple[NDArray[Any], ...], size: int, limits: tuple[int, int]
) -> None:
    """Run in the other process: send the answer as bytes, or no bytes if there is none."""
    with contextlib.suppress(Exception):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (limits[0], limits[0]))
        resource.setrlimit(resource.RLIMIT_AS, (limits[1], limits[1]))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    answer = _compute_answer(statistic, block, size)
    pipe.send_bytes(b"" if answer is None else answer.tobytes())
    pipe.close()
    os._exit(0)


def _compute_answer(statistic: Callable[..., Any], block: tuple[NDArray[Any], ...], size: int) -> Floats | None:
    with open(os.devnull, "w") as nowhere, contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.errstate(all="ignore"))
        warnings.simplefilter("ignore")
        try:
            said = np.asarray(statistic(*[np.array(part) for part in block]), dtype=np.float64).ravel()
        except (Exception, SystemExit):  # the error may be about a row, so nothing of it is kept
            return None
    return said if said.shape == (size,) and bool(np.isfinite(said).all()) else None
