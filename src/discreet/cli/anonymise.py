"""`discreet anonymise`: a table in which nobody stands alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Data, FactsFile, Force, Json, listed

SUFFIXES = (".csv", ".parquet")
NAMELESS = (
    "The column of --person has empty or blank cells: nobody can say whose rows these are. Hint: leave these rows out, "
    "or fill the cells."
)


def anonymise(
    data: Data,
    quasi: Annotated[
        list[str],
        typer.Option(
            "--quasi", "-q", metavar="NAME[=HOW]", help="A column that others may know, and how to coarsen it."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The table (.csv or .parquet).")],
    sensitive: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Columns nobody should learn about a person; published as they are."),
    ] = None,
    keep: Annotated[str | None, typer.Option(metavar="A,B", help="Columns to carry over as they are.")] = None,
    allow_unique: Annotated[
        bool, typer.Option("--allow-unique", help="Also where the columns kept leave people alone, or nearly.")
    ] = False,
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names people: these are counted, not rows."),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Every class has at least so many rows, or people.")] = 5,
    l: Annotated[int | None, typer.Option("--l", min=2, help="And so many sensitive values.")] = None,
    t: Annotated[float | None, typer.Option("--t", min=0, max=1, help="And within t of the table's.")] = None,
    suppress: Annotated[float, typer.Option(min=0, max=0.99, help="The share of rows that may be left out.")] = 0.05,
    method: Annotated[str, typer.Option(help='"optimal", "incognito" or "mondrian".')] = "optimal",
    missing: Annotated[str | None, typer.Option(metavar="NAME", help="The category of missing cells.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page about it (.html), for a data-protection officer.")
    ] = None,
    facts: FactsFile = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Coarsen columns until nobody stands alone.

    This adds no noise and is no private release: whoever knows more than the columns named may learn about a person.
    What is found of the data, also why a request fails, is written to the outputs, never to the terminal.

    HOW is LOW:HIGH:WIDTH for whole numbers (0.0:99.0:5 for others), A,B,C for a list of values, a CSV file with one
    line for each value and one column for each level, or nothing for a column of privacy.toml.

    Where people have several rows, --person names their column, which is never published; no cell of it may be empty.

    Whoever knows a column of --keep may find people by it. So a table is refused, unless --allow-unique is given, if
    by the columns of --quasi and --keep together people are in groups of fewer than --k, or if by the columns of
    --keep more people stand alone in the whole table.

    For example:

        discreet anonymise visits.csv -q age=0:120:5 -q ward=wards.csv \
            --sensitive diagnosis --k 5 -o public.csv
        discreet anonymise visits.csv -q age -q ward --k 10 -o public.csv \
            --report report.html
        discreet anonymise visits.csv -q age=0:120:5 --person patient -o public.csv
    """
    import warnings

    from discreet.anonymity import UniqueWarning, request
    from discreet.anonymity import anonymise as made
    from discreet.anonymity.anonymise import METHODS
    from discreet.cli import table
    from discreet.cli.hierarchies import files

    if output.suffix.lower() not in SUFFIXES:
        raise ValueError(f"The output of anonymise ends in .csv or .parquet. Got {output.name!r}.")
    if method not in METHODS:
        raise ValueError(f"The --method must be one of {', '.join(METHODS)}. Got {method!r}.")
    safe = [*table.kept(data, facts), *files(quasi)]
    out = console.writing(output, force=force, inputs=safe)
    page = None if report is None else console.writing(report, force=force, inputs=[*safe, output], secret=True)
    trees = dict(_trees(data, quasi, facts))
    others, kept = listed(sensitive), listed(keep)
    present(data, [*trees, *others, *kept, *([person] if person else [])])
    request.columns(trees, others, kept, person)  # what can be refused without reading a value may be told
    request.wanted(request.gathered(k, l, t, ()), others, None)
    options: dict[str, Any] = {"k": k, "l": l, "t": t, "suppress": suppress, "missing": missing, "keep": kept}
    options["person"] = person
    try:
        with console.waiting("anonymising", json), warnings.catch_warnings():
            warnings.simplefilter("ignore", UniqueWarning)  # it has a figure, which is for the report
            found = made(str(data), trees, sensitive=others, method=method, **options)  # type: ignore[arg-type]
    except Exception as error:  # whatever is said of the rows goes to the report
        _failed(error, page)
    if found.alone.by_keep and not allow_unique:
        _alone(found, page, str(data))
    with out.beside() as path:
        found.table.write_csv(path) if output.suffix.lower() == ".csv" else found.table.write_parquet(path)
    if page is not None:
        page.write(found.report(original=str(data)).html)
    console.answer({"output": str(out.path), "report": str(report) if report else None}, json)
    console.say(f"Written: {out.path}{f' and {report}' if report else ''}.", json=json)
    console.say("No ε was spent, and none is promised: a coarser table is no private release.", json=json)


def _trees(data: Path, quasi: list[str], facts: Path | None) -> list[tuple[str, Any]]:
    from discreet.cli import facts as _facts
    from discreet.cli.hierarchies import hierarchy

    path = facts or _facts.beside(data)
    known = _facts.read(path) if facts is not None or path.is_file() else None
    return [hierarchy(one, known) for one in quasi]


def present(data: Path, names: list[str]) -> None:
    """Raise if a column that was asked for is not there; those that are there are not told."""
    from discreet.cli.header import missing

    lost = missing(data, names)
    if lost:
        raise ValueError(f"{data.name!r} has no columns {lost}. Hint: names must be the same to the letter.")


def _alone(found: Any, page: console.Output | None, original: str) -> Any:
    """Refuse a table whose kept columns single people out, or nearly; the report, which says how many, is written."""
    if page is not None:
        page.write(found.report(original=original).html)
    why = "" if page is None else f" {str(page.path)!r} says how many."
    console.fail(
        "By the columns of --keep people are in groups of fewer than --k, or stand alone in the table. It was not "
        f"written.{why} Hint: leave columns out of --keep, or name them by --quasi; --allow-unique writes it all the "
        "same."
    )


def _failed(error: Exception, page: console.Output | None) -> Any:
    """Say that it failed; why may tell of rows, and goes to the report."""
    from discreet.anonymity import MissingPerson

    written = _explained(error, page)
    if isinstance(error, MissingPerson):
        console.fail(NAMELESS + (f" {written} says in how many rows." if written else ""))
    kind = type(error).__name__
    if written:
        console.fail(f"The table cannot be anonymised so ({kind}). Why is written to {written}.")
    console.fail(
        f"The table cannot be anonymised so ({kind}). Hint: --report FILE tells why; a smaller --k, a larger "
        "--suppress or coarser hierarchies may do, and --missing NAME where cells are empty or blank."
    )


def _explained(error: Exception, page: console.Output | None) -> str:
    """Write why it failed to the report, if there is one and discreet itself says it; the name of the file, or ''."""
    from html import escape

    from discreet.errors import DiscreetError

    if page is None or not isinstance(error, (DiscreetError, ValueError)) or not console.shown(error):
        return ""
    why = escape(console.told(error))
    page.write(f"<!doctype html><meta charset='utf-8'><title>Not anonymised</title><p>{why}</p>")
    return repr(str(page.path))
