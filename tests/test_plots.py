"""Pictures, by what is in them: the numbers drawn, the words beside them, and that they cost nothing."""

import dataclasses
import math
import sys
from datetime import UTC, datetime, timedelta

import matplotlib
import matplotlib.pyplot
import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from discreet import Bounds, Budget, Ledger, NotPrivateWarning, accounting, evaluate, plots
from discreet.evaluate import Frontier
from discreet.evaluate.frontier import Run
from discreet.events import Approximate, Composed, Gaussian, Laplace, Pure, Repeated, Sampled
from discreet.models import BayesianLinearRegression, LinearRegression, LogisticRegression, Ridge
from discreet.plots import adversary, coefficients, ledger, loss, style
from discreet.plots.adversary import beliefs, bound_exceedance, describe_beliefs, read_guarantee
from discreet.plots.coefficients import make_bars
from discreet.plots.frontier import find_limits, find_score_size, make_lines
from discreet.plots.law import compute_loss_law
from discreet.plots.ledger import account
from discreet.plots.loss import describe_losses, losses
from discreet.plots.posterior import estimate_densities
from discreet.release import Release

from .overlaps import beyond as cut_off
from .overlaps import overlaps, texts

matplotlib.use("Agg")


def made(*names, ns=(100, 400)):
    """Scores that are known: 0.1·log10(ε) + n/1000 + 0.01·repeat, below 0.9 and above 0."""
    runs = [
        Run(name, "private", e, n, r, 0.1 * math.log10(e) + n / 1000 + 0.01 * r - 0.05 * i)
        for i, name in enumerate(names)
        for e in (0.1, 1.0, 10.0)
        for n in ns
        for r in range(3)
    ]
    runs += [Run("top", "ceiling", None, n, r, 0.9) for n in ns for r in range(3)]
    runs += [Run("mean", "floor", None, n, r, 0.0) for n in ns for r in range(3)]
    return Frontier(tuple(runs), dict.fromkeys(names, "top"), "R²", quantiles=(0.0, 1.0))


