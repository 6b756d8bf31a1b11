"""The test kit for engines: does a new one add up what the engine in memory does, to the bit?

    from discreet.checks import check_engine
    check_engine(lambda columns, target, unit: MyRows(write_somewhere(columns), target=target, unit=unit))

The engine in memory is the reference: it is short, and every estimator is tested on it.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.memory import Memory
from discreet.engines.tables import ArrayTable
from discreet.errors import EngineError, NotSupported
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.query import Batch, BoundedSum, OneHot, Together

Columns = dict[str, list[Any]]
Make = Callable[[Columns, str | None, str | None], Any]

FEATURES = ("age", "weight", "visits")

__all__ = ["check_engine", "engine_checks"]


def check_engine(make: Make) -> None:
    """Run every check on an engine; the first that fails raises `AssertionError`.

    Parameters
    ----------
    make : makes rows behind the engine of columns, a dictionary of lists in which None is missing; with the name of the
        target, or None, and the name of the column of units, or None, among them. Order of rows is kept.
    """
    for check in engine_checks():
        check(make)


def engine_checks() -> list[Callable[[Make], None]]:
    """The checks of an engine."""
    return [
        check_sums,
        check_places,
        check_targets,
        check_maps,
        check_units_of_engine,
        check_naming_of_units,
        check_samples_of_units,
        check_nothing_there,
        check_uses,
        check_holding,
        check_refusal_of_places,
        check_version,
        check_roles,
        check_adder,
        check_silence,
    ]


def check_sums(make: Make) -> None:
    """Totals are those of memory, missing values included."""
    rows, memory = _both(make)
    assert (rows.width, tuple(rows.columns)) == (memory.width, memory.columns), "features are not the columns left"
    assert rows.make_empty_batch().X.shape == (0, rows.width) and rows.make_empty_batch().y is not None
    for query in (*_queries(), Together(tuple(_queries())[:3])):
        _same(rows, memory, query, "a sum differs from that in memory")
    assert rows.count_replace_one() == memory.count_replace_one(), "rows are counted otherwise"


def check_places(make: Make) -> None:
    """Samples and blocks are drawn by the places of rows, so that they are those of memory; blocks are all the rows."""
    rows, memory = _both(make)
    if _refuses(rows.check_places):
        return  # `check_refusal_of_places` looks at that
    query = next(_queries())
    for rate in (0.0, 0.3, 1.0):
        _same(rows.sample(rate, _coins(1)), memory.sample(rate, _coins(1)), query, "a sample is not by places")
    blocks = list(rows.split_into_blocks(3, _coins(2)))
    for ours, theirs in zip(blocks, memory.split_into_blocks(3, _coins(2)), strict=True):
        _same(ours, theirs, query, "blocks are not by places")
    again = rows.sample(0.3, _coins(1)).sample(0.5, _coins(3))
    _same(
        again,
        memory.sample(0.3, _coins(1)).sample(0.5, _coins(3)),
        query,
        "a sample of a sample is not by the places that rows had at first",
    )
    second, other = (list(some.split_into_blocks(3, _coins(2)))[1].sample(0.5, _coins(3)) for some in (rows, memory))
    _same(second, other, query, "a sample of a block is not by the places that rows had at first")
    lot = rows.sample(0.3, _coins(1))
    assert np.array_equal(lot.sum(query), lot.sum(query)), "a sample is another one when it is read again"


def check_targets(make: Make) -> None:
    """Labels are coded by a public list, and counted."""
    columns = _table()
    rows, memory = make(_only(columns, "label"), "label", None), _memory(columns, "label", labels=True)
    for query in list(_queries())[:2]:
        _same(rows.encode_targets(["a", "b"]), memory.encode_targets(["a", "b"]), query, "labels are coded otherwise")
    assert dict(rows.count_labels()) == dict(memory.count_labels()), "labels are counted otherwise"


def check_maps(make: Make) -> None:
    """Maps apply to each row, one after the other, and leave the target alone."""
    rows, memory = _both(make)

    def image(batch: Batch) -> NDArray[Any]:
        return batch.X * 0.5 - 0.25

    def narrow(batch: Batch) -> NDArray[Any]:
        return batch.X[:, :1]

    for query in list(_queries())[:2]:
        _same(rows.map(image), memory.map(image), query, "a map differs")
        _same(rows.map(image).map(narrow), memory.map(image).map(narrow), query, "a map of a map differs")
    named = rows.map(narrow, ["half"])
    assert (named.width, named.columns) == (1, ("half",)), "a map does not take names of columns"
    _same(rows, memory, next(_queries()), "a map changed the rows that it was made of")


def check_units_of_engine(make: Make) -> None:
    """Rows of units are bounded, and share, as in memory; in any order."""
    columns = _table()
    memory = _memory(columns, "cost", unit="person")
    order = np.random.default_rng(5).permutation(len(columns["cost"]))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    for table in (columns, shuffled):
        rows = make(_only(table, "cost", "person"), "cost", "person")
        assert "person" not in rows.columns, "the column of units is still a feature"
        for query in _queries():
            for limit in (1, 2):
                kept = rows.limit_rows_per_unit(limit, _coins(4))
                _same(
                    kept,
                    memory.limit_rows_per_unit(limit, _coins(4)),
                    query,
                    f"not the {limit} rows of a unit that rank first",
                )
            shared = rows.share_within_units()
            _same(shared, memory.share_within_units(), query.make_divisible(), "units do not share as in memory")
        whole = BoundedSum(_features, norm=1.0, whole=True)
        _same(
            rows.share_within_units(), memory.share_within_units(), whole, "the sum of a unit is not clipped as a whole"
        )


def check_naming_of_units(make: Make) -> None:
    """A unit is named once, by a column, which is no feature then; once units are bounded, rows are rows."""
    rows, memory = _both(make)
    assert rows.unit is None, "rows that were told of no unit have one"
    ours, theirs = rows.assign_units("visits"), memory.assign_units("visits")
    assert (ours.unit, ours.width, tuple(ours.columns)) == ("visits", 2, ("age", "weight")), "the unit is a feature"
    query = BoundedSum(_features, norm=1.5, name="sums")
    _same(
        ours.share_within_units(),
        theirs.share_within_units(),
        query.make_divisible(),
        "units that a method names do not share as in memory",
    )
    assert ours.count_replace_one() == theirs.count_replace_one(), "rows of units are counted otherwise"
    assert ours.share_within_units().unit is None and ours.limit_rows_per_unit(2, _coins(4)).unit is None, (
        "bounded rows have a unit still"
    )
    assert _raises(ValueError, lambda: rows.assign_units("nobody")), "a unit may be a column that is not there"
    assert rows.unit is None and rows.width == 3, "naming a unit changed the rows that it was asked of"


def check_samples_of_units(make: Make) -> None:
    """With units, samples and blocks hold all rows of a unit or none, by the unit's name."""
    columns = _table()
    rows, memory = make(_only(columns, "cost", "person"), "cost", "person"), _memory(columns, "cost", unit="person")
    query = next(_queries())
    for ours, theirs in (
        (rows.share_within_units(), memory.share_within_units()),
        (rows.limit_rows_per_unit(2, _coins(4)), memory.limit_rows_per_unit(2, _coins(4))),
    ):
        _same(ours.sample(0.4, _coins(1)), theirs.sample(0.4, _coins(1)), query, "a sample is not by units")
        for one, other in zip(
            ours.split_into_blocks(3, _coins(2)), theirs.split_into_blocks(3, _coins(2)), strict=True
        ):
            _same(one, other, query, "blocks are not by units")


