"""The command line: `discreet VERB`; each verb lives in the module of its name.

Modules of verbs import little at the top, so that `discreet --help` is quick; the rest is imported when a verb runs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet.cli import ledger
from discreet.cli.anonymise import anonymise
from discreet.cli.audit import audit
from discreet.cli.console import guarded, reported
from discreet.cli.describe import describe
from discreet.cli.fit import fit
from discreet.cli.frontier import frontier
from discreet.cli.init import init
from discreet.cli.manual import Verb
from discreet.cli.predict import predict
from discreet.cli.risk import risk
from discreet.cli.study import study

WORDS = "discreet.words"


class Guarded(TyperGroup):
    """Verbs whose errors are one sentence."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of verbs, in plain text: to load what draws boxes would take as long as all the rest."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the command line; what it asks for is kept for `invoke`."""
        words = list(args)  # reading takes them away
        with reported(words):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[WORDS] = words
        return context

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        with reported(ctx.meta[WORDS]), guarded():
            return super().invoke(ctx)


app = typer.Typer(
    name="discreet",
    cls=Guarded,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("discreet"))
        raise typer.Exit


@app.callback(invoke_without_command=True)
def discreet(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Private data science: describe, learn and share tables of people, and know what it cost them.

    Start with `discreet init data.csv`, then `discreet describe data.csv --epsilon 0.5`.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for verb in (init, describe, fit, predict, frontier, audit, study, anonymise, risk):
    app.command(cls=Verb)(verb)
app.add_typer(ledger.app, name="ledger")
if find_spec("discreet.cli.vault") is not None:
    app.add_typer(import_module("discreet.cli.vault").app, name="vault")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ε is no reason to lose what was paid for
    app()
