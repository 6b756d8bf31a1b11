"""Lines with bands: medians over repeats, and the band that holds most repeats."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from discreet.plots.style import choose_look, make_axes, place_marks, use_quiet_style

Floats = NDArray[np.float64]
ORDER = ("ceiling", "private", "floor")
BOUNDS: dict[str, dict[str, Any]] = {
    "ceiling": {"color": "0.5", "linewidth": 0.8, "linestyle": "-"},
    "floor": {"color": "0.3", "linewidth": 1.0, "linestyle": ":"},
}


@dataclass(frozen=True, eq=False)
class BandLine:
    """A line to be drawn: its name, its points, and the band around it."""

    label: str
    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    kind: Literal["private", "ceiling", "floor"] = "private"

    @classmethod
    def from_rows(cls, label: str, against: str, rows: Sequence[Mapping[str, Any]], kind: Any = "private") -> Self:
        """The line from rows with a median, a low and a high end."""
        x, middle, low, high = (
            np.array([row[name] for row in rows], np.float64) for name in (against, "median", "low", "high")
        )
        return cls(label, x, middle, low, high, kind)


def draw_lines(lines: Sequence[BandLine], axes: Any = None, kind: str = "g", bottom: float = -math.inf) -> Any:
    """Draw the lines over a logarithmic axis, with ticks at their points, formatted by `kind`.

    Names of lines below the `bottom` of the picture say so. Lines may cover each other, so names stand in a legend, in
    the order in which the lines should lie, not at the lines.
    """
    with use_quiet_style():
        axes = make_axes(axes)
        drawn = [(line, _draw_line(axes, line, number)) for number, line in enumerate(lines)]
        axes.set_xscale("log")
        place_marks(axes.xaxis, [float(x) for line in lines for x in line.x], kind)
        drawn.sort(key=lambda one: ORDER.index(one[0].kind))
        names = [_write_name(line, bottom) for line, _ in drawn]
        aside = drawn[0][0].kind == "ceiling"
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if aside else {"loc": "best"}
        axes.legend([handle for _, handle in drawn], names, **where)
    return axes


def _draw_line(axes: Any, line: BandLine, number: int) -> Any:
    """Draw a line on the axes, and return its handle."""
    style = choose_look(number) if line.kind == "private" else BOUNDS[line.kind]
    (handle,) = axes.plot(line.x, line.middle, **style)
    if line.kind == "private":
        axes.fill_between(line.x, line.low, line.high, color=style["color"], alpha=0.13, linewidth=0)
    return handle


def _write_name(line: BandLine, bottom: float) -> str:
    """The name of a line in the legend."""
    below = " (below the picture)" if float(line.middle.max()) < bottom else ""
    return textwrap.fill(line.label + below, 20, break_on_hyphens=False)
