"""Kinds of identities, over all versions of the fields.

A change of rules gives an identity other tags. Whoever was known, or erased, by the old ones is still the same person:
so the older versions of an identity are looked up too. An identity goes on in another one if both have the same
fields, whatever its name and rules; one whose fields are no identity any more decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.messages import Messages, messages

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """An identity in one version.

    Attributes
    ----------
    label : its version and name.
    fields : its fields, as one text; the same for all versions of an identity.
    rank : how sharp it is: 0 for the first identity as declared now.
    age : 0 as declared now, more for older versions.
    """

    label: str
    fields: str
    rank: int
    age: int


@dataclass(frozen=True, repr=False)
class Seen:
    """Which rows have an identity of one kind, and their messages."""

    kind: Kind
    rows: Rows
    texts: pl.Series

    def __repr__(self) -> str:
        """How many."""
        return f"<Seen: {len(self.rows)} rows>"


def kinds(schemas: Sequence[Schema]) -> dict[str, Kind]:
    """All kinds by label, the sharpest first, and the newest first among the versions of one identity.

    >>> old = Schema({"ssn": "digits"}, {"ssn": ["ssn"]})
    >>> new = old.changed({"ssn": "digits:9"}, {"ssn": ["ssn"]})
    >>> [(kind.label, kind.rank, kind.age) for kind in kinds([old, new]).values()]
    [('2:ssn', 0, 0), ('1:ssn', 0, 1)]
    """
    ranks = {frozenset(names): rank for rank, names in enumerate(schemas[-1].identities.values())}
    found: dict[str, Kind] = {}
    for age, schema in enumerate(reversed(schemas)):
        for name, names in schema.identities.items():
            if frozenset(names) in ranks:
                label = _label(schema, name)
                found.setdefault(label, Kind(label, json.dumps(sorted(names)), ranks[frozenset(names)], age))
    return {one.label: one for one in sorted(found.values(), key=lambda one: (one.rank, one.age))}


def seen(schemas: Sequence[Schema], found: Messages) -> list[Seen]:
    """What rows say of people, in all versions up to the one they were read with; in the order of `kinds`."""
    until = [schema for schema in schemas if schema.number <= found.schema.number]
    known = kinds(until)
    own = {known[_label(found.schema, name)]: pair for name, pair in found.found.items()}
    newest = {kind.fields: rows for kind, (rows, _) in own.items()}
    for schema in reversed(until[:-1]):
        labels = {name: _label(schema, name) for name in schema.covered(found.raw.columns)}
        wanted = {name: known[label] for name, label in labels.items() if label in known and known[label] not in own}
        if not wanted:
            continue
        older = messages(schema, found.raw.select(name for name in found.raw.columns if name in schema.fields))
        for name, kind in wanted.items():
            rows, texts = older.found[name]
            here = np.isin(rows, newest[kind.fields])  # what does not parse as declared now names nobody
            own[kind] = rows[here], texts.filter(pl.Series(here))
    return [Seen(kind, *own[kind]) for kind in known.values() if kind in own]


def _label(schema: Schema, name: str) -> str:
    return f"{schema.since[name]}:{name}"


def name_of(label: str) -> str:
    """The name of an identity, without its version."""
    return label.partition(":")[2]
