"""Lines with bands: medians over repeats, and where most repeats lie."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from discreet.plots.style import axes as new_axes
from discreet.plots.style import look, marks, quiet

Floats = NDArray[np.float64]
ORDER = ("ceiling", "private", "floor")
BOUNDS: dict[str, dict[str, Any]] = {
    "ceiling": {"color": "0.5", "linewidth": 0.8, "linestyle": "-"},
    "floor": {"color": "0.3", "linewidth": 1.0, "linestyle": ":"},
}


@dataclass(frozen=True, eq=False)
class Line:
    """A line to be drawn: its name, where it goes, and the band around it."""

    label: str
    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    kind: Literal["private", "ceiling", "floor"] = "private"

    @classmethod
    def of(cls, label: str, against: str, rows: Sequence[Mapping[str, Any]], kind: Any = "private") -> Self:
        """From rows with a median, a low and a high end."""
        x, middle, low, high = (
            np.array([row[name] for row in rows], np.float64) for name in (against, "median", "low", "high")
        )
        return cls(label, x, middle, low, high, kind)


def draw(lines: Sequence[Line], axes: Any = None, kind: str = "g", bottom: float = -math.inf) -> Any:
    """The lines, over a logarithmic axis with marks where they have points (written as `kind` says).

    Names of lines that lie below the `bottom` of the picture say so. Ceiling and floor may lie on each other, and all
    lines on both: so names are in a list, in the order in which lines should lie, and never at the lines themselves.
    """
    with quiet():
        axes = new_axes(axes)
        drawn = [(line, _drawn(axes, line, number)) for number, line in enumerate(lines)]
        axes.set_xscale("log")
        marks(axes.xaxis, [float(x) for line in lines for x in line.x], kind)
        drawn.sort(key=lambda one: ORDER.index(one[0].kind))
        names = [_name(line, bottom) for line, _ in drawn]
        aside = drawn[0][0].kind == "ceiling"
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if aside else {"loc": "best"}
        axes.legend([handle for _, handle in drawn], names, **where)
    return axes


def _drawn(axes: Any, line: Line, number: int) -> Any:
    """A line on the axes: its handle."""
    style = look(number) if line.kind == "private" else BOUNDS[line.kind]
    (handle,) = axes.plot(line.x, line.middle, **style)
    if line.kind == "private":
        axes.fill_between(line.x, line.low, line.high, color=style["color"], alpha=0.13, linewidth=0)
    return handle


def _name(line: Line, bottom: float) -> str:
    """What a line is called beside the picture."""
    below = " (below the picture)" if float(line.middle.max()) < bottom else ""
    return textwrap.fill(line.label + below, 20, break_on_hyphens=False)
