"""Pictures of the frontier: scores against ε or the number of rows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from discreet.plots.bands import BandLine, draw_lines
from discreet.plots.style import make_sheet, use_quiet_style, write_title

if TYPE_CHECKING:
    from discreet.evaluate.frontier import Frontier

DEPTH = 0.35  # how far the axis reaches below the floor, as a share of the distance from floor to ceiling
LEAST = 0.05  # the axis spans at least this share of the measure's size, so that tiny differences look tiny


def frontier(result: Frontier, against: str = "epsilon", *, at: float | None = None, axes: Any = None) -> Any:
    """Medians and bands over repeats, between the ceiling and the floor.

    Parameters
    ----------
    result : the result of `discreet.evaluate.frontier`.
    against : "epsilon" or "n".
    at : the number of rows in a picture against ε (all of them if None), or the ε in a picture against rows (the one
        nearest to 1 if None). With None and one estimator there is a line for each value.
    axes : matplotlib axes; new ones if None.

    Scores far below the floor are outside the picture, and the names of such lines say so. The best line at the largest
    ε, or with the most rows, is always in the picture, and so are ceiling and floor, even if the floor is higher.

    Notes
    -----
    None: it shows seeded fits on rows that are public or simulated.

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
    shown = make_lines(result, against, at)
    low, high = find_limits(shown, find_score_size(result))
    axes = draw_lines(shown, axes, "g" if against == "epsilon" else ",.0f", low)
    axes.set(xlabel="ε" if against == "epsilon" else "rows to learn from", ylabel=result.measure, ylim=(low, high))
    write_title(axes, _write_title(result, against, at))
    return axes


def make_lines(result: Frontier, against: str = "epsilon", at: float | None = None) -> list[BandLine]:
    """The lines of `frontier`: one per estimator or per value of the other quantity, the best ceiling, the floor."""
    if against not in ("epsilon", "n"):
        raise ValueError(f'`against` is "epsilon" or "n". Got {against!r}.')
    others = _list_others(result, against, at)
    found = [
        BandLine.from_rows(
            _write_label(name, against, other, len(others) > 1), against, _list_rows(result, name, against, other)
        )
        for name in result.estimators
        for other in others
    ]
    rows = max(others) if against == "epsilon" else result.ns[-1]
    best = max(dict.fromkeys(result.ceilings.values()), key=lambda name: result.at(name, None, int(rows)).median)
    for kind, name in (("ceiling", best), ("floor", result.floor)):
        found.append(
            BandLine.from_rows(f"{kind}: {name}", against, _list_bound(result, name, against, int(rows)), kind)
        )
    return found


def _list_others(result: Frontier, against: str, at: float | None) -> tuple[float, ...]:
    """The numbers of rows, or the values of ε, that have a line each."""
    from discreet.evaluate.frontier_summary import find_usual_epsilon

    known: tuple[float, ...] = result.ns if against == "epsilon" else result.epsilons
    if at is None:
        usually = result.ns[-1] if against == "epsilon" else find_usual_epsilon(result)
        return known if len(result.estimators) == 1 else (usually,)
    if at not in known:
        raise ValueError(f"`at` must be one that was tried: {', '.join(f'{k:g}' for k in known)}. Got {at!r}.")
    return (at,)


def _write_label(name: str, against: str, other: float, several: bool) -> str:
    if not several:
        return name
    return f"{other:,.0f} rows" if against == "epsilon" else f"ε = {other:g}"


def _write_title(result: Frontier, against: str, at: float | None) -> str:
    others = _list_others(result, against, at)
    if len(others) > 1:
        return result.estimators[0]
    return f"{others[0]:,.0f} rows to learn from" if against == "epsilon" else f"ε = {others[0]:g}"


def _list_rows(result: Frontier, name: str, against: str, other: float) -> list[dict[str, Any]]:
    if against == "n":
        return [{"n": n, **result.at(name, other, n)._asdict()} for n in result.ns]
    return [{"epsilon": epsilon, **result.at(name, epsilon, int(other))._asdict()} for epsilon in result.epsilons]


def _list_bound(result: Frontier, name: str, against: str, rows: int) -> list[dict[str, Any]]:
    if against == "n":
        return [{"n": n, **result.at(name, None, n)._asdict()} for n in result.ns]
    return [{"epsilon": epsilon, **result.at(name, None, rows)._asdict()} for epsilon in result.epsilons]


def find_score_size(result: Frontier) -> float:
    """The scale of a score: 1 for R², accuracy and the like, else the absolute score of the floor."""
    from discreet.evaluate.frontier import SIGNS

    if result.measure in SIGNS.values():
        return 1.0
    return abs(result.at(result.floor, None, result.ns[-1]).median)


def find_limits(shown: list[BandLine], size: float = 1.0) -> tuple[float, float]:
    """Ends of the axis of scores: from a little below the floor to a little above the ceiling.

    | case | the axis |
    | --- | --- |
    | all scores are nearly equal | spans at least a share `LEAST` of their size |
    | the ceiling is below the floor | starts below the ceiling |
    | the best line ends below both | starts below its end |
    | a line falls far below all of these | does not reach down to it |
    """
    private = [line for line in shown if line.kind == "private"]
    bounds = [line for line in shown if line.kind != "private"]
    top = max(float(line.high.max() if line.kind == "private" else line.middle.max()) for line in shown)
    ends = max(float(line.middle[-1]) for line in private)
    bottom = min(ends, *(float(line.middle.min()) for line in bounds))
    reach = max(top - bottom, LEAST * size)
    lowest = min(bottom, *(float(line.low.min()) for line in private))
    middle = (reach - (top - bottom)) / 2  # space that scores do not fill is divided between both ends
    return max(lowest - 0.1 * reach, bottom - DEPTH * reach) - middle, top + 0.12 * reach + middle


def draw_figure(result: Frontier) -> Any:
    """A figure with scores against ε and, if several were tried, against the number of rows, with the note below."""
    both = ["epsilon", "n"] if len(result.ns) > 1 else ["epsilon"]
    page, panels = make_sheet(len(both), (4.6, 3.4) if len(both) > 1 else (7.2, 3.6))
    with use_quiet_style():
        for panel, against in zip(panels, both, strict=True):
            frontier(result, against, axes=panel)
        page.supxlabel(textwrap.fill(result.note, 130), fontsize=7, color="0.25")
    return page
