"""`discreet init`: write privacy.toml, by asking, without reading a value of the data."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.cli import console
from discreet.cli.options import Data, Force, Json, listed, pairs, positive, small

if TYPE_CHECKING:
    from discreet.cli.facts import Column, Facts
    from discreet.cli.header import Header

T = TypeVar("T")
KIND = """\
{name!r} ({place} of {many}): what is it?
  number    a quantity; its range is asked for next
  category  one of a few values that you can list
  skip      neither, or nobody's business: names, identifiers, free text. It is never read."""
RANGE = """\
The range of {name!r}: which values are possible by their meaning, or by the code book (an age: 0 to 120).
  Values outside are clipped. Too wide a range costs accuracy, too narrow a one bends the answer; neither costs privacy.
  Do not look it up in the data: the largest value there belongs to somebody.
  Where only whole numbers are possible, say so: 0:120 whole."""
VALUES = """\
The values of {name!r}, separated by commas, as the code book lists them. Any other value counts as missing.
  They are never collected from the data, since a rare one would give its holder away."""
UNIT = """\
Who is protected? If people have several rows each, the column that says whose a row is; else "row"."""
LIMIT = """\
The most rows of one {unit} to read. Empty: all are read, and share what one row may change."""
NUMBER = """\
About how many {unit}s there are, if that is public; empty if it is not. Delta is checked against it."""
EPSILON = """\
The budget ε of everything that is ever asked of these data: it multiplies the odds of any guess about one {unit} by at
  most e^ε. 0.1 is strict, 1 is usual, 10 is weak. Each answer takes a part of it; when it is spent, no more is told."""
DELTA = """\
δ, the chance that the promise fails: 0, or far below one over the number of {unit}s. With δ > 0 many answers together
  cost much less."""
