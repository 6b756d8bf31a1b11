"""Rows that are read piece by piece: Parquet and CSV files, lazy frames, Arrow datasets, DuckDB relations."""

from discreet.engines.stream.stream import Stream

__all__ = [
    "Stream",
]
