"""Table: a data file with the facts about it; checked by its header, read only when an answer has been paid for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli import facts as _facts
from discreet.cli.facts import Column, Facts
from discreet.cli.header import PARQUET, missing

ROWS = 1 << 14  # at a time

if TYPE_CHECKING:
    from discreet.models.encoder import Encoder


@dataclass(frozen=True)
class Table:
    """A data file and its facts."""

    path: Path
    facts: Facts

    @property
    def unit(self) -> str | None:
        """The column of units; None where each row is one."""
        return None if self.facts.unit == "row" else self.facts.unit

    def rows(self, columns: Sequence[Column], target: Column | None = None) -> Any:
        """A stream of these columns, as they come; nothing is read but names and types."""
        names = [one.name for one in columns]
        every = [*columns, target] if target is not None else columns
        self._check([*names, *([target.name] if target else []), *([self.unit] if self.unit else [])])
        aim = None if target is None else target.name
        return scanned(self.path, names, types(every) | ({self.unit: "text"} if self.unit else {}), aim, self.unit)

    def _check(self, names: Sequence[str]) -> None:
        lost = missing(self.path, names)
        if lost:
            raise ValueError(
                f"{self.path.name!r} has no columns {lost}, which {self.facts.file} names. Hint: correct one of the "
                "two; names must be the same to the letter."
            )

    def encoder(self, columns: Sequence[Column]) -> Encoder:
        """What makes features of these columns."""
        from discreet.models.encoder import Encoder

        lists = tuple(one.values if one.kind == "category" else None for one in columns)
        return Encoder(tuple(one.name for one in columns), lists)


def opened(path: Path, facts: Path | None = None) -> Table:
    """The data file, with the facts beside it or in the file given; both must be there and fit."""
    from discreet.errors import EngineError

    if not path.exists():
        raise EngineError(f"There is no file {str(path)!r}.")
    found = _facts.read(facts or _facts.beside(path))
    home = found.home / (found.path or path.name)
    if facts is None and found.path is not None and home.resolve() != path.resolve():
        raise ValueError(
            f"{found.file} is about {found.path!r}, not about {path.name!r}. Hint: `discreet init {path.name} -o "
            f"other.toml` for facts of its own, then --facts other.toml."
        )
    return Table(path, found)


def scanned(
    path: Path, names: Sequence[str], types: dict[str, str], target: str | None = None, unit: str | None = None
) -> Any:
    """A stream of some columns of a file."""
    from discreet.engines.sources import scan_csv, scan_parquet

    if path.name.lower().endswith(PARQUET):
        return scan_parquet(path, target, names, unit)
    return scan_csv(path, target, names, unit, types=types)


def types(columns: Sequence[Column]) -> dict[str, str]:
    """What cells of CSV files are to be read as: told by the facts, and not by what they hold."""
    found = {}
    for one in columns:
        if one.kind == "number":
            found[one.name] = "number"
        elif one.kind == "category" and not isinstance(one.values[0], bool):
            found[one.name] = "text" if isinstance(one.values[0], str) else "number"
    return found


def cells(path: Path, names: Sequence[str], types: dict[str, str]) -> Iterator[Any]:
    """All rows of some columns, in order, some thousands at a time, each cell as it comes."""
    from discreet.engines.arrow import objects
    from discreet.engines.csv import Csv
    from discreet.engines.parquet import Parquet

    source = Parquet(path) if path.name.lower().endswith(PARQUET) else Csv(path, types)
    for piece in source.pieces([], list(names), ROWS):
        for _, batch in piece():
            yield objects(batch, list(names))
