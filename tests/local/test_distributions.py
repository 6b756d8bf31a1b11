"""Distributions and quantiles, several questions, and what they promise to a whole person."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import NotSupported
from discreet.local import Estimate, Report, Survey, answer_many
from discreet.local.design import Direct
from discreet.local.distribution import Bisection
from discreet.local.odds import ONE, odds_of
from discreet.local.questions import BelowQuestion, SeveralQuestions, TreeQuestion
from discreet.local.randomise import Bits
from discreet.local.several import OneOf

from .laws import law, worst_ratio

N = 100_000
LARGEST = {"0.5": 0.011, "1": 0.006, "2": 0.004}  # mean rank error of quartiles


def shapes(rng):
    return (
        rng.beta(5, 2, N),
        np.clip(rng.lognormal(0, 1, N) / 20, 0, 0.9999),
        np.clip(np.round(rng.beta(2, 5, N) * 40) / 40, 0, 0.9999),
    )


def rank_error(x, found, p):
    """How far p is from the share of people below a cell of 1/1024 about what was found."""
    x = np.sort(x)
    low, high = np.searchsorted(x, [found - 1 / 1024, found + 1 / 1024], side="right") / len(x)
    return max(0.0, low - p, p - high)


@pytest.mark.parametrize("epsilon", LARGEST)
@pytest.mark.catalogue("LO7")
def test_quartiles(epsilon):
    errors = []
    for seed, x in enumerate(itertools.chain(*(shapes(np.random.default_rng(i)) for i in range(3)))):
        tally = Estimate(survey := Survey.distribution("x", 0, 1, epsilon))
        tally.add_many(answer_many(survey, x, random_state=seed))
        found = tally.distribution()
        assert found.mass.min() >= 0 and found.mass.sum() == pytest.approx(1)
        assert float(found.cdf(found.quantile(0.3))) == pytest.approx(0.3)
        errors += [rank_error(x, float(found.quantile(p)), p) for p in (0.25, 0.5, 0.75)]
        assert abs(tally.value - x.mean()) < 6 * tally.std  # the same reports tell the mean, unbiased
    assert np.mean(errors) <= 1.2 * LARGEST[epsilon]  # nine sets: their mean varies by a fifth


def test_a_hierarchy_and_bisection():
    x = shapes(np.random.default_rng(6))[0]
    tally = Estimate(survey := Survey.distribution("x", 0, 1, 2, method="hierarchy"))
    tally.add_many(answer_many(survey, x, random_state=1))
    found = tally.distribution()
    assert np.mean([rank_error(x, float(found.quantile(p)), p) for p in (0.25, 0.5, 0.75)]) < 0.01
    assert len(found.mass) == 1024 and abs(found.mean - x.mean()) < 0.02
    search = Bisection("x", 0, 1, 0.5, 2, rounds=8)
    for seed, people in enumerate(np.array_split(x, 8)):
        tally = Estimate(search.survey)
        tally.add_many(answer_many(search.survey, people, random_state=seed))
        search.learn(tally)
    assert rank_error(x, search.value, 0.5) < 0.01
    with pytest.raises(ValueError, match="over"):
        search.survey  # noqa: B018
    with pytest.raises(ValueError, match="`p`"):
        Bisection("x", 0, 1, 1, 1)
    other = Bisection("x", 0, 1, 0.5, 1)
    with pytest.raises(ValueError, match="not of the survey"):
        other.learn(tally)


def test_trees_know_their_cells():
    tree = TreeQuestion(0, 10, 2, 3)
    assert [tree.encode_answer(x, Bits()) for x in (0, 9.99, 10, 5, -3, None)] == [
        (0, 0, 0),
        (1, 3, 7),
        (1, 3, 7),
        (1, 2, 4),
        (0, 0, 0),
        (1, 2, 4),
    ]
    below = BelowQuestion("2.5")
    assert [below.encode_answer(x, Bits()) for x in (2, 2.5, -math.inf, math.nan, None, "1", True)] == [
        1,
        0,
        1,
        0,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 2, 2), (2, 3, 2, 2), (2, 2, 2, 2, 2)])
def test_the_promise_is_for_the_whole_person(sizes):
    """All answers of a person exchanged for any others: the exact ratio is what is charged."""
    odds = odds_of(Fraction(1))
    design = OneOf(len(sizes), odds, tuple(Direct(size, odds) for size in sizes))
    people = list(itertools.product(*(range(size) for size in sizes)))
    laws = [law(lambda bits, v=values: design.answer(v, bits)) for values in people]
    assert worst_ratio(laws) == design.ratio == Fraction(odds, ONE)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_invented_answers_to_the_other_questions_protect_no_person(d):
    """One of d bits is answered at ε' = ln(d(e − 1) + 1), the others are invented: a whole person's ε is ε', not 1."""
    keep = Fraction(1) * (d * (odds_of(Fraction(1)) - ONE) + ONE) / (d * (odds_of(Fraction(1)) - ONE) + 2 * ONE)
    people = list(itertools.product((0, 1), repeat=d))
    laws = []
    for person in people:
        one = {}
        for report in people:
            weights = [(keep if report[i] == person[i] else 1 - keep) / 2 ** (d - 1) for i in range(d)]
            one[report] = sum(weights) / d
        laws.append(one)
    assert float(worst_ratio(laws)) == pytest.approx(d * (math.e - 1) + 1, rel=1e-9)


