"""Rights of people: access (Article 15), erasure (17), and what may be refused.

No entry of the register names a person, so that the record of an erasure does not undo it.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.entries import Entry, day, now, today, words
from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, Unparsable, VaultError
from discreet.pseudonyms.messages import check, messages
from discreet.pseudonyms.persons import Erased, Ground, Locator, Names, Person
from discreet.pseudonyms.runs import Run, runs
from discreet.pseudonyms.suppression import KEEP
from discreet.pseudonyms.tokens import one_way, seal

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

STORED = "The link from the identity to the id is deleted; tokens in tables lead to nobody the vault knows."
DERIVED = (
    "Links are derived: nothing was deleted, future use is refused. Whoever has the vault can still compute the"
    " pseudonyms from the identifiers."
)
LISTED = "A keyed tag stays on the suppression list until {}. It is still personal data."
WAITING = "Other processes are reading: old bytes stay in the log until they are done. Hint: vault.tidy() later."


def find(vault: Vault, values: Mapping[str, Any]) -> Person:
    """What the vault knows of a person, by every identity these fields cover.

    | the fields name | then |
    | --- | --- |
    | nobody known | a `Person` that is not `known`; it can still be erased, which keeps it from coming in |
    | somebody | tables, purposes, recipients, pseudonyms |
    | several people | `VaultError`; give a sharper identity, or one identity at a time |
    """
    with vault.database.snapshot():
        return _described(vault, *_tags(vault, values), Names(values))


def _described(vault: Vault, kinds: tuple[str, ...], tags: Bytes, names: Names) -> Person:
    ids, shared = _ids(vault, kinds, tags)
    tables = runs(vault)
    located = [(run, id) for run in tables if run.located for id in ids[vault.uses.has(run.uid, ids)]]
    uids = {run.uid for run, _ in located}
    barred = [vault.suppression.until(tag[None, :]) for tag in tags]
    return Person(
        known=bool(len(ids)) if vault.links == "stored" else bool(located),
        suppressed=max((until for until in barred if until is not None), default=None),
        locators=_locators(vault, located),
        models=tuple(name for name, one in vault.settings.all("model").items() if uids & set(one["tables"])),
        shared=shared,
        unlocated=tuple(dict.fromkeys(run.table for run in tables if not run.located)),
        _vault=vault.name,
        _kinds=kinds,
        _tags=tags,
        _names=names,
    )


def _tags(vault: Vault, values: Mapping[str, Any]) -> tuple[tuple[str, ...], Bytes]:
    """The identities that are covered, in all versions of the fields, and their tags."""
    check(vault.schema, list(values))
    names, texts = [], []
    for schema in reversed(vault.schemas()):
        given = {name: _column(name, value) for name, value in values.items() if name in schema.fields}
        if not schema.covered(given):
            continue
        found = messages(schema, pl.DataFrame(given))
        bad = {name: int(wrong.sum()) for name, wrong in found.bad.items() if wrong.any()}
        if bad and schema == vault.schema:
            raise Unparsable(bad)
        for identity, (rows, own) in found.found.items():
            names += [identity] * len(rows)
            texts += own.to_list()
    if not texts:
        raise MissingIdentifiers("The values given hold no whole identity: some are empty.")
    distinct = {text: name for name, text in zip(names, texts, strict=True)}
    return tuple(distinct.values()), vault.tags(list(distinct))


def _column(name: str, value: Any) -> pl.Series:
    try:
        return pl.Series(name, [value])
    except Exception:  # whatever polars says might hold the value
        raise Unparsable({name: 1}) from None


def _ids(vault: Vault, kinds: tuple[str, ...], tags: Bytes) -> tuple[Bytes, tuple[str, ...]]:
    if vault.links == "derived":
        return tags, ()
    known = [vault.people.known(tag) for tag in tags]
    shared = tuple(kind for kind, one in zip(kinds, known, strict=True) if one.shared)
    if len(shared) == len(tags):
        raise VaultError("Several people have these values. Hint: give the fields of a sharper identity.")
    ids = {one.id.tobytes() for one in known if one.id is not None and not one.shared}
    if len(ids) > 1:
        raise VaultError("The identities given belong to different people. Hint: give one identity at a time.")
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16), shared


def _locators(vault: Vault, located: list[tuple[Run, Bytes]]) -> tuple[Locator, ...]:
    found: dict[tuple[str, str], Locator] = {}
    for run, id in located:
        version = vault.keyring.versions(run.purpose, run.partner)[run.version - 1]
        word = (one_way if run.one_way else seal)(id[None, :], vault.keyring.keys(version)).item()
        to = () if run.partner is None else (run.partner,)
        found.setdefault((run.table, word), Locator(run.table, word, run.purpose, to, run.since, run.retention))
    return tuple(found.values())


def export(vault: Vault, person: Person, *, who: str | None = None) -> str:
    """What the vault holds of a person, as JSON for an answer under Article 15; that it was asked is registered."""
    _require_own(vault, person)
    vault.register.append("access", who=words(who, "who"), rows=1)
    document = {
        "vault": vault.name,
        "time": now(),
        "known": person.known,
        "suppressed until": None if person.suppressed is None else person.suppressed.isoformat(),
        "purposes": [_purpose(vault, name) for name in person.purposes],
        "recipients": [{"name": name, **_contact(vault, name)} for name in person.recipients],
        "tables": [vars(one) | {"recipients": list(one.recipients)} for one in person.locators],
        "models": list(person.models),
        "identities shared with others": list(person.shared),
        "tables of which it is not known who is in them": list(person.unlocated),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _purpose(vault: Vault, name: str) -> dict[str, Any]:
    return {"name": name, **vault.keyring.purpose(name)}


def _contact(vault: Vault, name: str) -> dict[str, Any]:
    document = vault.settings.get("partner", name) or {}
    return {"contact": document.get("contact")}


def erase(
    vault: Vault,
    person: Person,
    *,
    reason: str,
    ground: str | None = None,
    keep: str | datetime.date | int | None = None,
    who: str | None = None,
) -> Erased:
    """Forget a person: links, uses, and a line on the suppression list; on disk when this returns.

    Parameters
    ----------
    person : from `find`.
    reason, ground : short texts for the register (say, "consent withdrawn", "Article 17(1)(b)"); they name nobody.
    keep : the last day of the line on the suppression list, or for how many days; three years by default.
    """
    _require_own(vault, person)
    if reason is None:
        raise ValueError("The `reason` of an erasure must be given.")
    for text, name in ((reason, "reason"), (ground, "ground"), (who, "who")):
        person._names.check(words(text, name), name)
    until = datetime.date.fromisoformat(day(KEEP if keep is None else keep, "keep") or "")
    with vault.database.transaction():
        person = _described(vault, person._kinds, person._tags, person._names)  # tables may have been made since
        cut, tags = forget(vault, person._tags)
        number = vault.register.anchor().count + 1
        added = vault.suppression.add(tags, until, number)
        change = vault.settings.put("state", "erasures", {"count": vault.mark() + 1})
        details = {"reason": reason, "suppressed": added, "until": until.isoformat()}
        entry = vault.register.append("erase", who=who, basis=ground, rows=1, details=details, changes=(change,))
        _require(entry.number == number)
    cleaned = vault.database.tidy()
    remains = (STORED if vault.links == "stored" else DERIVED, LISTED.format(until), *(() if cleaned else (WAITING,)))
    return Erased(number, cut, person.locators, person.recipients, person.models, until, cleaned, remains)


def forget(vault: Vault, tags: Bytes) -> tuple[bool, Bytes]:
    """Delete links and uses of whoever has these tags, inside a transaction; whether a link was cut, and all tags."""
    every, ids, cut = tags, tags, False
    if vault.links == "stored":
        known = [vault.people.known(tag) for tag in tags]
        found = {one.id.tobytes() for one in known if one.id is not None and not one.shared}
        ids = np.frombuffer(b"".join(found), np.uint8).reshape(-1, 16)
        own = np.array([not one.shared for one in known], bool)
        parts = [vault.people.remove(id, tags[own]) for id in ids] or [tags[own]]
        every, cut = np.unique(np.concatenate(parts), axis=0), bool(len(ids))
    for run in runs(vault) if len(ids) else ():
        if run.located:
            vault.uses.remove(run.uid, ids)
    return cut, every


def _require_own(vault: Vault, person: Person) -> None:
    if person._vault != vault.name:
        raise ValueError("The `person` was found in another vault. Hint: vault.find(...) in this one.")


def _require(sound: bool) -> None:
    if not sound:
        raise Tampered("The register is not numbered as it should be. Hint: vault.verify().")


def refuse(
    vault: Vault, person: Person, *, ground: Ground | str, note: str | None = None, who: str | None = None
) -> Entry:
    """Record that an erasure was refused, with its legal ground; nothing is recorded of the person."""
    _require_own(vault, person)
    chosen = Ground.of(ground)
    for text, name in ((note, "note"), (who, "who")):
        person._names.check(words(text, name), name)
    details = {} if note is None else {"note": note}
    return vault.register.append("refuse", who=who, basis=chosen.value, rows=1, details=details)


def purge(vault: Vault, day: datetime.date | None = None, *, who: str | None = None) -> int:
    """Take off the suppression list what is past its date; how many lines."""
    with vault.database.transaction():
        count = vault.suppression.purge(day or today())
        if count:
            vault.register.append("purge", who=words(who, "who"), rows=count)
    if count:
        vault.database.tidy()
    return count
