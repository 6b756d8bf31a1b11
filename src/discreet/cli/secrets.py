"""Passphrases and identifiers for `discreet vault`: typed, from a file or from stdin, never from the command line.

What is on a command line stays in the history of the shell, and every user of the machine can read it while it runs.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console

if TYPE_CHECKING:
    from discreet.pseudonyms import Schema
    from discreet.pseudonyms.vault import Vault

LEFT = " Old bytes may stay in the log, or on the server, for a while."
STDIN = "-"
Place = Annotated[
    str, typer.Argument(metavar="VAULT", help="A vault file, or a postgresql:// address.", show_default=False)
]
Who = Annotated[
    str | None,
    typer.Option("--who", help="Whom the register names; the login name if left out.", show_default=False),
]


def opened(place: str, passphrase_file: str | None, key_file: Path | None) -> Vault:
    """An open vault."""
    from discreet.pseudonyms.opening import remote
    from discreet.pseudonyms.vault import Vault

    check_place(place)
    if not remote(place) and not Path(place).exists():  # before a passphrase is asked for
        console.fail(f"There is no vault {place!r}. Hint: discreet vault create makes one.")
    return Vault.open(place, **opening(passphrase_file, key_file))


def kept(place: str, passphrase_file: str | None, key_file: Path | None, *others: str | Path | None) -> list[Path]:
    """What no output of a vault's verb may replace: the vault with its logs, what opens it, and what is read."""
    from discreet.pseudonyms.opening import remote

    vault = [] if remote(place) else [f"{place}{end}" for end in ("", "-wal", "-shm", "-journal")]
    files = [*vault, passphrase_file, key_file, *others]
    return [Path(one) for one in files if one is not None and one != STDIN]


def check_place(place: str) -> None:
    """Refuse an address with a password in it."""
    from urllib.parse import parse_qs, urlsplit

    from discreet.pseudonyms.opening import remote

    if not remote(place):
        return
    try:
        parts = urlsplit(place)
        held = parts.password is not None or "password" in parse_qs(parts.query, keep_blank_values=True)
    except ValueError:  # what cannot be read is not shown either
        held = "@" in place
    if held:
        console.fail(
            "The address holds a password, which other users of this machine can see. Hint: leave it out, and put it "
            "into the file that PGPASSFILE names (~/.pgpass by default). Change the password.",
            2,
        )


def check_free(place: str) -> None:
    """Refuse a place where a vault is, before a key file is made for it."""
    from discreet.pseudonyms.opening import remote

    if not remote(place) and Path(place).exists():
        console.fail(f"There is a file {place!r} already. Hint: another name.")


def day(text: str | None) -> str | int | None:
    """A date, or a number of days, as the vault takes them."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _file(name: str, text: str) -> Any:
    return typer.Option(name, metavar="FILE", help=text, show_default=False)


PassphraseFile = Annotated[
    str | None, _file("--passphrase-file", "A file with the passphrase on its first line; - for stdin.")
]
KeyFilePath = Annotated[Path | None, _file("--key-file", "A key file in place of a passphrase.")]
PersonFile = Annotated[
    str | None, _file("--person", 'A JSON file such as {"ssn": "123-45-6789"}; - for stdin. Typed if left out.')
]


def passphrase(file: str | None, *, new: bool = False, what: str = "Passphrase") -> str:
    """A passphrase: the first line of a file or of stdin, or typed unseen; twice if it is new."""
    if file is not None:
        return _line(file)
    if not sys.stdin.isatty():
        console.fail("There is no terminal to type the passphrase. Hint: --passphrase-file or --key-file.", 2)
    return str(typer.prompt(what, hide_input=True, confirmation_prompt=new, err=True))


def _line(file: str) -> str:
    text = sys.stdin.readline() if file == STDIN else _read(file, secret=True).partition("\n")[0]
    if not text.strip("\r\n"):
        console.fail("The passphrase file is empty.")
    return text.strip("\r\n")


def _read(file: str, secret: bool = False) -> str:
    try:
        with Path(file).open(encoding="utf-8") as content:
            mode = os.fstat(content.fileno()).st_mode
            if secret and os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
                console.fail(
                    f"A passphrase file must be its owner's alone. Got mode {stat.S_IMODE(mode):04o}. Hint: chmod 600."
                )
            return content.read()
    except UnicodeDecodeError:
        console.fail(f"The file {file!r} is not UTF-8.")


def opening(passphrase_file: str | None, key_file: Path | None, *, new: bool = False) -> dict[str, Any]:
    """What opens a vault, as `Vault.open` and `Vault.create` take it; a new key file is made if it is not there."""
    from discreet.pseudonyms import KeyFile

    if key_file is not None and passphrase_file is not None:
        console.fail("Give a passphrase or a key file, not both.", 2)
    if key_file is not None:
        return {"key_file": KeyFile.create(key_file) if new and not key_file.exists() else KeyFile(key_file)}
    return {"passphrase": passphrase(passphrase_file, new=new)}


def person(file: str | None, schema: Schema, passphrase_file: str | None = None) -> dict[str, Any]:
    """The identifiers of one person: from a JSON file or stdin, or typed, field by field."""
    if file is None:
        return _typed(schema)
    if file == STDIN == passphrase_file:
        console.fail("Stdin can be the passphrase or the person, not both.", 2)
    import json

    try:
        found = json.loads(sys.stdin.read() if file == STDIN else _read(file))
    except ValueError:
        found = None
    if not isinstance(found, Mapping) or not found:  # what was read may be a name, and is not shown
        console.fail("The person must be a JSON object of fields and values.")
    return dict(found)


def _typed(schema: Schema) -> dict[str, Any]:
    if not sys.stdin.isatty():
        console.fail("There is no terminal to type who it is. Hint: --person FILE, or --person - for stdin.", 2)
    typer.echo("Who is it? Leave out what you do not know.", err=True)
    typed = {name: typer.prompt(f"  {name}", default="", show_default=False, err=True) for name in schema.fields}
    found = {name: value for name, value in typed.items() if value.strip()}
    if not found:
        console.fail("Nothing was typed.")
    return found
