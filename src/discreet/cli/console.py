"""What every verb of the command line shares: sentences, answers, receipts, outputs, errors, progress.

    with guarded():                     one clear sentence on stderr in place of a traceback, exit code 1
        out = writing("model.json")     before anything is charged
        ...
        delivered(out, text, show)      written whole or not at all, then shown; a failure of one spares the other
        answer({"model": ...}, json)    for scripts
        receipt(release, ledger, json)  what was spent, for people

What may be shown of an error is what discreet itself says: its messages name columns and files, never a value. Errors
of other libraries may quote rows; of them the type alone is shown.
"""

from __future__ import annotations

import json as _json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from discreet.cli.outputs import Output, writing

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from discreet.ledger import Ledger
    from discreet.release import Release

T = TypeVar("T")
HINTS = {  # what marks a hint about Python, and what to say on the command line
    "ledger.retrying(": "the charge stands; see to it that the file can be read to its end before asking again.",
    "OneHotEncoder(": 'in privacy.toml, kind = "category" and the list of its values.',
    "sensitive=[": "--sensitive NAME.",
    "hierarchy.encode(": "each value of the column must be in its hierarchy; --missing NAME where cells are empty.",
}
__all__ = [
    "Output",
    "answer",
    "delivered",
    "fail",
    "grid",
    "guarded",
    "note",
    "plain",
    "progress",
    "receipt",
    "say",
    "shown",
    "spent",
    "spoken",
    "text",
    "told",
    "waiting",
    "writing",
]


def fail(message: str, code: int = 1) -> NoReturn:
    """Say one sentence on stderr and exit with this code."""
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(code) from None


def say(*parts: Any, json: bool = False, markup: bool = False) -> None:
    """Print for people: text, or tables of rich; nothing with `json`, where stdout is a document."""
    if json:
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True, markup=markup).print(*parts)


def grid(*titles: str) -> Table:
    """An empty table of rich in which nothing is cut off: what is too wide goes on in the next line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def text(words: str) -> Text:
    """Words as they are, whatever brackets are in them."""
    from rich.text import Text

    return Text(words)


def note(message: str) -> None:
    """A remark on stderr, which scripts that read stdout do not see."""
    typer.echo(f"Note: {message}", err=True)


def answer(document: Any, json: bool) -> None:
    """Print a document as strict JSON, if asked for; what is not finite becomes null."""
    if json:
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
    lines = [f"Receipt: {release.name}", f"  promise  {release.budget}"]
    if ledger is None:
        lines.append("  account  none: this budget was for this answer alone, and nobody adds it up.")
        lines.append("           Hint: name a ledger in privacy.toml, under [ledger], path = ...")
    else:
        account = _account(ledger)
        lines.append(f"  account  {ledger.data}: spent ε = {account['spent']:.4g} of {ledger.budget.epsilon:g} so far")
        lines.append(f"  left     one more answer may cost up to ε = {account['remaining']:.4g}")
    lines += [f"  note     {line}" for line in release.notes]
    if not release.private:
        lines.append("  NOT PRIVATE: a seed was given, and whoever knows it can take the noise away.")
    say("\n".join(lines), json=json)


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
    show()
    if failure is not None:
        raise failure
    if out is not None:
        say(f"Written: {out.path}", json=json)


def progress(parts: Iterable[T], label: str, total: int | None = None, json: bool = False) -> Iterator[T]:
    """The parts, one by one, with a bar on stderr where a person watches a terminal."""
    if json or not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console
    from rich.progress import Progress

    if total is None and isinstance(parts, Sequence):
        total = len(parts)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        for part in parts:
            yield part
            bar.advance(task)


@contextmanager
def waiting(label: str, json: bool = False) -> Iterator[None]:
    """A bar without figures on stderr, where a person watches a terminal: how many rows there are is a value too."""
    if json or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(label, total=None)
        yield


@contextmanager
def guarded() -> Iterator[None]:
    """One sentence and exit code 1 in place of a traceback; discreet's warnings as notes, no others.

    With DISCREET_DEBUG=1 in the environment the traceback is printed as well: places in the code, never values.
    """
    import warnings

    from discreet.errors import DiscreetWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DiscreetWarning)
        warnings.showwarning = lambda message, *rest, **more: note(str(message))
        try:
            yield
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:  # whoever reads has seen enough, as in `discreet ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except Exception as error:
            if hasattr(error, "exit_code"):  # a usage error, which typer prints
                raise
            sentence, trace = told(error), _places(error)
            # it may hold rows, and stays the context of what is raised next
            error.args, error.__traceback__, error.__cause__, error.__context__ = (), None, None, None
        else:
            return
    if os.environ.get("DISCREET_DEBUG") == "1":
        typer.echo(trace, err=True)
    fail(sentence)


def told(error: BaseException) -> str:
    """What may be said of an error: its message if discreet raised it, of any other its type."""
    if isinstance(error, OSError) and error.errno and type(error).__module__ == "builtins":
        name = f" ({str(error.filename)!r})" if isinstance(error.filename, (str, os.PathLike)) else ""
        return f"{os.strerror(error.errno)}{name}."
    if shown(error):
        return spoken(" ".join(str(error).split()))
    where = _last(error)
    home = "" if where is None else str(where.tb_frame.f_globals.get("__name__", "")).split(".")[0]
    return (
        f"Something went wrong ({type(error).__name__}{f' in {home}' if home else ''}); its message may quote rows and "
        "is not shown. Hint: DISCREET_DEBUG=1 shows where it happened."
    )


def spoken(message: str) -> str:
    """A message of the library with a hint for the command line, where its own is about Python."""
    sentence, hint, rest = message.partition(" Hint: ")
    for sign, instead in HINTS.items():
        if hint and sign in rest:
            return f"{sentence} Hint: {instead}"
    return message


def shown(error: BaseException) -> bool:
    """Whether its message may be shown: a `raise` in the code of discreet made it, and no C code, which may quote."""
    import dis

    where = _last(error)
    if where is None or str(where.tb_frame.f_globals.get("__name__", "")).split(".")[0] != "discreet":
        return False
    return dis.opname[where.tb_frame.f_code.co_code[where.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def _last(error: BaseException) -> TracebackType | None:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place


def _places(error: BaseException) -> str:
    """The traceback without messages and without values."""
    import traceback

    lines = traceback.format_list(traceback.extract_tb(error.__traceback__))
    return "".join(["Traceback (most recent call last):\n", *lines, type(error).__name__])
