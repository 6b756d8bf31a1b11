"""`discreet vault register`, `retire`, `rotate`, `verify`, `backup` and `restore`: how a vault is kept."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console, secrets
from discreet.cli.counts import uncounted
from discreet.cli.options import Force, Json, option
from discreet.cli.secrets import KeyFilePath, PassphraseFile, Place, Who, opened

if TYPE_CHECKING:
    from discreet.pseudonyms.restoring import Restored
    from discreet.pseudonyms.vault import Vault


Anchor = Annotated[str | None, option("--anchor", metavar="LINE", help="What `register --anchor` printed before.")]


def register(
    place: Place,
    anchor: Annotated[bool, option("--anchor", help="Print count and head alone, to be kept elsewhere.")] = False,
    overdue: Annotated[bool, option("--overdue", help="Only tables that should have been deleted by now.")] = False,
    output: Annotated[Path | None, option("--output", "-o", metavar="FILE", help="A file, .json or .csv.")] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show the records of processing (Article 30): who, when, what for, to whom, until when. No person is in them.

    How many rows a table had is written to FILE, and not shown here.

    For example:

        discreet vault register clinic.vault
        discreet vault register clinic.vault --anchor
        discreet vault register clinic.vault -o records.csv
    """
    if output is not None and output.suffix.lower() not in (".json", ".csv"):
        raise ValueError(f"The register is written as .json or .csv. Got {output.name!r}.")
    safe = secrets.kept(place, passphrase_file, key_file)
    out = None if output is None else console.writing(output, force=force, inputs=safe, secret=True)
    with opened(place, passphrase_file, key_file) as vault:
        if anchor:
            console.answer({"anchor": str(vault.anchor())}, json)
            console.say(str(vault.anchor()), json=json)
            return
        entries = vault.overdue() if overdue else tuple(vault.register.entries())
        if out is not None:
            out.write(_exported(vault, out.path.suffix.lower() == ".csv", {entry.number for entry in entries}))
        cut = {entry.number for entry in vault.unfinished()}
        marks = [{"finished": entry.number not in cut} if entry.act == "started" else {} for entry in entries]
        console.answer([uncounted(entry.public()) | mark for entry, mark in zip(entries, marks, strict=True)], json)
        console.say(_table(entries, cut), json=json)
        _note_unfinished(cut)


def _note_unfinished(numbers: Iterable[int]) -> None:
    """Say that runs were started and have not ended."""
    if told := ", ".join(map(str, sorted(numbers))):
        console.note(
            f"Started and not finished: entry {told}. It runs now, or was cut off; people it took in stay known. "
            "Hint: if it was cut off, run it again; discreet vault prune forgets people who are in no table, and "
            "closes it. What is closed while it runs fails at its end."
        )


def _exported(vault: Vault, table: bool, numbers: set[int]) -> str:
    """Some entries of the register as its export writes them."""
    import csv
    import io
    import json

    if not table:
        chosen = [one for one in json.loads(vault.register.export("json")) if one["number"] in numbers]
        return json.dumps(chosen, indent=2, ensure_ascii=False)
    header, *rows = csv.reader(io.StringIO(vault.register.export("csv")))
    place, out = header.index("number"), io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *(row for row in rows if int(row[place]) in numbers)])
    return out.getvalue()


def _table(entries: tuple[Any, ...], cut: Container[int] = ()) -> Any:
    """For people, two lines each, so that it fits a narrow terminal; how many rows is in the export."""
    table = console.grid("", "time (UTC)", "act, who", "table", "purpose, partner", "until", whole=(0, 1, 5))
    for one in entries:
        to = ", ".join(one.recipients) or one.partner
        act = "started, not finished" if one.number in cut else one.act
        pairs = one.time[:19].split("T"), (act, one.who), (one.table,), (one.purpose, to), (one.retention,)
        table.add_row(str(one.number), *(console.text("\n".join(filter(None, pair))) for pair in pairs))
    return table


def retire(
    place: Place,
    table: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The table, as the register calls it; or the model.", show_default=False),
    ],
    model: Annotated[bool, option("--model", help="It is a model, as `used` was told.")] = False,
    entry: Annotated[
        int | None, option("--entry", help="Its number in the register, where several have the name.")
    ] = None,
    recipients: Annotated[bool, option("--recipients", help="Those who received it have deleted it too.")] = False,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    """Note that a table, or a model, was deleted: who was in it is forgotten, where nothing else depends on that.

    For example:

        discreet vault retire clinic.vault research
        discreet vault retire clinic.vault for-x --entry 12 --recipients
        discreet vault retire clinic.vault readmission-2026 --model
    """
    if model and (entry is not None or recipients):
        console.fail("A model has neither an entry of its own nor recipients.", 2)
    with opened(place, passphrase_file, key_file) as vault:
        if model:
            done = vault.retire_model(table, who=who)
        else:
            done = vault.retire(table, entry=entry, recipients=recipients, who=who)
        numbers = [one.number for one in done.entries]
        console.answer({"entries": numbers, "kept": done.kept, "cleaned": done.cleaned}, json)
        kept = " It stays known who was in it: a model or a recipient depends on it." if done.kept else ""
        left = "" if done.cleaned else secrets.LEFT
        console.say(f"Recorded: {table!r} is gone.{kept} Entries {', '.join(map(str, numbers))}.{left}", json=json)


