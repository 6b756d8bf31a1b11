"""Proofs, each stamped with the code it was written for.

The first line of a proof names what it proves, with a short SHA-256 of the source of each:
`proves: gaussian.add_gaussian@0123456789ab, …`. When the code changes the stamp no longer matches and a test fails:
read the proof again, then run `python -m discreet.mechanisms.proofs` to stamp it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_PREFIX = "proves: "


def stamp(name: str) -> str:
    """The stamp of `module.function` or `module.Class.method`, relative to discreet.mechanisms or discreet.

    >>> len(stamp("gaussian.add_gaussian"))
    12
    """
    found: Any = _find(name)
    code: Any = getattr(found, "fget", None) or getattr(found, "__func__", found)  # properties and class methods
    return hashlib.sha256(inspect.getsource(code).encode()).hexdigest()[:12]


def _find(name: str) -> object:
    parts = name.split(".")
    for package in ("discreet.mechanisms", "discreet"):
        for cut in range(len(parts) - 1, 0, -1):
            try:
                found: object = importlib.import_module(".".join([package, *parts[:cut]]))
            except ModuleNotFoundError:
                continue
            for part in parts[cut:]:
                found = inspect.getattr_static(found, part)
            return found
    raise ValueError(f"No proved function is called {name!r}.")


def proved(proof: Path) -> dict[str, str]:
    """The names that a proof file proves, with their stamps; empty if it names none.

    >>> sorted(proved(HERE / "laplace.md"))
    ['laplace.add_discrete_laplace', 'laplace.add_laplace', 'laplace.discrete_laplace_std']
    """
    first = proof.read_text(encoding="utf-8").split("\n", 1)[0]
    if not first.startswith(_PREFIX):
        return {}
    return {n: s for n, _, s in (item.strip().partition("@") for item in first[len(_PREFIX) :].split(","))}


def stale(proof: Path) -> list[str]:
    """What changed since the proof was stamped."""
    return [name for name, mark in proved(proof).items() if mark != stamp(name)]


def restamp(proof: Path) -> list[str]:
    """Stamp the proof with the code as it is, and say what had changed."""
    changed, (_, rest) = stale(proof), proof.read_text(encoding="utf-8").split("\n", 1)
    if changed:
        first = _PREFIX + ", ".join(f"{name}@{stamp(name)}" for name in proved(proof))
        proof.write_text(f"{first}\n{rest}", encoding="utf-8")
    return changed
