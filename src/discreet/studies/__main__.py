"""Run a study by its name: `python -m discreet.studies sy6 [--quick] [--out DIR] [--data DIR] [--jobs N]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from discreet.studies import STUDIES, run
from discreet.studies.common import MissingData


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 0 if all went well, 2 if data are missing."""
    parser = argparse.ArgumentParser("discreet.studies", description="Figures of the literature, made again.")
    parser.add_argument("name", type=str.lower, choices=["list", *STUDIES])
    parser.add_argument("--quick", action="store_true", help="a few seconds: fewer repeats, made-up data if need be")
    parser.add_argument("--out", help="folder of figure and table (./output/studies)")
    parser.add_argument("--data", help="folder of the data (DISCREET_DATA, or ./data)")
    parser.add_argument("--jobs", type=int, help="processes (1 if quick, else as many as there are cores)")
    asked = parser.parse_args(arguments)
    if asked.name == "list":
        print("\n".join(f"{name:6}  {what}" for name, what in STUDIES.items()))
        return 0
    try:
        text, picture, numbers = run(asked.name, quick=asked.quick, data=asked.data, out=asked.out, jobs=asked.jobs)
    except MissingData as missing:
        print(missing, file=sys.stderr)
        return 2
    print(f"{text}\n\nFigure: {picture}\nNumbers: {numbers}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
