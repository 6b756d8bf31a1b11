"""How many source files of discreet a call passes: those of which a function runs, not those that are imported.

python benchmarks/files_passed.py [--list]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars

import discreet
from discreet import Bounds, stats
from discreet.models import LinearRegression, LogisticRegression

HOME = Path(discreet.__file__).parent


def files_passed(call: Callable[[], Any]) -> set[str]:
    """The files whose functions run while the call does, in this thread and those that it starts."""
    import threading

    found: set[str] = set()

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(HOME)):
            found.add(code.co_filename)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {str(Path(name).relative_to(HOME)) for name in found}


def calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """The calls, each on what it needs."""
    rng = np.random.default_rng(0)
    X, path = rng.uniform(0, 1, (2_000, 3)), folder / "rows.parquet"
    y = X @ [1.0, -1.0, 0.5]
    table = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "ill": (y > 0).astype(int)})
    table.write_parquet(path)
    ranges = [option for column in table.columns for option in ("--number", f"{column}=0:1")]
    run_verb("init", str(path), *ranges, "--epsilon", "2", "--delta", "1e-6", "--unit", "row")
    rows = discreet.scan_parquet(path, target="ill")
    line, classes = Bounds(0, 1, target=(-1, 2)), Bounds(0, 1, classes=(0, 1))
    return {
        "stats.mean": lambda: stats.mean(X[:, 0], (0, 1), epsilon=1.0),
        "LinearRegression().fit": lambda: LinearRegression(bounds=line).fit(X, y),
        "LogisticRegression().fit, Parquet": lambda: LogisticRegression(bounds=classes).fit(rows),
        "discreet describe": lambda: run_verb("describe", str(path), "--epsilon", "1"),
    }


def run_verb(*words: str) -> None:
    """A verb of the command line, in this process."""
    from discreet.cli import main as run

    before, sys.argv = sys.argv, ["discreet", *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.argv = before


def main() -> None:
    """Print how many files each call passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        for what, call in calls(Path(name)).items():
            found = files_passed(call)
            print(f"{what:35} {len(found):3} files")
            if options.list:
                print("   ", *sorted(found))


if __name__ == "__main__":
    main()
