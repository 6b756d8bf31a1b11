"""How fast streams are, next to the fastest plain pass over the same Parquet file in the same run; and how they grow.

python benchmarks/engines.py [--quick] [--folder DIR] [--plot PNG]

Data is made from a seed, in a temporary folder or the one that is named, and removed afterwards. Times are the least of
some runs that take turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import discreet as dc
from discreet.engines.stream.sources import scan_parquet
from discreet.models import LinearRegression
from discreet.query import BoundedSum

GROUP = 250_000
BATCH = 16_384
CORES = os.cpu_count() or 1


def make(path: Path, rows: int, width: int) -> Path:
    """A file of `width` columns of floats, the last of them the target, with gaps in none."""
    rng, writer = np.random.default_rng(0), None
    for _ in range(0, rows, GROUP):
        columns = rng.uniform(-1, 1, (width, min(GROUP, rows)))
        columns[-1] = columns[:-1].mean(axis=0) + 0.1 * columns[-1]
        names = [f"x{i}" for i in range(width - 1)] + ["y"]
        table = pa.table(dict(zip(names, columns, strict=True)))
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def with_arrow(path: Path) -> np.ndarray:
    """X'X by pyarrow and NumPy: a row group to a core, batch by batch."""

    def product(group: int) -> np.ndarray:
        with pq.ParquetFile(path, metadata=footer, pre_buffer=False) as file:
            width = file.metadata.num_columns
            values, total = np.empty((width, BATCH)), np.zeros((width, width))
            for batch in file.iter_batches(BATCH, row_groups=[group], use_threads=False):
                some = values[:, : batch.num_rows]
                for row, column in zip(some, batch.columns, strict=True):
                    row[:] = column.to_numpy()
                total += some @ some.T
        return total

    footer = pq.read_metadata(path)
    return _on_all_cores(product, footer.num_row_groups)


def with_polars(path: Path) -> np.ndarray:
    """X'X by polars and NumPy: a row group to a core."""

    def product(group: int) -> np.ndarray:
        values = lazy.slice(group * GROUP, GROUP).collect().to_numpy(order="fortran")
        return values.T @ values

    lazy = pl.scan_parquet(path)
    return _on_all_cores(product, pq.read_metadata(path).num_row_groups)


def _on_all_cores(product: Callable[[int], np.ndarray], groups: int) -> np.ndarray:
    with threadpool_limits(1), ThreadPoolExecutor(CORES) as pool:
        return np.sum(list(pool.map(product, range(groups))), axis=0)


def x(batch):
    return batch.X


def streamed(path: Path) -> np.ndarray:
    """X'X, clipped and rounded: all columns are features."""
    rows = scan_parquet(path, progress=False)
    return rows.sum(BoundedSum(x, x, norm=float(rows.width)))


def fitted(path: Path, **options) -> int:
    """A fit; how often it read the rows."""
    rows = scan_parquet(path, "y", progress=False)
    readings, pieces = [], rows._source.iter_pieces
    rows._source.iter_pieces = lambda *asked: readings.append(asked) or pieces(*asked)
    LinearRegression(bounds=dc.Bounds(-1, 1, target=(-2, 2)), **options).fit(rows)
    return len(readings)


