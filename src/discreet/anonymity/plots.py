"""Pictures of anonymity. All are told apart by shape and line, not by colour alone."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import NotSupported

Ints = npt.NDArray[np.int64]
LARGEST = 250  # nodes of a lattice that can be read


def risk_against_loss(results: Mapping[Any, Any]) -> Any:
    """The chance of finding a person against the detail lost, for results by name: usually one for each k.

    >>> from discreet.anonymity import Hierarchy, anonymise
    >>> ages = {"age": Hierarchy.intervals(0, 99, width=10)}
    >>> rows = {"age": [20, 21, 24, 60, 66, 67]}
    >>> figure = risk_against_loss({f"k = {k}": anonymise(rows, ages, k=k) for k in (2, 3)})
    """
    figure, ax = _axes()
    order = sorted(results.items(), key=lambda one: one[1].losses["ncp"])
    loss = [result.losses["ncp"] for _, result in order]
    largest = [1 / min(result.classes, default=1) for _, result in order]
    mean = [len(result.classes) / max(result.classes.sum(), 1) for _, result in order]
    ax.plot(loss, largest, color="black", linestyle="-", marker="o", label="the person most at risk")
    ax.plot(loss, mean, color="tab:blue", linestyle="--", marker="s", markerfacecolor="white", label="on average")
    for (name, _), x, y in zip(order, loss, largest, strict=True):
        ax.annotate(str(name), (x, y), xytext=(4, 6), textcoords="offset points", fontsize=8)
    ax.set(xlabel="detail lost (0: none, 1: all)", ylabel="chance of a right guess", yscale="log")
    ax.margins(x=0.1, y=0.15)
    ax.legend(frameon=False)
    return figure


def class_sizes(after: Any, before: Any = None, *, k: int | None = None) -> Any:
    """How many rows are in groups of which size, after and, if given, before.

    Parameters
    ----------
    after, before : sizes, or anything with `classes` or `sizes`: a result of `anonymise`, or of `risk`.
    k : what was asked for: a line is drawn below which no group may lie.

    >>> figure = class_sizes([5, 5, 12], before=[1, 1, 2, 4, 14], k=5)
    """
    figure, ax = _axes()
    shown = [("after", _sizes(after), dict(facecolor="lightgrey", edgecolor="black"))]
    if before is not None:
        shown.insert(0, ("before", _sizes(before), dict(facecolor="white", edgecolor="black", hatch="////")))
    largest = max(int(sizes.max(initial=1)) for _, sizes, _ in shown)
    edges = _edges(largest)
    width = 0.8 / len(shown)
    places = np.arange(len(edges) - 1)
    for number, (name, sizes, style) in enumerate(shown):
        rows = np.histogram(sizes, edges, weights=sizes)[0] / max(sizes.sum(), 1)
        ax.bar(places + (number - (len(shown) - 1) / 2) * width, rows, width, label=name, **style)
    if k is not None:
        line = float(np.interp(k, edges, np.arange(len(edges)) - 0.5))
        ax.axvline(line, color="black", linestyle=":", label=f"asked for: k = {k}")
    ax.set_xticks(places, [_range(a, b - 1) for a, b in pairwise(edges)], rotation=30, fontsize=8)
    unit = "rows" if getattr(after, "people", None) is None else "people"
    ax.set(xlabel=f"{unit} in the group", ylabel=f"share of the {unit}")
    ax.legend(frameon=False)
    return figure


def lattice(heights: Mapping[str, int], minimal: Sequence[Mapping[str, int]], chosen: Any = None) -> Any:
    """All combinations of levels, with those that are anonymous and the frontier below which none is.

    Parameters
    ----------
    heights : the number of levels of each column.
    minimal : the minimal anonymous combinations, from `minimal_generalisations`; all above them are anonymous too.
    chosen : the levels of a result, to be marked.

    Raises NotSupported for more combinations than one can read.

    >>> lowest = [{"age": 1, "sex": 1}, {"age": 2, "sex": 0}]
    >>> figure = lattice({"age": 3, "sex": 2}, lowest, chosen={"age": 1, "sex": 1})
    """
    names = list(heights)
    if int(np.prod([heights[name] for name in names])) > LARGEST:
        raise NotSupported(f"Never possible: a picture of more than {LARGEST} combinations. Hint: fewer columns.")
    nodes = list(product(*(range(heights[name]) for name in names)))
    lowest = {tuple(node[name] for name in names) for node in minimal}
    place = _layout(nodes)
    figure, ax = _axes(width=min(12.0, 2.0 + 0.55 * max(_rows(nodes).values())), height=1.5 + 0.7 * len(_rows(nodes)))
    for low, high in _steps(nodes):
        ax.plot(*zip(place[low], place[high], strict=True), color="lightgrey", linewidth=0.8, zorder=1)
    fails = [n for n in nodes if not any(all(a >= b for a, b in zip(n, low, strict=True)) for low in lowest)]
    above = [n for n in nodes if n not in lowest and n not in fails]
    marked = [] if chosen is None else [tuple(chosen[name] for name in names)]
    kinds = (
        ("not anonymous", fails, dict(marker="x", color="black", s=30)),
        ("anonymous", above, dict(marker="o", facecolor="white", edgecolor="black", s=60)),
        ("anonymous, no finer one is", sorted(lowest), dict(marker="s", color="black", s=60)),
        ("chosen", marked, dict(marker="o", facecolor="none", edgecolor="black", s=260, linewidth=1.5)),
    )
    for label, group, style in kinds:
        if group:
            ax.scatter(*zip(*(place[node] for node in group), strict=True), label=label, zorder=2, **style)
    for node in nodes if len(nodes) <= 60 else [*lowest, *marked]:
        ax.annotate(
            " ".join(map(str, node)), place[node], (0, -16), textcoords="offset points", ha="center", fontsize=7
        )
    ax.spines[:].set_visible(False)
    ax.set_title("levels of " + ", ".join(names), fontsize=9)
    ax.set_yticks([])
    ax.set_xticks([])
    ax.set_ylabel("coarser →")
    ax.margins(0.08, 0.12)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, fontsize=8)
    return figure


def data_uri(figure: Any) -> str:
    """A figure as text to put into a page."""
    held = io.StringIO()
    figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + base64.b64encode(held.getvalue().encode()).decode()


def _axes(width: float = 5.5, height: float = 3.6) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Plots need matplotlib, which is not installed. Hint: pip install matplotlib.") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def _sizes(given: Any) -> Ints:
    if hasattr(given, "sizes"):
        given = given.sizes
    elif hasattr(given, "classes"):
        given = given.classes
    return np.asarray(given, dtype=np.int64)


def _edges(largest: int) -> Ints:
    """1, 2, 3, 5, 10, 20, 50, ...: few enough bars to read."""
    steps = [1, 2, 3, 5] + [a * 10**e for e in range(1, 19) for a in (1, 2, 5)]
    last = next(i for i, step in enumerate(steps) if step > largest)
    return np.array(steps[: last + 1], dtype=np.int64)


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def _rows(nodes: Sequence[tuple[int, ...]]) -> dict[int, int]:
    """How many nodes there are of each total level."""
    depth, count = np.unique([sum(node) for node in nodes], return_counts=True)
    return dict(zip(depth.tolist(), count.tolist(), strict=True))


def _layout(nodes: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[float, float]]:
    """Rows of equal total level, each centred."""
    wide, seen, place = _rows(nodes), dict.fromkeys(_rows(nodes), 0), {}
    for node in nodes:
        level = sum(node)
        place[node] = (seen[level] - (wide[level] - 1) / 2, float(level))
        seen[level] += 1
    return place


def _steps(nodes: Sequence[tuple[int, ...]]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    known = set(nodes)
    up = [(node, (*node[:c], node[c] + 1, *node[c + 1 :])) for node in nodes for c in range(len(node))]
    return [(low, high) for low, high in up if high in known]