def people(n=3000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X @ [1.0, -0.5] + rng.normal(0, 0.2, n)


BOUNDS = Bounds({"age": (-1, 1), "bmi": (-1, 1)}, target=(-2, 2))


@pytest.fixture(scope="module")
def linear():
    X, y = people()
    return LinearRegression(1.0, bounds=BOUNDS).fit(pl.DataFrame(X, ["age", "bmi"]), y)


@pytest.fixture(scope="module")
def bayesian():
    X, y = people()
    with pytest.warns(NotPrivateWarning):
        return BayesianLinearRegression(0.5, bounds=BOUNDS, draws=400, chains=4, random_state=0).fit(X, y)


# the frontier -----------------------------------------------------------------------------------------


def test_frontier_against_epsilon_has_a_line_per_model():
    first, second, top, bottom = make_lines(made("a", "b"))
    assert [line.label for line in (first, second, top, bottom)] == ["a", "b", "ceiling: top", "floor: mean"]
    assert first.x.tolist() == [0.1, 1.0, 10.0]
    assert first.middle == pytest.approx([0.31, 0.41, 0.51]) and second.middle == pytest.approx([0.26, 0.36, 0.46])
    assert first.low == pytest.approx([0.3, 0.4, 0.5]) and first.high == pytest.approx([0.32, 0.42, 0.52])
    assert top.middle.tolist() == [0.9] * 3 and bottom.middle.tolist() == [0.0] * 3


def test_frontier_of_one_model_has_a_line_per_other_value():
    assert [line.label for line in make_lines(made("a"))[:-2]] == ["100 rows", "400 rows"]
    against = make_lines(made("a"), "n")
    assert [line.label for line in against[:-2]] == ["ε = 0.1", "ε = 1", "ε = 10"]
    assert against[1].x.tolist() == [100, 400] and against[1].middle == pytest.approx([0.11, 0.41])
    fixed = make_lines(made("a", "b"), "n", at=10.0)
    assert fixed[0].middle == pytest.approx([0.21, 0.51]) and len(fixed) == 4
    for bad in ({"against": "time"}, {"against": "n", "at": 5.0}, {"at": 7}):
        with pytest.raises(ValueError, match="`a"):
            make_lines(made("a"), **bad)


def test_frontier_is_drawn_as_it_is():
    result = made("a", "b")
    ax = result.plot()
    assert [tuple(line.get_ydata()) for line in ax.lines] == [tuple(line.middle) for line in make_lines(result)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ceiling: top", "a", "b", "floor: mean"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.1", "1", "10"] and ax.get_xscale() == "log"
    assert ax.get_title(loc="left") == "400 rows to learn from" and ax.get_ylabel() == "R²"
    assert plots.frontier(result, "n", axes=ax) is ax
    figure = result.figure()
    assert len(figure.axes) == 2 and "NOT private" in " ".join(figure.get_supxlabel().split())
    assert len(made("a", ns=(9,)).figure().axes) == 1


def test_what_falls_far_below_the_floor_leaves_the_picture():
    result = made("a")
    deep = dataclasses.replace(result, runs=(*result.runs, Run("a", "private", 0.01, 400, 0, -500.0)))
    deep = dataclasses.replace(deep, runs=(*deep.runs, Run("a", "private", 0.01, 100, 0, -500.0)))
    low, high = find_limits(make_lines(deep))
    assert -0.5 < low < 0 and 0.9 < high < 1.1 and make_lines(deep)[1].middle[0] == -500


def level(*scores, floor=0.0, ceiling=-0.004, label="top"):
    """Scores of a model at three ε, each with three repeats, where the ceiling is no better than the floor."""
    runs = [
        Run("a", "private", e, n, r, score - 0.001 * r)
        for e, score in zip((0.1, 1.0, 10.0), scores, strict=True)
        for n in (100, 400)
        for r in range(3)
    ]
    ends = [(label, "ceiling", ceiling), ("mean", "floor", floor)]
    runs += [Run(name, kind, None, n, r, score) for name, kind, score in ends for n in (100, 400) for r in range(3)]
    return Frontier(tuple(runs), {"a": label}, "R²", quantiles=(0.0, 1.0))


@pytest.mark.parametrize("scores", [(-18.0, -0.3, -0.006), (0.0, 0.0, 0.0), (-18.0, -6.0, -2.0), (-0.5, -0.5, 0.001)])
def test_where_there_is_nothing_to_learn_all_that_matters_is_in_the_picture(scores):
    """Ceiling, floor and the best line's end; and differences below a twentieth are not blown up."""
    for against, ceiling in (("epsilon", -0.004), ("n", -0.004), ("epsilon", -0.5), ("n", -0.5)):
        shown = make_lines(level(*scores, ceiling=ceiling), against)
        low, high = find_limits(shown)
        assert high - low >= 0.05
        ends = max(line.middle[-1] for line in shown if line.kind == "private")
        assert all(low < value < high for value in (ceiling, 0.0, ends))
    assert low > -4  # what is far worse leaves it


def test_the_axis_is_of_the_size_of_the_score():
    """A score that is no share, such as a squared error: a twentieth of what the floor scores."""
    result = dataclasses.replace(level(-2e6, -1e6, -1e6, floor=-1e6, ceiling=-1e6), measure="neg_mean_squared_error")
    assert find_score_size(result) == 1e6 and find_score_size(made("a")) == 1.0
    low, high = result.plot().get_ylim()
    assert 0.05e6 <= high - low < 0.1e6 and low < -1e6 < high


@pytest.mark.parametrize("scores", [(-18.0, -0.3, -0.006), (0.0, 0.0, 0.0), (0.1, 0.3, 0.5)])
def test_names_do_not_lie_on_each_other(scores):
    """Also where ceiling, floor and the private line are one, or the ceiling is below the floor."""
    for ceiling in (-0.02, 0.0, 0.6):
        figure = level(*scores, ceiling=ceiling, label="scikit-learn LogisticRegression").figure()
        found = texts(figure)
        assert overlaps(found) == [] and cut_off(found, figure.bbox) == []
    alone = made("a model", ns=(9,)).figure()
    alone.suptitle("NOT PRIVATE: an evaluation on private rows that nobody paid for. Do not publish it.")
    assert len(alone.axes) == 1 and cut_off(texts(alone), alone.bbox) == []


def test_lines_below_the_picture_say_so():
    names = [text.get_text() for text in level(-18.0, -0.3, -0.006).plot("n").get_legend().get_texts()]
    assert [name.replace("\n", " ") for name in names] == [
        "ceiling: top",
        "ε = 0.1 (below the picture)",
        "ε = 1 (below the picture)",
        "ε = 10",
        "floor: mean",
    ]


# the ledger -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget(2.0), Budget(2.0, 1e-6)], ids=str)
def test_the_ledger_is_what_was_spent_after_each_charge(budget):
    book, spent = Ledger(budget), []
    for name, scale in (("count", 8.0), ("mean", 5.0), ("model", 6.0)):
        book.charge(name, Gaussian(3 * scale) if budget.delta else Laplace(scale))
        spent.append(book.spent)
    found = account(book)
    assert found.names == ("count", "mean", "model") and found.spent == pytest.approx(spent, rel=1e-12)
    ax = plots.ledger(book)
    assert ax.lines[0].get_ydata() == pytest.approx(spent) and ax.lines[1].get_ydata()[0] == 2.0
    assert [text.get_text() for text in ax.get_xticklabels()] == ["count", "mean", "model"]
    assert len(book.entries) == 3  # a picture charges nothing


def test_the_ledger_over_days():
    book = Ledger(Budget(1.0))
    for i in range(15):
        book.charge(f"question {i}", Laplace(50.0))
    assert plots.ledger(book).get_xlabel() == "charge"
    first = datetime(2026, 1, 1, tzinfo=UTC)
    entries = [dataclasses.replace(e, time=(first + timedelta(days=i)).isoformat()) for i, e in enumerate(book.entries)]
    book._store._entries = tuple(entries)
    ax = plots.ledger(book)
    assert ax.get_xlabel() == "" and account(book).times[-1] - account(book).times[0] == timedelta(days=14)
    assert np.ptp(ax.lines[0].get_xdata(orig=False)) == 14.0
    with pytest.raises(ValueError, match="`against`"):
        plots.ledger(book, against="size")


def test_an_empty_ledger():
    assert account(Ledger(Budget(1.0))).spent == ()
    assert plots.ledger(Ledger(Budget(1.0))).texts[0].get_text() == "nothing charged yet"


# models -----------------------------------------------------------------------------------------------


def test_coefficients_with_their_intervals(linear):
    found = make_bars(linear, 0.9)
    assert found.names == ("age", "bmi") and found.middle.tolist() == linear.coef_.tolist()
    assert np.array_equal(np.column_stack([found.low, found.high]), linear.interval(0.9)[1:])
    whole = make_bars(linear, 0.9, "range")
    assert whole.middle == pytest.approx(linear.coef_ * (linear.bounds_.upper - linear.bounds_.lower))
    ax = plots.coefficients({"one": linear, "two": linear}, exact=[1.0, -0.5])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two", "without privacy"]
    assert ax.lines[0].get_xdata().tolist() == linear.coef_.tolist() and ax.lines[2].get_xdata().tolist() == [1.0, -0.5]


def test_coefficients_of_other_models(bayesian):
    assert np.array_equal(make_bars(bayesian, 0.8).low, bayesian.coef_interval(0.8)[:, 0])
    X, y = people(500)
    classifier = LogisticRegression(5.0, bounds=Bounds(-1, 1, classes=[False, True])).fit(X, y > 0)
    found = make_bars(classifier)
    assert found.middle.shape == (2,) and np.isnan(found.low).all() and plots.coefficients(classifier) is not None
    three = LogisticRegression(5.0, bounds=Bounds(-1, 1, classes=[0, 1, 2])).fit(X, np.digitize(y, [-0.5, 0.5]))
    with pytest.raises(ValueError, match="several classes"):
        make_bars(three)
    with pytest.raises(ValueError, match="features differ"):
        plots.coefficients({"a": classifier, "b": Ridge(bounds=Bounds(-1, 1, target=(-2, 2))).fit(X[:, :1], y)})
    with pytest.raises(ValueError, match="`per`"):
        make_bars(classifier, per="metre")


def test_the_posterior_with_and_without_the_noise(bayesian):
    """The one that forgets the noise is the model's own naive posterior: narrower by far, and its density a density."""
    aware, naive = estimate_densities(bayesian, 1, 0.9)
    assert aware.interval == pytest.approx(tuple(bayesian.coef_interval(0.9)[1]))
    assert aware.mean == pytest.approx(bayesian.coef_[1])
    assert naive.interval[1] - naive.interval[0] < 0.7 * (aware.interval[1] - aware.interval[0])
    for one in (aware, naive):
        assert np.trapezoid(one.density, one.grid) == pytest.approx(1.0, abs=0.02)
    beside = estimate_densities(bayesian, 1, 0.9, beside=bayesian)[1]
    assert beside.interval == aware.interval
    ax = plots.posterior(bayesian, 1)
    assert ax.lines[1].get_xdata() == pytest.approx(aware.interval) and ax.get_xlabel() == "coefficient of x2"
    for bad in (2, -1, "x3", True):
        with pytest.raises(ValueError, match="`feature`"):
            estimate_densities(bayesian, bad)
    with pytest.raises(ValueError, match="`confidence`"):
        estimate_densities(bayesian, 0, 1.0)


# rates ------------------------------------------------------------------------------------------------


def test_roc_and_calibration():
    y, p = np.array([0, 0, 1, 1, 1, 0]), np.array([0.1, 0.4, 0.35, 0.8, 0.9, 0.2])
    curve = evaluate.roc(y, p)
    ax = plots.roc({"one": curve, "two": curve})
    assert ax.lines[1].get_ydata().tolist() == curve.tpr.tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{n}, AUC {curve.auc:.3f}" for n in ("one", "two")
    ]
    assert plots.roc(curve, label="mine").get_legend().get_texts()[0].get_text() == "mine"
    cells = evaluate.calibration(y, p, bins=4)
    ax = plots.calibration(cells, label="mine")
    there = np.isfinite(cells.observed)
    assert ax.lines[1].get_ydata().tolist() == cells.observed[there].tolist() and len(ax.get_legend().get_texts()) == 1