def test_several_questions():
    questions = {"smokes": [False, True], "hours": (0, 24), "colour": ["red", "blue", "green"]}
    survey = Survey.several("habits", questions, 2)
    assert Survey.from_json(survey.to_json()) == survey
    rng, n = np.random.default_rng(0), 30_000
    people = {"smokes": rng.random(n) < 0.3, "hours": rng.uniform(0, 12, n), "colour": rng.choice(["red", "blue"], n)}
    tally = Estimate(survey)
    tally.add_many(answer_many(survey, people, random_state=1))
    assert tally.n == n and sum(tally.part(name).n for name in questions) == n
    for name, truth in (("smokes", [0.7, 0.3]), ("hours", 6.0), ("colour", [0.5, 0.5, 0.0])):
        part = tally.part(name)
        assert np.all(np.abs(part.value - truth) < 6 * np.asarray(part.std) + 1e-3)
    tally.add(
        Report(survey.digest, survey.design.answer(survey.question.encode_answer({"smokes": True}, Bits()), Bits()))
    )
    for numbers in ((), (3, 0), (0, 2), (-1, 0), (0,)):
        tally.add(Report(survey.digest, numbers))
    assert (tally.n, tally.refused) == (n + 1, 5)
    again = Estimate.from_json(tally.to_json())
    assert again.part("hours").value == tally.part("hours").value
    both = tally.merge(again)
    assert both.n == 2 * tally.n
    for name in ("table", "distribution"):
        with pytest.raises(NotSupported):
            getattr(tally, name)()
    with pytest.raises(ValueError, match="no question"):
        tally.part("shoe size")
    with pytest.raises(ValueError, match="by question"):
        tally.add_many({7: [1]})
    with pytest.raises(NotSupported, match="single questions"):
        survey.needed(0.1)
    document = survey.to_dict()
    document["design"]["parts"][0]["odds"] = str(100 * ONE)
    document["design"]["odds"] = str(100 * ONE)
    with pytest.raises(ValueError, match="tells more"):
        Survey.from_json(json.dumps(document))


def test_bad_distributions():
    for wrong in ({"method": "dance"}, {"levels": 1}, {"levels": 2.5}, {"levels": 10**6}):
        with pytest.raises(ValueError, match=r"`method`|`levels`"):
            Survey.distribution("x", 0, 1, 1, **wrong)
    for base, depth in ((1, 3), (4, 0), (4, 9), (2.0, 3)):
        with pytest.raises(ValueError, match="tree"):
            TreeQuestion(0, 1, base, depth)
    for names, parts in (
        ((), ()),
        (("a",), ()),
        (("a", "a"), (BelowQuestion(1), BelowQuestion(2))),
        (("",), (BelowQuestion(1),)),
    ):
        with pytest.raises(ValueError, match="name each"):
            SeveralQuestions(names, parts)
    with pytest.raises(ValueError, match="A question of several"):
        SeveralQuestions(("a",), (TreeQuestion(0, 1),))
    with pytest.raises(NotSupported, match="estimates a mean"):
        tally = Estimate(survey := Survey.number("x", 0, 1, 1))
        tally.add_many(answer_many(survey, [0.5]))
        tally.distribution()
    with pytest.raises(NotSupported, match="Only a choice"):
        tally.shares()
