"""Rights of people: access (Article 15), erasure (17), and what may be refused.

No entry of the register names a person, so that the record of an erasure does not undo it.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.entries import Entry, day, now, today, words
from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, UnknownName, Unparsable, VaultError
from discreet.pseudonyms.forgetting import Forgotten, every_id, forget
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.keyring import Version
from discreet.pseudonyms.messages import messages
from discreet.pseudonyms.persons import Erased, Ground, Locator, Names, Person
from discreet.pseudonyms.runs import Run, runs
from discreet.pseudonyms.suppression import KEEP
from discreet.pseudonyms.tokens import one_way, seal
from discreet.pseudonyms.versions import kinds as all_kinds
from discreet.pseudonyms.versions import name_of

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

STORED = "The links of the identities that the vault knew are deleted; tokens in tables lead to nobody it knows."
UNKNOWN = "The vault had no link to delete."
SHARED = (
    "By {} several people are known: what is stored under it alone was not touched, since nobody can tell whose it is,"
    " and it keeps nobody out."
)
UNCOVERED = (
    "The identity {} was not given, and not known to be this person's: tables made by it alone may still hold the"
    " person, and it does not keep them out. Hint: find and erase by it too."
)
DERIVED = (
    "Links are derived: nothing was deleted, future use is refused. Whoever has the vault can still compute the"
    " pseudonyms from the identifiers."
)
LISTED = "A keyed tag stays on the suppression list until {}. It is still personal data."
WAITING = (
    "Old bytes may stay in the log while other processes read or the disk is full (hint: vault.tidy() later), and on a"
    " database server in its files and logs until it writes over them."
)


def find(vault: Vault, values: Mapping[str, Any]) -> Person:
    """What the vault knows of a person, by every identity these fields cover.

    Ids that were merged, and versions of one identity, are one person.

    | the fields name | then |
    | --- | --- |
    | nobody known | a `Person` that is not `known`; it can still be erased, which keeps it from coming in |
    | somebody | tables, purposes, recipients, pseudonyms |
    | several people | `VaultError`; give a sharper identity, or one identity at a time |
    """
    if not isinstance(values, Mapping):
        raise TypeError("The `values` of find must be a mapping of fields to values.")
    with vault.database.snapshot():
        return _described(vault, *tags_of(vault, values), Names(values))


def _described(vault: Vault, kinds: tuple[str, ...], tags: Bytes, names: Names) -> Person:
    ids, shared = _ids(vault, kinds, tags)
    tables = runs(vault)
    located = [(run, id) for run in tables if run.located for id in ids[vault.uses.has(run.uid, ids)]]
    lost = [run for run in tables if not run.located]
    barred = [vault.suppression.until(tag[None, :]) for tag in tags]
    return Person(
        known=bool(len(ids)) if vault.links == "stored" else bool(located),
        suppressed=max((until for until in barred if until is not None), default=None),
        locators=_locators(vault, located),
        models=_models(vault, [run for run, _ in located]),
        shared=tuple(dict.fromkeys(map(name_of, shared))),
        unlocated=tuple(dict.fromkeys(run.table for run in lost)),
        unlocated_recipients=tuple(dict.fromkeys(name for run in lost for name in run.recipients)),
        unlocated_models=_models(vault, lost),
        _vault=vault.name,
        _kinds=kinds,
        _tags=tags,
        _names=names,
    )


def _models(vault: Vault, tables: list[Run]) -> tuple[str, ...]:
    """The models that were fitted on some tables."""
    uids = {run.uid for run in tables}
    return tuple(name for name, one in vault.settings.all("model").items() if uids & set(one["tables"]))


def tags_of(vault: Vault, values: Mapping[str, Any]) -> tuple[tuple[str, ...], Bytes]:
    """The identities that are covered, in all versions of the fields, and their tags."""
    schemas = vault.schemas()
    _check(schemas, values)
    found: dict[bytes, str] = {}
    for schema in reversed(schemas):
        given = {name: _column(name, value) for name, value in values.items() if name in schema.fields}
        if not schema.covered(given):
            continue
        read = messages(schema, pl.DataFrame(given))
        bad = {name: int(wrong.sum()) for name, wrong in read.bad.items() if wrong.any()}
        if bad and schema == vault.schema:
            raise Unparsable(bad)
        for identity, (_, own) in read.found.items():
            found |= dict.fromkeys(own.to_list(), f"{schema.since[identity]}:{identity}")
    if not found:
        raise MissingIdentifiers("The values given hold no whole identity: some are empty.")
    return tuple(found.values()), vault.tags(list(found))


def _check(schemas: tuple[Schema, ...], values: Mapping[str, Any]) -> None:
    """Refuse fields that no version has, or that name nobody together; what was given is not repeated."""
    known = dict.fromkeys(name for schema in reversed(schemas) for name in schema.fields)
    unknown = sum(name not in known for name in values)
    if unknown:
        raise UnknownName(f"{unknown} of the names given are no fields. Known: {', '.join(known)}.")
    if not any(schema.covered(values) for schema in schemas):
        needed = "; ".join(f"{name} ({', '.join(of)})" for name, of in schemas[-1].identities.items())
        raise MissingIdentifiers(f"The fields given cover no identity. Identities: {needed}.")


def _column(name: str, value: Any) -> pl.Series:
    with contextlib.suppress(Exception):  # whatever polars says might hold the value
        return pl.Series(name, [value])
    raise Unparsable({name: 1})


def _ids(vault: Vault, kinds: tuple[str, ...], tags: Bytes) -> tuple[Bytes, tuple[str, ...]]:
    if vault.links == "derived":
        return tags, ()
    known = [vault.people.known(tag) for tag in tags]
    shared = tuple(kind for kind, one in zip(kinds, known, strict=True) if one.shared)
    if len(shared) == len(tags):
        raise VaultError("Several people have these values. Hint: give the fields of a sharper identity.")
    versions = all_kinds(vault.schemas())
    ids: dict[str, list[Bytes]] = {}  # by identity: versions of one are one person
    for kind, one in zip(kinds, known, strict=True):
        if one.id is not None and not one.shared:
            ids.setdefault(versions[kind].fields if kind in versions else kind, []).append(one.id)
    if len(ids) > 1 and not set.intersection(*({id.tobytes() for id in own} for own in ids.values())):
        raise VaultError("The identities given belong to different people. Hint: give one identity at a time.")
    return every_id(vault, [id for own in ids.values() for id in own]), shared


def _locators(vault: Vault, located: list[tuple[Run, Bytes]]) -> tuple[Locator, ...]:
    found: dict[tuple[str, str], Locator] = {}
    for run, id in located:
        version = _version(vault, run)
        word = (one_way if run.one_way else seal)(id[None, :], vault.keyring.keys(version)).item()
        found.setdefault(
            (run.table, word),
            Locator(run.table, word, run.purpose, run.recipients, run.since, run.retention, run.columns),
        )
    return tuple(found.values())


def _version(vault: Vault, run: Run) -> Version:
    """The keys a table was made with; refused where others have their number."""
    versions = vault.keyring.versions(run.purpose, run.partner)
    if not 1 <= run.version <= len(versions) or run.key_id not in (None, versions[run.version - 1].key_id):
        raise Tampered(f"The keys of the table {run.table!r} are not there any more. Hint: restore a backup.")
    return versions[run.version - 1]


def export(vault: Vault, person: Person | Mapping[str, Any], *, who: str | None = None) -> str:
    """What the vault holds of a person, as JSON for an answer under Article 15; that it was asked is registered."""
    person = find_person(vault, person)
    with vault.database.transaction():
        person = _described(vault, person._kinds, person._tags, person._names)  # as it is now, not when it was found
        vault.register.append("access", who=words(who, "who"), rows=1)
    document = {
        "vault": vault.name,
        "time": now(),
        "known": person.known,
        "suppressed until": None if person.suppressed is None else person.suppressed.isoformat(),
        "purposes": [_purpose(vault, name) for name in person.purposes],
        "recipients": _recipients(vault, person.recipients),
        "categories of data": sorted({name for one in person.locators for name in one.columns}),
        "tables": [vars(one) for one in person.locators],
        "models": list(person.models),
        "identities shared with others": list(person.shared),
        "tables of which it is not known who is in them": list(person.unlocated),
        "recipients of these tables": _recipients(vault, person.unlocated_recipients),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _purpose(vault: Vault, name: str) -> dict[str, Any]:
    return {"name": name, **vault.keyring.purpose(name)}


def _recipients(vault: Vault, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Recipients, and whom to write to."""
    partners = vault.settings.all("partner")
    return [{"name": name, "contact": partners.get(name, {}).get("contact")} for name in names]


