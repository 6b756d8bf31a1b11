"""Asking: questions about a table, to whoever knows it, each with why it is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from discreet.budget import refuse_delta
from discreet.cli import answers, console
from discreet.cli.columns import Column

if TYPE_CHECKING:
    from discreet.cli.facts import Facts
    from discreet.cli.header import Header

T = TypeVar("T")
KIND = """\
{name!r} ({place} of {many}): number, category or skip? (n, c, s; b goes back)"""
KIND_HELP = """
  number    a quantity; its range is asked for next
  category  one of a few values that you can list
  skip      neither, or nobody's business: names, identifiers, free text. It is never read."""
RANGE = """\
The range of {name!r}, such as 0:120; where only whole numbers are possible, 0:120 whole."""
RANGE_HELP = """
  Write which values are possible by their meaning, or by the code book (an age: 0 to 120). Values outside are clipped.
  Too wide a range costs accuracy, too narrow a one bends the answer; neither costs privacy.
  Do not look it up in the data: the largest value there belongs to somebody."""
VALUES = """\
The values of {name!r}, separated by commas, as the code book lists them."""
VALUES_HELP = """
  Any other value counts as missing. They are never collected from the data: a rare one would give its holder away."""
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


class _Back(Exception):
    """Whoever answers wants to go back to the column before."""


class Asking:
    """Questions about a table, to whoever knows it; with what is known already. Each help is shown once."""

    def __init__(self, found: Header, given: dict[str, Column], rest: bool) -> None:
        self._header, self._given, self._rest = found, given, rest
        self._explained: set[str] = set()

    def facts(self, data: Path, target: Path, account: Path, **known: Any) -> Facts:
        """All facts: those known, and the answers; `account` is where the data have theirs."""
        import os

        from discreet.cli.facts import Facts

        unit = self._unit(known["unit"]) if known["unit"] else self._until(self._unit, UNIT, "Unit", "row", "--unit")
        columns = self._columns(unit)
        limit, n = known["limit"], known["n"]
        quiet = known["epsilon"] is not None  # then options say it all
        if unit != "row" and limit is None and not quiet:
            limit = self._until(answers.whole, LIMIT.format(unit=unit), "Rows", "", "--max-rows-per-unit")
        if n is None and not quiet:
            n = self._until(answers.whole, NUMBER.format(unit=unit), "Number", "", "--n")
        asked = EPSILON.format(unit=unit), "Epsilon", "1", "--epsilon"
        epsilon = known["epsilon"] or self._until(answers.epsilon, *asked)
        delta = self._delta(known["delta"], n, unit, quiet)
        home = target.resolve().parent
        here = os.path.relpath(account.resolve(), home)
        ledger = known["ledger"] or (here if quiet else self._ask(LEDGER, "Ledger", here, "--ledger"))
        path = os.path.relpath(data.resolve(), home)
        where = (None, None) if ledger == "none" else (ledger, data.stem)
        return Facts(target.parent, columns, epsilon, delta, "add-remove", path, unit, limit, n, *where)

    def _delta(self, given: float | None, n: int | None, unit: str, quiet: bool) -> float:
        if given is not None:
            refuse_delta("The --delta", given, unit)
            return given
        usual = f"{0.01 / n:.0e}" if n else "1e-6"
        check, asked = answers.delta, (DELTA.format(unit=unit), "Delta", usual, "--delta")
        return float(usual) if quiet else self._until(check, *asked)

    def _columns(self, unit: str) -> dict[str, Column]:
        """What each column is; "b" goes back to the one asked for before."""
        names, found, asked = self._header.names, dict[str, Column](), list[int]()
        place = 0
        while place < len(names):
            name = names[place]
            try:
                known = self._known_column(name, unit)
                found[name] = known or self._ask_column(name, place + 1)
            except _Back:
                place = asked.pop() if asked else place
                continue
            if known is None:
                asked.append(place)
            place += 1
        return {name: found[name] for name in names}

    def _known_column(self, name: str, unit: str) -> Column | None:
        """A column of which nothing needs to be asked."""
        if name in self._given:
            return self._given[name]
        return Column(name, "skip") if self._rest or name == unit else None

    def _ask_column(self, name: str, place: int) -> Column:
        """What a column is, and its range or values; "b" there asks again what it is."""
        question = KIND.format(name=name, place=place, many=len(self._header.names))
        suggested, option = self._header.kinds[place - 1] or None, f"--number {name}=LOW:HIGH"
        while True:
            kind = self._until(_read_kind, self._with_help(question, KIND_HELP), "Kind", suggested, option)
            try:
                return self._ask_details(name, kind)
            except _Back:
                continue

    def _ask_details(self, name: str, kind: str) -> Column:
        if kind == "number":
            question, read = self._with_help(RANGE.format(name=name), RANGE_HELP), partial(answers.ranged, name)
            return self._until(_or_back(read), question, "Low:high", None, "--number")
        if kind == "category":
            question, sort = self._with_help(VALUES.format(name=name), VALUES_HELP), self._header.sort(name)
            return self._until(_or_back(partial(answers.valued, name, sort)), question, "Values", None, "--category")
        return Column(name, kind)

    def _with_help(self, question: str, help_text: str) -> str:
        """The question, with its help the first time."""
        first = help_text not in self._explained
        self._explained.add(help_text)
        return question + help_text if first else question

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


def _or_back(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader of answers, which takes "b" and "back" to mean the question before."""

    def read_answer(text: str) -> T:
        if text.lower() in ("b", "back"):
            raise _Back
        return read(text)

    return read_answer


@_or_back
def _read_kind(text: str) -> str:
    return answers.kind(text)
