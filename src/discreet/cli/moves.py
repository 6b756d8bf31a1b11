"""`discreet vault unshare`, `reseal` and `worker-file`: pseudonyms under other keys, and on other machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console, secrets
from discreet.cli.counts import silent, uncounted
from discreet.cli.options import Force, Json, option
from discreet.cli.secrets import KeyFilePath, PassphraseFile, Place, Who, opened

if TYPE_CHECKING:
    from discreet.pseudonyms.runs import Run
    from discreet.pseudonyms.vault import Vault


Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file of any size.", show_default=False)]
Out = Annotated[Path, option("--output", "-o", metavar="FILE", help="The new file, of the same kind.")]
Purpose = Annotated[str, option("--purpose", help="What for, as declared.")]
Name = Annotated[str | None, option("--name", help="What the register calls the table; the file's name if left out.")]
Suppressed = Annotated[str, typer.Option("--suppressed", help="Rows of erased people: drop or one-off.")]
Column = Annotated[
    list[str] | None,
    option("--column", metavar="NAME", help="The column of pseudonyms, `pseudonym` if left out; again for others."),
]
COLUMN = "pseudonym"
Delimiter = Annotated[str | None, option("--delimiter", help="Between cells of a CSV file, where not told apart.")]
Encoding = Annotated[str | None, option("--encoding", help="Of a CSV file; UTF-8 or its byte order mark if left out.")]


def dialect(delimiter: str | None, encoding: str | None) -> Any:
    """How a CSV file is written, if it was said."""
    from discreet.pseudonyms.lines import Dialect

    if delimiter is None and encoding is None:
        return None
    return Dialect(delimiter="\t" if delimiter == "\\t" else delimiter, encoding=encoding or "utf-8")


def receipt(vault: Vault, path: Path, made: list[Run], json: bool) -> None:
    """Say what was written, from the table's own entry: others may have written to the register meanwhile."""
    (run,) = made
    entry = next(one for one in vault.register.entries() if one.number == run.entry)
    console.answer({"output": str(path), **uncounted(entry.public())}, json)
    console.say(f"Written: {path}. Entry {entry.number} of the register holds the counts.", json=json)


def unshare(
    place: Place,
    data: Data,
    output: Out,
    purpose: Purpose,
    partner: Annotated[str, option("--partner", help="Whose table it is.")],
    column: Column = None,
    version: Annotated[int | None, option("--version", help="Of the holder's keys; the newest if left out.")] = None,
    name: Name = None,
    suppressed: Suppressed = "drop",
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Put your own pseudonyms in place of a partner's.

    For example:

        discreet vault unshare clinic.vault from-x.csv -o results.csv \
            --purpose research-2026 --partner university-x
    """
    safe = secrets.kept(place, passphrase_file, key_file, data)
    out = console.writing(output, force=force, inputs=safe, secret=True)
    made: list[Run] = []
    with opened(place, passphrase_file, key_file) as vault, silent():
        vault.unshare(
            data, partner, purpose, column=column or COLUMN, version=version, name=name, suppressed=suppressed, who=who,
            out=out.path, overwrite=force, dialect=dialect(delimiter, encoding), progress=False if json else None,
            recorded=made.append,
        )  # fmt: skip
        receipt(vault, out.path, made, json)


def reseal(
    place: Place,
    data: Data,
    output: Out,
    purpose: Purpose,
    partner: Annotated[str | None, option("--partner", help="Whose keys; your own if left out.")] = None,
    column: Column = None,
    name: Name = None,
    suppressed: Suppressed = "drop",
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Move the pseudonyms of a table to the newest keys, without identifiers.

    For example:

        discreet vault reseal clinic.vault research.csv -o research-2.csv \
            --purpose research-2026
    """
    safe = secrets.kept(place, passphrase_file, key_file, data)
    out = console.writing(output, force=force, inputs=safe, secret=True)
    made: list[Run] = []
    with opened(place, passphrase_file, key_file) as vault, silent():
        vault.reseal(
            data, purpose, partner=partner, column=column or COLUMN, name=name, suppressed=suppressed, who=who,
            out=out.path, overwrite=force, dialect=dialect(delimiter, encoding), progress=False if json else None,
            recorded=made.append,
        )  # fmt: skip
        receipt(vault, out.path, made, json)


def worker_file(
    place: Place,
    output: Annotated[Path, option("--output", "-o", metavar="FILE", help="A new file, of mode 0600.")],
    purpose: Purpose,
    partner: Annotated[str | None, option("--partner", help="For tables of this partner.")] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Write the keys that workers of a Spark cluster need for one purpose. It is a secret; remove it afterwards.

    For example:

        discreet vault worker-file clinic.vault -o worker.keys \
            --purpose research-2026
    """
    with opened(place, passphrase_file, key_file) as vault:
        vault.worker_file(output, purpose, partner, who=who)
        console.answer({"output": str(output), "purpose": purpose, "partner": partner}, json)
        console.say(f"Written: {output}. Whoever has it can make these pseudonyms. Remove it when done.", json=json)
