"""Counts: how many rows and people a table has is told by the register's export, never by the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from discreet.cli import console

STRANGERS = (
    "the table holds people whom the vault was restored without, or one-off pseudonyms. Who of them was erased cannot "
    "be told: their rows stay, and it is not kept who is in the new table. Hint: make it again from identifiers, "
    "which leaves out whoever was erased."
)
LEFT = "rows were left out, or have pseudonyms of their own; the entry of the table in the register says how many."


def uncounted(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the register without its counts: those of rows, and what `details` counts.

    >>> uncounted({"number": 4, "rows": 3, "details": {"uid": "a", "version": 1, "people": 3, "rows left out": 1}})
    {'number': 4, 'details': {'uid': 'a', 'version': 1}}
    """
    told = {name: value for name, value in entry.items() if name != "rows"}
    details = {name: value for name, value in entry["details"].items() if " " not in name and name != "people"}
    return told | {"details": details}


@contextmanager
def silent() -> Iterator[None]:
    """What a vault says of a table that it makes, in words of the command line and without counts."""
    import warnings

    from discreet.pseudonyms import LinkWarning, RowsWarning, StrangersWarning
    from discreet.pseudonyms.errors import MissingIdentifiers, TooIdentifying, Unparsable

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (MissingIdentifiers, TooIdentifying, Unparsable) as error:
            console.fail(_refused(error))
    for one in caught:
        if issubclass(one.category, RowsWarning):
            console.note(LEFT)
        elif issubclass(one.category, StrangersWarning):
            console.note(STRANGERS)
        elif issubclass(one.category, LinkWarning):
            console.note(str(one.message).replace("require_k=", "--require-k "))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _refused(error: Exception) -> str:
    from discreet.pseudonyms.errors import TooIdentifying, Unparsable

    if isinstance(error, TooIdentifying):
        return (
            "Somebody looks like fewer people than --require-k asks for. Nothing was shared. Hint: leave columns out, "
            "or make them coarser with discreet anonymise."
        )
    if isinstance(error, Unparsable):
        columns = ", ".join(repr(name) for name, count in error.counts.items() if count)
        return (
            f"Some values do not parse as declared, in {columns}. Hint: correct them; --unparsable skip leaves their "
            "rows out, --unparsable one-off gives each a pseudonym of its own."
        )
    return console.spoken(re.sub(r"^[\d,]+ rows hold", "Some rows hold", " ".join(str(error).split())))
