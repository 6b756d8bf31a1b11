"""Rows on Apache Spark."""

from discreet.engines.spark.spark import Spark, from_spark, is_spark

__all__ = [
    "Spark",
    "from_spark",
    "is_spark",
]
