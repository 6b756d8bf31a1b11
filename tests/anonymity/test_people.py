"""People, not rows: five rows of one person hide nobody. Compared with counting person by person."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import polars as pl
import pytest

from discreet.anonymity import (
    DeltaPresence,
    DistinctL,
    EntropyL,
    Hierarchy,
    Infeasible,
    KAnonymity,
    KMap,
    MissingPerson,
    RecursiveCL,
    TCloseness,
    anonymise,
    attacks,
    background_attack,
    homogeneity_attack,
    linkage_attack,
    minimal_generalisations,
    risk,
)
from discreet.anonymity import encode as encodes
from discreet.anonymity import rollup as rollups
from discreet.anonymity.checker import Checker
from discreet.anonymity.encode import encode
from discreet.anonymity.groups import concentrate
from discreet.anonymity.incognito import frontier
from discreet.anonymity.lattice import minimal
from discreet.anonymity.losses import ncp
from discreet.anonymity.people import number_people
from discreet.anonymity.search import Clock, optimal
from discreet.anonymity.tally import tally
from discreet.errors import NotSupported

from ..lazy import pd

TREES = {
    "age": Hierarchy.intervals(0, 39, 5, factors=(2, 2)),
    "zip": Hierarchy.prefix([f"{a}{b}" for a in "12" for b in "123"]),
    "sex": Hierarchy.flat("fm"),
}
HEIGHTS = tuple(tree.height for tree in TREES.values())
VISITS = {"zip": ["11"] * 5 + ["12"] * 5, "who": ["ann"] * 5 + list("abcde"), "ill": ["flu", "cold"] * 5}
ZIP = {"zip": TREES["zip"]}


def made(seed=0, people=60, n=160, settled=False):
    """People with one to several rows; unless `settled`, some rows have other quasi-identifiers than others."""
    rng = np.random.default_rng(seed)
    who = np.minimum(rng.geometric(2 / people, n), people) - 1
    zips = TREES["zip"].domain
    base = {
        "age": rng.integers(0, 40, people),
        "zip": rng.choice(zips, people, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]),
        "sex": rng.choice(["f", "m"], people),
    }
    rows = {name: values[who] for name, values in base.items()}
    if not settled:
        moved = rng.random(n) < 0.3
        rows["zip"] = np.where(moved, rng.choice(zips, n), rows["zip"])
    favourite = rng.choice(["flu", "cold", "gout"], people)
    rows["ill"] = np.where(rng.random(n) < 0.3, rng.choice(["flu", "cold", "gout", "ague"], n), favourite[who])
    rows["who"] = np.array([f"person {i}" for i in who])
    return rows


def labels_of(rows, node):
    columns = []
    for (name, tree), level in zip(TREES.items(), node, strict=True):
        label = {v: tree.names[level][c] for v, c in zip(tree.domain, tree.codes[level], strict=True)}
        columns.append([label[str(v)] for v in rows[name]])
    return list(zip(*columns, strict=True))


def people_of(rows, node):
    """For every class its rows, and for everybody in it the values they have there."""
    classes = defaultdict(lambda: (0, defaultdict(list)))
    for label, who, ill in zip(labels_of(rows, node), rows["who"], rows["ill"], strict=True):
        count, held = classes[label]
        held[who].append(ill)
        classes[label] = (count + 1, held)
    return classes


def checker(rows, criteria, limit, **options):
    codes = number_people(pl.DataFrame(rows), "who")
    return Checker(encode(rows, TREES, ["ill"], person=codes), list(TREES.values()), criteria, limit, **options)


@pytest.mark.catalogue("AN2")
@pytest.mark.parametrize(
    "options",
    [
        {"method": "optimal"},
        {"method": "incognito"},
        {"method": "mondrian"},
        {"method": "mondrian", "strict": False},
        {"method": "mondrian", "recode": "nodes"},
        {"suppressed": "star"},
    ],
    ids=str,
)
def test_five_rows_of_one_person_are_no_class_of_five(options):
    """By rows the two postcodes are classes of five; by people the first is a class of one."""
    assert sorted(anonymise(VISITS, ZIP, k=5, suppress=0, **options).classes) == [5, 5]
    found = anonymise(VISITS, ZIP, k=5, suppress=0, person="who", **options)
    assert found.classes.tolist() == [6] and found.table["zip"].n_unique() == 1
    assert found.table.columns == ["zip"] and len(found.table) == 10


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("limit", [0, 16])
def test_every_node_counts_people(monkeypatch, wide, limit):
    """People do not add up where classes are merged; rows do."""
    if wide:
        monkeypatch.setattr(encodes, "ROOM", 2000)
        monkeypatch.setattr(rollups, "ROOM", 2000)
    rows = made()
    check = checker(rows, [KAnonymity(4)], limit)
    loss, best = ncp(check.codes, check.sizes, list(TREES.values())), {}
    for node in np.ndindex(*HEIGHTS):
        classes = people_of(rows, node)
        lost = sum(count for count, held in classes.values() if len(held) < 4)
        verdict = check.judge(node)
        groups = check.groups(node)
        assert sorted(groups.count_people()) == sorted(len(held) for _, held in classes.values())
        assert verdict.feasible == (lost <= limit)
        if verdict.feasible:
            assert verdict.groups.suppressed == lost
            best[node] = loss.of(node, verdict.groups)
    found = optimal(checker(rows, [KAnonymity(4)], limit), loss)
    assert found.complete and found.loss == pytest.approx(min(best.values()))
    good = np.zeros(HEIGHTS, dtype=bool)
    good[tuple(np.array(list(best)).T)] = True
    assert frontier(checker(rows, [KAnonymity(4)], limit), Clock(None))[0] == minimal(good)


def test_one_row_each_is_as_without_people():
    rows = made() | {"who": np.arange(160)}
    plain = anonymise(rows, TREES, sensitive=["ill"], k=4, l=2, t=0.5)
    found = anonymise(rows, TREES, sensitive=["ill"], k=4, l=2, t=0.5, person="who")
    assert found.levels == plain.levels and found.classes.tolist() == plain.classes.tolist()
    assert plain.people is None and sorted(found.people) == list(range(len(found.table)))


def one_class(who, ill):
    """The groups of a table in which all look alike."""
    table = {"zip": ["11"] * len(ill), "ill": list(ill)}
    encoded = encode(table, ZIP, ["ill"], missing="none", person=np.array(who))
    return tally(encoded, np.arange(len(ill)), np.zeros(len(ill), dtype=np.int64), 1)


L = {
    "distinct": (DistinctL(2), lambda ills: len(set(ills)) >= 2),
    "three": (DistinctL(3), lambda ills: len(set(ills)) >= 3),
    "entropy": (EntropyL(1.8), lambda ills: entropy(ills) >= np.log(1.8) - 1e-12),
    "recursive": (RecursiveCL(2, 2), lambda ills: recursive(ills, 2, 2)),
}


def entropy(ills):
    share = np.array(list(Counter(ills).values())) / len(ills)
    return -(share * np.log(share)).sum()


def recursive(ills, c, l):
    ranked = sorted(Counter(ills).values(), reverse=True)
    return ranked[0] < c * sum(ranked[l - 1 :])


@pytest.mark.catalogue("AN3")
def test_diversity_holds_however_one_value_for_each_person_is_picked():
    """Never met where some pick fails; met where everybody has one value and it holds; and it is met somewhere."""
    rng = np.random.default_rng(3)
    met = Counter()
    for _ in range(60):
        held = [set(rng.choice(list("abcd"), rng.integers(1, 3))) for _ in range(rng.integers(1, 7))]
        rows = [(person, ill) for person, ills in enumerate(held) for ill in ills for _ in range(rng.integers(1, 3))]
        groups, picks = one_class(*zip(*rows, strict=True)), list(product(*held))
        for name, (criterion, holds) in L.items():
            said, always = bool(criterion.check(groups)[0]), all(map(holds, picks))
            assert always or not said, name
            assert said or not always or max(map(len, held)) > 1, name
            met[name] += said
    assert min(met[name] for name in L) > 3


def test_a_value_that_everybody_has_is_no_secret():
    """Both have had both: the rows look diverse, and say of each that they have had either."""
    rows = {"zip": ["11"] * 4, "who": ["ann", "ann", "bea", "bea"], "ill": ["flu", "cold"] * 2}
    assert len(anonymise(rows, ZIP, sensitive=["ill"], k=2, l=2).table) == 4
    with pytest.raises(Infeasible, match=r"DistinctL.* for 100.00% of the rows"):
        anonymise(rows, ZIP, sensitive=["ill"], k=2, l=2, person="who")
    assert homogeneity_attack(rows, "zip", "ill").disclosed == 0
    assert homogeneity_attack(rows, "zip", "ill", person="who").share == 1.0


@pytest.mark.catalogue("AN4")
@pytest.mark.parametrize("limit", [0, 40])
def test_closeness_counts_everybody_as_one(limit):
    rows = made(2)
    criterion = TCloseness(0.25)
    check = checker(rows, [KAnonymity(2), criterion], limit)
    everybody = people_of(rows | {name: np.full(160, rows[name][0]) for name in TREES}, (0, 0, 0))
    ((_, held),) = everybody.values()
    values = sorted(set(rows["ill"]))

    def mix(held):
        return np.mean([[ills.count(v) / len(ills) for v in values] for ills in held.values()], axis=0)

    whole, feasible = mix(held), 0
    for node in np.ndindex(*HEIGHTS):
        classes = people_of(rows, node)
        far = [np.abs(mix(held) - whole).sum() / 2 for _, held in classes.values()]
        found = check.groups(node).histograms["ill"]
        assert sorted(criterion.distances(found)) == pytest.approx(sorted(far))
        bad = [len(held) < 2 or d > 0.25 + 1e-12 for (_, held), d in zip(classes.values(), far, strict=True)]
        lost = sum(count for (count, _), failed in zip(classes.values(), bad, strict=True) if failed)
        assert check.judge(node).feasible == (lost <= limit)
        feasible += lost <= limit
    assert 0 < feasible < np.prod(HEIGHTS)


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("criterion", [one for one, _ in L.values()] + [TCloseness(0.35)], ids=str)
@pytest.mark.parametrize("limit", [0, 24])
def test_the_search_misses_no_node(settled, criterion, limit):
    """What is inferred of nodes below is true of people: the best is that of judging every node by itself."""
    rows = made(1, settled=settled)
    criteria = [KAnonymity(3), criterion]
    check = checker(rows, criteria, limit)
    loss = ncp(check.codes, check.sizes, list(TREES.values()))
    again = checker(rows, criteria, limit)
    verdicts = {node: again.judge(node) for node in np.ndindex(*HEIGHTS)}
    values = [loss.of(node, one.groups) for node, one in verdicts.items() if one.feasible]
    found = optimal(check, loss)
    assert found.loss == pytest.approx(min(values, default=np.inf))
    if check.tags_all:
        good = np.reshape([one.feasible for one in verdicts.values()], HEIGHTS)
        assert frontier(check, Clock(None))[0] == minimal(good)


@pytest.mark.parametrize("criterion", [DistinctL(2), EntropyL(1.3), TCloseness(0.6)], ids=str)
def test_several_sensitive_columns_are_judged_by_people(criterion):
    """Merged from finer classes, or counted row by row: the same parts, values and people."""
    rows = made(3) | {"pay": np.random.default_rng(3).choice(["low", "high", None], 160, p=[0.45, 0.45, 0.1])}
    person = number_people(pl.DataFrame(rows), "who")
    encoded = encode(rows, TREES, ["ill", "pay"], missing="none", person=person)
    check = Checker(encoded, list(TREES.values()), [criterion], 0)
    passed = 0
    for node in np.ndindex(*HEIGHTS):
        _, alike = np.unique(labels_of(rows, node), axis=0, return_inverse=True)
        groups, again = check.groups(node), tally(encoded, np.arange(160), alike, alike.max() + 1)
        assert sorted(groups.count_people()) == sorted(again.count_people())
        assert criterion.check(groups).sum() == criterion.check(again).sum()
        passed += criterion.check(groups).sum()
    assert passed > 0


def test_merged_classes_can_be_less_diverse_so_incognito_refuses():
    """Ann and Bea have flu here and cold there, each the other way round: apart diverse, together both have both."""
    rows = {"zip": ["11", "11", "12", "12"], "who": ["ann", "bea"] * 2, "ill": ["flu", "cold", "cold", "flu"]}
    found = anonymise(rows, ZIP, sensitive=["ill"], k=2, l=2, person="who", suppress=0)
    assert found.levels == {"zip": 0}
    with pytest.raises(NotSupported, match=r"DistinctL.*several rows.*method='optimal'"):
        minimal_generalisations(rows, ZIP, sensitive=["ill"], k=2, l=2, person="who")


@pytest.mark.parametrize("options", [{}, {"strict": False}, {"recode": "nodes"}, {"tight": False}], ids=str)
def test_local_recoding_counts_people(options):
    rows = made(4, people=80, n=400)
    found = anonymise(rows, TREES, sensitive=["ill"], k=5, person="who", method="mondrian", **options)
    plain = anonymise(rows, TREES, sensitive=["ill"], k=5, method="mondrian", **options)
    table = found.table.with_columns(pl.Series("who", found.people))
    sizes = table.group_by(*TREES).agg(pl.col("who").n_unique())["who"]
    assert sizes.min() >= 5 and found.classes.min() >= 5 and len(found.classes) > 3
    assert found.loss > plain.loss


@pytest.mark.parametrize("criterion", [DistinctL(2), EntropyL(1.5), TCloseness(0.4)], ids=str)
def test_local_recoding_meets_criteria_by_people(criterion):
    rows = made(5, people=80, n=300)
    found = anonymise(rows, TREES, sensitive=["ill"], k=3, criteria=[criterion], person="who", method="mondrian")
    alike = found.table.select(pl.struct(*TREES).rank("dense")).to_series().to_numpy().astype(int) - 1
    again = encode({"zip": ["11"] * 300, "ill": found.table["ill"]}, ZIP, ["ill"], person=found.people)
    assert criterion.check(tally(again, np.arange(300), alike, alike.max() + 1)).all() and alike.max() > 3


def test_classes_that_are_published_alike_are_judged_together():
    """A cut may part equal rows if not strict. In each class of 11 Ann and Bea differ; together both have both."""
    rows = {
        "zip": ["11"] * 8 + ["12"] * 2,
        "who": ["ann", "bea", "ann", "bea", "ann", "ann", "bea", "bea", "cem", "dan"],
        "ill": ["flu", "cold", "flu", "cold", "flu", "cold", "flu", "flu", "gout", "ague"],
    }
    options = {"sensitive": ["ill"], "k": 2, "l": 2, "person": "who", "method": "mondrian"}
    with pytest.raises(Infeasible, match="published alike"):
        anonymise(rows, ZIP, strict=False, **options)
    assert anonymise(rows, ZIP, **options).classes.tolist() == [4]


def test_rows_published_as_stars_are_counted_by_people():
    """Four rows to be starred, of one person: no class of four."""
    rows = {"zip": ["11"] * 12 + ["21"] * 4, "who": [*range(12), 99, 99, 99, 99]}
    assert anonymise(rows, ZIP, k=4, suppress=0.5, suppressed="star").levels == {"zip": 0}
    found = anonymise(rows, ZIP, k=4, suppress=0.5, suppressed="star", person="who")
    assert found.levels == {"zip": 2} and found.classes.tolist() == [13]
    rows["who"] = [*range(12), 96, 97, 98, 98]
    found = anonymise(rows, ZIP, k=3, suppress=0.5, suppressed="star", person="who")
    assert found.levels == {"zip": 0} and found.classes.tolist() == [12, 3]


def test_somebody_in_two_starred_classes_counts_once():
    """Two people with rows in 21 and in 22 are two when starred together, not four; of three, all have flu."""
    rows = {"zip": ["11"] * 12 + ["21", "21", "22", "22"], "ill": ["flu", "cold"] * 6 + ["flu", "cold", "flu", "flu"]}
    options = {"suppress": 0.5, "suppressed": "star", "sensitive": ["ill"]}
    two, three = [*range(12), 98, 99, 98, 99], [*range(12), 98, 99, 97, 99]
    assert anonymise(rows, ZIP, k=3, person=two, **options).levels == {"zip": 2}
    assert anonymise(rows, ZIP, k=3, person=three, **options).levels == {"zip": 0}
    assert anonymise(rows, ZIP, k=3, l=2, person=three, **options).levels == {"zip": 2}


def test_a_class_that_fails_can_spoil_one_that_does_not():
    """So nothing is inferred with suppression: 11 is good while 12 goes, and 1* is not known to have three values."""
    rows = {
        "zip": ["11"] * 3 + ["12"] * 4,
        "who": ["ann", "bea", "cem", "dan", "dan", "eve", "eve"],
        "ill": ["flu", "cold", "gout", "flu", "cold", "flu", "cold"],
    }
    found = anonymise(rows, ZIP, sensitive=["ill"], k=2, l=3, suppress=0.6, person="who")
    assert found.levels == {"zip": 0} and found.classes.tolist() == [3]
    with pytest.raises(Infeasible):
        anonymise(rows, ZIP, sensitive=["ill"], k=2, l=3, suppress=0.5, person="who")


def test_a_top_group_of_one_person_cannot_be_published():
    tree = Hierarchy.of([list("abcd"), list("xxyy")])
    rows = {"job": list("aabbccdd"), "who": ["ann"] * 4 + list("bcde")}
    found = anonymise(rows, {"job": tree}, k=4, method="mondrian", recode="nodes")
    assert found.classes.tolist() == [4, 4]
    with pytest.raises(Infeasible, match="k"):
        anonymise(rows, {"job": tree}, k=4, method="mondrian", recode="nodes", person="who")


@pytest.mark.parametrize("named", [True, False])
def test_populations_by_people(named):
    """A class of the population is as large as it has people: by their column, or each row a person."""
    rows = {"zip": ["11", "11", "12"], "who": ["ann", "ann", "bea"]}
    everybody = {"zip": ["11"] * 4 + ["12"] * 3 + ["21"] * 3, "who": ["ann"] * 3 + ["cem", "bea", "ann", "dan", *"efg"]}
    if not named:
        del everybody["who"]
    sizes = {"11": 2, "12": 3} if named else {"11": 4, "12": 3}
    for k in range(1, 6):
        found = anonymise(rows, ZIP, k=None, criteria=[KMap(k)], population=everybody, person="who", suppress=0)
        assert (found.levels["zip"] == 0) == (min(sizes.values()) >= k), k
    high = 1 / 2 if named else 1 / 3  # one person of those in 11; one of the three in 12
    for share, good in ((high + 0.01, True), (high - 0.01, False)):
        criteria = [DeltaPresence(0, share)]
        found = anonymise(rows, ZIP, k=None, criteria=criteria, population=everybody, person="who", suppress=0)
        assert (found.levels["zip"] == 0) == good
    found = risk(rows, "zip", everybody, person="who")
    assert found.journalist.largest == pytest.approx(1 / min(sizes.values())) and found.outside == 0


def test_a_population_with_several_rows_each_and_a_table_with_one():
    rows = {"zip": ["11", "12"], "who": ["ann", "bea"]}
    everybody = {"zip": ["11", "11", "11", "12", "12", "21"], "who": ["ann", "ann", "cem", "bea", "ann", "dan"]}
    for k, level in ((2, 0), (3, 1), (4, 2)):
        found = anonymise(rows, ZIP, k=None, criteria=[KMap(k)], population=everybody, person="who", suppress=0)
        assert found.levels == {"zip": level}


def test_populations_are_counted_by_people_at_every_node():
    rows, more = made(6), made(7, people=90)
    more["who"] = np.array([f"other {w}" for w in more["who"]])
    everybody = {name: np.concatenate([rows[name], more[name]]) for name in (*TREES, "who", "ill")}
    known = encode(everybody, TREES, person=number_people(pl.DataFrame(everybody), "who"))
    check = checker(rows, [KMap(9)], 0, population=known)
    for node in np.ndindex(*HEIGHTS):
        here, there = people_of(rows, node), people_of(everybody, node)
        wanted = sorted((len(held), len(there[label][1])) for label, (_, held) in here.items())
        groups = check.groups(node)
        assert sorted(zip(groups.count_people(), groups.population, strict=True)) == wanted


def test_an_array_is_as_a_column_and_nothing_of_it_is_published():
    rows = made()
    column = anonymise(rows, TREES, k=3, person="who")
    for names in (rows["who"], pl.Series(rows["who"]), pd.Series(rows["who"]).astype("category"), list(rows["who"])):
        found = anonymise({n: rows[n] for n in TREES}, TREES, k=3, person=names)
        assert found.levels == column.levels and found.classes.tolist() == column.classes.tolist()
        assert found.person is None and "person 1" not in repr(found)
    assert column.table.columns == list(TREES) and column.person == "who"
    assert column.people.max() + 1 == len(set(column.people)) and column.people[0] == 0
    sizes = column.table.with_columns(who=column.people).group_by(*TREES).agg(pl.col("who").n_unique())["who"]
    assert sorted(sizes, reverse=True) == column.classes.tolist() and sizes.min() >= 3
    assert "people=" not in repr(column)


def test_what_is_refused():
    rows = {"zip": ["11", "12"], "who": ["ann", "ann"], "ill": ["flu", "cold"]}
    for options in ({"sensitive": ["who"]}, {"keep": ["who"]}):
        with pytest.raises(ValueError, match=r"'who' names people, so it is never published"):
            anonymise(rows, ZIP, k=1, person="who", **options)
    with pytest.raises(ValueError, match="names people"):
        anonymise(rows, ZIP | {"who": Hierarchy.flat(["ann", "bea"])}, k=1, person="who")
    with pytest.raises(ValueError, match="names people"):
        risk(rows, ["zip", "who"], person="who")
    with pytest.raises(ValueError, match=r"k = 2 is more than the table's 1 people"):
        anonymise(rows, ZIP, k=2, person="who")
    with pytest.raises(ValueError, match="Got 3 names for 2 rows"):
        anonymise(rows, ZIP, k=1, person=["a", "b", "c"])
    with pytest.raises(ValueError, match="no column 'whose'"):
        risk(rows, "zip", person="whose")
    for gone in (None, float("nan")):
        with pytest.raises(MissingPerson, match="missing or blank in 1 rows"):
            risk(rows, "zip", person=[1.0, gone])


@pytest.mark.parametrize("gone", ["", " ", "\t\u00a0", None])
def test_a_blank_name_is_nobodys(gone):
    rows = {"zip": ["11", "11", "12"], "who": ["ann", gone, "bea"], "ill": ["flu", "flu", "cold"]}
    for kind in (pl.String, pl.Categorical):
        table = pl.DataFrame(rows, schema_overrides={"who": kind})
        for work in (
            lambda table=table: anonymise(table, ZIP, k=1, person="who"),
            lambda table=table: anonymise(table, ZIP, k=1, person=table["who"]),
            lambda table=table: risk(table, "zip", person="who"),
            lambda table=table: risk({"zip": ["11"], "who": ["ann"]}, "zip", table, person="who"),
            lambda table=table: linkage_attack(table, {"zip": ["11"]}, "zip", person="who"),
            lambda table=table: background_attack(table, "zip", "ill", person="who"),
        ):
            with pytest.raises(MissingPerson, match="missing or blank in 1 rows"):
                work()


@pytest.mark.catalogue("AN5")
def test_risks_count_people():
    """Everybody by the row at which they are most at risk, compared with counting one by one."""
    rows = made(8)
    found = risk(rows, list(TREES), person="who", above=0.0, show_labels=True)
    classes = people_of(rows, (0, 0, 0))
    least = {w: min(len(held) for _, held in classes.values() if w in held) for w in rows["who"]}
    sizes = np.array(list(least.values()))
    assert found.people == len(least) and found.rows == 160 and found.labels.columns == [*TREES, "size"]
    assert found.sizes.tolist() == sorted(len(held) for _, held in classes.values())
    assert found.prosecutor.mean == pytest.approx(np.mean(1 / sizes)) and found.prosecutor.largest == 1
    assert found.marketer == pytest.approx(np.mean(1 / sizes))
    assert found.sample_unique == found.population_unique == pytest.approx(np.mean(sizes == 1))
    assert [found.below(k) for k in (2, 3, 5)] == pytest.approx([np.mean(sizes < k) for k in (2, 3, 5)])
    ages = defaultdict(set)
    for age, who in zip(rows["age"], rows["who"], strict=True):
        ages[age].add(who)
    alone = {w for held in ages.values() if len(held) == 1 for w in held}
    assert {one.columns: one.unique for one in found.identifying}[("age",)] == pytest.approx(len(alone) / len(least))
    assert str(found).startswith(f"160 rows of {len(least)} people in ") and "of the rows" not in str(found)


def test_a_risk_by_hand():
    found = risk(VISITS, "zip", person="who")
    assert found.sizes.tolist() == [1, 5] and found.prosecutor.largest == 1
    assert found.prosecutor.mean == pytest.approx((1 + 5 / 5) / 6) and found.below(5) == pytest.approx(1 / 6)
    assert risk(VISITS, "zip").prosecutor.largest == 0.2
    twice = {"zip": ["12", "11", "12", "12"], "who": ["bea", "ann", "ann", "cem"]}  # Ann is alone in 11
    found = risk(twice, "zip", person="who")
    assert found.prosecutor.mean == found.marketer == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)
    assert found.sample_unique == pytest.approx(1 / 3) and found.below(3) == pytest.approx(1 / 3)
    assert risk(VISITS, "zip", person="who", sampling_fraction=0.5).journalist.largest < 1
    assert risk({"zip": []}, "zip", person=[]).people == 0


def test_linkage_finds_somebody_with_many_rows():
    register = {"name": ["ann", "bea", "cem"], "zip": ["11", "12", "12"]}
    rows = {"zip": ["11"] * 5 + ["12"] * 4, "who": ["ann"] * 5 + ["bea", "bea", "cem", "cem"]}
    assert linkage_attack(rows, register, "zip").reidentified == 0
    found = linkage_attack(rows, register, "zip", person="who")
    assert (found.reidentified, found.matched, found.strangers) == (1, 3, 0)
    assert found.expected == pytest.approx(1 + 2 * 1 / 2)
    scored = linkage_attack(rows, register, "zip", truth=("who", "name"), person="who")
    assert scored.correct == 1 and scored.expected == pytest.approx(2.0)
    with pytest.raises(ValueError, match="each person once"):
        linkage_attack(rows, register, "zip", truth=("who", "name"))


@pytest.mark.parametrize("block", [1, 10**6])
def test_linkage_counts_somebody_once_whose_rows_fit_by_several_labels(monkeypatch, block):
    """Ann's rows read 10-19 and 15-24: who is 17 fits both, and both are hers."""
    monkeypatch.setattr(attacks, "BLOCK", block)
    rows = {"age": ["10-19", "15-24", "30-39"], "who": ["ann", "ann", "bea"]}
    register = {"name": ["ann", "bea"], "age": [17, 33]}
    assert linkage_attack(rows, register, "age").reidentified == 1
    found = linkage_attack(rows, register, "age", person="who")
    assert found.reidentified == 2 and found.expected == pytest.approx(2.0)


