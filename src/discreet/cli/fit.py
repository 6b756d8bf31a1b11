"""`discreet fit`: learn a model from a table, privately, and keep it as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.models import listing, named
from discreet.cli.numerals import numeral
from discreet.cli.options import Data, Delta, Epsilon, FactsFile, Force, Json, Seed, listed, pairs
from discreet.progress import Progress

if TYPE_CHECKING:
    from discreet.cli.columns import Column
    from discreet.cli.table import Table

MOST = 40  # coefficients shown
HELP = f"""Learn to predict a column from the others, privately.

Bounds, categories and the account come from privacy.toml. A category becomes one feature for each of its values but
the first; rows with a missing cell count for nothing. The model is written as JSON, with its receipt and without a row.

For example:

    discreet fit visits.csv --target cost --model linear --epsilon 1 \\
        -o model.json
    discreet fit visits.csv --target ward --model logistic \\
        --features age,cost --epsilon 1 -o model.json
    discreet fit visits.csv --target cost --model ridge --set alpha=0.1 \\
        --epsilon 1 -o model.json

Models:

{listing()}
"""


def fit(
    data: Data,
    target: Annotated[str, typer.Option("--target", "-t", metavar="NAME", help="The column to predict.")],
    epsilon: Epsilon,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes (.json).")],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help="Which model; the list is above.")
    ] = "linear",
    delta: Delta = None,
    features: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="The columns to predict from; all others unless given.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the estimator, such as alpha=0.1."),
    ] = None,
    facts: FactsFile = None,
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """See HELP."""
    from discreet.cli.table import kept, opened
    from discreet.models.saving import SavedModel, format_document

    out = console.writing(output, force=force, inputs=kept(data, facts))
    if output.suffix.lower() != ".json":
        raise ValueError(f"The model ends in .json. Got {output.name!r}.")
    table = opened(data, facts)
    aim = table.facts.column(target)
    columns = chosen(table, aim, listed(features))
    chosen_model = named(model, classes=aim.kind == "category", target=target)
    options = settings(chosen_model.cls(), setting or [])
    spends = table.facts.delta_of(delta)
    table.check(columns, aim)
    ledger = table.facts.account()
    estimator = chosen_model.made(
        epsilon=epsilon,
        delta=spends,
        neighbours=table.facts.neighbours,
        unit=table.unit,
        max_rows_per_unit=table.facts.max_rows_per_unit,
        bounds=bounded(table, columns, aim),
        ledger=ledger,
        random_state=seed,
        **options,
    )
    encoder = table.encoder(columns)
    with console.waiting("fitting", json) as bar:
        estimator.fit(features_of(table, columns, aim, bar.at))
    document: dict[str, Any] = {
        "model": model,
        "class": type(estimator).__name__,
        "target": target,
        "features": encoder.feature_names,
    }
    learnt = coefficients(estimator)
    document |= {"coefficients": learnt, "output": str(out.path)}

    def show() -> None:
        console.answer(document | {"receipt": console.spent(estimator.release_, ledger)}, json)
        if learnt and len(learnt) <= MOST:
            console.say(_shown(learnt), json=json)
        console.receipt(estimator.release_, ledger, json)

    console.delivered(out, lambda: format_document(SavedModel(estimator, encoder, target)), show, json)


fit.__doc__ = HELP


def chosen(table: Table, target: Column, names: list[str]) -> list[Column]:
    """The columns to predict from: those named, or all that are used but the target."""
    if target.name in names:
        raise ValueError(f"The target {target.name!r} cannot be a feature too.")
    found = [table.facts.column(name, "--features") for name in names]
    found = found or [one for one in table.facts.used if one.name != target.name]
    if not found:
        raise ValueError(f"There is nothing to predict {target.name!r} from: {table.facts.file} has no other column.")
    return found


def bounded(table: Table, columns: list[Column], target: Column) -> Any:
    """Bounds of features and target."""
    ranges: Any = {one.name: (one.low, one.high) for one in columns if one.kind == "number"}
    if target.kind == "number":
        return table.encoder(columns).make_bounds(ranges, target=(target.low, target.high))
    return table.encoder(columns).make_bounds(ranges, classes=target.values)


def features_of(table: Table, columns: list[Column], target: Column, progress: Progress = None) -> Any:
    """A stream of features and target."""
    rows, encoder = table.rows(columns, target, progress), table.encoder(columns)
    if encoder.is_numeric:
        return rows
    return rows.expect_types(numeric=False, labels=target.kind == "category").map(encoder, encoder.feature_names)


def settings(cls: Any, texts: list[str]) -> dict[str, Any]:
    """Options of the estimator, of what was typed: numbers, true, false, null, or text."""
    import json
    from difflib import get_close_matches
    from inspect import signature

    taken = {
        "epsilon",
        "delta",
        "bounds",
        "ledger",
        "unit",
        "max_rows_per_unit",
        "neighbours",
        "random_state",
        "classes",
    }
    known = [
        name for name in signature(cls.__init__).parameters if name not in taken | {"self", "callback", "progress"}
    ]
    found: dict[str, Any] = {}
    for name, value in pairs(texts, "--set").items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{cls.__name__} has no option {name!r}.{hint} There are: {', '.join(known)}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def coefficients(model: Any) -> list[dict[str, Any]]:
    """The coefficients of a linear model, with the noise in them where that is known; none of any other."""
    import numpy as np

    weights = np.atleast_2d(getattr(model, "coef_", np.empty((0, 0))))
    names = getattr(model, "feature_names_in_", ())
    if weights.shape[0] != 1 or weights.shape[1] != len(names):
        return []
    std = getattr(model, "coef_std_", None)
    errors = np.ravel(std) if std is not None and np.size(std) == len(names) else [None] * len(names)
    found = [
        {"feature": str(name), "value": float(weight), "std": None if error is None else float(error)}
        for name, weight, error in zip(names, weights[0], errors, strict=True)
    ]
    intercept = np.ravel(getattr(model, "intercept_", []))
    return found + [{"feature": "(intercept)", "value": float(one), "std": None} for one in intercept[:1]]


def _shown(learnt: list[dict[str, Any]]) -> Any:
    table = console.grid("feature", "coefficient", "standard error")
    for one in learnt:
        error = "" if one["std"] is None else numeral(float(f"{one['std']:.2g}"))
        table.add_row(console.text(one["feature"]), numeral(one["value"]), error)
    return table
