"""Atomic: files that are there whole or not at all, whatever fails while they are written.

A draft beside the file is written, flushed to the disk and renamed; then its folder is flushed, so that the new name
survives a crash too. What was there stays until the draft takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_file(path: str | os.PathLike[str], content: str | bytes, mode: int = 0o666) -> None:
    """Write a file, in place of one that may be there.

    Parameters
    ----------
    mode : the rights on it, less those that the process withholds (umask).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_file(folder / "a.txt", "all of it")
    >>> [one.name for one in folder.iterdir()]
    ['a.txt']
    """
    with replace_file(path, mode) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replace_file(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[Path]:
    """The path of an empty draft, which takes the file's place on leaving; after an error, what was there stays."""
    draft = create_draft(path, mode)
    try:
        yield draft
        place_draft(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def create_draft(path: str | os.PathLike[str], mode: int = 0o666) -> Path:
    """An empty file beside another, of a name that nobody else uses."""
    target = Path(path)
    draft = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}.part")
    create_file(draft, mode)
    return draft


def create_file(path: str | os.PathLike[str], mode: int, content: bytes = b"") -> None:
    """A new file with these rights from its first moment on; raises `FileExistsError` where something is already."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if content:
                file.write(content)
                file.flush()
                os.fsync(handle)
    except BaseException:
        os.unlink(path)
        raise


def place_draft(draft: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Give a draft the name of the file, in place of one that may be there."""
    flush_path(draft)
    os.replace(draft, path)
    flush_path(Path(path).parent)


def publish_draft(draft: str | os.PathLike[str], path: str | os.PathLike[str], mode: int = 0o600) -> None:
    """Give a draft its name; a file that is there is never replaced: `FileExistsError`."""
    flush_path(draft)
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: reserve the name, then move into it
        create_file(path, mode)
        try:
            os.replace(draft, path)
        except BaseException:
            os.unlink(path)
            raise
    flush_path(Path(path).parent)


def flush_path(path: str | os.PathLike[str]) -> None:
    """Have the disk hold a file, or the names in a folder, where folders can be flushed."""
    folder = os.path.isdir(path)
    if folder and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
