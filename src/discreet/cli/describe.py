"""`discreet describe`: what a table looks like, privately."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.numerals import numeral, span
from discreet.cli.options import Data, Delta, Epsilon, FactsFile, Force, Json, Seed, listed

if TYPE_CHECKING:
    from discreet.cli.facts import Column
    from discreet.cli.table import Table
    from discreet.stats.description import Categories, Description, Numbers


def describe(
    data: Data,
    epsilon: Epsilon,
    delta: Delta = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these columns.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A picture (.png) or a page (.html).")
    ] = None,
    facts: FactsFile = None,
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Count, means, quartiles, histograms, as one release.

    The budget is split once among all of it; fewer columns get more of it each. Bounds and categories come from
    privacy.toml. Intervals hold with probability 95%, and account for the noise.

    For example:

        discreet describe visits.csv --epsilon 0.5
        discreet describe visits.csv --epsilon 0.5 --columns age,ward -o visits.html
    """
    from discreet.cli.table import kept, opened

    if output is not None and output.suffix.lower() not in (".png", ".html"):
        raise ValueError(f"The output of describe ends in .png or .html. Got {output.name!r}.")
    out = None if output is None else console.writing(output, force=force, inputs=kept(data, facts))
    table = opened(data, facts)
    spends = table.facts.delta_of(delta)
    wanted = [table.facts.column(name, "--columns") for name in listed(columns)] or list(table.facts.used)
    table.check(wanted)
    ledger = table.facts.account()
    with console.waiting("describing", json):
        found = _described(table, wanted, epsilon, spends, ledger, seed)

    def show() -> None:
        console.answer(_document(found) | {"receipt": console.spent(found.release, ledger)}, json)
        console.say(*_tables(found), json=json)
        console.receipt(found.release, ledger, json)

    console.delivered(out, lambda: _drawn(found, data.name, output), show, json)


def _drawn(found: Description, name: str, output: Path | None) -> str | bytes:
    from discreet.cli import pictures

    page = output is not None and output.suffix.lower() == ".html"
    return pictures.page(found, name) if page else pictures.png(found)


def _described(
    table: Table, wanted: list[Column], epsilon: float, delta: float, ledger: Any, seed: int | None
) -> Description:
    from discreet.stats.description import describe as described

    facts = table.facts
    ranges: dict[str, Any] = {one.name: (one.low, one.high) for one in wanted if one.kind == "number"}
    lists = {one.name: one.values for one in wanted if one.kind == "category"}
    return described(
        table.rows(wanted),
        ranges,
        lists,
        epsilon,
        delta,
        neighbours=facts.neighbours,  # type: ignore[arg-type]
        unit=table.unit,
        max_rows_per_unit=facts.max_rows_per_unit,
        whole=[one.name for one in wanted if one.whole],
        ledger=ledger,
        random_state=seed,
    )


def _document(found: Description) -> dict[str, Any]:
    return {
        "count": {"value": found.count, "interval": found.count_interval},
        "confidence": found.confidence,
        "columns": {one.name: _column(one, found) for one in found.columns},
    }


def _column(one: Numbers | Categories, found: Description) -> dict[str, Any]:
    from discreet.stats.description import Numbers

    if not isinstance(one, Numbers):
        return {
            "kind": "category",
            "values": one.values,
            "counts": one.counts,
            "interval": one.interval,
            "other": others(one, found),
        }
    return {
        "kind": "number",
        "mean": {"value": one.mean, "interval": one.mean_interval},
        "quartiles": [
            {"value": value, "interval": ends}
            for value, ends in zip(one.quartiles, one.quartile_intervals, strict=True)
        ],
        "histogram": {"edges": one.edges, "counts": one.counts, "std": one.std},
    }


def _tables(found: Description) -> list[Any]:
    """For people: how many rows, then numbers, then categories."""
    from discreet.stats.description import Numbers

    low, high = found.count_interval
    parts: list[Any] = [f"About {max(found.count, 0):,.0f} {counted(found)} ({low:,.0f} to {high:,.0f}).\n"]
    numbers = console.grid("number", "mean, 95% interval", "25%", "median", "75%")
    categories = console.grid("category", "value", counted(found), "95% interval")
    for one in found.columns:
        if isinstance(one, Numbers):
            quartiles = [numeral(value) for value in one.quartiles]
            mean = f"{numeral(one.mean)}\n{span(*one.mean_interval)}"
            numbers.add_row(console.text(f"{one.name}\n{bars(one.bins()[1])}"), mean, *quartiles)
            continue
        for row in _counts(one, found):
            categories.add_row(*map(console.text, row))
    return parts + [table for table in (numbers, categories) if table.row_count]


def _counts(one: Categories, found: Description) -> list[list[str]]:
    cells = zip(one.values, one.counts, *one.interval, strict=True)
    rows = [["", str(value), f"{max(n, 0):,.0f}", f"{low:,.0f} to {high:,.0f}"] for value, n, low, high in cells]
    rows[0][0] = one.name
    return [*rows, ["", "(other or missing)", f"{others(one, found):,.0f}", ""]]


def others(one: Categories, found: Description) -> float:
    """About how many have none of the values: what is left of the count, which costs nothing more."""
    return max(float(found.count - sum(one.counts)), 0.0)


def counted(found: Description) -> str:
    """What is counted: rows, or units, each of which counts once."""
    unit = found.release.unit
    return "rows" if unit == "row" else f"units ({unit})"


def bars(counts: Any) -> str:
    """A row of small bars, as high as the counts.

    >>> bars([0, 5, 10, -2])
    ' ▄█ '
    """
    most = max(max(counts), 1e-9)
    return "".join(" ▁▂▃▄▅▆▇█"[round(8 * max(count, 0) / most)] for count in counts)