def check_nothing_there(make: Make) -> None:
    """No rows at all: totals of zero, in the same shapes."""
    columns: Columns = {name: [] for name in _table()}
    try:
        rows = make(_only(columns, "cost"), "cost", None)
    except TypeError:  # nothing says what type an empty list is
        return
    for query in _queries():
        total = rows.sum(query)
        assert not np.any(total) and total.shape == query(rows.make_empty_batch()).shape


def check_uses(make: Make) -> None:
    """Rows are told what they are for: nothing changes but what may be asked; text is no number."""
    rows, memory = _both(make)
    for query in list(_queries())[:3]:
        _same(rows.expect_types(), memory, query, "rows for a use of them have other sums")
    columns = _table()
    made = make(_only(columns, "label"), "label", None).expect_types(labels=True)
    labelled = _memory(columns, "label", labels=True)
    assert dict(made.count_labels()) == dict(labelled.count_labels()), "rows for a classifier have other labels"
    codes = labelled.encode_targets(["a", "b"])
    _same(
        made.expect_types(labels=True).encode_targets(["a", "b"]), codes, next(_queries()), "labels are coded otherwise"
    )
    coded = made.encode_targets(["a", "b"]).expect_types()  # numbers by now
    _same(coded, codes, next(_queries()), "rows with codes for targets are not rows of numbers")