# promises ---------------------------------------------------------------------------------------------


@pytest.mark.catalogue("CO5")
@pytest.mark.parametrize("sigma", [0.7, 4.0, 40.0])
def test_the_loss_of_gaussian_noise_is_normal(sigma):
    """Its mean is μ²/2 and its variance μ², so each bar is known."""
    found, mu = losses(Gaussian(sigma), 1e-5), 1 / sigma
    assert found.epsilon == accounting.epsilon(Gaussian(sigma), 1e-5) and found.mean == pytest.approx(
        mu**2 / 2, rel=1e-2
    )
    exact = np.diff(norm.cdf(found.edges, mu**2 / 2, mu))
    assert found.probabilities == pytest.approx(exact, abs=1e-3 * exact.max())
    assert found.beyond == pytest.approx(norm.sf(found.epsilon, mu**2 / 2, mu), rel=0.02) and found.beyond > 1e-5
    assert f"probability of {found.beyond:.2g} (δ = 1e-05)" in describe_losses(found)


def test_the_loss_of_pure_noise_is_never_beyond():
    for event in (Laplace(2.0), Pure(0.5), Composed((Laplace(4.0), Pure(0.25)))):
        found = losses(event)
        assert (found.epsilon, found.delta, found.beyond) == (0.5, 0.0, 0.0) and "never" in describe_losses(found)
        assert found.probabilities.sum() == pytest.approx(1.0, abs=1e-9)
        assert found.edges[0] < -0.5 and found.edges[-1] > 0.5
    # Laplace: all answers beyond one neighbour's have the loss ε itself, half of the answers
    top = losses(Laplace(2.0), bars=200)
    assert top.probabilities[top.edges[1:] > 0.5].sum() == pytest.approx(0.5, abs=0.01)


