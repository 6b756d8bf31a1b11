"""Attacks against brute force, and before and after anonymising."""

from datetime import date
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

from discreet.anonymity import Hierarchy, anonymise, background_attack, homogeneity_attack, linkage_attack
from discreet.anonymity.covers import Values

pytestmark = pytest.mark.catalogue("AN5")

NUMBERS = ["-5", "0", "9", "10", "10.5", "19", "20", "654", "65432", "none"]
DAYS = ["2019-12-31", "2020-01-01", "2024-03-31", "2024-04-01", "2024-12-31", "2029-12-31"]


@pytest.mark.parametrize(
    ("label", "held"),
    [
        ("10", "10"),
        ("10-19", "10 10.5 19"),
        ("10 to 19", "10 10.5 19"),
        ("-5-0", "-5 0"),
        ("-10--1", "-5"),
        ("[10, 20)", "10 10.5 19"),
        ("[10, 20[", "10 10.5 19"),
        ("[10, 20]", "10 10.5 19 20"),
        ("]10, 20]", "10.5 19 20"),
        ("(10; 20)", "10.5 19"),
        ("65*", "654"),
        ("65***", "654 65432"),
        ("**4", "654"),
        ("{10 | none | 77}", "10 none"),
        ("*****", " ".join(NUMBERS)),
        ("unheard of", ""),
        ("6*4", ""),
    ],
)
def test_what_labels_cover(label, held):
    values = Values(NUMBERS)
    assert sorted(values.words[i] for i in values.covered(label)) == sorted(held.split())


