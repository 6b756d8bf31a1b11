"""A picture of the privacy loss: how much likelier an answer is with one person's row than without it (CO5)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import accounting
from discreet.accounting import curves
from discreet.events import Composed, Event
from discreet.ledger import Ledger
from discreet.plots.law import NOTHING, compute_loss_law
from discreet.plots.style import make_axes, use_quiet_style, write_title
from discreet.release import Release

Floats = NDArray[np.float64]
BARS = 60
FINE = 2000  # the number of steps of the distribution within ε
RARE = 1e-6  # the δ at which ε is stated if none is given but the event needs one


@dataclass(frozen=True, eq=False)
class LossBars:
    """A privacy-loss distribution in bars, and the (ε, δ) that it guarantees.

    Attributes
    ----------
    edges, probabilities : the edges and the probabilities of the bars.
    epsilon, delta : the guarantee.
    beyond : the probability that the loss exceeds ε; it is larger than δ, which weights it by the excess.
    mean : the expected loss.
    fact : the fact that the odds are about.
    """

    edges: Floats
    probabilities: Floats
    epsilon: float
    delta: float
    beyond: float
    mean: float
    fact: str = "a row is there"


def privacy_loss(given: Any, delta: float | None = None, *, axes: Any = None) -> Any:
    """A picture of the privacy-loss distribution, on the worse of two neighbouring data sets.

    The loss of an answer is log p(answer | with the row) / p(answer | without it): an adversary who sees the answer
    multiplies the odds that the row is there by e^loss. (For replace-one: that it has one value, not another.)

    Parameters
    ----------
    given : an event, several events, a release, or a ledger (all charges together).
    delta : the δ at which ε is marked; if None, that of the release or ledger, or 1e-6 if the event needs one.
    axes : matplotlib axes; new ones if None.

    Notes
    -----
    The picture costs nothing: events do not depend on the rows. For a ledger it is no account of adaptive charges:
    `Ledger.spent` adds these up.

    Examples
    --------
    >>> from discreet.events import Gaussian
    >>> privacy_loss(Gaussian(4.0)).get_xlabel()
    'privacy loss'
    """
    found = losses(given, delta)
    with use_quiet_style():
        axes = make_axes(axes)
        middle, width = (found.edges[1:] + found.edges[:-1]) / 2, np.diff(found.edges)
        rare = middle > found.epsilon
        axes.bar(middle[~rare], found.probabilities[~rare], width[~rare], color="0.8", edgecolor="0.45", linewidth=0.4)
        axes.bar(middle[rare], found.probabilities[rare], width[rare], color="0.15")
        axes.axvline(found.epsilon, color="0.0", linestyle="--", linewidth=1.0)
        axes.axvline(found.mean, color="0.4", linestyle=":", linewidth=1.0)
        top = float(found.probabilities.max())
        axes.set(xlabel="privacy loss", ylabel="probability", ylim=(0, 1.18 * top))
        above: dict[str, Any] = {"va": "top", "fontsize": 7.5, "bbox": {"facecolor": "white", "lw": 0, "pad": 0.5}}
        axes.text(found.epsilon, 1.17 * top, f"ε = {found.epsilon:.3g} ", ha="right", **above)
        axes.text(found.mean, 1.09 * top, f"mean {found.mean:.3g}", ha="center", **above)
        write_title(axes, describe_losses(found))
    return axes


def losses(given: Any, delta: float | None = None, bars: int = BARS) -> LossBars:
    """The distribution that `privacy_loss` draws.

    >>> from discreet.events import Laplace
    >>> found = losses(Laplace(2.0))
    >>> found.epsilon, found.beyond
    (0.5, 0.0)
    """
    event, own = _read_event(given)
    delta = own if delta is None else delta
    epsilon = accounting.epsilon(event, delta)
    if math.isinf(epsilon) and delta == 0:
        delta, epsilon = RARE, accounting.epsilon(event, RARE)
    if not math.isfinite(epsilon):
        raise ValueError(f"At δ = {delta:g} these events have no finite ε. Hint: a larger `delta`.")
    step = _choose_step(epsilon)
    found = compute_loss_law(event, step)
    edges = _place_edges(found, epsilon, step, bars)
    probabilities = np.histogram(found.losses, edges, weights=found.probabilities)[0]
    # losses on the grid are rounded up by at most a step, so only losses above ε + step count; at δ = 0 none does
    beyond = found.beyond(epsilon + step) if delta > 0 else 0.0
    return LossBars(edges, probabilities, epsilon, delta, beyond, found.mean, _describe_fact(given))


def measure_tail(event: Event, epsilon: float) -> float:
    """The probability that the loss of an event exceeds ε: 0 if it never does, and at least 1e-15 otherwise.

    >>> from discreet.events import Gaussian
    >>> round(measure_tail(Gaussian(4.0), accounting.epsilon(Gaussian(4.0), 1e-6)), 6)
    1.9e-05
    """
    if curves.pure(event) <= epsilon:
        return 0.0
    step = _choose_step(epsilon)
    return max(NOTHING, compute_loss_law(event, step).beyond(epsilon + step))


def describe_losses(found: LossBars) -> str:
    """The picture in words."""
    times = math.exp(min(found.epsilon, 700.0))
    said = f"The mean loss is {found.mean:.2g}. An answer multiplies the odds that {found.fact} by more than "
    said += f"e^ε = {times:.3g} "
    if found.beyond <= 0:
        return f"{said}never."
    return f"{said}with a probability of {found.beyond:.2g} (δ = {found.delta:.2g})."


def _choose_step(epsilon: float) -> float:
    return max(epsilon, 1e-9) / FINE


def _describe_fact(given: Any) -> str:
    budget = getattr(given, "budget", None)
    unit, replaced = getattr(budget, "unit", "row"), getattr(budget, "neighbours", "") == "replace-one"
    return f"a {unit} has one value and not another" if replaced else f"a {unit} is there"


def _place_edges(found: Any, epsilon: float, step: float, bars: int) -> Floats:
    """Edges of bars of whole steps, over the losses that matter, and beyond ε."""
    below = np.cumsum(found.probabilities)
    low = float(found.losses[np.searchsorted(below, 1e-5)])
    high = max(epsilon, float(found.losses[min(np.searchsorted(below, 1 - 1e-6), len(below) - 1)]))
    width = step * max(1, math.ceil((high - low) / step / bars))
    # half a step off the grid, so that no loss lies on an edge
    first = math.floor(low / width) * width - width - step / 2
    return np.asarray(first + width * np.arange(math.ceil((high - first) / width) + 2))


def _read_event(given: Any) -> tuple[Event, float]:
    if isinstance(given, Release):
        return given.event, given.delta
    if isinstance(given, Ledger):
        if not given.entries:
            raise ValueError("Nothing was charged to this ledger yet: it has no loss.")
        return Composed(tuple(entry.event for entry in given.entries)), given.budget.delta
    if isinstance(given, Event):
        return given, 0.0
    if isinstance(given, Iterable):
        return Composed(tuple(given)), 0.0
    raise TypeError(f"A privacy loss belongs to events, a release or a ledger. Got {type(given).__name__}.")