def check_holding(make: Make) -> None:
    """Rows that are held or kept are the same rows, with their units and places; or they are left as they are."""
    rows, memory = _both(make)
    queries = list(_queries())
    for made in (
        rows.hold_in_memory(),
        rows.cache_images(),
        rows.hold_in_memory().cache_images(),
        rows.map(_halved).hold_in_memory(),
    ):
        assert made.width == rows.width, "rows that are held have another width"
    for query in queries:
        kept = rows.cache_images()
        for made in (rows.hold_in_memory(), kept, kept):  # the second time what was kept is read
            _same(made, memory, query, "rows that are held or kept have other sums")
        halves = rows.map(_halved)
        _same(halves.hold_in_memory(), memory.map(_halved), query, "features that are held are not those of the map")
        _same(kept.map(_halved), memory.map(_halved), query, "what is kept outlives a map")
        _same(rows, memory, query, "holding rows changed them")
    people = make(_only(_table(), "cost", "person"), "cost", "person")
    _same(
        people.share_within_units().hold_in_memory(),
        _memory(_table(), "cost", unit="person").share_within_units(),
        queries[0].make_divisible(),
        "rows that are held forget their units",
    )
    if not _refuses(rows.check_places):
        lot = memory.sample(0.3, _coins(1))
        _same(rows.hold_in_memory().sample(0.3, _coins(1)), lot, queries[0], "rows that are held lose their places")


def check_refusal_of_places(make: Make) -> None:
    """Rows that have no places that stay say so, before and whenever they are sampled by them."""
    rows, _ = _both(make)
    if not _refuses(rows.check_places):
        return
    drawn = (lambda: rows.sample(0.3, _coins(1)), lambda: next(iter(rows.split_into_blocks(3, _coins(2)))))
    assert all(map(_refuses, drawn)), "rows without places that stay are sampled by them"
    people = make(_only(_table(), "cost", "person"), "cost", "person")
    assert not _refuses(people.check_places), "rows of units are refused, which need no places"


def check_version(make: Make) -> None:
    """A version, where there is one, is that of the data: it stays while they do; what is made of them has another."""
    rows, _ = _both(make)
    version = _version(rows)
    if version is None:
        return
    assert isinstance(version, str), "a version is a text"
    rows.sum(next(_queries()))
    assert _version(rows) == version, "a version changes though the data do not"
    columns = _only(_table(), "cost")
    for name, place in (("age", 3), ("cost", -1)):
        others = columns | {name: [*columns[name]]}
        others[name][place] = -0.25
        assert _version(make(others, "cost", None)) != version, "other data have the same version"
    assert _version(rows.map(_halved)) is None, "rows that were mapped have a version"
    if not _refuses(rows.check_places):
        assert _version(rows.sample(0.3, _coins(1))) != version, "a sample has the version of all rows"


def check_roles(make: Make) -> None:
    """Which column is the target, of which type, and which the unit: with the version, they tell rows apart."""
    columns = _table()
    made = [
        make(_only(columns, "cost"), "cost", None),
        make(_only(columns, "cost"), None, None),
        make(_only(columns, "label"), "label", None).expect_types(labels=True),
        make(_only(columns, "cost"), "cost", None).assign_units("visits"),
    ]
    roles = [rows.describe_roles() for rows in made]
    texts = all(len(one) == 3 and all(isinstance(text, str) for text in one) for one in roles)
    assert texts, "roles are three texts: the target, its type, the unit"
    facts = {repr((rows.columns, one, _version(rows))) for rows, one in zip(made, roles, strict=True)}
    assert len(facts) == len(made), "rows whose columns have other roles look the same"
    again = make(_only(columns, "cost"), "cost", None).describe_roles()
    assert again == roles[0], "roles are not a matter of columns alone"


def check_adder(make: Make) -> None:
    """What adds the noise goes with the rows, whatever is made of them."""
    rows, _ = _both(make)
    rows.adder = adder = object()
    made = [
        rows.map(_halved),
        rows.expect_types(),
        rows.hold_in_memory(),
        rows.cache_images(),
        rows.assign_units("visits"),
        rows.encode_targets([0.5]),
    ]
    made += [
        rows.assign_units("visits").share_within_units(),
        rows.assign_units("visits").limit_rows_per_unit(1, _coins(4)),
    ]
    if not _refuses(rows.check_places):
        made += [rows.sample(0.5, _coins(1)), *rows.split_into_blocks(2, _coins(2))]
    assert all(one.adder is adder for one in made), (
        "what adds the noise to these rows is forgotten by what is made of them"
    )


