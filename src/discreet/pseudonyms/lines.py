"""CSV as bytes: where cells begin and end, and nothing else of them is touched.

A file is cut at its record ends, and each record at its delimiters, by whole blocks at once. What is not an identifier
is written back byte for byte: quotes, spaces, empty cells against empty strings (`,,` against `,"",`), line ends.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.tokens import LENGTH, plain_texts

BLOCK = 1 << 24  # bytes read at a time
LONGEST = 1 << 28  # bytes of one record: beyond, a quote was never closed
DELIMITERS = ",;\t|"

Places = npt.NDArray[np.int64]
Words = Mapping[int, pl.Series | None]  # by the places of columns; None for a column that goes


@dataclass(frozen=True)
class Dialect:
    r"""How a CSV file is written.

    Parameters
    ----------
    delimiter : one character between cells; None for the one of `,` `;` tab `|` that the header has most of.
    quote : the character around cells that hold delimiters, doubled inside them; None where quotes mean nothing.
    encoding : of the text; a byte order mark is understood, and kept, by itself.

    Examples
    --------
    >>> Dialect(delimiter=";", encoding="latin-1")
    Dialect(delimiter=';', quote='"', encoding='latin-1')
    """

    delimiter: str | None = None
    quote: str | None = '"'
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote"):
            mark = getattr(self, name)
            if mark is not None and not (isinstance(mark, str) and len(mark) == 1 and mark.isascii()):
                raise ValueError(f"The `{name}` of a Dialect must be one ASCII character or None. Got {mark!r}.")
            if mark is not None and (mark in "\n\r-_" or mark.isalnum()):  # pseudonyms are made of the latter
                raise ValueError(f"The `{name}` of a Dialect must be no letter, digit, hyphen, underscore or line end.")
        if self.delimiter is not None and self.delimiter == self.quote:
            raise ValueError("The `delimiter` of a Dialect must differ from its `quote`.")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise ValueError(
                f"The `encoding` of a Dialect must be one that Python knows. Got {self.encoding!r}."
            ) from None

    def told(self, header: bytes) -> Dialect:
        """The same with the delimiter that a header shows."""
        if self.delimiter is not None:
            return self
        plain = header.decode("utf-8", "replace")
        if self.quote:
            mark = re.escape(self.quote)
            plain = re.sub(f"{mark}[^{mark}]*{mark}", "", plain)
        return Dialect(max(DELIMITERS, key=plain.count), self.quote, self.encoding)


@dataclass(frozen=True)
class Cells:
    """Whole records of a CSV file: their bytes, and for each cell the places where it begins and ends.

    Parameters
    ----------
    data : the bytes.
    starts, ends : of each cell, records by columns; a line end is in no cell.
    stops : where each record ends, after its line end.
    dialect : how it is written.
    """

    data: bytes
    starts: Places
    ends: Places
    stops: Places
    dialect: Dialect

    def __len__(self) -> int:
        return len(self.stops)

    def column(self, place: int) -> pl.Series:
        """A column as text without its quotes. Bytes that are no UTF-8 are refused."""
        raw = _slices(self.data, self.starts[:, place], self.ends[:, place])
        with contextlib.suppress(pa.ArrowException):
            text: pl.Series = pl.Series(pl.from_arrow(raw.cast(pa.large_string())))
            return unquoted(text, self.dialect.quote)
        raise VaultError(
            f"Column {place + 1} of the CSV file holds text that is not UTF-8. "
            'Hint: say which encoding it is, as in Dialect(encoding="latin-1").'
        )

    def tokens(self, place: int) -> pl.Series:
        """The cells of a column that are as long as a pseudonym, as text; others may be no text at all."""
        starts, ends = self.starts[:, place], self.ends[:, place]
        fits = np.isin(ends - starts, (LENGTH, LENGTH + 2))  # bare or within quotes
        return unquoted(plain_texts(_slices(self.data, starts[fits], ends[fits])), self.dialect.quote)

    def replaced(self, words: Words, kept: npt.NDArray[np.bool_] | None) -> pa.Array:
        """Each record with words in place of some columns, and without others; line ends included.

        Parameters
        ----------
        words : for each of these columns, by its place, a word for each record; None for one that goes, which is not
            the first of them. Words need no quotes; a null is an empty cell.
        kept : which records to keep; all, if None.
        """
        chosen = slice(None) if kept is None else kept
        parts, start = [], self.starts[chosen, 0]
        for place in sorted(words):
            own = words[place]
            stop = self.starts[chosen, place] - (own is None)  # a column goes with the delimiter before it
            parts.append(_slices(self.data, start, stop))
            if own is not None:
                own = own if kept is None else own.filter(pl.Series(kept))
                parts.append(own.fill_null("").to_arrow().cast(pa.large_binary()))
            start = self.ends[chosen, place]
        parts.append(_slices(self.data, start, self.stops[chosen]))
        return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def unquoted(text: pl.Series, quote: str | None) -> pl.Series:
    """Cells without the quotes around them, doubled ones inside made single."""
    if quote is None or not (marked := text.str.starts_with(quote)).any():
        return text
    bare = text.str.slice(1).str.strip_suffix(quote).str.replace_all(quote * 2, quote, literal=True)
    return bare.zip_with(marked, text)


def quoted(name: str, dialect: Dialect) -> str:
    """A word as a cell: within quotes where it needs them."""
    needed = [mark for mark in (dialect.delimiter, dialect.quote, "\n", "\r") if mark and mark in name]
    if not needed:
        return name
    if dialect.quote is None:
        raise ValueError(f"The column name {name!r} holds a delimiter or a line end, and there are no quotes.")
    return dialect.quote + name.replace(dialect.quote, dialect.quote * 2) + dialect.quote


def _slices(data: bytes, starts: Places, ends: Places) -> pa.Array:
    """Stretches of bytes as an array: every other one of those that lie between all the places."""
    places = np.empty(2 * len(starts), np.int64)
    places[::2], places[1::2] = starts, ends
    if not len(places):
        return pa.array([], pa.large_binary())
    between = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(places) - 1, [None, pa.py_buffer(places), pa.py_buffer(data)]
    )
    return between.take(pa.array(np.arange(0, len(places) - 1, 2)))


class Records:
    """The records of a CSV file, in blocks that end where a record does.

    Parameters
    ----------
    stream : has `read(size)` and gives UTF-8, or any bytes that agree with ASCII where delimiters stand.
    dialect : how it is written.
    name : of the file, for messages.

    A blank line is no record, unless there is one column only. A record with more or fewer cells than the header is
    refused, and so is a quote inside a cell that does not begin with one.
    """

    def __init__(self, stream: Any, dialect: Dialect, name: str) -> None:
        self._stream, self._name, self.dialect = stream, name, dialect
        self._rest, self._end, self._done = b"", b"\n", 0
        self.ended = True  # whether the last record has a line end
        head = self._first()
        self.dialect = dialect.told(head)
        self.header = self._split(head, 0)
        self.line_end = head[int(self.header.ends[0, -1]) :].decode()
        self.width = self.header.starts.shape[1]
        self.names: list[str] = [self.header.column(place).item() for place in range(self.width)]

    def __iter__(self) -> Iterator[Cells]:
        for block in self._blocks():
            cells = self._split(block, self.width)
            self._done += len(cells)
            if len(cells):
                yield cells

    def _first(self) -> bytes:
        """The header: up to the first line end outside quotes; lines may end as on any system, old ones too."""
        head = self._stream.read(BLOCK)
        if head.endswith(b"\r"):  # the rest of the line end may follow
            head += self._stream.read(BLOCK)
        if b"\n" not in head and b"\r" in head:
            self._end = b"\r"
        self._rest = head
        for block in self._blocks(first=True):
            return block
        raise VaultError(f"{self._name!r} is empty: a CSV file begins with a header.")

    def _blocks(self, first: bool = False) -> Iterator[bytes]:
        block, size = self._rest, BLOCK
        while True:
            stop = self._stop(block, first)
            if stop:
                self._rest = block[stop:]
                yield block[:stop]
                block, size = self._rest, BLOCK
            more = self._stream.read(size)
            if not more:
                break
            block, size = block + more, min(2 * size, LONGEST)  # doubled: a long record is not read over and over
            if len(block) > 2 * LONGEST:
                raise self._problem("holds a quote that is never closed", 0, "Hint: Dialect(quote=None).")
        self._rest = b""
        if block:
            self.ended = False
            yield block + self._end

    def _stop(self, block: bytes, first: bool) -> int:
        """After the first or last record end of a block; 0 if there is none."""
        quote = (self.dialect.quote or "").encode()
        seek = block.find if first else block.rfind
        place = seek(self._end)
        before = block.count(quote, 0, place) if quote and place >= 0 else 0
        while place >= 0 and before % 2:  # within quotes
            then = seek(self._end, place + 1) if first else seek(self._end, 0, place)
            before += block.count(quote, place, then) if first else -block.count(quote, max(then, 0), place)
            place = then
        return place + 1

    def _split(self, block: bytes, width: int) -> Cells:
        """Records of `width` cells; of as many as the first has, if 0."""
        array = np.frombuffer(block, np.uint8)
        cuts = (array == self._end[0]) | (array == (self.dialect.delimiter or ",").encode()[0])
        outside = self._outside(array)
        ends = np.flatnonzero(cuts if outside is None else cuts & outside)
        starts = np.concatenate([[0], ends[:-1] + 1])
        lines = np.flatnonzero(array[ends] == self._end[0])
        starts, ends = self._even(array, starts, ends, np.diff(lines, prepend=-1), width or int(lines[0]) + 1)
        stops = ends[:, -1] + 1
        if self._end == b"\n":
            ends[:, -1] -= (ends[:, -1] > starts[:, -1]) & (array[ends[:, -1] - 1] == 13)  # \r belongs to the line end
        return Cells(block, starts, ends, stops, self.dialect)

    def _even(
        self, array: npt.NDArray[np.uint8], starts: Places, ends: Places, counts: Places, width: int
    ) -> tuple[Places, Places]:
        """Cells as records by columns, without blank lines."""
        if (counts != width).any():
            sizes = (ends - starts)[np.cumsum(counts) - counts]
            marks = array[ends[np.cumsum(counts) - counts] - 1]
            blank = (counts == 1) & ((sizes == 0) | ((sizes == 1) & (marks == 13)))
            wrong = np.flatnonzero((counts != width) & ~blank)
            if len(wrong):
                record, cells = int(wrong[0]), int(counts[wrong[0]])
                raise self._problem(f"has {cells} cells where the header has {width}", record)
            kept = ~np.repeat(blank, counts)
            starts, ends = starts[kept], ends[kept]
        return starts.reshape(-1, width), ends.reshape(-1, width)

    def _outside(self, array: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_] | None:
        """Which bytes lie outside quotes; None where there are none. A quote within a bare cell is refused."""
        if self.dialect.quote is None:
            return None
        mark = ord(self.dialect.quote)
        quotes = array == mark
        places = np.flatnonzero(quotes)
        if not len(places):
            return None
        edge = np.zeros(256, bool)
        edge[[mark, self._end[0], ord(self.dialect.delimiter or ",")]] = True
        opening, closing = places[::2], places[1::2]
        if len(opening) > len(closing):
            raise self._problem("holds a quote that is never closed", 0, "Hint: Dialect(quote=None).")
        fine = edge[array[opening - 1]] | (opening == 0)
        edge[13] = True
        if not (fine.all() and edge[array[closing + 1]].all()):  # a block ends with a line end, so there is one more
            raise self._problem("holds a quote inside a cell that is not quoted", 0, "Hint: Dialect(quote=None).")
        inside: npt.NDArray[np.uint8] = np.bitwise_xor.accumulate(quotes.view(np.uint8))
        outside: npt.NDArray[np.bool_] = inside == 0
        return outside

    def _problem(self, what: str, record: int, hint: str = "") -> VaultError:
        where = f"Record {self._done + record + 1:,} of {self._name!r}, or one after it,"
        return VaultError(f"{where} {what}. {hint}".rstrip())
