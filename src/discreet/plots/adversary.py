"""What an adversary can learn: their belief after an answer, against their belief before (CO7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.budget import Budget
from discreet.ledger import Ledger
from discreet.ledger.currency import rounded_up
from discreet.ledger.stores import uncovered
from discreet.plots.loss import measure_tail
from discreet.plots.style import FAINT, choose_look, make_axes, use_quiet_style, write_title
from discreet.release import NOT_PRIVATE, Release

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The smallest and the largest possible belief after an answer, for each belief before."""

    prior: Floats
    least: Floats
    most: Floats


def beliefs(epsilon: float, prior: ArrayLike) -> Beliefs:
    """The possible beliefs by Bayes' rule: an ε-private answer multiplies odds by e^-ε to e^ε.

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
    """A picture of the belief that one person is in the data (or has a certain value), before and after an answer.

    Parameters
    ----------
    given : an ε, a `Budget`, a release, a fitted model, a ledger (its total so far); or a list of these.
    delta : the δ of an ε given as a number.
    axes : matplotlib axes; new ones if None.

    With δ > 0 the picture shows a method that gives the same answers except with probability δ (Dwork & Roth 2014,
    lemma 3.17). The answers themselves exceed the picture more often than that; for a release, a model or a ledger the
    title says how often.

    Notes
    -----
    The picture costs nothing: it depends on the privacy guarantee only.

    Examples
    --------
    >>> adversary(1.0).get_ylabel()
    'belief after the answer'
    """
    all_given = list(given) if isinstance(given, (list, tuple)) else [given]
    guarantees = [read_guarantee(one, delta) for one in all_given]
    if not guarantees:
        raise ValueError("There is no ε to draw.")
    prior = np.linspace(0, 1, 401)
    with use_quiet_style():
        axes = make_axes(axes, (4.4 if len(guarantees) == 1 else 5.8, 4.4))
        axes.plot([0, 1], [0, 1], **FAINT, zorder=0, label="nothing is learnt")
        for number, one in enumerate(guarantees):
            found, style = beliefs(one.epsilon, prior), {**choose_look(number), "marker": ""}
            axes.plot(prior, found.most, label=f"ε = {one.epsilon:.3g}", **style)
            axes.plot(prior, found.least, **style)
            if len(guarantees) == 1:
                axes.fill_between(prior, found.least, found.most, color="0.0", alpha=0.08, linewidth=0)
                axes.text(0.5, 0.52, "nothing is learnt", rotation=45, ha="center", va="center", fontsize=7.5)
        axes.set(xlabel="belief before", ylabel="belief after the answer", xlim=(0, 1), ylim=(0, 1))
        shares = [0, 0.25, 0.5, 0.75, 1]
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(shares, [f"{share:.0%}" for share in shares])
        axes.set_aspect("equal")
        if len(guarantees) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        worst = max(range(len(guarantees)), key=lambda place: guarantees[place].epsilon)
        said = describe_beliefs(guarantees[worst], bound_exceedance(all_given[worst]))
        write_title(axes, " ".join([said, *filter(None, map(describe_caveat, all_given))]), 54)
    return axes


def describe_beliefs(budget: Budget, often: float | None = None) -> str:
    """The picture in words; `often` is the probability that an answer exceeds it, if known.

    >>> print(describe_beliefs(Budget(1.0)))
    At ε = 1, an even chance that a given row is in the data becomes at most 73%, and a long shot of 1% at most 2.7%.
    """
    even, rare = (float(beliefs(budget.epsilon, share).most) for share in (0.5, 0.01))
    fact = "is in the data" if budget.neighbours == "add-remove" else "has one value and not another"
    said = (
        f"At ε = {budget.epsilon:.3g}, an even chance that a given {budget.unit} {fact} becomes at most "
        f"{_write_share(even)}, and a long shot of 1% at most {_write_share(rare)}"
    )
    if not budget.delta or often == 0:
        return f"{said}."
    if often is None:
        return f"{said}, by a method that gives the same answers but for a probability of δ = {budget.delta:.2g}."
    return f"{said}, but for a probability of {rounded_up(often)} (δ = {budget.delta:.2g})."


def bound_exceedance(given: Any) -> float | None:
    """The probability that an answer changes odds by more than e^ε, or an upper bound; None if only (ε, δ) is known.

    For a release it follows from its events, for a ledger from all its charges, also adaptive ones.
    """
    if isinstance(given, Ledger):
        return given.beyond(given.spent)
    release = given if isinstance(given, Release) else getattr(given, "release_", None)
    if not isinstance(release, Release):
        return None
    return measure_tail(release.event, release.epsilon)


def describe_caveat(given: Any) -> str:
    """What the privacy guarantee does not cover; empty if it covers everything."""
    if isinstance(given, Ledger):
        return uncovered(given.entries)
    release = given if isinstance(given, Release) else getattr(given, "release_", None)
    return NOT_PRIVATE if isinstance(release, Release) and release.seeded else ""


def read_guarantee(given: Any, delta: float = 0.0) -> Budget:
    """The guarantee of an ε, a budget, a release, a fitted model, or of all charges of a ledger."""
    if isinstance(given, Budget):
        return given
    if isinstance(given, Release):
        return given.budget
    if isinstance(given, Ledger):
        if not given.entries:
            raise ValueError("Nothing was charged to this ledger yet: there is nothing to learn.")
        if all(entry.outside for entry in given.entries):
            raise ValueError(f"There is no privacy guarantee to draw. {uncovered(given.entries)}")
        return replace(given.budget, epsilon=given.spent)
    if isinstance(getattr(given, "release_", None), Release):
        return read_guarantee(given.release_)
    return Budget(given, delta)


def _write_share(chance: float) -> str:
    return f"{100 * chance:.2g}%" if chance < 0.995 else f"{100 * chance:.4g}%"
