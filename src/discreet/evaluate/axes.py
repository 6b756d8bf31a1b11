"""Where plots are drawn: matplotlib, imported only when one is wanted."""

from __future__ import annotations

from typing import Any


def axes(ax: Any = None) -> Any:
    """These axes, or new ones."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib, which is not installed. Hint: pip install matplotlib.") from error
    return pyplot.subplots(figsize=(5, 4), layout="constrained")[1]
