"""Criteria and losses against their definitions, written out."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from discreet.anonymity import (
    DeltaPresence,
    DistinctL,
    EntropyL,
    Hierarchy,
    KAnonymity,
    KMap,
    RecursiveCL,
    TCloseness,
    losses,
)
from discreet.anonymity.checker import Checker
from discreet.anonymity.encode import encode, labelled
from discreet.anonymity.groups import Groups, Histogram

TREE = Hierarchy.tree({"any": {"ab": ["a", "b"], "cde": {"cd": ["c", "d"], "e": ["e"]}}})


def histogram(counts):
    """Dense counts (class × value) as the sparse form."""
    counts = np.asarray(counts)
    owner, value = np.nonzero(counts)
    reference = counts.sum(axis=0) / counts.sum()
    names = tuple("abcde"[: counts.shape[1]])
    return Histogram(np.arange(len(counts)), owner, value, counts[owner, value], reference, names)


def groups(counts):
    counts = np.asarray(counts)
    return Groups(counts.sum(axis=1), int(counts.sum()), histograms={"ill": histogram(counts)})


def transport(p, q, cost):
    """The earth mover's distance as the linear programme that defines it."""
    m = len(p)
    rows = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    return linprog(cost.ravel(), A_eq=rows, b_eq=np.concatenate([p, q]), method="highs").fun


COUNTS = [[3, 3, 3, 0, 0], [9, 1, 0, 0, 0], [1, 2, 3, 4, 5], [0, 0, 0, 0, 2], [4, 4, 1, 1, 0]]


@pytest.mark.catalogue("AN3")
def test_diversity_by_definition():
    data = groups(COUNTS)
    assert KAnonymity(9).check(data).tolist() == [True, True, True, False, True]
    assert DistinctL(3).check(data).tolist() == [True, False, True, False, True]
    assert EntropyL(3).check(data).tolist() == [True, False, True, False, True]  # the first with equality
    assert EntropyL(3.5).check(data).tolist() == [False, False, True, False, False]
    for c, l in ((1.0, 2), (2.0, 2), (4.0, 3), (1.1, 3), (10.0, 2)):
        wanted = []
        for row in COUNTS:
            ranked = sorted(row, reverse=True)
            wanted.append(ranked[0] < c * sum(ranked[l - 1 :]))
        assert RecursiveCL(c, l).check(data).tolist() == wanted


@pytest.mark.catalogue("AN4")
@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
def test_closeness_is_the_earth_movers_distance(kind):
    found = histogram(COUNTS)
    m = 5
    if kind == "equal":
        cost, criterion = 1.0 - np.eye(m), TCloseness(0.2)
    elif kind == "ordered":
        cost, criterion = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) / (m - 1), TCloseness(0.2, "ordered")
    else:
        same = [np.equal.outer(codes, codes) for codes in TREE.codes]
        meet = np.argmax(same, axis=0)  # the level of the lowest common group
        cost, criterion = meet / (TREE.height - 1), TCloseness(0.2, TREE)
    shares = np.array(COUNTS) / np.sum(COUNTS, axis=1, keepdims=True)
    wanted = [transport(p, found.reference, cost) for p in shares]
    assert np.allclose(criterion.distances(found), wanted, atol=1e-9)


@pytest.mark.catalogue("AN4")
def test_published_example_of_closeness():
    """Salaries 3..11 thousand: {3,4,5} is 0.375 from the table and {6,8,11} is 0.167 (Li et al. 2007, section 4)."""
    counts = np.zeros((2, 9))
    counts[0, [0, 1, 2]], counts[1, [3, 5, 8]] = 1, 1
    owner, value = np.nonzero(counts)
    found = Histogram(np.arange(2), owner, value, np.ones(6, dtype=np.int64), np.full(9, 1 / 9), tuple("345678901"))
    assert np.allclose(TCloseness(0.2, "ordered").distances(found), [0.375, 1 / 6])


