"""Files that are there whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.documents.atomic_files import create_file, place_draft
from discreet.pseudonyms.drafts import locked, sweep
from discreet.pseudonyms.errors import VaultError

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "writing there is not allowed",
    errno.EROFS: "the file system is read-only",
    errno.ENOENT: "its folder does not exist",
    errno.EISDIR: "it is a folder",
    errno.EFBIG: "it would be larger than files may be",
}


@contextmanager
def draft(out: str | os.PathLike[str]) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A file beside `out` to write to, and a function that puts it in its place.

    The draft can be read by its owner alone (mode 0600). `settle()` flushes it to the disk and renames it, so that
    `out` is the old file or the new one, whatever fails in between. Without `settle`, or after an error, the draft is
    removed and `out` is as it was. Where `out` is a symbolic link, the file that it leads to is replaced. What a killed
    process left is removed by the next draft of the same file (`drafts.py`).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with draft(folder / "a.txt") as (path, settle):
    ...     _ = path.write_text("all of it")
    ...     settle()
    >>> [one.name for one in folder.iterdir()]
    ['a.txt']
    """
    out = Path(os.path.realpath(out))
    if out.is_dir():
        raise VaultError(f"{str(out)!r} cannot be written: it is a folder.")
    with told(out):
        sweep(str(out))
        with locked(str(out)) as temporary:
            path = Path(temporary)
            create_file(path, 0o600)
            yield path, lambda: place_draft(path, out)


@contextmanager
def told(out: Path) -> Iterator[None]:
    """Errors of the file system in words that name the file alone."""
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or type(error).__name__)
        raise VaultError(f"{str(out)!r} cannot be written: {reason}. Nothing was changed there.") from None
