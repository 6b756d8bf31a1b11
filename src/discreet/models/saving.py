"""Saving: fitted models as files of JSON, which hold values and never code.

    save(model, "model.json")
    model = load("model.json")

A model comes back to the bit: its predictions are the same. With it travel its receipt and, where its features were
made of a table with categories, the encoder. The rows, the account, the noise's key and a seed are not in it.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator

from discreet.documents import of_form, to_form
from discreet.documents.atomic_files import write_file
from discreet.errors import VersionError
from discreet.models.shared.encoder import Encoder
from discreet.release import Release

VERSION = 1
TRIED = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True)
class SavedModel:
    """A model, the encoder that makes its features of a table, and what it is called to learn."""

    model: Any
    encoder: Encoder | None = None
    target: str | None = None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of a table that it predicts from, if they have names."""
        if self.encoder is not None:
            return self.encoder.columns
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def release(self) -> Release:
        """The receipt."""
        release: Release = self.model.release_
        return release


def save(model: Any, path: str | os.PathLike[str], encoder: Encoder | None = None, target: str | None = None) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : an estimator of `discreet.models` that was fitted.
    encoder, target : what makes features of a table's columns, and the name of what is predicted, if that matters.
    """
    getattr(model, "_prepare_saving", lambda: None)()
    write_file(path, format_document(SavedModel(model, encoder, target)))


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file.

    | file | raises |
    | --- | --- |
    | of a later version; of a class that discreet does not have; no model at all; damaged | `VersionError` |
    | with a number that is not finite where predictions come from; of another width than its columns | `VersionError` |
    """
    return load_saved(path).model


def load_saved(path: str | os.PathLike[str]) -> SavedModel:
    """What is in a file: the model and its encoder."""
    try:
        content = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise VersionError(f"{os.fspath(path)!r} is no model: it is not JSON.") from None
    return parse_document(content, os.fspath(path))


def format_document(saved: SavedModel) -> str:
    """The document of a fitted model."""
    model = saved.model
    name = type(model).__name__
    if type(model) is not _list_classes().get(name):
        raise ValueError(f"A {name} cannot be saved: it is no estimator of discreet.models.")
    if not hasattr(model, "release_"):
        raise ValueError(f"This {name} is not fitted: there is nothing to save. Hint: fit it first.")
    document = {
        "discreet": "model",
        "version": VERSION,
        "class": name,
        "target": saved.target,
        "columns": saved.columns,
        "encoder": None if saved.encoder is None else to_form(saved.encoder),
        "receipt": str(model.release_),
        "state": _remove_seeds(to_form(model)),
    }
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)


def parse_document(content: str, name: str = "This") -> SavedModel:
    """The model of a document."""
    document = _check_document(content, name)
    wanted = _list_classes().get(document.get("class"))
    if wanted is None:
        raise VersionError(f"{name!r} holds a model of a class that this discreet does not have.")
    try:
        model = of_form(document["state"])
        encoder = None if document["encoder"] is None else of_form(document["encoder"])
        target = document["target"]
    except Exception:
        raise VersionError(f"{name!r} is damaged: the model in it cannot be read.") from None
    fine = type(model) is wanted and isinstance(getattr(model, "release_", None), Release)
    if not fine or not isinstance(encoder, Encoder | None) or not isinstance(target, str | None):
        raise VersionError(f"{name!r} is damaged: it does not hold the model that it names.")
    saved = SavedModel(model, encoder, target)
    if not _can_predict(saved):
        raise VersionError(f"{name!r} is damaged: the model in it does not predict.")
    return saved


def _can_predict(saved: SavedModel) -> bool:
    """Whether the model predicts finite numbers or known classes of a row of zeros, and its encoder fits it."""
    model = saved.model
    try:
        width = int(model.n_features_in_)
        if saved.encoder is not None and (len(saved.encoder.feature_names) != width or not saved.encoder.is_sound):
            return False
        numbers = [getattr(model, name) for name in ("coef_", "intercept_") if hasattr(model, name)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names of columns, which zeros have none of
            zeros = np.zeros((1, width))
            numbers += [getattr(model, name)(zeros) for name in TRIED if hasattr(model, name)]
        return all(_is_finite(one) for one in numbers)
    except Exception:
        return False


def _is_finite(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "biuUS" or (array.dtype.kind == "f" and bool(np.isfinite(array).all()))


def _remove_seeds(form: Any) -> Any:
    """A form without seeds: whoever knows one can take the noise away."""
    if isinstance(form, list):
        return [_remove_seeds(part) for part in form]
    if not isinstance(form, dict):
        return form
    return {key: None if key == "random_state" else _remove_seeds(part) for key, part in form.items()}


def _check_document(content: str, name: str) -> dict[str, Any]:
    try:
        document = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise VersionError(f"{name!r} is no model: it is not JSON.") from None
    if not isinstance(document, dict) or document.get("discreet") != "model":
        raise VersionError(f"{name!r} is no model of discreet.")
    if document.get("version") != VERSION:
        raise VersionError(
            f"This discreet reads models of version {VERSION}; {name!r} is of another. Hint: a newer discreet."
        )
    return document


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON.")


def _list_classes() -> dict[Any, type]:
    """The estimators that a file may hold, by name."""
    from discreet import models

    found = {name: getattr(models, name) for name in models.__all__}
    return {name: one for name, one in found.items() if isinstance(one, type) and issubclass(one, BaseEstimator)}