def test_the_loss_of_many_rounds():
    """1000 sampled rounds: mean and variance of the sum are 1000 times those of one round."""
    one = accounting.loss_distribution(Sampled(0.01, Gaussian(1.0)), 1e-4)
    many = compute_loss_law(Repeated(Sampled(0.01, Gaussian(1.0)), 1000), 1e-3)
    assert many.probabilities.sum() == pytest.approx(1.0, abs=1e-6)
    assert many.mean == pytest.approx(1000 * one.mean, rel=0.01)
    variance = np.square(many.losses - many.mean) @ many.probabilities
    assert variance == pytest.approx(1000 * np.square(one.losses - one.mean) @ one.probabilities, rel=0.01)
    mixed = compute_loss_law(Composed((Laplace(1.0), Gaussian(1.0))), 1e-3)
    assert mixed.mean == pytest.approx(0.5 + math.exp(-1), rel=0.01)  # KL of Laplace(1) at distance 1: e^-1


def test_losses_of_releases_and_ledgers(linear):
    assert losses(linear.release_).epsilon == pytest.approx(1.0, rel=1e-3) and losses(linear.release_).delta == 1e-6
    book = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(ValueError, match="Nothing was charged"):
        losses(book)
    book.charge("a", Gaussian(20.0))
    book.charge("b", Gaussian(20.0))
    assert 0 < losses(book).epsilon == losses([Gaussian(20.0)] * 2, 1e-6).epsilon < 1
    ax = plots.privacy_loss(book)
    assert ax.lines[0].get_xdata()[0] == losses(book).epsilon and "mean loss" in ax.get_title(loc="left")
    heights = sum(bar.get_height() for bar in ax.patches)
    assert heights == pytest.approx(1.0, abs=1e-4) and len(book.entries) == 2
    with pytest.raises(ValueError, match="no finite ε"):
        losses(Approximate(1.0, 0.1), 1e-6)
    with pytest.raises(TypeError, match="Got float"):
        losses(1.0)


