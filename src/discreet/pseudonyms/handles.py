"""Files of vaults, read without taking SQLite's locks away.

POSIX drops all locks that a process has on a file as soon as it closes *any* of its descriptors of it (fcntl, "advisory
record locking"). SQLite would not notice: another process would take itself for the last one, and remove the log of a
vault that is still open here. So there is one descriptor for each file, by device and inode. Whoever reads the file,
or connects to it, takes it; it is closed when the last one has let go.

| case | what happens |
| --- | --- |
| a path whose file was replaced | another inode, so another descriptor |
| a vault that is never closed | its descriptor stays to the end of the process |
| a fork | the copy keeps what it has: locks do not cross a fork, and neither does a vault |
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from types import TracebackType

File = tuple[int, int]  # device and inode
PIECE = 1 << 20  # bytes read at once

_lock = threading.RLock()
_open: dict[File, tuple[int, int]] = {}  # the descriptor, and how many have taken it


class Handle:
    """A file that was taken; let go by `release`, or at the end of a `with`.

    >>> with Handle(os.devnull) as handle:
    ...     handle.read(100), handle.same(os.devnull)
    (b'', True)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: File | None = None
        with _lock:
            self._file = _taken(path)

    def __enter__(self) -> Handle:
        """The handle itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the file."""
        self.release()

    def read(self, size: int, at: int = 0) -> bytes:
        """Up to `size` bytes from a place of the file."""
        descriptor = self._descriptor()
        if hasattr(os, "pread"):
            return os.pread(descriptor, size, at)
        with _lock:
            os.lseek(descriptor, at, os.SEEK_SET)
            return os.read(descriptor, size)

    def pieces(self) -> Iterator[bytes]:
        """The whole file."""
        at = 0
        while piece := self.read(PIECE, at):
            yield piece
            at += len(piece)

    def mode(self) -> int:
        """Kind and permissions of the file."""
        return os.fstat(self._descriptor()).st_mode

    def same(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path leads to this file."""
        try:
            return _named(os.stat(path)) == self._file
        except OSError:
            return False

    def release(self) -> None:
        """Let go of the file; once more does nothing."""
        with _lock:
            file, self._file = self._file, None
            if file is None:
                return
            descriptor, count = _open.pop(file)
            if count > 1:
                _open[file] = descriptor, count - 1
            else:
                os.close(descriptor)

    def _descriptor(self) -> int:
        assert self._file is not None
        return _open[self._file][0]


def _taken(path: str | os.PathLike[str]) -> File:
    """Count one more for a file.

    Should the file be put in its place between the look and the opening, a second descriptor of it stays open unused.
    """
    file = _named(os.stat(path))
    if file not in _open:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        file = _named(os.fstat(descriptor))
        _open.setdefault(file, (descriptor, 0))
    descriptor, count = _open[file]
    _open[file] = descriptor, count + 1
    return file


def _named(found: os.stat_result) -> File:
    return found.st_dev, found.st_ino
