"""Header: the names of a table's columns, without reading a value.

Of a CSV file the first line alone is read; of a Parquet file the schema, never the statistics, which hold minima and
maxima. The first line of a file without a header is a row: where it looks like one it is refused, and not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from discreet.cli.columns import printable
from discreet.errors import EngineError

TEXT = (".csv", ".csv.gz", ".csv.zst", ".csv.bz2", ".csv.lz4")
PARQUET = (".parquet", ".pq")
NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")
TEXTS = ("string", "large_string")


@dataclass(frozen=True)
class Header:
    """The columns of a file: their names and, of Parquet, what each holds by its type.

    Attributes
    ----------
    sorts : "number", "text", "truth" or "other" of each column; "" where nobody knows, as of CSV.
    """

    names: tuple[str, ...]
    sorts: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What kind of column each may be in privacy.toml; "" where nobody knows."""
        kinds = {"": "", "number": "number", "text": "category", "truth": "category", "other": "skip"}
        return tuple(kinds[sort] for sort in self.sorts)

    def sort(self, name: str) -> str:
        """What this column holds; "" where nobody knows, or there is none."""
        return dict(zip(self.names, self.sorts, strict=True)).get(name, "")


def header(path: str | Path) -> Header:
    """The columns of a CSV or Parquet file."""
    path = Path(path)
    if not path.exists():
        raise EngineError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise EngineError(f"{str(path)!r} is a folder. Hint: name one CSV or Parquet file.")
    name = path.name.lower()
    if name.endswith(PARQUET):
        return _checked(*_schema(path))
    if not name.endswith(TEXT):
        raise EngineError(f"{path.name!r} is neither CSV nor Parquet. Hint: {', '.join((*TEXT, *PARQUET))}.")
    from discreet.engines.stream.files import read_header as first

    names = first(str(path))
    return _checked(names, [""] * len(names))


def missing(path: str | Path, wanted: Any) -> list[str]:
    """Which of the names wanted are no columns of the file; its own names are not told."""
    names = set(header(path).names)
    return [name for name in wanted if name not in names]


def _schema(path: Path) -> tuple[list[str], list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        raise EngineError(f"{path.name!r} cannot be read as a Parquet file: is it damaged?") from None
    return list(schema.names), [_sort(str(one.type)) for one in schema]


def _sort(of: str) -> str:
    if of.startswith(NUMBERS):
        return "number"
    if of.startswith("bool"):
        return "truth"
    if of.startswith("dictionary"):
        return "text" if "values=string" in of or "values=large_string" in of else ""
    return "text" if of.startswith(TEXTS) else "other"


def _checked(names: list[str], sorts: list[str]) -> Header:
    """The header, unless it may be a row; what it holds is not told then."""
    if len(set(names)) < len(names):
        _refuse("two of its names are the same")
    if not all(name[:1].isalpha() or name[:1] == "_" for name in names):
        _refuse("one of its names does not begin with a letter, as a number, a date or an empty cell would not")
    if not all(printable(name) for name in names):
        _refuse("one of its names is very long, or holds signs that cannot be shown")
    return Header(tuple(names), tuple(sorts))


def _refuse(why: str) -> NoReturn:
    raise EngineError(
        f"The header cannot be used: {why}, so that it may be a row. It is not shown. Hint: write a first line with a "
        "distinct name for each column, beginning with a letter."
    )
