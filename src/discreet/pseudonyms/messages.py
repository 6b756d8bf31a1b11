"""From raw identifiers to the messages of identities: parsed, checked, serialised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.pseudonyms.errors import MissingIdentifiers, UnknownName
from discreet.pseudonyms.identities import Schema

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Messages:
    """What rows of identifiers say of people; its repr shows numbers alone.

    Parameters
    ----------
    rows : how many.
    found : for each identity, in declared order, the rows in which all its fields are there, and their messages.
    bad : for each field, in which rows its value does not parse; such a value counts as missing.
    schema, raw : what they were read with, and from.
    """

    rows: int
    found: Mapping[str, tuple[npt.NDArray[np.int64], pl.Series]]
    bad: Mapping[str, Bools]
    schema: Schema
    raw: pl.DataFrame

    def __repr__(self) -> str:
        return f"<Messages of {self.rows} rows>"

    def slice(self, start: int, stop: int) -> Messages:
        """Some of the rows."""
        found = {}
        for identity, (places, texts) in self.found.items():
            first, last = np.searchsorted(places, [start, stop])
            found[identity] = places[first:last] - start, texts[first:last]
        rows = min(stop, self.rows) - start
        bad = {name: wrong[start:stop] for name, wrong in self.bad.items()}
        return Messages(rows, found, bad, self.schema, self.raw[start:stop])

    def unparsable(self) -> Bools:
        """The rows in which some value does not parse."""
        some = np.zeros(self.rows, bool)
        for one in self.bad.values():
            some |= one
        return some


def check(schema: Schema, fields: list[str]) -> None:
    """Refuse fields that are not declared, or that name nobody together."""
    unknown = [name for name in fields if name not in schema.fields]
    if unknown:
        raise UnknownName(
            f"No field {', '.join(map(repr, unknown))}. Known: {', '.join(schema.fields)}. "
            'Hint: a mapping {"column": "field"} says of which field a column is.'
        )
    if not schema.covered(fields):
        needed = "; ".join(f"{name} ({', '.join(of)})" for name, of in schema.identities.items())
        raise MissingIdentifiers(f"The fields {', '.join(fields)} cover no identity. Identities: {needed}.")


def messages(schema: Schema, raw: pl.DataFrame) -> Messages:
    """The messages of rows whose columns are named after fields."""
    parsed = {name: schema.fields[name].canonical(raw[name]) for name in raw.columns}
    canonical = pl.DataFrame({name: one.values for name, one in parsed.items()})
    found = {}
    for identity in schema.covered(raw.columns):
        whole = np.ones(raw.height, bool)
        for name in schema.identities[identity]:
            if canonical[name].has_nulls():
                whole &= canonical[name].is_not_null().to_numpy()
        rows = np.flatnonzero(whole)
        chosen = canonical if len(rows) == raw.height else canonical[rows]
        found[identity] = rows, schema.serialise(identity, chosen)
    bad = {name: one.bad.to_numpy() for name, one in parsed.items()}
    return Messages(raw.height, found, bad, schema, raw)