def erase(
    vault: Vault,
    person: Person | Mapping[str, Any],
    *,
    reason: str,
    ground: str | None = None,
    keep: str | datetime.date | int | None = None,
    who: str | None = None,
) -> Erased:
    """Forget a person: links, uses, and a line on the suppression list; on disk when this returns.

    Parameters
    ----------
    person : from `find`, or the fields and values that `find` takes.
    reason, ground : short texts for the register (say, "consent withdrawn", "Article 17(1)(b)"); they name nobody.
    keep : the last day of the line on the suppression list, or for how many days; three years by default.
    """
    person = find_person(vault, person)
    if reason is None:
        raise ValueError("The `reason` of an erasure must be given.")
    for text, name in ((reason, "reason"), (ground, "ground"), (who, "who")):
        person._names.check(words(text, name), name)
    until = _last(keep)
    with vault.database.transaction():
        person = _described(vault, person._kinds, person._tags, person._names)  # tables may have been made since
        recipients, models = _affected(person)
        gone = forget(vault, person._tags, person._kinds)
        number = vault.register.anchor().count + 1
        vault.suppression.add(gone.tags, until, number, gone.known_by)
        change = vault.settings.put("state", "erasures", {"count": vault.mark() + 1})
        details = {"reason": reason, "suppressed": len(gone.tags), "until": until.isoformat(), **_left(person)}
        entry = vault.register.append("erase", who=who, basis=ground, rows=1, details=details, changes=(change,))
        _require(entry.number == number)
    cleaned = vault.database.tidy()
    remains = _remains(vault, person, gone, until, cleaned)
    return Erased(
        number, gone.cut, person.locators, recipients, models, until, cleaned, remains, person.unlocated,
        gone.uncovered,
    )  # fmt: skip


