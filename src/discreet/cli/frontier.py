"""`discreet frontier`: choose ε by looking."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Data, FactsFile, Force, Json, listed, positives

if TYPE_CHECKING:
    from discreet.cli.facts import Column
    from discreet.cli.table import Table
    from discreet.evaluate.frontier import Frontier

HELD = 0.2  # the share of rows that a frontier tests on
UNPAID = "Every fit is seeded, the rows are private, and nothing was charged; the ledger has it on record."
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
        int | None, typer.Option("--n", min=20, help="Of --simulate: how many rows, or units; else as in privacy.toml.")
    ] = None,
    each: Annotated[
        int | None, typer.Option("--rows-per-unit", min=1, help="Of --simulate, where a unit has several rows.")
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
    from discreet.cli.table import kept, opened

    _agreed(public, simulate, unpaid, cache, output)
    safe, ends = kept(data, facts), (".png", ".csv", ".txt")
    outputs = [console.writing(output.with_suffix(end), force=force, inputs=safe, secret=unpaid) for end in ends]
    table = opened(data, facts, rows=not simulate)
    if public:
        _refuse_private(table)
    aim = table.facts.column(target)
    columns = chosen(table, aim, listed(features))
    plan = Plan(positives(epsilons, "--epsilons"), repeats, jobs, seed, cache, bar=not (json or unpaid))
    if simulate:
        X, y, bounds = _simulated(table, columns, aim, _size(table, n, each), expected, seed)
        found = plan.run(_models(listed(models), table, columns, aim, bounds), X, y)
    else:
        table.check(columns, aim)
        estimators = _models(listed(models), table, columns, aim, None)
        if unpaid:
            _evaluated(table, columns, aim, estimators, plan, outputs)
            console.answer({"outputs": [str(one.path) for one in outputs], "private": False}, json)
            console.say(f"{MARK}\n{_written(outputs)}", json=json)
            return
        found = plan.run(estimators, *_read(table, columns, aim))
    _write(found, outputs, "")
    document = {"outputs": [str(one.path) for one in outputs], "private": False, "sentence": found.sentence()}
    console.answer(document, json)
    console.say(f"{found.sentence()}\n{_written(outputs)}", json=json)


def _agreed(public: bool, simulate: bool, unpaid: bool, cache: Path | None, output: Path) -> None:
    if [public, simulate, unpaid].count(True) != 1:
        raise ValueError(
            "Say what the rows are: --public, --simulate (rows invented from privacy.toml), or, on private rows, "
            "--i-accept-unpaid-evaluation."
        )
    if unpaid and cache is not None:
        raise ValueError("An unpaid evaluation of private rows is not cached. Hint: leave --cache out.")
    if output.suffix.lower() != ".png":
        raise ValueError(f"The picture of a frontier ends in .png. Got {output.name!r}.")


def _refuse_private(table: Table) -> None:
    """Rows that somebody keeps an account of are private, unless their facts say otherwise."""
    if table.facts.ledger_path is not None and not table.facts.public:
        raise ValueError(
            f"{table.facts.file} names a ledger: these rows are private, and --public is not for them. Hint: "
            "--simulate; or, if they are public after all, write public = true under [data]."
        )


def _written(outputs: list[console.Output]) -> str:
    return f"Written: {', '.join(str(one.path) for one in outputs)}. No ε was spent."


def _evaluated(
    table: Table, columns: list[Column], target: Column, estimators: Any, plan: Plan, outputs: list[console.Output]
) -> None:
    """Evaluate private rows unpaid; what is found, also why it fails, goes to the outputs alone."""
    import warnings

    _record(table, target.name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a note may tell of the rows too
            _write(plan.run(estimators, *_read(table, columns, target)), outputs, MARK)
    except Exception as error:
        outputs[-1].write(f"{MARK}\nThe evaluation failed: {console.told(error)}\n")
        console.fail(
            f"The evaluation failed; that it was begun stands in the ledger. Why is written to "
            f"{str(outputs[-1].path)!r}, which tells of private rows."
        )


@dataclass(frozen=True)
class Plan:
    """How to run a study."""

    epsilons: list[float]
    repeats: int
    jobs: int
    seed: int
    cache: Path | None
    bar: bool

    def run(self, estimators: Any, X: Any, y: Any) -> Frontier:
        """The frontier of these estimators on these rows."""
        try:
            return self._run(estimators, X, y, self.jobs)
        except (ValueError, TypeError) as error:
            if self.jobs == 1 or console.shown(error):
                raise
        # what another process raised cannot be told from a library's words; in this one it can
        return self._run(estimators, X, y, 1)

    def _run(self, estimators: Any, X: Any, y: Any, jobs: int) -> Frontier:
        from discreet.evaluate import frontier as found

        options: Any = {"repeats": self.repeats, "random_state": self.seed, "cache": self.cache}
        bar = _Bar() if self.bar and sys.stderr.isatty() else None
        try:
            return found(estimators, X, y, epsilons=self.epsilons, n_jobs=jobs, progress=bar, **options)
        finally:
            if bar is not None:
                bar.stop()


def _models(names: list[str], table: Table, columns: list[Column], target: Column, bounds: Any) -> dict[str, Any]:
    from discreet.cli.fit import bounded
    from discreet.cli.models import named

    if not names:
        raise ValueError("No model was named. Hint: --models linear,robust.")
    bounds = bounds or bounded(table, columns, target)
    kind = {"classes": target.kind == "category", "target": target.name, "option": "--models"}
    chosen = [named(name, **kind) for name in names]  # type: ignore[arg-type]
    facts = table.facts
    promise = {"delta": facts.delta, "neighbours": facts.neighbours, "unit": table.unit}
    promise |= {"max_rows_per_unit": facts.max_rows_per_unit, "bounds": bounds}
    return {model.name: model.made(**promise) for model in chosen}


def _size(table: Table, n: int | None, each: int | None) -> tuple[int, int]:
    """How many units are to be learnt from, and how many rows each has."""
    units = n or table.facts.n
    if units is None:
        raise ValueError("To simulate, say how many rows there are (--n).")
    if table.unit is None:
        if each not in (None, 1):
            raise ValueError(f"The --rows-per-unit needs a unit; {table.facts.file} has none.")
        return units, 1
    each = each or table.facts.max_rows_per_unit
    if each is None:
        raise ValueError(
            f"To simulate, say how many rows each {table.unit} has: --rows-per-unit, or max_rows_per_unit in "
            f"{table.facts.file}."
        )
    return units, each


def _simulated(
    table: Table, columns: list[Column], target: Column, size: tuple[int, int], expected: float | None, seed: int
) -> tuple[Any, Any, Any]:
    """Rows invented from public facts, and so many more than wanted as are held out; no data are read."""
    from discreet.bounds import Bounds
    from discreet.evaluate import simulate

    if expected is None:
        raise ValueError("To simulate, say how good the best model is, as you guess (--expected).")
    units, each = size
    rows = round(units * each / (1 - HELD))
    numbers: Any = {one.name: (one.low, one.high) for one in columns if one.kind == "number"}
    if not numbers:
        raise ValueError("To simulate, at least one feature must be a number.")
    aim: Any = {"target": (target.low, target.high)} if target.kind == "number" else {"classes": target.values}
    lists = {one.name: one.values for one in columns if one.kind == "category"}
    kind: Any = "regression" if target.kind == "number" else "classification"
    made = simulate(kind, bounds=Bounds(numbers, **aim), n=rows, expected=expected, categories=lists, random_state=seed)
    owners = [f"{i // each}" for i in range(rows)]
    return _framed(table, made.columns, made.X, owners), made.y, made.bounds


def _framed(table: Table, names: Sequence[str], X: Any, owners: Any) -> Any:
    """Features, with a column of units where rows belong to any."""
    if table.unit is None:
        return X
    import polars

    return polars.DataFrame({**dict(zip(names, X.T, strict=True)), table.unit: list(owners)})


def _read(table: Table, columns: list[Column], target: Column) -> tuple[Any, Any]:
    """All rows, in memory."""
    import numpy as np

    from discreet.cli.table import cells, types
    from discreet.query import Batch

    encoder, wanted = table.encoder(columns), [*columns, target]
    names, sorts = [one.name for one in wanted], types(wanted)
    if table.unit:
        names, sorts = [*names, table.unit], sorts | {table.unit: "text"}
    blocks = list(cells(table.path, names, sorts))
    rows = np.concatenate(blocks) if blocks else np.empty((0, len(names)), dtype=object)
    many = len(columns)
    X, y, owners = encoder(Batch(rows[:, :many])), rows[:, many], rows[:, -1]
    if target.kind == "number":
        y = np.array([np.nan if cell is None else float(cell) for cell in y])
        return _framed(table, encoder.names, X, owners), y
    known = np.isin(y, np.array(target.values, dtype=object))
    return _framed(table, encoder.names, X[known], owners[known]), np.array(y[known].tolist())


def _record(table: Table, target: str) -> None:
    """Write the act into the ledger before it happens; what it tells has no price there."""
    from discreet.events import Composed

    ledger = table.facts.account()
    if ledger is None:
        raise ValueError(
            f"{table.facts.file} names no ledger to record this in. Hint: [ledger], path = ...; or --simulate instead."
        )
    ledger.charge(f"UNPAID EVALUATION, NOT PRIVATE: frontier of {target}", Composed(()))


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
    if mark:
        found = replace(found, note=UNPAID)
    figure = found.figure()
    if mark:
        figure.suptitle(mark)
    with picture.open() as file:
        figure.savefig(file, format="png", dpi=130)
    frame = found.frame()
    head = f"# {mark}\n" if mark else ""
    numbers.write(head + frame.write_csv())
    words.write(f"{mark}\n" * bool(mark) + f"{found}\n")
