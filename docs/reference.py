"""Turns the library's light docstrings into Markdown, for the reference pages. Used by mkdocs.yml, not published."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap

try:
    import griffe
    from griffe import Extension
except ImportError:  # the tests do not need it
    Extension = object


class Light(Extension):
    """Rewrites every docstring of the package, once it is loaded."""

    def on_package(self, *, pkg, **_):
        """All modules, classes and functions of it."""
        seen, waiting = set(), [pkg]
        while waiting:
            obj = waiting.pop()
            if obj.is_alias or id(obj) in seen:
                continue
            seen.add(id(obj))
            if obj.is_class and any(str(one.value) == "estimator" for one in obj.decorators):
                obj.set_member("__init__", initialiser(obj))
            if obj.docstring is not None:
                obj.docstring.value = markdown(obj.docstring.value)
            waiting.extend(obj.members.values())


def initialiser(cls):
    """The `__init__` of an estimator, which `discreet.models.estimator` makes when the class is imported."""
    home = importlib.import_module(cls.parent.path)
    parameters = inspect.signature(getattr(home, cls.name).__init__).parameters.values()
    made = [
        griffe.Parameter(
            one.name,
            kind=getattr(griffe.ParameterKind, one.kind.name.lower()),
            annotation=None if one.annotation is one.empty else str(one.annotation),
            default=None if one.default is one.empty else repr(one.default),
        )
        for one in parameters
    ]
    return griffe.Function("__init__", parameters=griffe.Parameters(*made), parent=cls)


def markdown(text: str) -> str:
    r"""Underlined titles become bold, `name : meaning` becomes a list, examples and drawings become code.

    >>> print(markdown("One.\n\nParameters\n----------\nx : a column,\n    or two."))
    One.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `x`: a column,
      or two.
    >>> print(markdown("x : see\n\n    | a | b |\n    | --- | --- |"))
    - `x`: see
    <BLANKLINE>
    | a | b |
    | --- | --- |
    """
    blocks = re.split(r"\n[ \t]*\n", text.strip("\n"))
    return "\n\n".join(_block(block) for block in blocks)


def _block(block: str) -> str:
    title = re.match(r"(\w[\w ]*)\n-{3,}\n?", block)
    if title:
        rest = block[title.end() :]
        return f"**{title.group(1)}**" + (f"\n\n{_block(rest)}" if rest else "")
    if block.lstrip().startswith(">>>"):
        return f"```pycon\n{block}\n```"
    if block.lstrip().startswith("| "):
        return textwrap.dedent(block)
    if block.startswith("    "):
        return f"```text\n{block}\n```"
    lines = block.split("\n")
    if re.match(r"[\w, *]+ : ", lines[0]):
        return "\n".join(_entry(line) for line in lines)
    head = next((i for i, line in enumerate(lines) if line.startswith(("- ", "| "))), 0)
    return "\n".join([*lines[:head], "", *lines[head:]]) if head else block


def _entry(line: str) -> str:
    found = re.match(r"([\w, *]+) : (.*)", line)
    if not found:
        return f"  {line.strip()}"
    names = ", ".join(f"`{name.strip()}`" for name in found.group(1).split(","))
    # names[level][i] would be read as a link
    meaning = re.sub(r"(?<!`)\b\w+(?:\[\w+\])+", r"`\g<0>`", found.group(2))
    return f"- {names}: {meaning}"
