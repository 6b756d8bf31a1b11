"""Local recoding: every class is anonymous, every label covers its rows, every cut is scored as by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

from discreet.anonymity import DistinctL, EntropyL, Hierarchy, KMap, TCloseness, anonymise, linkage_attack
from discreet.anonymity.boxes import Axis
from discreet.anonymity.covers import Values
from discreet.anonymity.cuts import Points, cuts
from discreet.anonymity.encode import encode
from discreet.anonymity.mondrian import mondrian
from discreet.errors import NotSupported

pytestmark = pytest.mark.catalogue("AN2")

CITIES = {"*": {"north": ["Oslo", "Bergen", "Turku"], "south": ["Rome", "Bari"], "east": ["Minsk"]}}
TREES = {
    "age": Hierarchy.intervals(0, 99, width=10, factors=(2,)),
    "city": Hierarchy.tree(CITIES),
    "sex": Hierarchy.flat(["f", "m"]),
}


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "city": rng.choice(
                ["Oslo", "Bergen", "Turku", "Rome", "Bari", "Minsk"], n, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]
            ),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "cold", "asthma", "none"], n, p=[0.1, 0.2, 0.1, 0.6]),
        }
    )


def by_hand(ages, k, **how):
    tree = {"age": TREES["age"]}
    return mondrian(encode({"age": ages}, tree), tree, k, **how).frame()["age"].to_list()


def test_boxes_and_regions_by_hand():
    """Two gaps: the boxes end at people's own ages, the regions midway between them."""
    assert by_hand([20, 21, 60, 61], 2) == ["20-21"] * 2 + ["60-61"] * 2
    assert by_hand([20, 21, 60, 61], 2, tight=False) == ["0-40"] * 2 + ["41-99"] * 2
    assert by_hand([20, 21, 60, 61], 2, recode="nodes") == ["20-29"] * 2 + ["60-69"] * 2
    assert by_hand([20, 21, 60, 61], 3) == ["20-61"] * 4
    assert by_hand([5, 5, 5, 5], 2) == ["5"] * 4


def test_relaxed_cuts_divide_equal_values():
    """7 x 'm' and 1 x 'f': strictly nothing can be cut at k = 3; relaxed, five of the 'm' stand by themselves."""
    tree = {"sex": TREES["sex"]}
    table = encode({"sex": ["m"] * 7 + ["f"]}, tree)
    assert mondrian(table, tree, 3).classes.tolist() == [8]
    loose = mondrian(table, tree, 3, strict=False)
    assert sorted(loose.classes) == [3, 5]
    assert sorted(loose.texts["sex"]) == ["*", "m"]
    assert loose.loss == pytest.approx(3 / 8)


@pytest.mark.parametrize("recode", ["sets", "nodes"])
@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_classes_are_large_and_labels_cover_their_rows(recode, tight, strict):
    table, names = people(), ["age", "city", "sex"]
    found = mondrian(encode(table, TREES), TREES, 5, recode=recode, tight=tight, strict=strict)
    shown = found.frame()
    assert found.classes.min() >= 5 and found.classes.sum() == len(table)
    assert shown.group_by(names).len()["len"].min() >= 5
    assert len(found.classes) > 20
    for name in names:
        values = Values(list(TREES[name].domain))
        held = {label: set(covered(TREES[name], values, label)) for label in shown[name].unique()}
        assert all(str(v) in held[label] for v, label in zip(table[name], shown[name], strict=True))
        if recode == "nodes":
            assert set(shown[name]) <= {label for level in TREES[name].names for label in level}
    assert found.loss == pytest.approx(loss_by_hand(shown))


def covered(tree, values, label):
    for level, names in enumerate(tree.names):
        if label in names:
            return [tree.domain[i] for i in np.flatnonzero(tree.codes[level] == names.index(label))]
    return [values.words[i] for i in values.covered(label)]


def loss_by_hand(shown):
    """Counted from the published labels alone."""
    total = 0.0
    for name in shown.columns:
        values = Values(list(TREES[name].domain))
        size = {label: len(covered(TREES[name], values, label)) for label in shown[name].unique()}
        total += sum(size[label] - 1 for label in shown[name]) / (len(TREES[name].domain) - 1)
    return total / shown.height / shown.width


