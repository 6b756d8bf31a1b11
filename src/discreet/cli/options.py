"""Options that several verbs share, each with one meaning."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer


def positive(text: str) -> float:
    """A number > 0, of what was typed."""
    number = _float(text)
    if not (number > 0 and math.isfinite(number)):
        raise typer.BadParameter(f"it must be a number > 0, such as 0.5. Got {text!r}.")
    return number


def positives(text: str, option: str) -> list[float]:
    """Numbers > 0, of what was typed between commas."""
    try:
        found = [positive(one) for one in listed(text)]
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint=option) from None
    if not found:
        raise typer.BadParameter("name at least one number > 0, such as 0.1,1,10.", param_hint=option)
    return found


def small(text: str) -> float:
    """A number within [0, 1), of what was typed."""
    number = _float(text)
    if not 0 <= number < 1:
        raise typer.BadParameter(f"it must be 0, or a small number such as 1e-6. Got {text!r}.")
    return number


def between(text: str) -> float:
    """A number between 0 and 1, neither of them, of what was typed."""
    number = _float(text)
    if not 0 < number < 1:
        raise typer.BadParameter(f"it must be a number between 0 and 1, such as 0.6. Got {text!r}.")
    return number


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def listed(text: str | None) -> list[str]:
    """What commas separate, without spaces around."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def pairs(texts: list[str], option: str) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"write NAME=VALUE. Got {text!r}.", param_hint=option)
        if name.strip() in found:
            raise typer.BadParameter(f"{name.strip()!r} is there twice.", param_hint=option)
        found[name.strip()] = value.strip()
    return found


def option(*names: str, **more: Any) -> Any:
    """An option whose default goes without saying."""
    return typer.Option(*names, show_default=False, **more)


Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.", show_default=False)]
Epsilon = Annotated[
    float, option("--epsilon", "-e", parser=positive, metavar="NUMBER", help="What this answer may cost: ε > 0.")
]
Delta = Annotated[
    float | None,
    option("--delta", parser=small, metavar="NUMBER", help="Its δ; the one of privacy.toml unless given."),
]
FactsFile = Annotated[
    Path | None,
    option("--facts", metavar="FILE", help="What is public of the data; privacy.toml beside it if left out."),
]
Force = Annotated[bool, option("--force", help="Replace outputs that are there already.")]
Json = Annotated[bool, option("--json", help="Print one JSON document, for scripts.")]
Seed = Annotated[
    int | None, option("--seed", help="For tests and demonstrations: the noise repeats itself, and is NOT PRIVATE.")
]
