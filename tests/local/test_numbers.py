"""Numbers and vectors: exact laws, unbiased means, the errors that are promised, and normal noise in whole numbers."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2, kstest

from discreet.local import Estimate, Report, Survey, answer_many
from discreet.local import bulk_numbers as bulk
from discreet.local.caps import Cap, best_cap, half_cube
from discreet.local.cones import FARTHEST, Cone, best_cone
from discreet.local.lines import OUTPUTS, Hybrid, Laplace, Table, Window
from discreet.local.methods import make_number_design, make_vector_design
from discreet.local.normals import draw_normal, flip_exp, tail_bounds
from discreet.local.odds import ONE, odds_of
from discreet.local.questions import GRID, Number, Vector
from discreet.local.randomise import Bits
from discreet.mechanisms.keystream import Keystream

from .laws import law, worst_ratio

W = odds_of(Fraction(1))
E = Fraction(odds_of(Fraction(1), 160), 1 << 160)  # at most e
LINES = [
    Window(4, W, 3),
    Window(2, W, 1),
    Hybrid(3, W, 2, ONE // 4),
    Table(2, W, (-3 * OUTPUTS, 3 * OUTPUTS), ((4, 2), (2, 4))),
    Table(3, W, (-2 * OUTPUTS, 0, 2 * OUTPUTS), ((8, 9, 4), (6, 9, 6), (4, 9, 8))),
]
CAPS = [
    Cap(1, W),
    Cap(3, W),
    Cap(3, W, 2, 2),
    Cap(3, W, 3, 2),
    Cap(4, W, 3, 3),
    half_cube(2, W),
    half_cube(4, W),
    half_cube(3, W),
    Cap(4, W, 2, 1, 1),
]


@pytest.mark.parametrize("design", LINES, ids=lambda one: f"{one.method}-{one.size}")
@pytest.mark.catalogue("LO3")
def test_the_law_of_a_line(design):
    """No report is more than e^ε times as likely; its law is the stated one; outputs are the level on average."""
    laws = [law(lambda bits, v=level: design.answer_level(v, bits)) for level in range(design.size)]
    assert worst_ratio(laws) == design.ratio <= E
    for level, one in enumerate(laws):
        assert [one[y,] for y in range(design.cells)] == design.law(level)
        if design.method != "table":  # these tables are made up
            mean = sum(p * y for p, y in zip(design.law(level), design.outputs, strict=True))
            assert mean == Fraction(2 * level, design.size - 1) - 1


@pytest.mark.parametrize("reach", [1, 3])
def test_the_law_of_laplace_noise(reach):
    """Which reports there are depends on no level; the ends hold all that is beyond."""
    design = Laplace(3, odds_of(Fraction(1, 2)), reach)
    laws = [law(lambda bits, v=level: design.answer_level(v, bits)) for level in range(3)]
    assert worst_ratio(laws) <= design.ratio <= E
    rate = Fraction(ONE, design.odds)
    for level, one in enumerate(laws):
        assert set(one) == {(y,) for y in range(design.cells)}
        inner = {y: (1 - rate) / (1 + rate) * rate ** abs(y - reach - level) for y in range(1, design.cells - 1)}
        assert all(one[y,] == p for y, p in inner.items())
    # the twin, whose noise is cut where it would leave the range, gives a level away
    assert worst_ratio([{(0,): Fraction(1, 2), (1,): Fraction(1, 2)}, {(1,): Fraction(1)}]) is None


@pytest.mark.parametrize("design", CAPS, ids=lambda one: f"{one.size}-{one.asked}-{one.least}-{one.ties}")
@pytest.mark.catalogue("LO4")
def test_the_law_of_a_cap(design):
    """Odd and even d, ties in both halves, halved: the largest ratio is e^ε, and on average a sign is the number."""
    some = {0, (1 << design.size) - 1, 1 if design.asked < 4 else 0}  # a vertex, the opposite one, one beside it
    corners = [tuple(GRID * (2 * (v >> i & 1) - 1) for i in range(design.size)) for v in sorted(some)]
    laws = [law(lambda bits, v=value: design.answer(v, bits)) for value in corners]
    assert worst_ratio(laws) == design.ratio <= E
    half = (GRID // 2, *corners[-1][1:])
    halves = [(half, law(lambda bits: design.answer(half, bits)))] if design.asked < 4 else []
    for value, one in [(corners[-1], laws[-1]), *halves]:
        mean = [Fraction(0)] * design.size
        for report, weight in one.items():
            assert design.accepts(report)
            for sign in report:
                mean[sign // 2] += weight * (2 * (sign % 2) - 1) * design.scale
        assert mean == [Fraction(x, GRID) for x in value]


def test_the_constant_for_even_d_lets_ties_into_both_halves():
    """As printed, at even d, ties count whole on both sides: 2.25, 1.55 and 1.17 times the variance."""
    for d, worse in ((2, 2.25), (10, 1.55), (100, 1.17)):
        odds = odds_of(Fraction(1))
        printed = (2 ** (d - 1) + math.comb(d, d // 2) / 2) / math.comb(d - 1, d // 2) * (odds + ONE) / (odds - ONE)
        assert printed**2 / float(half_cube(d, odds).scale) ** 2 == pytest.approx(worse, rel=0.01)
    # and >= for one half, < for the other, is not private: the true ε at d = 2 and ε = 0.1 is 0.9986
    p = math.exp(0.1) / (1 + math.exp(0.1))
    assert math.log(max(p / 3 / ((1 - p) / 1), (1 - p) / (p / 3))) == pytest.approx(0.9986, abs=1e-4)


# -- errors ------------------------------------------------------------------------------------------------------------

NUMBERS = {"0.5": 16.7, "1": 4.03, "2": 0.88, "4": 0.14}  # worst n·variance
BALL = {"0.5": 25.3, "1": 6.4, "2": 1.63, "4": 0.44}  # over d, at d = 100
CUBE = {"0.5": 16.7, "1": 4.7, "2": 1.30, "4": 0.39}  # over d, at d = 27


@pytest.mark.parametrize("epsilon", NUMBERS)
def test_auto_is_as_accurate_as_is_promised(epsilon):
    exact = Fraction(epsilon)
    number = make_number_design("auto", exact)
    assert number.variance() <= NUMBERS[epsilon]
    if number.method == "table":
        levels = [sum(p * y for p, y in zip(number.law(i), number.outputs, strict=True)) for i in range(number.size)]
        assert max(abs(y - Fraction(2 * i, number.size - 1) + 1) for i, y in enumerate(levels)) < Fraction(1, 10**6)
    ball, cube = (make_vector_design("auto", d, shape, exact) for d, shape in ((100, "ball"), (27, "cube")))
    assert ball.variance() <= BALL[epsilon] and cube.variance(1.0) / 27 <= CUBE[epsilon]


SURVEYS = [
    *(Survey.number(m, 2, 12, 2, method=m) for m in ("bit", "table", "piecewise", "hybrid", "laplace")),
    *(Survey.vector(m, d, 2, low=2, high=12, method=m) for m in ("cap", "sparse", "vertices") for d in (4, 5)),
    *(Survey.vector(m, d, 2, high=5, method=m) for m in ("privunitg", "hemisphere") for d in (2, 5)),
]


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda one: f"{one.name}-{getattr(one.question, 'size', 1)}")
def test_means_are_unbiased_and_intervals_cover(survey):
    """People of one vector: the mean is theirs within 5 standard errors, the error is that of the theory."""
    n, rng = 20_000, np.random.default_rng(0)
    d = getattr(survey.question, "size", None)
    ball = getattr(survey.question, "shape", "") == "ball"
    truth = rng.uniform(-1, 1, d) * (2 if ball else 5) + (0 if ball else 7)
    values = np.tile(truth, (n, 1)) if d else np.full(n, truth)
    reports = answer_many(survey, values, random_state=3)
    tally = Estimate(survey)
    tally.add_many(reports)
    assert tally.n == n and tally.refused == 0
    assert np.abs(tally.value - truth).max() < 5 * np.max(tally.std)
    assert np.mean(np.square(tally.std)) * n / 25 <= survey.design.spread * 1.05
    # by tens: standard deviations are those of parts
    parts = []
    for part in np.array_split(reports, 50):
        one = Estimate(survey)
        one.add_many(part)
        parts.append(np.atleast_1d((one.value - truth) / one.std))
    assert np.mean(np.square(parts)) == pytest.approx(1, abs=0.5)
    # a device says the same law, and its report is counted alike
    one = Estimate(survey)
    one.add(Report(survey.digest, survey.design.answer(survey.question.encode(truth, Bits()), Bits())))
    assert one.n == 1
    assert tally.table()[0].keys() == {"value", "mean", "std", "low", "high"}
    again = Estimate.from_json(tally.to_json())
    assert np.all(again.value == tally.value) and tally.max_influence > 0


def test_intervals_of_means_cover():
    rng, hits = np.random.default_rng(1), []
    survey = Survey.number("x", 0, 1, 1)
    for repeat in range(400):
        tally = Estimate(survey)
        tally.add_many(answer_many(survey, rng.beta(2, 5, 1000), random_state=repeat))
        low, high = tally.interval()
        hits.append(low <= 2 / 7 <= high)
    assert 0.92 < np.mean(hits) < 0.98  # 400 of them: 95% ± 2.7 at three deviations


# -- the ball ----------------------------------------------------------------------------------------------------------


def test_tails_of_the_normal_law_are_bracketed():
    with mpmath.workdps(80):
        for top, bottom in ((0, 1), (1, 7), (1, 1), (5, 2), (6, 1)):
            true = mpmath.erfc(mpmath.mpf(top) / bottom / mpmath.sqrt(2)) / 2 * 2**200
            low, high = tail_bounds(top, bottom)
            assert low <= true <= high and (high - low) / true < 1e-30


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("size", [2, 100])
def test_cones_keep_their_promise(epsilon, size):
    """The odds of the coin, over the odds of the cone, are at most e^ε, what the grid moves included."""
    design = best_cone(size, odds_of(Fraction(epsilon)))
    with mpmath.workdps(60):
        q = mpmath.erfc(mpmath.mpf(design.gamma) / 2**20 / mpmath.sqrt(2)) / 2
        p = mpmath.mpf(design.near[0]) / design.near[1]
        moved = mpmath.sqrt(size) * mpmath.mpf(2) ** -31 * mpmath.npdf(mpmath.mpf(design.gamma) / 2**20)
        worst = p / (1 - p) * (1 - q + moved) / (q - moved)
        assert worst <= mpmath.exp(mpmath.mpf(epsilon))
        assert worst >= mpmath.exp(mpmath.mpf(epsilon)) * (1 - mpmath.mpf(10) ** -5)
    with pytest.raises(ValueError, match="tells more than its ε"):
        Survey("x", Vector(size, -1, 1, "ball"), epsilon, replace(design, odds=design.odds * 13 // 10))
    flat = Cone(size, odds_of(Fraction(epsilon)))
    assert Fraction(flat.near[0], flat.near[1] - flat.near[0]) == flat.ratio


def test_an_audit_of_cones_catches_its_twin():
    """How often reports lie in the cone of a direction, from it and from its opposite; seeds are fixed."""
    epsilon, n = 1.0, 40_000
    good = best_cone(3, odds_of(Fraction(1)))
    direction = np.array([GRID, 0, 0])

    def loss(design, seed):
        rng = Keystream.seeded(seed)
        there, back = (bulk._answer_cone(design, np.tile(sign * direction, (n, 1)), rng) for sign in (1, -1))
        inside = [(z[:, 0] >= design.gamma / 2**20 * 2**12).mean() for z in (there, back)]
        return math.log(inside[0] / inside[1])

    assert loss(good, 1) < epsilon + 0.08
    assert loss(replace(good, odds=good.odds * 13 // 10), 1) > epsilon + 0.15


def test_normal_numbers_of_a_device():
    """Coins of e^-γ by their exact partial sums; the law of numbers, and that neither way of drawing differs."""
    head = law_of_flips(3, 8)
    assert abs(head - math.exp(-3 / 8)) < 1e-9
    stream = Keystream.seeded(4)
    bits = Bits(lambda count: stream.u8(count).tobytes())
    z = np.array([draw_normal(bits) for _ in range(4000)]) / 2.0**30
    assert kstest(z, "norm").pvalue > 1e-4
    assert kstest(z * 1.3, "norm").pvalue < 1e-6 and kstest(z * 0.7, "norm").pvalue < 1e-6
    assert 1e-4 < chi2.cdf((z**2).sum(), len(z)) < 1 - 1e-4


def law_of_flips(top, bottom, depth=12):
    """The probability of heads, from what each coin is asked for."""

    class Counted:
        def __init__(self, run):
            self.run, self.weight = run, 1.0

        def coin(self, part, whole):
            self.run -= 1
            self.weight *= part / whole if self.run >= 0 else 1 - part / whole
            return self.run >= 0

    total = 0.0
    for run in range(depth):
        bits = Counted(run)
        if flip_exp(bits, top, bottom):
            total += bits.weight
    return total


def test_devices_and_simulations_of_cones_agree():
    """Reports of a device, drawn one by one, have the length and the direction of those drawn at once."""
    survey = Survey.vector("x", 3, 2)
    stream = Keystream.seeded(5)
    bits = Bits(lambda count: stream.u8(count).tobytes())
    value = survey.question.encode([0.6, 0.0, -0.8], bits)
    ones = np.array([survey.design.answer(value, bits) for _ in range(1500)])
    many = answer_many(survey, np.tile([0.6, 0.0, -0.8], (20_000, 1)), random_state=1)
    for i in range(3):
        assert abs(ones[:, i].mean() - many[:, i].mean()) < 5 * many[:, i].std() / math.sqrt(1500)
        assert ones[:, i].std() == pytest.approx(many[:, i].std(), rel=0.12)
    assert np.abs(many).max() <= FARTHEST


# -- what people say ---------------------------------------------------------------------------------------------------


def test_numbers_are_placed_exactly():
    question = Number("-0.5", 10)
    assert [question.encode(x, Bits()) for x in (-0.5, 10, 4.75, -9, 1e308, math.inf, -math.inf)] == [
        -GRID,
        GRID,
        0,
        -GRID,
        GRID,
        GRID,
        -GRID,
    ]
    assert all(question.encode(x, Bits()) == 0 for x in (None, "5", math.nan, [3], True, b"1"))
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 11, 500)
    assert np.abs(bulk.encode_numbers(question, values) - [question.encode(x, Bits()) for x in values]).max() <= 1
    ball = Vector(3, -2, 2, "ball")
    for value in ([2, 2, 2], [1e9, 0, -1e9], [0, 0, 0], [2, 0, 0], [math.inf, math.nan, 1]):
        assert sum(x * x for x in ball.encode(value, Bits())) <= GRID**2
        many = bulk.encode_numbers(ball, [value])[0]
        assert sum(int(x) ** 2 for x in many) <= GRID**2
    assert ball.encode("abc", Bits()) == ball.encode([1, 2], Bits()) == ball.encode(None, Bits()) == (0, 0, 0)


def test_bad_questions():
    for low, high in ((1, 1), (2, 1), (math.nan, 1), (0, math.inf), ("a", 1), (None, 1), (0, 1e16)):
        with pytest.raises(ValueError, match=r"bounds|`low`|`high`"):
            Survey.number("x", low, high, 1)
    for size, shape, low in ((0, "cube", -1), (2.0, "cube", -1), (2, "disc", -1), (2, "ball", 0)):
        with pytest.raises(ValueError, match="vector"):
            Vector(size, low, 1, shape)
    with pytest.raises(ValueError, match="`method` of a number"):
        Survey.number("x", 0, 1, 1, method="subset")
    with pytest.raises(ValueError, match="`method` of a vector of a ball"):
        Survey.vector("x", 3, 1, method="cap")
    with pytest.raises(ValueError, match="columns"):
        answer_many(Survey.vector("x", 3, 1), np.zeros((4, 2)))
    with pytest.raises(ValueError, match="not for its question"):
        Survey("x", Number(0, 1), 1, best_cap(2, W))
    for make in (
        lambda: Cap(2, W, 2, 0),
        lambda: Cap(2, W, 3, 2),
        lambda: Cap(4, W, 3, 2, 1),
        lambda: Cap(1, ONE),
        lambda: Table(2, W, (0, 1), ((1, 2), (2, 2))),
        lambda: Table(2, W, (0, 1), ((1, 0), (0, 1))),
        lambda: Cone(2, W, -1),
        lambda: Window(3, W, 0),
        lambda: Laplace(3, W, 0),
        lambda: Hybrid(3, W, 2, ONE + 1),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            make()
    wide = Table(2, 100 * W, (0, 1), ((100, 1), (1, 100)))
    with pytest.raises(ValueError, match="tells more"):
        Survey("x", Number(0, 1), 1, wide)


@pytest.mark.parametrize("survey", SURVEYS[1:13:3], ids=lambda one: one.name)
def test_impossible_reports_of_numbers_are_refused(survey):
    tally = Estimate(survey)
    for numbers in ((), (-1,) * 9, (10**7,), (10**7,) * 5, (3, 3, 3, 3, 3), (True,), (1.5,)):
        tally.add(Report(survey.digest, numbers))
        tally.add_many([Report(survey.digest, numbers)])
    assert tally.n == 0 and tally.refused == 14
    tally.add_many(np.full((3, 50), 1))
    assert tally.n == 0 and tally.refused == 17