def test_strict_regions_do_not_overlap():
    """Every point of the domain lies in exactly one region, so regions say nothing of where people are."""
    trees = {"age": TREES["age"], "sex": TREES["sex"]}
    found = mondrian(encode(people(), trees), trees, 5, tight=False)
    ages, sexes = Values(list(trees["age"].domain)), Values(["f", "m"])
    hits = np.zeros((100, 2), dtype=int)
    for age, sex in zip(found.texts["age"], found.texts["sex"], strict=True):
        hits[np.ix_(ages.covered(age), sexes.covered(sex))] += 1
    assert (hits == 1).all()


def test_equal_rows_stay_together_when_strict():
    table = people().select("age", "city", "sex")
    shown = mondrian(encode(table, TREES), TREES, 5).frame().rename(lambda c: c + "_")
    both = pl.concat([table, shown], how="horizontal").unique()
    assert len(both) == len(table.unique())


@given(
    some.lists(
        some.tuples(some.integers(0, 3), some.integers(0, 5), some.integers(0, 5), some.integers(1, 3)), min_size=1
    ),
    some.integers(1, 3),
    some.booleans(),
)
def test_every_cut_is_scored_as_by_hand(rows, k, strict):
    """Against all cuts of all classes, each counted from scratch: an interval, a set, and a node of a hierarchy."""
    tree = Hierarchy.of([list("uvwxyz"), list("aabbbc"), list("dddddc"), list("******")])
    axes = [Axis.of(Hierarchy.intervals(0, 5, width=1), "sets"), Axis.of(tree, "sets"), Axis.of(tree, "nodes")]
    assert [axis.kind for axis in axes] == ["span", "set", "node"]
    rows = sorted(rows)
    part = np.unique([row[0] for row in rows], return_inverse=True)[1]
    places = np.array([(row[1], row[2], (row[1] + row[2]) % 6) for row in rows])
    weights = np.array([row[3] for row in rows])
    found = cuts(Points(axes, places, weights, part), k, strict=strict, balanced=True)
    for j, (cut, even) in enumerate(zip(found[:3], found[3:], strict=True)):
        for c in range(part.max() + 1):
            inside = np.flatnonzero(part == c)
            order = inside[np.argsort(places[inside, j], kind="stable")]
            options, lean = [], []
            for i in range(1, len(order)):
                left, right = order[:i], order[i:]
                sizes = weights[left].sum(), weights[right].sum()
                if min(sizes) < k or (strict and places[left[-1], j] == places[right[0], j]):
                    continue
                options.append(sum(n * lost(axes, places[half]) for n, half in zip(sizes, (left, right), strict=True)))
                lean.append(abs(int(sizes[0]) - int(sizes[1])))
            assert cut.score[c] == pytest.approx(min(options, default=np.inf))
            assert even.score[c] == min(lean, default=np.inf)
            if options:
                right = cut.right(part)
                halves = [inside[~right[inside]], inside[right[inside]]]
                assert sum(weights[h].sum() * lost(axes, places[h]) for h in halves) == pytest.approx(min(options))


def lost(axes, places):
    """(values - 1)/(domain - 1), summed over the columns."""
    span, held, node = places.T
    tree = axes[2].tree
    level = next(g for g in range(tree.height) if len(set(tree.codes[g][axes[2].value_at[node]])) == 1)
    leaves = tree.leaves[level][tree.codes[level][axes[2].value_at[node[0]]]]
    return (span.max() - span.min()) / 5 + (len(set(held)) - 1) / 5 + (leaves - 1) / 5


