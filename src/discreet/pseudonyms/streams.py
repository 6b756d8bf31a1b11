"""A file in, a file out: rows are named piece by piece, and the new file appears whole or not at all.

| what happens | then |
| --- | --- |
| an identifier does not parse, a record is cut short | an error; `out` is as it was, no other file is left |
| the disk fills | the same |
| the process is killed | the same, but for hidden drafts beside `out`, which the next run for it removes; an entry |
| | "started" in the register that no other one closes |
| the table is refused after people were taken in | an entry "failed" in the register; the people stay known |
| it fails after the table was recorded | the register knows a table that is not there; never the other way round |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl
import pyarrow as pa

from discreet.progress import Bar
from discreet.pseudonyms import frames
from discreet.pseudonyms.drafts import ROWS
from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, Unparsable
from discreet.pseudonyms.files import File, Piece, alike, endings, opened
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.naming import Named
from discreet.pseudonyms.output import draft
from discreet.pseudonyms.roles import Role, all_identifiers
from discreet.pseudonyms.shuffle import shuffled
from discreet.pseudonyms.together import Together

Tables = Generator[pa.Table, None, None]
Watch = Callable[[pl.DataFrame, Sequence[Named]], None]


@dataclass(frozen=True)
class Job:
    """What to do with a file.

    Parameters
    ----------
    table : the path of a CSV or Parquet file.
    out : the path of the new one, of the same kind.
    roles : the people of each row, by their columns.
    dialect : how a CSV file is written.
    shuffle : put the rows in random order, and write all of them in one way: for partners.
    progress : a bar with the share that is done; None for one on an interactive terminal.
    overwrite : whether `out` may be there already.
    check : looks at the names of the columns before anything is read.
    check_tokens : looks at what might be a pseudonym in the columns that remain, piece by piece, before it is named.
    """

    table: str | os.PathLike[str]
    out: str | os.PathLike[str]
    roles: tuple[Role, ...]
    dialect: Dialect | None = None
    shuffle: bool = False
    progress: bool | None = None
    overwrite: bool = False
    check: Callable[[list[str]], None] | None = None
    check_tokens: Callable[[Mapping[str, pl.Series]], None] | None = None

    def run(self, naming: Together, record: Callable[[list[str]], None], watch: Watch | None = None) -> Path:
        """Write the new file; `record` is told the columns that remain just before it takes its place.

        Parameters
        ----------
        naming : pseudonyms for all people of the rows.
        record : notes the table in the register; if it fails, there is no new file.
        watch : is shown the columns that remain, and what was named, as they pass.
        """
        alike(self.table, self.out, self.overwrite)
        with ExitStack() as stack:
            file = opened(self.table, self.dialect, stack, self.shuffle)
            frames.check(file.names, self.roles)
            if self.check is not None:
                self.check(file.names)
            remaining = [name for name in file.names if name not in all_identifiers(self.roles)]
            path, settle = stack.enter_context(draft(self.out))
            self._write(file, path, naming, watch, remaining)
            record(remaining)
            settle()
        return Path(self.out)

    def _write(self, file: File, path: Path, naming: Together, watch: Watch | None, remaining: list[str]) -> None:
        named = self._named(file, naming, watch, remaining)
        with ExitStack() as stack:
            stack.callback(named.close)
            if self.shuffle:
                rows = Path(f"{path}{ROWS}")  # goes with the draft, whatever happens
                rows.mkdir(mode=0o700)
                named = shuffled(named, file.size, rows)
                stack.callback(named.close)  # with its temporary files, also where writing fails
            write = stack.enter_context(file.writer(path, endings(self.out)[1], self.roles))
            for table in named:
                write(table)

    def _named(self, file: File, naming: Together, watch: Watch | None, remaining: list[str]) -> Tables:
        done = 0
        with Bar(self.progress, "pseudonyms") as bar:
            pieces = file.pieces()
            for piece in pieces:
                if self.check_tokens is not None:
                    self.check_tokens(piece.tokens(remaining))
                named = self._words(naming, piece, pieces)
                if watch is not None:
                    watch(piece.columns({name: name for name in remaining}), named)
                yield piece.replaced(self.roles, [one.words for one in named], named[0].kept)
                done += len(piece)
                bar.at(done / file.rows if file.rows else None)

    def _words(self, naming: Together, piece: Piece, rest: Iterator[Piece]) -> Sequence[Named]:
        """The pseudonyms of a piece. If it is refused, the rest is read too, so that the error has all numbers."""
        raws = self._raws(piece)
        try:
            return naming(raws)
        except (Unparsable, MissingIdentifiers, Tampered) as error:
            fault = naming.fault(error, chain([raws], map(self._raws, rest)))
        raise fault

    def _raws(self, piece: Piece) -> list[pl.DataFrame]:
        """The identifiers of each person of the rows."""
        return [piece.columns(role.identifiers) for role in self.roles]
