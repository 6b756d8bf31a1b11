"""Errors of the command line: one clear sentence in place of a traceback, and a document for scripts.

What may be shown of an error is what discreet itself says: its messages name columns and files, never a value. Errors
of other libraries may quote rows; of them the type alone is shown.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

import typer

from discreet.cli.hints import spoken, unread


@dataclass
class Script:
    """Whether a script reads stdout as one JSON document, and whether the document was printed."""

    wanted: bool = False
    answered: bool = False


SCRIPT = Script()


def fail(message: str, code: int = 1) -> NoReturn:
    """Say one sentence on stderr, and to scripts by a document on stdout; exit with this code."""
    typer.echo(f"Error: {message}", err=True)
    report(message, code)
    raise typer.Exit(code) from None


def report(message: str, code: int) -> None:
    """Print an error as a JSON document, where a script waits for one and has none yet."""
    if SCRIPT.wanted and not SCRIPT.answered:
        SCRIPT.answered = True
        typer.echo(json.dumps({"error": message, "code": code}, ensure_ascii=False))


def note(message: str) -> None:
    """A remark on stderr, which scripts that read stdout do not see."""
    typer.echo(f"Note: {message}", err=True)


@contextmanager
def reported(words: list[str]) -> Iterator[None]:
    """Usage errors and refusals as documents too, where these words of the command line ask for JSON.

    What is caught goes on as it was: typer prints it for people.
    """
    SCRIPT.wanted, SCRIPT.answered = "--json" in words, False
    try:
        yield
    except typer.Abort:
        report("Aborted.", 1)
        raise
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):
            report(str(error.format_message()), int(error.exit_code))
        raise
    finally:
        SCRIPT.wanted = False


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
        from discreet.errors import ReadError

        words = " ".join(str(error).split())
        return unread(words) if isinstance(error, ReadError) else spoken(words)
    where = _last(error)
    home = "" if where is None else str(where.tb_frame.f_globals.get("__name__", "")).split(".")[0]
    return (
        f"Something went wrong ({type(error).__name__}{f' in {home}' if home else ''}); its message may quote rows and "
        "is not shown. Hint: DISCREET_DEBUG=1 shows where it happened."
    )


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
