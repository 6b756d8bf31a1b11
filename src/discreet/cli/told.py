"""A CSV file whose columns are of the types that its facts tell, so that no row is read to find them out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.cli.header import header
from discreet.engines.csv import Csv
from discreet.errors import EngineError

TYPES = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_()}


class Told(Csv):
    """One CSV file; of it the header alone is read until rows are asked for.

    Parameters
    ----------
    types : "number", "text" or "truth" of each column that is used; all others are text.
    """

    def __init__(self, path: Path, types: Mapping[str, str]) -> None:
        self._types = dict(types)
        super().__init__(path)

    def _schema(self, name: str) -> pa.Schema:
        return pa.schema([(one, TYPES[self._types.get(one, "text")]) for one in self._header(name)])

    def _batches(self, name: str, types: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        try:
            yield from super()._batches(name, types)
        except EngineError as error:
            place = re.search(r", in column '[^']*'", str(error))
            where = place[0] if place else ""
        else:
            return
        raise EngineError(
            f"{name!r} cannot be read{where}: a row has more or fewer cells than the header, a value is no UTF-8 text, "
            "or the file is damaged."
        )

    def _header(self, name: str) -> list[str]:
        return list(header(name).names)
