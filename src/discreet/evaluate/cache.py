"""Scores kept on disk, so that an interrupted study can go on; for public or simulated rows only.

A stored score is used if everything it depends on is the same: the estimator's parameters, the bytes of the rows, the
split, the seed, ε, the number of rows, and the code. Files hold scores and digests. A digest of a few rows can be
guessed, so a cache reveals as much about the rows as the study does.
"""

from __future__ import annotations

import inspect
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet.documents import dump
from discreet.documents.atomic_files import write_file

VERSION = 1
KNOWN = ("discreet", "sklearn", "numpy", "scipy", "builtins", "abc")  # `digest_code` covers their code


@dataclass(frozen=True)
class Cache:
    """A folder of scores of one study.

    Attributes
    ----------
    folder : the folder; it is made if need be.
    study : the digest of what all jobs share: rows, split, seed, score and code.
    """

    folder: Path
    study: str

    def recall(self, job: Any) -> float | None:
        """The stored score of a job; None if there is none, or its file is damaged."""
        key = self._make_key(job)
        try:
            document = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            if document["check"] == _make_check(key, document["score"]):
                return float.fromhex(document["score"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def store(self, job: Any, score: float) -> None:
        """Store a score; a reader sees the whole file or none of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        key, exact = self._make_key(job), float(score).hex()
        document = {"discreet": "score", "version": VERSION, "score": exact, "check": _make_check(key, exact)}
        write_file(self.folder / f"{key}.json", json.dumps(document))

    def _make_key(self, job: Any) -> str:
        return digest_json([self.study, describe_model(job.model), job.epsilon, job.n, job.repeat])


def _make_check(key: str, exact: Any) -> str:
    return digest_json([VERSION, key, exact])


def digest_json(value: Any) -> str:
    """A digest of anything that JSON can write."""
    return sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def digest_tables(*tables: Any) -> str:
    """A digest of arrays and frames: types, shapes, column names and values."""
    found = sha256()
    for table in tables:
        names = [str(name) for name in getattr(table, "columns", ())]
        array = np.ascontiguousarray(table)
        if array.dtype.hasobject:
            found.update(dump([names, *(_to_plain(value) for value in array.ravel().tolist())]).encode())
        else:
            found.update(json.dumps([names, array.dtype.str, array.shape]).encode())
            found.update(array.tobytes())
    return found.hexdigest()


def _to_plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def describe_model(model: Any) -> Any:
    """An estimator as JSON: its class and parameters, and theirs; `ValueError` for anything without a stable form.

    >>> from discreet.models import Ridge
    >>> describe_model(Ridge(alpha=2.0)) == describe_model(Ridge(alpha=2.0)) != describe_model(Ridge(alpha=3.0))
    True
    """
    if hasattr(model, "get_params") and not isinstance(model, type):
        params = {name: describe_model(value) for name, value in model.get_params(deep=False).items()}
        return [_describe_source(type(model)), params]
    if isinstance(model, (list, tuple)):
        return [type(model).__name__, *(describe_model(part) for part in model)]
    if isinstance(model, Mapping):
        return ["mapping", *sorted(([str(key), describe_model(part)] for key, part in model.items()), key=repr)]
    try:
        return dump(model)
    except ValueError as error:
        raise ValueError(f"The cache cannot tell one estimator from another: {error}. Hint: cache=None.") from None


def _describe_source(cls: type) -> list[str]:
    """The name of a class, with digests of the files of its base classes outside known libraries."""
    found = [f"{cls.__module__}.{cls.__qualname__}"]
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in KNOWN:
            continue
        try:
            found.append(sha256(Path(inspect.getfile(base)).read_bytes()).hexdigest())
        except (OSError, TypeError):
            raise ValueError(
                f"The cache cannot tell one estimator from another: no file holds {base.__qualname__}. "
                "Hint: cache=None."
            ) from None
    return found


@lru_cache(maxsize=1)
def digest_code() -> str:
    """A digest of this package's sources, and of the versions of the libraries it computes with."""
    root = Path(discreet.__file__).parent
    found = sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    versions = [version(name) for name in ("numpy", "scipy", "scikit-learn")]
    return digest_json(
        [discreet.__version__, platform.python_version(), platform.machine(), *versions, found.hexdigest()]
    )
