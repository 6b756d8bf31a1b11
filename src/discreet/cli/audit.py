"""`discreet audit`: attack an estimator, and see whether it keeps its promise."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.models import MODELS
from discreet.cli.options import Json, positive, small

WIDTH = 3


def audit(
    estimator: Annotated[
        str,
        typer.Argument(
            metavar="ESTIMATOR", help="A model of `discreet fit`, or a class of discreet.models.", show_default=False
        ),
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", parser=positive, metavar="NUMBER", help="ε.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", parser=small, metavar="NUMBER", help="δ.")] = 1e-6,
    runs: Annotated[int, typer.Option(min=20, help="How often it is fitted on each of two neighbouring tables.")] = 500,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999999, help="That the bound holds.")] = 0.99,
    json: Json = False,
) -> None:
    """Attack an estimator: does it keep its promise?

    It is fitted many times on no row at all, and on one row in a corner of its bounds; an attack is learnt that tells
    the two apart. If it is too good, the estimator is broken, and the exit code is 1. No data are read; nothing is
    charged.

    For example:

        discreet audit linear --epsilon 1
        discreet audit LogisticRegression --runs 2000 --json
    """
    from discreet.audit import audit as attacked

    model = specimen(estimator).set_params(epsilon=epsilon, delta=delta)
    watched = sys.stdout.isatty() and not json
    found = attacked(model, runs=runs, delta=delta, confidence=confidence, progress=watched)
    console.answer({"estimator": estimator, "violated": found.violated, **vars(found)}, json)
    console.say(f"{estimator}: {found}", json=json)
    console.say("Nothing was spent: no data were read.", json=json)
    if found.violated:
        raise typer.Exit(1)


def specimen(name: str) -> Any:
    """An estimator with bounds to be attacked in, by the name of a model or of a class."""
    from difflib import get_close_matches

    from discreet.checks.specimens import prepared, private_estimators

    if name in MODELS:
        return prepared(MODELS[name].made())
    known = private_estimators()
    if name not in known:
        near = get_close_matches(name, [*MODELS, *known], 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no estimator {name!r}.{hint} There are: {', '.join([*MODELS, *known])}.")
    return known[name]
