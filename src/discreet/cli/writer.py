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
