"""A picture of a ledger: the ε spent over time, against the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from discreet import accounting
from discreet.ledger import Ledger
from discreet.ledger.stores import uncovered
from discreet.plots.style import make_axes, use_quiet_style, write_title

FEW = 12  # the most charges whose names can be read below the axis
LONG = timedelta(hours=1)  # for a shorter span the axis shows the order of charges instead of times


@dataclass(frozen=True)
class Account:
    """The ε spent after each charge; `outside` says why a charge has no privacy guarantee, else it is empty."""

    names: tuple[str, ...]
    times: tuple[datetime, ...]
    spent: tuple[float, ...]
    budget: float
    delta: float
    outside: tuple[str, ...]


def account(ledger: Ledger) -> Account:
    """The ε that the charges up to each one guarantee together, at the budget's δ.

    >>> from discreet import Budget
    >>> from discreet.events import Laplace
    >>> book = Ledger(Budget(1.0))
    >>> _ = book.charge("count", Laplace(4.0)), book.charge("mean", Laplace(2.0))
    >>> account(book).names, account(book).spent
    (('count', 'mean'), (0.25, 0.75))
    """
    entries, currency = ledger.entries, ledger.currency
    costs = [currency.cost(entry.event) for entry in entries]
    spent = [currency.epsilon(math.fsum(costs[: i + 1])) for i in range(len(costs))]
    if spent:  # the first charge alone is accounted for exactly, as in Ledger.spent
        spent[0] = min(spent[0], accounting.epsilon(entries[0].event, ledger.budget.delta))
    times = tuple(datetime.fromisoformat(entry.time) for entry in entries)
    names = tuple(entry.name for entry in entries)
    outside = tuple(entry.outside for entry in entries)
    return Account(names, times, tuple(spent), ledger.budget.epsilon, ledger.budget.delta, outside)


def ledger(book: Ledger, *, against: str | None = None, axes: Any = None) -> Any:
    """A picture of the ε spent after each charge; charges without a privacy guarantee are crossed out and named.

    Parameters
    ----------
    book : the ledger.
    against : "time" or "charge"; if None, times if charges span more than an hour.
    axes : matplotlib axes; new ones if None.

    Notes
    -----
    The picture costs nothing: charges do not depend on the rows. It shows names of charges, as `Ledger.explain` does.

    Examples
    --------
    >>> from discreet import Budget
    >>> from discreet.events import Gaussian
    >>> book = Ledger(Budget(1.0, 1e-6))
    >>> _ = book.charge("mean", Gaussian(10.0)), book.charge("model", Gaussian(8.0))
    >>> ledger(book).get_ylabel()
    'ε spent, at δ = 1e-06'
    """
    if against not in (None, "time", "charge"):
        raise ValueError(f'`against` is "time", "charge" or None. Got {against!r}.')
    found = account(book)
    against = against or ("time" if found.times and found.times[-1] - found.times[0] > LONG else "charge")
    with use_quiet_style():
        axes = make_axes(axes)
        _draw_stairs(axes, found, against)
        axes.axhline(found.budget, color="0.4", linewidth=1.0, linestyle="--")
        axes.annotate(
            f"budget: ε = {found.budget:g}",
            (0, found.budget),
            (3, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=7.5,
            color="0.25",
        )
        axes.set(ylim=(0, 1.12 * max(found.budget, *found.spent, 0.0)), xlabel="" if against == "time" else "charge")
        axes.set_ylabel("ε spent" + (f", at δ = {found.delta:g}" if found.delta else ""))
        if caveat := uncovered(book.entries):
            write_title(axes, caveat)
    return axes


def _draw_stairs(axes: Any, found: Account, against: str) -> None:
    x: list[Any] = list(found.times) if against == "time" else list(range(1, len(found.spent) + 1))
    if not x:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "nothing charged yet", transform=axes.transAxes, ha="center", color="0.35")
        return
    axes.step(x, found.spent, where="post", color="0.0", marker="o")
    crossed = [place for place, why in enumerate(found.outside) if why]
    if crossed:
        heights = [found.spent[place] for place in crossed]
        axes.plot([x[place] for place in crossed], heights, "x", color="0.0", markersize=11, label="no guarantee")
    axes.fill_between(x, found.spent, step="post", color="0.0", alpha=0.08, linewidth=0)
    if against == "time":
        import matplotlib.dates as dates

        locator = dates.AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif len(x) <= FEW:
        names = [name if len(name) <= 24 else name[:23] + "…" for name in found.names]
        axes.set_xticks(x, names, rotation=30, ha="right", fontsize=7.5)
        axes.margins(x=0.08)
