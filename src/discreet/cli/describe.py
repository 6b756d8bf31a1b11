"""`discreet describe`: what a table looks like, privately."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Data, Delta, Epsilon, FactsFile, Force, Json, Seed, listed

if TYPE_CHECKING:
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
    from discreet.cli.table import opened

    if output is not None and output.suffix.lower() not in (".png", ".html"):
        raise ValueError(f"The output of describe ends in .png or .html. Got {output.name!r}.")
    out = None if output is None else console.writing(output, force=force, inputs=[data])
    table = opened(data, facts)
    ledger = table.facts.account()
    found = _described(table, listed(columns), epsilon, table.facts.delta if delta is None else delta, ledger, seed)
    # it is paid for: whatever becomes of the picture, it is shown
    console.answer(_document(found) | {"receipt": console.spent(found.release, ledger)}, json)
    console.say(*_tables(found), json=json)
    console.receipt(found.release, ledger, json)
    if out is not None:
        from discreet.cli import pictures

        out.write(pictures.page(found, data.name) if out.path.suffix.lower() == ".html" else pictures.png(found))
        console.say(f"Written: {out.path}", json=json)


def _described(
    table: Table, names: list[str], epsilon: float, delta: float, ledger: Any, seed: int | None
) -> Description:
    from discreet.stats.description import describe as described

    facts = table.facts
    wanted = [facts.column(name, "--columns") for name in names] or list(facts.used)
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
        ledger=ledger,
        random_state=seed,
    )


def _document(found: Description) -> dict[str, Any]:
    return {
        "count": {"value": found.count, "interval": found.count_interval},
        "confidence": found.confidence,
        "columns": {one.name: _column(one) for one in found.columns},
    }


def _column(one: Numbers | Categories) -> dict[str, Any]:
    from discreet.stats.description import Numbers

    if not isinstance(one, Numbers):
        return {"kind": "category", "values": one.values, "counts": one.counts, "interval": one.interval}
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
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Rich
    from rich.text import Text

    from discreet.stats.description import Numbers

    low, high = found.count_interval
    parts: list[Any] = [f"About {max(found.count, 0):,.0f} {counted(found)} ({low:,.0f} to {high:,.0f}).\n"]
    numbers = Rich("number", "mean", "95% interval", "25%", "median", "75%", "histogram", box=SIMPLE_HEAD)
    categories = Rich("category", "value", counted(found), "95% interval", box=SIMPLE_HEAD)
    numbers.columns[-1].no_wrap = True
    for one in found.columns:
        if isinstance(one, Numbers):
            quartiles = [f"{value:.4g}" for value in one.quartiles]
            numbers.add_row(
                Text(one.name), f"{one.mean:.4g}", _span(*one.mean_interval), *quartiles, bars(one.bins()[1])
            )
            continue
        cells = zip(one.values, one.counts, *one.interval, strict=True)
        for place, (value, count, low, high) in enumerate(cells):
            name = Text(one.name if place == 0 else "")
            categories.add_row(name, Text(str(value)), f"{max(count, 0):,.0f}", f"{low:,.0f} to {high:,.0f}")
    return parts + [table for table in (numbers, categories) if table.row_count]


def counted(found: Description) -> str:
    """What is counted: rows, or units, each of which counts once."""
    unit = found.release.unit
    return "rows" if unit == "row" else f"units ({unit})"


def _span(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"


def bars(counts: Any) -> str:
    """A row of small bars, as high as the counts.

    >>> bars([0, 5, 10, -2])
    ' ▄█ '
    """
    most = max(max(counts), 1e-9)
    return "".join(" ▁▂▃▄▅▆▇█"[round(8 * max(count, 0) / most)] for count in counts)