@pytest.mark.parametrize(
    ("label", "held"),
    [
        ("2024", [2, 3, 4]),
        ("2024-03", [2]),
        ("2024-Q1", [2]),
        ("2024-Q2", [3]),
        ("2020s", [1, 2, 3, 4, 5]),
        ("2019-12-31 to 2024-03-31", [0, 1, 2]),
        ("2024-04-01", [3]),
        ("2024-13", []),
        ("spring", []),
        ("*", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_what_periods_cover(label, held):
    assert sorted(Values(DAYS).covered(label).tolist()) == held


def test_every_label_a_hierarchy_writes_is_read():
    trees = [
        Hierarchy.intervals(-10, 29, width=5, factors=(2, 2)),
        Hierarchy.prefix(["10115", "10117", "2011", "99999"]),
        Hierarchy.prefix(["10115", "10117", "2011", "99999"], from_end=False),
        Hierarchy.dates("2023-11-20", "2024-05-03"),
    ]
    for tree in trees:
        values = Values(list(tree.domain))
        for names, codes in zip(tree.names, tree.codes, strict=True):
            for group, label in enumerate(names):
                assert set(np.flatnonzero(codes == group)) <= set(values.covered(label).tolist()), label


def brute(released, auxiliary, pairs, true=None):
    """Every person against every row."""
    fits = np.array([[all(f(p, r) for f in pairs) for r in released] for p in auxiliary], dtype=bool)
    fits = fits.reshape(len(auxiliary), len(released))
    c, f = fits.sum(axis=1), fits.sum(axis=0)
    most = np.maximum.outer(c, f)
    sure = fits & (most == 1)
    right = None if true is None else [(p, r) for p, r in true if fits[p, r]]
    return {
        "matched": int((c > 0).sum()),
        "strangers": int((f == 0).sum()),
        "reidentified": int(sure.sum()),
        "expected": sum(1 / most[p, r] for p, r in right)
        if right is not None
        else float((fits / most.clip(1) ** 2).sum()),
        "correct": None if right is None else sum(bool(sure[p, r]) for p, r in right),
    }


LABELS = ["*", "0-4", "5-9", "3-6", "0-9", "7", "{1 | 2}"]
HELD = [range(10), range(5), range(5, 10), range(3, 7), range(10), [7], [1, 2]]


@given(
    some.lists(some.tuples(some.integers(0, 6), some.sampled_from("fm*")), min_size=1, max_size=12),
    some.lists(some.tuples(some.integers(0, 9), some.sampled_from("fm")), min_size=1, max_size=12),
    some.booleans(),
)
def test_linkage_against_brute_force(rows, names, scored):
    """Overlapping labels of one column, `*` in the other; the i-th person is the i-th row."""
    released = {"age": [LABELS[a] for a, _ in rows], "sex": [s for _, s in rows], "id": list(range(len(rows)))}
    auxiliary = {"years": [a for a, _ in names], "sex": [s for _, s in names], "who": list(range(len(names)))}
    found = linkage_attack(
        released, auxiliary, on={"years": "age", "sex": "sex"}, truth=("id", "who") if scored else None
    )
    rules = [lambda p, r: p[0] in HELD[r[0]], lambda p, r: r[1] in (p[1], "*")]
    true = [(i, i) for i in range(min(len(rows), len(names)))] if scored else None
    expected = brute(rows, names, rules, true)
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)
    assert found.expected <= min(len(rows), len(names)) + 1e-9


def test_linkage_by_hand():
    """Cem alone fits the third row; two rows fit Ann and Bea each; Dot fits nothing."""
    published = {"age": ["20-29", "20-29", "30-39"], "ill": ["flu", "cold", "asthma"], "id": ["b", "a", "c"]}
    names = {"age": [21, 28, 35, 80], "id": ["a", "b", "c", "d"]}
    found = linkage_attack(published, names, on=["age"], truth="id")
    assert (found.matched, found.reidentified, found.correct, found.expected) == (3, 1, 1, 2.0)
    assert "1 re-identified, 1 of them rightly" in str(found)


def test_one_row_that_fits_two_people_identifies_neither():
    found = linkage_attack({"age": ["20-29"]}, {"age": [21, 28]}, on=["age"])
    assert (found.reidentified, found.matched, found.expected) == (0, 2, 0.5)


def test_functions_and_hierarchies_generalise():
    published = {"age": ["young", "old", "old"], "place": ["north", "south", "*"]}
    names = {"age": [12, 70, 80], "city": ["Oslo", "Rome", "Oslo"]}
    tree = Hierarchy.tree({"any": {"north": ["Oslo"], "south": ["Rome", "Bari"]}})
    plain = linkage_attack(published, names, on={"age": lambda a: "young" if a < 18 else "old"})
    assert (plain.reidentified, plain.expected) == (1, 2.0)
    both = linkage_attack(published, names, on={"age": lambda a: "young" if a < 18 else "old", "city": ("place", tree)})
    assert (both.reidentified, both.matched) == (1, 3)  # Oslo fits `*` alone, Rome both


def test_missing_values_fit_stars_alone():
    found = linkage_attack({"age": ["20-29", "*"]}, {"age": [None, 25]}, on=["age"])
    assert found.matched == 2 and found.reidentified == 0
    assert linkage_attack({"age": ["20-29"]}, {"age": [None, 90]}, on=["age"]).strangers == 1


def test_nobody_fits():
    found = linkage_attack({"age": ["20-29"]}, {"age": [50]}, on=["age"])
    assert (found.matched, found.reidentified, found.expected, found.strangers) == (0, 0, 0.0, 1)
    empty = pl.DataFrame({"age": pl.Series([], dtype=pl.Int64)})
    assert linkage_attack({"age": ["20-29"]}, empty, on=["age"]).matched == 0


def test_bad_requests():
    with pytest.raises(ValueError, match="at least one column"):
        linkage_attack({"a": [1]}, {"a": [1]}, on=[])
    with pytest.raises(TypeError, match="must be a column"):
        linkage_attack({"a": [1]}, {"a": [1]}, on={"a": 3})
    with pytest.raises(ValueError, match="name each person once"):
        linkage_attack({"a": [1, 2], "id": [7, 7]}, {"a": [1, 2], "id": [7, 7]}, on=["a"], truth="id")
    for excluded in (-1, True, 1.0, None):
        with pytest.raises(ValueError, match=f"`excluded` must be a whole number >= 0. Got {excluded}"):
            background_attack({"a": [1], "b": [1]}, ["a"], "b", excluded)


def clinic(n=800):
    rng = np.random.default_rng(3)
    days = [date(1950, 1, 1).toordinal() + int(d) for d in rng.integers(0, 20_000, n)]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "born": [date.fromordinal(d) for d in days],
            "zip": [f"{z:05d}" for z in rng.choice([10115, 10117, 10999, 20095, 20099, 80331], n)],
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "cold", "asthma", "none"], n),
        }
    )


@pytest.mark.filterwarnings("ignore::discreet.anonymity.UniqueWarning")
@pytest.mark.parametrize("method", ["optimal", "mondrian"])
def test_before_and_after(method):
    """With names and birthdays nearly everybody is found; afterwards nobody, and at most one guess in k is right."""
    table, names = clinic(), ["born", "zip", "sex"]
    before = linkage_attack(table, table, on=names, truth="id")
    assert before.correct == before.reidentified > 700
    trees = {
        "born": Hierarchy.dates("1950-01-01", "2004-12-31"),
        "zip": Hierarchy.prefix(table["zip"].unique().sort().to_list()),
        "sex": Hierarchy.flat(["f", "m"]),
    }
    found = anonymise(table, trees, sensitive=["ill"], keep=["id"], k=5, suppress=0.02, method=method)
    after = linkage_attack(found.table, table, on=names, truth="id")
    assert after.reidentified == 0 and after.strangers == 0
    assert 0 < after.expected <= len(table) / 5
    assert after.matched >= len(found.table)


