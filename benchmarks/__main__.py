"""Run the benchmarks one after the other, and write what they said to benchmarks/results.md.

    python benchmarks [--quick] [--only NAME ...] [--out FILE]

Each runs in a process of its own. One that fails or finds no data is written down as such, and the rest still run. With
--only, what the page says of the others stays.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from discreet.documents.atomic_files import write_file

HERE = Path(__file__).resolve().parent
PACKAGES = ("discreet", "numpy", "scipy", "scikit-learn", "polars", "pyarrow")
# name: what it takes in full, and when in a hurry (None: not then)
SCRIPTS: dict[str, tuple[list[str], list[str] | None]] = {
    "noise": ([], []),
    "local": ([], []),
    "accounting": ([], []),
    "sums": ([], ["100000"]),
    "linear": ([], ["--quick"]),
    "classification": ([], ["--quick", "--seeds", "2"]),
    "sgd": ([], []),
    "robust": ([], ["--quick"]),
    "units": ([], ["--quick"]),
    "engines": ([], ["--quick"]),
    "spark": ([], ["200000"]),
    "anonymity": (["--full"], []),
    "mondrian": ([], []),
    "pseudonyms": (["--full"], []),
    "cli": ([], []),
    "peers": ([], ["--quick"]),
}


@dataclass(frozen=True)
class Run:
    """What one benchmark said, and how long it took."""

    name: str
    command: str
    text: str
    failed: bool
    seconds: float

    def section(self) -> str:
        """Its part of the page; what is a table already stays one."""
        text = self.text if self.text.lstrip().startswith("|") else f"```text\n{self.text}\n```"
        failed = " **It failed.**" if self.failed else ""
        how = f"`{self.command}`, {date.today():%Y-%m-%d}, {self.seconds:.0f} s.{failed}"
        return f"## {self.name}\n\n{purpose(self.name)}\n\n{how}\n\n{text}\n"


def purpose(name: str) -> str:
    """The first paragraph of the benchmark's own words."""
    words = ast.get_docstring(ast.parse(source(name).read_text(encoding="utf-8"))) or ""
    return words.split("\n\n")[0].replace("\n", " ")


def source(name: str) -> Path:
    """The script of a benchmark, or the one in its folder."""
    folder = HERE / name
    return folder / "__main__.py" if folder.is_dir() else folder.with_suffix(".py")


def run(name: str, arguments: list[str]) -> Run:
    """One benchmark; its progress goes to the terminal, its answer to the page."""
    path = HERE / name if (HERE / name).is_dir() else source(name)
    command = " ".join(["python", f"benchmarks/{path.name}", *arguments])
    print(command, file=sys.stderr, flush=True)
    start = time.perf_counter()
    done = subprocess.run([sys.executable, path, *arguments], cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
    return Run(name, command, done.stdout.strip("\n"), done.returncode != 0, time.perf_counter() - start)


def machine() -> Iterator[str]:
    """What the figures were measured on."""
    processor = platform.processor() or platform.machine()
    about = Path("/proc/cpuinfo")
    if about.is_file():
        named = [line.partition(":")[2].strip() for line in about.read_text().splitlines() if "model name" in line]
        processor = named[0] if named else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    yield f"{date.today():%Y-%m-%d}; {processor}, {os.cpu_count()} cores, {memory:.0f} GiB; {platform.system()}"
    yield f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def sections(page: str) -> dict[str, str]:
    """The parts of a page, by the benchmark's name."""
    parts = re.split(r"^## (\w+)\n", page, flags=re.MULTILINE)[1:]
    return {name: f"## {name}\n{text.rstrip()}\n" for name, text in zip(parts[::2], parts[1::2], strict=True)}


def write(runs: list[Run], path: Path) -> None:
    """The page, whole or not at all; of benchmarks that were not run, what it said before."""
    known = sections(path.read_text("utf-8")) if path.is_file() else {}
    known |= {run.name: run.section() for run in runs}
    head = ["# Benchmarks", "", "Made by `make bench`. Figures are ratios within one run where they can be."]
    head += ["A command with `--quick`, or with few rows, tells orders of magnitude.", "", *machine(), ""]
    write_file(path, "\n".join(head) + "\n" + "\n".join(known[name] for name in SCRIPTS if name in known))


def main() -> int:
    parser = argparse.ArgumentParser("benchmarks", description="Run all benchmarks and write benchmarks/results.md.")
    parser.add_argument("--quick", action="store_true", help="minutes instead of hours: less data, fewer repeats")
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, help="these alone")
    parser.add_argument("--out", type=Path, default=HERE / "results.md")
    asked = parser.parse_args()
    runs: list[Run] = []
    for name, (full, hurried) in SCRIPTS.items():
        arguments = hurried if asked.quick else full
        if arguments is not None and (not asked.only or name in asked.only):
            runs.append(run(name, arguments))
            write(runs, asked.out)  # what was measured is kept, whatever comes next
    print(f"Written: {asked.out}", file=sys.stderr)
    return int(any(r.failed for r in runs))


if __name__ == "__main__":
    sys.exit(main())
