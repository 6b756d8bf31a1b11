"""Facts as the text of a privacy.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.cli.columns import Column
from discreet.cli.facts import Facts


def written(facts: Facts) -> str:
    """The text of a privacy.toml with these facts; `read` gives them back."""
    data: dict[str, Any] = {"path": facts.path, "unit": facts.unit, "max_rows_per_unit": facts.max_rows_per_unit}
    data |= {"n": facts.n, "public": True if facts.public else None}
    budget = {"epsilon": facts.epsilon, "delta": facts.delta, "neighbours": facts.neighbours}
    tables: list[tuple[str, dict[str, Any]]] = [("data", data)]
    tables += [(f"columns.{_text(one.name)}", _keys(one)) for one in facts.columns.values()]
    tables += [("budget", budget)]
    if facts.ledger_path is not None:
        tables.append(("ledger", {"path": facts.ledger_path, "data": facts.data_name}))
    return "\n".join(_written(name, content) for name, content in tables)


TEMPLATE = """\
# What is public about {data}, and what may be spent on it. Nothing was read but the names of columns{types}.
# Go through the columns: each is skipped, never to be read, until you say what it is. Take ranges and values from their
# meaning or from a code book, never from the data: the largest value there belongs to somebody.
#
#   kind = "number"                  kind = "category"
#   low = 0                          values = ["north", "south"]
#   high = 120
#   whole = true    # only whole numbers are possible
#
# Then: discreet describe {data} --epsilon {part:g}
"""
SUGGESTED = {
    "number": '# kind = "number"\n# low = \n# high = \n',
    "category": '# kind = "category"\n# values = []\n',
}


def template(facts: Facts, suggested: Mapping[str, str], data: str) -> str:
    """The text of a privacy.toml to be filled in with an editor: every column is skipped until it says what it is.

    Parameters
    ----------
    suggested : for columns whose type is known from a schema, the kind that fits.
    data : the name of the file of the data.
    """
    types = " and their types" if suggested else ""
    tables = written(facts).split("\n\n")
    for place, table in enumerate(tables):
        for name, kind in suggested.items():
            if table.startswith(f"[columns.{_text(name)}]"):
                tables[place] = f"{table}\n{SUGGESTED.get(kind, '')}".rstrip("\n")
    return TEMPLATE.format(data=data, types=types, part=facts.epsilon / 4) + "\n" + "\n\n".join(tables)


def _keys(column: Column) -> dict[str, Any]:
    ends = {"low": column.low, "high": column.high, "whole": True if column.whole else None}
    return {"kind": column.kind, **ends, "values": list(column.values) or None}


def _written(name: str, content: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in content.items() if value is not None]
    return "\n".join([f"[{name}]", *lines, ""])


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
