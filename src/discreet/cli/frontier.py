"""`discreet frontier`: choose ε by looking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Data, FactsFile, Force, Json, between, listed, positives

if TYPE_CHECKING:
    from discreet.cli.columns import Column
    from discreet.cli.table import Table
    from discreet.evaluate.frontier import Frontier

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
        float | None,
        typer.Option(
            parser=between, metavar="NUMBER", help="Of --simulate: R² or accuracy of the best model, as you guess."
        ),
    ] = None,
    features: Annotated[str | None, typer.Option(metavar="A,B,...", help="The columns to predict from.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The study repeats itself.")] = 0,
    cache: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on where a study was stopped.")] = None,
    facts: FactsFile = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Accuracy against ε and n, to choose ε by looking.

    Beside it stand the ceiling without privacy and the trivial floor. Looking at private data to choose ε is a release
    of its own. So the data must be public, or rows are invented from the public facts in privacy.toml. With
    --i-accept-unpaid-evaluation private rows are used: the outputs are marked NOT PRIVATE, the act is recorded in the
    ledger, and nothing of it is shown here or cached.

    For example:

        discreet frontier visits.csv --target cost --simulate --n 5000 \
            --expected 0.6 -o frontier.png
        discreet frontier open.csv --target cost --public \
            --models linear,robust,adassp --epsilons 0.1,1,10 -o f.png
    """
    from discreet.cli import samples
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
        X, y, bounds = samples.simulated(table, columns, aim, samples.size(table, n, each), expected, seed)
        found = plan.run(_models(listed(models), table, columns, aim, bounds), X, y)
    else:
        table.check(columns, aim)
        estimators = _models(listed(models), table, columns, aim, None)
        if unpaid:
            with console.waiting("evaluating", json):
                _evaluated(table, columns, aim, estimators, plan, outputs)
            console.answer({"outputs": [str(one.path) for one in outputs], "private": False}, json)
            console.say(f"{MARK}\n{_written(outputs)}", json=json)
            return
        found = plan.run(estimators, *samples.read(table, columns, aim))
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

    from discreet.cli import samples

    _record(table, target.name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a note may tell of the rows too
            _write(plan.run(estimators, *samples.read(table, columns, target)), outputs, MARK)
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
        with console.waiting("evaluating", not self.bar) as bar:
            options["progress"] = lambda done, total: bar.at(done / total)
            return found(estimators, X, y, epsilons=self.epsilons, n_jobs=jobs, **options)


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


def _record(table: Table, target: str) -> None:
    """Write the act into the ledger before it happens; what it tells has no price there."""
    from discreet.events import Composed

    ledger = table.facts.account()
    if ledger is None:
        raise ValueError(
            f"{table.facts.file} names no ledger to record this in. Hint: [ledger], path = ...; or --simulate instead."
        )
    ledger.charge(f"UNPAID EVALUATION, NOT PRIVATE: frontier of {target}", Composed(()))


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