@pytest.mark.catalogue("CO7")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_odds_grow_by_no_more_than_the_promise(epsilon):
    prior = np.array([0.01, 0.2, 0.5, 0.9])
    found = beliefs(epsilon, prior)
    odds = prior / (1 - prior)
    assert found.most / (1 - found.most) == pytest.approx(odds * math.exp(epsilon))
    assert found.least / (1 - found.least) == pytest.approx(odds * math.exp(-epsilon))
    ends = beliefs(epsilon, [0.0, 1.0])
    assert ends.most.tolist() == ends.least.tolist() == [0.0, 1.0]


def test_what_an_adversary_can_learn_is_said_as_the_budget_says_it():
    for epsilon in (0.3, 1.0, 4.0):
        even = float(beliefs(epsilon, 0.5).most)
        assert f"at most {100 * even:.1f}%" in Budget(epsilon).explain()
        assert f"at most {100 * even:.2g}%" in describe_beliefs(Budget(epsilon))
    assert "δ = 1e-06" in describe_beliefs(Budget(1.0, 1e-6)) and "δ" not in describe_beliefs(Budget(1.0))
    assert "a given person has one value" in describe_beliefs(Budget(1.0, 0.0, "replace-one", "person"))
    assert "99.99%" in describe_beliefs(Budget(9.0)) and "100%" not in describe_beliefs(Budget(9.0))


def test_the_promise_at_hand(linear):
    book = Ledger(Budget(2.0, 1e-6))
    with pytest.raises(ValueError, match="Nothing was charged"):
        read_guarantee(book)
    book.charge("a", Gaussian(10.0))
    assert read_guarantee(book) == Budget(book.spent, 1e-6)
    assert read_guarantee(linear) == read_guarantee(linear.release_) == Budget(1.0, 1e-6) and read_guarantee(
        0.5, 1e-5
    ) == Budget(0.5, 1e-5)
    ax = plots.adversary(linear)
    assert ax.lines[1].get_ydata() == pytest.approx(beliefs(1.0, ax.lines[1].get_xdata()).most)
    assert len(plots.adversary([0.1, 1, 3]).get_legend().get_texts()) == 4
    with pytest.raises(ValueError, match="no ε"):
        plots.adversary([])
    with pytest.raises(ValueError, match="`epsilon`"):
        plots.adversary(-1.0)


# the look ---------------------------------------------------------------------------------------------


def test_lines_are_told_apart_without_colour():
    looks = {(str(one["linestyle"]), one["marker"]) for one in style.LINES}
    assert len(looks) == len(style.LINES)
    assert all(0 <= float(one["color"]) <= 0.7 for one in style.LINES)  # greys, dark enough for paper


def test_marks_do_not_touch():
    ax = style.make_axes()
    ax.set_xscale("log")
    style.place_marks(ax.xaxis, [1000, 1010, 2000, 16000], ",.0f")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1,000", "2,000", "16,000"]
    style.place_marks(ax.xaxis, [235, 1175, 8225, 11750], ",.0f", gap=0.2)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["235", "1,175", "11,750"]  # the ends have theirs
    style.place_marks(ax.xaxis, [3.0])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["3"]


