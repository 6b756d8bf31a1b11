"""The worker file of a Spark on this machine: made by itself, told to the register, and gone with the process.

| what happens | then |
| --- | --- |
| it is asked for again, with the same keys, fields and erased people | the same file |
| the process ends | it is removed |
| the process is killed | the next one that lends a file removes it: each has a lock, held by its maker |
| a file system without locks | it is removed at the end of the process alone |

It lies where `XDG_RUNTIME_DIR` says, which is memory of one user, or else among temporary files; mode 0600, in a folder
of mode 0700. A plan may be computed at any time, so it stays until the process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from discreet.pseudonyms.drafts import hold, left
from discreet.pseudonyms.entries import words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.workers import Worker

if TYPE_CHECKING:
    from discreet.pseudonyms.keyring import Version
    from discreet.pseudonyms.vault import Vault

PREFIX = "discreet-"
RUNTIME = "/run/user"  # where systems with systemd have a folder in memory for each user
_lent: dict[tuple[str, str], str] = {}  # the newest file by vault and key id


def lent(vault: Vault, version: Version, worker: Worker, who: str | None = None) -> str:
    """The path of a worker file for a Spark on this machine; a new one is told to the register."""
    known = _lent.get((vault.name, version.key_id))
    if known is not None and _fits(known, worker):
        return known
    for base in _bases():
        _sweep(base)
    folder = _folder()
    try:
        path = os.path.join(folder, "worker")
        worker.write(path)
        vault.register.append(
            "worker file", who=words(who, "who"), purpose=version.purpose, partner=version.partner,
            details={"key_id": version.key_id, "for": "Spark on this machine"},
        )  # fmt: skip
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _lent[vault.name, version.key_id] = path
    return path


def _fits(path: str, worker: Worker) -> bool:
    try:
        there = Worker.read(path)
    except VaultError:  # removed, or changed
        return False
    return (there.schema, there.older, there.suppressed) == (worker.schema, worker.older, worker.suppressed)


def _base() -> str:
    """Where folders are: memory of this user alone, if there is any."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    with contextlib.suppress(OSError):
        if os.path.isabs(own) and os.stat(own).st_uid == os.geteuid() and os.access(own, os.W_OK | os.X_OK):
            return own
    return tempfile.gettempdir()


def _bases() -> list[str]:
    """Where folders may have been left, also by a process with another environment."""
    return list(dict.fromkeys((_base(), f"{RUNTIME}/{os.geteuid()}", tempfile.gettempdir())))


def _folder() -> str:
    """A new folder of mode 0700 with a lock that is held to the end of the process."""
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=_base())
    lock = os.path.join(folder, "worker.lock")
    handle = os.open(lock + ".new", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    if hold(handle):  # before it has its name: a folder with a lock that nobody holds is taken for left over
        os.rename(lock + ".new", lock)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not at the end of a child
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(base: str) -> None:
    """Remove folders of this user whose makers are gone."""
    for folder in glob.glob(os.path.join(glob.escape(base), PREFIX + "*")):
        with contextlib.suppress(OSError):
            mine = os.lstat(folder).st_uid == os.geteuid() and not os.path.islink(folder)
            if mine and os.path.exists(os.path.join(folder, "worker.lock")) and left(os.path.join(folder, "worker")):
                shutil.rmtree(folder, ignore_errors=True)
