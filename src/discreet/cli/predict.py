"""`discreet predict`: what a saved model says of new rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.options import Force, Json
from discreet.progress import Progress

if TYPE_CHECKING:
    from discreet.models.saving import SavedModel
    from discreet.models.shared.encoder import Encoder


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model that `discreet fit` wrote.", show_default=False)
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="New rows: CSV or Parquet.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where predictions go (.csv); NAME.predictions.csv unless given."
        ),
    ] = None,
    probabilities: Annotated[bool, typer.Option(help="Add the probability of each class.")] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict for new rows, one line each, in their order.

    The model costs nothing to use: what it learnt was paid for when it was fitted. Predictions tell of the new rows,
    so they are written to a file, NAME.predictions.csv beside NAME.csv unless you name another, and never to the
    terminal. A row with a missing cell, or with a category that the model does not know, gets an empty line.

    For example:

        discreet predict model.json new.csv
        discreet predict model.json new.csv -o predictions.csv
    """
    from discreet.cli.header import missing
    from discreet.cli.table import kept
    from discreet.models.saving import load_saved

    out = console.writing(output or beside(data), force=force, inputs=[model, *kept(data)], secret=True)
    saved = load_saved(model)
    columns = saved.columns
    if columns is None:
        raise ValueError(f"{model.name!r} was fitted on columns without names: predict with it in Python.")
    lost = missing(data, columns)
    if lost:
        raise ValueError(f"{data.name!r} has no columns {lost}, which the model predicts from.")
    if probabilities and not hasattr(saved.model, "predict_proba"):
        raise ValueError(f"A {type(saved.model).__name__} has no probabilities. Hint: leave --probabilities out.")
    with console.waiting("predicting", json) as bar, out.open() as file:
        for line in _lines(saved, data, probabilities, bar.at):
            file.write(line.encode("utf-8"))
    console.answer({"output": str(out.path), "model": type(saved.model).__name__, "target": saved.target}, json)
    console.say(f"Written: {out.path}. Nothing was spent: the model was paid for when it was fitted.", json=json)


def beside(data: Path) -> Path:
    """Where predictions go, unless another place is named.

    >>> beside(Path("visits/new.csv.gz")).name
    'new.predictions.csv'
    """
    from discreet.cli.header import PARQUET, TEXT

    ending = next((end for end in sorted((*TEXT, *PARQUET), key=len)[::-1] if data.name.lower().endswith(end)), "")
    return data.with_name(f"{data.name[: len(data.name) - len(ending)]}.predictions.csv")


def _lines(saved: SavedModel, data: Path, probabilities: bool, progress: Progress) -> Iterator[str]:
    """The lines of the output, some thousands at a time."""
    from discreet.cli.table import cells
    from discreet.models.shared.encoder import Encoder

    columns = saved.columns or ()
    encoder = saved.encoder or Encoder(columns, (None,) * len(columns))
    classes = [f"P({one})" for one in getattr(saved.model, "classes_", ())] if probabilities else []
    yield _text([[f"predicted {saved.target}" if saved.target else "predicted", *classes]])
    for rows in cells(data, columns, _types(encoder), progress):
        yield _text(_predicted(saved.model, encoder, rows, probabilities))


def _types(encoder: Encoder) -> dict[str, str]:
    sorts = {str: "text", bool: "truth"}
    pairs = zip(encoder.columns, encoder.values, strict=True)
    return {name: "number" if known is None else sorts.get(type(known[0]), "number") for name, known in pairs}


def _predicted(model: Any, encoder: Encoder, rows: Any, probabilities: bool) -> Iterator[list[Any]]:
    import numpy as np

    from discreet.query import Batch

    X = encoder(Batch(rows))
    fine: Any = np.isfinite(X).all(axis=1)
    zeros: Any = np.where(fine[:, None], X, 0.0)
    if hasattr(model, "feature_names_in_"):
        import polars

        zeros = polars.DataFrame(dict(zip(encoder.feature_names, zeros.T, strict=True)))
    values = model.predict(zeros)
    odds = model.predict_proba(zeros) if probabilities else np.empty((len(fine), 0))
    for known, value, chances in zip(fine.tolist(), np.asarray(values).tolist(), odds.tolist(), strict=True):
        yield [value, *chances] if known else [""] * (1 + len(chances))


def _text(rows: Any) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
