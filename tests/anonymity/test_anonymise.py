"""From a table to a release: what is published, what is refused, what is said."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import (
    DistinctL,
    EntropyL,
    Hierarchy,
    HierarchyError,
    Infeasible,
    KAnonymity,
    KMap,
    TCloseness,
    UniqueWarning,
    anonymise,
    search,
)

from ..lazy import pd

ZIPS = [f"{a}{b}" for a in "123" for b in "1234"]
TREES = {"zip": Hierarchy.prefix(ZIPS), "age": Hierarchy.intervals(0, 39, 5), "sex": Hierarchy.flat("fm")}


def made(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "zip": rng.choice(ZIPS, n, p=np.arange(12, 0, -1) / 78),
            "age": rng.integers(0, 40, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "cold", "gout"], n),
            "visit": np.arange(n),
        }
    )


def classes(table):
    return table.group_by("zip", "age", "sex").agg(pl.len(), pl.col("ill").n_unique())


@pytest.mark.catalogue("AN2")
@pytest.mark.parametrize("method", ["optimal", "incognito"])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_every_published_class_meets_the_criteria(method, share):
    rows = made()
    found = anonymise(rows, TREES, sensitive=["ill"], k=4, l=2, suppress=share, method=method)
    parts = classes(found.table)
    assert parts["len"].min() >= 4 and parts["ill"].min() >= 2
    assert sorted(parts["len"], reverse=True) == found.classes.tolist()
    assert found.suppressed <= share and len(found.table) == round(200 * (1 - found.suppressed))
    assert found.complete and found.searched > 0 and found.rows == 200
    assert found.loss == found.losses["ncp"] and set(found.losses) == {"ncp", "entropy", "discernibility", "average"}


@pytest.mark.filterwarnings("ignore::discreet.anonymity.UniqueWarning")
def test_rows_are_the_generalised_ones_and_nothing_else():
    """Joined by a column that is carried over, each published row is its own row, level by level."""
    rows = made()
    found = anonymise(rows, TREES, k=4, suppress=0.1, keep=["visit"])
    assert found.table.columns == ["zip", "age", "sex", "visit"]
    for row in found.table.iter_rows(named=True):
        raw = rows.row(row["visit"], named=True)
        for name, tree in TREES.items():
            level = found.levels[name]
            assert str(row[name]) == tree.names[level][tree.codes[level][tree.domain.index(str(raw[name]))]]


def test_output_carries_nothing_over():
    """Order is random (the chance that 200 rows keep their order is 1/200!), categories and index are gone."""
    raw = made().to_pandas()
    raw["ill"] = pd.Categorical(raw["ill"], categories=["flu", "cold", "gout", "secret"])
    raw["sex"] = pd.Categorical(raw["sex"], categories=["f", "m", "hidden"])
    raw.index = [f"person {i}" for i in range(len(raw))]
    with pytest.warns(UniqueWarning):
        table = anonymise(raw, TREES, sensitive=["ill"], k=2, suppress=0.2, keep=["visit"]).table
    assert table.columns == ["zip", "age", "sex", "ill", "visit"]
    assert not any(isinstance(kind, pl.Categorical | pl.Enum) for kind in table.schema.values())
    assert not table["visit"].is_sorted()
    assert "secret" not in table.write_csv() and "person" not in table.write_csv()
    with pytest.warns(UniqueWarning):
        again = anonymise(raw, TREES, sensitive=["ill"], k=2, suppress=0.2, keep=["visit"]).table
    assert again["visit"].to_list() != table["visit"].to_list()
    assert sorted(again["visit"]) == sorted(table["visit"])


def test_level_zero_keeps_its_type_and_missing_its_name():
    days = [date(2024, 1, 1 + i % 3) for i in range(12)]
    rows = pl.DataFrame({"age": [1, 2, None] * 4, "day": days, "size": [1.0, -0.0, 0.0] * 4})
    trees = {
        "age": Hierarchy.intervals(0, 9, 5),
        "day": Hierarchy.dates("2024-01-01", "2024-01-31"),
        "size": Hierarchy.flat(["0", "1"]),
    }
    with pytest.raises(HierarchyError, match="'age' has 4 missing"):
        anonymise(rows, trees, k=4)
    found = anonymise(rows, trees, k=4, missing="unknown")
    assert set(found.levels.values()) == {0}
    assert found.table.schema == {"age": pl.String, "day": pl.Date, "size": pl.Float64}
    assert set(found.table["age"]) == {"1", "2", "unknown"}
    assert not np.signbit(found.table["size"].to_numpy()).any()  # minus zero would mark rows


@pytest.mark.parametrize("k", [3, 30])
def test_rows_published_as_stars_form_a_class_that_passes_too(k):
    found = anonymise(made(), TREES, sensitive=["ill"], k=k, l=2, suppress=0.3, suppressed="star")
    parts = classes(found.table)
    assert len(found.table) == 200 and parts["len"].min() >= k and parts["ill"].min() >= 2
    removed = anonymise(made(), TREES, sensitive=["ill"], k=k, l=2, suppress=0.3)
    assert removed.loss <= found.loss + 1e-12


def test_one_row_as_star_is_not_enough():
    """One outlier: removing it is fine, publishing it as `*` would leave a class of one."""
    rows = {"sex": ["f"] * 10 + ["m"]}
    trees = {"sex": TREES["sex"]}
    assert anonymise(rows, trees, k=5, suppress=0.1).levels == {"sex": 0}
    assert anonymise(rows, trees, k=5, suppress=0.1, suppressed="star").levels == {"sex": 1}


@pytest.mark.parametrize("kind", ["pandas", "lazy", "csv", "parquet"])
def test_every_kind_of_input_gives_the_same_levels(kind, tmp_path):
    rows = made()
    wanted = anonymise(rows, TREES, k=4)
    rows.write_csv(tmp_path / "rows.csv")
    rows.write_parquet(tmp_path / "rows.parquet")
    table = {
        "pandas": rows.to_pandas(),
        "lazy": rows.lazy(),
        "csv": tmp_path / "rows.csv",
        "parquet": str(tmp_path / "rows.parquet"),
    }[kind]
    found = anonymise(table, TREES, k=4)
    assert found.levels == wanted.levels and found.loss == wanted.loss


def test_losses_of_ones_own():
    """The values themselves are too fine for k = 4, one step up in every column is enough."""
    found = anonymise(made(), TREES, k=4, suppress=0.1, loss=lambda node, groups: max(node))
    assert found.loss == max(found.levels.values()) == 1
    most = anonymise(made(), TREES, k=4, suppress=0.1, loss=lambda node, groups: -int(groups.published.sum()))
    assert len(most.classes) == -most.loss >= len(found.classes)


@pytest.mark.catalogue("AN4")
def test_closeness_holds_in_the_release():
    rows = made()
    found = anonymise(rows, TREES, sensitive=["ill"], k=4, t=0.2, suppress=0.05)
    whole = {v: c / 200 for v, c in rows["ill"].value_counts().iter_rows()}
    for _, part in found.table.group_by("zip", "age", "sex"):
        here = dict(part["ill"].value_counts().iter_rows())
        assert sum(abs(here.get(v, 0) / len(part) - p) for v, p in whole.items()) / 2 <= 0.2 + 1e-9


def test_population_table():
    rows = made(60)
    everyone = pl.concat([rows, made(600, seed=1)])
    found = anonymise(rows, TREES, k=None, criteria=[KMap(5)], population=everyone, suppress=0.0)
    labels = {
        name: dict(zip(t.domain, (t.names[found.levels[name]][c] for c in t.codes[found.levels[name]]), strict=True))
        for name, t in TREES.items()
    }
    people = everyone.select(pl.col(n).cast(pl.String).replace_strict(labels[n]) for n in TREES).group_by(*TREES).len()
    seen = (
        found.table.select(pl.col(n).cast(pl.String) for n in TREES).unique().join(people, on=list(TREES), how="left")
    )
    assert seen["len"].min() >= 5
    assert found.loss < anonymise(rows, TREES, k=5, suppress=0.0).loss
    with pytest.raises(ValueError, match="must contain the table"):
        anonymise(rows, TREES, k=None, criteria=[KMap(5)], population=made(600, seed=1))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"k": 201}, ValueError, "more than the table's 200 rows"),
        ({"k": 0}, ValueError, "a whole number >= 1"),
        ({"k": None}, ValueError, "Nothing is asked for"),
        ({"suppress": 1.0}, ValueError, "suppress"),
        ({"suppress": -0.1}, ValueError, "suppress"),
        ({"sensitive": ["sex"]}, ValueError, "cannot be a quasi-identifier as well: sex"),
        ({"keep": ["age"]}, ValueError, "cannot be a quasi-identifier as well: age"),
        ({"sensitive": ["ill"], "keep": ["ill"]}, ValueError, "Repeated: ill"),
        ({"sensitive": "ill"}, TypeError, "list of columns"),
        ({"sensitive": ["pay"]}, ValueError, "no column 'pay'"),
        ({"l": 2}, ValueError, "needs a sensitive column"),
        ({"sensitive": ["ill"], "l": True}, TypeError, "Got bool"),
        ({"sensitive": ["ill"], "t": True}, TypeError, "Got bool"),
        ({"sensitive": ["ill"], "l": DistinctL(2, "sex")}, ValueError, "not in `sensitive`"),
        ({"criteria": [KMap(3)]}, ValueError, "population"),
        ({"criteria": [KAnonymity]}, TypeError, "such as KAnonymity"),
        ({"method": "fast"}, ValueError, "optimal, incognito, mondrian"),
        ({"loss": "regret"}, ValueError, "ncp, entropy"),
        ({"suppressed": "hide"}, ValueError, "'remove' or 'star'"),
        ({"time_limit": -1}, ValueError, "at least 0 seconds"),
    ],
)
def test_bad_requests_are_refused_before_any_work(options, error, said):
    with pytest.raises(error, match=said):
        anonymise(made(), TREES, **options)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        anonymise(made().clear(), TREES, k=2)
    with pytest.raises(ValueError, match="at least one column"):
        anonymise(made(), {})
    with pytest.raises(TypeError, match=r"needs a Hierarchy.*sex"):
        anonymise(made(), {**TREES, "sex": ["f", "m"]})
    with pytest.raises(HierarchyError, match="'sex' has 1 distinct") as caught:
        anonymise(made(), {**TREES, "sex": Hierarchy.flat("fx")})
    assert "'m'" not in str(caught.value)
    with pytest.raises(ValueError, match="sensitive column 'ill' has missing"):
        anonymise(made().with_columns(ill=pl.lit(None, pl.String)), TREES, sensitive=["ill"])


def test_infeasible_says_what_fails_and_what_could_be_met():
    rows = {"sex": ["f"] * 14 + ["m"] * 6}
    trees = {"sex": Hierarchy.from_table(pl.DataFrame({"0": ["f", "m"]}))}  # no level joins the two
    with pytest.raises(Infeasible, match=r"KAnonymity\(k=7\) for 30.00%.*k=6 or suppress=0.3000") as caught:
        anonymise(rows, trees, k=7, suppress=0.05)
    assert isinstance(caught.value, ValueError)
    assert anonymise(rows, trees, k=6, suppress=0.05).classes.tolist() == [14, 6]
    assert anonymise(rows, trees, k=7, suppress=0.3).classes.tolist() == [14]
    with pytest.raises(Infeasible, match=r"DistinctL\(l=4.*Nearest that can be met: l=3\."):
        anonymise(made(), TREES, sensitive=["ill"], k=2, l=4, suppress=0.1)
    early = anonymise(made(), TREES, k=4, method="incognito", time_limit=0.0)
    assert not early.complete and early.reason == "time" and "time limit" in early.report().text


ALONE = {"sex": Hierarchy.from_table(pl.DataFrame({"0": ["f", "m"]}))}  # no level joins the two
PLAIN = {"sex": ["f"] * 14 + ["m"] * 6, "ill": ["flu"] * 4 + ["cold"] * 10 + ["flu"] * 5 + ["cold"]}


@pytest.mark.parametrize(
    ("asked", "hint", "met"),
    [
        ({"k": 5, "l": EntropyL(1.9)}, "l=EntropyL(1.569)", {"k": 5, "l": EntropyL(1.569)}),
        ({"k": 5, "t": 0.2}, "t=0.3834", {"k": 5, "t": 0.3834}),
        ({"k": 5, "t": TCloseness(0.2, "ordered", "ill")}, "t=TCloseness(0.3834, 'ordered', 'ill')", None),
        ({"k": 7, "t": 0.2}, "k=6 with t=0.3834", {"k": 6, "t": 0.3834}),
        ({"k": 7, "l": 3}, "k=6 with l=2", {"k": 6, "l": 2}),
        ({"k": 7, "l": 2}, "k=6", {"k": 6, "l": 2}),
    ],
)
def test_the_nearest_request_is_named_and_is_met(asked, hint, met):
    with pytest.raises(Infeasible) as caught:
        anonymise(PLAIN, ALONE, sensitive=["ill"], suppress=0.0, **asked)
    assert f"Nearest that can be met: {hint}" in str(caught.value)
    if met:
        assert len(anonymise(PLAIN, ALONE, sensitive=["ill"], suppress=0.0, **met).table) == 20


def test_local_recoding_names_what_fails():
    with pytest.raises(Infeasible, match=r"These fail: DistinctL\(l=4.*can be met: l=3\."):
        anonymise(made(), TREES, sensitive=["ill"], k=2, l=4, method="mondrian")
    with pytest.raises(Infeasible, match=r"These fail: KAnonymity\(k=7\) for 30.00%.*can be met: k=6\."):
        anonymise(PLAIN, ALONE, k=7, method="mondrian", recode="nodes")


@pytest.mark.parametrize("options", [{"loss": "entropy"}, {"suppressed": "star"}, {"time_limit": 1.0}])
def test_local_recoding_refuses_what_it_would_ignore(options):
    with pytest.raises(ValueError, match=r"Mondrian .*Hint"):
        anonymise(made(), TREES, k=4, method="mondrian", **options)


def test_too_many_nodes_is_not_called_time(monkeypatch):
    monkeypatch.setattr(search, "LARGEST", 2)
    found = anonymise(made(), TREES, sensitive=["ill"], k=4)
    assert not found.complete and found.reason == "size"
    text = found.report().text
    assert "too many combinations" in text and "time limit" not in text
    with pytest.raises(Infeasible, match="too many nodes"):
        anonymise(made(), TREES, sensitive=["ill"], k=4, l=EntropyL(3))


def test_rows_published_as_stars_are_counted_and_named():
    rows = {"sex": ["f"] * 10 + ["m"] * 3 + ["x"] * 2}
    trees = {"sex": Hierarchy.flat("fmx")}
    found = anonymise(rows, trees, k=5, suppress=0.4, suppressed="star")
    assert found.levels == {"sex": 0} and found.classes.tolist() == [10, 5]
    assert sorted(found.table["sex"].value_counts()["count"]) == [5, 10]
    text = found.report().text
    assert "published as *" in text and "rows were left out" not in text
    removed = anonymise(rows, trees, k=5, suppress=0.4)
    assert removed.classes.tolist() == [10] and "were left out" in removed.report().text


@pytest.mark.catalogue("AN3")
def test_stars_are_divided_by_the_other_sensitive_columns():
    """Of the four rows that would become `*` those with u = p all have s = 1."""
    rows = {
        "a": ["x"] * 8 + ["y", "z", "w", "v"],
        "s": ["1", "2"] * 4 + ["1", "1", "2", "2"],
        "u": ["p"] * 8 + ["p", "p", "q", "q"],
    }
    asked = {"sensitive": ["s", "u"], "k": 4, "criteria": [EntropyL(2, "s")], "suppress": 0.4}
    trees = {"a": Hierarchy.flat("xyzwv")}
    with pytest.raises(Infeasible, match="those published as"):
        anonymise(rows, trees, suppressed="star", **asked)
    assert anonymise(rows, trees, **asked).levels == {"a": 0}
    rows["u"] = ["p"] * 8 + ["p", "q", "p", "q"]
    found = anonymise(rows, trees, suppressed="star", **asked)
    assert found.levels == {"a": 0} and (found.table["a"] == "*").sum() == 4


def test_infeasible_where_nothing_can_be_inferred():
    """With suppression entropy is not monotone, so every node is looked at before the answer is no."""
    rows = made().with_columns(ill=pl.Series(["flu"] * 190 + ["cold"] * 10))
    with pytest.raises(Infeasible, match="EntropyL") as caught:
        anonymise(rows, TREES, sensitive=["ill"], k=2, l=EntropyL(1.8), suppress=0.01)
    share = float(str(caught.value).split("suppress=")[1].rstrip("."))
    assert anonymise(rows, TREES, sensitive=["ill"], k=2, l=EntropyL(1.8), suppress=share).suppressed <= share


def test_time_limit_is_said():
    found = anonymise(made(), TREES, sensitive=["ill"], k=4, time_limit=0.0)
    assert not found.complete and classes(found.table)["len"].min() >= 4


def test_one_row_and_one_column():
    found = anonymise({"sex": ["f"]}, {"sex": TREES["sex"]}, k=1)
    assert found.loss == 0 and found.table["sex"].to_list() == ["f"]
    alone = Hierarchy.of([["f"]])
    assert anonymise({"sex": ["f"] * 3}, {"sex": alone}, k=3).loss == 0


@pytest.mark.catalogue("AN4")
def test_hierarchical_closeness_needs_all_values():
    near = TCloseness(0.4, Hierarchy.tree({"any": {"a": ["flu", "cold"], "b": ["gout"]}}))
    assert anonymise(made(), TREES, sensitive=["ill"], k=3, t=near).complete
    with pytest.raises(HierarchyError, match="lacks 1 of its 3"):
        anonymise(made(), TREES, sensitive=["ill"], k=3, t=TCloseness(0.4, Hierarchy.flat(["flu", "cold"])))


@pytest.mark.parametrize("tight", [True, False])
def test_local_recoding(tight):
    found = anonymise(made(), TREES, k=4, method="mondrian", tight=tight)
    assert found.classes.min() >= 4 and len(found.table) == 200 and found.suppressed == 0
    assert classes(found.table.with_columns(ill=pl.lit(1)))["len"].min() >= 4


@pytest.mark.catalogue("AN2")
@pytest.mark.parametrize("options", [{}, {"strict": False}, {"recode": "nodes"}, {"tight": False, "recode": "nodes"}])
def test_ways_of_local_recoding_can_be_chosen(options):
    rng = np.random.default_rng(4)
    ages = rng.integers(20, 60, 300)
    trees = {"age": Hierarchy.intervals(20, 60, width=5, factors=(2, 2))}
    found = anonymise({"age": ages.tolist()}, trees, k=10, method="mondrian", **options)
    assert found.classes.min() >= 10 and found.classes.sum() == 300
    if options.get("recode") == "nodes":
        names = {name for level in trees["age"].names for name in level}
        assert set(found.table["age"].cast(str)) <= names


def test_numbers_of_numpy_are_numbers():
    rows = {"zip": ["1", "1", "2", "2"], "ill": ["a", "b", "a", "b"]}
    trees = {"zip": Hierarchy.flat(["1", "2"])}
    found = anonymise(rows, trees, sensitive=["ill"], k=2, l=np.int64(2), t=np.float64(0.5))
    assert found.levels == {"zip": 0}
