"""What went wrong on Spark, told in words of ours: what Spark says itself may hold values of rows."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import discreet
from discreet.errors import EngineError

_PYTHON = "Hint: workers run the Python that PYSPARK_PYTHON names (spark.pyspark.python), `python3` unless it is set."
_PROBLEMS = {
    "module": f"Spark's workers have no module {{}}. Install discreet and what it needs there. {_PYTHON}",
    "version": f"Spark's workers have discreet {{}}, the driver {{ours}}. Install the same. {_PYTHON}",
    "python": f"Spark's workers and the driver run different versions of Python. {_PYTHON}",
    "memory": "A worker of Spark ran out of memory, or was killed, while adding up rows. Hint: more executor memory "
    "(spark.executor.memoryOverhead), or more partitions (spark.sql.shuffle.partitions, for rows with units).",
    "result": "The totals of all tasks together are larger than Spark lets the driver receive. Hint: raise "
    "spark.driver.maxResultSize, or read fewer partitions (`coalesce`).",
    "task": "A task failed while adding up rows ({}), each time Spark tried. What it says may hold values, and is not "
    "repeated here.",
    "stopped": "The Spark session stopped before the rows were added up.",
    "job": "Spark could not run the plan of this data frame. What it says may hold values, and is not repeated here. "
    "Hint: does `dataframe.count()` run?",
}

# loggers of pyspark that print what an error says as soon as it is made, before anybody can catch it
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_WIRE = ("py4j.java_gateway", "py4j.clientserver")  # all that Java answers, where everything is logged
_changing = threading.Lock()


@contextmanager
def _silence_logs() -> Iterator[None]:
    """Nothing of what Spark says is logged meanwhile; a filter for each call: threads do not end each other's."""

    def drop_record(record: logging.LogRecord) -> bool:
        return False

    loggers = _find_loggers()
    with _changing:
        for logger in loggers:
            logger.filters = [*logger.filters, drop_record]
    try:
        yield
    finally:
        with _changing:
            for logger in loggers:
                logger.filters = [one for one in logger.filters if one is not drop_record]


def _find_loggers() -> list[logging.Logger]:
    found = [logging.getLogger(name) for name in _WIRE]
    try:
        of = import_module("pyspark.logger").PySparkLogger.getLogger  # of a class of its own: pyspark is to make them
    except ImportError:  # Spark before 4 has none
        return found
    return [*found, *map(of, _LOGGERS)]


def run_on_spark(dataframe: Any, work: Callable[[], Any]) -> Any:
    """What Spark's work comes to; a failure of it told in words of ours, and nothing else kept."""
    try:
        with _silence_logs():
            return work()
    except EngineError:
        raise
    except Exception as error:
        reason = "stopped" if _is_stopped(dataframe) else find_reason(str(error))
    raise make_error(reason)


def make_error(reason: str) -> EngineError:
    """The error for a reason: its kind, and a name that belongs to it."""
    kind, _, name = reason.partition(" ")
    return EngineError(_PROBLEMS[kind].format(name, ours=discreet.__version__))


def find_reason(text: str) -> str:
    """The kind of failure that Spark's words are of."""
    for reason, marks in (
        ("python", ("PYTHON_VERSION_MISMATCH",)),
        ("stopped", ("SparkContext was shut down", "stopped SparkContext")),
        ("result", ("maxResultSize",)),
        (
            "memory",
            ("worker exited unexpectedly", "OutOfMemoryError", "discreet task MemoryError", "ExecutorLostFailure"),
        ),
        ("module pyarrow", ("No module named 'pyarrow'", "PyArrow >=")),
        ("module pandas", ("No module named 'pandas'", "Pandas >=")),
        ("module pyspark", ("No module named 'pyspark'",)),
    ):
        if any(mark in text for mark in marks):
            return reason
    failed = re.search(r"discreet task (\w+)", text)
    return f"task {failed[1]}" if failed else "job"


def _is_stopped(dataframe: Any) -> bool:
    if getattr(dataframe, "_jdf", None) is None:
        return False
    try:
        context = dataframe.sparkSession.sparkContext
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:  # no connection any more
        return True
