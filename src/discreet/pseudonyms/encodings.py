"""CSV files as UTF-8, whatever they are written in, and back."""

from __future__ import annotations

import codecs
from typing import Any

from discreet.pseudonyms.errors import VaultError

MARKS = {  # the longer ones first: UTF-32 begins as UTF-16 does
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


class Reader:
    """A stream of bytes read as UTF-8, without the mark of byte order that it may begin with.

    Parameters
    ----------
    stream : of bytes.
    encoding : of the text, unless a mark tells another.
    name : of the file, for messages.
    """

    def __init__(self, stream: Any, encoding: str, name: str) -> None:
        self._stream, self._name = stream, name
        self._held = stream.read(4)
        self.mark, self.encoding = b"", codecs.lookup(encoding).name.replace("utf-8-sig", "utf-8")
        for mark, known in MARKS.items():
            if self._held.startswith(mark):
                self.mark, self.encoding = mark, known
                break
        self._held = self._held[len(self.mark) :]
        self._decoder: Any = None if self.encoding == "utf-8" else codecs.getincrementaldecoder(self.encoding)()

    def read(self, size: int) -> bytes:
        """So many bytes of the file, or more, as UTF-8; none at its end."""
        while True:
            data: bytes = self._held + self._stream.read(size)
            self._held = b""
            if self._decoder is None:
                return data
            found = self._decoded(data)
            if found is None:
                raise VaultError(
                    f"{self._name!r} is not written in {self.encoding}. Hint: Dialect(encoding=...) says what it is."
                )
            if found or not data:  # a few bytes may be half a character
                return found

    def _decoded(self, data: bytes) -> bytes | None:
        """As UTF-8; None if it is not in the encoding: what Python raises then holds the data."""
        try:
            text: str = self._decoder.decode(data, final=not data)
            return text.encode("utf-8")
        except UnicodeError:
            return None


class Writer:
    """UTF-8 written to a stream of bytes in another encoding, after the mark that the file had.

    Parameters
    ----------
    stream : of bytes.
    mark, encoding : as `Reader` found them.
    """

    def __init__(self, stream: Any, mark: bytes, encoding: str) -> None:
        self._stream = stream
        self._encoder = None if encoding == "utf-8" else codecs.getincrementalencoder(encoding)()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        stream.write(mark)

    def write(self, data: Any) -> None:
        """Bytes of UTF-8, which may end within a character."""
        if self._encoder is None:
            self._stream.write(data)
        else:
            self._stream.write(self._encoder.encode(self._decoder.decode(bytes(data))))
