"""Persons: what the vault says of one person, without naming anybody."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any

from discreet.pseudonyms.chunks import Bytes


class Ground(Enum):
    """Why an erasure may be refused: GDPR Article 17(3).

    >>> Ground.of("e")
    <Ground.CLAIMS: 'Article 17(3)(e): legal claims'>
    """

    EXPRESSION = "Article 17(3)(a): freedom of expression and information"
    DUTY = "Article 17(3)(b): a legal obligation, or a task in the public interest"
    HEALTH = "Article 17(3)(c): public interest in the area of public health"
    RESEARCH = "Article 17(3)(d): archiving, research or statistics that erasure would seriously impair"
    CLAIMS = "Article 17(3)(e): legal claims"

    @classmethod
    def of(cls, ground: Ground | str) -> Ground:
        """A ground by itself, by its letter (a to e) or by its name."""
        if isinstance(ground, Ground):
            return ground
        for one in cls:
            if isinstance(ground, str) and ground.lower() in (one.value[14], one.name.lower(), one.value.lower()):
                return one
        raise ValueError("The `ground` of a refusal is a letter of Article 17(3), 'a' to 'e'. Hint: list(Ground).")


@dataclass(frozen=True)
class Locator:
    """Where a person's rows are: a table and the pseudonym in it.

    Attributes
    ----------
    table, pseudonym, purpose : where.
    recipients : who has the table besides the holder.
    since : when it was made.
    retention : the last day it may be kept, or None.
    columns : what is in it.
    """

    table: str
    pseudonym: str
    purpose: str
    recipients: tuple[str, ...]
    since: str
    retention: str | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False, eq=False)
class Person:
    """Somebody the vault was asked about. Its repr names nobody.

    Attributes
    ----------
    known : whether the vault has a link for this person; with derived links, whether any table has.
    suppressed : the last day this person, having been erased, is kept from coming back; or None.
    locators : the tables that have the person, with the pseudonyms there.
    models : models that were fitted on those tables.
    shared : identities that were given and turned out to be several people's; what is stored under them is left out.
    unlocated : tables of which it is not known who is in them.
    unlocated_recipients : who has one of these, and so may have the person.
    unlocated_models : models that were fitted on one of these.
    """

    known: bool
    suppressed: datetime.date | None
    locators: tuple[Locator, ...]
    models: tuple[str, ...]
    shared: tuple[str, ...]
    unlocated: tuple[str, ...]
    unlocated_recipients: tuple[str, ...]
    unlocated_models: tuple[str, ...]
    _vault: str
    _kinds: tuple[str, ...]
    _tags: Bytes
    _names: Names

    def __repr__(self) -> str:
        """Counts alone."""
        return f"<Person in {len(self.locators)} tables>" if self.known else "<Person not known to the vault>"

    def __reduce_ex__(self, protocol: object) -> Any:
        """Refuse: a handle is of use with its open vault alone."""
        raise TypeError("A Person cannot be pickled or copied. Hint: vault.find again.")

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return tuple(dict.fromkeys(one.table for one in self.locators))

    @property
    def purposes(self) -> tuple[str, ...]:
        """For what the person's data are used."""
        return tuple(dict.fromkeys(one.purpose for one in self.locators))

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who received the person's data."""
        return tuple(dict.fromkeys(name for one in self.locators for name in one.recipients))


@dataclass(frozen=True)
class Erased:
    """What an erasure did, and what is left to do.

    Attributes
    ----------
    entry : its number in the register.
    cut : whether a stored link was deleted; with derived links there is none.
    locators : rows that the holder still has to delete, by table and pseudonym.
    recipients : to be told (Article 19): of those tables, and of the unlocated ones, which may have the person.
    models : fitted on those tables, or on unlocated ones.
    suppressed : the last day the person is kept from coming back.
    cleaned : whether all old bytes are gone from the vault's files; if not, `vault.tidy()` later.
    remains : what is left, in words.
    unlocated : tables of which it is not known who is in them; to be looked into.
    uncovered : identities that were neither given nor known to be the person's: it may be known by them still.
    """

    entry: int
    cut: bool
    locators: tuple[Locator, ...]
    recipients: tuple[str, ...]
    models: tuple[str, ...]
    suppressed: datetime.date
    cleaned: bool
    remains: tuple[str, ...]
    unlocated: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In words."""
        lines = [f"Erased (entry {self.entry} of the register).", *self.remains]
        lines += [f"Delete the rows of {one.pseudonym} in {one.table!r}." for one in self.locators]
        lines += [f"Look into {name!r}: it was not kept who is in it." for name in self.unlocated]
        lines += [f"Tell {name!r} of the erasure (Article 19)." for name in self.recipients]
        lines += [f"Judge whether the model {name!r} has to be fitted again." for name in self.models]
        return "\n".join(lines)


class Names:
    """Words that a text must not hold: the values by which a person was found, as salted digests."""

    __slots__ = ("_digests", "_salt")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._salt = os.urandom(16)
        self._digests = {digest for value in values.values() for digest in self._of([str(value)])}

    def __repr__(self) -> str:
        """Nothing of them."""
        return "<Names>"

    def check(self, text: str | None, name: str) -> None:
        """Refuse a text that names the person: the register holds nobody."""
        if text is not None and self._digests & self._of([text]):
            raise ValueError(f"The `{name}` must not name the person: the register holds no identifiers.")

    def _of(self, texts: Iterable[str]) -> set[bytes]:
        """Digests of a text's words, and of the text without what is between words.

        Words of letters count from two on: "Li" is a name. Numbers count from four digits on: "01" is in every date.
        """
        found = set()
        for text in texts:
            words = re.findall(r"\w+", text.casefold())
            joined = re.findall(r"[\w-]+", text.casefold())
            for word in (*words, *(one.replace("-", "") for one in joined), "".join(words)):
                if len(word) >= (4 if word.isdigit() else 2):
                    found.add(blake2b(word.encode("utf-8", "replace"), key=self._salt).digest())
        return found
