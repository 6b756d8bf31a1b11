"""Hierarchies as they are written on the command line: how a column may be made coarser."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.cli.facts import Facts

FORMS = "NAME=FILE.csv, NAME=LOW:HIGH:WIDTH, NAME=A,B,C or, where privacy.toml has the column, NAME alone"


def hierarchy(text: str, facts: Facts | None) -> tuple[str, Any]:
    """The column and its hierarchy.

    | text | what it is |
    | --- | --- |
    | NAME=FILE.csv | one line for each value, one column for each level, without a header |
    | NAME=LOW:HIGH:WIDTH | numbers in intervals, joined two by two; whole ones, unless a point is written |
    | NAME=A,B,C | a list of values, or all of them together |
    | NAME | by the range or the values in privacy.toml |
    """
    from discreet.anonymity import Hierarchy

    name, equals, rule = text.partition("=")
    name, rule = name.strip(), rule.strip()
    if not equals:
        return name, _known(name, facts)
    if rule.lower().endswith(".csv"):
        return name, _file(name, Path(rule))
    if rule.count(":") == 2:
        return name, _intervals(name, rule)
    values = [part.strip() for part in rule.split(",") if part.strip()]
    if len(values) < 2:
        raise ValueError(f"The hierarchy of {name!r} cannot be read. Hint: {FORMS}.")
    return name, Hierarchy.flat(values)


def files(texts: Iterable[str]) -> list[Path]:
    """The files that hierarchies are read from."""
    rules = [text.partition("=")[2].strip() for text in texts]
    return [Path(rule) for rule in rules if rule.lower().endswith(".csv")]


def _file(name: str, path: Path) -> Any:
    from discreet.anonymity import Hierarchy

    if not path.is_file():
        raise ValueError(f"There is no file {str(path)!r} with the hierarchy of {name!r}.")
    try:
        return Hierarchy.from_table(path)
    except Exception:  # what it says may quote the file, which may be the wrong one
        raise ValueError(
            f"{str(path)!r} cannot be used as the hierarchy of {name!r}. Hint: one line for each value, one column for "
            "each level, no header, no empty cell, and each group within one group of the next level."
        ) from None


def _intervals(name: str, rule: str) -> Any:
    from discreet.anonymity import Hierarchy

    try:
        low, high, width = (float(part) for part in rule.split(":"))
    except ValueError:
        raise ValueError(f"The intervals of {name!r} must be three numbers, such as 0:120:5. Got {rule!r}.") from None
    whole = "." not in rule  # 0.0:100.0:5 is of measurements, of which the finest interval is told
    return Hierarchy.intervals(low, high, width, whole=whole)


def _known(name: str, facts: Facts | None) -> Any:
    from discreet.anonymity import Hierarchy

    if facts is None:
        raise ValueError(f"How {name!r} may be made coarser is not known. Hint: {FORMS}.")
    column = facts.column(name, "--quasi")
    if column.kind == "category":
        return Hierarchy.flat(column.values)
    assert column.low is not None and column.high is not None
    return Hierarchy.intervals(column.low, column.high, (column.high - column.low) / 16, whole=False)