def test_homogeneity_by_hand():
    table = {"zip": ["1*"] * 3 + ["2*"] * 2, "ill": ["flu", "flu", "cold", "flu", "flu"]}
    found = homogeneity_attack(table, ["zip"], "ill")
    assert (found.disclosed, found.classes, found.share, found.largest) == (2, 1, 0.4, 1.0)
    assert found.mean == pytest.approx((2 * 2 / 3 + 1 / 3 + 2) / 5)


@given(some.lists(some.tuples(some.integers(0, 2), some.integers(0, 4)), min_size=1, max_size=25), some.integers(0, 4))
def test_background_against_brute_force(rows, m):
    """For each row every choice of m values that are not its own, the attacker's best."""
    found = background_attack({"q": [q for q, _ in rows], "s": [s for _, s in rows]}, ["q"], "s", m)
    best = []
    for q, s in rows:
        mine = [other for klass, other in rows if klass == q]
        others = sorted(set(mine) - {s})
        choices = combinations(others, min(m, len(others)))
        best.append(max(mine.count(s) / sum(v not in out for v in mine) for out in choices))
    assert found.disclosed == sum(b == 1 for b in best)
    assert (found.largest, found.mean) == pytest.approx((max(best), np.mean(best)))


def test_values_ruled_out():
    """Who is known not to have a cold, in a class of flu and cold, has the flu."""
    table = {"zip": ["1*"] * 3 + ["2*"] * 3, "ill": ["flu", "flu", "cold", "flu", "asthma", "cold"]}
    found = background_attack(table, ["zip"], "ill", ["cold"])
    assert (found.rows, found.disclosed, found.classes) == (4, 2, 1)
    assert background_attack(table, ["zip"], "ill", ["cold", "flu"]).share == 1.0


@pytest.mark.parametrize(
    ("column", "out"),
    [
        ([1, 2, 2, 3], [1.0]),
        ([1.0, 2.0, 2.0, 2.5], [1]),
        ([True, False, False, False], [True]),
        (["1", "2", "2", "3"], np.array([1])),
        ([None, "2", "2", "3"], [None]),
    ],
)
def test_values_ruled_out_are_read_as_the_column_is(column, out):
    table = {"q": ["x", "x", "y", "z"], "s": column}
    found = background_attack(table, ["q"], "s", out)
    assert (found.rows, found.disclosed) == (3, 3)
    assert background_attack(table, "q", "s", []).disclosed == (3 if None in column else 2)  # a gap hides nobody


def test_values_ruled_out_must_occur():
    """They are counted, not named: who misspells a value sees no value of the table either."""
    table = {"q": ["x", "x"], "s": ["flu", "cold"]}
    with pytest.raises(TypeError, match="in a list"):
        background_attack(table, ["q"], "s", "flu")
    with pytest.raises(ValueError, match="2 of the values") as caught:
        background_attack(table, ["q"], "s", ["flu", "fluu", "ZEBRA"])
    assert "ZEBRA" not in str(caught.value)
    with pytest.raises(TypeError, match="mix types"):
        background_attack(table, ["q"], "s", ["flu", 1])


def test_one_column_by_its_name():
    found = linkage_attack({"age": ["20-29", "30-39"]}, {"age": [21, 35]}, on="age")
    assert found.reidentified == 2
    assert homogeneity_attack({"zip": ["1", "1"], "ill": ["flu", "flu"]}, "zip", "ill").share == 1.0


def test_numbers_match_whatever_the_other_rows_are():
    found = linkage_attack({"age": [39.0, 40.0]}, {"age": [39.0, 40.0, 41.5]}, on=["age"])
    assert found.reidentified == 2 and found.strangers == 0


@pytest.mark.parametrize(
    ("label", "age"),
    [
        ("20-29 or unknown", 25),
        ("25 or unknown", 25),
        ("-5 to 30 or not known", 25),
        ("[0, 25.5) or unknown", 25.25),
        ("2024-01-01 to 2024-02-01 or unknown", date(2024, 1, 9)),
        ("2024-01-09 or unknown", date(2024, 1, 9)),
        ("this or that", "this or that"),
    ],
)
def test_groups_with_missing_values_are_read(label, age):
    assert linkage_attack({"age": [label]}, {"age": [age]}, on=["age"]).reidentified == 1
