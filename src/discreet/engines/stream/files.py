"""Files on disk as sources: which they are, whether they are still the same, and their columns."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.arrow import classify_type
from discreet.errors import EngineError

LONGEST = 1 << 20  # bytes of a first line
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def find_files(paths: Paths, endings: Sequence[str]) -> tuple[str, ...]:
    """The files that a path, a pattern, a folder or a list of them names, in the order of their names.

    A file with two names (a link, a relative path and an absolute one) is one file: twice, its rows would count twice.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    names = {name for one in several for name in _list_files(os.fspath(one), endings)}
    if not names:
        raise EngineError("No files were named.")
    once: dict[str, str] = {}
    for name in sorted(names):
        once.setdefault(os.path.normcase(os.path.realpath(name)), name)
    return tuple(once.values())


def _list_files(path: str, endings: Sequence[str]) -> list[str]:
    if os.path.isdir(path):
        names = [str(one) for one in Path(path).rglob("*") if one.name.endswith(tuple(endings)) and one.is_file()]
        return names or _raise_not_found(
            f"There is no file that ends in {' or '.join(endings)} in the folder {path!r}."
        )
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        names = [one for one in glob.glob(path, recursive=True) if os.path.isfile(one)]
        return names or _raise_not_found(f"No file matches {path!r}.")
    return _raise_not_found(f"There is no file {path!r}.")


def _raise_not_found(message: str) -> list[str]:
    raise EngineError(message)


@dataclass(frozen=True)
class Stamp:
    """A file as it was when it was opened: its size and when it was changed."""

    name: str
    size: int
    changed: int

    @classmethod
    def of_file(cls, name: str) -> Stamp:
        """The file as it is now."""
        try:
            status = os.stat(name)
        except OSError:
            raise EngineError(f"The file {name!r} cannot be read: is it gone?") from None
        return cls(name, status.st_size, status.st_mtime_ns)

    def check(self) -> None:
        """Raise if the file is another by now."""
        if Stamp.of_file(self.name) != self:
            raise EngineError(
                f"The file {self.name!r} changed after it was opened. Hint: open it again, and start anew."
            )


def digest_files(stamps: Sequence[Stamp], schema: pa.Schema) -> str:
    """A digest of names, sizes, times of change and schema: another one means other data."""
    digest = hashlib.sha256()
    for stamp in stamps:
        digest.update(f"{stamp.name}\0{stamp.size}\0{stamp.changed}\0".encode("utf-8", "surrogateescape"))
    digest.update(schema.remove_metadata().to_string().encode())
    return digest.hexdigest()[:32]


def merge_schemas(schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    """The columns of all files: those of the first; a column of numbers may be of another type of numbers elsewhere."""
    (first, schema), *rest = schemas
    fields = {field.name: field for field in schema}
    if len(fields) < len(schema.names):
        raise EngineError(f"{first!r} has two columns of one name.")
    for name, other in rest:
        types = {field.name: field.type for field in other}
        for field in list(fields.values()):
            fields[field.name] = _merge_fields(field, types.get(field.name, False), first, name)
    return pa.schema(list(fields.values()))


def _merge_fields(field: pa.Field, other: Any, first: str, name: str) -> pa.Field:
    """One column in two files."""
    if other is False:
        raise EngineError(f"There is a column {field.name!r} in {first!r}, but not in {name!r}.")
    one, two = classify_type(field.type), classify_type(other)
    if "nothing" in (one, two):
        return field if two == "nothing" else field.with_type(other)
    if one != two or (one == "other" and field.type != other):
        raise EngineError(
            f"The column {field.name!r} is of type {field.type} in {first!r}, but of type {other} in {name!r}."
        )
    return field


def read_header(name: str) -> list[str]:
    """The names of a CSV file's columns, which are its first line: no more is read."""
    short = os.path.basename(name)
    try:
        text = _read_first_line(name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise EngineError(f"The first line of {short!r} is no UTF-8 text. Hint: save the file as UTF-8.") from None
    try:
        fields = next(csv.reader(io.StringIO(text), strict=True), [])
    except csv.Error:  # a quote that stays open: the line ends within a name
        raise EngineError(
            f"The header of {short!r} cannot be used: a name holds a line break, or its quotes do not match. Hint: "
            "write a first line with a distinct name for each column, beginning with a letter."
        ) from None
    if len(fields) < 2 and any(mark in text for mark in ";\t|"):
        raise EngineError(f"The columns of {short!r} are not separated by commas. Hint: save it with commas.")
    return fields


def _read_first_line(name: str) -> bytes:
    content, short = b"", os.path.basename(name)
    try:
        with pa.input_stream(name, compression="detect") as stream:
            while len(content) < LONGEST and b"\n" not in content and b"\r" not in content:
                some = stream.read(4096)
                content += some
                if not some:
                    break
    except (OSError, pa.ArrowException):
        raise EngineError(f"{short!r} cannot be read: is it damaged?") from None
    line = next(iter(content.splitlines()), b"")  # files of some systems end lines by a carriage return
    if not line.strip() or len(content) >= LONGEST:
        raise EngineError(f"{short!r} has no header: its first line is to hold the names of the columns.")
    return line
