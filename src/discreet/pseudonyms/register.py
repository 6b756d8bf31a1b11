"""The register: records of processing (GDPR Article 30), numbered and chained by MACs.

    mac_0 = HMAC-SHA256(K_register; the vault's name)
    mac_i = HMAC-SHA256(K_register; i, mac_(i-1), entry_i)      each part as a netstring

| somebody who can write the file, without the key | is found by |
| --- | --- |
| changes, adds, reorders or takes out an entry | `verify` |
| cuts the last entries off, or puts older rows back | `verify`, and whatever is written next: see `sums.py` |
| puts an older file back | `verify` with an anchor from after it |

An anchor is the number of entries and the last MAC. Keep it elsewhere, on paper if need be: without one a register can
be found consistent, but nobody can know whether it is complete.
"""

from __future__ import annotations

import csv
import datetime
import getpass
import hmac
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from discreet.pseudonyms.database import Database
from discreet.pseudonyms.entries import Entry, now, today
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.netstrings import netstrings

_LAST = "select number, mac from entries order by number desc limit 1"
_INSERT = "insert into entries (number, entry, mac) values (?, ?, ?)"
BATCH = 1000
LISTING = ("erase", "purge", "restore")  # acts that change the suppression list
LISTED = "lines of the suppression list"
STARTED = "started"  # the act of a run that is made in pieces, and what its last entry calls the number of the first


@dataclass(frozen=True)
class Anchor:
    """How many entries there are, and the MAC of the last: proof of completeness, if kept elsewhere.

    >>> Anchor.parse("2-" + "ab" * 32).count
    2
    """

    count: int
    head: str

    def __str__(self) -> str:
        """On one line, to be printed or written down."""
        return f"{self.count}-{self.head}"

    @classmethod
    def parse(cls, text: str | Anchor) -> Anchor:
        """An anchor from its line."""
        if isinstance(text, Anchor):
            return text
        found = re.fullmatch(r"\s*([0-9]{1,18})-([0-9a-f]{64})\s*", text)
        if not found:
            raise ValueError("An anchor is a number, a hyphen and 64 hexadecimal digits.")
        return cls(int(found[1]), found[2])


@dataclass(frozen=True)
class Verdict:
    """What `verify` found; damage raises `Tampered` instead.

    Attributes
    ----------
    entries : how many.
    complete : up to which entry the register is proved complete; None without an anchor.
    unfinished : entries of runs that were started and have not ended: they are running now, or were cut off.
    """

    entries: int
    complete: int | None = None
    unfinished: tuple[int, ...] = ()

    def __str__(self) -> str:
        """In words."""
        words = "consistent, completeness unproven"
        if self.complete is not None:
            words = f"consistent, register complete up to entry {self.complete} of {self.entries}"
        if not self.unfinished:
            return words
        return f"{words}; started and not finished: entry {', '.join(map(str, self.unfinished))}"


class Unfinished:
    """Runs that were started and not closed, gathered from entries in order."""

    def __init__(self) -> None:
        self._open: dict[Any, Entry] = {}

    def add(self, entry: Entry) -> None:
        """The next entry: it may start a run, or close one."""
        if entry.act == STARTED:
            self._open[entry.number] = entry
        else:
            self._open.pop(entry.details.get(STARTED), None)

    def all(self) -> tuple[Entry, ...]:
        """Those that are open, oldest first."""
        return tuple(self._open.values())


