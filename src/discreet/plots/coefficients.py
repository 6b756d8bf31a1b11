"""A picture of coefficients with error bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plots.names import names_of
from discreet.plots.style import FAINT, choose_look, make_axes, use_quiet_style

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bars:
    """Coefficients by name, with the ends of their error bars; NaN if a method gives none."""

    names: tuple[str, ...]
    middle: Floats
    low: Floats
    high: Floats


def coefficients(
    model: Any, *, confidence: float = 0.95, per: str = "unit", exact: Any = None, axes: Any = None
) -> Any:
    """A picture of the coefficients of a linear model, with error bars for sampling and privacy noise together.

    Parameters
    ----------
    model : a fitted linear model, or several by name, side by side. Binary classifiers have points without bars.
    confidence : the confidence of the bars.
    per : "unit" for the change of the target per unit of the feature; or "range" for the change from one of the
        feature's bounds to the other, which makes features of different units comparable.
    exact : coefficients to mark with crosses: of a model without privacy, on rows that you may see.
    axes : matplotlib axes; new ones if None.

    Notes
    -----
    The picture costs nothing: it shows what the model released. `exact` is not private.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.models import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (3000, 2))
    >>> y = X @ [1.0, -1.0] + rng.normal(0, 0.1, 3000)
    >>> model = LinearRegression(bounds=dc.Bounds(-1, 1, target=(-3, 3))).fit(X, y)
    >>> [text.get_text() for text in coefficients(model).get_yticklabels()]
    ['x1', 'x2']
    """
    models = dict(model) if isinstance(model, Mapping) else {"": model}
    found = {name: make_bars(one, confidence, per) for name, one in models.items()}
    first = next(iter(found.values()))
    if any(one.names != first.names for one in found.values()):
        raise ValueError("Models whose features differ cannot be drawn side by side.")
    with use_quiet_style():
        axes = make_axes(axes, (5.2, 1.2 + 0.32 * len(first.names) + 0.1 * len(found)))
        places = np.arange(len(first.names), dtype=np.float64)
        for number, (name, one) in enumerate(found.items()):
            _draw_bars(axes, one, places + 0.6 * ((number + 0.5) / len(found) - 0.5), name, number)
        if exact is not None:
            scale = _read_scale(next(iter(models.values())), per)
            axes.plot(np.ravel(exact) * scale, places, "x", color="0.0", markersize=7, label="without privacy")
        axes.axvline(0, **FAINT, zorder=0)
        axes.set_yticks(places, first.names)
        axes.set_ylim(len(places) - 0.4, -0.6)
        axes.set_xlabel(f"change of the target per {'unit' if per == 'unit' else 'range'} of the feature")
        if any(found) or exact is not None:
            axes.legend(loc="best")
    return axes


def make_bars(model: Any, confidence: float = 0.95, per: str = "unit") -> Bars:
    """The coefficients and ends of bars that `coefficients` draws."""
    if per not in ("unit", "range"):
        raise ValueError(f'`per` is "unit" or "range". Got {per!r}.')
    middle = np.ravel(model.coef_)
    if np.shape(model.coef_)[:1] != middle.shape and np.shape(model.coef_)[0] > 1:
        raise ValueError("There are coefficients for each of several classes. Hint: a binary classifier.")
    if hasattr(model, "coef_interval"):
        ends = model.coef_interval(confidence)
    elif hasattr(model, "interval"):
        ends = model.interval(confidence)[-len(middle) :]
    else:
        ends = np.full((len(middle), 2), np.nan)
    scale = _read_scale(model, per)
    return Bars(tuple(names_of(model)), middle * scale, ends[:, 0] * scale, ends[:, 1] * scale)


def _read_scale(model: Any, per: str) -> Any:
    return 2 * model.bounds_.half if per == "range" else 1.0


def _draw_bars(axes: Any, one: Bars, places: Floats, name: str, number: int) -> None:
    style = choose_look(number)
    axes.hlines(places, one.low, one.high, color=style["color"], linestyle=style["linestyle"], linewidth=1.2)
    axes.plot(one.middle, places, color=style["color"], marker=style["marker"], linestyle="", label=name or "private")
