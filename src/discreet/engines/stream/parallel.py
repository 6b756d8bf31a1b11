"""Pieces of work on all cores, a bounded number of them at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from discreet.engines.memory import count_cores, limit_blas_threads

T = TypeVar("T")


def run_tasks(tasks: Iterator[Callable[[], T]]) -> Iterator[T]:
    """What each task gives, in order. Few are under way at a time: memory is bounded however many there are."""
    cores = count_cores()
    if cores < 2:
        yield from (task() for task in tasks)
        return
    waiting: deque[Future[T]] = deque()
    with limit_blas_threads(), ThreadPoolExecutor(cores) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > cores + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
