"""Table: a data file with the facts about it; checked by its header, read only when an answer has been paid for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli import facts as _facts
from discreet.cli.columns import Column
from discreet.cli.facts import Facts
from discreet.cli.header import PARQUET, header
from discreet.progress import Progress

ROWS = 1 << 14  # at a time
WORDS = {"number": "numbers", "text": "text", "truth": "true and false", "other": "neither numbers nor text"}

if TYPE_CHECKING:
    from discreet.models.shared.encoder import Encoder


@dataclass(frozen=True)
class Table:
    """A data file and its facts."""

    path: Path
    facts: Facts

    @property
    def unit(self) -> str | None:
        """The column of units; None where each row is one."""
        return None if self.facts.unit == "row" else self.facts.unit

    def rows(self, columns: Sequence[Column], target: Column | None = None, progress: Progress = None) -> Any:
        """A stream of these columns, as they come; nothing is read but names and types."""
        self.check(columns, target)
        names = [one.name for one in columns]
        every = [*columns, target] if target is not None else columns
        aim = None if target is None else target.name
        sorts = types(every) | ({self.unit: "text"} if self.unit else {})
        return scanned(self.path, names, sorts, aim, self.unit, progress)

    def check(self, columns: Sequence[Column], target: Column | None = None) -> None:
        """Raise unless the file has these columns and, as far as its schema tells, of these kinds."""
        every = [*columns, target] if target is not None else list(columns)
        found = header(self.path)
        wanted = [*(one.name for one in every), *([self.unit] if self.unit else [])]
        lost = [name for name in wanted if name not in found.names]
        if lost:
            raise ValueError(
                f"{self.path.name!r} has no columns {lost}, which {self.facts.file} names. Hint: correct one of the "
                "two; names must be the same to the letter."
            )
        for one in every:
            self._fitting(one, found.sort(one.name))

    def _fitting(self, one: Column, sort: str) -> None:
        if sort and sort not in (("number", "truth") if one.kind == "number" else (one.sort,)):
            raise ValueError(
                f"The column {one.name!r} holds {WORDS[sort]} in {self.path.name!r}, and {WORDS[one.sort]} in "
                f"{self.facts.file}: no value would match. Nothing was charged. Hint: correct [columns.{one.name}]."
            )

    def encoder(self, columns: Sequence[Column]) -> Encoder:
        """What makes features of these columns."""
        from discreet.models.shared.encoder import Encoder

        lists = tuple(one.values if one.kind == "category" else None for one in columns)
        return Encoder(tuple(one.name for one in columns), lists)


def opened(path: Path, facts: Path | None = None, *, rows: bool = True) -> Table:
    """The data file, with the facts beside it or in the file given, which must be about it.

    With `rows=False` the file need not be there: no row is wanted.
    """
    from discreet.errors import EngineError

    if rows and not path.exists():
        raise EngineError(f"There is no file {str(path)!r}.")
    found = _facts.read(facts or _facts.beside(path))
    about(found, path)
    return Table(path, found)


def about(facts: Facts, path: Path) -> None:
    """Raise if these facts say that they are about another file."""
    if facts.path is not None and (facts.home / facts.path).resolve() != path.resolve():
        raise ValueError(
            f"{facts.file} is about {facts.path!r}, not about {path.name!r}. Hint: `discreet init {path.name} -o "
            f"other.toml` for facts of its own, then --facts other.toml."
        )


def kept(path: Path, facts: Path | None = None) -> list[Path]:
    """What no output may replace: the data, the facts about them, and the account."""
    where = facts or _facts.beside(path)
    found = [path, where]
    try:
        ledger = _facts.read(where).ledger
    except ValueError:  # said elsewhere, where facts are needed
        return found
    if ledger is not None:
        found += [ledger, *(ledger.with_name(ledger.name + end) for end in ("-wal", "-shm", "-journal"))]
    return found


def scanned(
    path: Path,
    names: Sequence[str],
    types: dict[str, str],
    target: str | None = None,
    unit: str | None = None,
    progress: Progress = None,
) -> Any:
    """A stream of some columns of a file."""
    from discreet.engines.stream import Stream

    return Stream(_source(path, types), target, names, unit, progress)


def types(columns: Sequence[Column]) -> dict[str, str]:
    """What cells of CSV files are to be read as: told by the facts, and not by what they hold."""
    return {one.name: one.sort for one in columns if one.kind != "skip"}


def cells(path: Path, names: Sequence[str], types: dict[str, str], progress: Progress = False) -> Iterator[Any]:
    """All rows of some columns, in order, some thousands at a time, each cell as it comes."""
    from discreet.engines.arrow import read_objects
    from discreet.engines.stream.pieces import read_pieces
    from discreet.engines.stream.source import Batches

    def work(batches: Batches) -> list[Any]:
        return [read_objects(batch, list(names)) for _, batch in batches]

    for some in read_pieces(_source(path, types), (), list(names), ROWS, work, progress):
        yield from some


def _source(path: Path, types: dict[str, str]) -> Any:
    """The file as an engine reads it; of a CSV file no more than the header is read before rows are asked for."""
    from discreet.engines.stream.csv import Csv
    from discreet.engines.stream.parquet import Parquet

    if path.name.lower().endswith(PARQUET):
        return Parquet(path)
    return Csv(path, {name: types.get(name, "text") for name in header(path).names})