def test_a_given_order_overrides_the_alphabet():
    found = histogram([[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    near = TCloseness(0.5, "ordered", order=("a", "c", "b")).distances(found)
    plain = TCloseness(0.5, "ordered").distances(found)
    assert np.allclose(near[[0, 1, 2]], plain[[0, 2, 1]]) and not np.allclose(near, plain)
    with pytest.raises(ValueError, match="lacks 1"):
        TCloseness(0.5, "ordered", order=("a", "b")).distances(found)


def test_numbers_written_as_text_are_ordered_by_size():
    codes, names = labelled(pl.Series("pay", ["10", "2", "1", "10", "-3", "2.5"]))
    assert names == ["-3", "1", "2", "2.5", "10"] and codes.tolist() == [4, 2, 1, 4, 0, 3]
    assert labelled(pl.Series("pay", ["10", None, "9"]), "none")[1] == ["9", "10", "none"]
    assert labelled(pl.Series("pay", ["10", "", "9", " "]), "none")[1] == ["9", "10", "none"]
    for words in (["10", "2", "many"], ["10", "2", "nan"], ["10", "2", "-"]):
        assert labelled(pl.Series("pay", words))[1] == sorted(words)
    rows = {"zip": ["a"] * 3, "pay": ["1", "2", "10"]}
    trees = {"zip": Hierarchy.flat("ab")}
    as_text, as_numbers = (
        encode({**rows, "pay": pay}, trees, ["pay"]).sensitive_names["pay"] for pay in (rows["pay"], [1, 2, 10])
    )
    assert as_text == as_numbers


def test_population_criteria():
    data = Groups(np.array([1, 2, 4]), 7, population=np.array([10, 4, 4]))
    assert KMap(5).check(data).tolist() == [True, False, False]
    assert DeltaPresence(0.0, 0.5).check(data).tolist() == [True, True, False]
    assert DeltaPresence(0.2, 1.0).check(data).tolist() == [False, True, True]
    absent = Groups(data.sizes, 7, population=data.population, absent=True)
    assert not DeltaPresence(0.05, 1.0).check(absent).any() and DeltaPresence(0.0, 1.0).check(absent).all()


@pytest.mark.catalogue("AN3")
def test_with_several_sensitive_columns_the_others_divide_the_class():
    """Two illnesses in the class, but each income has one alone: who knows an income knows the illness."""
    rows = {"zip": ["1"] * 4, "ill": ["flu", "flu", "cold", "cold"], "income": ["low", "low", "high", "high"]}
    trees = {"zip": Hierarchy.flat(["1", "2"])}

    def fine(sensitive, column=None):
        checker = Checker(encode(rows, trees, sensitive), list(trees.values()), [DistinctL(2, column)], 0)
        return checker.judge((0,)).feasible

    assert fine(["ill"]) and fine(["income"]) and not fine(["ill", "income"])
    rows["income"] = ["low", "high", "low", "high"]
    assert fine(["ill", "income"])
    rows["income"] = ["low", "high", "low", "low"]  # the high income is one person
    assert not fine(["ill", "income"]) and not fine(["ill", "income"], "ill") and not fine(["ill", "income"], "income")
    rows["income"] = ["low"] * 4  # a constant column divides nothing, but is not diverse itself
    assert fine(["ill", "income"], "ill") and not fine(["ill", "income"], "income")


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(2.5),
        lambda: KAnonymity(True),
        lambda: DistinctL(-1),
        lambda: EntropyL(0.5),
        lambda: RecursiveCL(0, 2),
        lambda: TCloseness(1.5),
        lambda: TCloseness(0.5, "far"),
        lambda: DeltaPresence(0.5, 0.2),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_losses_by_definition():
    rng = np.random.default_rng(3)
    rows = {"x": rng.choice(list("abcde"), 60), "y": rng.choice(["1", "2", "3"], 60)}
    trees = {"x": TREE, "y": Hierarchy.flat("123")}
    encoded = encode(rows, trees)
    checker = Checker(encoded, list(trees.values()), [KAnonymity(6)], 30)
    node = (1, 0)
    found = checker.judge(node).groups
    frame = pl.DataFrame(
        {"x": [TREE.names[1][TREE.codes[1][TREE.domain.index(v)]] for v in rows["x"]], "y": rows["y"], "raw": rows["x"]}
    )
    frame = frame.with_columns(size=pl.len().over("x", "y"), group=pl.len().over("x"), own=pl.len().over("raw"))
    out = frame["size"].to_numpy() < 6
    assert 0 < out.sum() < 60 and found.suppressed == out.sum()
    spread = np.array([{"a": 0, "b": 0, "cd": 1, "e": 0}[v] for v in frame["x"]]) / 4 / 2
    args = (encoded.codes, encoded.weights, list(trees.values()))
    assert losses.ncp(*args).of(node, found) == pytest.approx(np.where(out, 1, spread).mean())
    share = frame.group_by("x", "raw").len().with_columns(p=pl.col("len") / pl.col("len").sum().over("x"))
    unsure = {k: -sum(p * np.log(p) for p in part["p"]) for (k,), part in share.group_by("x")}
    entropy = np.array([unsure[v] for v in frame["x"]]) / np.log(5) / 2
    assert losses.entropy(*args).of(node, found) == pytest.approx(np.where(out, 1, entropy).mean())
    sizes = frame.filter(~pl.Series(out)).group_by("x", "y").len()["len"].to_numpy()
    assert losses.Discernibility().of(node, found) == (sizes**2).sum() + out.sum() * 60
    assert losses.AverageClassSize(6).of(node, found) == pytest.approx(sizes.mean() / 6)
    for name in ("ncp", "entropy"):
        loss = losses.named(name, *args)
        for place in np.ndindex(4, 2):
            assert loss.lower()[place] <= loss.of(place, checker.judge(place).groups)
