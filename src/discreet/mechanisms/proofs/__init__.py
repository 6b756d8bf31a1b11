"""Proofs, each stamped with the code it was written for.

The first line of a proof names what it proves, with a stamp of each: `proves: gaussian.add_gaussian@0123456789ab, …`. A
stamp is a short SHA-256 of the syntax tree, without comments, docstrings and layout. When the code changes the stamp no
longer matches and a test fails: read the proof again, then run `python -m discreet.mechanisms.proofs` to stamp it.

Code that was only moved or renamed need not be read again: `--renamed old=new` and `--moved old.module=new.module`
stamp what is the same up to these names, and nothing else.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_PREFIX = "proves: "
_NAMED = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg", ast.alias: "name"}
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def stamp(name: str, former: Mapping[str, str] | None = None) -> str:
    """The stamp of `module.function` or `module.Class.method`, relative to discreet.mechanisms or discreet.

    Parameters
    ----------
    name : what is proved.
    former : what names in the code were called before; the stamp is that of the code with those.

    >>> len(stamp("gaussian.add_gaussian"))
    12
    """
    found: Any = _find(name)
    code: Any = getattr(found, "fget", None) or getattr(found, "__func__", found)  # properties and class methods
    return hash_code(inspect.getsource(code), former)


def hash_code(source: str, former: Mapping[str, str] | None = None) -> str:
    """A short hash of what code does: of its syntax tree without comments, docstrings and layout.

    >>> hash_code("def f(x): return (x)  # why") == hash_code("def f(x): return x")
    True
    >>> hash_code("def f(y): return y", {"y": "x"}) == hash_code("def f(x): return x")
    True
    """
    tree = ast.parse(textwrap.dedent(source))
    if former:
        _rename(tree, former)
    return hashlib.sha256("\n".join(_lines(tree)).encode()).hexdigest()[:12]


def _rename(tree: ast.AST, former: Mapping[str, str]) -> None:
    """Put former names in the place of new ones; raise where two names would become one."""
    nodes = [(node, field) for node in ast.walk(tree) if (field := _field_of_name(node)) is not None]
    names = {getattr(node, field) for node, field in nodes}
    before = [former.get(name, name) for name in names]
    if len(set(before)) < len(names):
        raise ValueError("Two names would become one: the renaming is not one to one.")
    for node, field in nodes:
        setattr(node, field, former.get(getattr(node, field), getattr(node, field)))


def _field_of_name(node: ast.AST) -> str | None:
    field = "name" if isinstance(node, _DEFINED) else _NAMED.get(type(node))
    return field if field is not None and getattr(node, field) is not None else None


def _lines(node: Any, depth: int = 0) -> Iterator[str]:
    """The tree, a line for each node and value; what is empty is left out, which differs between versions of Python."""
    indent = " " * depth
    if not isinstance(node, ast.AST):
        yield f"{indent}{node!r}"
        return
    yield f"{indent}{type(node).__name__}"
    for field, value in ast.iter_fields(node):
        if field == "body" and isinstance(node, _DEFINED) and ast.get_docstring(node) is not None:
            value = value[1:]
        if value is None or value == [] or field in ("ctx", "kind", "type_comment"):
            continue
        yield f"{indent} {field}"
        for part in value if isinstance(value, list) else [value]:
            yield from _lines(part, depth + 2)


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
    changed = stale(proof)
    if changed:
        _write(proof, {name: stamp(name) for name in proved(proof)})
    return changed


def follow(proof: Path, renamed: Mapping[str, str], moved: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Stamp what was only renamed or moved since; the names stamped, and those that still are to be read again.

    Parameters
    ----------
    proof : the file.
    renamed : new names of what the code calls, by their former ones.
    moved : new places of modules, classes or functions, by their former ones, as a proof names them.
    """
    former = {new: old for old, new in renamed.items()}
    if len(former) < len(renamed):
        raise ValueError("Two names would become one: the renaming is not one to one.")
    marks: dict[str, str] = {}
    same, other = [], []
    for name, mark in proved(proof).items():
        place = _follow_name(name, renamed, moved)
        equal = mark == stamp(place)
        marks[place] = mark
        if not equal and mark == stamp(place, former):
            marks[place] = stamp(place)
        if marks[place] != stamp(place):
            other.append(place)
        elif not equal or place != name:
            same.append(place)
    _write(proof, marks)
    return same, other


def _follow_name(name: str, renamed: Mapping[str, str], moved: Mapping[str, str]) -> str:
    for old, new in moved.items():
        if f"{name}.".startswith(f"{old}."):
            name = f"{new}{name.removeprefix(old)}"
            break
    return ".".join(renamed.get(part, part) for part in name.split("."))


def _write(proof: Path, marks: Mapping[str, str]) -> None:
    _, rest = proof.read_text(encoding="utf-8").split("\n", 1)
    first = _PREFIX + ", ".join(f"{name}@{mark}" for name, mark in marks.items())
    proof.write_text(f"{first}\n{rest}", encoding="utf-8")
