"""Files in the making: whole under their name or not at all, and none left behind.

A draft stands beside the file it is going to be, as ".name.1a2b3c4d.new", of mode 0600. A process that is killed leaves
its draft there, which may be a whole copy of a vault. So each draft has a lock file that its maker holds; a draft whose
lock nobody holds is removed by the next one who makes or opens the file.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.documents.atomic_files import publish_draft
from discreet.pseudonyms.errors import VaultError

locking: Any
try:
    import fcntl as locking
except ImportError:  # not a POSIX system: drafts are not locked, and stay where they are
    locking = None

LOCK = ".lock"
ROWS = ".rows"  # a folder of parts of it


@contextmanager
def draft(final: str) -> Iterator[str]:
    """The path of a draft, for as long as it is being made; refused where something is already.

    What the file system refuses meanwhile, because it is full, say, is a `VaultError`; nothing is left.
    """
    unused(final)
    try:
        sweep(final)
        with locked(final) as temporary:
            yield temporary
    except OSError as error:
        raise VaultError(f"The file {final!r} cannot be made: {error.strerror}.") from None


@contextmanager
def locked(final: str) -> Iterator[str]:
    """The path of a draft beside a file, with a lock; what is left of it at the end is removed."""
    folder, name = os.path.split(final)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.new")
    handle = os.open(temporary + LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        hold(handle)  # before the draft is there: one without a lock is taken for left over
        yield temporary
    finally:
        discard(temporary)
        os.close(handle)


def sweep(final: str) -> None:
    """Remove drafts of a file whose makers are gone."""
    folder, name = os.path.split(final)
    for path in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.new")):
        if re.fullmatch(r"[0-9a-f]{8}", path.removesuffix(".new")[-8:]) and left(path):
            discard(path)


def left(temporary: str) -> bool:
    """Whether nobody holds the lock of a draft."""
    if locking is None:
        return False
    try:
        handle = os.open(temporary + LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return hold(handle)
    finally:
        os.close(handle)


def hold(handle: int) -> bool:
    """Take the lock of an open file; False if somebody has it, or there are no locks."""
    if locking is None:
        return False
    try:
        locking.flock(handle, locking.LOCK_EX | locking.LOCK_NB)
    except OSError:
        return False
    return True


def unused(path: str) -> None:
    """Refuse a place where something is, or where a log waits for a file."""
    if os.path.lexists(path):
        raise VaultError(f"There is already a file at {path!r}. Hint: another path, or Vault.open(...).")
    for suffix in ("-wal", "-journal"):
        if os.path.lexists(path + suffix):  # SQLite would play a left-over log into the new file
            raise VaultError(f"There is a log of another file at {path + suffix!r}. Hint: move it away.")
    if not os.path.isdir(os.path.dirname(path)):
        raise VaultError(f"There is no folder {os.path.dirname(path)!r}.")


def publish(temporary: str, final: str) -> None:
    """Give a finished file its name; an existing file is never replaced."""
    if os.path.exists(temporary + "-wal"):  # closing could not empty it: the disk is full, say
        raise VaultError(f"The file for {final!r} could not be finished. Hint: is the disk full?")
    try:
        publish_draft(temporary, final)
    except FileExistsError:
        raise VaultError(f"There is already a file at {final!r}.") from None


def discard(temporary: str) -> None:
    """Remove what is left of a draft, its lock last."""
    shutil.rmtree(temporary + ROWS, ignore_errors=True)
    for suffix in ("", "-wal", "-shm", "-journal", LOCK):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.remove(temporary + suffix)