class Register:
    """The entries of one vault.

    Parameters
    ----------
    database : where they are.
    key : 32 bytes, for the register alone.
    vault : the vault's name, where the chain begins.
    listed : how many lines the suppression list has; entries that change it say so, for `verify`.
    """

    def __init__(self, database: Database, key: bytes, vault: str, listed: Callable[[], int] | None = None) -> None:
        self._database = database
        self._key = key
        self._listed = listed
        self._start = self._hmac(b"register", vault.encode())

    def __repr__(self) -> str:
        """No key."""
        return "<Register>"

    def append(self, act: str, *, who: str | None = None, **content: Any) -> Entry:
        """Add an entry; when this returns outside a transaction, it is on disk."""
        with self._database.transaction():
            if self._database.witness is not None:
                self._database.witness.begin()
            last = self.anchor()
            if act in LISTING and self._listed is not None:
                # an older list put back is not told as if it were the list
                if self._database.witness is not None:
                    self._database.witness.require("suppressed")
                content["details"] = {**content.get("details", {}), LISTED: self._listed()}
            entry = Entry(number=last.count + 1, time=now(), act=act, who=who or login(), **content)
            text = entry.text()
            mac = self._mac(entry.number, bytes.fromhex(last.head), text)
            self._database.write(_INSERT, (entry.number, text, mac))
        return entry

    def anchor(self) -> Anchor:
        """The state now, to be kept elsewhere."""
        rows = self._database.read(_LAST)
        if not rows:
            return Anchor(0, self._start.hex())
        number, mac = rows[0]
        if not isinstance(number, int) or not isinstance(mac, bytes | memoryview):
            raise Tampered("The last entry of the register was changed. Hint: restore a backup.")
        return Anchor(number, bytes(mac).hex())

    def at(self, number: int) -> Anchor:
        """The state just after an entry."""
        rows = self._database.read("select mac from entries where number = ?", (number,))
        if not rows:
            raise Tampered(f"The register has no entry {number}.")
        return Anchor(number, bytes(rows[0][0]).hex())

    def has(self, anchor: Anchor) -> bool:
        """Whether an anchor is of this register, as far as its entries are sound."""
        rows = self._database.read("select mac from entries where number = ?", (anchor.count,))
        return any(isinstance(mac, bytes | memoryview) and bytes(mac).hex() == anchor.head for (mac,) in rows)

    def entry(self, number: int) -> Entry:
        """One entry; `verify` checks it."""
        rows = self._database.read("select entry from entries where number = ?", (number,))
        if not rows:
            raise Tampered(f"The register has no entry {number}.")
        return Entry.read(number, rows[0][0])

    def entries(self) -> Iterator[Entry]:
        """All entries in order, each checked; raises `Tampered`."""
        for entry, _ in self._checked():
            yield entry

    def heads(self) -> bytes:
        """The MACs of all entries, 32 bytes each, each checked; raises `Tampered`."""
        return b"".join(mac for _, mac in self._checked())

    def verify(self, anchor: Anchor | str | None = None) -> Verdict:
        """Check every entry; with an anchor, also that nothing up to it is missing or was replaced."""
        count, kept = 0, None if anchor is None else Anchor.parse(anchor)
        restored: list[int] = []
        runs = Unfinished()
        at = self._start if kept is not None and kept.count == 0 else None
        for entry, mac in self._checked():
            count = entry.number
            runs.add(entry)
            restored += [count] if entry.act == "restore" else []
            at = mac if kept is not None and count == kept.count else at
        if kept is not None and (at is None or not hmac.compare_digest(at.hex(), kept.head)):
            raise Tampered(_mismatch(count, kept, restored))
        return Verdict(count, None if kept is None else kept.count, tuple(run.number for run in runs.all()))

    def is_open(self, number: int) -> bool:
        """Whether no later entry closes the run that this entry started."""
        rows = self._database.read("select number, entry from entries where number > ? order by number", (number,))
        return all(Entry.read(at, text).details.get(STARTED) != number for at, text in rows)

    def unfinished(self) -> tuple[Entry, ...]:
        """Entries of runs that were started, and that no later entry closes."""
        runs = Unfinished()
        for entry in self.entries():
            runs.add(entry)
        return runs.all()

    def overdue(self, day: datetime.date | str | None = None) -> tuple[Entry, ...]:
        """Entries whose retention date has passed and whose table was not retired since, by its recipients too."""
        limit = (day.isoformat() if isinstance(day, datetime.date) else day) or today().isoformat()
        late: dict[Any, Entry] = {}
        for entry in self.entries():
            uid = entry.details.get("uid")
            if entry.act == "retire":
                if not any(reason.startswith("recipient ") for reason in entry.details.get("kept for", ())):
                    late.pop(uid, None)
            elif uid is not None and entry.retention is not None and entry.retention < limit:
                late[uid] = entry
        return tuple(late.values())

    def export(self, form: Literal["json", "csv"] = "json") -> str:
        """All entries as text."""
        documents = [entry.public() for entry in self.entries()]
        if form == "json":
            return json.dumps(documents, indent=2, ensure_ascii=False)
        if form != "csv":
            raise ValueError(f"The `form` of an export is 'json' or 'csv'. Got {form!r}.")
        return _csv(documents)

    def _checked(self) -> Iterator[tuple[Entry, bytes]]:
        number, before = 0, self._start
        while True:
            rows = self._database.read(
                f"select number, entry, mac from entries where number > ? order by number limit {BATCH}", (number,)
            )
            for at, text, mac in rows:
                number += 1
                if at != number or not self._sound(number, before, text, mac):
                    raise Tampered(f"The register was changed or cut at entry {number}.")
                before = bytes(mac)
                yield Entry.read(number, text), before
            if not rows:
                break
        if self._database.read("select count(*) from entries where number < 1")[0][0]:
            raise Tampered("The register holds an entry before its first.")

    def _sound(self, number: int, before: bytes, text: Any, mac: Any) -> bool:
        if not isinstance(text, str) or not isinstance(mac, bytes | memoryview):
            return False
        return hmac.compare_digest(self._mac(number, before, text), bytes(mac))

    def _mac(self, number: int, before: bytes, text: str) -> bytes:
        return self._hmac(str(number).encode(), before, text.encode())

    def _hmac(self, *parts: bytes) -> bytes:
        return hmac.digest(self._key, netstrings(*parts), "sha256")


def login() -> str:
    """The login name, for entries that name nobody else."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


def _mismatch(count: int, anchor: Anchor, restored: list[int]) -> str:
    if count < anchor.count:
        message = f"The register has {count} entries, the anchor {anchor.count}: it was cut, or an older file put back."
    else:
        message = f"The register up to entry {anchor.count} is not the one of the anchor."
    if restored:
        message += f" Hint: a backup was restored at entry {restored[-1]}; anchors from before it no longer fit."
    return message


def _csv(documents: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    names = list(Entry().public())
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for document in documents:
        flat = {name: "; ".join(value) if isinstance(value, tuple) else value for name, value in document.items()}
        flat["details"] = json.dumps(document["details"], sort_keys=True, ensure_ascii=False)
        writer.writerow({name: _plain(value) for name, value in flat.items()})
    return out.getvalue()


def _plain(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