def _last(keep: str | datetime.date | int | None) -> datetime.date:
    until = datetime.date.fromisoformat(day(KEEP if keep is None else keep, "keep") or "")
    if until < today():
        raise ValueError(f"The `keep` of an erasure must not be in the past. Got {until}.")
    return until


def _affected(person: Person) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Recipients and models of tables that have the person, or may have."""
    recipients = dict.fromkeys((*person.recipients, *person.unlocated_recipients))
    return tuple(recipients), tuple(dict.fromkeys((*person.models, *person.unlocated_models)))


def _left(person: Person) -> dict[str, Any]:
    """What is left to do, for the register: names of tables, recipients and models, no pseudonym."""
    recipients, models = _affected(person)
    found = {
        "tables": list(person.tables),
        "recipients": list(recipients),
        "models": list(models),
        "tables not looked into": list(person.unlocated),
    }
    return {name: names for name, names in found.items() if names}


def _remains(vault: Vault, person: Person, gone: Forgotten, until: datetime.date, cleaned: bool) -> tuple[str, ...]:
    first = DERIVED if vault.links == "derived" else STORED if gone.cut else UNKNOWN
    others = [SHARED.format(repr(name)) for name in person.shared]
    others += [UNCOVERED.format(repr(name)) for name in gone.uncovered if name not in person.shared]
    return (first, *others, LISTED.format(until), *(() if cleaned else (WAITING,)))


def find_person(vault: Vault, person: Person | Mapping[str, Any]) -> Person:
    """A person of this vault: the one that was found, or whom fields and values name."""
    if isinstance(person, Mapping):
        return find(vault, person)
    if not isinstance(person, Person):
        raise TypeError("The `person` must be what vault.find gives, or fields and values as vault.find takes them.")
    if person._vault != vault.name:
        raise ValueError("The `person` was found in another vault. Hint: vault.find(...) in this one.")
    return person


def _require(sound: bool) -> None:
    if not sound:
        raise Tampered("The register is not numbered as it should be. Hint: vault.verify().")


def refuse(
    vault: Vault,
    person: Person | Mapping[str, Any],
    *,
    ground: Ground | str,
    note: str | None = None,
    who: str | None = None,
) -> Entry:
    """Record that an erasure was refused, with its legal ground; nothing is recorded of the person."""
    person = find_person(vault, person)
    chosen = Ground.of(ground)
    for text, name in ((note, "note"), (who, "who")):
        person._names.check(words(text, name), name)
    details = {} if note is None else {"note": note}
    return vault.register.append("refuse", who=who, basis=chosen.value, rows=1, details=details)
