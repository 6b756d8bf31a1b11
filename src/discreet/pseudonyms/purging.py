"""Purges: lines of the suppression list that are past their date go, since they are personal data too."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.pseudonyms.entries import today, words

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


@dataclass(frozen=True)
class Purged:
    """What was taken off the list.

    Attributes
    ----------
    lines : how many.
    cleaned : whether no old byte is left in the log; otherwise `vault.tidy()` later, or it is a server's to forget.
    """

    lines: int
    cleaned: bool


def purge(vault: Vault, day: datetime.date | None = None, *, who: str | None = None) -> Purged:
    """Take off the suppression list what is past its date, today or on an earlier day."""
    if day is not None and day > today():
        raise ValueError(f"The `day` of a purge must not be in the future: {day} would end lines early.")
    with vault.database.transaction():
        count = vault.suppression.purge(day or today())
        if count:
            vault.register.append("purge", who=words(who, "who"), rows=count)
    return Purged(count, vault.database.tidy() if count else True)
