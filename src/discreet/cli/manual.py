"""Manual: what `--help` shows of a verb, and of a family of verbs."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

FENCE = "```"
BLOCK = re.compile(r"(?m)(?:^ {4}.*(?:\n|\Z))+")


class Verb(TyperCommand):
    """A verb, whose flags are not shown as if they wanted a value."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page."""
        _dress(self, ctx)
        super().format_help(ctx, formatter)


class Family(TyperGroup):
    """Verbs under one name."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page."""
        _dress(self, ctx)
        super().format_help(ctx, formatter)


def family(about: str, *examples: str) -> typer.Typer:
    """Verbs under one name, with examples of what they are for; in Markdown, where each stays a line of its own."""
    lines = "\n".join(f"    {line}" for line in examples)
    return typer.Typer(
        cls=Family, no_args_is_help=True, rich_markup_mode="markdown", help=f"{about}\n\nFor example:\n\n{lines}"
    )


def fenced(text: str) -> str:
    r"""Text whose indented lines are between fences: an indent alone may be lost before it is shown.

    >>> print(fenced("For example:\n\n    discreet study list\n"))
    For example:
    <BLANKLINE>
    ```
    discreet study list
    ```
    """
    if FENCE in text:
        return text
    return BLOCK.sub(lambda found: f"{FENCE}\n{inspect.cleandoc(chr(10) + found[0])}\n{FENCE}\n", text).rstrip("\n")


def _dress(command: Any, ctx: Any) -> None:
    command.help = fenced(command.help or "")
    for param in command.get_params(ctx):
        if getattr(param, "is_flag", False):
            param.display_type_rich = lambda ctx: None
