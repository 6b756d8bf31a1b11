"""A description of a frontier in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.evaluate.frontier import Frontier

NEARLY = 0.9  # the share of the ceiling's gain over the floor that counts as nearly all of it


def write_sentence(result: Frontier) -> str:
    """What each model keeps at a usual ε, the ε from which it keeps nearly all, and the gain from more rows."""
    top = max(result.at(name).median for name in result.ceilings.values())
    bottom = result.at(result.floor).median
    if not top > bottom:
        return (
            f"With {result.ns[-1]:,} rows even the ceiling is no better than {_name_floor(result)} "
            f"({result.measure} {top:.2f}): there is nothing here that privacy could cost."
        )
    best = _find_best(result)
    return " ".join(
        filter(None, (_describe_usual(result, best), _describe_range(result, best), _describe_rows(result, best)))
    )


def _find_best(result: Frontier) -> str:
    """The model that keeps nearly all from the smallest ε on; of several, the one that keeps most on average."""
    enough = result.needed(NEARLY)

    def rank_model(name: str) -> tuple[float, float]:
        # shares below 0 count as 0: how far a model falls below the floor says little about its other scores
        kept = np.clip([result.kept(name, epsilon) for epsilon in result.epsilons], 0.0, None)
        least = enough[name]
        return math.inf if least is None else least, -float(np.nanmean(kept))

    return min(result.estimators, key=rank_model)


def find_usual_epsilon(result: Frontier) -> float:
    """The ε that is nearest to one among those that were tried."""
    return min(result.epsilons, key=lambda epsilon: (abs(math.log(epsilon)), epsilon))


def _describe_usual(result: Frontier, best: str) -> str:
    epsilon = find_usual_epsilon(result)
    order = sorted(result.estimators, key=lambda name: -result.kept(name, epsilon))
    top, mine = result.at(result.ceilings[best]).median, result.at(best, epsilon).median
    start = f"With {result.ns[-1]:,} rows, at ε = {epsilon:g} {best} {_describe_kept(result, best, epsilon)}"
    if result.measure == "R²":
        start += f" of the ceiling's R² ({mine:.2f} of {top:.2f})"
    else:
        bottom = result.at(result.floor).median
        start += (
            f" of what the ceiling gains over {_name_floor(result)} ({result.measure} {mine:.2f}, between {bottom:.2f} "
            f"and {top:.2f})"
        )
    return (
        "; ".join([start, *(f"{name} {_describe_kept(result, name, epsilon)}" for name in order if name != best)]) + "."
    )


def _describe_kept(result: Frontier, name: str, epsilon: float) -> str:
    return f"keeps {_write_share(result.kept(name, epsilon))}"


def _write_share(kept: float) -> str:
    if kept < 0.005:
        return "nothing"
    return f"{kept:.0%}" if kept < 0.995 else "over 99%"


def _describe_range(result: Frontier, best: str) -> str:
    enough, tried = result.needed(NEARLY)[best], result.epsilons
    if enough is None:
        return f"Even at ε = {tried[-1]:g}, the most that was tried, it {_describe_kept(result, best, tried[-1])}."
    if enough == tried[0]:
        return f"Already at ε = {enough:g}, the least that was tried, it {_describe_kept(result, best, enough)}."
    said = f"From ε = {enough:g} on it keeps {NEARLY:.0%} or more"
    nothing = [epsilon for epsilon in tried if epsilon < enough and result.kept(best, epsilon) < 0.005]
    if nothing:
        return f"{said}; at ε = {nothing[-1]:g}{' and below' if nothing[-1] > tried[0] else ''} no more than a guess."
    return f"{said}; below it loses more, and at ε = {tried[0]:g} it {_describe_kept(result, best, tried[0])}."


def _describe_rows(result: Frontier, best: str) -> str:
    """What more rows would bring, at an ε that is too small.

    The noise in an average of n rows shrinks with n·ε, so more rows are like a larger ε.
    """
    short = [epsilon for epsilon in result.epsilons if not result.kept(best, epsilon) >= NEARLY]
    epsilon = short[-1] if short else result.epsilons[0]
    last, now = result.ns[-1], result.at(best, epsilon).median
    parts = []
    if 2 * epsilon <= result.epsilons[-1]:
        scores = [result.at(best, other).median for other in result.epsilons]
        gain = float(np.interp(math.log(2 * epsilon), np.log(result.epsilons), scores)) - now
        parts.append(
            f"twice the rows would be worth about what twice the ε is, {_write_amount(gain)} of {result.measure}"
        )
    if len(result.ns) > 1:
        fewer = result.ns[-2]
        loss = now - result.at(best, epsilon, fewer).median
        parts.append(f"{fewer:,} rows instead of {last:,} cost {_write_amount(loss)}")
    return f"At ε = {epsilon:g} {'; '.join(parts)}." if parts else ""


def _write_amount(change: float) -> str:
    return f"{change:.2g}" if change >= 0.001 else "less than 0.001"


def _name_floor(result: Frontier) -> str:
    return f"the {result.floor}"
