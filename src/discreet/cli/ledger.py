"""`discreet ledger`: what has been spent on a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.manual import Verb, family
from discreet.cli.options import Force, Json

if TYPE_CHECKING:
    from discreet.ledger import Ledger

app = family(
    "What has been spent: show, explain, export.",
    "discreet ledger show visits.csv",
    "discreet ledger export visits.csv -o charges.json",
)
Where = Annotated[
    Path,
    typer.Argument(metavar="WHERE", help="A ledger, a privacy.toml, or the data file beside one.", show_default=False),
]
PLAIN = (".csv", ".json")


@app.command(cls=Verb)
def show(
    where: Where,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A picture of it (.png).")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """All charges, and what is left.

    For example:

        discreet ledger show visits.ledger
        discreet ledger show visits.csv -o spending.png
    """
    if output is not None and output.suffix.lower() != ".png":
        raise ValueError(f"The picture of a ledger ends in .png. Got {output.name!r}.")
    out = None if output is None else console.writing(output, force=force, inputs=_files(where))
    ledger = opened(where)
    if out is not None:
        _draw(ledger, out)
    console.answer(_account(ledger), json)
    console.say(_table(ledger), json=json)
    console.say(
        f"{ledger.data}: spent ε = {ledger.spent:.4g} of the budget {ledger.budget}; one more answer may cost up to "
        f"ε = {ledger.remaining:.4g}{console.less(ledger)}.",
        json=json,
    )
    for remark in _remarks(ledger):
        console.say(remark, json=json)


@app.command(cls=Verb)
def explain(where: Where, json: Json = False) -> None:
    """What the spending means to a person in the data, in words and odds.

    For example:

        discreet ledger explain visits.ledger
    """
    ledger = opened(where)
    console.answer({**_account(ledger), "words": ledger.explain()}, json)
    console.say(ledger.explain(), json=json)


@app.command(cls=Verb)
def export(
    where: Where,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where it goes (.json or .csv).")],
    force: Force = False,
    json: Json = False,
) -> None:
    """All charges as a file, for an auditor.

    For example:

        discreet ledger export visits.ledger -o charges.json
    """
    import json as _json

    if output.suffix.lower() not in PLAIN:
        raise ValueError(f"The export of a ledger ends in .json or .csv. Got {output.name!r}.")
    out = console.writing(output, force=force, inputs=_files(where))
    account = _account(opened(where))
    if output.suffix.lower() == ".json":
        out.write(_json.dumps(console.plain(account), allow_nan=False, ensure_ascii=False, indent=1))
    else:
        out.write(_lines(account["entries"]))
    console.answer({"output": str(out.path), "entries": len(account["entries"])}, json)
    console.say(f"Written: {out.path}. Nothing was spent.", json=json)


def opened(where: Path) -> Ledger:
    """The ledger of this name, or the one that the facts beside this file name; it is never made here."""
    from discreet.cli import facts as _facts
    from discreet.cli.header import PARQUET, TEXT
    from discreet.cli.table import about
    from discreet.ledger import Ledger

    path = where
    beside = where.name.lower().endswith((*TEXT, *PARQUET))
    if beside and not where.exists() and not _facts.beside(where).is_file():
        raise ValueError(f"There is no file {str(where)!r}.")
    if beside or where.suffix == ".toml":
        facts = _facts.read(_facts.beside(where) if beside else where)
        if beside:
            about(facts, where)
        if facts.ledger_path is None:
            raise ValueError(f"{facts.file} names no ledger: nobody adds up what is spent. Hint: [ledger], path = ...")
        path = facts.home / facts.ledger_path
    if not path.is_file():
        raise ValueError(f"There is no ledger {str(path)!r}: nothing was charged to it yet.")
    return Ledger.open(path)


def _files(where: Path) -> list[Path]:
    """What no output may replace."""
    from discreet.cli.table import kept

    return kept(where, where if where.suffix == ".toml" else None)


def _account(ledger: Ledger) -> dict[str, Any]:
    entries = [
        {
            "number": number,
            "time": entry.time,
            "name": entry.name,
            "epsilon": cost,
            "not_private": entry.outside or None,
            "event": entry.event.to_dict(),
        }
        for number, (entry, cost) in enumerate(zip(ledger.entries, _costs(ledger), strict=True), 1)
    ]
    return {
        "data": ledger.data,
        "budget": ledger.budget.to_dict(),
        "currency": ledger.currency.name,
        "spent": ledger.spent,
        "remaining": ledger.remaining,
        "entries": entries,
    }


def _costs(ledger: Ledger) -> list[float]:
    """The ε of each charge by itself, at the account's δ: exact, or as the account counts it if that is less."""
    from discreet import accounting

    delta, currency = ledger.budget.delta, ledger.currency
    return [
        min(currency.epsilon(currency.cost(entry.event)), accounting.epsilon(entry.event, delta))
        for entry in ledger.entries
    ]


def _remarks(ledger: Ledger) -> list[str]:
    """What a reader of the table may wonder about."""
    from discreet.ledger.stores import uncovered

    said, costs = [uncovered(ledger.entries)], _costs(ledger)
    if len(costs) > 1 and ledger.spent > sum(costs) * (1 + 1e-9):
        said.append(
            "Together they cost more than they do by themselves: this account adds up in "
            f"{ledger.currency.name!r}, where answers of pure ε (δ = 0) are dear from the second charge on."
        )
    return [one for one in said if one]


def _lines(entries: list[dict[str, Any]]) -> str:
    import csv
    import io
    import json as _json

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["number", "time", "name", "epsilon", "not_private", "event"])
    for one in entries:
        told = [one[name] for name in ("number", "time", "name", "epsilon", "not_private")]
        writer.writerow([*told, _json.dumps(one["event"])])
    return stream.getvalue()


def _table(ledger: Ledger) -> Any:
    from discreet.ledger.stores import flag

    table = console.grid("", "time (UTC)", "what", "ε by itself", whole=(0, 1, 3))
    for number, (entry, cost) in enumerate(zip(ledger.entries, _costs(ledger), strict=True), 1):
        what, time = console.text(entry.name + flag(entry)), entry.time[:19].replace("T", " ")
        table.add_row(str(number), time, what, f"{cost:.4g}")
    return table


def _draw(ledger: Ledger, out: console.Output) -> None:
    from discreet.plots import ledger as draw
    from discreet.plots.style import make_sheet

    figure, (axes,) = make_sheet()
    draw(ledger, axes=axes)
    with out.open() as file:
        figure.savefig(file, format="png", dpi=130)
