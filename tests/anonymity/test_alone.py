"""Columns that are kept as they are: who stands alone by them, or nearly, is counted, warned of and reported."""

import warnings
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import Alone, Hierarchy, KMap, UniqueWarning, anonymise, linkage_attack
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
    with pytest.warns(UniqueWarning, match=rf"'{name}' together, 100% of the rows stand alone") as caught:
        found = anonymise(made(), TREES, k=5, keep=[name])
    assert found.alone == Alone(1.0, 1.0, 1.0, 1.0, 1.0, k=5) and caught[0].filename == __file__
    with pytest.warns(UniqueWarning):
        anonymise(made(), TREES, k=5, keep=[name], method="mondrian")


def test_linkage_by_what_was_kept_finds_everybody():
    with pytest.warns(UniqueWarning):
        found = anonymise(made(), TREES, k=5, keep=["id"], suppress=0)
    assert linkage_attack(found.table, made(), on="id").reidentified == 300
    text = found.report(original=made()).text
    assert "rows that stand alone to somebody who also knows the columns kept as they are | - | 100%" in text
    assert "But by the columns that were kept as they are, 100% of the rows stand alone" in text.splitlines()[2]


def test_what_nobody_stands_alone_by_is_kept_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = anonymise(made(), {"sex": TREES["sex"]}, k=20, keep=["ward"])
        assert found.alone == Alone(k=20) and not found.alone.by_keep
        assert anonymise(made(), TREES, k=20).alone == Alone(k=20)


