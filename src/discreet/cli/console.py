"""What every verb of the command line shares: sentences, answers and receipts; with outputs, errors and bars.

with guarded():                     one clear sentence on stderr in place of a traceback, exit code 1
    out = writing("model.json")     before anything is charged
    ...
    delivered(out, text, show)      written whole or not at all, then shown; a failure of one spares the other
    answer({"model": ...}, json)    for scripts
    receipt(release, ledger, json)  what was spent, for people
"""

from __future__ import annotations

import json as _json
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.errors import SCRIPT, fail, guarded, note, reported, shown, told
from discreet.cli.hints import spoken
from discreet.cli.outputs import Output, writing
from discreet.progress import Bar, is_interactive

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from discreet.ledger import Ledger
    from discreet.release import Release

__all__ = [
    "Output",
    "answer",
    "delivered",
    "fail",
    "grid",
    "guarded",
    "less",
    "note",
    "plain",
    "receipt",
    "reported",
    "say",
    "shown",
    "spent",
    "spoken",
    "text",
    "told",
    "waiting",
    "width",
    "writing",
]


def say(*parts: Any, json: bool = False, markup: bool = False) -> None:
    """Print for people: text, or tables of rich; nothing with `json`, where stdout is a document."""
    if json:
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True, markup=markup).print(*parts)


def width() -> int:
    """How many columns the terminal has."""
    from rich.console import Console

    return Console().width


def grid(*titles: str, whole: Collection[int] = ()) -> Table:
    """An empty table of rich in which nothing is cut off: what is too wide goes on in the next line.

    Columns at the places in `whole` are as wide as they need.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for place, title in enumerate(titles):
        table.add_column(title, overflow="fold", no_wrap=place in whole)
    return table


def text(words: str) -> Text:
    """Words as they are, whatever brackets are in them."""
    from rich.text import Text

    return Text(words)


def answer(document: Any, json: bool) -> None:
    """Print a document as strict JSON, if asked for; what is not finite becomes null."""
    if json:
        SCRIPT.answered = True
        typer.echo(_json.dumps(plain(document), allow_nan=False, ensure_ascii=False, indent=2))


def plain(value: Any) -> Any:
    """A value as JSON has it: lists, numbers, text; null for NaN and infinity.

    >>> plain({"a": (1, float("nan")), "b": 2 + 0j})
    {'a': [1, None], 'b': '(2+0j)'}
    """
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def spent(release: Release, ledger: Ledger | None = None) -> dict[str, Any]:
    """The receipt of a release as a document: the promise, and what the account has left."""
    document: dict[str, Any] = {"name": release.name, **release.budget.to_dict(), "private": release.private}
    document["ledger"] = None if ledger is None else _account(ledger)
    return document


def receipt(release: Release, ledger: Ledger | None = None, json: bool = False) -> None:
    """Print what was spent, and what the account has left; without an account, say so."""
    lines = [f"Receipt: {release.name}", f"  guarantee  {release.budget}"]
    if ledger is None:
        lines.append("  account    none: this budget was for this answer alone, and nobody adds it up.")
        lines.append("             Hint: name a ledger in privacy.toml, under [ledger], path = ...")
    else:
        account = _account(ledger)
        lines.append(
            f"  account    {ledger.data}: spent ε = {account['spent']:.4g} of {ledger.budget.epsilon:g} so far"
        )
        lines.append(f"  left       one more answer may cost up to ε = {account['remaining']:.4g}{less(ledger)}")
    lines += [f"  note       {line}" for line in release.notes]
    if not release.private:
        lines.append("  NOT PRIVATE: a seed was given, and whoever knows it can take the noise away.")
    say("\n".join(lines), json=json)


def less(ledger: Ledger) -> str:
    """Why more is left than the budget less what was spent, where that is so."""
    more = ledger.remaining - (ledger.budget.epsilon - ledger.spent) > ledger.budget.epsilon / 100
    return ": answers together cost less than their sum" if more else ""


def _account(ledger: Ledger) -> dict[str, Any]:
    spent, remaining = ledger.spent, ledger.remaining
    return {"data": ledger.data, "budget": ledger.budget.to_dict(), "spent": spent, "remaining": remaining}


def delivered(
    out: Output | None, made: Callable[[], str | bytes], show: Callable[[], None], json: bool = False
) -> None:
    """Write what was paid for, if it is to be written, then show it: a failure of one does not lose the other."""
    failure: Exception | None = None
    try:
        if out is not None:
            out.write(made())
    except Exception as error:
        failure = error
    try:
        show()
    except OSError as error:  # the terminal is gone, or the disk that it is sent to is full
        if out is not None and failure is None and not isinstance(error, BrokenPipeError):
            note(f"the answer could not be shown, and is in {str(out.path)!r}.")
        raise
    if failure is not None:
        raise failure
    if out is not None:
        say(f"Written: {out.path}", json=json)


def waiting(label: str, json: bool = False) -> Bar:
    """A bar for as long as a verb works, where a person watches."""
    return Bar(not json and is_interactive(), label)
