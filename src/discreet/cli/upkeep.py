"""`discreet vault fields`, `used`, `correct`, `prune` and `erasures`: what changes while a vault is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console, secrets
from discreet.cli.options import Json, listed, option, pairs
from discreet.cli.secrets import LEFT, KeyFilePath, PassphraseFile, PersonFile, Place, Who, opened


def fields(
    place: Place,
    field: Annotated[
        list[str] | None, option("--field", metavar="NAME=KIND", help="All fields from now on: ssn=digits:9.")
    ] = None,
    identity: Annotated[
        list[str] | None, option("--identity", metavar="NAME=FIELDS", help="All identities: who=name,born. In order.")
    ] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Show what names people here, or declare it anew: a new version of the rules.

    People stay known: values are looked up by the rules that were in force before, too, where these can read them.

    For example:

        discreet vault fields clinic.vault
        discreet vault fields clinic.vault --field ssn=digits:9 \
            --field email=text --identity ssn=ssn --identity mail=email
    """
    if (field is None) != (identity is None):
        console.fail("Declare all fields and all identities: --field and --identity.", 2)
    with opened(place, passphrase_file, key_file) as vault:
        if field is not None and identity is not None:
            named = {name: listed(text) for name, text in pairs(identity, "--identity").items()}
            vault.change_fields(pairs(field, "--field"), named, who=who)
        schema = vault.schema
        kinds = {name: one.document() for name, one in schema.fields.items()}
        named = {name: list(of) for name, of in schema.identities.items()}
        console.answer({"version": schema.number, "fields": kinds, "identities": named}, json)
        lines = [f"Version {schema.number} of the rules."]
        lines += [f"field {name}: {_rules(kind)}" for name, kind in kinds.items()]
        lines += [f"identity {name}: {', '.join(of)}" for name, of in named.items()]
        console.say("\n".join(lines), json=json)


def _rules(document: dict[str, Any]) -> str:
    rules = [f"{name} {value}" for name, value in document.items() if name != "kind" and value not in (None, "")]
    return ", ".join([str(document["kind"]), *rules])


def used(
    place: Place,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="As the register calls it.", show_default=False)],
    model: Annotated[str, option("--model", help="What the model is called.")],
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    """Note that a model was fitted on a table, so that an erasure can name it.

    For example:

        discreet vault used clinic.vault research --model readmission-2026
    """
    with opened(place, passphrase_file, key_file) as vault:
        entry = vault.used(table, model=model, who=who)
        console.answer(entry.public(), json)
        console.say(f"Recorded: {model!r} was fitted on {table!r}. Entry {entry.number} of the register.", json=json)


def correct(
    place: Place,
    wrong: Annotated[
        Path, option("--wrong", metavar="FILE", help="A JSON file: the fields and values that are not this person's.")
    ],
    person: PersonFile = None,
    yes: Annotated[bool, option("--yes", help="Do not ask again.")] = False,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Take off an identity that is not this person's (Article 16). Tables stay as they are.

    For example:

        discreet vault correct clinic.vault --person by-number.json \
            --wrong wrong-name.json
    """
    if str(wrong) == secrets.STDIN and secrets.STDIN in (person, passphrase_file):
        console.fail("Stdin can be one of them: the person, what is wrong, or the passphrase.", 2)
    with opened(place, passphrase_file, key_file) as vault:
        found = vault.find(secrets.person(person, vault.schema, passphrase_file))
        if not yes:
            typer.confirm("Take this identity off the person? It cannot be undone.", abort=True, err=True)
        entry = vault.correct(found, secrets.person(str(wrong), vault.schema), who=who)
        console.answer(entry.public(), json)
        console.say(
            f"Corrected. Rows made under the wrong identity are yours to correct. Entry {entry.number}.", json=json
        )


def prune(
    place: Place,
    yes: Annotated[bool, option("--yes", help="Do not ask again.")] = False,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    """Forget people who are in no table any more: storage limitation (Article 5(1)(e)).

    Runs that have not ended are closed: one that is still running fails at its end, and is run again.

    For example:

        discreet vault prune clinic.vault
    """
    with opened(place, passphrase_file, key_file) as vault:
        if not yes:
            typer.confirm("Forget everybody who is in no table? It cannot be undone.", abort=True, err=True)
        done = vault.prune(who=who)
        console.answer({"people": done.people, "cleaned": done.cleaned}, json)
        left = "" if done.cleaned else LEFT
        console.say(f"People forgotten, who were in no table: {done.people:,}.{left}", json=json)


def erasures(
    place: Place,
    output: Annotated[Path, option("--output", "-o", metavar="FILE", help="A new file, of mode 0600.")],
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    json: Json = False,
) -> None:
    """Write who was erased, sealed, for `restore --erasures-from`. Keep it with the backups, and up to date.

    For example:

        discreet vault erasures clinic.vault -o clinic.erasures
    """
    with opened(place, passphrase_file, key_file) as vault:
        anchor = vault.erasures(output)
        console.answer({"output": str(output), "anchor": str(anchor)}, json)
        console.say(f"Written: {output}. Anchor, to be kept elsewhere: {anchor}", json=json)
