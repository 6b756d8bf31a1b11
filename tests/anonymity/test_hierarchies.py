"""Hierarchies are trees that cover their domain, whatever they are made from."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import Hierarchy, HierarchyError
from discreet.anonymity.encode import encode, pack
from discreet.errors import DiscreetError

from ..lazy import pd

pytestmark = pytest.mark.catalogue("AN1")


def labels(tree, value):
    place = tree.domain.index(value)
    return [names[codes[place]] for names, codes in zip(tree.names, tree.codes, strict=True)]


def every_kind():
    return {
        "table": Hierarchy.from_table(pl.DataFrame({"0": ["a", "b", "c"], "1": ["ab", "ab", "c"], "2": ["*"] * 3})),
        "whole": Hierarchy.intervals(0, 99, 5, factors=(2, 2)),
        "edges": Hierarchy.intervals(edges=[0, 1, 5, 20], whole=False, factors=(2,)),
        "quantiles": Hierarchy.quantiles(np.arange(100.0), 8, 0.0, 100.0),
        "dates": Hierarchy.dates("1999-11-01", "2010-02-01"),
        "prefix": Hierarchy.prefix(["01234", "01299", "99", "5"]),
        "suffix": Hierarchy.prefix(["01234", "01299", "99"], from_end=False),
        "tree": Hierarchy.tree({"any": {"x": ["a", "b"], "y": {"z": ["c"], "w": ["d", "e"]}}}),
        "ordered": Hierarchy.ordered("abcdefg", sizes=(2, 4)),
        "flat": Hierarchy.flat([1, 2, 3]),
    }


@pytest.mark.parametrize("kind", every_kind())
def test_every_kind_is_nested_and_counts_its_leaves(kind):
    tree = every_kind()[kind]
    assert sorted(tree.codes[0]) == list(range(len(tree.domain)))
    assert len(tree.names[-1]) == 1
    for level in range(tree.height):
        assert tree.leaves[level].sum() == len(tree.domain)
        assert tree.ncp(level).min() >= 0 and tree.ncp(level).max() <= 1
        if level:
            assert np.array_equal(tree.up(level - 1, level)[tree.codes[level - 1]], tree.codes[level])
            assert (tree.ncp(level) >= tree.ncp(level - 1)).all()
    assert (tree.ncp(0) == 0).all() and (tree.ncp(tree.height - 1) == 1).all()


def test_labels_are_what_people_expect():
    kinds = every_kind()
    assert labels(kinds["whole"], "37") == ["37", "35-39", "30-39", "20-39", "*"]
    assert kinds["edges"].names == (["[0, 1)", "[1, 5)", "[5, 20]"], ["[0, 5)", "[5, 20]"], ["*"])
    assert labels(kinds["dates"], "2000-02-29") == ["2000-02-29", "2000-02", "2000-Q1", "2000", "2000s", "*"]
    assert labels(kinds["prefix"], "01234") == ["01234", "0123*", "012**", "01***", "0****", "*****"]
    assert labels(kinds["suffix"], "99") == ["99", "***99", "***99", "***99", "****9", "*****"]
    assert labels(kinds["tree"], "a") == ["a", "a", "x", "any"] and labels(kinds["tree"], "c") == ["c", "z", "y", "any"]
    assert kinds["ordered"].names[1:] == (["a - b", "c - d", "e - f", "g"], ["a - d", "e - g"], ["*"])


def test_yaml_text_and_nested_dict_are_the_same_tree():
    nested = {"any": {"cold": ["flu", "cough"], "heart": {"acute": ["stroke", "a b"], "old": ["x"]}}}
    text = """
    # illnesses
    any:
      cold: [flu, cough]
      heart:
        acute:
          - stroke
          - "a b"
        old:
          - x
    """
    assert Hierarchy.tree(text).names == Hierarchy.tree(nested).names
    with pytest.raises(ValueError, match="Line 2"):
        Hierarchy.tree("a:\n  b: c")


@pytest.mark.parametrize("mark", [";", ","])
def test_a_file_as_other_tools_write_it(tmp_path, mark):
    path = tmp_path / "zip.csv"
    path.write_text("\n".join(mark.join(row) for row in [("01", "0*", "*"), ("02", "0*", "*"), ("11", "1*", "*")]))
    assert Hierarchy.from_table(path).names == (["01", "02", "11"], ["0*", "1*"], ["*"])


def test_the_long_form_needs_to_know_which_attribute():
    long = pl.DataFrame(
        [(a, l, v, v if l == 0 else "*") for a in ("x", "y") for v in ("1", "2") for l in (1, 0)],
        schema=["attribute", "level", "value", "generalised"],
        orient="row",
    )
    assert Hierarchy.from_table(long, attribute="y").names == (["1", "2"], ["*"])
    with pytest.raises(ValueError, match="x, y"):
        Hierarchy.from_table(long)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([["a", "b"], ["x", "x"], ["p", "q"]], "Not a tree.*'x'"),
        ([["a", "a"], ["x", "x"]], "distinct"),
        ([[]], "at least one"),
        ([["a", "b"], ["x"]], "every value"),
    ],
)
def test_what_is_no_tree_is_refused(levels, said):
    with pytest.raises(HierarchyError, match=said) as caught:
        Hierarchy.of(levels)
    assert isinstance(caught.value, DiscreetError) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hierarchy.intervals(5, 5, 1),
        lambda: Hierarchy.intervals(0, 10),
        lambda: Hierarchy.intervals(edges=[3, 2]),
        lambda: Hierarchy.intervals(0, 10, 2, factors=(1,)),
        lambda: Hierarchy.dates("2024-01-02", "2024-01-01"),
        lambda: Hierarchy.dates("2024-01-01", "2024-01-02", ("month",)),
        lambda: Hierarchy.ordered("abc", sizes=(2, 3)),
        lambda: Hierarchy.prefix(["abc"], length=2),
        lambda: Hierarchy.tree({}),
        lambda: Hierarchy.from_table(pl.DataFrame({"0": ["a", "b"], "1": ["x", None]})),
    ],
)
def test_bad_rules_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_missing_values_are_counted_never_shown():
    tree = Hierarchy.flat(["a", "b"])
    column = pl.Series("town", ["a", "secret", "secret", "hidden"])
    with pytest.raises(HierarchyError, match="'town' has 2 distinct values") as caught:
        tree.encode(column)
    assert "secret" not in str(caught.value) and "hidden" not in str(caught.value)
    with pytest.raises(HierarchyError, match="secret"):
        tree.encode(column, show=True)


def test_null_and_nan_need_a_name():
    tree = Hierarchy.intervals(0, 9, 5)
    for column in (pl.Series("age", [1, None]), pl.Series("age", [1.0, float("nan")])):
        with pytest.raises(HierarchyError, match="1 missing"):
            tree.encode(column)
        named = tree.with_missing("unknown")
        assert [named.domain[i] for i in named.encode(column)] == ["1", "unknown"]
        assert len(named.names[-1]) == 1


@pytest.mark.parametrize(
    ("tree", "column", "places"),
    [
        (Hierarchy.intervals(0, 9, 5), pl.Series([3, 9]), [3, 9]),
        (Hierarchy.intervals(0, 9, 5), pl.Series([3.0, -0.0]), [3, 0]),
        (Hierarchy.intervals(0, 9, 5), pl.Series(["3", "9"]), [3, 9]),
        (Hierarchy.flat(["b", "a"]), pl.Series(["a", "b"], dtype=pl.Categorical), [1, 0]),
        (Hierarchy.flat(["true", "false"]), pl.Series([False, True]), [1, 0]),
        (Hierarchy.dates("2024-01-01", "2024-01-09"), pl.Series([date(2024, 1, 3)]), [2]),
        (Hierarchy.dates("2024-01-01", "2024-01-09"), pl.Series([datetime(2024, 1, 3, 17)]), [2]),
        (Hierarchy.intervals(edges=[0, 1, 2], whole=False), pl.Series([0.0, 0.99, 1.0, 2.0]), [0, 0, 1, 1]),
    ],
)
def test_columns_of_every_type_find_their_place(tree, column, places):
    assert tree.encode(column).tolist() == places


def test_many_whole_numbers_are_looked_up_once_each():
    column = pl.Series("age", np.arange(30_000) % 90)
    tree = Hierarchy.intervals(0, 99, 10)
    assert np.array_equal(tree.encode(column), np.arange(30_000) % 90)
    with pytest.raises(HierarchyError, match="40 distinct"):
        Hierarchy.intervals(0, 49, 10).encode(column)


def test_continuous_intervals_can_have_a_missing_category():
    tree = Hierarchy.intervals(edges=[0, 1, 2], whole=False).with_missing("unknown")
    assert tree.encode(pl.Series("x", [0.5, float("nan"), None, 2.0])).tolist() == [0, 2, 2, 1]
    assert tree.names[0][2] == "unknown" and len(tree.names[-1]) == 1


def test_outside_the_intervals_is_not_covered():
    tree = Hierarchy.intervals(edges=[0, 1, 2], whole=False)
    with pytest.raises(HierarchyError, match="2 distinct"):
        tree.encode(pl.Series("x", [-0.1, 2.1, 1.0]))


def test_encoding_is_the_same_from_every_kind_of_table(tmp_path):
    rows = {"zip": ["01", "02", "01"], "age": [3, 4, 3], "ill": ["b", "a", "a"]}
    trees = {"zip": Hierarchy.prefix(["01", "02"]), "age": Hierarchy.intervals(0, 9, 5)}
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_parquet(tmp_path / "rows.parquet")
    pandas = pd.DataFrame(rows).assign(zip=lambda d: d.zip.astype("category"))
    tables = [rows, frame, frame.lazy(), pandas, str(tmp_path / "rows.csv"), tmp_path / "rows.parquet"]
    for table in tables:
        found = encode(table, trees, ["ill"])
        assert found.codes.tolist() == [[0, 3], [1, 4]] and found.weights.tolist() == [2, 1]
        assert found.row_of.tolist() == [0, 1, 0] and found.n == 3
        assert [found.sensitive_names["ill"][c] for c in found.sensitive["ill"]] == rows["ill"]


def test_mixed_types_and_absent_columns_are_refused_without_values():
    tree = {"x": Hierarchy.flat(["1", "secret"])}
    with pytest.raises(TypeError, match="mixes types") as caught:
        encode(pd.DataFrame({"x": [1, "secret"]}), tree)
    assert "secret" not in str(caught.value)
    with pytest.raises(TypeError, match="'x' mixes types"):
        encode({"x": [1, "secret"]}, tree)
    with pytest.raises(ValueError, match="differ in length"):
        encode({"x": ["1"], "y": [1, 2]}, tree)
    with pytest.raises(ValueError, match="no column 'x'"):
        encode({"y": [1]}, tree)
    with pytest.raises(ValueError, match="same name"):
        encode(pd.DataFrame([[1, 2]], columns=["x", "x"]), tree)
    with pytest.raises(FileNotFoundError):
        encode("nowhere.csv", tree)


def test_keys_stay_apart_beyond_sixty_two_bits():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 500) * (10**6 - 1) for _ in range(12)]
    keys = pack(columns, [10**6] * 12)
    assert len(np.unique(keys)) == len(np.unique(np.stack(columns), axis=1).T)


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([True, False], [False, True, True]),
        ([1.0, 2.0], [2.0, 1.0, 1.0]),
        ([1.0, 2.0], [2, 1, 1]),
        ([1, 2.5], [2.5, 1.0, 1.0]),
        (np.array([1.0, 2.0]), ["2", "1", "1"]),
        ([1.0, 2.0, "unknown"], [2.0, 1.0, 1.0]),
        (
            [date(2024, 1, 2), date(2024, 1, 3)],
            [datetime(2024, 1, 3, 12), datetime(2024, 1, 2), datetime(2024, 1, 2, 9)],
        ),
    ],
)
def test_domains_are_written_as_columns_are(values, column):
    kinds = [Hierarchy.flat(values), Hierarchy.ordered(values), Hierarchy.prefix(values)]
    kinds += [Hierarchy.tree({"any": list(values)})]
    if len({type(v) for v in values}) == 1:
        kinds += [Hierarchy.from_table(pl.DataFrame({"0": pl.Series(list(values)), "1": ["*"] * len(values)}))]
    for tree in kinds:
        assert tree.encode(pl.Series(column)).tolist() == [1, 0, 0]


def test_a_domain_has_no_missing_values():
    with pytest.raises(ValueError, match="1 missing"):
        Hierarchy.flat(["a", None])


def test_intervals_hold_what_their_labels_say():
    """Three times 0.1 is a little more than 0.3; the interval that begins at 0.3 holds 0.3 all the same."""
    tree = Hierarchy.intervals(0, 1.1, 0.1, whole=False)
    assert tree.domain[3] == "[0.3, 0.4)" and tree.domain[-1] == "[1, 1.1]" and len(tree.domain) == 11
    assert tree.encode(pl.Series([0.3, 0.6, 0.7, 1.1])).tolist() == [3, 6, 7, 10]
    fine = Hierarchy.intervals(edges=[1234567.125, 1234567.25, 2**53 + 2.0], whole=False)
    assert fine.domain == ("[1234567.125, 1234567.25)", "[1234567.25, 9007199254740994]")
