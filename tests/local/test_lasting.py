"""Asked again and again: permanent responses, what they cost, and what averaging cannot tell."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import BudgetExceeded, NotSupported
from discreet.local import Device, Estimate, Report, Survey, answer_many
from discreet.local.lasting import BitFlip, Loloha, Rappor
from discreet.local.odds import ONE, odds_of
from discreet.local.randomise import Bits

from .laws import Path, law, worst_ratio

W = odds_of(Fraction(1))
HALF = odds_of(Fraction(1, 2))


@pytest.mark.parametrize(
    "design,settled,cells",
    [
        (Loloha(4, W, 2, 2, 2 * ONE, 5), (1, 0), (0, 1)),
        (Loloha(5, W, 3, 3, 2 * ONE, 5), (2, 1), (0, 1, 2)),
        (Rappor(5, HALF, 1, 1, 4), (2,), ("a", "b", "c", "")),
        (Rappor(6, odds_of(Fraction(1, 4)), 1, 2, 4), (1,), ("a", "b", "c", "d")),
        (BitFlip(6, HALF, 1, 3), (0, 2, 5), (0, 2, 5, -1)),
        (BitFlip(6, W, 1, 1), (3,), (3, -1)),
    ],
)
@pytest.mark.catalogue("LO2")
def test_a_permanent_response_keeps_its_promise(design, settled, cells):
    laws = [law(lambda bits, c=cell: design.draw_response(c, settled, bits)) for cell in cells]
    assert worst_ratio(laws) <= design.ratio <= Fraction(odds_of(Fraction(1), 160), 1 << 160)
    for one in laws:  # and what is repeated of it is one of its reports
        for response in one:
            for report in law(lambda bits, r=response: design.draw_report(r, settled, bits)):
                assert design.accepts(report)


def test_a_true_bit_is_cleared_as_often_as_it_must():
    """A bit of a value is 0 in the response with probability f/2: one that is never cleared proves the value."""
    survey = Survey.lasting("page", None, 2, method="rappor")
    design, n = survey.design, 60_000
    rows = answer_many(survey, ["x"] * n, random_state=1)
    cleared = 0
    for cohort in range(design.cohorts):
        (bit,) = design.find_bits("x", cohort)
        cleared += (~rows[rows[:, cohort], design.cohorts + bit]).sum()
    f_half = float(1 - design.own_rate)
    assert abs(cleared / n - f_half) < 5 * math.sqrt(f_half * (1 - f_half) / n)
    assert design.ratio == Fraction(design.odds, ONE) ** 2  # two values differ in two bits, by one hash each


def test_coins_shared_by_values_prove_them():
    """The twin whose permanent responses are keyed without the value: two different responses tell which two values."""
    design = Loloha(6, W, 3, 3, 2 * ONE, 7)

    def pair(cells, shared):
        def answer(bits):
            first = design.draw_response(cells[0], (1, 0), bits)
            if shared:
                bits = Path([*bits.turns[: bits.at]])
            return first, design.draw_response(cells[1], (1, 0), bits)

        return answer

    good = [law(pair(cells, shared=False)) for cells in ((0, 1), (1, 2), (2, 0))]
    twin = [law(pair(cells, shared=True)) for cells in ((0, 1), (1, 2), (2, 0))]
    assert worst_ratio(good) <= design.ratio**2
    assert worst_ratio(twin) is None  # a pair of responses that is impossible from other values


def test_a_device_keeps_its_responses(tmp_path):
    """1,000 answers, restarts in between: the same permanent response, by hash, cell and secret."""
    survey = Survey.lasting("page", ["a", "b", "c", "d"], 2)
    device = Device(tmp_path / "me", budget=10)
    reports = [device.answer(survey, "a").numbers for _ in range(12)]
    device = Device(tmp_path / "me", budget=10)
    reports += [device.answer(survey, "a").numbers for _ in range(12)]
    assert len({numbers[:2] for numbers in reports}) == 1  # the hash is kept
    assert len(set(reports)) == 2 and device.spent == 4  # two bins, paid for at enrolment; reports are fresh
    plain = Device(budget=10)
    text = Survey.lasting("page", None, 2, method="rappor")
    assert len({plain.answer(text, "x") for _ in range(1000)}) == 1
    said = plain.answer(text, "x")
    assert plain.answer(text, "y") == said and plain.spent == 2  # an unpaid value repeats the last response
    two = Survey.lasting("pages", None, 2, method="rappor", cells=2)
    first, second = plain.answer(two, "x"), plain.answer(two, "y")
    assert plain.answer(two, "z") == second and plain.answer(two, "x") == first and plain.answer(two, "z") == first
    assert plain.spent == 6


def test_enrolment_pays_or_refuses_whatever_the_value():
    survey = Survey.lasting("page", list("abcd"), 1)
    assert survey.lifetime == 2 and "ε = 2" in str(survey)
    device = Device(budget=1.5)
    for value in ("a", "b", None):
        with pytest.raises(BudgetExceeded, match="costs ε = 2"):
            device.answer(survey, value)
    assert device.spent == 0
    rich = Device(budget=2)
    for value in "abcdabcd?":
        rich.answer(survey, value)
    assert rich.spent == 2


def test_averaging_tells_no_more_than_the_response():
    """The best attacker of a value's reports is right no more often than is promised; fresh answers tell it."""
    d, epsilon, people, times = 20, 2.0, 150, 30
    survey = Survey.lasting("page", list(range(d)), epsilon)
    right, rng = 0, np.random.default_rng(0)
    for _ in range(people):
        device, value = Device(budget=4), int(rng.integers(d))
        reports = [device.answer(survey, value).numbers for _ in range(times)]
        a, b, _ = reports[0]
        heard = np.bincount([heard for *_, heard in reports], minlength=2).argmax()
        likely = [v for v in range(d) if (a * v + b) % survey.design.prime % 2 == heard]
        right += bool(likely) and int(rng.choice(likely)) == value
    bound = math.exp(epsilon) / (math.exp(epsilon) + d - 1)
    assert right / people < bound + 5 * math.sqrt(bound * (1 - bound) / people)
    # the twin that remembers nothing: the same question with fresh coins, 200 times
    fresh = Survey.choice("page", list(range(d)), 1, method="direct")
    found = sum(
        int(np.bincount(answer_many(fresh, np.full(200, 3), random_state=i), minlength=d).argmax() == 3)
        for i in range(50)
    )
    assert found >= 45