def rotate(
    place: Place,
    purpose: Annotated[str | None, option("--purpose", help="New keys for this purpose.")] = None,
    partner: Annotated[str | None, option("--partner", help="New keys for this partner, and the purpose.")] = None,
    wrapping: Annotated[bool, option("--wrapping", help="Another passphrase or key file for the vault.")] = False,
    new_passphrase_file: Annotated[
        str | None, option("--new-passphrase-file", metavar="FILE", help="With --wrapping: the new passphrase.")
    ] = None,
    new_key_file: Annotated[
        Path | None, option("--new-key-file", metavar="FILE", help="With --wrapping: the new key file.")
    ] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Make new keys: of a purpose, of a partner, or what opens the vault itself. Old pseudonyms still open.

    For example:

        discreet vault rotate clinic.vault --purpose research-2026
        discreet vault rotate clinic.vault --purpose research-2026 \
            --partner university-x
        discreet vault rotate clinic.vault --wrapping
    """
    if wrapping == (purpose is not None) or (wrapping and partner is not None):
        console.fail("Say what to rotate: --purpose (and --partner), or --wrapping.", 2)
    with opened(place, passphrase_file, key_file) as vault:
        if wrapping:
            cleaned = vault.rewrap(**secrets.opening(new_passphrase_file, new_key_file, new=True), who=who)
            console.answer({"rotated": "wrapping", "cleaned": cleaned}, json)
            console.say("The vault opens with the new secret. Old backups still open with the old one.", json=json)
            if not cleaned:
                console.note("Somebody else is reading: the old wrapped key stays in the file until they are done.")
            return
        version = vault.rotate(str(purpose), partner, who=who)
        console.answer({"rotated": "keys", "version": version.number, "key_id": version.key_id}, json)
        console.say(f"New pseudonyms begin with 1{version.key_id} (version {version.number}).", json=json)


def verify(
    place: Place,
    anchor: Anchor = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    json: Json = False,
) -> None:
    """Check everything in the vault; with an anchor, also that the register is complete.

    For example:

        discreet vault verify clinic.vault
        discreet vault verify clinic.vault --anchor 12-5f0c...
    """
    with opened(place, passphrase_file, key_file) as vault:
        verdict = vault.verify(anchor)
        answer = {"entries": verdict.entries, "complete": verdict.complete, "unfinished": verdict.unfinished}
        console.answer(answer | {"verdict": str(verdict)}, json)
        console.say(str(verdict), json=json)
        _note_unfinished(verdict.unfinished)


def backup(
    place: Place,
    output: Annotated[Path, option("--output", "-o", metavar="FILE", help="The copy, a new file.")],
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    """Copy the vault to a new file, as it is at one moment. It is restored with the same passphrase or key file.

    For example:

        discreet vault backup clinic.vault -o clinic-2026-05-03.vault
    """
    with opened(place, passphrase_file, key_file) as vault:
        anchor = vault.backup(output, who=who)
        console.answer({"output": str(output), "anchor": str(anchor)}, json)
        console.say(f"Written: {output}. Anchor, to be kept elsewhere: {anchor}", json=json)


def restore(
    copy: Annotated[Path, typer.Argument(metavar="BACKUP", help="A copy made by `backup`.", show_default=False)],
    place: Place,
    erasures_from: Annotated[
        str | None,
        option("--erasures-from", metavar="FILE", help="A later state of the vault, or of its erasures."),
    ] = None,
    anchor: Anchor = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Bring a backup to a new place, and erase again whoever was erased since.

    For example:

        discreet vault restore clinic-2026-05-03.vault clinic.vault \
            --erasures-from damaged.vault --anchor 15-77b1...
        discreet vault restore clinic-2026-05-03.vault clinic.vault \
            --anchor 12-5f0c...

    With --erasures-from, the anchor is the newest you kept: the file has to reach it; without one, a file that is not
    the newest is taken too. Alone, the anchor is the one that `backup` printed, and your word that nothing happened
    since.
    """
    from dataclasses import asdict

    from discreet.pseudonyms.register import Anchor as Kept
    from discreet.pseudonyms.vault import Vault

    if erasures_from is None and anchor is None:
        console.fail("Say how later erasures are known: --erasures-from FILE, or --anchor LINE.", 2)
    secrets.check_free(str(place))
    if erasures_from is not None:
        secrets.check_place(erasures_from)
    newest = None if anchor is None else Kept.parse(anchor)
    later, proof = (newest, None) if erasures_from is None else (erasures_from, newest)
    opening = secrets.opening(passphrase_file, key_file)
    done = Vault.restore(place, copy, erasures_from=later, anchor=proof, who=who, **opening)
    console.answer(asdict(done), json)
    console.say(_restored(done), json=json)


def _restored(done: Restored) -> str:
    corrected = "not told" if done.corrections is None else str(done.corrections)
    lines = [
        f"Restored. People erased since, and erased again: {done.replayed}; later tables known again: {done.tables};"
        f" people first seen since, and known again: {done.people}; entries lost: {done.lost};"
        f" corrections lost: {corrected}."
    ]
    if done.unknown:
        lines.append(f"People first seen since, and not known: at least {done.unknown:,}.")
    elif done.unknown is None:
        lines.append("People first seen since are not known: a file of erasures does not tell of them.")
    if done.unlocated:
        lines.append(
            f"Tables of which it is not known who is in them: {done.unlocated}. `find` and `erase` name them, and who"
            " received them; `unshare` and `reseal` cannot tell who in them was erased."
        )
    if done.corrections != 0:
        lines.append("Correct again what was corrected since.")
    if done.pruned != 0:
        lines.append("People who were pruned since may be back: discreet vault prune.")
    if done.old_secret:
        lines.append("It opens with the OLD secret again: discreet vault rotate --wrapping.")
    if not done.cleaned:
        lines.append(secrets.LEFT.strip())
    return "\n".join(lines)
