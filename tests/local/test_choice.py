"""One of some values: the exact law of every design, reports, estimates and what they promise."""

import ast
import inspect
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet import VersionError
from discreet.local import Estimate, Report, Survey, answer_many, odds, randomise
from discreet.local.bulk import MAKERS, draw_below, throw_coins
from discreet.local.decode import DECODERS
from discreet.local.design import Coins, Design, Direct, Hadamard, Hashed, Projective, Subset, Unary, make_design
from discreet.local.odds import ONE, odds_of
from discreet.local.questions import Choice
from discreet.local.randomise import Bits
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.lazy import exp_bounds

from .laws import law, worst_ratio

W = odds_of(Fraction(1))
SMALL = [
    Direct(2, W),
    Direct(8, W),
    Coins(2, W),
    Subset(5, W, 2),
    Subset(8, W, 3),
    Hadamard(3, W, 4),
    Hadamard(7, W, 8),
    Projective(3, W, 2, 2),
    Projective(7, W, 2, 3),
    Projective(8, W, 3, 3),
    Projective(6, W, 5, 2),
    Hashed(5, W, 3, 5),
    Hashed(4, W, 2, 5),
    Unary(2, W),
    Unary(6, W),
    Unary(6, odds_of(Fraction(1, 2)), 1),
]
NAMES = [f"{one.method}-{one.size}-{'-'.join(map(str, one.numbers().values()))}" for one in SMALL]


def laws_of(design):
    return [law(lambda bits, v=value: design.answer(v, bits)) for value in range(design.size)]


def supported(design, report):
    """Which values a report supports, by its decoder."""
    decoder = DECODERS[type(design)](design)
    return decoder.support(decoder.tally(decoder.stack([report])), 1)


@pytest.mark.parametrize("design", SMALL, ids=NAMES)
@pytest.mark.catalogue("LO1")
def test_the_law_is_what_is_promised(design):
    """No report is e^ε times as likely from one value as from another; p and q are the fractions that are drawn by."""
    laws = laws_of(design)
    assert worst_ratio(laws) == design.ratio
    assert design.ratio <= Fraction(odds_of(Fraction(1), 160), 1 << 160)
    for value, one in enumerate(laws):
        share = sum((weight * supported(design, report).astype(object) for report, weight in one.items()), 0)
        assert [Fraction(x) for x in share] == [design.own if v == value else design.other for v in range(design.size)]
        assert all(design.accepts(report) for report in one)


