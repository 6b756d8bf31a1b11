"""Columns that are kept as they are: who stands alone by them is counted, warned of and reported."""

import warnings
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import Alone, Hierarchy, UniqueWarning, anonymise, linkage_attack
from discreet.anonymity.alone import count_alone

pytestmark = pytest.mark.catalogue("AN5")

TREES = {"age": Hierarchy.intervals(0, 99, 10), "sex": Hierarchy.flat("fm")}


def made(n=300):
    rng = np.random.default_rng(0)
    start = datetime(2024, 1, 1)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "sex": rng.choice(["f", "m"], n),
            "id": np.arange(n),
            "size": rng.normal(size=n),
            "seen": [start + timedelta(seconds=i) for i in range(n)],
            "tags": [[i, i] for i in range(n)],
            "ward": rng.choice(["north", "south"], n),
            "cost": rng.uniform(size=n),
        }
    )


@pytest.mark.parametrize("name", ["id", "size", "seen", "tags"])
def test_a_kept_column_that_singles_rows_out_is_warned_of(name):
    """A number of the row, a measurement, a moment of a day: whoever knows it finds the row, whatever k is."""
    with pytest.warns(UniqueWarning, match=rf"'{name}' together, 100.00% of the rows stand alone") as caught:
        found = anonymise(made(), TREES, k=5, keep=[name])
    assert found.alone == Alone(1.0, 1.0) and caught[0].filename == __file__
    with pytest.warns(UniqueWarning):
        anonymise(made(), TREES, k=5, keep=[name], method="mondrian")


def test_linkage_by_what_was_kept_finds_everybody():
    with pytest.warns(UniqueWarning):
        found = anonymise(made(), TREES, k=5, keep=["id"], suppress=0)
    assert linkage_attack(found.table, made(), on="id").reidentified == 300
    text = found.report(original=made()).text
    assert "rows that stand alone to somebody who also knows the columns kept as they are | - | 100%" in text
    assert "But 100% of the rows stand alone by columns that were kept as they are" in text.splitlines()[2]


def test_what_nobody_stands_alone_by_is_kept_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = anonymise(made(), TREES, k=20, keep=["ward"])
        assert found.alone == Alone(0.0, 0.0)
        assert anonymise(made(), TREES, k=20).alone == Alone()


def test_a_sensitive_column_is_reported_and_not_warned_of():
    """That nobody knows it is what is supposed of a sensitive column; an exact cost is unique by nature."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = anonymise(made(), TREES, sensitive=["cost"], k=5)
    assert found.alone == Alone(0.0, 1.0)
    text = found.report().text
    assert "rows that stand alone to somebody who knows every published value | - | 100%" in text
    assert "kept as they are | - | 0%" in text and "But " not in text.splitlines()[2]


def test_what_is_published_counts_not_what_was_given():
    """The only row of its ward is suppressed; those that are left stand with others."""
    rows = {"sex": ["f"] * 10 + ["m"], "ward": ["north"] * 10 + ["south"]}
    trees = {"sex": TREES["sex"]}
    assert anonymise(rows, trees, k=5, keep=["ward"], suppress=0.1).alone == Alone()
    with pytest.warns(UniqueWarning, match=r"9.09% of the rows"):
        found = anonymise(rows, trees, k=5, keep=["ward"], suppress=0)
    assert found.alone.kept == pytest.approx(1 / 11)


def test_people_stand_alone_not_rows():
    """Two rows of one person in a ward of their own: no row is unique, and a person is."""
    rows = {"sex": ["f"] * 8, "ward": ["north"] * 6 + ["south"] * 2, "who": [*range(6), 7, 7]}
    trees = {"sex": TREES["sex"]}
    assert anonymise(rows, trees, k=3, keep=["ward"]).alone == Alone()
    with pytest.warns(UniqueWarning, match=r"14.29% of the people"):
        found = anonymise(rows, trees, k=3, keep=["ward"], person="who")
    assert found.alone.kept == pytest.approx(1 / 7)


def test_counts_by_hand():
    table = pl.DataFrame({"age": ["0-9"] * 4, "ward": ["n", "n", "s", None], "ill": ["a", "b", "a", None]})
    assert count_alone(table, ["age"], ["ward"]) == Alone(0.5, 1.0)
    assert count_alone(table, ["age"], ["ward"], np.array([0, 0, 1, 1])) == Alone(1.0, 1.0)
    assert count_alone(table.head(0), ["age"], ["ward"]) == Alone()