@pytest.mark.catalogue("AN3")
@pytest.mark.parametrize("criterion", [DistinctL(3), EntropyL(2.0), TCloseness(0.3)], ids=str)
def test_both_halves_of_a_cut_meet_the_criteria(criterion):
    table = people(600)
    found = mondrian(encode(table, TREES, ["ill"]), TREES, 5, [criterion])
    ill = table["ill"].to_numpy()
    whole = np.array([(ill == v).mean() for v in np.unique(ill)])
    assert len(found.classes) > 5
    for c in range(len(found.classes)):
        counts = np.array([(ill[found.labels == c] == v).sum() for v in np.unique(ill)])
        share = counts / counts.sum()
        if isinstance(criterion, DistinctL):
            assert (counts > 0).sum() >= 3
        elif isinstance(criterion, EntropyL):
            assert -(share[share > 0] * np.log(share[share > 0])).sum() >= np.log(2) - 1e-9
        else:
            assert np.abs(share - whole).sum() / 2 <= 0.3 + 1e-9
    assert found.loss >= mondrian(encode(table, TREES), TREES, 5).loss


@pytest.mark.catalogue("AN3")
def test_several_sensitive_columns_divide_each_other():
    """'ill' has two values in each class; but given 'pay', one: the others count as quasi-identifiers."""
    rows = {"sex": list("ffffmmmm"), "ill": list("ababaabb"), "pay": list("xxyyxyxy")}
    trees = {"sex": TREES["sex"]}
    one = mondrian(encode(rows, trees, ["ill"]), trees, 2, [DistinctL(2)])
    assert sorted(one.texts["sex"]) == ["f", "m"]
    rows["pay"] = list("xyxyxxyy")
    both = mondrian(encode(rows, trees, ["ill", "pay"]), trees, 2, [DistinctL(1)])
    assert sorted(both.texts["sex"]) == ["f", "m"]
    with pytest.raises(ValueError, match="whole table does not meet"):
        mondrian(encode({**rows, "pay": rows["ill"]}, trees, ["ill", "pay"]), trees, 2, [DistinctL(2)])


def test_top_groups_are_never_joined():
    tree = {"city": Hierarchy.of([["Oslo", "Bergen", "Rome", "Bari"], ["north", "north", "south", "south"]])}
    found = mondrian(encode({"city": ["Oslo", "Bergen", "Rome", "Bari"]}, tree), tree, 2, recode="nodes")
    assert sorted(found.texts["city"]) == ["north", "south"]
    with pytest.raises(ValueError, match="one has only 1"):
        mondrian(encode({"city": ["Oslo", "Bergen", "Rome"]}, tree), tree, 2, recode="nodes")


def test_days_and_measurements_are_intervals():
    days = {"day": Hierarchy.dates("2024-01-01", "2024-12-31")}
    rows = {"day": ["2024-01-03", "2024-02-04", "2024-08-01", "2024-08-02"]}
    shown = mondrian(encode(rows, days), days, 2).frame()["day"].unique().sort().to_list()
    assert shown == ["2024-01-03 to 2024-02-04", "2024-08-01 to 2024-08-02"]
    heights = {"m": Hierarchy.intervals(edges=[1.0, 1.25, 1.5, 1.75, 2.0], whole=False)}
    rows = {"m": [1.1, 1.3, 1.8, 1.9]}
    assert mondrian(encode(rows, heights), heights, 2).frame()["m"].to_list() == ["[1, 1.5)"] * 2 + ["[1.75, 2]"] * 2


def test_bad_requests():
    table = encode(people(10), TREES, ["ill"])
    for k, words in ((11, "even before any cut one has only 10"), (0, "at least 1")):
        with pytest.raises(ValueError, match=words):
            mondrian(table, TREES, k)
    with pytest.raises(ValueError, match='"sets" or "nodes"'):
        mondrian(table, TREES, 2, recode="boxes")
    with pytest.raises(NotSupported, match="population"):
        mondrian(table, TREES, 2, [KMap(2)])
    with pytest.raises(ValueError, match="only 0"):
        mondrian(encode(people(0), TREES), TREES, 2)


def test_through_anonymise():
    found = anonymise(people(), TREES, sensitive=["ill"], k=5, l=2, method="mondrian")
    assert found.classes.min() >= 5 and found.table.group_by("age", "city", "sex").len()["len"].min() >= 5
    assert found.table.group_by("age", "city", "sex").agg(pl.col("ill").n_unique())["ill"].min() >= 2
    assert found.losses["ncp"] < anonymise(people(), TREES, sensitive=["ill"], k=5, l=2, suppress=0).losses["ncp"]


