"""Choices, against exact probabilities."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet.mechanisms import choose
from discreet.mechanisms.choose import exponential, permutation, permute_and_flip, report_noisy_max
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.lazy import Lazy

from .laws import ALARM, chi_square

pytestmark = pytest.mark.catalogue("ME3")
SCORES = [3, 0, 5]


def law_of_exponential(scores, c):
    weights = np.exp(c * (np.array(scores, dtype=float) - max(scores)))
    return weights / weights.sum()


def law_of_permute_and_flip(scores, c):
    """Enumerate all orders."""
    heads, law = np.exp(c * (np.array(scores, dtype=float) - max(scores))), np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * heads[i] / len(orders)
            reached *= 1 - heads[i]
    return law


LAWS = {exponential: law_of_exponential, permute_and_flip: law_of_permute_and_flip}


def tally(rule, scores, n=15_000, **kw):
    rng = Keystream.seeded(1)
    seen = Counter(rule(scores, rng=rng, **kw) for _ in range(n))
    return np.array([seen[i] for i in range(len(scores))])


@pytest.mark.parametrize("rule", LAWS)
@pytest.mark.parametrize(("monotonic", "c"), [(False, 0.25), (True, 0.5)])
def test_the_law_of_a_choice(rule, monotonic, c):
    seen = tally(rule, SCORES, epsilon=1.5, sensitivity=3, monotonic=monotonic)
    assert chi_square(seen, LAWS[rule](SCORES, c)) > ALARM
    assert chi_square(seen, LAWS[rule](SCORES, c * 1.3)) < ALARM
    assert chi_square(seen, LAWS[rule](SCORES, c * 0.7)) < ALARM


@pytest.mark.parametrize(("noise", "rule"), [("exponential", permute_and_flip), ("gumbel", exponential)])
def test_noisy_maxima_have_these_laws(noise, rule):
    seen = tally(report_noisy_max, SCORES, epsilon=1.0, sensitivity=1, noise=noise)
    assert chi_square(seen, LAWS[rule](SCORES, 0.5)) > ALARM
    # and the laws are those of the maximum of noisy scores (floats will do for a test)
    rng = np.random.default_rng(1)
    draw = rng.exponential if noise == "exponential" else rng.gumbel
    winners = np.argmax(np.array(SCORES) + draw(size=(100_000, 3)) * 2, axis=1)
    assert chi_square(np.bincount(winners, minlength=3), LAWS[rule](SCORES, 0.5)) > ALARM


@pytest.mark.parametrize("rule", LAWS)
def test_both_rules_are_private(rule):
    # log-ratios of exact probabilities over all neighbours of a small problem stay within epsilon
    epsilon, worst = 0.8, 0.0
    for monotonic, moves in ((False, (-1, 0, 1)), (True, (0, 1))):
        c = epsilon if monotonic else epsilon / 2
        before = LAWS[rule]([2, 0, 1], c)
        for shift in np.ndindex(*[len(moves)] * 3):
            after = LAWS[rule]([2 + moves[shift[0]], moves[shift[1]], 1 + moves[shift[2]]], c)
            worst = max(worst, np.abs(np.log(before / after)).max())
    assert worst <= epsilon + 1e-12


def test_the_exact_path_has_the_same_law(monkeypatch):
    monkeypatch.setattr(choose, "_slack", lambda n, total: 10.0)
    seen = tally(exponential, SCORES, n=4000, epsilon=1.0, sensitivity=1)
    assert chi_square(seen, law_of_exponential(SCORES, 0.5)) > ALARM


def test_fast_and_exact_choices_agree():
    rng = Keystream.seeded(3)
    scores = np.array([rng.bits(6) for _ in range(40)])
    gaps, rate = choose._gaps(scores), choose.rate_of(0.3, 1, False)
    edges = np.cumsum(np.exp(-np.asarray(gaps) * float(rate)))
    for _ in range(200):
        word = rng.bits(53)
        fast = int(np.searchsorted(edges, word * 2.0**-53 * edges[-1], side="right"))
        assert choose._settle(gaps, rate, Lazy(word, 53, rng)) == fast


@pytest.mark.parametrize("rule", [exponential, permute_and_flip, report_noisy_max])
def test_edges(rule):
    assert rule([-7], 1.0, 1) == 0
    assert rule(np.array([0, 10**6]), 1.0, 1) == 1
    assert rule([2**80, 0, -(2**90)], 1.0, 1) == 0
    assert rule([2**62, -(2**62), -(2**63)], Fraction(1, 10), Fraction(3, 2)) == 0
    assert rule([5] * 10_000, 1e-3, 1) in range(10_000)
    assert isinstance(rule([1, 2], 1.0, 1), int)


def test_equal_scores_are_equally_likely():
    for rule in LAWS:
        assert chi_square(tally(rule, [4, 4, 4, 4], epsilon=1.0, sensitivity=1), np.full(4, 0.25)) > ALARM


@pytest.mark.parametrize("scores", [[], [[1, 2]], 3])
def test_scores_are_a_sequence(scores):
    with pytest.raises(ValueError, match="one or more whole numbers"):
        exponential(scores, 1.0, 1)


def test_bad_arguments():
    with pytest.raises(TypeError, match="whole numbers"):
        exponential([0.5, 1.0], 1.0, 1)
    with pytest.raises(ValueError, match=r"The `epsilon` of choose must be a finite number > 0\. Got -1"):
        permute_and_flip([1, 2], -1, 1)
    with pytest.raises(ValueError, match="The `noise` of report_noisy_max"):
        report_noisy_max([1, 2], 1, 1, noise="laplace")


def test_the_draws_do_not_depend_on_the_scores():
    for rule in LAWS:
        left = []
        for scores in ([0] * 50, list(range(50)), [10**9] + [0] * 49):
            rng = Keystream.seeded(9)
            rule(scores, 1.0, 1, rng)
            left.append(rng.bits(64))
        assert left[0] == left[1] == left[2]


def test_permutations_are_uniform():
    rng = Keystream.seeded(4)
    seen = Counter(tuple(permutation(3, rng).tolist()) for _ in range(20_000))
    assert chi_square(np.array(list(seen.values())), np.full(6, 1 / 6)) > ALARM and len(seen) == 6


def test_a_tie_in_the_permutation_is_drawn_again():
    rng = Keystream.seeded(4)
    draws = [np.array([5, 5, 1], dtype=np.uint64), np.array([9, 2, 4], dtype=np.uint64)]
    rng.u64 = lambda n: draws.pop(0)  # type: ignore[method-assign]
    assert permutation(3, rng).tolist() == [1, 2, 0] and not draws