def test_text_stays_within_the_picture(linear):
    """Titles, labels and legends of every picture lie inside their figure."""
    drawn = [
        plots.frontier(made("a model of a long name", "another")),
        plots.adversary(linear),
        plots.adversary([Budget(0.1, 1e-6), 1.0]),
        plots.privacy_loss(Gaussian(4.0)),
        plots.coefficients(linear),
    ]
    for ax in drawn:
        figure = ax.figure
        figure.draw_without_rendering()
        box = ax.get_tightbbox()
        assert box.x0 >= -1 and box.y0 >= -1
        assert box.x1 <= figure.bbox.width + 1 and box.y1 <= figure.bbox.height + 1, ax.get_title(loc="left")


def test_the_settings_of_others_stay(linear):
    before = dict(matplotlib.rcParams)
    plots.adversary(linear)
    plots.frontier(made("a"))
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("draw", [lambda: plots.adversary(1.0), lambda: made("a").figure()])
def test_without_matplotlib(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="Hint: pip install matplotlib"):
        draw()


def test_names_of_functions_are_functions():
    for name in plots.__all__:
        assert callable(getattr(plots, name)) and "Notes" in getattr(plots, name).__doc__
    assert adversary is plots.adversary and coefficients is plots.coefficients and ledger is plots.ledger
    assert callable(loss.losses)


def test_pictures_of_a_ledger_say_what_no_promise_covers(linear):
    book = Ledger(Budget(9.0, 1e-6))
    book.charge("a", Gaussian(4.0))
    assert plots.ledger(book).get_title(loc="left") == ""
    book.charge("b", Gaussian(4.0), seeded=True)
    book.charge("c", Composed(()))
    assert account(book).outside == ("", "seeded", "unpaid")
    ax = plots.ledger(book)
    (crosses,) = [line for line in ax.lines if line.get_label() == "no guarantee"]
    assert list(crosses.get_xdata()) == [2, 3] and list(crosses.get_ydata()) == list(account(book).spent[1:])
    for picture in (ax, plots.adversary(book)):
        title = " ".join(picture.get_title(loc="left").split())
        assert "NO PROMISE covers what these entries told: 2 (seeded), 3 (unpaid)." in title
    alone = Ledger(Budget(9.0, 1e-6))
    alone.charge("c", Composed(()))
    with pytest.raises(ValueError, match="no privacy guarantee to draw"):
        plots.adversary(alone)
    seeded = dataclasses.replace(linear.release_, seeded=True)
    assert "NOT PRIVATE" in plots.adversary(seeded).get_title(loc="left")


def test_how_often_an_answer_lies_outside_of_the_picture():
    """The loss of Gaussian noise is N(μ²/2, μ²); its tail beyond ε is nineteen times δ here."""
    event = Gaussian(4.0)
    epsilon = accounting.epsilon(event, 1e-6)
    tail = float(norm.sf((epsilon - 1 / 32) * 4))
    release = Release("mean", 0.5, 0.1, event, Budget(epsilon, 1e-6))
    assert bound_exceedance(release) == pytest.approx(tail, rel=0.02) and tail > 1.8e-5
    assert "but for a probability of 1.9e-05 (δ = 1e-06)" in describe_beliefs(release.budget, bound_exceedance(release))
    assert "gives the same answers but for a probability of δ = 1e-06" in describe_beliefs(
        Budget(1.0, 1e-6), bound_exceedance(1.0)
    )
    book = Ledger(Budget(9.0, 1e-6))
    book.charge("a", event)
    book.charge("b", event)
    assert bound_exceedance(book) == book.beyond(book.spent) > 1e-6


def test_the_loss_of_replaced_rows_is_said_of_values():
    promise = Budget(1.0, 1e-6, "replace-one", "person")
    release = Release("mean", 0.5, 0.1, Gaussian(4.0), promise)
    assert "that a person has one value and not another by" in describe_losses(losses(release))
    assert "that a row is there by" in describe_losses(losses(Gaussian(4.0)))


def test_what_is_rarer_than_can_be_computed_is_not_never():
    release = Release("mean", 0.5, 0.1, Gaussian(40.0), Budget(5.0, 1e-6))
    assert 0 < bound_exceedance(release) < 1e-12 and "but for a probability of" in describe_beliefs(
        release.budget, bound_exceedance(release)
    )
    pure = Release("mean", 0.5, 0.1, Laplace(1.0), Budget(1.0, 1e-6))
    assert bound_exceedance(pure) == 0.0 and "δ" not in describe_beliefs(pure.budget, bound_exceedance(pure))
