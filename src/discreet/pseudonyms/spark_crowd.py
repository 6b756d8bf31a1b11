"""Do the columns that remain single people out, on Spark? The same question as in `crowd.py`, asked of all tasks.

Tasks give, for each row, who it is of and what its quasi-identifiers say: keyed hashes of 16 bytes, under keys of the
run that are in the worker file alone. Spark throws repeated pairs away, gathers for each person the set of what is
said, and counts people with the same set. Plans, logs and files of a shuffle hold nothing of the rows. Two different
sets pass for one with probability n²/2^129.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import discreet
from discreet.pseudonyms.crowd import refuse
from discreet.pseudonyms.spark_task import Task, sent

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOKS = "who binary, what binary, own boolean"


def check(plain: Any, task: Task, k: int, names: Sequence[str]) -> None:
    """Refuse a table in which somebody looks like fewer than k people.

    Parameters
    ----------
    plain : the data frame, with names that need no quotes.
    task : with the places of the quasi-identifiers.
    names : of the quasi-identifiers, for messages.
    """
    from discreet.engines.spark.failures import run_on_spark

    refuse(k, names, *run_on_spark(plain, lambda: _counted(plain, task, k)))


def _counted(plain: Any, task: Task, k: int) -> tuple[int, int, int]:
    """How many people look like fewer than k, how many there are, and how many one-off rows hold what is too rare."""
    from pyspark.sql import functions as f

    pairs = plain.mapInArrow(sent(task, "looks", discreet.__version__), LOOKS).distinct()
    people = pairs.where(~f.col("own")).groupBy("who").agg(f.sort_array(f.collect_set("what")).alias("looks"))
    sets = people.groupBy("looks").agg(f.count("*").alias("people"))
    rare = f.sum(f.when(f.col("people") < k, f.col("people")).otherwise(0))
    alone, every = sets.agg(rare, f.sum("people")).collect()[0]
    if not task.policy.one_off():
        return alone or 0, every or 0, 0
    enough = sets.where((f.col("people") >= k) & (f.size("looks") == 1)).select(f.col("looks")[0].alias("what"))
    loose = pairs.where("own").select("what").join(enough, "what", "left_anti").count()
    return alone or 0, every or 0, loose
