"""A picture of a private posterior, with the privacy noise taken into account, and without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plots.names import names_of, place_of
from discreet.plots.style import FAINT, choose_look, make_axes, use_quiet_style

Floats = NDArray[np.float64]
POINTS = 200


@dataclass(frozen=True, eq=False)
class Density:
    """A density over a grid, its mean, and a credible interval."""

    label: str
    grid: Floats
    density: Floats
    mean: float
    interval: tuple[float, float]


def posterior(model: Any, feature: Any = 0, *, confidence: float = 0.9, beside: Any = None, axes: Any = None) -> Any:
    """A picture of the posterior of one coefficient of a `BayesianLinearRegression`, with its interval.

    A dashed line shows the posterior that takes the noisy moments for exact. It is narrower by the cost of privacy,
    which a method that ignores the noise would hide.

    Parameters
    ----------
    model : a fitted `BayesianLinearRegression`.
    feature : the coefficient, by name or number.
    confidence : the confidence of the intervals.
    beside : another such model to compare with, instead of the posterior that ignores the noise; for example, one
        fitted on public rows at a huge ε.
    axes : matplotlib axes; new ones if None.

    Notes
    -----
    The picture costs nothing: it shows what the model released.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.models import BayesianLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 1))
    >>> y = 0.5 * X[:, 0] + rng.normal(0, 0.2, 2000)
    >>> model = BayesianLinearRegression(bounds=dc.Bounds(-1, 1, target=(-1, 1)), draws=400).fit(X, y)
    >>> posterior(model).get_xlabel()
    'coefficient of x1'
    """
    found = estimate_densities(model, feature, confidence, beside)
    with use_quiet_style():
        axes = make_axes(axes)
        heights = -0.07 * max(float(one.density.max()) for one in found)
        for number, one in enumerate(found):
            style = {**choose_look(number), "marker": ""}
            axes.plot(one.grid, one.density, label=one.label, **style)
            if number == 0:
                axes.fill_between(one.grid, one.density, color=style["color"], alpha=0.1, linewidth=0)
            height = heights * (number + 1)
            axes.plot(one.interval, [height, height], **{**style, "marker": "|", "markersize": 6})
            axes.plot([one.mean], [height], color=style["color"], marker="o", linestyle="")
        if found[0].grid[0] < 0 < found[0].grid[-1]:
            axes.axvline(0, **FAINT, zorder=0)
        names = names_of(model)
        axes.set(xlabel=f"coefficient of {names[place_of(names, feature)]}", ylabel="posterior density", yticks=[])
        axes.spines["left"].set_visible(False)
        axes.legend(title=f"with {100 * confidence:g}% intervals", title_fontsize=8, loc="upper left")
        axes.set_ylim(top=1.35 * max(float(one.density.max()) for one in found))
    return axes


def estimate_densities(model: Any, feature: Any = 0, confidence: float = 0.9, beside: Any = None) -> list[Density]:
    """The densities that `posterior` draws: with the privacy noise, and without."""
    if not 0 < confidence < 1:
        raise ValueError(f"The `confidence` must be within 0 and 1. Got {confidence!r}.")
    place = place_of(names_of(model), feature)
    draws = {"with the noise of privacy": model.posterior_[:, 1 + place]}
    if beside is None:
        draws["noise taken for exact: too narrow"] = _draw_without_noise(model)[:, 1 + place]
    else:
        draws["beside it"] = beside.posterior_[:, 1 + place]
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    # one density may be far narrower than the other, so the grid has points for each of them
    grid = np.unique([_place_points(values) for values in draws.values()])
    return [_estimate_density(label, values, grid, tails) for label, values in draws.items()]


def _place_points(values: Floats) -> Floats:
    low, high = np.quantile(values, [0.001, 0.999])
    return np.linspace(low - (high - low) / 4, high + (high - low) / 4, POINTS)


def _estimate_density(label: str, values: Floats, grid: Floats, tails: tuple[float, float]) -> Density:
    from scipy.stats import gaussian_kde

    low, high = np.quantile(values, tails)
    return Density(label, grid, gaussian_kde(values)(grid), float(values.mean()), (float(low), float(high)))


def _draw_without_noise(model: Any) -> Floats:
    """Draws of (intercept, coefficients) that take the released moments for exact."""
    from discreet.models.linear.bayes import _treat_as_exact

    drawn = replace(model._drawn, statistics=_treat_as_exact(model.moments_))
    return np.asarray(drawn.coefficients)
