"""The verdict of the rows on what was learnt: a class, a line, or slopes, by how many each gets right."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chisquare

from discreet import Bounds, Budget, Ledger, NoiseWarning, NotPrivateWarning, NotSupported
from discreet.accounting.curves import choice_within, mu
from discreet.checks import behaviour, check_replay, prepared
from discreet.checks.units import check_units
from discreet.curator import Curator
from discreet.engines.memory import Memory
from discreet.events import Choice, Composed, Gaussian, Laplace, Pure, flatten
from discreet.images import Scaled
from discreet.mechanisms.keystream import Keystream
from discreet.models import LogisticRegression
from discreet.models.hypotheses import BITS, Agreement
from discreet.models.logistic import descent, verdict
from discreet.models.logistic.verdict import Lines, Votes
from discreet.query import Batch

from .sabotage import caught

pytestmark = pytest.mark.catalogue("CL4")


def fitted(data, bounds, *budget, seed, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.simplefilter("ignore", NoiseWarning)
        return LogisticRegression(*budget, bounds=bounds, random_state=seed, **options).fit(*data)


def silent(rows, shares, seed, width=10):
    """Features that tell nothing of the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.searchsorted(np.cumsum(shares), (np.arange(rows) + 0.5) / rows))
    return rng.uniform(-1, 1, (rows, width)), y


@pytest.mark.parametrize(
    ("rows", "shares", "budget"),
    [
        (400, (0.65, 0.35), (0.1, 1e-6)),
        (1_000, (0.65, 0.35), (0.1, 1e-6)),
        (1_000, (0.4, 0.2, 0.2, 0.2), (0.1, 1e-6)),
        (800, (0.8, 0.2), (0.1, 1e-6)),
        (600, (0.7, 0.3), (0.3, 1e-6)),
        (1_000, (0.65, 0.35), (0.1, 0.0)),
        (1_000, (0.65, 0.35), (0.3, 0.0)),
    ],
)
def test_features_that_tell_nothing_cost_next_to_nothing(rows, shares, budget):
    """How far below the likeliest class on new rows: means over 60 fixed seeds. Slopes alone lost .04 to .10 here."""
    bounds = Bounds(-1, 1, classes=range(len(shares))).matched(10)
    X, y = silent(4_000, shares, 10_000)
    hits = [fitted(silent(rows, shares, seed), bounds, *budget, seed=seed).score(X, y) for seed in range(60)]
    assert np.mean(hits) > shares[0] - 0.015


