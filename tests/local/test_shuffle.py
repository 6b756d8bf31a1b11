"""Shuffled reports and heavy hitters."""

import itertools
import math
from math import comb

import numpy as np
import pytest

from discreet import NotSupported
from discreet.local import Estimate, HeavyHitters, Survey, amplified_epsilon, answer_many
from discreet.local.questions import PrefixQuestion
from discreet.local.randomise import Bits
from discreet.local.shuffle import clone_delta, closed_form, exact_delta

CELLS = [(1000, 1, 0.1824, 0.1487), (10_000, 1, 0.0530, 0.0432), (10_000, 2, 0.155, 0.114)]


@pytest.mark.parametrize("n,epsilon,anything,binary", CELLS)
@pytest.mark.catalogue("LO6")
def test_amplification_is_as_tight_as_is_promised(n, epsilon, anything, binary):
    coin = Survey.choice("x", [False, True], epsilon)
    other = Survey.choice("x", range(10), epsilon, method="direct")
    assert amplified_epsilon(epsilon, n) == amplified_epsilon(other, n)
    assert anything * 0.995 <= amplified_epsilon(epsilon, n) <= anything * 1.02
    assert binary * 0.995 <= amplified_epsilon(coin, n) <= binary * 1.02
    assert amplified_epsilon(epsilon, n) <= amplified_epsilon(epsilon, n, method="closed") <= epsilon


@pytest.mark.parametrize("n", [2, 5, 12])
def test_it_is_never_below_the_truth(n):
    """Against enumeration: of binary answers, and of the histograms of three values."""
    for epsilon, at in itertools.product((0.5, 1.0, 3.0), (0.05, 0.3, 0.8)):
        truth = exact_delta(epsilon, n, at)
        assert clone_delta(n, epsilon, 2 / (math.exp(epsilon) + 1), at) >= truth
        assert clone_delta(n, epsilon, math.exp(-epsilon), at) >= truth
        if n <= 5:
            assert clone_delta(n, epsilon, math.exp(-epsilon), at) >= direct_delta(3, epsilon, n, at)


def direct_delta(d, epsilon, n, at):
    """δ of shuffled direct answers of d values: one person's 0 or 1, all others' 2."""
    p, q = math.exp(epsilon) / (math.exp(epsilon) + d - 1), 1 / (math.exp(epsilon) + d - 1)

    def histogram(first):
        own = [p if v == first else q for v in range(d)]
        found = {}
        for a, b in itertools.product(range(n), repeat=2):
            if a + b <= n - 1:
                rest = comb(n - 1, a) * comb(n - 1 - a, b) * q ** (a + b) * p ** (n - 1 - a - b)
                for v in range(d):
                    key = (a + (v == 0), b + (v == 1))
                    found[key] = found.get(key, 0) + rest * own[v]
        return found

    one, other = histogram(0), histogram(1)
    return sum(max(0.0, one[key] - math.exp(at) * other[key]) for key in one)


def test_bad_shuffles():
    for n in (0, -1, 2.5, "x"):
        with pytest.raises(ValueError, match="`n` of shuffled"):
            amplified_epsilon(1, n)
    for delta in (0, 1e-12, 1, 2):
        with pytest.raises(ValueError, match="`delta` of shuffled"):
            amplified_epsilon(1, 100, delta)
    with pytest.raises(ValueError, match="`method` of shuffled"):
        amplified_epsilon(1, 100, method="magic")
    with pytest.raises(NotSupported, match="repeated"):
        amplified_epsilon(Survey.lasting("x", [1, 2], 1), 100)
    assert amplified_epsilon(1, 1) == pytest.approx(1, abs=1e-5) and closed_form(4.0, 100, 1e-6) == 4.0


def test_heavy_hitters_are_found_or_it_is_said():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("01"), 12)) for _ in range(200)]
    share = 1 / np.arange(1, 201) ** 1.5
    people = [texts[i] for i in rng.choice(200, 60_000, p=share / share.sum())]
    search = HeavyHitters("text", "01", 12, 4, top=8, step=2)
    assert search.smallest_share(60_000) < 0.05 < search.smallest_share(500)
    for seed, group in enumerate(np.array_split(np.array(people, object), search.rounds)):
        tally = Estimate(search.survey)
        tally.add_many(answer_many(search.survey, group.tolist(), random_state=seed))
        search.learn(tally)
    found = [text for text, *_ in search.found_texts]
    assert found[:4] == list(dict.fromkeys(found))[:4] and set(texts[:4]) <= set(found)
    assert len(set(found) & set(texts)) >= len(found) - 1
    with pytest.raises(ValueError, match="over"):
        search.survey  # noqa: B018
    with pytest.raises(ValueError, match="not of the survey"):
        HeavyHitters("text", "01", 12, 4).learn(tally)
    for wrong in ({"alphabet": "0"}, {"alphabet": "00"}, {"step": 0}, {"top": 0}):
        with pytest.raises(ValueError, match=r"`alphabet`|`step`"):
            HeavyHitters(**{"name": "x", "alphabet": "01", "length": 4, "epsilon": 1, **wrong})


def test_prefixes():
    question = PrefixQuestion(("ab", "bb"))
    assert [question.encode_answer(x, Bits()) for x in ("abc", "bb", "b", "ca", None, 3)] == [0, 1, 2, 2, 2, 2]
    for wrong in ((), ("a", "bb"), ("a", "a"), ("",), (1,)):
        with pytest.raises(ValueError, match="`prefixes`"):
            PrefixQuestion(wrong)
