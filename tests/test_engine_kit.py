"""The test kit for engines: the engine in memory passes it, and every check catches an engine that is wrong there."""

import copy

import numpy as np
import polars
import pytest

from discreet import Bounds, Ledger
from discreet.budget import Budget
from discreet.checks import check_engine, engine_checks
from discreet.checks import engines as kit
from discreet.engines import BaseRows
from discreet.engines.memory import Memory
from discreet.errors import EngineError
from discreet.ledger.failed_reads import Reading, Watched
from discreet.mechanisms.coins import Coins
from discreet.models import LinearRegression, LinearSVC, SGDClassifier

from .lazy import pd

pytestmark = [
    pytest.mark.catalogue("EN1"),
    pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning", "ignore::discreet.NoiseWarning"),
]


def frame(columns):
    return pd.DataFrame(columns)


def maker(engine, kind=frame):
    """What makes rows of columns, as the kit asks for them."""

    def make(columns, target, unit):
        table = kind({name: columns[name] for name in columns if name != target})
        if target is None:
            return engine(table, unit=unit, block=13)
        labels = any(isinstance(value, str) for value in columns[target])
        return engine(table, np.array(columns[target], object if labels else float), labels=labels, unit=unit, block=13)

    return make


@pytest.mark.parametrize("kind", [frame, polars.DataFrame])
@pytest.mark.parametrize("check", engine_checks(), ids=lambda check: check.__name__)
def test_the_engine_in_memory_passes_its_own_kit(kind, check):
    check(maker(Memory, kind))


class Unplaced(Memory):
    """An engine whose rows have no places that stay: it says so, and draws no coins by them."""

    def check_places(self):
        if self.unit is None:
            raise EngineError("These rows have no places that stay.")

    def sample(self, rate, coins):
        self.check_places()
        return super().sample(rate, coins)

    def split_into_blocks(self, count, coins):
        self.check_places()
        return super().split_into_blocks(count, coins)


def test_an_engine_may_refuse_to_sample_by_places():
    check_engine(maker(Unplaced))


def test_what_watches_rows_is_an_engine_like_any_other():
    check_engine(lambda *asked: Reading(Budget(1.0)).of(maker(Memory)(*asked)))


# Engines that are wrong, each in one thing ---------------------------------------------------------------


def wrong(name, method):
    """An engine with another method, and so whatever is made of its rows."""

    def _take(self, rows):
        some = Memory._take_rows(self, rows)
        some.__class__ = type(self)
        return some

    return type("Wrong", (Memory,), {name: method, "_take_rows": _take})


def but(name, change):
    """An engine one of whose methods gives something else than it should."""
    return wrong(name, lambda self, *asked, **options: change(getattr(Memory, name)(self, *asked, **options)))


def short(rows):
    """All rows but the last."""
    return rows._take_rows(slice(0, rows.count_replace_one() - 1))


def plain(rows):
    """The same rows, which belong to nobody."""
    some = rows._take_rows(slice(None))
    some._units = some.unit = None
    return some


def nobody(rows):
    some = rows._take_rows(slice(None))
    some.unit = "visits"
    return some


def moved(rows):
    """The same rows, as if they lay elsewhere."""
    some = rows._take_rows(slice(None))
    some._start = 7
    return some


def rounded(rows):
    return rows.map(lambda batch: np.asarray(batch.X, np.float32))


def ashore(rows):
    """The same rows, whose noise is added by whoever asks."""
    some = rows._take_rows(slice(None))
    some.adder = None
    return some


def changing_itself(self, image, columns=None):
    made = Memory.map(self, image, columns)
    self._table = made._table
    return made


def counted(self):
    return f"<Wrong: {self.count_replace_one()} rows>"


def by_anything(self, unit):
    return Memory.assign_units(self, unit) if unit in self.columns else self


def refusing(self):
    raise EngineError("These rows have no places that stay.")


def nothing(self):
    return ()


def blank(self):
    return "", "", ""


def copied(self, memo):
    return self


