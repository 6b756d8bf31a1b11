"""`discreet risk`: how likely it is that somebody finds a person in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Data, Force, Json, listed


def risk(
    data: Data,
    quasi: Annotated[str, typer.Option("--quasi", "-q", metavar="A,B,...", help="The columns that others may know.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The findings (.json or .txt).")],
    population: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of everybody, of which DATA is a part.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(min=0, max=1, help="The share of the population in DATA, a random sample.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names people: these are counted, not rows."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How likely it is that people are found in a table.

    The findings tell of the rows and are no private release: they are written to the file that you name, never to the
    terminal. They hold sizes of classes and names of columns, and no cell.

    For example:

        discreet risk visits.csv --quasi age,ward,zip -o risk.txt
        discreet risk sample.csv --quasi age,ward --fraction 0.1 -o risk.json
        discreet risk visits.csv --quasi age,ward --person patient -o risk.txt
    """
    from discreet.anonymity import people
    from discreet.anonymity import risk as found
    from discreet.cli.anonymise import NAMELESS, present
    from discreet.cli.table import kept

    if output.suffix.lower() not in (".json", ".txt"):
        raise ValueError(f"The output of risk ends in .json or .txt. Got {output.name!r}.")
    if fraction is not None and not fraction > 0:
        raise ValueError("The --fraction must be > 0, and at most 1. Got 0.")
    if fraction is not None and population is not None:
        raise ValueError("Give --population or --fraction, not both.")
    others = [] if population is None else [population]
    out = console.writing(output, force=force, inputs=[*kept(data), *others], secret=True)
    names = listed(quasi)
    if not names or len(set(names)) < len(names):
        raise ValueError("The columns of --quasi must be distinct, and at least one. Hint: --quasi age,ward.")
    for table in (data, population):
        if table is not None:
            present(table, names)
    if person is not None:
        present(data, [person])
        people.refuse_publication(person, names)
    try:
        with console.waiting("counting", json):
            everyone = None if population is None else str(population)
            told = found(str(data), names, everyone, fraction, person=person)
    except people.MissingPerson:
        console.fail(NAMELESS)
    except Exception as error:  # what is said of the rows is not for the terminal
        console.fail(f"The risk cannot be told ({type(error).__name__}). Hint: is the file damaged, or without rows?")
    out.write(_document(told) if output.suffix.lower() == ".json" else f"{told}\n")
    console.answer({"output": str(out.path)}, json)
    console.say(f"Written: {out.path}. It tells of the rows: treat it as you treat them. No ε was spent.", json=json)


def _document(told: Any) -> str:
    import json as _json

    names = (
        "columns",
        "rows",
        "people",
        "marketer",
        "sample_unique",
        "population_unique",
        "basis",
        "outside",
        "complete",
    )
    document = {name: getattr(told, name) for name in names}
    document |= {name: vars(getattr(told, name)) for name in ("prosecutor", "journalist")}
    document["classes"] = told.classes.to_dicts()
    document["identifying"] = [{"columns": one.columns, "unique": one.unique} for one in told.identifying]
    return _json.dumps(console.plain(document), allow_nan=False, ensure_ascii=False, indent=1)
