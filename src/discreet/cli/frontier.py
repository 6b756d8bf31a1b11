"""`discreet frontier`: choose ε by looking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Data, FactsFile, Force, Json, listed, positive

if TYPE_CHECKING:
    from discreet.cli.facts import Column
    from discreet.cli.table import Table
    from discreet.evaluate.frontier import Frontier

MARK = "NOT PRIVATE: an evaluation on private rows that nobody paid for. Do not publish it."


def frontier(
    data: Data,
    target: Annotated[str, typer.Option("--target", "-t", metavar="NAME", help="The column to predict.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The picture (.png); numbers go beside it (.csv).")
    ],
    models: Annotated[str, typer.Option(metavar="A,B,...", help="Models, as in `discreet fit --help`.")] = "linear",
    epsilons: Annotated[str, typer.Option(metavar="A,B,...", help="What to try.")] = "0.1,0.3,1,3,10",
    repeats: Annotated[int, typer.Option(min=1, help="How often each.")] = 20,
    public: Annotated[bool, typer.Option("--public", help="The data are public.")] = False,
    simulate: Annotated[bool, typer.Option("--simulate", help="Invent rows from privacy.toml; read no data.")] = False,
    unpaid: Annotated[
        bool, typer.Option("--i-accept-unpaid-evaluation", help="The data are private, and nobody pays for this.")
    ] = False,
    n: Annotated[
        int | None, typer.Option("--n", min=20, help="Of --simulate: how many rows; else that of privacy.toml.")
    ] = None,
    expected: Annotated[
        float | None, typer.Option(min=0, max=1, help="Of --simulate: R² or accuracy of the best model, as you guess.")
    ] = None,
    features: Annotated[str | None, typer.Option(metavar="A,B,...", help="The columns to predict from.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The study repeats itself.")] = 0,
    cache: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on where a study was stopped.")] = None,
    facts: FactsFile = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Accuracy against ε and n, to choose ε by looking.

    Beside it stand the ceiling without privacy and the trivial floor. Looking at private data to choose ε is a release
    of its own. So the data must be public, or rows are invented from the public facts in privacy.toml. With
    --i-accept-unpaid-evaluation private rows are used: the outputs are marked NOT PRIVATE, the act is recorded in the
    ledger, and nothing of it is shown here or cached.

    For example:

        discreet frontier visits.csv --target cost --simulate --n 5000 --expected 0.6 -o frontier.png
        discreet frontier open.csv --target cost --public --models linear,robust,adassp --epsilons 0.1,1,10 -o f.png
    """
    from discreet.cli.fit import chosen
    from discreet.cli.table import opened

    if [public, simulate, unpaid].count(True) != 1:
        raise ValueError(
            "Say what the rows are: --public, --simulate (rows invented from privacy.toml), or, on private rows, "
            "--i-accept-unpaid-evaluation."
        )
    if unpaid and cache is not None:
        raise ValueError("An unpaid evaluation of private rows is not cached. Hint: leave --cache out.")
    if output.suffix.lower() != ".png":
        raise ValueError(f"The picture of a frontier ends in .png. Got {output.name!r}.")
    outputs = [console.writing(output.with_suffix(end), force=force, inputs=[data]) for end in (".png", ".csv", ".txt")]
    table = opened(data, facts)
    aim = table.facts.column(target)
    columns = chosen(table, aim, listed(features))
    tried = [positive(one) for one in listed(epsilons)]
    X, y, bounds = _simulated(table, columns, aim, n, expected, seed) if simulate else (None, None, None)
    estimators = _models(listed(models), table, columns, aim, bounds)
    if unpaid:
        _record(table, target)
    if not simulate:
        X, y = _read(table, columns, aim)
    found = _run(estimators, X, y, tried, repeats, jobs, seed, cache, json)
    _write(found, outputs, MARK if unpaid else "")
    document = {"outputs": [str(one.path) for one in outputs], "private": False}
    console.answer(document if unpaid else document | {"sentence": found.sentence()}, json)
    console.say(MARK if unpaid else found.sentence(), json=json)
    console.say(f"Written: {', '.join(str(one.path) for one in outputs)}. No ε was spent.", json=json)


