"""Run a study by its name: `python -m studies sy6 [--quick] [--out DIR] [--data DIR] [--jobs N]`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from studies.common import MissingData, save

STUDIES = {
    "sy3": "gender by height and weight: accuracy, ROC and coefficients of private classifiers",
    "sy4": "budget split, and accuracy against ε and n on synthetic data",
    "sy5": "drug sensitivity: trade-offs and five methods",
    "sy6": "UCI regression: SSP, AdaSSP, noise levels, maps, intercept, clipping",
    "sy8": "private logistic regression on MNIST 4 and 9: error against n and ε, noise against weights",
    "sy9": "private gradient descent on MNIST 4 and 9: batches, dimensions, epochs, ε",
    "people": "privacy for people, not rows: what it costs to protect a patient with all of their visits",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 0 if all went well, 2 if data are missing."""
    parser = argparse.ArgumentParser("studies", description="Figures of the literature, made again.")
    parser.add_argument("name", choices=["list", *STUDIES])
    parser.add_argument("--quick", action="store_true", help="a few seconds: fewer repeats, made-up data if need be")
    parser.add_argument("--out", help="folder of figure and table (studies/out)")
    parser.add_argument("--data", help="folder of the data (DISCREET_DATA, or ../shared/data)")
    parser.add_argument("--jobs", type=int, help="processes (1 if quick, else as many as there are cores)")
    asked = parser.parse_args(arguments)
    if asked.name == "list":
        print("\n".join(f"{name}  {what}" for name, what in STUDIES.items()))
        return 0
    jobs = asked.jobs or (1 if asked.quick else os.cpu_count() or 1)
    try:
        outcome = importlib.import_module(f"studies.{asked.name}").study(asked.quick, asked.data, jobs)
    except MissingData as missing:
        print(missing, file=sys.stderr)
        return 2
    picture, numbers = save(outcome, asked.name, asked.out)
    print(f"{outcome.text}\n\nFigure: {picture}\nNumbers: {numbers}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
