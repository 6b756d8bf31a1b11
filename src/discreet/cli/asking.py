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

    def _column(self, name: str, place: int, unit: str) -> Column:
        if name in self._given:
            return self._given[name]
        if self._rest or name == unit:
            return Column(name, "skip")
        told = self._header.kinds[place - 1] or None
        question = KIND.format(name=name, place=place, many=len(self._header.names))
        kind = self._until(answers.kind, question, "Kind", told, f"--number {name}=LOW:HIGH")
        if kind == "number":
            ranged = partial(answers.ranged, name)
            return self._until(ranged, RANGE.format(name=name), "Low:high", None, "--number")
        if kind == "category":
            valued = partial(answers.valued, name, self._header.sort(name))
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