def _models(names: list[str], table: Table, columns: list[Column], target: Column, bounds: Any) -> dict[str, Any]:
    from discreet.cli.fit import bounded
    from discreet.cli.models import named

    if not names:
        raise ValueError("No model was named. Hint: --models linear,robust.")
    bounds = bounds or bounded(table, columns, target)
    delta = table.facts.delta
    chosen = [named(name, classes=target.kind == "category", target=target.name) for name in names]
    return {model.name: model.made(delta=delta, bounds=bounds) for model in chosen}


def _simulated(
    table: Table, columns: list[Column], target: Column, n: int | None, expected: float | None, seed: int
) -> tuple[Any, Any, Any]:
    """Rows invented from public facts; no data are read."""
    from discreet.bounds import Bounds
    from discreet.evaluate import simulate

    rows = n or table.facts.n
    if rows is None or expected is None:
        raise ValueError("To simulate, say how many rows there are (--n), and how good the best model is (--expected).")
    numbers: Any = {one.name: (one.low, one.high) for one in columns if one.kind == "number"}
    if not numbers:
        raise ValueError("To simulate, at least one feature must be a number.")
    aim: Any = {"target": (target.low, target.high)} if target.kind == "number" else {"classes": target.values}
    lists = {one.name: one.values for one in columns if one.kind == "category"}
    kind: Any = "regression" if target.kind == "number" else "classification"
    made = simulate(kind, bounds=Bounds(numbers, **aim), n=rows, expected=expected, categories=lists, random_state=seed)
    return made.X, made.y, made.bounds


def _read(table: Table, columns: list[Column], target: Column) -> tuple[Any, Any]:
    """All rows, in memory."""
    import numpy as np

    from discreet.cli.table import cells, types
    from discreet.query import Batch

    table.rows(columns, target)  # names and types are checked
    encoder, wanted = table.encoder(columns), [*columns, target]
    blocks = list(cells(table.path, [one.name for one in wanted], types(wanted)))
    rows = np.concatenate(blocks) if blocks else np.empty((0, len(wanted)), dtype=object)
    X, y = encoder(Batch(rows[:, :-1])), rows[:, -1]
    if target.kind == "number":
        return X, np.array([np.nan if cell is None else float(cell) for cell in y])
    known = np.isin(y, np.array(target.values, dtype=object))
    return X[known], np.array(y[known].tolist())


def _record(table: Table, target: str) -> None:
    """Write the act into the ledger before it happens; what it tells has no price there."""
    from discreet.events import Composed

    ledger = table.facts.account()
    if ledger is None:
        raise ValueError(
            f"{table.facts.file} names no ledger to record this in. Hint: [ledger], path = ...; or --simulate instead."
        )
    ledger.charge(f"UNPAID EVALUATION, NOT PRIVATE: frontier of {target}", Composed(()))


def _run(
    estimators: Any, X: Any, y: Any, tried: Any, repeats: int, jobs: int, seed: int, cache: Any, json: bool
) -> Frontier:
    from discreet.evaluate import frontier as found

    bar = _Bar() if sys.stderr.isatty() and not json else None
    try:
        return found(
            estimators, X, y, epsilons=tried, repeats=repeats, n_jobs=jobs, random_state=seed, cache=cache, progress=bar
        )
    finally:
        if bar is not None:
            bar.stop()


class _Bar:
    """How many fits are done, on stderr."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("fits", total=None)
        self._bar.start()

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        self._bar.stop()


def _write(found: Frontier, outputs: list[console.Output], mark: str) -> None:
    picture, numbers, words = outputs
    figure = found.figure()
    if mark:
        figure.suptitle(mark)
    with picture.open() as file:
        figure.savefig(file, format="png", dpi=130)
    frame = found.frame()
    head = f"# {mark}\n" if mark else ""
    numbers.write(head + frame.write_csv())
    words.write(f"{mark}\n" * bool(mark) + f"{found}\n")