def check_silence(make: Make) -> None:
    """Neither the number of rows nor a value shows in what an engine says of itself; and rows are not copied."""
    rows, _ = _both(make)
    said = repr(rows) + str(rows) + repr(rows.describe_roles())
    assert str(len(_table()["cost"])) not in said and "0.625" not in said, "an engine tells of its rows"
    assert _raises(TypeError, lambda: pickle.dumps(rows)), "rows can be pickled"
    assert _raises(TypeError, lambda: copy.deepcopy(rows)), "rows can be copied"


def _queries() -> Iterator[BoundedSum]:
    yield BoundedSum(_features, _features, norm=2.0, name="X'X")
    yield BoundedSum(_features, _target, norm=2.0, name="X'y")
    yield BoundedSum(_features, norm=1.5, order=1, name="sums")
    yield BoundedSum(OneHot(_cell, 4), name="cells")
    yield BoundedSum(OneHot(_cell, 4), _target, norm=1.0, name="target by cell")


def _features(batch: Batch) -> NDArray[Any]:
    return np.asarray(batch.X, np.float64)


def _target(batch: Batch) -> NDArray[Any]:
    return np.asarray(np.zeros(len(batch)) if batch.y is None else batch.y, np.float64)


def _cell(batch: Batch) -> NDArray[Any]:
    x = np.asarray(batch.X[:, 0], np.float64)
    return np.where(np.isfinite(x), np.floor(np.clip(x, -1, 0.999) * 2) + 2, -1)


def _halved(batch: Batch) -> NDArray[Any]:
    return np.asarray(batch.X, np.float64) * 0.5


def _refuses(work: Callable[[], Any]) -> bool:
    return _raises(EngineError, work)


def _raises(error: type[Exception], work: Callable[[], Any]) -> bool:
    try:
        work()
    except error:
        return True
    return False


def _version(rows: Any) -> str | None:
    """The version of rows; none where they have none."""
    try:
        version: str | None = rows.read_version()
    except NotSupported:
        return None
    return version


def _table() -> Columns:
    rng = np.random.default_rng(7)
    n = 487
    table: Columns = {name: rng.uniform(-1, 1, n).tolist() for name in ("age", "weight", "cost")}
    table["visits"] = rng.integers(0, 3, n).tolist()
    table["weight"][10:20], table["cost"][15:25] = [None] * 10, [None] * 10
    table["age"][3] = 0.625
    table["label"] = [["a", "b", "c", None][i] for i in rng.integers(0, 4, n)]
    table["person"] = [None if i % 41 == 0 else f"p{rng.integers(0, 120)}" for i in range(n)]
    table["age"][30:34], table["weight"][30:34], table["visits"][30:34] = [[0.5] * 4, [0.5] * 4, [1] * 4]
    table["cost"][30:34], table["person"][30:34] = [[0.5] * 4, ["twin"] * 4]  # rows that are equal
    return table


def _both(make: Make) -> tuple[Any, Memory]:
    columns = _table()
    return make(_only(columns, "cost"), "cost", None), _memory(columns, "cost")


def _only(columns: Columns, *others: str) -> Columns:
    return {name: columns[name] for name in (*FEATURES, *others)}


def _memory(columns: Columns, target: str, labels: bool = False, unit: str | None = None) -> Memory:
    X = ArrayTable(np.array([columns[name] for name in FEATURES], np.float64).T, FEATURES)
    y = np.array(columns[target], object if labels else np.float64)
    if unit is None:
        return Memory.from_table(X, y)
    memory = Memory(X.read_block(0, len(X)), y, labels=labels, unit=np.array(columns[unit], object))
    memory.columns = FEATURES
    return memory


def _same(rows: Any, memory: Memory, query: Any, otherwise: str) -> None:
    ours, theirs = rows.sum(query), memory.sum(query)
    assert np.asarray(ours).shape == theirs.shape, otherwise
    assert bool(np.all(np.asarray(ours) == theirs)), otherwise


def _coins(seed: int) -> Coins:
    return Coins.draw_key(Keystream.seeded(seed))
