"""One quiet look for every picture: told apart by grey, dash and mark, so that it reads on paper too."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

Look = dict[str, Any]

LINES: tuple[Look, ...] = (
    {"color": "0.0", "linestyle": "-", "marker": "o"},
    {"color": "0.35", "linestyle": "--", "marker": "s"},
    {"color": "0.55", "linestyle": "-.", "marker": "^"},
    {"color": "0.2", "linestyle": ":", "marker": "D"},
    {"color": "0.65", "linestyle": "-", "marker": "v"},
    {"color": "0.45", "linestyle": (0, (5, 1, 1, 1)), "marker": "x"},
    {"color": "0.1", "linestyle": (0, (1, 3)), "marker": "+"},
)
FAINT: Look = {"color": "0.6", "linewidth": 0.8, "linestyle": ":"}
"""Of what is only there to compare with: a diagonal, a zero."""

RC: Look = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.markersize": 4,
    "lines.linewidth": 1.2,
}


def look(number: int) -> Look:
    """Of the line with this number.

    >>> look(0) == look(7), look(1)["linestyle"]
    (True, '--')
    """
    return LINES[number % len(LINES)]


def quiet() -> AbstractContextManager[Any]:
    """Within it, matplotlib draws in this look."""
    return _matplotlib().rc_context(RC)  # type: ignore[no-any-return]


def axes(given: Any = None, size: tuple[float, float] = (5.2, 3.8)) -> Any:
    """The axes given, or new ones in this look."""
    if given is not None:
        return given
    _matplotlib()
    from matplotlib import pyplot

    with quiet():
        return pyplot.subplots(figsize=size, layout="constrained")[1]


def sheet(columns: int = 1, size: tuple[float, float] = (4.6, 3.6)) -> tuple[Any, list[Any]]:
    """A figure of its own with so many axes beside each other, to be saved: pyplot does not know of it."""
    _matplotlib()
    from matplotlib.figure import Figure

    with quiet():
        figure = Figure(figsize=(size[0] * columns, size[1]), layout="constrained")
        return figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def marks(axis: Any, values: Sequence[float], kind: str = "g", gap: float = 0.08) -> None:
    """Marks of a logarithmic axis at these values, but for those that would touch another; both ends have theirs.

    The `gap` between two, as a share of the axis, is what a number takes: more in small panels.
    """
    known = sorted(set(values))
    first, last = known[0], known[-1]
    near = gap * math.log(last / first)
    shown = [first]
    for value in known[1:-1]:
        if min(math.log(value / shown[-1]), math.log(last / value)) > near:
            shown.append(value)
    shown += known[1:][-1:]
    axis.set_ticks(shown, [f"{value:{kind}}" for value in shown])
    axis.set_ticks([], minor=True)


def title(axes: Any, text: str, width: int = 72) -> None:
    """A reading of the picture, above it, in lines that fit; "ε = 1" stays in one."""
    held = text.replace(" = ", "\0=\0")
    axes.set_title(textwrap.fill(held, width).replace("\0", " "), loc="left", fontsize=8)


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib, which is not installed. Hint: pip install matplotlib.") from error
    return matplotlib