def test_a_sensitive_column_is_reported_and_not_warned_of():
    """That nobody knows it is what is supposed of a sensitive column; an exact cost is unique by nature."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = anonymise(made(), TREES, sensitive=["cost"], k=5)
    assert found.alone == Alone(0.0, 1.0, k=5)
    text = found.report().text
    assert "rows that stand alone to somebody who knows every published value | - | 100%" in text
    assert "kept as they are | - | 0%" in text and "But " not in text.splitlines()[2]


def test_what_is_published_counts_not_what_was_given():
    """The only row of its ward is suppressed; those that are left stand with others."""
    rows = {"sex": ["f"] * 10 + ["m"], "ward": ["north"] * 10 + ["south"]}
    trees = {"sex": TREES["sex"]}
    assert anonymise(rows, trees, k=5, keep=["ward"], suppress=0.1).alone == Alone(k=5)
    with pytest.warns(UniqueWarning, match=r"9.1% of the rows"):
        found = anonymise(rows, trees, k=5, keep=["ward"], suppress=0)
    assert found.alone.kept == pytest.approx(1 / 11)


def test_people_stand_alone_not_rows():
    """Three rows of one person in a ward of their own: no row is unique, and a person is."""
    rows = {"sex": ["f"] * 9, "ward": ["north"] * 6 + ["south"] * 3, "who": [*range(6), 7, 7, 7]}
    trees = {"sex": TREES["sex"]}
    assert anonymise(rows, trees, k=3, keep=["ward"]).alone == Alone(k=3)
    with pytest.warns(UniqueWarning, match=r"14.3% of the people"):
        found = anonymise(rows, trees, k=3, keep=["ward"], person="who")
    assert found.alone.kept == pytest.approx(1 / 7)


def test_counts_by_hand():
    table = pl.DataFrame({"age": ["0-9"] * 4, "ward": ["n", "n", "s", None], "ill": ["a", "b", "a", None]})
    assert count_alone(table, ["age"], ["ward"]) == Alone(0.5, 1.0, 0.5, 0.5, 0.5)
    assert count_alone(table, ["age"], ["ward"], k=3) == Alone(0.5, 1.0, 1.0, 1.0, 0.5, k=3)
    assert count_alone(table, ["age"], ["ward"], np.array([0, 0, 1, 1])) == Alone(1.0, 1.0, 1.0, 1.0, 0.0)
    assert count_alone(table, ["age"], []) == Alone(0.0, 1.0)
    assert count_alone(table.head(0), ["age"], ["ward"]) == Alone()


ONE = {"sex": TREES["sex"]}
PAIRS = {"sex": ["f"] * 40, "pid": [i // 2 for i in range(40)]}


def test_a_kept_column_that_leaves_groups_of_two_where_five_were_asked_for():
    """Nobody stands alone, and whoever knows the number has two rows to choose from."""
    with pytest.warns(UniqueWarning, match=r"'pid' together, 100% of the rows are in groups of fewer than 5: "):
        found = anonymise(PAIRS, ONE, k=5, keep=["pid"])
    assert found.alone == Alone(below_k=1.0, added_below_k=1.0, k=5) and found.alone.by_keep
    text = found.report(original=PAIRS).text
    assert "rows in groups of fewer than 5 to somebody who also knows the columns kept as they are | - | 100%" in text
    assert "But by the columns that were kept as they are, 100% of the rows are in groups of" in text.splitlines()[2]
    with pytest.warns(UniqueWarning, match="fewer than 5"):
        anonymise(PAIRS, ONE, k=5, keep=["pid"], method="mondrian")
    assert not anonymise(PAIRS, ONE, k=2, keep=["pid"]).alone.by_keep


def test_groups_too_small_are_counted_by_people():
    """Six rows to each ward: of six people, or of two."""
    rows = {"sex": ["f"] * 12, "ward": ["north"] * 6 + ["south"] * 6, "who": [*range(6), *[6, 7] * 3]}
    assert not anonymise(rows, ONE, k=5, keep=["ward"]).alone.by_keep
    with pytest.warns(UniqueWarning, match=r"25.0% of the people are in groups of fewer than 5"):
        found = anonymise(rows, ONE, k=5, keep=["ward"], person="who")
    assert found.alone == Alone(below_k=0.25, added_below_k=0.25, k=5)
    assert "25.0% of the people are in groups of fewer than 5" in found.report(original=rows).text.splitlines()[2]


def test_where_no_k_is_asked_for_those_alone_count():
    rows = {"sex": ["f"] * 3 + ["m"], "ward": ["north", "north", "south", "south"]}
    options = {"k": None, "criteria": [KMap(2)], "population": {"sex": ["f", "f", "f", "m", "m"]}, "suppress": 0}
    with pytest.warns(UniqueWarning, match=r"50.0% of the rows stand alone"):
        found = anonymise(rows, ONE, keep=["ward"], **options)
    assert found.levels == {"sex": 0} and found.alone == Alone(0.5, 0.5, 0.5, 0.25, 0.25)
    constant = anonymise(rows | {"ward": ["north"] * 4}, ONE, keep=["ward"], **options).alone
    assert constant == Alone(0.25, 0.25, 0.25)  # one stands alone by sex, whatever is kept
    with pytest.warns(UniqueWarning):
        anonymise(PAIRS | {"pid": range(40)}, ONE, k=1, keep=["pid"])


TEN = {"sex": ["f"] * 20, "ward": ["north"] * 10 + ["south"] * 10, "ill": (["flu"] * 9 + ["cold"]) * 2}


def test_a_kept_column_that_singles_out_among_all_that_is_published():
    """Ten to a ward, and two colds: by ward and illness together each of the two stands alone."""
    with pytest.warns(UniqueWarning, match=r"together, 10.0% of the rows stand alone, 10.0% only because of .* 'ward'"):
        found = anonymise(TEN, ONE, sensitive=["ill"], k=5, keep=["ward"])
    assert found.alone == Alone(published=0.1, added_published=0.1, k=5) and found.alone.by_keep
    text = found.report(original=TEN).text
    assert "of these, because of the columns kept as they are | - | 10.0%" in text
    assert "Because of the columns that were kept as they are, 10.0% more of the rows" in text.splitlines()[2]


def test_a_kept_column_is_blamed_for_nothing_that_is_so_without_it():
    """An exact cost is unique by itself; a constant column, or one that says the same again, adds nothing."""
    rows = TEN | {"cost": list(range(20)), "same": ["x"] * 20, "gender": ["female"] * 20}
    found = anonymise(rows, ONE, sensitive=["cost", "ill"], k=5, keep=["same", "gender", "ward"])
    assert found.alone == Alone(published=1.0, k=5) and not found.alone.by_keep
    assert "because of the columns kept as they are | - | 0%" in found.report().text


@pytest.mark.parametrize("by_people", [False, True])
def test_counts_against_counting_one_by_one(by_people):
    rng = np.random.default_rng(4)
    for _ in range(30):
        n, k = int(rng.integers(1, 25)), int(rng.integers(1, 6))
        table = pl.DataFrame({name: rng.integers(0, 3, n) for name in ("age", "ward", "ill")})
        who = np.unique(rng.integers(0, n, n), return_inverse=True)[1] if by_people else np.arange(n)

        def least(names, table=table, who=who):
            rows = table.select(names).rows()
            size = Counter(row for row, _ in {(row, w) for row, w in zip(rows, who, strict=True)})
            mine = [[size[r] for r, w in zip(rows, who, strict=True) if w == one] for one in range(max(who) + 1)]
            return np.array([min(sizes) for sizes in mine])

        kept, every, few = least(["age", "ward"]), least(table.columns), max(k, 2)
        wanted = Alone(
            kept=np.mean(kept < 2),
            published=np.mean(every < 2),
            below_k=np.mean(kept < few),
            added_below_k=np.mean(kept < few) - np.mean(least(["age"]) < few),
            added_published=np.mean(every < 2) - np.mean(least(["age", "ill"]) < 2),
            k=few,
        )
        found = count_alone(table, ["age"], ["ward"], who if by_people else None, k=k)
        assert vars(found) == pytest.approx(vars(wanted))
