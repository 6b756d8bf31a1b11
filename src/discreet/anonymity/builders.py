"""The labels of every value at every level, built from a rule; `Hierarchy` checks them and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.columns import text, words

Levels = list[list[str]]
Floats = npt.NDArray[np.float64]
ANY = "*"
LONG = {"attribute", "level", "value", "generalised"}


def table(source: Any, attribute: str | None) -> Levels:
    """The columns of a frame or headless CSV file, or one attribute of a long form."""
    frame = lines(Path(source)) if isinstance(source, str | Path) else framed(source)
    if LONG - {"attribute"} <= set(frame.columns):
        frame = widened(frame, attribute)
    if frame.null_count().sum_horizontal().sum():
        raise ValueError("A hierarchy's table must have a label for every value at every level. Some are empty.")
    return [text(column).to_list() for column in frame.get_columns()]


def framed(source: Any) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if type(source).__module__.startswith("pandas"):
        return pl.from_pandas(source)
    return pl.DataFrame(source)


def lines(path: Path) -> pl.DataFrame:
    """A file without header; the separator is the one its first line has more of."""
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline()
    mark = ";" if first.count(";") >= first.count(",") else ","
    return pl.read_csv(path, separator=mark, has_header=False, infer_schema=False)


def widened(frame: pl.DataFrame, attribute: str | None) -> pl.DataFrame:
    if "attribute" in frame.columns:
        known = frame["attribute"].unique().to_list()
        if attribute is None and len(known) == 1:
            attribute = known[0]
        if attribute not in known:
            raise ValueError(f"`attribute` must be one of {', '.join(sorted(map(str, known)))}. Got {attribute!r}.")
        frame = frame.filter(pl.col("attribute") == attribute)
    wide = frame.pivot(on="level", index="value", values="generalised", maintain_order=True)
    return wide.select(sorted((c for c in wide.columns if c != "value"), key=lambda level: int(str(level))))


def edges(low: float, high: float, width: float | None, given: Sequence[float] | None) -> Floats:
    """End points of the finest intervals: every `width` from `low`, or the ones given."""
    if (width is None) == (given is None):
        raise ValueError("Intervals need either `width` (with `low` and `high`) or `edges`.")
    if given is None:
        assert width is not None
        if not (width > 0 and high > low):
            raise ValueError(f"Intervals need low < high and width > 0. Got {low}, {high}, {width}.")
        steps = (rounded(low + width * i) for i in range(1, int(np.ceil((high - low) / width))))
        given = [low, *(end for end in steps if low < end < high), high]
    ends = np.asarray(given, dtype=np.float64)
    if len(ends) < 2 or not np.isfinite(ends).all() or not (np.diff(ends) > 0).all():
        raise ValueError("The edges of intervals must be finite and increasing, at least two of them.")
    return ends


def rounded(end: float) -> float:
    """0.3 for 0.1 * 3, which is a little more: 15 digits, all that a decimal keeps in a float."""
    return float(f"{end:.15g}")


def number(end: float) -> str:
    """The shortest text that reads back as exactly this number, so that an interval holds what it says.

    >>> number(100.0), number(0.1), number(1234567.25)
    ('100', '0.1', '1234567.25')
    """
    return repr(float(end)).removesuffix(".0")


def quantiles(sample: Iterable[float], bins: int, low: float, high: float) -> list[float]:
    inner = np.quantile(np.asarray(list(sample), dtype=np.float64), np.arange(1, bins) / bins)
    return [low, *(float(v) for v in np.unique(inner) if low < v < high), high]


def intervals(ends: Floats, factors: Sequence[int], whole: bool) -> Levels:
    """Whole numbers, then their intervals; or the intervals alone. Every factor joins that many neighbours."""
    if any(int(f) != f or f < 2 for f in factors):
        raise ValueError(f"Every factor must be a whole number of at least 2. Got {tuple(factors)}.")
    spans, span = [], 1
    for factor in (1, *factors):
        span *= int(factor)
        spans.append(span)
    if whole:
        low, high = int(np.ceil(ends[0])), int(np.floor(ends[-1]))
        values = np.arange(low, high + 1)
        base = np.minimum(np.searchsorted(ends, values, side="right") - 1, len(ends) - 2)
        start: Levels = [[str(v) for v in values]]
    else:
        base, start = np.arange(len(ends) - 1), []
    levels = start + [[interval(ends, int(b) // s * s, s, whole) for b in base] for s in spans]
    return ended(levels)


def interval(ends: Floats, first: int, count: int, whole: bool) -> str:
    last = min(first + count, len(ends) - 1)
    low, high, closed = ends[first], ends[last], last == len(ends) - 1
    if whole:
        bottom, top = int(np.ceil(low)), int(np.floor(high)) if closed else int(np.ceil(high)) - 1
        return f"{bottom}-{top}" if bottom < top else str(bottom)
    return f"[{number(low)}, {number(high)}{']' if closed else ')'}"


UNITS: dict[str, Callable[[date], str]] = {
    "day": lambda d: d.isoformat(),
    "month": lambda d: f"{d:%Y-%m}",
    "quarter": lambda d: f"{d.year}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year}",
    "decade": lambda d: f"{d.year // 10 * 10}s",
}


def dates(start: date | str, end: date | str, units: Sequence[str]) -> Levels:
    first, last = (date.fromisoformat(d) if isinstance(d, str) else d for d in (start, end))
    order = list(UNITS)
    if not units or units[0] != "day" or [u for u in order if u in units] != list(units):
        raise ValueError(f"`units` must start with day and be in the order {', '.join(order)}. Got {tuple(units)}.")
    if last < first:
        raise ValueError(f"The first day must not be after the last. Got {first}, {last}.")
    days = [first + timedelta(i) for i in range((last - first).days + 1)]
    return ended([[UNITS[unit](d) for d in days] for unit in units])


def prefix(values: list[str], length: int | None, from_end: bool) -> Levels:
    """Level l keeps all but l characters of values filled up to `length` with `*`."""
    longest = max(map(len, values), default=0)
    full = longest if length is None else length
    if full < longest or full < 1:
        raise ValueError(f"`length` must be at least 1 and the length of the longest value. Got {length}.")
    keeps = range(full - 1, -1, -1)
    if from_end:
        return [values, *([v[:keep].ljust(full, ANY) for v in values] for keep in keeps)]
    return [values, *([v[max(len(v) - keep, 0) :].rjust(full, ANY) for v in values] for keep in keeps)]


def ordered(values: list[str], sizes: Sequence[int]) -> Levels:
    if any(int(s) != s or s < 2 for s in sizes) or any(b % a for a, b in pairwise(sizes)):
        raise ValueError(f"Every size must be at least 2 and a multiple of the one before. Got {tuple(sizes)}.")
    runs = [[run(values, i // size * size, size) for i in range(len(values))] for size in sizes]
    return ended([values, *runs])


def run(values: list[str], first: int, size: int) -> str:
    part = values[first : first + size]
    return part[0] if len(part) == 1 else f"{part[0]} - {part[-1]}"


def ended(levels: Levels) -> Levels:
    """With `*` on top, unless one group is left already."""
    return levels if len(set(levels[-1])) == 1 and len(levels) > 1 else [*levels, [ANY] * len(levels[0])]


def tree(source: Mapping[str, Any] | str) -> Levels:
    """Leaves that are nearer to the root stand for themselves at the lower levels."""
    nested = outline(source) if isinstance(source, str) else source
    paths = list(walk(nested, ()))
    if not paths:
        raise ValueError("A tree needs at least one value.")
    paths = paths if len({p[0] for p in paths}) == 1 and len(paths) > 1 else [(ANY, *p) for p in paths]
    height = max(map(len, paths))
    full = [[p[-1]] * (height - len(p)) + list(reversed(p)) for p in paths]
    return [list(labels) for labels in zip(*full, strict=True)]


def walk(node: Any, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(node, Mapping):
        for name, below in node.items():
            yield from walk(below, (*above, str(name)))
    elif node is None:
        yield above
    elif isinstance(node, str) or not isinstance(node, Iterable):
        yield (*above, *words([node]))
    else:
        for item in node:
            yield from walk(item, above)


def outline(source: str) -> dict[str, Any]:
    """The part of YAML that writes trees: indented `name:`, `- value`, `name: [a, b]`, comments. All is text."""
    root: dict[str, Any] = {}
    stack: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for number, raw in enumerate(source.splitlines(), 1):
        line = raw.split(" #")[0].rstrip() if not raw.lstrip().startswith("#") else ""
        if not line or line.strip() == "---":
            continue
        depth, entry = len(line) - len(line.lstrip()), line.strip()
        item = entry.startswith("- ")
        while stack[-1][0] >= depth + item:
            stack.pop()
        name, below = named(entry.removeprefix("- "), item, number)
        stack[-1][1][name] = below
        if isinstance(below, dict):
            stack.append((depth + item, below))
    return pruned(root)


def named(entry: str, item: bool, number: int) -> tuple[str, Any]:
    name, mark, rest = entry.partition(": ") if not entry.endswith(":") else (entry[:-1], ":", "")
    rest = rest.strip()
    if not mark:
        return unquoted(entry), None
    if rest.startswith("[") and rest.endswith("]"):
        return unquoted(name), {unquoted(v.strip()): None for v in rest[1:-1].split(",")}
    if rest or not name:
        raise ValueError(f"Line {number} of the tree is neither `name:`, `- value` nor `name: [a, b]`.")
    return unquoted(name), {}


def unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word


def pruned(node: dict[str, Any]) -> dict[str, Any]:
    """Names with nothing below them are values."""
    return {name: pruned(below) if below else None for name, below in node.items()}
