"""Identities: which fields, together, name one person."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl

from discreet.errors import VersionError
from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, UnknownName
from discreet.pseudonyms.fields import Field
from discreet.pseudonyms.netstrings import netstring

FORM = 1  # of the document


@dataclass(frozen=True, init=False, eq=False)
class Schema:
    """Fields, and the identities made of them, in the order in which they are tried.

    Parameters
    ----------
    fields : a field, or its short text, for each name.
    identities : the names of the fields of each identity; their order is part of the identity.
    number : 1, then one more with every change (`changed`).
    since : for each identity the number at which it took its present fields and rules.
    unicode : the Unicode version with which it was declared; see `characters` for why a later one reads the same.

    >>> people = Schema({"ssn": "digits:9", "name": "text", "born": "date"},
    ...                 {"ssn": ["ssn"], "name and birth": ["name", "born"]})
    >>> people.covered(["born", "name"])
    ('name and birth',)
    >>> people.changed({**people.fields, "mail": "email"}, {**people.identities, "mail": ["mail"]}).since
    mappingproxy({'ssn': 1, 'name and birth': 1, 'mail': 2})
    """

    fields: Mapping[str, Field]
    identities: Mapping[str, tuple[str, ...]]
    number: int
    since: Mapping[str, int]
    unicode: str

    def __init__(
        self,
        fields: Mapping[str, Field | str],
        identities: Mapping[str, Sequence[str]],
        *,
        number: int = 1,
        since: Mapping[str, int] | None = None,
        unicode: str = unicodedata.unidata_version,
    ) -> None:
        put = object.__setattr__
        put(self, "fields", MappingProxyType({_name(key): Field.of(value) for key, value in fields.items()}))
        put(
            self, "identities", MappingProxyType({_name(key): _listed(key, names) for key, names in identities.items()})
        )
        put(self, "number", number)
        put(self, "since", MappingProxyType({key: (since or {}).get(key, number) for key in self.identities}))
        put(self, "unicode", unicode)
        self._check()

    def __eq__(self, other: object) -> bool:
        """Whether the documents are the same, the order of identities included."""
        return isinstance(other, Schema) and self.text() == other.text()

    def __hash__(self) -> int:
        return hash(self.text())

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        """Through its document: it holds no secret, and read-only mappings do not pickle."""
        return Schema.from_document, (self.document(),)

    def _check(self) -> None:
        if not self.identities:
            raise ValueError('The `identities` must name at least one. Hint: identities={"ssn": ["ssn"]}.')
        unknown = {name for names in self.identities.values() for name in names} - set(self.fields)
        if unknown:
            raise UnknownName(f"No field {', '.join(sorted(unknown))}. Known: {', '.join(self.fields)}.")
        if len({frozenset(names) for names in self.identities.values()}) < len(self.identities):
            raise ValueError("The `identities` must differ in their fields. Got two with the same.")
        if self.number < 1 or any(not 1 <= number <= self.number for number in self.since.values()):
            raise ValueError(f"The `since` of an identity must be from 1 to the schema's number, {self.number}.")

    def covered(self, fields: Iterable[str]) -> tuple[str, ...]:
        """The identities whose fields are all among these, in declared order."""
        given = set(fields)
        return tuple(identity for identity, names in self.identities.items() if given.issuperset(names))

    def changed(self, fields: Mapping[str, Field | str], identities: Mapping[str, Sequence[str]]) -> Schema:
        """The next version; identities whose fields and rules stay the same keep their number, and so their people."""
        following = Schema(fields, identities, number=self.number + 1)
        same = {name: number for name, number in self.since.items() if following._rules(name) == self._rules(name)}
        unchanged = len(same) == len(following.identities) and list(self.identities) == list(following.identities)
        if unchanged and following.fields == self.fields:
            return self
        return Schema(fields, identities, number=following.number, since=same)

    def _rules(self, identity: str) -> list[tuple[str, Field]] | None:
        names = self.identities.get(identity)
        return None if names is None else [(name, self.fields[name]) for name in names]

    def serialise(self, identity: str, columns: pl.DataFrame) -> pl.Series:
        """The message of each row for one identity, binary; null where a field is null.

        Parameters
        ----------
        identity : a declared name.
        columns : canonical strings, a column for each field of the identity (others are not looked at).

        The message is a run of netstrings: the identity's number, its name, then its values in declared order. A
        netstring tells its own length, so a message is cut back into this list in one way only; and number and name
        together fix how many values follow and which fields they are. So different identities have different messages.
        """
        names = self._names(identity)
        absent = [name for name in names if name not in columns.columns]
        if absent:
            raise MissingIdentifiers(f"The identity {identity!r} needs the fields {', '.join(absent)}.")
        head = netstring(str(self.since[identity])) + netstring(identity)
        parts: list[pl.Expr] = []
        for name in names:
            before = head.decode() if not parts else ","
            value = pl.col(name)
            parts += [pl.lit(before), value.str.len_bytes().cast(pl.String), pl.lit(":"), value]
        return columns.select(pl.concat_str(*parts, pl.lit(",")).cast(pl.Binary).alias(identity)).to_series()

    def _names(self, identity: str) -> tuple[str, ...]:
        if identity not in self.identities:
            raise UnknownName(f"No identity {identity!r}. Known: {', '.join(self.identities)}.")
        return self.identities[identity]

    def document(self) -> dict[str, Any]:
        """The schema as JSON can hold it; the order of identities and of their fields is kept."""
        return {
            "form": FORM,
            "number": self.number,
            "unicode": self.unicode,
            "fields": {name: value.document() for name, value in self.fields.items()},
            "identities": [[name, self.since[name], list(names)] for name, names in self.identities.items()],
        }

    def text(self) -> str:
        """The document as one text, the same for equal schemas."""
        return json.dumps(self.document(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Schema:
        """The schema of a document; one of a later version of discreet is refused."""
        form = document.get("form")
        if type(form) is not int or form > FORM:
            raise VersionError("The schema was written by a newer version of discreet. Hint: upgrade discreet.")
        try:
            return cls(
                {name: Field.of(value) for name, value in document["fields"].items()},
                {name: names for name, _, names in document["identities"]},
                number=document["number"],
                since={name: since for name, since, _ in document["identities"]},
                unicode=document["unicode"],
            )
        except (KeyError, TypeError, ValueError, AttributeError, LookupError):
            raise Tampered("The stored schema does not read as one.") from None


def _name(name: str) -> str:
    """A name of a field or identity: text of at most 64 printable characters."""
    if not isinstance(name, str) or not 1 <= len(name) <= 64 or not name.isprintable() or name.strip() != name:
        raise ValueError(
            f"A name must be text of 1 to 64 printable characters without spaces at the ends. Got {name!r}."
        )
    return name


def _listed(identity: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        raise ValueError(f"The identity {identity!r} must list at least one field, each once.")
    return tuple(names)