CALLS = iter(range(1000))
SABOTAGED = [
    ("check_sums", but("sum", lambda total: total + 1), "a sum differs"),
    ("check_sums", but("count_replace_one", lambda count: count + 1), "counted otherwise"),
    ("check_places", wrong("sample", lambda self, rate, coins: Memory.sample(self, rate, Coins(bytes(32)))), "places"),
    (
        "check_places",
        wrong("split_into_blocks", lambda self, count, coins: iter([self] * count)),
        "blocks are not",
    ),
    ("check_targets", but("count_labels", lambda counts: counts | {"a": 1}), "counted otherwise"),
    (
        "check_targets",
        wrong("encode_targets", lambda self, classes: Memory.encode_targets(self, classes[::-1])),
        "coded otherwise",
    ),
    ("check_maps", wrong("map", changing_itself), "a map"),
    ("check_maps", wrong("map", lambda self, image, columns=None: Memory.map(self, image)), "names of columns"),
    ("check_units_of_engine", but("share_within_units", plain), "share"),
    (
        "check_units_of_engine",
        wrong("limit_rows_per_unit", lambda self, limit, coins: Memory.limit_rows_per_unit(self, 3, coins)),
        "rank first",
    ),
    ("check_naming_of_units", wrong("assign_units", by_anything), "not there"),
    ("check_naming_of_units", but("assign_units", plain), "feature"),
    ("check_naming_of_units", but("share_within_units", nobody), "still"),
    ("check_samples_of_units", but("share_within_units", plain), "by units"),
    ("check_nothing_there", but("sum", lambda total: total + 1), None),
    ("check_uses", wrong("expect_types", lambda self, **options: short(self)), "other sums"),
    (
        "check_uses",
        wrong("expect_types", lambda self, **options: self.encode_targets(["c"]) if options else self),
        "labels",
    ),
    ("check_holding", but("hold_in_memory", short), "other sums"),
    ("check_holding", but("cache_images", short), "other sums"),
    ("check_holding", but("hold_in_memory", rounded), "held"),
    ("check_holding", but("hold_in_memory", plain), "units"),
    ("check_holding", but("hold_in_memory", moved), "places"),
    ("check_refusal_of_places", wrong("check_places", refusing), "sampled by them"),
    ("check_refusal_of_places", type("Wrong", (Unplaced,), {"check_places": refusing}), "no places"),
    ("check_version", wrong("read_version", lambda self: "1"), "same version"),
    ("check_version", wrong("read_version", lambda self: str(next(CALLS))), "do not"),
    ("check_version", wrong("read_version", lambda self: 1), "a text"),
    ("check_version", but("map", lambda rows: rows.hold_in_memory()), "mapped"),
    ("check_roles", type("Wrong", (Memory,), {"describe_roles": nothing, "read_version": lambda self: None}), "texts"),
    (
        "check_roles",
        type("Wrong", (Memory,), {"describe_roles": blank, "read_version": lambda self: None}),
        "look the same",
    ),
    ("check_roles", wrong("describe_roles", lambda self: ("", next(CALLS), "")), "texts"),
    ("check_roles", wrong("describe_roles", lambda self: ("", str(next(CALLS)), "")), "columns alone"),
    *(
        ("check_adder", but(name, ashore), "forgotten")
        for name in ("map", "hold_in_memory", "cache_images", "assign_units", "share_within_units", "sample")
    ),
    ("check_silence", wrong("__repr__", counted), "tells"),
    ("check_silence", wrong("describe_roles", lambda self: ("", str(self.count_replace_one()), "")), "tells"),
    ("check_silence", wrong("__reduce__", lambda self: (int, ())), "pickled"),
    ("check_silence", wrong("__deepcopy__", copied), "copied"),
]


@pytest.mark.parametrize(("check", "engine", "text"), SABOTAGED, ids=lambda part: part if isinstance(part, str) else "")
def test_the_kit_finds_what_is_wrong(check, engine, text):
    with pytest.raises(AssertionError, match=text):
        getattr(kit, check)(maker(engine))


def test_every_check_can_fail():
    assert {check.__name__ for check in engine_checks()} == {check for check, *_ in SABOTAGED}


# The base of engines -------------------------------------------------------------------------------------


def test_every_engine_has_all_of_the_protocol():
    from discreet.engines.spark import Spark
    from discreet.engines.stream import Stream

    assert all(issubclass(engine, BaseRows) for engine in (Memory, Stream, Spark, Watched))
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (BaseRows,), {"sum": lambda self, query: 0})()


class Few:
    """Somebody's rows, without what came later."""

    width, columns = 1, None

    def make_empty_batch(self):
        return Memory(np.empty((0, 1)), np.empty(0)).make_empty_batch()

    def sum(self, query):
        raise AssertionError("rows were read")

    def count_replace_one(self):
        raise AssertionError("rows were read")


def test_an_engine_that_is_not_complete_is_refused_by_name():
    ledger = Ledger(Budget(1.0, 1e-6))
    missing = r"Missing: \['adder', 'assign_units', .*Hint: inherit discreet\.engines\.BaseRows"
    with pytest.raises(TypeError, match=missing):
        LinearRegression(ledger=ledger).fit(Few())
    assert ledger.entries == ()


def passed_on(name):
    """A method that asks the rows in memory; rows that it gives are such rows again."""

    def method(self, *asked):
        found = getattr(self._rows, name)(*asked)
        if name == "split_into_blocks":
            return (self._made(one) for one in found)
        return self._made(found) if isinstance(found, Memory) else found

    return method


class Around:
    """Rows in memory behind another engine."""

    def __init__(self, rows):
        self._rows = rows
        self.width, self.columns, self.unit = rows.width, rows.columns, rows.unit

    def _made(self, rows):
        some = Defaults(rows)
        some.adder = self.adder
        return some


# an engine that does what it must, and has the defaults of `BaseRows` for the rest
Defaults = type("Defaults", (Around, BaseRows), {name: passed_on(name) for name in BaseRows.__abstractmethods__})


def test_the_defaults_are_enough():
    check_engine(lambda *asked: Defaults(maker(Memory)(*asked)))


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        SGDClassifier(rate=0.5, epochs=1.5, classes=(0.0, 1.0)),
        LinearSVC(strength=1e4, n=40, classes=(0.0, 1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_hold_rows_do_with_the_defaults(model):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (40, 2)), rng.choice([0.0, 1.0], 40)
    model.set_params(random_state=3, bounds=Bounds(-1, 1, target=(-1, 2)))
    here, there = (copy.deepcopy(model).fit(engine(Memory(X, y))).coef_ for engine in (lambda rows: rows, Defaults))
    assert np.array_equal(here, there)
