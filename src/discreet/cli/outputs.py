"""Outputs of the command line: checked before anything is charged, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from discreet.documents.atomic_files import create_draft, place_draft


@dataclass(frozen=True)
class Output:
    """A file to be written, checked already; it appears whole, or not at all."""

    path: Path
    mode: int = 0o666
    force: bool = False
    inputs: tuple[Path, ...] = ()

    def write(self, content: str | bytes) -> None:
        """Put this content there."""
        with self.open() as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """A file to write to, which takes its place on leaving; if anything is raised, what was there stays."""
        with self.beside() as path, path.open("r+b") as file:
            yield file

    @contextmanager
    def beside(self) -> Iterator[Path]:
        """The path of an empty file in the same folder, for libraries that open files themselves; then as `open`."""
        path = create_draft(self.path, self.mode)
        try:
            yield path
            self._place(path)
        finally:
            path.unlink(missing_ok=True)

    def _place(self, path: Path) -> None:
        """Give the file its name, unless another took it meanwhile; what was paid for is kept all the same."""
        if _hindrance(self.path, self.force, self.inputs) is None:
            place_draft(path, self.path)
            return
        kept = path.with_name(path.name.removeprefix(".").removesuffix(".part"))
        place_draft(path, kept)
        raise FileExistsError(f"{str(self.path)!r} was taken meanwhile. What was to be there is in {str(kept)!r}.")


def writing(
    path: str | os.PathLike[str], *, force: bool = False, inputs: Iterable[Any] = (), secret: bool = False
) -> Output:
    """A place to write to, checked now, so that nothing is charged for an answer that could not be kept.

    Parameters
    ----------
    force : whether a file that is there may be replaced.
    inputs : files that are read or kept, which are never replaced; also where they are not there yet.
    secret : whether nobody but the owner may read it.

    | what | what happens |
    | --- | --- |
    | no such folder; a folder or a device of this name; no right to write there; one of the inputs | refused |
    | a file of this name | refused, unless forced |
    """
    target = Path(path).expanduser()
    folder, kept = target.parent, tuple(Path(one) for one in inputs)
    if not folder.is_dir():
        _fail(f"There is no folder {str(folder)!r} for the output. Hint: make it first.")
    hindrance = _hindrance(target, force, kept)
    if hindrance is not None:
        _fail(f"The output {str(target)!r} {hindrance}")
    mode = 0o600 if secret else 0o666
    try:
        create_draft(target, mode).unlink()
    except OSError as error:
        _fail(f"Nothing can be written to the folder {str(folder)!r}: {os.strerror(error.errno or 0)}.")
    return Output(target, mode, force, kept)


def _hindrance(target: Path, force: bool, inputs: Iterable[Path]) -> str | None:
    """Why nothing may be written there, if so."""
    if target.is_dir():
        return "is a folder. Hint: name a file in it."
    if target.exists() and not target.is_file():
        return "is no ordinary file. Hint: another name."
    if any(_same(target, one) for one in inputs):
        return "is one of the files that are read or kept. Hint: another name."
    if target.exists() and not force:
        return "is there already. Hint: --force to replace it, or another name."
    return None


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return os.path.samefile(one, other)
    return one.expanduser().resolve() == other.expanduser().resolve()


def _fail(message: str) -> NoReturn:
    from discreet.cli.console import fail

    fail(message)