def test_slopes_are_kept_where_they_are_good():
    """Three of ten features tell the class: .83 is as good as can be. 3,000 rows, ε = 0.3, 10 fixed seeds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 10))
    y = (X[:, :3] @ [3.0, -3.0, 3.0] + rng.logistic(size=len(X)) > 0).astype(int)
    bounds = Bounds(-1, 1, classes=(0, 1)).matched(10)
    for plain in (0.0, 2.0):  # never judged, and always
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(descent, "PLAIN", plain)
            models = [fitted((X[:3_000], y[:3_000]), bounds, 0.3, 1e-6, seed=seed) for seed in range(10)]
        assert np.mean([model.score(X[3_000:], y[3_000:]) for model in models]) > 0.78
        judged = [any(part.name == "verdict" for part in model.release_.parts) for model in models]
        assert all(judged) if plain else not any(judged)
        assert not any("no better than" in note for model in models for note in model.release_.notes)


def test_a_line_is_drawn_where_numbers_grow_together():
    """300 rows of 20 numbers at ε = 0.1, of which the sum tells: .9 is as good as can be. Means over 40 fixed seeds."""
    bounds, hits = Bounds(0, 20, classes=(0, 1)).matched(20), []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.arange(4_300) % 2
        X = np.clip(4 + 2 * rng.normal(size=(4_300, 1)) + 4 * y[:, None] + rng.normal(size=(4_300, 20)), 0, 20)
        model = fitted((X[:300], y[:300]), bounds, 0.1, 1e-6, seed=seed)
        hits.append(model.score(X[300:], y[300:]))
    assert np.mean(hits) > 0.65


@pytest.mark.parametrize("options", [{}, {"n": 211}, {"delta": 0.0}, {"neighbours": "replace-one"}])
def test_where_rows_are_asked_for_their_verdict_all_checks_pass(options, monkeypatch):
    monkeypatch.setattr(descent, "PLAIN", 2.0)
    monkeypatch.setattr("discreet.models.logistic.few.FEW_ROWS", 0.0)
    asked = []
    table = Votes.table
    monkeypatch.setattr(Votes, "table", lambda self: asked.append(self) or table(self))
    for check in (
        behaviour.check_spends_what_it_declares,
        behaviour.check_blind_to_the_data,
        behaviour.check_charges_before_reading,
        behaviour.check_hostile_rows,
        behaviour.check_bad_rows_add_nothing,
        behaviour.check_engines_agree,
        behaviour.check_nothing_escapes,
        behaviour.check_seeded,
        check_replay,
        *([] if options.get("neighbours") else [check_units]),
    ):
        asked.clear()
        check(prepared(LogisticRegression(**({"epsilon": 4.0} | options))))
        assert asked, check.__name__


@pytest.mark.parametrize("rows", [60, 3_000])
def test_a_pure_choice_is_paid_for_in_a_ledger_that_counts_in_mu(rows):
    """δ = 0 on a shared account with a δ: several small pure events would cost less than one choice of their sum."""
    X, y = silent(rows, (0.6, 0.4), 0)
    bounds = Bounds(-1, 1, classes=(0, 1)).matched(10)
    for rounds in (None, 3, 40):
        ledger = Ledger(Budget(2.0, 1e-6))
        model = fitted((X, y), bounds, 0.3, 0.0, seed=1, ledger=ledger, rounds=rounds)
        (told,) = [part for part in model.release_.parts if part.name == "verdict"]
        assert mu(Pure(choice_within(told.event))) <= mu(told.event) <= mu(ledger.entries[0].event)


@pytest.mark.slow
@pytest.mark.audit
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_the_verdict_at_the_end_is_audited(delta, monkeypatch):
    """ε = 8, one row against none; false alarms below 1e-6. With a quarter of the noise the audit must tell."""
    monkeypatch.setattr(descent, "PLAIN", 2.0)
    monkeypatch.setattr(verdict, "HEIGHTS", (0.0,))
    monkeypatch.setattr("discreet.models.logistic.few.FEW_ROWS", 0.0)
    bounds = Bounds(-1, 1, classes=(0, 1)).matched(1)

    def told(data):
        model = LogisticRegression(8.0, delta, bounds=bounds, n=1, rounds=4).fit(*data)
        (part,) = [part for part in model.release_.parts if part.name == "verdict"]
        paid = Choice(choice_within(part.event))
        return replace(model.release_, parts=(), value=np.array([float(part.value)]), event=paid)

    X = np.zeros((1, 1))
    caught(told, ((X[:0], np.zeros(0, int)), (X, np.ones(1, int))), 4_800, monkeypatch, 1 / 4, "choice")


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_lines_say_what_their_coefficients_say(classes):
    bounds = Bounds([0, 10, 0], [9, 20, 1], classes=range(classes))
    X = np.random.default_rng(0).uniform(bounds.lower, bounds.upper, (500, 3))
    lines, image = Lines(bounds, classes), Scaled.by(bounds, True)
    said = lines.said(image, Batch(X))
    assert said.shape == (500, len(lines)) == (500, 8 * classes * (classes - 1))
    z = image(Batch(X))
    for place in range(len(lines)):
        scores = z @ lines.coefficients(place).T
        expected = (scores[:, 0] > 0) if classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(said[:, place], expected)


def test_there_are_no_lines_without_numbers_or_with_many_classes():
    assert (
        len(Lines(Bounds([0, 0], [1, 1]), 2))
        == len(Lines(Bounds([0], [9]), 11))
        == len(Lines(Bounds([0], [9]), 1))
        == 0
    )


def test_votes_count_who_is_right():
    bounds = Bounds(-1, 1).matched(1)
    models = np.array([[[0.0, 1.0]], [[0.0, -1.0]]])
    votes = Votes(Scaled.by(bounds, True), Lines(Bounds([0.0], [1.0]), 2), models)
    X, y = np.array([[0.5], [-0.5], [np.nan], [0.5], [0.25]]), np.array([1.0, 0.0, 1.0, np.nan, 0.0])
    found = votes(Batch(X, y))
    assert found.tolist() == [[0, 1, 1, 0], [1, 0, 1, 0], [-1] * 4, [-1] * 4, [1, 0, 0, 1]]
    assert votes.favour == (0.0, 0.0, verdict.LEARNT, verdict.LEARNT)


@pytest.mark.parametrize(
    "event",
    [
        Choice(0.5),
        Pure(0.5),
        Gaussian(3.0),
        Composed((Gaussian(4.0), Gaussian(4.0))),
        Composed((Pure(0.5), Pure(0.1))),
        Composed((Laplace(2.0), Pure(0.1))),
    ],
)
def test_the_law_of_a_verdict(event):
    """Candidates right about 8, 5 and 3 of 10 rows, with odds: 20,000 draws from a fixed seed, in a chi-square test."""
    right = np.array([8, 5, 3])

    class Rights:
        def sum(self, query):
            return np.stack([10 - right, right], axis=1)

    votes = Votes(Scaled.by(Bounds(-1, 1).matched(1), True), Lines(Bounds([0.0], [1.0]), 3), np.zeros((0, 3, 2)))
    odds = (0.0, 0.7, 1.0)
    agreement = Agreement("verdict", votes.table(), (0, 1 << BITS), odds)
    rng = Keystream.seeded(7)
    drawn = np.bincount([agreement.run(Rights(), event, Budget(1.0, 1e-6), rng)[0] for _ in range(20_000)], minlength=3)
    epsilon = choice_within(event)
    assert epsilon == 0.5 or any(isinstance(leaf, Gaussian) for leaf, _ in flatten(event))
    scores = epsilon * right + odds
    law = softmax(scores)
    if all(isinstance(leaf, Pure) for leaf, _ in flatten(event)):  # permute and flip
        p, x = np.exp(scores - scores.max()), (np.arange(10_000) + 0.5) / 10_000
        law = np.array([p[i] * np.prod([1 - x * p[j] for j in range(3) if j != i], axis=0).mean() for i in range(3)])
    assert law.sum() == pytest.approx(1.0, abs=1e-6)
    assert chisquare(drawn, 20_000 * law / law.sum()).pvalue > 1e-6
    assert chisquare(drawn, 20_000 * softmax(1.4 * scores)).pvalue < 1e-6


def test_events_that_do_not_cover_a_choice_are_refused_before_the_charge():
    votes = Votes(Scaled.by(Bounds(-1, 1).matched(1), True), Lines(Bounds([0.0], [1.0]), 2), np.zeros((0, 1, 2)))
    agreement = Agreement("verdict", votes.table(), (0, 1 << BITS))
    with pytest.raises(NotSupported, match="Gaussians alone, or by pure events alone"):
        agreement.check(Composed((Gaussian(1.0), Pure(1.0))))


def test_fewer_rows_hold_more_back():
    budget = Budget(0.1, 1e-6)
    shares = budget.split(*[0.05] * 20)
    curator = Curator(Memory(np.zeros((4, 2)), np.zeros(4)), Ledger(budget))
    task = SimpleNamespace(intercept=True, budget=budget, curator=curator)
    held = [verdict.held_back(task, shares, n, 2) for n in (300, 1_500, 3_000, 30_000)]
    assert held[0] == 8 and held[-1] == 2 and sorted(held, reverse=True) == held
    assert verdict.held_back(task, shares[:2], 300, 2) == 0
    task.intercept = False
    assert verdict.held_back(task, shares, 300, 2) == 0
