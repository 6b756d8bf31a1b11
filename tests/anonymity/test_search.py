"""The search finds the best of all nodes: compared with looking at every one, counted row by row."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

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
    minimal_generalisations,
)
from discreet.anonymity import encode as encodes
from discreet.anonymity import rollup as rollups
from discreet.anonymity import search as searches
from discreet.anonymity.checker import Checker
from discreet.anonymity.encode import encode
from discreet.anonymity.incognito import incognito
from discreet.anonymity.lattice import Lattice, below, minimal
from discreet.anonymity.rollup import Rollup
from discreet.anonymity.search import optimal
from discreet.errors import NotSupported

TREES = {
    "age": Hierarchy.intervals(0, 39, 5, factors=(2, 2)),
    "zip": Hierarchy.prefix([f"{a}{b}" for a in "123" for b in "1234"]),
    "job": Hierarchy.tree({"any": {"x": ["a", "b"], "y": ["c", "d"]}}),
    "sex": Hierarchy.flat("fm"),
}
HEIGHTS = tuple(tree.height for tree in TREES.values())
ILL = ("cold", "cough", "flu", "gout")


def made(seed, n=160):
    """Skewed columns that depend on each other, so that some classes are small at every node."""
    rng = np.random.default_rng(seed)
    job = rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05])
    return {
        "age": np.minimum(rng.poisson(12 + 6 * (job == "a"), n), 39),
        "zip": rng.choice(TREES["zip"].domain, n, p=np.arange(12, 0, -1) / 78),
        "job": job,
        "sex": rng.choice(["f", "m"], n),
        "ill": np.where(rng.random(n) < 0.3, rng.choice(ILL, n), np.where(job == "a", "flu", "cold")),
    }


def labelled(rows, node):
    """The tuple of labels of every row, written out."""
    columns = []
    for (name, tree), level in zip(TREES.items(), node, strict=True):
        label = {v: tree.names[level][c] for v, c in zip(tree.domain, tree.codes[level], strict=True)}
        columns.append([label[str(v)] for v in rows[name]])
    return list(zip(*columns, strict=True))


def brute(rows, criterion, k, limit, population=None):
    """For every node: suppressed rows, NCP, discernibility, average class size; None where too many rows go."""
    n = len(rows["ill"])
    whole = Counter(rows["ill"])
    found = {}
    for node in np.ndindex(*HEIGHTS):
        tuples = labelled(rows, node)
        classes = defaultdict(list)
        for label, ill in zip(tuples, rows["ill"], strict=True):
            classes[label].append(ill)
        people = Counter(labelled(population, node)) if population else Counter()
        good = {c for c, ills in classes.items() if len(ills) >= k and criterion(ills, whole, people[c])}
        lost = sum(len(ills) for c, ills in classes.items() if c not in good)
        if lost > limit or not good:
            found[node] = None
            continue
        cost = 0.0
        for label, ills in classes.items():
            cells = [
                (sum(t.names[l][g] == part for g in t.codes[l]) - 1) / (len(t.domain) - 1)
                for t, l, part in zip(TREES.values(), node, label, strict=True)
            ]
            cost += len(ills) * (np.mean(cells) if label in good else 1.0)
        kept = [len(classes[c]) for c in good]
        found[node] = (lost, cost / n, sum(s * s for s in kept) + lost * n, np.mean(kept) / k)
    return found


def shares(ills):
    return np.array(list(Counter(ills).values())) / len(ills)


def recursive(ills, c, l):
    ranked = sorted(Counter(ills).values(), reverse=True)
    return ranked[0] < c * sum(ranked[l - 1 :])


def apart(ills, whole):
    n, here = sum(whole.values()), Counter(ills)
    return sum(abs(here[v] / len(ills) - whole[v] / n) for v in whole) / 2


CRITERIA = {
    "k": ([], lambda ills, whole, people: True),
    "distinct": ([DistinctL(3)], lambda ills, whole, people: len(set(ills)) >= 3),
    "entropy": (
        [EntropyL(2)],
        lambda ills, whole, people: -(shares(ills) * np.log(shares(ills))).sum() >= np.log(2) - 1e-12,
    ),
    "recursive": ([RecursiveCL(3, 2)], lambda ills, whole, people: recursive(ills, 3, 2)),
    "closeness": ([TCloseness(0.25)], lambda ills, whole, people: apart(ills, whole) <= 0.25 + 1e-12),
    "two": (
        [DistinctL(2), TCloseness(0.3)],
        lambda ills, whole, people: len(set(ills)) >= 2 and apart(ills, whole) <= 0.3 + 1e-12,
    ),
    "map": ([KMap(9)], lambda ills, whole, people: people >= 9),
    "presence": ([DeltaPresence(0, 0.6)], lambda ills, whole, people: len(ills) <= 0.6 * people + 1e-9),
}


def checked(rows, extra, k, limit, population=None):
    trees = list(TREES.values())
    encoded = encode(rows, TREES, ["ill"])
    others = encode(population, TREES) if population else None
    people = (others.codes, others.weights) if others else None
    return Checker(encoded, trees, [KAnonymity(k), *extra], limit, population=people)


def populated(rows):
    more = made(99, 200)
    return {name: np.concatenate([rows[name], more[name]]) for name in rows}


@pytest.mark.catalogue("AN2")
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_the_optimum_is_the_best_of_all_nodes(name, share):
    rows = made(1)
    extra, rule = CRITERIA[name]
    population = populated(rows) if name in ("map", "presence") else None
    k, limit = 4, int(share * 160)
    full = {node: v for node, v in brute(rows, rule, k, limit, population).items() if v}
    for place, loss in ((1, "ncp"), (2, "discernibility"), (3, "average")):
        checker = checked(rows, extra, k, limit, population)
        aim = losses.named(loss, checker.codes, checker.sizes, list(TREES.values()), k)
        found = optimal(checker, aim)
        assert found.complete
        if not full:
            assert found.node is None
            continue
        assert found.loss == pytest.approx(min(v[place] for v in full.values()), rel=1e-12)
        assert full[found.node][place] == pytest.approx(found.loss, rel=1e-12)
        assert checker.judge(found.node).groups.suppressed == full[found.node][0]


@pytest.mark.catalogue("AN2")
def test_most_nodes_are_passed_by():
    checker = checked(made(1), [], 4, 16)
    optimal(checker, losses.ncp(checker.codes, checker.sizes, list(TREES.values())))
    assert checker.looked < np.prod(HEIGHTS) / 3


@pytest.mark.slow
@pytest.mark.catalogue("AN2")
@pytest.mark.parametrize("name", CRITERIA)
def test_the_optimum_on_many_tables(name):
    extra, rule = CRITERIA[name]
    for seed, (k, share) in enumerate(product((2, 7), (0.0, 0.05, 0.3))):
        rows = made(seed + 10)
        population = populated(rows) if name in ("map", "presence") else None
        full = [v[1] for v in brute(rows, rule, k, int(share * 160), population).values() if v]
        checker = checked(rows, extra, k, int(share * 160), population)
        found = optimal(checker, losses.ncp(checker.codes, checker.sizes, list(TREES.values())))
        assert found.loss == pytest.approx(min(full, default=float("inf")), rel=1e-12)


@pytest.mark.catalogue("AN3")
@pytest.mark.parametrize("name", ["k", "distinct", "entropy", "recursive", "closeness", "presence"])
def test_what_is_declared_monotone_is_and_what_is_not_is_not(name):
    """On made tables, some edge of the lattice shows each criterion that is not declared monotone to get worse."""
    extra = CRITERIA[name][0] or [KAnonymity(4)]
    worse = worse_plain = 0
    for seed in range(6):
        rows = made(seed)
        checker = checked(rows, extra, 1, 160, populated(rows) if name == "presence" else None)
        lost = {node: checker.judge(node).groups.suppressed for node in np.ndindex(*HEIGHTS)}
        for node in lost:
            for finer in below(node):
                worse += lost[node] > lost[finer]
                worse_plain += lost[node] > 0 and lost[finer] == 0
    assert worse_plain == 0 and all(c.monotone for c in extra)
    assert (worse == 0) == all(c.monotone_with_suppression for c in extra)


HARD = [
    # tables on which inference that is not allowed under suppression loses the optimum
    ("entropy", EntropyL(2.5), 3, 2, 0.3, True),
    ("recursive", RecursiveCL(3, 2), 11, 2, 0.2, True),
    ("closeness", TCloseness(0.25), 11, 4, 0.3, True),
    # tables on which the first descent ends more than a tenth above the optimum
    ("entropy", EntropyL(2), 7, 2, 0.05, False),
    ("recursive", RecursiveCL(3, 2), 5, 2, 0.2, False),
    ("closeness", TCloseness(0.25), 16, 4, 0.3, False),
    # tables on which a bound that is a few per cent too high loses it
    ("entropy", EntropyL(2), 7, 2, 0.2, False),
    ("recursive", RecursiveCL(3, 2), 63, 2, 0.2, False),
    ("closeness", TCloseness(0.25), 65, 2, 0.05, False),
]


@pytest.mark.catalogue("AN3")
@pytest.mark.parametrize(("name", "criterion", "seed", "k", "share", "naive_fails"), HARD)
def test_the_optimum_where_shortcuts_miss_it(monkeypatch, name, criterion, seed, k, share, naive_fails):
    rules = {
        "entropy": lambda ills, whole, people: (
            -(shares(ills) * np.log(shares(ills))).sum() >= np.log(criterion.l) - 1e-12
        ),
        "recursive": CRITERIA["recursive"][1],
        "closeness": CRITERIA["closeness"][1],
    }
    rows, limit = made(seed), int(share * 160)

    def best():
        checker = checked(rows, [criterion], k, limit)
        return optimal(checker, losses.ncp(checker.codes, checker.sizes, list(TREES.values()))).loss

    wanted = min(v[1] for v in brute(rows, rules[name], k, limit).values() if v)
    assert best() == pytest.approx(wanted, rel=1e-12)
    if naive_fails:
        monkeypatch.setattr(type(criterion), "monotone_with_suppression", True)
        assert best() > wanted * 1.01


@pytest.mark.catalogue("AN2")
@pytest.mark.parametrize(("k", "share"), [(2, 0.0), (4, 0.1), (7, 0.05)])
def test_incognito_lists_all_minimal_nodes(k, share):
    rows = made(4)
    full = brute(rows, CRITERIA["k"][1], k, int(share * 160))
    good = {node for node, v in full.items() if v}
    wanted = {node for node in good if not any(finer in good for finer in below(node))}
    found = minimal_generalisations(rows, TREES, k=k, suppress=share)
    assert {tuple(levels.values()) for levels in found} == wanted and len(found) == len(wanted) > 1
    checker = checked(rows, [], k, int(share * 160))
    best = incognito(checker, losses.Discernibility())
    assert best.loss == min(full[node][2] for node in wanted)


@pytest.mark.catalogue("AN2")
def test_columns_are_judged_jointly():
    """Each column alone is 2-anonymous, the pair is not: a node that passes attribute by attribute must fail."""
    rows = {"job": ["a", "a", "b", "b"], "sex": ["f", "m", "f", "m"]}
    trees = {name: TREES[name] for name in rows}
    found = minimal_generalisations(rows, trees, k=2)
    assert {"job": 0, "sex": 0} not in found
    assert found == [{"job": 0, "sex": 1}, {"job": 1, "sex": 0}]


@pytest.mark.catalogue("AN2")
def test_incognito_refuses_what_is_not_monotone():
    with pytest.raises(NotSupported, match="EntropyL"):
        minimal_generalisations(made(1), TREES, sensitive=["ill"], l=EntropyL(2), suppress=0.1)
    assert minimal_generalisations(made(1), TREES, sensitive=["ill"], l=EntropyL(1.5), suppress=0.0)


@pytest.mark.catalogue("AN2")
def test_the_optimum_need_not_be_minimal():
    """Discernibility under suppression: a coarser node can keep rows that a minimal one throws away."""
    better = 0
    for seed in range(8):
        best = optimal(checked(made(seed), [], 4, 16), losses.Discernibility()).loss
        least = incognito(checked(made(seed), [], 4, 16), losses.Discernibility()).loss
        assert best <= least
        better += best < least
    assert better > 0


@pytest.mark.catalogue("AN2")
def test_time_limit_returns_what_was_found():
    checker = checked(made(1), [], 4, 16)
    found = optimal(checker, losses.Discernibility(), 0.0)
    assert not found.complete and found.node == Lattice(HEIGHTS).top
    early = incognito(checked(made(1), [], 4, 16), losses.Discernibility(), 0.0)
    assert not early.complete and early.node == Lattice(HEIGHTS).top and early.reason == found.reason == "time"
    assert early.loss == found.loss


@pytest.mark.catalogue("AN2")
def test_incognito_stopped_late_returns_a_minimal_node_or_one_above(monkeypatch):
    """However many nodes there was time for, what is returned passes, and more time never makes it worse."""
    full = incognito(checked(made(4), [], 4, 16), losses.Discernibility())
    seen = []
    for ticks in range(0, 2000, 20):
        left = iter(range(ticks))
        monkeypatch.setattr(searches.Clock, "over", lambda self, left=left: next(left, None) is None)
        checker = checked(made(4), [], 4, 16)
        found = incognito(checker, losses.Discernibility())
        assert checker.judge(found.node).feasible
        seen.append(found)
        if found.complete:
            break
    assert seen[-1].complete and seen[-1].node == full.node and seen[-1].reason == ""
    assert len({found.loss for found in seen}) > 2  # something between the top and the answer


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("cache", [0, 10**6])
def test_roll_up_counts_as_rows_do(monkeypatch, wide, cache):
    monkeypatch.setattr(rollups, "CACHE", cache)
    rows = made(2)
    encoded = encode(rows, TREES)
    rollup = Rollup(encoded.codes, encoded.weights, list(TREES.values()))
    rollup.wide = wide
    for node in np.random.default_rng(0).permutation(list(np.ndindex(*HEIGHTS)))[:60]:
        counted = rollup.count(tuple(int(level) for level in node))
        assert sorted(counted.sizes) == sorted(Counter(labelled(rows, node)).values())


@pytest.mark.parametrize("name", ["k", "closeness", "map"])
def test_keys_too_wide_for_one_number_change_nothing(monkeypatch, name):
    rows = made(3)
    population = populated(rows) if name == "map" else None

    def best():
        checker = checked(rows, CRITERIA[name][0], 4, 24, population)
        return optimal(checker, losses.ncp(checker.codes, checker.sizes, list(TREES.values()))), checker.rollup.wide

    wanted, wide = best()
    monkeypatch.setattr(rollups, "ROOM", 200)
    monkeypatch.setattr(encodes, "ROOM", 200)
    found, wider = best()
    assert not wide and wider and wanted.node is not None
    assert (found.node, found.loss) == (wanted.node, wanted.loss)


def test_minimal_nodes_of_a_lattice_by_hand():
    good = np.zeros((3, 3), dtype=bool)
    good[1:, 2:] = good[2:, 0:] = True
    assert minimal(good) == [(1, 2), (2, 0)]


def test_a_lattice_too_large_for_tags_gives_an_honest_answer(monkeypatch):
    best = optimal(checked(made(1), [], 4, 16), losses.Discernibility())
    monkeypatch.setattr(searches, "LARGEST", 10)
    checker = checked(made(1), [], 4, 16)
    found = optimal(checker, losses.Discernibility())
    assert not found.complete and found.loss >= best.loss
    assert checker.judge(found.node).feasible and found.node != Lattice(HEIGHTS).top
    none = optimal(checked(made(1), [DistinctL(5)], 4, 16), losses.Discernibility())
    assert none.node is None and none.complete  # the coarsest node fails what is monotone, hence all do
    loose = optimal(checked(made(1), [EntropyL(4)], 4, 16), losses.Discernibility())
    assert loose.node is None and not loose.complete
    assert found.reason == loose.reason == "size"


PAIR = {
    "x": Hierarchy.tree({"any": {"p": ["a", "b"], "q": ["c"]}}),
    "y": Hierarchy.tree({"any": {"m": ["1", "2"], "n": ["3"]}}),
}
DIVERSE = {
    "distinct": (DistinctL(2, "s"), lambda part, whole: len(set(part)) >= 2),
    "entropy": (
        EntropyL(1.8, "s"),
        lambda part, whole: -(shares(part) * np.log(shares(part))).sum() >= np.log(1.8) - 1e-12,
    ),
    "recursive": (RecursiveCL(2, 2, "s"), lambda part, whole: recursive(part, 2, 2)),
    "closeness": (TCloseness(0.3, column="s"), lambda part, whole: apart(part, whole) <= 0.3 + 1e-12),
}


def passes(rows, places, rule, k):
    """Enough rows, and those of every value of u alone are diverse in s."""
    parts = defaultdict(list)
    for place in places:
        parts[rows["u"][place]].append(rows["s"][place])
    return len(places) >= k and all(rule(part, Counter(rows["s"])) for part in parts.values())


def feasible(rows, node, rule, k, limit, star):
    classes = defaultdict(list)
    labels = [
        [tree.names[level][tree.codes[level][tree.domain.index(value)]] for value in rows[name]]
        for (name, tree), level in zip(PAIR.items(), node, strict=True)
    ]
    for place, label in enumerate(zip(*labels, strict=True)):
        classes[label].append(place)
    out = [p for places in classes.values() if not passes(rows, places, rule, k) for p in places]
    return len(out) <= limit and (not star or not out or passes(rows, out, rule, k))


@pytest.mark.catalogue("AN3")
@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("name", DIVERSE)
def test_two_sensitive_columns_judged_as_every_node_written_out(name, star):
    criterion, rule = DIVERSE[name]
    both = stars = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sizes = {"x": [0.7, 0.15, 0.15], "y": [0.7, 0.2, 0.1], "s": [0.5, 0.5], "u": [0.85, 0.15]}
        values = {"x": list("abc"), "y": list("123"), "s": ["h", "i"], "u": ["v", "w"]}
        rows = {c: rng.choice(values[c], 24, p=p).tolist() for c, p in sizes.items()}
        encoded = encode(rows, PAIR, ["s", "u"])
        checker = Checker(encoded, list(PAIR.values()), [KAnonymity(2), criterion], 12, star=star)
        good = {n for n in np.ndindex(3, 3) if feasible(rows, n, rule, 2, 12, star)}
        assert {n for n in np.ndindex(3, 3) if checker.judge(n).feasible} == good
        aim = losses.ncp(checker.codes, checker.sizes, list(PAIR.values()))
        best = min((aim.of(n, checker.judge(n).groups) for n in good), default=float("inf"))
        found = optimal(checker, aim)
        assert found.loss == best and (found.node in good if good else found.node is None)
        both += 0 < len(good) < 9
        stars += any(checker.judge(n).groups.suppressed for n in good)
    assert both > 5 and stars > 5  # the tables decide something, and rows are suppressed at good nodes


@pytest.mark.catalogue("AN3")
def test_with_two_sensitive_columns_nothing_is_inferred_under_suppression():
    """At level 0 one row goes; at level 1 its u stands alone in the whole class, which fails."""
    rows = {"a": ["x"] * 8 + ["y"], "s": ["1", "2"] * 4 + ["1"], "u": ["p"] * 8 + ["q"]}
    trees = {"a": Hierarchy.flat("xy")}
    checker = Checker(encode(rows, trees, ["s", "u"]), list(trees.values()), [KAnonymity(2), DistinctL(2, "s")], 1)
    assert optimal(checker, losses.ncp(checker.codes, checker.sizes, list(trees.values()))).node == (0,)
    with pytest.raises(NotSupported, match="DistinctL"):
        minimal_generalisations(rows, trees, sensitive=["s", "u"], k=2, l=DistinctL(2, "s"), suppress=0.2)
    alone = minimal_generalisations(rows, trees, sensitive=["s"], k=2, l=DistinctL(2, "s"), suppress=0.2)
    assert alone == [{"a": 0}]


@pytest.mark.parametrize("star", [False, True])
def test_presence_from_below_lets_no_class_be_removed(star):
    """Of y and z one in five is in the table; removed they would be known to be absent, as `*` they are 2 of 8."""
    rows = {"a": ["x"] * 8 + ["y", "z"]}
    trees = {"a": Hierarchy.flat("xyz")}
    encoded, people = encode(rows, trees), encode({"a": ["x"] * 16 + ["y", "z"] * 4}, trees)
    criteria = [KAnonymity(2), DeltaPresence(0.2, 0.9)]
    known = (people.codes, people.weights)
    checker = Checker(encoded, list(trees.values()), criteria, 4, star=star, population=known)
    assert checker.judge((0,)).feasible == star
    assert checker.judge((1,)).feasible
    above = Checker(encoded, list(trees.values()), [KAnonymity(2), DeltaPresence(0, 0.9)], 4, population=known)
    assert above.judge((0,)).feasible and above.judge((0,)).groups.suppressed == 2
