"""`discreet init`: write privacy.toml, by asking, without reading a value of the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import console
from discreet.cli.options import Data, Force, Json, pairs, positive, small

if TYPE_CHECKING:
    from discreet.cli.columns import Column
    from discreet.cli.facts import Facts
    from discreet.cli.header import Header


def init(
    data: Data,
    number: Annotated[
        list[str] | None, typer.Option("--number", metavar="NAME=LOW:HIGH", help="A column of numbers and its range.")
    ] = None,
    whole: Annotated[
        list[str] | None, typer.Option("--whole", metavar="NAME", help="Of a --number: it has whole values alone.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", metavar="NAME=A,B,...", help="A column of categories.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="NAME", help="A column never to be read.")] = None,
    rest: Annotated[bool, typer.Option("--skip-rest", help="Skip all columns that are not named.")] = False,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="NAME", help='Whose a row is: a column, or "row".')
    ] = None,
    max_rows_per_unit: Annotated[int | None, typer.Option(min=1, help="Read at most so many rows of each.")] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, help="About how many units there are, if public.")] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", parser=positive, metavar="NUMBER", help="The whole budget.")
    ] = None,
    delta: Annotated[float | None, typer.Option("--delta", parser=small, metavar="NUMBER", help="Its δ.")] = None,
    ledger: Annotated[str | None, typer.Option(metavar="FILE", help='The account, or "none".')] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Ask nothing: write a file with comments, to be filled in by an editor.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help='privacy.toml beside the data by default; "-" prints it.'),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Write privacy.toml: what is public, what may be spent.

    Asks for each column what it is and within which range, and says why it wants to know. What is given by options is
    not asked; --template asks nothing. No value is read: of a CSV file the first line only, of a Parquet file the names
    and types of columns.

    For example:

        discreet init visits.csv
        discreet init visits.csv --number age=0:120 --category ward=north,south \
            --skip-rest --unit patient --epsilon 2
    """
    from discreet.cli import writer
    from discreet.cli.asking import Asking
    from discreet.cli.facts import NAME, beside
    from discreet.cli.header import header

    printed = output is not None and str(output) == "-"
    target = beside(data) if output is None or printed else output
    account = accounted(data)
    out = None if printed else console.writing(target, force=force, inputs=[data, account])
    found = header(data)
    given = _given(found, number or [], category or [], skip or [], whole or [])
    asking = Asking(found, given, rest or template)
    if template:
        unit, epsilon = unit or "row", epsilon or 1.0
    facts = asking.facts(
        data, target, account, unit=unit, limit=max_rows_per_unit, n=n, epsilon=epsilon, delta=delta, ledger=ledger
    )
    _warn(facts, account)
    suggested = {name: kind for name, kind in zip(found.names, found.kinds, strict=True) if kind and name not in given}
    if template:
        text = writer.template(facts, suggested, data.name)
    else:
        text = f"# What is public about {data.name}, and what may be spent on it.\n\n{writer.written(facts)}"
    if out is None:
        typer.echo(text, nl=False)
        return
    out.write(text)
    option = "" if target.name == NAME and output is None else f" --facts {target}"
    console.answer({"facts": str(target), "columns": {c.name: c.kind for c in facts.columns.values()}}, json)
    option = "" if target.name == NAME and output is None else f" --facts {target}"
    console.say(f"\nWritten: {target}. Nothing was spent.", json=json)
    if template:
        console.say(f"Next: say in {target} what each column is.", json=json)
    else:
        console.say(f"Next: discreet describe {data} --epsilon {facts.epsilon / 4:g}{option}", json=json)


def accounted(data: Path) -> Path:
    """The account of these data: the one that facts beside them name, or else the file of their name beside them."""
    from discreet.cli import facts as _facts

    try:
        known = _facts.read(_facts.beside(data))
        if known.ledger is not None and known.path in (None, data.name):
            return known.ledger
    except ValueError:  # no facts yet, or none that can be read
        pass
    return data.parent / f"{data.stem}.ledger"


def _warn(facts: Facts, account: Path) -> None:
    """A second account would let the same people pay twice."""
    if account.exists() and (facts.ledger is None or facts.ledger.resolve() != account.resolve()):
        console.note(
            f"there is an account of these data already, {str(account)!r}. What these facts allow is spent on top of "
            "it, and no account has the sum. Hint: leave --ledger out."
        )


def _given(
    found: Header, number: list[str], category: list[str], skip: list[str], whole: list[str]
) -> dict[str, Column]:
    """The columns that options tell of."""
    from discreet.cli.answers import range_of, values_of
    from discreet.cli.columns import Column

    numbers = {name: range_of(name, text) for name, text in pairs(number, "--number").items()}
    lists = {name: values_of(name, text, found.sort(name)) for name, text in pairs(category, "--category").items()}
    for name in whole:
        if name not in numbers:
            raise ValueError(f"The --whole {name} is of a column that no --number tells of.")
    columns = [Column(name, "number", *ends, whole=name in whole) for name, ends in numbers.items()]
    columns += [Column(name, "category", values=values) for name, values in lists.items()]
    columns += [Column(name, "skip") for name in skip]
    names = [one.name for one in columns]
    for name in names:
        if name not in found.names:
            raise ValueError(f"There is no column {name!r} in the file. Hint: names must be the same to the letter.")
        if names.count(name) > 1:
            raise ValueError(f"The column {name!r} is told of twice.")
    return {one.name: one for one in columns}
