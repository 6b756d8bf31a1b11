"""The frontier, drawn: scores against ε or the number of rows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from discreet.plots.bands import Line, draw
from discreet.plots.style import quiet, sheet, title

if TYPE_CHECKING:
    from discreet.evaluate.frontier import Frontier

DEPTH = 0.35  # below the floor, as a share of what lies between it and the ceiling: how far one need see
LEAST = 0.05  # of the measure's size is on the axis at least: smaller differences are none


def frontier(result: Frontier, against: str = "epsilon", *, at: float | None = None, axes: Any = None) -> Any:
    """Medians and bands over repeats, between the ceiling and the floor.

    Parameters
    ----------
    result : of `discreet.evaluate.frontier`.
    against : "epsilon" or "n".
    at : the number of rows, against ε (all of them if None); or the ε, against rows (that nearest to 1 if None). With
        one estimator there is a line for each, if it is None.
    axes : where; new ones if None.

    What falls far below the floor leaves the picture, and names of lines that do so say it. The best line with the
    largest ε, or most rows, is always in it, and so are ceiling and floor, even where the floor is the higher one.

    Notes
    -----
    None: an evaluation of seeded fits, on rows that are public or simulated.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.evaluate import frontier as evaluate, simulate
    >>> from discreet.models import LinearRegression
    >>> data = simulate("regression", bounds=dc.Bounds(0, 1, target=(0, 10)), d=3, n=2000, expected=0.7)
    >>> result = evaluate(LinearRegression(bounds=data.bounds), *data, epsilons=[1, 10], repeats=3)
    >>> frontier(result, "n").get_ylabel()
    'R²'
    """
    shown = lines(result, against, at)
    low, high = limits(shown, size(result))
    axes = draw(shown, axes, "g" if against == "epsilon" else ",.0f", low)
    axes.set(xlabel="ε" if against == "epsilon" else "rows to learn from", ylabel=result.measure, ylim=(low, high))
    title(axes, _title(result, against, at))
    return axes


def lines(result: Frontier, against: str = "epsilon", at: float | None = None) -> list[Line]:
    """What `frontier` draws: a line per estimator, or per value of the other quantity, the best ceiling, the floor."""
    if against not in ("epsilon", "n"):
        raise ValueError(f'`against` is "epsilon" or "n". Got {against!r}.')
    others = _others(result, against, at)
    found = [
        Line.of(_label(name, against, other, len(others) > 1), against, _rows(result, name, against, other))
        for name in result.estimators
        for other in others
    ]
    rows = max(others) if against == "epsilon" else result.ns[-1]
    best = max(dict.fromkeys(result.ceilings.values()), key=lambda name: result.at(name, None, int(rows)).median)
    for kind, name in (("ceiling", best), ("floor", result.floor)):
        found.append(Line.of(f"{kind}: {name}", against, _bound(result, name, against, int(rows)), kind))
    return found


def _others(result: Frontier, against: str, at: float | None) -> tuple[float, ...]:
    """The numbers of rows, against ε, or the ε's, against rows, for each of which there is a line."""
    from discreet.evaluate.frontier_summary import usual

    known: tuple[float, ...] = result.ns if against == "epsilon" else result.epsilons
    if at is None:
        usually = result.ns[-1] if against == "epsilon" else usual(result)
        return known if len(result.estimators) == 1 else (usually,)
    if at not in known:
        raise ValueError(f"`at` must be one that was tried: {', '.join(f'{k:g}' for k in known)}. Got {at!r}.")
    return (at,)


def _label(name: str, against: str, other: float, several: bool) -> str:
    if not several:
        return name
    return f"{other:,.0f} rows" if against == "epsilon" else f"ε = {other:g}"


def _title(result: Frontier, against: str, at: float | None) -> str:
    others = _others(result, against, at)
    if len(others) > 1:
        return result.estimators[0]
    return f"{others[0]:,.0f} rows to learn from" if against == "epsilon" else f"ε = {others[0]:g}"


def _rows(result: Frontier, name: str, against: str, other: float) -> list[dict[str, Any]]:
    if against == "n":
        return [{"n": n, **result.at(name, other, n)._asdict()} for n in result.ns]
    return [{"epsilon": epsilon, **result.at(name, epsilon, int(other))._asdict()} for epsilon in result.epsilons]


def _bound(result: Frontier, name: str, against: str, rows: int) -> list[dict[str, Any]]:
    if against == "n":
        return [{"n": n, **result.at(name, None, n)._asdict()} for n in result.ns]
    return [{"epsilon": epsilon, **result.at(name, None, rows)._asdict()} for epsilon in result.epsilons]


def size(result: Frontier) -> float:
    """Of what size a score is: 1 for R², accuracy and the like, else what the floor scores."""
    from discreet.evaluate.frontier import SIGNS

    if result.measure in SIGNS.values():
        return 1.0
    return abs(result.at(result.floor, None, result.ns[-1]).median)


def limits(shown: list[Line], size: float = 1.0) -> tuple[float, float]:
    """Ends of the axis of scores: from a little below the floor to a little above the ceiling.

    | where | the axis |
    | --- | --- |
    | all scores are as good as equal | spans a share of their size, `LEAST`, at least |
    | the ceiling is below the floor | begins below the ceiling |
    | the best line ends below both | begins below its end |
    | a line falls far below all of these | leaves it out |
    """
    private = [line for line in shown if line.kind == "private"]
    bounds = [line for line in shown if line.kind != "private"]
    top = max(float(line.high.max() if line.kind == "private" else line.middle.max()) for line in shown)
    ends = max(float(line.middle[-1]) for line in private)
    bottom = min(ends, *(float(line.middle.min()) for line in bounds))
    reach = max(top - bottom, LEAST * size)
    lowest = min(bottom, *(float(line.low.min()) for line in private))
    middle = (reach - (top - bottom)) / 2  # what scores do not fill is shared by both sides
    return max(lowest - 0.1 * reach, bottom - DEPTH * reach) - middle, top + 0.12 * reach + middle


def figure(result: Frontier) -> Any:
    """Against ε and, where several were tried, against the number of rows; the note below."""
    both = ["epsilon", "n"] if len(result.ns) > 1 else ["epsilon"]
    page, panels = sheet(len(both), (4.6, 3.4) if len(both) > 1 else (7.2, 3.6))
    with quiet():
        for panel, against in zip(panels, both, strict=True):
            frontier(result, against, axes=panel)
        page.supxlabel(textwrap.fill(result.note, 130), fontsize=7, color="0.25")
    return page
