"""Pseudonyms: a vault that puts tokens in the place of identifiers, and can answer, forget and account.

Pseudonymous data are personal data: whoever holds the vault can tell who is who, and the columns that remain may do so
without it. Nothing here adds noise, and nothing here is anonymous.
"""

from discreet.pseudonyms.errors import (
    LinkWarning,
    MissingIdentifiers,
    RowsWarning,
    StrangersWarning,
    Tampered,
    TooIdentifying,
    UnknownName,
    Unparsable,
    VaultError,
    WrongKey,
)
from discreet.pseudonyms.fields import Field
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.keyfile import KeyFile
from discreet.pseudonyms.keys import Passphrase
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.persons import Erased, Ground, Locator, Person
from discreet.pseudonyms.register import Anchor, Verdict
from discreet.pseudonyms.vault import Vault

__all__ = [
    "Anchor",
    "Dialect",
    "Erased",
    "Field",
    "Ground",
    "KeyFile",
    "LinkWarning",
    "Locator",
    "MissingIdentifiers",
    "Passphrase",
    "Person",
    "RowsWarning",
    "Schema",
    "StrangersWarning",
    "Tampered",
    "TooIdentifying",
    "UnknownName",
    "Unparsable",
    "Vault",
    "VaultError",
    "Verdict",
    "WrongKey",
]
