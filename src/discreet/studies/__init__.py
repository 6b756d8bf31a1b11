"""Studies: figures of the literature, made again with methods that keep their promise.

    discreet study list
    discreet study sy6 --quick

`python -m discreet.studies` does the same. Each study prints what its source found, what the run found and why they
differ, and writes a figure and all its numbers.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

__all__ = ["STUDIES", "run"]

STUDIES = {
    "sy1": "a mean against the number of people, in the centre and with everybody's own noise",
    "sy2": "27 proportions with everybody's own noise: largest error of six ways to ask",
    "sy3": "gender by height and weight: accuracy, ROC and coefficients of private classifiers",
    "sy3local": "the same, everybody answering once with their own noise",
    "sy4": "budget split, and accuracy against ε and n on synthetic data",
    "sy5": "drug sensitivity: trade-offs and five methods",
    "sy6": "UCI regression: SSP and AdaSSP, how much noise, how rows are bounded, intercept, clipping",
    "sy8": "private logistic regression on MNIST 4 and 9: error against n and ε, noise against weights",
    "sy9": "private gradient descent on MNIST 4 and 9: batches, dimensions, epochs, ε",
    "people": "privacy for people, not rows: what it costs to protect a patient with all of their visits",
}
"""Each study's name, and in a line what it is about."""


def run(
    name: str,
    *,
    quick: bool,
    data: str | Path | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
) -> tuple[str, Path, Path]:
    """Run a study: its text, where its figure is, where its numbers are.

    Parameters
    ----------
    name : one of `STUDIES`, in lower or upper case.
    quick : a few seconds: fewer repeats, and made-up data where the study's own are not at hand.
    data : the folder of the study's data; else the environment variable DISCREET_DATA, else ./data.
    out : the folder of figure and numbers; else ./output/studies.
    jobs : processes; 1 if quick, else as many as there are cores.

    >>> run("sy0", quick=True)
    Traceback (most recent call last):
    ValueError: The study must be one of sy1, sy2, sy3, sy3local, sy4, sy5, sy6, sy8, sy9, people. Got 'sy0'.
    """
    from discreet.studies.common import save_outcome

    chosen = name.lower()
    if chosen not in STUDIES:
        raise ValueError(f"The study must be one of {', '.join(STUDIES)}. Got {name!r}.")
    workers = jobs or (1 if quick else os.cpu_count() or 1)
    outcome = import_module(f"discreet.studies.{chosen}").run_study(quick, data, workers)
    picture, numbers = save_outcome(outcome, chosen, out)
    return outcome.text, picture, numbers