def shown(column, tree, k, **how):
    full = {"x": tree.with_missing("unknown")}
    return mondrian(encode({"x": column}, full), full, k, **how).frame()["x"].to_list()


@pytest.mark.parametrize("tight", [True, False])
def test_measurements_with_missing_values(tight):
    """One missing value among measurements: in a group with the top, whose end is included."""
    tree = Hierarchy.intervals(0, 100, 10, whole=False)
    found = shown([5.0, 15.0, 25.0, 85.0, 95.0, 100.0, None], tree, 3, tight=tight)
    assert found[:3] == (["[0, 30)"] if tight else ["[0, 60)"]) * 3
    assert found[3:] == (["[80, 100] or unknown"] if tight else ["[60, 100] or unknown"]) * 4


def test_missing_values_in_a_group_of_their_own():
    tree = Hierarchy.intervals(0, 100, 10, whole=False)
    found = shown([5.0, 15.0, 25.0, 85.0, 95.0, 100.0, None, None, None], tree, 3)
    assert found == ["[0, 30)"] * 3 + ["[80, 100]"] * 3 + ["unknown"] * 3
    assert shown([5.0, 100.0, None, None], tree, 2) == ["[0, 100]"] * 2 + ["unknown"] * 2
    assert shown([5.0, 100.0, None], tree, 3) == ["*"] * 3


def test_ages_with_missing_values_are_intervals():
    """Never a list of who is how old."""
    tree = TREES["age"]
    assert shown([20, 21, 24, 60, 63, 66, None], tree, 3) == ["20-24"] * 3 + ["60-66 or unknown"] * 4
    assert shown([20, 24, 29, None], tree, 4) == ["20-29 or unknown"] * 4
    assert shown([20, 20, None], tree, 3) == ["20 or unknown"] * 3
    assert shown([20, 21, 60, None], tree, 2, tight=False) == ["0-40"] * 2 + ["41-99 or unknown"] * 2
    days = Hierarchy.dates("2024-01-01", "2024-12-31")
    assert shown(["2024-01-03", "2024-02-04", None], days, 3) == ["2024-01-03 to 2024-02-04 or unknown"] * 3


def test_a_missing_category_may_be_anywhere_in_the_domain():
    tree = Hierarchy.ordered(["none", "1", "2", "3", "4"]).with_missing("none")
    axis = Axis.of(tree, "sets")
    assert axis.kind == "span" and axis.value_at.tolist() == [1, 2, 3, 4, 0]
    assert axis.text(0, 2, None) == "1-3" and axis.text(1, 4, np.array([1, 2, 4])) == "2-3 or none"
    assert axis.text(0, 4, None) == "*" and axis.text(4, 4, None) == "none"
    assert Axis.of(Hierarchy.flat(["b", "a"]).with_missing("none"), "sets").kind == "set"


def test_intervals_hold_their_members_to_the_last_digit():
    edges = [1234567.0, 1234567.25, 1234567.5, 1234567.75, 1234568.0]
    tree = {"x": Hierarchy.intervals(edges=edges, whole=False)}
    rows = [1234567.1, 1234567.3, 1234567.6, 1234567.9]
    found = mondrian(encode({"x": rows}, tree), tree, 2).frame()["x"].to_list()
    assert found == ["[1234567, 1234567.5)"] * 2 + ["[1234567.5, 1234568]"] * 2


def test_anonymise_with_missing_measurements():
    """Through the front door: every class has k rows, and every label is read again by an attacker."""
    rng = np.random.default_rng(0)
    bmi = [None if i % 9 == 0 else float(v) for i, v in enumerate(rng.uniform(0, 100, 60))]
    trees = {"bmi": Hierarchy.intervals(0, 100, 10, whole=False)}
    found = anonymise({"bmi": bmi}, trees, k=3, method="mondrian", missing="unknown")
    assert found.classes.min() >= 3
    known = {"bmi": [b for b in bmi if b is not None]}
    assert linkage_attack(found.table, known, on="bmi").matched == len(known["bmi"])


def test_a_loss_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="returned NaN"):
        anonymise(people(50), {"age": TREES["age"]}, k=2, loss=lambda node, groups: float("nan"))
