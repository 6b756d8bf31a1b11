"""The report says what was done in plain words, shows no value, and needs no other file."""

import base64
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import (
    DeltaPresence,
    DistinctL,
    EntropyL,
    Hierarchy,
    KAnonymity,
    KMap,
    RecursiveCL,
    TCloseness,
    anonymise,
    minimal_generalisations,
    plots,
    words,
)
from discreet.errors import NotSupported

pytestmark = pytest.mark.catalogue("AN5")

TREES = {
    "age <years>": Hierarchy.intervals(0, 99, width=10),
    "town": Hierarchy.flat(["ZEBRATOWN", "YETIVILLE", "XANADU"]),
}


def rows(n=200):
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age <years>": rng.integers(0, 100, n),
            "town": rng.choice(["ZEBRATOWN", "YETIVILLE", "XANADU"], n),
            "illness": rng.choice(["QUINSY", "DROPSY", "AGUE"], n),
        }
    )


@pytest.fixture(scope="module")
def result():
    return anonymise(rows(), TREES, sensitive=["illness"], k=4, l=2)


@pytest.fixture(scope="module")
def page(result):
    return result.report(original=rows())


def test_figures_are_those_of_the_release(result, page):
    least = int(result.classes.min())
    assert f"shares its listed columns with at least {least - 1} others" in page.text
    assert "at least 3 others in the listed columns (k = 4)" in page.text
    assert "at least 2 different values of each sensitive column (l = 2)" in page.text
    alone = rows().group_by("age <years>", "town").len().filter(pl.col("len") == 1).height / 200
    assert f"rows that stand alone | {words.percent(alone)} | 0%" in page.text
    assert f"the person most at risk, known to be in the table | 100% | {words.percent(1 / least)}" in page.text
    assert f"{words.percent(result.losses['ncp'])} was lost" in page.text


def test_no_value_of_any_row_is_shown(page):
    for value in ("ZEBRATOWN", "YETIVILLE", "XANADU", "QUINSY", "DROPSY", "AGUE"):
        assert value not in page.html and value not in page.text


def test_the_page_needs_no_other_file(page):
    assert not re.findall(r"<script|<link|@import|url\(|https?://", page.html)
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page.html)
    assert page.html.count("src=") == 1 and b"<svg" in base64.b64decode(picture)
    assert "age &lt;years&gt;" in page.html and "<years>" not in page.html


def test_it_says_what_it_does_not_do(page):
    for text in (page.text, page.html):
        assert "the fourth does not live in Los Angeles" in text
        assert "Several releases" in text and "knows something else" in text
        assert (
            len(re.findall("differentially private", text)) == len(re.findall("not differentially private", text)) == 1
        )


def test_without_the_original_nothing_is_said_of_before(result):
    assert "rows that stand alone | - | 0%" in result.report().text


def test_an_unfinished_search_is_owned_up_to(result):
    assert "time limit" in replace(result, complete=False).report().text
    assert "time limit" not in result.report().text


def test_local_recoding_is_reported(result):
    found = anonymise(rows(), TREES, sensitive=["illness"], k=4, method="mondrian")
    assert "town | group by group" in found.report().text


def test_estimated_population(result):
    text = result.report(original=rows(), sampling_fraction=0.1).text
    assert "Ewens-Pitman" in text and "known to be in the population" in text


def test_saved_whole_or_not_at_all(page, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
        with pytest.raises(OSError, match="disk"):
            page.save(path)
    assert path.read_text() == "old"
    page.save(path)
    assert path.read_text(encoding="utf-8") == page.html == page._repr_html_()


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        (KAnonymity(5), "at least 4 others"),
        (KMap(5), "at least 5 people of the population"),
        (DeltaPresence(0.1, 0.5), "10% to 50%"),
        (DistinctL(3, "ill"), "at least 3 different values of ill"),
        (EntropyL(2.5), "2.5 equally common ones"),
        (RecursiveCL(4, 3), "rarer than 4 times"),
        (TCloseness(0.2), "within 0.2"),
    ],
    ids=str,
)
def test_every_criterion_in_words(criterion, said):
    assert said in words.criterion(criterion)


def test_plots_are_told_apart_without_colour(result):
    from matplotlib.figure import Figure

    curve = plots.risk_against_loss({k: anonymise(rows(), TREES, k=k) for k in (2, 5, 20)})
    assert isinstance(curve, Figure)
    first, second = curve.axes[0].lines
    assert (first.get_linestyle(), first.get_marker()) != (second.get_linestyle(), second.get_marker())
    assert max(first.get_ydata()) <= 0.5
    bars = plots.class_sizes(result, before=[1, 1, 2, 150], k=4)
    assert {c.patches[0].get_hatch() for c in bars.axes[0].containers} == {"////", None}
    heights = [[bar.get_height() for bar in c.patches] for c in bars.axes[0].containers]
    assert [sum(h) for h in heights] == pytest.approx([1, 1])
    assert heights[0][0] == pytest.approx(2 / 154)


def test_the_lattice_shows_its_frontier(result):
    lowest = minimal_generalisations(rows(), TREES, k=4)
    figure = plots.lattice(result.heights, lowest, result.levels)
    groups = {c.get_label(): len(c.get_offsets()) for c in figure.axes[0].collections}
    nodes = int(np.prod(list(result.heights.values())))
    good = sum(
        any(a >= node["age <years>"] and t >= node["town"] for node in lowest)
        for a in range(result.heights["age <years>"])
        for t in range(result.heights["town"])
    )
    assert groups["anonymous, no finer one is"] == len(lowest)
    assert groups.get("anonymous", 0) == good - len(lowest)
    assert groups["not anonymous"] == nodes - good and groups["chosen"] == 1
    with pytest.raises(NotSupported, match="picture"):
        plots.lattice({"a": 20, "b": 20}, [])


def test_what_was_asked_for_and_what_was_reached_are_told_apart(monkeypatch):
    """Groups of seven where k = 5: the sentence has both, and the line of the picture is what was asked for."""
    from discreet.anonymity import report

    lines = []
    drawn = plots.class_sizes
    monkeypatch.setattr(report, "class_sizes", lambda *given, k: lines.append(k) or drawn(*given, k=k))
    table = pl.DataFrame({"age": [20] * 7 + [60] * 8})
    trees = {"age": Hierarchy.intervals(0, 99, width=10)}
    text = anonymise(table, trees, k=5).report(original=table).text
    assert "with at least 6 others, where 4 were asked for (k = 5)." in text and lines == [5]
    exact = anonymise(table, trees, k=7).report(original=table).text
    assert "with at least 6 others, as was asked for (k = 7)." in exact and lines == [5, 7]
    legend = plots.class_sizes([7, 8], k=5).axes[0].get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["asked for: k = 5", "after"]
