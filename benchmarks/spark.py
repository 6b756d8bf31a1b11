"""How long a private sum over a Spark data frame takes, next to the same sum written by hand with mapInArrow and NumPy.

python benchmarks/spark.py [rows]
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
import warnings
from typing import Any

import numpy as np

from discreet.engines.spark import from_spark
from discreet.query import BoundedSum


def session() -> Any:
    """Two workers on this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("discreet")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def by_hand(frame: Any) -> np.ndarray:
    """X'X as one would write it: no clipping, no grid, not exact."""

    def work(batches):
        import numpy as np
        import pyarrow

        total = 0.0
        for batch in batches:
            X = np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
            total = total + X.T @ X
        yield pyarrow.RecordBatch.from_pydict({"total": [np.asarray(total).tobytes()]})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        records = frame.mapInArrow(work, "total binary").collect()
    return sum(np.frombuffer(record.total).reshape(len(frame.columns), -1) for record in records)


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(rows: int = 2_000_000, width: int = 20, repeats: int = 5) -> None:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("Spark: no Java here, nothing measured")
        return
    spark = session()
    columns = [f"sin(id * {i + 1}) as x{i}" for i in range(width)]
    frame = spark.range(0, rows, 1, 4).selectExpr(*columns).persist()
    frame.count()

    def x(batch):
        return batch.X

    private, query = from_spark(frame), BoundedSum(x, x, norm=float(width))
    gap = np.ldexp(private.sum(query).astype(float), query.exponent((width, width))) - by_hand(frame)
    assert np.abs(gap).max() < 1e-4 * rows
    times = [(seconds(lambda: by_hand(frame)), seconds(lambda: private.sum(query))) for _ in range(repeats)]
    plain, exact = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(theirs / ours for ours, theirs in times)
    print(f"Spark, two workers on one machine: X'X of {rows:,} rows × {width} columns")
    print(f"  mapInArrow and NumPy by hand     {plain:7.3f} s")
    print(f"  discreet, clipped and exact      {exact:7.3f} s   ratio {ratio:.2f}  (goal: at most 1.3)")
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
