"""`discreet study`: figures of the literature, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.options import Force, Json


def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help='A study, or "list".', show_default=False)] = "list",
    quick: Annotated[
        bool, typer.Option("--quick", help="A few seconds: fewer repeats, made-up data if need be.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Where figure and numbers go.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the study's data are; DISCREET_DATA, or ./data.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a figure of the literature again.

    It says what its source found, what a correct method finds, and why they differ.

    For example:

        discreet study list
        discreet study sy6 --quick
    """
    from discreet.studies import STUDIES, run

    name = name.lower()
    if name == "list":
        console.answer(STUDIES, json)
        console.say("\n".join(f"{one:7} {what}" for one, what in STUDIES.items()), json=json)
        return
    if name in STUDIES:
        from discreet.studies.common import find_outputs

        for place in find_outputs(name, output):
            if place.exists() and not force:
                raise ValueError(f"{str(place)!r} is there already. Hint: --force to replace it, or -o FOLDER.")
    text, picture, numbers = run(name, quick=quick, data=data, out=output, jobs=jobs)
    console.answer({"study": name, "text": text, "figure": str(picture), "numbers": str(numbers)}, json)
    console.say(f"{text}\n\nFigure: {picture}\nNumbers: {numbers}", json=json)
    console.say("Nothing was spent: studies use public or made-up data.", json=json)
