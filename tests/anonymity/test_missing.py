"""A missing sensitive value is no value: it adds nothing to diversity, and dilutes nothing."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import (
    DistinctL,
    EntropyL,
    Hierarchy,
    Infeasible,
    RecursiveCL,
    TCloseness,
    anonymise,
    background_attack,
    homogeneity_attack,
    linkage_attack,
)
from discreet.anonymity.encode import encode
from discreet.anonymity.tally import tally

ZIPS = ["11", "12", "21", "22"]
ZIP = {"zip": Hierarchy.prefix(ZIPS)}


def groups(classes, **options):
    """The groups of classes that are given as lists of values."""
    ills = [ill for klass in classes for ill in klass]
    labels = np.repeat(np.arange(len(classes)), [len(klass) for klass in classes])
    encoded = encode({"zip": ["11"] * len(ills), "ill": ills}, ZIP, ["ill"], missing="unknown", **options)
    return tally(encoded, np.arange(len(ills)), labels, len(classes))


@pytest.mark.catalogue("AN3")
@pytest.mark.parametrize("method", ["optimal", "incognito", "mondrian"])
@pytest.mark.parametrize("gone", [None, float("nan"), "unknown", "", " ", "\t\u00a0"])
def test_a_missing_value_does_not_count_towards_l(method, gone):
    """flu, flu, flu and nothing: to be in the class is to have flu, or to have nothing recorded."""
    value = {"flu": 1.0, "cold": 2.0} if gone != gone else {"flu": "flu", "cold": "cold"}
    ills = [value["flu"]] * 3 + [gone] + [value["flu"], value["cold"]] * 2
    rows = {"zip": ["11"] * 4 + ["12"] * 4, "ill": ills}
    found = anonymise(rows, ZIP, sensitive=["ill"], k=4, l=2, missing="unknown", suppress=0, method=method)
    assert found.table["zip"].unique().to_list() in (["1*"], ["{11 | 12}"], ["11-12"]), found.table
    only = {"zip": ["11"] * 4, "ill": ills[:4]}
    with pytest.raises(Infeasible, match="DistinctL"):
        anonymise(only, ZIP, sensitive=["ill"], k=4, l=2, missing="unknown", method=method)


@pytest.mark.catalogue("AN3")
@pytest.mark.parametrize("missing", ["unknown", "", "flue"])
def test_blank_text_is_no_value(missing, tmp_path):
    """An empty cell in quotes of a CSV file is text, and tells as little as one without."""
    (tmp_path / "rows.csv").write_text('zip,ill\n11,"flu"\n11,"flu"\n11,"flu"\n11,""\n')
    for rows in (
        str(tmp_path / "rows.csv"),
        {"zip": ["11"] * 4, "ill": ["flu", "flu", "flu", ""]},
        {"zip": ["11"] * 4, "ill": ["flu", " ", "flu", ""]},
        pl.DataFrame({"zip": ["11"] * 4, "ill": pl.Series(["flu", "flu", " ", None], dtype=pl.Categorical)}),
        pl.DataFrame({"zip": ["11"] * 4, "ill": pl.Series(["flu", "flu", " ", ""], dtype=pl.Enum(["", " ", "flu"]))}),
    ):
        with pytest.raises(Infeasible, match="DistinctL"):
            anonymise(rows, ZIP, sensitive=["ill"], k=4, l=2, missing=missing)
        with pytest.raises(ValueError, match="'ill' has missing or blank entries"):
            anonymise(rows, ZIP, sensitive=["ill"], k=4)
        assert anonymise(rows, ZIP, sensitive=["ill"], k=4, missing=missing).classes.tolist() == [4]


L = [DistinctL(2), DistinctL(3), EntropyL(1.7), EntropyL(2.5), RecursiveCL(1.5, 2), RecursiveCL(3, 3)]


@pytest.mark.catalogue("AN3")
def test_diversity_holds_whatever_the_missing_values_are():
    """Met exactly if it is met for every way to fill them in."""
    rng = np.random.default_rng(1)
    said = np.zeros((40, len(L)), dtype=bool)
    for row in said:
        klass = list(rng.choice(["a", "b", "c"], rng.integers(1, 8)))
        gaps = int(rng.integers(0, 4))
        some = groups([klass + [None] * gaps])
        every = groups([klass + list(more) for more in product(["a", "b", "c", "d"], repeat=gaps)])
        row[:] = [criterion.check(some)[0] for criterion in L]
        assert row.tolist() == [criterion.check(every).all() for criterion in L]
    assert (said.any(axis=0) & ~said.all(axis=0)).all()


def test_a_class_without_any_value_has_one_at_most():
    assert DistinctL(1).check(groups([[None, None], ["a", "b"]])).tolist() == [True, True]
    assert DistinctL(2).check(groups([[None, None], ["a", "b"]])).tolist() == [False, True]
    assert EntropyL(1.5).check(groups([[None, None], ["a", "b"]])).tolist() == [False, True]
    assert RecursiveCL(9, 2).check(groups([[None, None], ["a", "b"]])).tolist() == [False, True]


@pytest.mark.catalogue("AN4")
@pytest.mark.parametrize("gone", [None, "", " "])
def test_missing_values_do_not_dilute_closeness(gone):
    """One recorded value among nine missing ones says as much as it says alone."""
    classes = [["flu"] + [gone] * 9, ["cold"] + [gone] * 9, ["flu", "cold"] + [gone] * 18]
    tree = Hierarchy.flat(["cold", "flu"])
    for distance in ("equal", "ordered", tree):
        found = TCloseness(0.2, distance).distances(groups(classes).histograms["ill"])
        assert found == pytest.approx([0.5, 0.5, 0.0])


def test_how_many_are_missing_is_compared_too():
    """Nothing recorded here, everything there: far from the table, whatever is recorded."""
    classes = [[None] * 4, ["flu", "cold"] * 2]
    for distance in ("equal", "ordered"):
        assert TCloseness(0.2, distance).distances(groups(classes).histograms["ill"]) == pytest.approx([0.5, 0.5])
    nothing = groups([[None, None], [None]]).histograms["ill"]
    assert TCloseness(0.2, "ordered").distances(nothing).tolist() == [0, 0]


def test_the_order_of_recorded_values_has_no_gap_where_missing_ones_stand():
    """1, 2, 3 with a missing name that sorts between: the distance is that of 1, 2, 3."""
    plain = TCloseness(0.2, "ordered").distances(groups([["1", "1"], ["2", "3"]]).histograms["ill"])
    mixed = groups([["1", "1", "unknown"], ["2", "3", "unknown"]]).histograms["ill"]
    assert mixed.missing is not None
    assert TCloseness(0.2, "ordered").distances(mixed) == pytest.approx(plain)
    ranked = TCloseness(0.2, "ordered", order=("3", "2", "1"))
    assert ranked.distances(mixed) == pytest.approx(plain)


def test_somebody_with_a_missing_value_counts_for_nothing():
    """Ann has flu and a gap, Bea flu: nobody is sure to have anything else."""
    held = groups([["flu", None, "flu", "cold"]], person=np.array([0, 0, 1, 2]))
    assert DistinctL(2).check(held).all() and not DistinctL(3).check(held).any()
    assert not DistinctL(2).check(groups([["cold", None, "flu"]], person=np.array([0, 0, 1]))).any()


@pytest.mark.catalogue("AN5")
def test_attacks_see_through_missing_values():
    rows = {"zip": ["1*"] * 4 + ["2*"] * 3, "ill": ["flu", "flu", "flu", None, "flu", "cold", None]}
    found = homogeneity_attack(rows, "zip", "ill")
    assert (found.disclosed, found.rows, found.classes, found.largest) == (3, 5, 1, 1.0)
    assert background_attack(rows, "zip", "ill", 1).disclosed == 5
    assert background_attack(rows, "zip", "ill", ["cold"]).disclosed == 4
    numbers = {"zip": ["1*"] * 3, "ill": [1.5, 1.5, float("nan")]}
    assert homogeneity_attack(numbers, "zip", "ill").disclosed == 2
    assert homogeneity_attack({"zip": ["1*"], "ill": [None]}, "zip", "ill").rows == 0
    blank = rows | {"ill": ["flu", "flu", "flu", " ", "flu", "cold", ""]}
    assert homogeneity_attack(blank, "zip", "ill") == found
    assert background_attack(blank, "zip", "ill", 1).disclosed == 5


def test_a_blank_name_scores_no_linkage():
    """Two rows without a name are not of one person."""
    rows, register = {"zip": ["11", "12"], "who": ["ann", ""]}, {"zip": ["11", "12"], "who": ["ann", ""]}
    assert linkage_attack(rows, register, "zip", truth="who").correct == 1