@pytest.mark.parametrize("method", ["loloha", "bitflip"])
def test_shares_are_unbiased(method):
    survey = Survey.lasting("x", list(range(6)), 2, method=method, bits=3)
    share = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0.0])
    people = np.random.default_rng(0).choice(6, 60_000, p=share)
    tally = Estimate(survey)
    tally.add_many(answer_many(survey, people, random_state=1))
    assert tally.n == 60_000 and np.all(np.abs(tally.value - share) < 5 * tally.std)
    low, high = tally.interval()
    assert np.all(low < high)
    one = Device(budget=20).answer(survey, 2)
    tally.add(one)
    tally.add(Report(survey.digest, (*one.numbers, 1)))
    assert (tally.n, tally.refused) == (60_001, 1)
    # as the theory has it
    assert np.mean(tally.std**2) * 60_000 == pytest.approx(np.mean([survey.design.variance(f) for f in share]), rel=0.1)


def test_words():
    """Least squares at 100 words, 32 bits, 16 cohorts, one hash and ε = 1: n times the squared error is below 7."""
    n, words = 100_000, [f"word {i}" for i in range(100)]
    share = 1 / np.arange(1, 101) ** 1.1
    people = np.random.default_rng(1).choice(100, n, p=share / share.sum())
    truth = np.bincount(people, minlength=100) / n
    survey = Survey.lasting("word", None, 1, method="rappor")
    tally = Estimate(survey)
    tally.add_many(answer_many(survey, [words[i] for i in people], random_state=2))
    plain = tally.words(words, unbiased=True)
    errors = np.array([plain[word][0] for word in words]) - truth
    assert n * np.mean(errors**2) < 7
    spread = np.array([plain[word][1] for word in words])
    assert np.mean((errors / spread) ** 2) == pytest.approx(1, abs=0.35)
    listed = np.array([x for x, _ in tally.words(words).values()]) - truth
    assert np.mean(listed**2) < 0.8 * np.mean(errors**2) and min(x for x, _ in tally.words(words).values()) >= 0
    with pytest.raises(ValueError, match="cannot distinguish"):
        tally.words([f"{i}" for i in range(600)], unbiased=True)
    with pytest.raises(ValueError, match="`candidates`"):
        tally.words(["a", "a"])
    with pytest.raises(NotSupported, match="survey of text"):
        Estimate(Survey.choice("x", [1, 2], 1)).words(["a"])
    with pytest.raises(NotSupported, match="single questions"):
        survey.needed(0.1)
    instant = Survey.lasting("word", None, 1, method="rappor", first=0.5)
    tally = Estimate(instant)
    tally.add_many(answer_many(instant, [words[i] for i in people], random_state=2))
    found = tally.words(words[:20], unbiased=False)
    assert abs(found["word 0"][0] - truth[0]) < 0.1


def test_bad_lasting_surveys():
    for make in (
        lambda: Loloha(4, W, 2, 2, ONE),
        lambda: Loloha(4, W, 0, 2, 2 * ONE),
        lambda: Loloha(9, W, 2, 2, 2 * ONE, 7),
        lambda: Rappor(1, W),
        lambda: Rappor(8, W, 1, 8),
        lambda: BitFlip(4, W, 1, 5),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            make()
    with pytest.raises(ValueError, match="`method` of a lasting"):
        Survey.lasting("x", [1, 2], 1, method="dance")
    with pytest.raises(ValueError, match="`first`"):
        Survey.lasting("x", [1, 2], 1, first=2)
    survey = Survey.lasting("x", None, 1, method="rappor")
    assert Survey.from_json(survey.to_json()) == survey and survey.question.encode_answer(b"x", Bits()) == ""
