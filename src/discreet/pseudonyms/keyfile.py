"""Key files: 32 random bytes as text, readable by their owner alone."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from discreet.documents.atomic_files import create_file, flush_path
from discreet.pseudonyms.errors import VaultError, WrongKey
from discreet.pseudonyms.master import SIZE


class KeyFile:
    """A file that opens a vault in place of a passphrase: 64 hexadecimal digits and a line end.

    Parameters
    ----------
    path : the file; read each time it is needed. Others than its owner must have no rights on it (mode 0600 or 0400).

    | file | what happens |
    | --- | --- |
    | not there, not readable | `VaultError` |
    | readable or writable by others | `VaultError`, with the command that mends it |
    | holds anything else | `WrongKey` |
    """

    __slots__ = ("path",)

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, path: str | Path) -> KeyFile:
        """A new key in a new file of mode 0600; a file that is there is never written over."""
        try:
            create_file(path, 0o600, os.urandom(SIZE).hex().encode() + b"\n")
        except FileExistsError:
            raise VaultError("The key file exists, and is not written over. Hint: choose another path.") from None
        flush_path(Path(path).parent)
        return cls(path)

    def _content(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                _check_rights(os.fstat(file.fileno()))
                text = file.read(2 * SIZE + len("\r\n") + 1)  # one more than a key can have
        except OSError as error:
            raise VaultError(f"The key file cannot be read: {error.strerror}.") from None
        if not re.fullmatch(b"[0-9a-f]{%d}(?:\r?\n)?" % (2 * SIZE), text):
            raise WrongKey(f"A key file must hold {2 * SIZE} hexadecimal digits on one line, and nothing else.")
        return bytes.fromhex(text[: 2 * SIZE].decode())

    def __repr__(self) -> str:
        return "<KeyFile>"


def _check_rights(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise VaultError("A key file must be a regular file.")
    if os.name == "posix" and status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise VaultError(f"A key file must be its owner's alone. Got mode {mode:04o}. Hint: chmod 600.")
