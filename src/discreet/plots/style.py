"""One quiet style for all pictures: lines differ by grey, dash and mark, so that they can be read on paper too."""

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
"""The style of lines that are only for comparison: a diagonal, a zero."""

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


def choose_look(number: int) -> Look:
    """The style of the line with this number.

    >>> choose_look(0) == choose_look(7), choose_look(1)["linestyle"]
    (True, '--')
    """
    return LINES[number % len(LINES)]


def use_quiet_style() -> AbstractContextManager[Any]:
    """A context in which matplotlib draws in this style."""
    return _import_matplotlib().rc_context(RC)  # type: ignore[no-any-return]


def make_axes(given: Any = None, size: tuple[float, float] = (5.2, 3.8)) -> Any:
    """The given axes, or new ones in this style."""
    if given is not None:
        return given
    _import_matplotlib()
    from matplotlib import pyplot

    with use_quiet_style():
        return pyplot.subplots(figsize=size, layout="constrained")[1]


def make_sheet(columns: int = 1, size: tuple[float, float] = (4.6, 3.6)) -> tuple[Any, list[Any]]:
    """A new figure with `columns` axes side by side, to be saved; pyplot does not know of it."""
    _import_matplotlib()
    from matplotlib.figure import Figure

    with use_quiet_style():
        figure = Figure(figsize=(size[0] * columns, size[1]), layout="constrained")
        return figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def place_marks(axis: Any, values: Sequence[float], kind: str = "g", gap: float = 0.08) -> None:
    """Place ticks of a logarithmic axis at these values, except where labels would touch; both ends have one.

    `gap` is the least distance between two ticks, as a share of the axis: larger in small panels.
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


def write_title(axes: Any, text: str, width: int = 72) -> None:
    """Write a reading of the picture above it, wrapped to fit; "ε = 1" stays on one line."""
    held = text.replace(" = ", "\0=\0")
    axes.set_title(textwrap.fill(held, width).replace("\0", " "), loc="left", fontsize=8)


def _import_matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib, which is not installed. Hint: pip install matplotlib.") from error
    return matplotlib
