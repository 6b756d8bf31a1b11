"""`discreet vault find`, `erase`, `refuse` and `purge`: what people may ask of whoever holds their data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console, secrets
from discreet.cli.options import Force, Json, option
from discreet.cli.secrets import KeyFilePath, PassphraseFile, PersonFile, Place, Who, day, opened

if TYPE_CHECKING:
    from discreet.pseudonyms.persons import Person


Reason = Annotated[str, option("--reason", help="Why, for the register; no name in it.")]


def find(
    place: Place,
    person: PersonFile = None,
    export: Annotated[
        Path | None, option("--export", metavar="FILE", help="Also a JSON file for the person (Article 15).")
    ] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Say which tables have a person, what for, and who received them (Article 15). No table is read.

    For example:

        discreet vault find clinic.vault
        discreet vault find clinic.vault --person person.json --export answer.json
    """
    safe = secrets.kept(place, passphrase_file, key_file, person)
    out = None if export is None else console.writing(export, force=force, inputs=safe, secret=True)
    with opened(place, passphrase_file, key_file) as vault:
        found = vault.find(secrets.person(person, vault.schema, passphrase_file))
        if out is not None:
            out.write(vault.export(found, who=who))
        console.answer(_found(found), json)
        console.say(_words(found), json=json)


def _found(person: Person) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "known": person.known,
        "locators": [asdict(one) for one in person.locators],
        "models": person.models,
        "shared": person.shared,
        "unlocated": person.unlocated,
        "unlocated_recipients": person.unlocated_recipients,
        "unlocated_models": person.unlocated_models,
        "suppressed": person.suppressed,
    }


def _words(person: Person) -> str:
    lines = [] if person.known else ["The vault knows nobody by these."]
    for one in person.locators:
        to = f", given to {', '.join(one.recipients)}" if one.recipients else ""
        until = f", until {one.retention}" if one.retention else ""
        lines.append(f"{one.table}: {one.pseudonym}, for {one.purpose}{to}, since {one.since[:10]}{until}")
    lines += [f"model: {name}" for name in person.models]
    lines += [f"several people share {name}: give a sharper identity" for name in person.shared]
    lines += [f"{name}: it was not kept who is in it" for name in person.unlocated]
    lines += [f"given to {name}: such a table, which may have the person" for name in person.unlocated_recipients]
    lines += [f"model: {name}, fitted on such a table" for name in person.unlocated_models]
    if person.suppressed is not None:
        lines.append(f"Erased; kept from coming back until {person.suppressed}.")
    return "\n".join(lines or ["Known, and in no table."])


def erase(
    place: Place,
    reason: Reason,
    person: PersonFile = None,
    ground: Annotated[
        str | None, option("--ground", metavar="TEXT", help="The legal ground: Article 17(1)(b).")
    ] = None,
    keep: Annotated[
        str | None, option("--keep", metavar="DAY", help="Keep them away until YYYY-MM-DD, or for a number of days.")
    ] = None,
    yes: Annotated[bool, option("--yes", help="Do not ask again.")] = False,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    """Cut the link to a person, and list what is left to do (Article 17).

    For example:

        discreet vault erase clinic.vault --reason "asked on 3 May, letter 17"
    """
    from dataclasses import asdict

    with opened(place, passphrase_file, key_file) as vault:
        found = vault.find(secrets.person(person, vault.schema, passphrase_file))
        if not yes:
            typer.echo(_words(found), err=True)
            typer.confirm("Erase this person? It cannot be undone.", abort=True, err=True)
        done = vault.erase(found, reason=reason, ground=ground, keep=day(keep), who=who)
        console.answer(asdict(done), json)
        console.say(str(done), json=json)


def refuse(
    place: Place,
    ground: Annotated[str, option("--ground", metavar="LETTER", help="Of Article 17(3): a, b, c, d or e.")],
    person: PersonFile = None,
    note: Annotated[str | None, option("--note", help="For the register; no name in it.")] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Record that an erasure was refused, and on which ground.

    For example:

        discreet vault refuse clinic.vault --ground b \
            --note "records are kept for ten years by law"
    """
    with opened(place, passphrase_file, key_file) as vault:
        found = vault.find(secrets.person(person, vault.schema, passphrase_file))
        entry = vault.refuse(found, ground=ground, note=note, who=who)
        console.answer(entry.public(), json)
        console.say(f"Recorded: refused under {entry.basis}. Entry {entry.number} of the register.", json=json)


def purge(
    place: Place,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    """Take people whose date has passed off the list of those who were erased.

    For example:

        discreet vault purge clinic.vault
    """
    with opened(place, passphrase_file, key_file) as vault:
        done = vault.purge(who=who)
        console.answer({"purged": done.lines, "cleaned": done.cleaned}, json)
        left = "" if done.cleaned else secrets.LEFT
        console.say(f"Lines taken off the suppression list: {done.lines}.{left}", json=json)
