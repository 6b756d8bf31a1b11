"""`discreet describe`: what a table looks like, privately."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.numerals import shorten_middle
from discreet.cli.options import Data, Delta, Epsilon, FactsFile, Force, Json, Seed, listed
from discreet.cli.summary import Summary, told
from discreet.progress import Progress

if TYPE_CHECKING:
    from discreet.cli.columns import Column
    from discreet.cli.table import Table
    from discreet.stats.description import Description

WIDE = 110  # columns of a terminal on which quartiles are shown


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
    r"""Count, means, quartiles, histograms, as one release.

    The budget is split once among all of it; fewer columns get more of it each. Bounds and categories come from
    privacy.toml. Intervals hold with probability 95%, and account for the noise.

    For example:

        discreet describe visits.csv --epsilon 0.5
        discreet describe visits.csv --epsilon 0.5 --columns age,ward \
            -o visits.html
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
    with console.waiting("describing", json) as bar:
        found = _described(table, bar.at, wanted, epsilon, spends, ledger, seed)

    summary = Summary(found, table.facts.max_rows_per_unit)

    def show() -> None:
        console.answer(summary.document() | {"receipt": console.spent(found.release, ledger)}, json)
        console.say(*_tables(summary), json=json)
        console.receipt(found.release, ledger, json)

    console.delivered(out, lambda: _drawn(summary, data.name, output), show, json)


def _drawn(summary: Summary, name: str, output: Path | None) -> str | bytes:
    from discreet.cli import pictures

    page = output is not None and output.suffix.lower() == ".html"
    return pictures.page(summary, name) if page else pictures.png(summary.found)


def _described(
    table: Table, progress: Progress, wanted: list[Column], epsilon: float, delta: float, ledger: Any, seed: int | None
) -> Description:
    from discreet.stats.description import describe as described

    facts = table.facts
    ranges: dict[str, Any] = {one.name: (one.low, one.high) for one in wanted if one.kind == "number"}
    lists = {one.name: one.values for one in wanted if one.kind == "category"}
    return described(
        table.rows(wanted, progress=progress),
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


def _tables(summary: Summary) -> list[Any]:
    """For people: how many rows, then numbers, then categories."""
    from discreet.stats.description import draw_bars

    parts: list[Any] = [f"{summary.sentence}\n"]
    wide = console.width() >= WIDE
    titles = ("mean", "25%", "median", "75%") if wide else ("mean", "median")
    numbers = console.grid("number", *titles, "shape", whole=range(len(titles) + 2))
    categories = console.grid("category", "value", summary.counted, "95% interval", whole=(2, 3))
    for one in summary.numbers:
        mean, *quartiles = told(one)
        shown = [mean, *(quartiles if wide else quartiles[1:2])]
        name = console.text(shorten_middle(one.name, 30 if wide else 18))
        numbers.add_row(name, *("\n".join(pair) for pair in shown), draw_bars(one.merge_cells()[1]))
    for other in summary.categories:
        for place, row in enumerate(summary.cells(other)):
            title = "" if place else shorten_middle(other.name, 30)
            categories.add_row(*map(console.text, (title, *row)))
    if numbers.row_count:
        more = "" if wide else f" Quartiles too on {WIDE} columns."
        parts += [numbers, f"Below each number: its 95% interval.{more}\n"]
    return parts + [categories] * bool(categories.row_count)
