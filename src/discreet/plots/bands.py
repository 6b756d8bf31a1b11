"""Lines with bands: medians over repeats, and where most repeats lie."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from discreet.plots.style import axes as new_axes
from discreet.plots.style import look, marks, quiet

Floats = NDArray[np.float64]
BOUNDS = {"ceiling": "-", "floor": ":"}


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


def draw(lines: Sequence[Line], axes: Any = None, kind: str = "g") -> Any:
    """The lines, over a logarithmic axis with marks where they have points (written as `kind` says)."""
    with quiet():
        axes = new_axes(axes)
        private = [line for line in lines if line.kind == "private"]
        for number, line in enumerate(private):
            style = look(number)
            axes.plot(line.x, line.middle, label=line.label, **style)
            axes.fill_between(line.x, line.low, line.high, color=style["color"], alpha=0.13, linewidth=0)
        for line in lines:
            if line.kind != "private":
                _bound(axes, line)
        axes.set_xscale("log")
        marks(axes.xaxis, [float(x) for line in lines for x in line.x], kind)
        if len(private) == len(lines):
            axes.legend(loc="best")
        else:  # the names of ceiling and floor stand at the right, and so do those of the lines
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def _bound(axes: Any, line: Line) -> None:
    """What a private model lies between, named outside, where no line is."""
    axes.plot(line.x, line.middle, color="0.5", linewidth=0.8, linestyle=BOUNDS[line.kind])
    axes.annotate(
        textwrap.fill(line.label, 20, break_on_hyphens=False),
        (1, line.middle[-1]),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
        color="0.25",
    )
