"""What the register says of one act of processing (GDPR Article 30): never a person."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from discreet.arguments import is_whole
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.settings import Change

LONGEST = 500  # characters of a text in an entry


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One act.

    Attributes
    ----------
    number, time : given by the register; the time is UTC.
    act : "create", "started", "pseudonymise", "share", "failed", "access", "erase", "refuse", "rotate" ...
    who : who did it, as the caller says, or the login name.
    purpose, table, partner : names, where the act has them.
    categories : the columns that were processed.
    rows : how many rows.
    recipients : who received what.
    retention : the last day the result may be kept, as YYYY-MM-DD.
    basis : the legal basis or ground.
    details : what else belongs to the act.
    changes : settings that it changed.
    """

    number: int = 0
    time: str = ""
    act: str = ""
    who: str = ""
    purpose: str | None = None
    table: str | None = None
    partner: str | None = None
    categories: tuple[str, ...] = ()
    rows: int | None = None
    recipients: tuple[str, ...] = ()
    retention: str | None = None
    basis: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    def text(self) -> str:
        """The entry as canonical JSON, without its number, which is a column of its own."""
        document = {name: value for name, value in asdict(self).items() if name != "number"}
        return json.dumps(document, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, number: int, text: str) -> Entry:
        """The entry of a text that passed its check."""
        document = json.loads(text)
        unknown = set(document) - {one.name for one in fields(cls)}
        if unknown:
            raise Tampered("An entry of the register does not read as one.")
        for name in ("categories", "recipients"):
            document[name] = tuple(document[name])
        document["changes"] = tuple((kind, name, mac) for kind, name, mac in document["changes"])
        return cls(number=number, **document)

    def public(self) -> dict[str, Any]:
        """What an export shows: all but the checks of settings."""
        document = asdict(self)
        del document["changes"]
        return document


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def day(value: str | datetime.date | int | None, name: str = "retention") -> str | None:
    """A date as YYYY-MM-DD: from a date, its text, or a number of days from today.

    >>> day(datetime.date(2030, 1, 31)), day("2030-01-31"), day(None)
    ('2030-01-31', '2030-01-31', None)
    >>> day("31/1/2030")
    Traceback (most recent call last):
    ...
    ValueError: The `retention` must be a date, its text YYYY-MM-DD, or a number of days. Got '31/1/2030'.
    """
    if value is None:
        return None
    try:
        if isinstance(value, datetime.datetime):
            return value.date().isoformat()
        if isinstance(value, datetime.date):
            return value.isoformat()
        if is_whole(value) and value >= 0:
            return (today() + datetime.timedelta(days=int(value))).isoformat()
        if isinstance(value, str):
            return datetime.date.fromisoformat(value).isoformat()
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"The `{name}` must be a date, its text YYYY-MM-DD, or a number of days. Got {value!r}.")


def today() -> datetime.date:
    """The day in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def words(value: str | None, name: str) -> str | None:
    """A short printable text for an entry."""
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST or not value.isprintable():
        raise ValueError(f"The `{name}` must be printable text of 1 to {LONGEST} characters.")
    return value