def test_more_than_is_promised_is_seen():
    """A twin whose coin is 1.3 times as telling."""
    for design in SMALL:
        twin = replace(design, odds=design.odds * 13 // 10)
        assert worst_ratio(laws_of(twin)) > Fraction(odds_of(Fraction(1), 160), 1 << 160)
        values = tuple(range(design.size))
        with pytest.raises(ValueError, match="tells more than its ε"):
            Survey("x", Choice(values), Fraction(1), twin)


@pytest.mark.parametrize("design", SMALL, ids=NAMES)
def test_many_at_once_have_the_same_law(design):
    """A seed is fixed: the true law is accepted, and one of odds 1.3 times as large is not."""
    n, exact = 60_000, law(lambda bits: design.answer(1, bits))
    decoder = DECODERS[type(design)](design)

    def weigh(of):
        made = MAKERS[type(of)](of, np.ones(n, np.int64), Keystream.seeded(5))
        assert decoder.sound(made).all()
        rows = [tuple(np.flatnonzero(row)) for row in made] if made.dtype == bool else made.reshape(n, -1).tolist()
        keys = {report: i for i, report in enumerate(exact)}
        seen = np.bincount([keys[tuple(row)] for row in rows], minlength=len(exact))
        return chisquare(seen, [float(exact[report]) * n for report in exact]).pvalue

    assert weigh(design) > 1e-4
    assert weigh(replace(design, odds=design.odds * 13 // 10)) < 1e-9


def test_coins_and_choices_are_exact():
    """Where 16 bits tie, further bits decide: coins whose probability is not a multiple of 2^-16."""
    rng = Keystream.seeded(3)
    for top, total in ((1, 3), (1, 1 << 17), ((1 << 80) // 3, 1 << 80), (1, 1), (0, 7)):
        heads = throw_coins(rng, 300_000, top, total).sum()
        mean, spread = 300_000 * top / total, math.sqrt(300_000 * top / total * (1 - top / total))
        assert abs(heads - mean) <= 5 * spread + 1e-9
    for limit in (1, 2, 3, 1000, (1 << 31) - 1):
        drawn = draw_below(rng, 100_000, limit)
        assert drawn.min() >= 0 and drawn.max() < limit
        assert abs(drawn.mean() - (limit - 1) / 2) <= 5 * limit / math.sqrt(12e5)


def test_bits_are_fair_and_drawn_again():
    words = iter([(1 << 64) - 1, 3 << 61, 2 << 61])
    bits = Bits(lambda count: b"".join(next(words, 0).to_bytes(8, "big") for _ in range(count // 8)))
    assert bits.below(6) == 3  # 7 is no number below 6 and is not folded into one
    assert bits.below(1) == 0 and bits.below(5) == 2
    large = 3 << 100
    assert all(0 <= Bits().below(large) < large for _ in range(20))


def test_odds_are_certified():
    """Never above e^ε, and short of it by less than 2^-48, by an independent bound of the exponential."""
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(33, 10), Fraction(16)):
        low, high = exp_bounds(epsilon, 200)
        assert odds_of(epsilon) in {(1 << 248) // high, (1 << 248) // max(low, 1)}
        assert odds_of(epsilon) * high <= 1 << 248
    assert odds.read_epsilon(odds.write_epsilon(Fraction(1, 7))) == Fraction(1, 7)
    for wrong in (0, -1, 17, math.nan, math.inf, True, None, "x"):
        with pytest.raises(ValueError, match="`epsilon` of a survey"):
            Survey.choice("x", ["a", "b"], wrong)


def test_no_float_decides():
    """On the device: no float, no division, no mathematics of floats; and no generator but the system's."""
    for module in (randomise,):
        tree = ast.parse(inspect.getsource(module))
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Constant) or not isinstance(node.value, float), node.lineno
            assert not isinstance(node, ast.Div), module
            assert not isinstance(node, ast.Name) or node.id not in ("float", "round", "math", "random"), node.lineno
            assert not isinstance(node, ast.Import) or [a.name for a in node.names] == ["os"]


def test_the_order_of_a_report_tells_nothing():
    """The attack on sets whose first entry is the value when it is in them: its first entry is e^ε times as likely."""
    design = Subset(20, W, 5)
    rng = Keystream.seeded(8)
    firsts = [np.bincount(MAKERS[Subset](design, np.full(100_000, v), rng)[:, 0], minlength=20) for v in (3, 4)]
    seen = np.array(firsts)[:, np.array(firsts).min(0) > 500]
    assert np.abs(np.log(seen[0] / seen[1])).max() < 1.05
    # the twin: values that were kept come first
    twin = []
    for value in (3, 4):
        reports = MAKERS[Subset](design, np.full(50_000, value), rng)
        twin.append((np.where((reports == value).any(1), value, reports[:, 0]) == 3).mean())
    assert math.log(twin[0] / twin[1]) > 1.3


# -- which design ------------------------------------------------------------------------------------------------------

BEST = {  # n·variance of the best subset selection
    10: (12.6, 2.82, 0.377, 0.0218),
    100: (15.3, 3.59, 0.690, 0.0531),
    1000: (15.6, 3.67, 0.721, 0.0739),
    10_000: (15.67, 3.68, 0.724, 0.0758),
}


def test_auto_is_within_a_tenth_of_the_best():
    for size, best in BEST.items():
        for epsilon, wanted in zip(("0.5", "1", "2", "4"), best, strict=True):
            design = make_design("auto", size, Fraction(epsilon))
            assert design.variance() <= 1.1 * wanted * 1.005
    for size in range(2, 60):
        for epsilon in ("0.5", "1", "2", "3", "4"):
            exact = Fraction(epsilon)
            least = min(Subset(size, odds_of(exact), s).variance() for s in range(1, size))
            assert make_design("subset", size, exact).variance() == pytest.approx(least)
            assert make_design("auto", size, exact).variance() <= 1.1 * least + 1e-12
    table = {"direct": 34.1, "oue": 3.68, "sue": 3.92, "hash": 3.69, "subset": 3.59, "hadamard": 4.68}
    for method, wanted in table.items():
        assert make_design(method, 100, Fraction(1)).variance() == pytest.approx(wanted, rel=0.005)


@pytest.mark.parametrize("size,epsilon", [(10, "0.5"), (10, "4"), (100, "1"), (100, "2"), (1000, "2"), (1000, "4")])
@pytest.mark.parametrize("method", ["auto", "subset", "oue", "hash", "hadamard"])
def test_errors_are_those_of_the_theory(method, size, epsilon):
    """Mean squared errors over all values and some repeats, and mean errors; seeds are fixed."""
    if (method in ("oue", "hash", "subset")) and size > 100:
        return
    survey = Survey.choice("x", range(size), epsilon, method=method)
    n, share, errors = 5000, 1 / np.arange(1, size + 1) ** 1.1, []
    for repeat in range(max(2, 300 // size)):
        people = np.random.default_rng(repeat).choice(size, n, p=share / share.sum())
        tally = Estimate(survey)
        tally.add_many(answer_many(survey, people, random_state=repeat))
        errors.append(tally.value - np.bincount(people, minlength=size) / n)
    p, q = survey.design.rates
    noise = (p * (1 - p) / size + q * (1 - q) * (1 - 1 / size)) / (p - q) ** 2 / n
    assert 0.7 < np.mean(np.square(errors)) / noise < 1.4
    assert np.abs(np.mean(errors, 0)).max() < 6 * np.sqrt(1.6 * noise / len(errors))


def test_intervals_cover():
    """93 to 97% of the shares of the population, at n = 1,000 and 100,000; averaged over values and repeats."""
    for size, epsilon, method, n in ((10, "1", "auto", 1000), (100, "1", "auto", 100_000), (100, "4", "auto", 1000)):
        survey = Survey.choice("x", range(size), epsilon, method=method)
        share = 1 / np.arange(1, size + 1) ** 1.1
        share /= share.sum()
        rng, hits = np.random.default_rng(2), []
        for repeat in range(100 if n < 10_000 else 20):
            tally = Estimate(survey)
            tally.add_many(answer_many(survey, rng.choice(size, n, p=share), random_state=repeat))
            low, high = tally.interval()
            hits.append((low <= share) & (share <= high))
        assert 0.93 < np.mean(hits) < 0.97


def test_shrinking_helps_and_never_hurts():
    n = 100_000
    for size, epsilon, most in (
        (2, "1", 1),
        (10, "1", 1),
        (10, "4", 1),
        (100, "1", 1.05),
        (100, "4", 1.05),
        (1000, "1", 0.25),
        (1000, "2", 0.25),
    ):
        survey = Survey.choice("x", range(size), epsilon)
        share = 1 / np.arange(1, size + 1) ** 1.1
        people = np.random.default_rng(3).choice(size, n, p=share / share.sum())
        truth = np.bincount(people, minlength=size) / n
        tally = Estimate(survey)
        tally.add_many(answer_many(survey, people, random_state=4))
        plain, shrunk = (np.mean((tally.shares(shrink=way) - truth) ** 2) for way in (False, True))
        assert shrunk <= most * plain, (size, epsilon)


# -- documents, reports and hostile ones -------------------------------------------------------------------------------


def test_a_survey_is_a_document():
    survey = Survey.choice('Ärger\u2028"', ["a", "ü", 3, True, "other"], "0.7", other="other", method="subset")
    assert Survey.from_json(survey.to_json()) == survey
    assert survey.digest == Survey.from_json(json.dumps(json.loads(survey.to_json()))).digest
    assert survey.digest != Survey.choice("Ärger", ["a", "ü", 3, True, "other"], "0.7", other="other").digest

    def numbers(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [value] + [leaf for part in inner for leaf in numbers(part)]

    assert not any(isinstance(leaf, float) for leaf in numbers(survey.to_dict()))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"discreet": "release"},
        {"extra": 1},
        {"question": {"kind": "dance", "values": [1, 2], "other": None}},
        {"question": {"kind": "choice", "values": [1, 2], "other": None, "more": 1}},
        {"design": {"method": "direct"}},
        {"design": {"method": "direct", "odds": "x"}},
        {"design": {"method": "dance", "odds": "9"}},
        {"design": {"method": "subset", "odds": str(W), "chosen": 2}},
        {"design": {"method": "projective", "odds": str(W), "q": 4, "t": 2}},
        {"design": {"method": "direct", "odds": str(2 * W)}},
        {"epsilon": "0"},
        {"epsilon": 1},
        {"name": ""},
    ],
)
def test_a_survey_that_is_none_is_refused(change):
    document = {**Survey.choice("x", [1, 2], 1).to_dict(), **change}
    with pytest.raises(ValueError):  # a VersionError is one
        Survey.from_json(json.dumps(document))
    for text in ("", "[]", "1", "{"):
        with pytest.raises(VersionError):
            Survey.from_json(text)


@pytest.mark.parametrize(
    "values", [[], ["a"], ["a", "a"], [1.5, 2], [None, 1], [["a"], ["b"]], [2**60, 1], ["\ud800", "a"]]
)
def test_values_are_plain_and_differ(values):
    with pytest.raises(ValueError, match="`values` of a choice"):
        Survey.choice("x", values, 1)


@pytest.mark.parametrize("method", ["direct", "subset", "projective", "hash", "oue", "sue", "hadamard"])
def test_impossible_reports_are_refused_and_counted(method):
    survey = Survey.choice("x", range(9), 1, method=method)
    good = survey.design.answer(2, Bits())
    tally = Estimate(survey)
    tally.add(Report(survey.digest, good))
    wrong = [(-1,), (10**6,), (3, 2, 1, 0), (1, 1), (1 << 70,), (True, 2), ("3",), (1.5,)]
    if method not in ("oue", "sue"):
        wrong.append(())
    for numbers in wrong:
        tally.add(Report(survey.digest, numbers))
    others = [
        Report("sha256:other", good),
        {"v": 2, "survey": survey.digest, "r": list(good)},
        {"v": 1, "survey": survey.digest, "r": list(good), "time": 3},
        "{",
        None,
        7,
    ]
    for report in others:
        tally.add(report)
    assert (tally.n, tally.refused) == (1, len(wrong) + len(others))
    many = Estimate(survey)
    many.add_many([Report(survey.digest, good), *(Report(survey.digest, numbers) for numbers in wrong), *others])
    assert (many.n, many.refused) == (tally.n, tally.refused) and (many.counts == tally.counts).all()


def test_estimates_add_up():
    survey = Survey.choice("x", list("abc"), 2, method="subset")
    parts = []
    for seed, values in enumerate((["a"] * 50, ["b"] * 70)):
        part = Estimate(survey)
        part.add_many(answer_many(survey, values, random_state=seed))
        parts.append(part)
    both = parts[0].merge(parts[1])
    again = Estimate.from_json(both.to_json())
    counted = Estimate.from_counts(survey, both.counts, both.n)
    assert both.n == again.n == counted.n == 120
    assert (both.value == again.value).all() and (both.value == counted.value).all()
    row = both.table()[1]
    assert row["value"] == "b" and row["low"] < row["share"] < row["high"]
    release = both.release()
    assert release.epsilon == 2 and release.neighbours == "replace-one" and release.unit == "person"
    with pytest.raises(ValueError, match="two surveys"):
        both.merge(Estimate(Survey.choice("y", list("abc"), 2)))
    for counts, n in (([1, 2], 3), ([1, 2, 9], 3), ([0.5, 1, 1], 3), ([-1, 2, 2], 3)):
        with pytest.raises(ValueError, match="`counts`"):
            Estimate.from_counts(survey, counts, n)
    with pytest.raises(ValueError, match="no reports yet"):
        Estimate(survey).value  # noqa: B018


def test_columns_of_reports_are_counted():
    import polars

    survey = Survey.choice("x", range(5), "0.5", method="subset")
    reports = answer_many(survey, [0, 1, 2, 3] * 10, random_state=1)
    one, other = Estimate(survey), Estimate(survey)
    one.add_many(reports)
    other.add_many(polars.DataFrame({"r": reports.tolist()})["r"])
    assert other.n == 40 and (one.counts == other.counts).all()
    bad = reports.copy()
    bad[0] = bad[0][::-1]
    one.add_many(bad)
    assert (one.n, one.refused) == (79, 1)
    one.add_many(reports.astype(float))
    assert one.refused == 41


def test_values_that_are_none_are_drawn_or_other():
    survey = Survey.choice("x", list("abc"), 16, method="direct")
    drawn = answer_many(survey, ["?"] * 30_000, random_state=1)
    assert chisquare(np.bincount(drawn, minlength=3)).pvalue > 1e-6
    named = Survey.choice("x", ["a", "b", "rest"], 16, method="direct", other="rest")
    counts = np.bincount(answer_many(named, ["?", None, 3.5, "a"] * 100, random_state=1), minlength=3)
    assert counts.tolist() == [100, 0, 300]
    mixed = Survey.choice("x", [1, True, "1"], 16, method="direct")
    assert np.bincount(answer_many(mixed, [1, True, "1"] * 100, random_state=1)).tolist() == [100, 100, 100]
    assert Choice((1, 2)).encode(1, Bits()) == 0 and Choice(("a", "b"), "b").encode(float("nan"), Bits()) == 1


def test_one_liar_moves_a_share_by_so_much():
    """By formula, at d = 100 and ε = 1: 58.6/n by direct answers, 3.2/n by OUE; and measured."""
    for method, influence in (("direct", 58.6), ("oue", 3.16), ("subset", 3.1)):
        survey = Survey.choice("x", range(100), 1, method=method)
        reports = answer_many(survey, np.zeros(1000, np.int64), random_state=1)
        tally, poisoned = Estimate(survey), Estimate(survey)
        tally.add_many(reports)
        poisoned.add_many(reports)
        assert tally.max_influence * 1000 == pytest.approx(influence, rel=0.02)
        p, q = survey.design.rates
        assert (1 - q) / (p - q) / 1000 == pytest.approx(tally.max_influence)


def test_how_many_people_are_needed():
    survey = Survey.choice("x", range(100), 1)
    n = survey.needed(0.02)
    tally = Estimate(survey)
    tally.add_many(answer_many(survey, np.random.default_rng(0).integers(0, 100, n), random_state=2))
    low, high = tally.interval()
    assert np.mean((high - low) / 2) == pytest.approx(0.02, rel=0.02)
    with pytest.raises(ValueError, match="`error`"):
        survey.needed(0)


def test_designs_that_do_not_fit_are_refused():
    assert issubclass(Direct, Design)
    for make in (
        lambda: Direct(1, W),
        lambda: Direct(3, ONE),
        lambda: Coins(3, W),
        lambda: Subset(4, W, 4),
        lambda: Hadamard(4, W, 4),
        lambda: Hadamard(4, W, 6),
        lambda: Projective(20, W, 3, 3),
        lambda: Hashed(6, W, 2, 5),
        lambda: Unary(3, W, 2),
        lambda: Direct(3, 1.5),
    ):
        with pytest.raises((ValueError, TypeError)):
            make()
    with pytest.raises(ValueError, match="`method`"):
        Survey.choice("x", [1, 2], 1, method="dance")
    with pytest.raises(ValueError, match="Two coins"):
        Survey.choice("x", [1, 2, 3], 1, method="coins")
