"""What an adversary can learn, drawn: what they may believe after an answer against what they did before (CO7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.budget import Budget
from discreet.ledger import Ledger
from discreet.ledger.currency import rounded_up
from discreet.ledger.stores import uncovered
from discreet.plots.loss import tail
from discreet.plots.style import FAINT, look, quiet, title
from discreet.plots.style import axes as new_axes
from discreet.release import NOT_PRIVATE, Release

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The least and the most that may be believed afterwards, for each belief before."""

    prior: Floats
    least: Floats
    most: Floats


def beliefs(epsilon: float, prior: ArrayLike) -> Beliefs:
    """By Bayes' rule: an answer of an ε-private method multiplies odds by e^-ε to e^ε, whatever else is known.

    >>> found = beliefs(1.0, [0.5])
    >>> found.least.round(3).tolist(), found.most.round(3).tolist()
    ([0.269], [0.731])
    """
    before = np.asarray(prior, np.float64)
    shrink = np.exp(-epsilon)
    most = before / (before + (1 - before) * shrink)
    least = before * shrink / (before * shrink + (1 - before))
    return Beliefs(before, least, most)


def adversary(given: Any, delta: float = 0.0, *, axes: Any = None) -> Any:
    """The belief that one person is in the data (or has a certain value), before and after an answer.

    Parameters
    ----------
    given : an ε, a `Budget`, a release, a fitted model, a ledger (what was spent so far); or a list of them.
    delta : of an ε given as a number.
    axes : where; new ones if None.

    With δ > 0 the picture is of a method that gives the same answers but for a probability of δ (Dwork & Roth 2014,
    lemma 3.17). The answers themselves lie outside of it more often than that: of a release, a model or a ledger the
    title says how often.

    Notes
    -----
    It costs nothing: it depends on the promise alone.

    Examples
    --------
    >>> adversary(1.0).get_ylabel()
    'belief after the answer'
    """
    all_given = list(given) if isinstance(given, (list, tuple)) else [given]
    promises = [promise(one, delta) for one in all_given]
    if not promises:
        raise ValueError("There is no ε to draw.")
    prior = np.linspace(0, 1, 401)
    with quiet():
        axes = new_axes(axes, (4.4 if len(promises) == 1 else 5.8, 4.4))
        axes.plot([0, 1], [0, 1], **FAINT, zorder=0, label="nothing is learnt")
        for number, one in enumerate(promises):
            found, style = beliefs(one.epsilon, prior), {**look(number), "marker": ""}
            axes.plot(prior, found.most, label=f"ε = {one.epsilon:.3g}", **style)
            axes.plot(prior, found.least, **style)
            if len(promises) == 1:
                axes.fill_between(prior, found.least, found.most, color="0.0", alpha=0.08, linewidth=0)
                axes.text(0.5, 0.52, "nothing is learnt", rotation=45, ha="center", va="center", fontsize=7.5)
        axes.set(xlabel="belief before", ylabel="belief after the answer", xlim=(0, 1), ylim=(0, 1))
        shares = [0, 0.25, 0.5, 0.75, 1]
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(shares, [f"{share:.0%}" for share in shares])
        axes.set_aspect("equal")
        if len(promises) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        worst = max(range(len(promises)), key=lambda place: promises[place].epsilon)
        said = reading(promises[worst], beyond(all_given[worst]))
        title(axes, " ".join([said, *filter(None, map(caveat, all_given))]), 54)
    return axes


def reading(budget: Budget, often: float | None = None) -> str:
    """What the picture says of a promise; `often` is how often an answer lies outside of it, where that is known.

    >>> print(reading(Budget(1.0)))
    At ε = 1, an even chance that a given row is in the data becomes at most 73%, and a long shot of 1% at most 2.7%.
    """
    even, rare = (float(beliefs(budget.epsilon, share).most) for share in (0.5, 0.01))
    fact = "is in the data" if budget.neighbours == "add-remove" else "has one value and not another"
    said = (
        f"At ε = {budget.epsilon:.3g}, an even chance that a given {budget.unit} {fact} becomes at most "
        f"{_share(even)}, and a long shot of 1% at most {_share(rare)}"
    )
    if not budget.delta or often == 0:
        return f"{said}."
    if often is None:
        return f"{said}, by a method that gives the same answers but for a probability of δ = {budget.delta:.2g}."
    return f"{said}, but for a probability of {rounded_up(often)} (δ = {budget.delta:.2g})."


def beyond(given: Any) -> float | None:
    """How often an answer moves odds by more than e^ε, or a bound on it; None where only (ε, δ) is known.

    Of a release it follows from its events, of a ledger from all that was charged, whatever was chosen in between.
    """
    if isinstance(given, Ledger):
        return given.beyond(given.spent)
    release = given if isinstance(given, Release) else getattr(given, "release_", None)
    if not isinstance(release, Release):
        return None
    return tail(release.event, release.epsilon)


def caveat(given: Any) -> str:
    """What no promise covers; empty if all is covered."""
    if isinstance(given, Ledger):
        return uncovered(given.entries)
    release = given if isinstance(given, Release) else getattr(given, "release_", None)
    return NOT_PRIVATE if isinstance(release, Release) and release.seeded else ""


def promise(given: Any, delta: float = 0.0) -> Budget:
    """The promise of an ε, a budget, a release, a fitted model, or all that a ledger was charged."""
    if isinstance(given, Budget):
        return given
    if isinstance(given, Release):
        return given.budget
    if isinstance(given, Ledger):
        if not given.entries:
            raise ValueError("Nothing was charged to this ledger yet: there is nothing to learn.")
        if all(entry.outside for entry in given.entries):
            raise ValueError(f"There is no promise to draw. {uncovered(given.entries)}")
        return replace(given.budget, epsilon=given.spent)
    if isinstance(getattr(given, "release_", None), Release):
        return promise(given.release_)
    return Budget.derive(given, delta)


def _share(chance: float) -> str:
    return f"{100 * chance:.2g}%" if chance < 0.995 else f"{100 * chance:.4g}%"
