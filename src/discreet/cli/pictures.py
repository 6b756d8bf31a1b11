"""Pictures of a description: histograms with means and quartiles, as a PNG or in a page of HTML."""

from __future__ import annotations

import base64
import html
import io
import textwrap
from typing import TYPE_CHECKING, Any

from discreet.cli.summary import told

if TYPE_CHECKING:
    from discreet.cli.summary import Summary
    from discreet.stats.description import Categories, Description, Numbers

ACROSS = 3
CAPTION = "Line: the mean. Marks on the axis: quartiles. Shades and whiskers: 95% intervals; everything has noise."
SEEDED = "NOT PRIVATE: a seed was given"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; margin: 1rem 0 }} th, td {{ padding: .2rem .8rem; text-align: right }}
th:first-child, td:first-child {{ text-align: left }} tr + tr {{ border-top: 1px solid #ddd }} img {{ width: 100% }}
small {{ color: #555 }}
pre {{ background: #f5f5f5; padding: 1rem; overflow: auto }}
</style></head><body><h1>{title}</h1><p>{count}</p>
<img alt="Histograms of each column, with means and quartiles" src="data:image/png;base64,{image}">
{tables}<h2>Receipt</h2><pre>{receipt}</pre></body></html>
"""


def png(found: Description) -> bytes:
    """The picture, as bytes of a PNG file."""
    stream = io.BytesIO()
    figure(found).savefig(stream, format="png", dpi=130)
    return stream.getvalue()


def figure(found: Description) -> Any:
    """One histogram per column: noisy counts, the mean with its interval, quartiles as ticks."""
    from matplotlib.figure import Figure

    from discreet.plots.style import use_quiet_style
    from discreet.stats.description import Numbers

    down = -(-len(found.columns) // ACROSS)
    with use_quiet_style():
        sheet = Figure(figsize=(3.4 * min(ACROSS, len(found.columns)), 2.6 * down), layout="constrained")
        for place, one in enumerate(found.columns, 1):
            axes = sheet.add_subplot(down, min(ACROSS, len(found.columns)), place)
            _numbers(axes, one) if isinstance(one, Numbers) else _categories(axes, one)
            axes.set_title(one.name.replace("$", r"\$"))
            axes.set_ylim(bottom=0)
        caption = textwrap.fill(CAPTION, 60 * min(ACROSS, len(found.columns)))
        sheet.supxlabel(caption, fontsize=7, color="0.3")
        if not found.release.private:
            sheet.suptitle(SEEDED, fontsize=8)
    return sheet


def _numbers(axes: Any, one: Numbers) -> None:
    edges, counts = one.merge_cells()
    axes.stairs(counts.clip(min=0), edges, fill=True, color="0.8")
    reach = 2 * one.std * (len(one.counts) / len(counts)) ** 0.5
    middle = (edges[1:] + edges[:-1]) / 2
    axes.errorbar(middle, counts.clip(min=0), reach, fmt="none", ecolor="0.6", elinewidth=0.7)
    axes.axvspan(*one.mean_interval, color="0.4", alpha=0.4, linewidth=0)
    axes.axvline(one.mean, color="0.0", linewidth=1.2)
    for value, ends in zip(one.quartiles, one.quartile_intervals, strict=True):
        axes.plot([*ends], [0, 0], color="0.0", linewidth=4, alpha=0.4, clip_on=False, solid_capstyle="butt")
        axes.plot([value], [0], marker="|", markersize=10, color="0.0", clip_on=False)


def _categories(axes: Any, one: Categories) -> None:
    places = range(len(one.values))
    middle = [max(float(count), 0.0) for count in one.counts]
    low, high = (([abs(float(end) - mid) for end, mid in zip(ends, middle, strict=True)]) for ends in one.interval)
    axes.bar(places, middle, color="0.8", yerr=(low, high), error_kw={"ecolor": "0.2", "capsize": 3})
    axes.set_xticks(places, [str(value)[:20].replace("$", r"\$") for value in one.values], rotation=30, ha="right")


def page(summary: Summary, name: str) -> str:
    """The picture, the figures and the receipt as one page that needs no other file."""
    return PAGE.format(
        title=html.escape(f"{name}, described privately"),
        count=html.escape(summary.sentence),
        image=base64.b64encode(png(summary.found)).decode("ascii"),
        tables=_tables(summary),
        receipt=html.escape(str(summary.found.release)),
    )


def _tables(summary: Summary) -> str:
    numbers = [["number", "mean", "lower quartile", "median", "upper quartile"]]
    counts = [["category", "value", summary.counted, "95% interval"]]
    numbers += [[one.name, *("\n".join(pair) for pair in told(one))] for one in summary.numbers]
    counts += [[one.name, *row] for one in summary.categories for row in summary.cells(one)]
    below = "<p>Below each mean and quartile: its 95% interval.</p>"
    return (_table(numbers) + below) * bool(summary.numbers) + _table(counts) * bool(summary.categories)


def _table(rows: list[list[str]]) -> str:
    first, *rest = rows
    lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in first)]
    lines += ["".join(f"<td>{_cell(cell)}</td>" for cell in row) for row in rest]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(text: str) -> str:
    """A value, and below it, smaller, its interval."""
    value, line, interval = text.partition("\n")
    return html.escape(value) + (f"<br><small>{html.escape(interval)}</small>" if line else "")