def test_attacks_on_values_count_people():
    """Four rows of Ann with four illnesses hide nothing of Bea and Cem, who both have gout."""
    rows = {"zip": ["1*"] * 6, "who": ["ann"] * 4 + ["bea", "cem"], "ill": ["a", "b", "c", "d", "gout", "gout"]}
    assert background_attack(rows, "zip", "ill", 1).largest == pytest.approx(2 / 5)
    found = background_attack(rows, "zip", "ill", 1, person="who")
    assert found.largest == 1.0 and found.rows == 6
    assert homogeneity_attack(rows, "zip", "ill", person="who").largest == pytest.approx(2 / 3)
    assert background_attack(rows, "zip", "ill", ["a"], person="who").disclosed == 2
    assert background_attack(rows, "zip", "ill", ["a"], person=rows["who"]) == background_attack(
        rows, "zip", "ill", ["a"], person="who"
    )


def test_the_report_counts_people():
    rows = made(9)
    found = anonymise(rows, TREES, sensitive=["ill"], k=4, l=2, person="who")
    text = found.report(original=rows).text
    assert "with rows of at least" in text and "rows of at least 3 other people in the listed columns" in text
    assert "people that stand alone | " in text and "rows that stand alone" not in text
    assert all(name not in text for name in set(rows["who"]))
    by_array = anonymise({n: rows[n] for n in (*TREES, "ill")}, TREES, sensitive=["ill"], k=4, l=2, person=rows["who"])
    with pytest.raises(ValueError, match="person="):
        by_array.report(original=rows)


def test_concentrated_counts_by_hand():
    """Five people: four may have a, three b, one c, and one is missing. The least diverse: a has five."""
    held = {0: "a", 1: "ab", 2: "ab", 3: "abc", 4: "?"}
    rows = [(person, None if ill == "?" else ill) for person, ills in held.items() for ill in ills]
    owner, count = concentrate(one_class(*zip(*rows, strict=True)).histograms["ill"])
    assert owner.tolist() == [0] and count.tolist() == [5]
