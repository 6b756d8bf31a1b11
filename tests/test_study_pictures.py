"""The pictures of studies can be read at the width of a page; drawn in full from invented numbers, without a fit."""

from itertools import product

import numpy as np
import pytest

from discreet.studies import common, people, sy3, sy6, sy8, sy9

from .overlaps import beyond, overlaps, texts


def figure(draw, size=(common.WIDTH, 9.5)):
    return common.make_figure(common.Outcome([], draw, size, ""))


def third():
    """Scores of SY3; the fit to all rows without privacy has no error, as it is measured from itself."""
    curve = " ".join(f"{value:.4f}" for value in np.sqrt(sy3.GRID))
    rows = [
        {
            "method": m,
            "epsilon": e,
            "n": n,
            "repeat": r,
            "accuracy": 0.9 - 10 / n,
            "coefficient_error": 5 / n + 0.01 * r,
        }
        | {"roc": curve}
        for m, e, n, r in product((*sy3.METHODS, sy3.NOT_PRIVATE), sy3.EPSILONS, sy3.SIZES, (0, 1))
    ]
    for row in rows:
        if row["method"] == sy3.NOT_PRIVATE and row["n"] == sy3.SIZES[-1]:
            row["coefficient_error"] = 0.0
    return figure(lambda figure: sy3.draw_figure(figure, rows, sy3.SIZES), (common.WIDTH, 7.6))


def sixth():
    variants = [sy6.UNBOUNDED, *sy6.VARIANTS, sy6.TEST_CLIPPED, sy6.NOT_PRIVATE]
    errors = {
        (name, variant, e): 0.06 + (60.0 if variant == sy6.UNBOUNDED else 0.1) / e
        for name, variant, e in product(sy6.SETS, variants, sy6.EPSILONS)
    }
    return figure(
        lambda figure: sy6.draw_figure(figure, errors, list(sy6.SETS), sy6.EPSILONS),
        (common.WIDTH, 2.6 * len(sy6.QUESTIONS)),
    )


def eighth():
    sizes = tuple(235 * k for k in range(1, 51))
    methods = (sy8.NO_NOISE, sy8.AS_RUN, sy8.AS_STATED, sy8.RIGHT, *sy8.METHODS)
    rows = [
        sy8.make_row(method, measure, n, e, r, 0.02 + 0.1 / (1 + e))
        for method, measure, n, e, r in product(methods, ("error", "noise over weights"), sizes, sy8.EPSILONS, (0, 1))
    ]
    return figure(lambda figure: sy8.draw_figure(figure, rows, sizes, sy8.EPSILONS, sy8.FEWER))


def ninth():
    rows = [
        {**cell, "repeat": r, "error": 0.1 + 0.01 * r} for cell in sy9._list_cells(sy9.AXES, 11_750) for r in (0, 1)
    ]
    return figure(lambda figure: sy9.draw_figure(figure, rows, sy9.AXES))


def visits(shift=0.0):
    """Scores that differ between splits by much more than between ways."""
    ways = (*people.WAYS, people.PLAIN, people.PLAIN_PEOPLE)
    measures = [*people.ERRORS, *(name + by for name in people.SCORES for by in ("", people.BY_PATIENT))]
    return [
        {
            "way": way,
            "epsilon": e,
            "repeat": r,
            "measure": m,
            "value": 0.3 / (1 + e * (m in people.ERRORS)) + 0.1 * r + shift * (way in people.WAYS),
        }
        for way, e, r, m in product(ways, people.EPSILONS, range(3), measures)
    ]


def of_people():
    return figure(lambda figure: people.draw_figure(figure, visits()), (common.WIDTH, 5.6))


PICTURES = {"sy3": third, "sy6": sixth, "sy8": eighth, "sy9": ninth, "people": of_people}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "sy6" else ()) for n in PICTURES])
def test_pictures_can_be_read(name):
    """No two texts lie on each other, none is cut off, and none is smaller than a footnote on a page of that width."""
    drawn = PICTURES[name]()
    found = texts(drawn)
    assert overlaps(found) == [] and beyond(found, drawn.bbox) == []
    assert drawn.get_figwidth() <= 8 and len(found) > 30
    sizes = [text.get_fontsize() for text in drawn.findobj(lambda one: hasattr(one, "get_fontsize")) if text.get_text()]
    assert min(sizes) >= 6


def test_what_is_compared_with_itself_is_no_point():
    """Without privacy all rows have an error of 0, which a logarithmic axis cannot show."""
    drawn = third()
    for panel in drawn.axes[3:6]:
        assert panel.get_yscale() == "log" and all((line.get_ydata() > 0).all() for line in panel.lines)
    plain = [line.get_xdata()[-1] for line in drawn.axes[0].lines if line.get_label() == sy3.NOT_PRIVATE]
    assert plain == [sy3.SIZES[-1]]  # its accuracy stays


def test_scores_are_compared_on_the_same_patients():
    """What splits differ by, which is the same for all ways, is in no bar."""
    for measure in ("R2", "AUC" + people.BY_PATIENT):
        rows = people.subtract_plain(visits(shift=0.004), measure)
        found = common.average_by(rows, "value", "way", "epsilon")
        assert {way for way, _ in found} >= set(people.WAYS)
        for way, epsilon in product(people.WAYS, people.EPSILONS):
            assert found[way, epsilon] == pytest.approx((0.004, 0.0), abs=1e-12)


def test_marks_keep_the_ends():
    panel = common.make_figure(common.Outcome([], lambda figure: figure.subplots(), (4, 3), "")).axes[0]
    common.mark_axis(panel, sy9.AXES["n"], "images")
    assert [text.get_text() for text in panel.get_xticklabels()] == ["235", "1,175", "4,700", "11,750"]
    common.mark_axis(panel, (0.1, 1.0, 10.0), "ε")
    assert [text.get_text() for text in panel.get_xticklabels()] == ["0.1", "1", "10"]
