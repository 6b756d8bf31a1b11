"""Whether what is written in a picture can be read: no text on another, none beyond the edge."""

from matplotlib.text import Text


def texts(figure):
    """All that is written in a figure, with the box it takes."""
    figure.draw_without_rendering()
    hidden = {id(label) for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for label in _outside(axis)}
    found = [one for one in figure.findobj(Text) if one.get_visible() and one.get_text().strip()]
    return [(one.get_text(), one.get_window_extent()) for one in found if id(one) not in hidden]


def _outside(axis):
    """Labels of marks that the axis does not reach, which are not drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    shown = axis.get_visible() and axis.axes.axison
    return [
        label for tick in ticks if not (shown and low <= tick.get_loc() <= high) for label in (tick.label1, tick.label2)
    ]


def overlaps(found):
    """Pairs of texts that lie on each other by more than a point or so."""
    return [
        (a, b)
        for i, (a, one) in enumerate(found)
        for b, other in found[i + 1 :]
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 2 and min(one.y1, other.y1) - max(one.y0, other.y0) > 2
    ]


def beyond(found, edge):
    """Texts that are cut off by the edge of a figure, its `bbox`."""
    return [
        text for text, box in found if box.x0 < -2 or box.y0 < -2 or box.x1 > edge.width + 2 or box.y1 > edge.height + 2
    ]