LEDGER = """\
The file of the account that adds up what is spent; "none" for no account, and then nobody adds it up."""


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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="privacy.toml beside the data unless given.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write privacy.toml: what is public, what may be spent.

    Asks for each column what it is and within which range, and says why it wants to know. What is given by options is
    not asked. No value is read: of a CSV file the first line only, of a Parquet file the names and types of columns.

    For example:

        discreet init visits.csv
        discreet init visits.csv --number age=0:120 --category ward=north,south --skip-rest --unit patient --epsilon 2
    """
    from discreet.cli.facts import NAME, beside
    from discreet.cli.header import header
    from discreet.cli.writer import written

    target = output or beside(data)
    account = accounted(data)
    out = console.writing(target, force=force, inputs=[data, account])
    found = header(data)
    given = _given(found, number or [], category or [], skip or [], whole or [])
    asking = Asking(found, given, rest)
    facts = asking.facts(
        data, target, account, unit=unit, limit=max_rows_per_unit, n=n, epsilon=epsilon, delta=delta, ledger=ledger
    )
    _warn(facts, account)
    out.write(f"# What is public about {data.name}, and what may be spent on it.\n\n{written(facts)}")
    console.answer({"facts": str(target), "columns": {c.name: c.kind for c in facts.columns.values()}}, json)
    option = "" if target.name == NAME and output is None else f" --facts {target}"
    console.say(f"\nWritten: {target}. Nothing was spent.", json=json)
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
    from discreet.cli.facts import Column

    numbers = {name: _range(name, text) for name, text in pairs(number, "--number").items()}
    lists = {name: _values(name, text, found.sort(name)) for name, text in pairs(category, "--category").items()}
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


def _range(name: str, text: str) -> tuple[float, float]:
    ends = text.replace(":", " ").replace(",", " ").split()
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        raise ValueError(f"The range of {name!r} must be two numbers, such as 0:120. Got {text!r}.") from None
    return low, high


def _values(name: str, text: str, sort: str) -> tuple[Any, ...]:
    """What commas separate, by what the schema says the column holds.

    Where it says nothing, numbers if all are, and have no zeros in front, which a code would have.
    """
    parts = tuple(listed(text))
    if sort == "truth":
        return _truths(name, parts)
    if sort == "text" or any(part.lstrip("-").startswith("0") and part not in ("0", "-0") for part in parts):
        return parts
    for read in (int, float):
        try:
            return tuple(read(part) for part in parts)
        except ValueError:
            continue
    return parts


def _truths(name: str, parts: tuple[str, ...]) -> tuple[bool, ...]:
    words = {"true": True, "false": False}
    if any(part.lower() not in words for part in parts):
        raise ValueError(f"The column {name!r} holds true and false. Hint: --category {name}=false,true.")
    return tuple(words[part.lower()] for part in parts)


class Asking:
    """Questions about a table, to whoever knows it; with what is known already."""

    def __init__(self, found: Header, given: dict[str, Column], rest: bool) -> None:
        self._header, self._given, self._rest = found, given, rest

    def facts(self, data: Path, target: Path, account: Path, **known: Any) -> Facts:
        """All facts: those known, and the answers; `account` is where the data have theirs."""
        import os

        from discreet.cli.facts import Facts

        unit = self._unit(known["unit"]) if known["unit"] else self._until(self._unit, UNIT, "Unit", "row", "--unit")
        columns = {name: self._column(name, place, unit) for place, name in enumerate(self._header.names, 1)}
        limit, n = known["limit"], known["n"]
        quiet = known["epsilon"] is not None  # then options say it all
        if unit != "row" and limit is None and not quiet:
            limit = self._until(_whole, LIMIT.format(unit=unit), "Rows", "", "--max-rows-per-unit")
        if n is None and not quiet:
            n = self._until(_whole, NUMBER.format(unit=unit), "Number", "", "--n")
        epsilon = known["epsilon"] or self._until(_epsilon, EPSILON.format(unit=unit), "Epsilon", "1", "--epsilon")
        usual = f"{0.01 / n:.0e}" if n else "1e-6"
        delta = known["delta"]
        if delta is None:
            check = partial(_delta, n=n)
            asked = DELTA.format(unit=unit), "Delta", usual, "--delta"
            delta = float(usual) if quiet else self._until(check, *asked)
        home = target.resolve().parent
        here = os.path.relpath(account.resolve(), home)
        ledger = known["ledger"] or (here if quiet else self._ask(LEDGER, "Ledger", here, "--ledger"))
        path = os.path.relpath(data.resolve(), home)
        where = (None, None) if ledger == "none" else (ledger, data.stem)
        return Facts(target.parent, columns, epsilon, delta, "add-remove", path, unit, limit, n, *where)

    def _column(self, name: str, place: int, unit: str) -> Column:
        from discreet.cli.facts import Column

        if name in self._given:
            return self._given[name]
        if self._rest or name == unit:
            return Column(name, "skip")
        told = self._header.kinds[place - 1] or None
        question = KIND.format(name=name, place=place, many=len(self._header.names))
        kind = self._until(_kind, question, "Kind", told, f"--number {name}=LOW:HIGH")
        if kind == "number":
            ranged = partial(_ranged, name)
            return self._until(ranged, RANGE.format(name=name), "Low:high", None, "--number")
        if kind == "category":
            valued = partial(_valued, name, self._header.sort(name))
            return self._until(valued, VALUES.format(name=name), "Values", None, "--category")
        return Column(name, kind)

    def _unit(self, text: str) -> str:
        if text != "row" and text not in self._header.names:
            raise ValueError(f"There is no column {text!r} in the file to be the unit.")
        return text

    def _until(self, read: Callable[[str], T], text: str, word: str, default: str | None, option: str) -> T:
        """The answer as `read` takes it; asked again as long as it cannot."""
        while True:
            try:
                return read(self._ask(text, word, default, option))
            except ValueError as error:
                text = str(error)

    def _ask(self, text: str, word: str, default: str | None, option: str) -> str:
        typer.echo(f"\n{text}", err=True)
        try:
            return str(typer.prompt(word, default=default, show_default=bool(default), err=True)).strip()
        except typer.Abort:
            if sys.stdin.isatty():
                raise
            console.fail(
                f"Nobody is there to answer. Hint: say it by options ({option} ...); see discreet init --help."
            )


def _kind(text: str) -> str:
    from discreet.cli.facts import KINDS

    if text not in KINDS:
        raise ValueError(f"It must be one of {', '.join(KINDS)}. Got {text!r}.")
    return text


def _ranged(name: str, text: str) -> Column:
    from discreet.cli.facts import Column

    ends = text.removesuffix("whole")
    return Column(name, "number", *_range(name, ends), whole=ends != text)


def _valued(name: str, sort: str, text: str) -> Column:
    from discreet.cli.facts import Column

    return Column(name, "category", values=_values(name, text, sort))


def _whole(text: str) -> int | None:
    if not text:
        return None
    if not text.isdigit():
        raise ValueError(f"It must be a whole number, or empty. Got {text!r}.")
    return int(text)


def _epsilon(text: str) -> float:
    return _number(text, "It must be a number > 0.", lambda epsilon: epsilon > 0)


def _delta(text: str, n: int | None) -> float:
    most = "" if n is None else f" of at most {0.1 / n:.1g}"
    return _number(
        text, f"It must be 0, or a small number{most}.", lambda delta: 0 <= delta <= min(0.1 / (n or 1), 0.5)
    )


def _number(text: str, rule: str, fine: Callable[[float], bool]) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and fine(number)):
        raise ValueError(f"{rule} Got {text!r}.")
    return number
