"""Writes the tree of docs/map.md from the docstrings of packages and modules: `python docs/map.py`. Not published."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE, SOURCE = HERE / "map.md", HERE.parent / "src" / "discreet"
BEGIN, END = "<!-- tree: made by docs/map.py -->", "<!-- end of tree -->"


def write_tree() -> str:
    """The rooms of the package, a line each, and what is in each room."""
    lines = [BEGIN, "", *_write_files(SOURCE, "The nouns, at the top of the package")]
    for room in sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").exists()):
        lines += ["", f"### {room.name}", "", _first_sentence(room / "__init__.py"), ""]
        lines += _write_files(room, None)
        for inner in sorted(path for path in room.iterdir() if (path / "__init__.py").exists()):
            lines += _write_files(inner, f"`{room.name}/{inner.name}`: {_first_sentence(inner / '__init__.py')}")
    return "\n".join([*lines, "", END])


def _write_files(folder: Path, title: str | None) -> list[str]:
    files = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith("__")]
    lines = [] if title is None else ["", title, ""]
    lines += ["| file | what is in it |", "| --- | --- |"] if files else []
    return lines + [f"| `{path.stem}` | {_first_sentence(path)} |" for path in files]


def _first_sentence(path: Path) -> str:
    """The first paragraph of a module's docstring, without the module's own name in front."""
    text = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def replace_tree(page: str) -> str:
    """The page with the tree as it is now."""
    before, _, rest = page.partition(BEGIN)
    return before + write_tree() + rest.partition(END)[2]


if __name__ == "__main__":
    new = replace_tree(PAGE.read_text(encoding="utf-8"))
    changed = new != PAGE.read_text(encoding="utf-8")
    PAGE.write_text(new, encoding="utf-8")
    sys.exit(f"{PAGE.name} was out of date and is written anew." if changed else 0)