def seconds(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, tuple[float, float]]:
    """The fastest run of each, by the clock and in seconds of processors; they take turns, on the same machine."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start, busy = time.perf_counter(), time.process_time()
            work()
            times[name].append((time.perf_counter() - start, time.process_time() - busy))
    return {name: (min(a for a, _ in some), min(b for _, b in some)) for name, some in times.items()}


def peak(path: Path) -> float:
    """The most memory that a process takes in all for X'X, in megabytes."""
    command = [sys.executable, __file__, "--peak", str(path)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def speed(folder: Path, rows: int, repeats: int) -> None:
    """X'X and fits next to the plain pass: a stream should take at most 1.5 times as long, a fit 1.5 times that."""
    path = make(folder / "speed.parquet", rows, 21)
    passes = {"auto": fitted(path), "adassp": fitted(path, method="adassp")}
    took = seconds(
        {
            "arrow": lambda: with_arrow(path),
            "polars": lambda: with_polars(path),
            "stream": lambda: streamed(path),
            "auto": lambda: fitted(path),
            "adassp": lambda: fitted(path, method="adassp"),
        },
        repeats,
    )
    print(f"{rows:,} rows × 21 columns, {os.path.getsize(path) / 1e9:.2f} GB of Parquet, {CORES} cores")
    print("                           by the clock   processors")
    plain = tuple(min(took["arrow"][i], took["polars"][i]) for i in (0, 1))
    rest = {"X'X, pyarrow and NumPy": ("arrow", 1, None), "X'X, polars and NumPy": ("polars", 1, None)}
    rest["X'X, stream"] = ("stream", 1, plain)
    rest |= {f"LinearRegression, {name}": (name, count, took["stream"]) for name, count in passes.items()}
    for title, (name, count, base) in rest.items():
        wall, busy = (value / count for value in took[name])
        ratio = "" if base is None else f"   {wall / base[0]:.2f} and {busy / base[1]:.2f} of "
        of = "" if base is None else "the fastest plain pass" if base is plain else f"X'X, in each of {count} passes"
        print(f"  {title:26} {wall:6.2f} s     {busy:6.2f} s{ratio}{of}")
    print(f"  peak memory of X'X         {peak(path):6.0f} MB")
    path.unlink()


def growth(folder: Path, sizes: list[tuple[int, int]], repeats: int) -> list[float]:
    """Seconds of processors that X'X takes, streamed, for each (rows, columns)."""
    found = []
    for rows, width in sizes:
        path = make(folder / "growth.parquet", rows, width)
        took = seconds({"stream": lambda: streamed(path), "plain": lambda: with_arrow(path)}, repeats)  # noqa: B023
        path.unlink()
        ours, plain = took["stream"][1], took["plain"][1]
        found.append(ours)
        print(f"  {rows:>11,} rows × {width:2}: {ours:7.2f} s of processors, {ours / plain:.2f} of the plain pass")
    return found


def plot(to: Path, rows: list[int], by_rows: list[float], widths: list[int], by_width: list[float]) -> None:
    """Both growths, the line in n extrapolated to 1e8."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    per_row = by_rows[-1] / rows[-1]
    line = np.array([rows[0], 1e8])
    left.loglog(line, per_row * line, "--", color="grey", label=f"linear: {per_row * 1e8:.0f} s at 10⁸ rows")
    left.loglog(rows, by_rows, "o-", label="X'X, 21 columns")
    left.set(xlabel="rows", ylabel="seconds of processors")
    squares = np.vander(np.array(widths, float), 3)
    fit = np.linalg.lstsq(squares, np.array(by_width), rcond=None)[0]
    at = np.linspace(widths[0], widths[-1], 100)
    right.plot(at, np.vander(at, 3) @ fit, "--", color="grey", label="quadratic")
    right.plot(widths, by_width, "o", label="X'X")
    right.set(xlabel="columns", ylabel="seconds of processors")
    for axis in (left, right):
        axis.legend(frameon=False)
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=120)
    plt.close(figure)


def main(quick: bool, folder: Path, to: Path) -> None:
    repeats = 3
    speed(folder, 1_000_000 if quick else 10_000_000, repeats)
    print("growth with the number of rows")
    rows = [100_000, 1_000_000, 3_000_000] if quick else [1_000_000, 10_000_000, 30_000_000]
    by_rows = growth(folder, [(n, 21) for n in rows], repeats)
    print(f"  {100_000_000:>11,} rows × 21: {by_rows[-1] / rows[-1] * 1e8:7.2f} s of processors, extrapolated")
    for one, two, a, b in zip(by_rows, by_rows[1:], rows, rows[1:], strict=False):
        print(f"  {b / a:.0f} times the rows: {two / one:.1f} times the seconds")
    print("growth with the number of columns")
    widths = [10, 20, 40, 80]
    by_width = growth(folder, [(200_000 if quick else 1_000_000, d) for d in widths], repeats)
    plot(to, rows, by_rows, widths, by_width)
    print(f"plot: {to}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--plot", type=Path, default=Path("output/engines.png"))
    parser.add_argument("--peak", type=Path)
    given = parser.parse_args()
    if given.peak:
        streamed(given.peak)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    else:
        with tempfile.TemporaryDirectory(dir=given.folder) as made:
            main(given.quick, Path(made), given.plot)
