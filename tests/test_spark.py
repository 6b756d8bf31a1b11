"""Rows behind Spark: the same bits as in memory, whatever the partitions, retries and failures.

Two workers of a small local Spark; skipped where there is no Java, or no pyspark.
"""

import logging
import os
import shutil
import subprocess
import sys
import threading
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone

import discreet as dc
from discreet.checks.engines import check_engine
from discreet.curator import Curator
from discreet.documents import values as documents
from discreet.engines.memory import Memory
from discreet.engines.spark import from_spark, is_spark
from discreet.engines.spark.failures import _find_loggers, find_reason, run_on_spark
from discreet.engines.spark.tasks import Count, Sum, Tally, make_worker
from discreet.errors import EngineError, ReadError
from discreet.mechanisms.coins import Coins
from discreet.models import LinearRegression, LogisticRegression
from discreet.query import BoundedSum, OneHot, Together
from discreet.stats import histogram, mean, quantile

from .lazy import pd

pytestmark = [
    pytest.mark.catalogue("DI7"),
    pytest.mark.xdist_group("spark"),  # one process, one session
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # pyspark's own sockets
]

N, FEATURES = 2500, ["a", "b", "c"]
BOUNDS = dc.Bounds(-1, 1, target=(-4, 4))
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "300",  # several batches to a task
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="Spark tests need pyspark: pip install discreet[spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark tests need Java 17 or 21: apt-get install openjdk-17-jre-headless")
    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = OPTIONS | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    builder = sql.SparkSession.builder.master("local[2, 4]").appName("discreet")  # a task is tried four times
    session = builder.config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def table():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.uniform(-1.2, 1.2, (N, 3)), columns=FEATURES)
    frame["cost"] = frame.a - 2 * frame.b + 0.3 * rng.normal(size=N)
    frame["kind"] = np.where(frame.cost > 0, "yes", "no")
    frame["person"] = rng.integers(0, 400, N)
    frame.loc[::97, "a"] = np.nan
    frame.loc[::89, "cost"] = np.nan
    return frame


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def visits(spark, frame):
    return spark.createDataFrame(frame).repartition(2).persist()


@pytest.fixture(scope="module")
def collected(visits):
    """The rows as the cluster holds them, with their places."""
    from pyspark.sql.functions import monotonically_increasing_id

    rows = visits.select("*", monotonically_increasing_id().alias("place")).collect()
    return pd.DataFrame([row.asDict() for row in rows])


def outer():
    """A query whose functions travel as code: a test's module is not there for the workers."""

    def x(batch):
        return batch.X

    return BoundedSum(x, x, norm=3.0)


def same(found, expected):
    return found.shape == expected.shape and (found.astype(object) == expected.astype(object)).all()


def test_a_data_frame_is_known_without_importing_spark():
    code = "import sys; from discreet.engines.spark import is_spark; print(is_spark(1), 'pyspark' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


@pytest.mark.slow
def test_the_checks_of_engines(spark):
    """One partition has the places of rows in memory; batches of 300 rows, so that there are some."""
    kinds = {"label": "string", "person": "string", "visits": "long"}

    def make(columns, target, unit):
        schema = ", ".join(f"{name} {kinds.get(name, 'double')}" for name in columns)
        cells = [*zip(*columns.values(), strict=True)]
        rows = from_spark(spark.createDataFrame(cells, schema).coalesce(1).persist(), target)
        return rows if unit is None else rows.assign_units(unit)

    check_engine(make)


def test_models_are_the_same_bits(visits, frame):
    private = LinearRegression(bounds=BOUNDS, random_state=3)
    here = private.fit(frame[FEATURES], frame.cost).coef_
    assert is_spark(visits) and not is_spark(frame)
    for some in (visits, visits.repartition(4)):
        assert (private.fit(from_spark(some, "cost", FEATURES)).coef_ == here).all()
    assert list(private.feature_names_in_) == FEATURES


@pytest.mark.slow
def test_a_classifier_of_text_is_the_same_bits(visits, frame):
    private = LogisticRegression(bounds=dc.Bounds(-1, 1), random_state=3)
    here = private.fit(frame[FEATURES], frame.kind).coef_
    assert (private.fit(from_spark(visits, "kind", FEATURES)).coef_ == here).all()
    assert private.classes_.tolist() == ["no", "yes"]


def test_statistics_are_the_same_bits(visits, frame):
    rows = from_spark(visits, columns=["b"])
    for ask in (mean, lambda x, **options: quantile(x, 0.3, **options), histogram):
        here, there = (ask(x, bounds=(-1, 1), random_state=4).value for x in (frame[["b"]], rows))
        assert np.all(np.asarray(here) == np.asarray(there))


def test_text_is_counted_by_a_public_list(visits, frame):
    for columns in (["kind"], ["kind", "person"]):
        lists = [["yes", "no", "none"], [3, 7, "x"]][: len(columns)]
        private = [
            histogram(x, categories=lists if len(lists) > 1 else lists[0], random_state=4).value
            for x in (frame[columns], from_spark(visits, columns=columns))
        ]
        assert (private[0] == private[1]).all() and private[0].size == 3 ** len(columns)


def test_a_data_frame_can_be_given_as_it_is(visits, frame):
    some = visits.select(*FEATURES, "cost", "kind")
    private = LinearRegression(bounds=BOUNDS, random_state=3)
    here = private.fit(frame[FEATURES], frame.cost).coef_
    assert (private.fit(some.drop("kind"), "cost").coef_ == here).all()
    with pytest.raises(TypeError, match="'kind' is text"):
        private.fit(some, "kind")  # before anything is charged


def test_several_sums_are_read_at_once(visits, frame):
    sums = [Together((outer(), replaced)) for replaced in [BoundedSum(OneHot(first_cell(), 2))] for _ in range(2)]
    there = from_spark(visits, "cost", FEATURES).sum(sums[0])
    here = Memory(frame[FEATURES], frame.cost).sum(sums[1])
    assert same(there, here)
    assert [part.shape for part in sums[0].split_total(there)] == [(3, 3), (2,)]


def first_cell():
    def cell(batch):
        return batch.X[:, 1] > 0

    return cell


def test_samples_draw_coins_by_place(visits, collected):
    coins, query = Coins(b"k" * 32), outer()
    sample = from_spark(visits, "cost", FEATURES).sample(0.3, coins)
    heads = np.array([coins.look_up_heads(place, place + 1, 0.3)[0] for place in collected.place])
    taken = collected[heads]
    assert 0.2 * N < len(taken) < 0.4 * N
    assert same(sample.sum(query), Memory(taken[FEATURES], taken.cost).sum(query))
    assert sample.count_replace_one() == len(taken)


def test_blocks_are_disjoint_and_all_there_is(visits, collected):
    rows, coins, query = from_spark(visits, "cost", FEATURES), Coins(b"b" * 32), outer()
    parts = [block.sum(query) for block in rows.split_into_blocks(3, coins)]
    place = np.array([coins.look_up_words(place, place + 1)[0] % 3 for place in collected.place])
    for number, part in enumerate(parts):
        some = collected[place == number]
        assert same(part, Memory(some[FEATURES], some.cost).sum(query))


def test_a_task_that_fails_once_changes_nothing(spark, visits, tmp_path):
    """A task dies in the middle of its rows the first time: run again, it draws the same coins."""
    tried = str(tmp_path)

    def frail(fails):
        def rows(batches):
            from pathlib import Path

            from pyspark import TaskContext

            task = TaskContext.get()
            for number, batch in enumerate(batches):
                yield batch
                if fails and number == 1 and task.attemptNumber() == 0:
                    (Path(tried) / str(task.partitionId())).touch()
                    raise RuntimeError("lost")

        return visits.mapInArrow(rows, visits.schema)

    coins, query = Coins(b"r" * 32), outer()
    sums = [from_spark(frail(fails), "cost", FEATURES).sample(0.5, coins).sum(query) for fails in (False, True)]
    assert len(os.listdir(tried)) == 2
    assert same(*sums)


def until(broken):
    """Rows that are lost in the middle of a pass as long as a file is there, however often a task is tried."""
    path = str(broken)

    def rows(batches):
        import os

        for batch in batches:
            yield batch
            if os.path.exists(path):
                raise RuntimeError("lost")

    return rows


@pytest.fixture
def measured(monkeypatch):
    """All values that any curator measures, seen or not; and what to do after each."""
    values, then, honest = [], [], Curator._release

    def record(self, *arguments):
        release = honest(self, *arguments)
        values.append(np.asarray(release.value, np.float64).tobytes())
        for action in then:
            action()
        return release

    monkeypatch.setattr(Curator, "_release", record)
    return values, then


def learnt(model):
    return documents.dump(model.release_), model.coef_.tobytes(), model.intercept_


@pytest.mark.slow
@pytest.mark.catalogue("CO6")
def test_a_pass_that_fails_is_run_again_for_the_charge_it_paid(visits, tmp_path, measured):
    """Tasks die in a later pass: one charge, nothing to be seen, fresh noise; then the release is stored."""
    (values, then), broken = measured, tmp_path / "broken"
    rows = visits.mapInArrow(until(broken), visits.schema)
    account = dc.Ledger(dc.Budget(4.0, 1e-6))
    model = LinearRegression(n=N, bounds=BOUNDS, ledger=account.retrying("june"))
    before = dict(vars(model))
    then.append(broken.touch)
    with pytest.raises(ReadError, match="not charged a second time"):
        model.fit(from_spark(rows, "cost", FEATURES))
    unseen, entries = set(values), account.entries
    assert len(entries) == 1 and vars(model) == before and unseen
    then.clear()
    broken.unlink()

    model.fit(from_spark(rows, "cost", FEATURES))
    assert account.entries == entries, "the charge was paid"
    assert len(values) > len(unseen) and not unseen & set(values[len(unseen) :]), "noise was used twice"

    broken.touch()
    again = clone(model).fit(from_spark(rows, "cost", FEATURES))  # reads nothing
    assert learnt(again) == learnt(model) and account.entries == entries


def test_units_are_the_same_bits(spark, frame):
    """At most some rows of each, samples and blocks of units, and shares: whole units, wherever their rows lay."""
    lost = frame.assign(person=frame.person.where(frame.index % 50 != 0))
    visits = spark.createDataFrame(lost[[*FEATURES, "cost", "person"]]).repartition(5).persist()
    coins, query = Coins(b"u" * 32), outer()
    whole = BoundedSum(query.left, norm=1.5, whole=True)
    there = from_spark(visits, "cost").assign_units("person")
    here = Memory(lost[FEATURES], lost.cost, unit=lost.person.to_numpy())
    assert there.columns == tuple(FEATURES) and there.width == 3
    assert there.count_replace_one() == here.count_replace_one() == N - N // 50
    for steps in (
        lambda rows: rows.limit_rows_per_unit(2, coins),
        lambda rows: rows.sample(0.4, coins).share_within_units(),
        lambda rows: list(rows.split_into_blocks(2, coins))[1].limit_rows_per_unit(1, coins),
    ):
        assert same(steps(there).sum(query), steps(here).sum(query))
    assert same(there.share_within_units().sum(whole), here.share_within_units().sum(whole))
    texts = visits.selectExpr(*FEATURES, "cost", "concat('p', person) as person")
    named = Memory(lost[FEATURES], lost.cost, unit=lost.person.map(lambda p: None if p != p else f"p{p}").to_numpy())
    assert same(
        from_spark(texts, "cost").assign_units("person").share_within_units().sum(query),
        named.share_within_units().sum(query),
    )


def test_zero_and_minus_zero_are_one_unit(spark):
    frame = pd.DataFrame({"a": np.linspace(0, 1, 8), "person": [0.0, -0.0, 0.0, -0.0, np.nan, 7.0, -7.0, 0.0]})
    rows = from_spark(spark.createDataFrame(frame).repartition(4)).assign_units("person")
    assert rows.limit_rows_per_unit(1, Coins(b"z" * 32)).count_replace_one() == 3


def test_columns_of_all_kinds_of_numbers(spark):
    cells = [
        (1, True, Decimal("0.25"), 0.5, 3.0),
        (None, False, Decimal("-1.5"), None, 1.0),
        (3, None, None, 2.0, None),
    ]
    kinds = "`no. of` long, `is` boolean, `dec` decimal(9, 2), `f` float, `Dec` double"
    data = spark.createDataFrame(cells, kinds).coalesce(1)
    rows = from_spark(data, "Dec")
    X = np.array([[np.nan if v is None else float(v) for v in row] for row in cells])
    query = BoundedSum(OneHot(present(), 1, columns=4))
    assert rows.columns == ("no. of", "is", "dec", "f")
    assert same(rows.sum(query), Memory(X[:, :4], X[:, 4]).sum(query))
    assert rows.count_replace_one() == 3


def present():
    def cells(batch):
        return np.where(np.isfinite(batch.X), 0, -1)

    return cells


def test_labels_keep_their_types(spark, visits, frame):
    assert from_spark(visits, "kind", FEATURES).count_labels() == frame.kind.value_counts().to_dict()
    cells = [(0.0, 1, True), (0.0, None, False), (0.0, 7, None), (0.0, 7, True)]
    data = spark.createDataFrame(cells, "x double, whole int, flag boolean").repartition(2)
    for target, counts in (("whole", {1: 1, 7: 2}), ("flag", {True: 2, False: 1})):
        rows = from_spark(data, target, ["x"])
        found = rows.count_labels()
        assert found == counts and {*map(type, found)} == {*map(type, counts)}
    assert rows.encode_targets([False, True]).count_labels() == {0.0: 1, 1.0: 2}


def test_features_can_be_mapped(visits, frame):
    def double(batch):
        return np.column_stack([batch.X * 2, batch.X[:, 0]])

    query = outer()
    there = from_spark(visits, "cost", FEATURES).map(double, ["d", "e", "f", "g"])
    assert there.width == 4 and there.columns == ("d", "e", "f", "g")
    assert same(there.sum(query), Memory(frame[FEATURES], frame.cost).map(double).sum(query))


def test_no_rows_at_all(visits):
    private = LinearRegression(bounds=BOUNDS, random_state=3)
    rows = from_spark(visits.filter("a > 99"), "cost", FEATURES)
    assert (private.fit(rows).coef_ == private.fit(np.empty((0, 3)), np.empty(0)).coef_).all()


def test_what_is_not_there_is_refused_before_any_job(visits, spark):
    with pytest.raises(ValueError, match=r"no columns \['price'\]"):
        from_spark(visits, "price")
    with pytest.raises(ValueError, match=r"no columns \['d'\]"):
        from_spark(visits, "cost", ["a", "d"])
    with pytest.raises(ValueError, match="Twice"):
        from_spark(visits, "cost", ["a", "a"])
    with pytest.raises(TypeError, match=r"kind \(string\)"):
        LinearRegression(bounds=BOUNDS).fit(from_spark(visits, "cost"))
    rows = from_spark(visits.selectExpr("a", "cost", "current_date() as day", "cast(a as decimal(5,1)) as dec"), "cost")
    with pytest.raises(ValueError, match="no columns"):
        rows.assign_units("person")
    with pytest.raises(TypeError, match="type date"):
        rows.assign_units("day")
    with pytest.raises(TypeError, match="type decimal"):
        rows.assign_units("dec")
    with pytest.raises(ValueError, match="target already"):
        rows.assign_units("cost")
    with pytest.raises(ValueError, match="no units"):
        rows.share_within_units()
    with pytest.raises(ValueError, match="once"):
        from_spark(visits, "cost").assign_units("person").assign_units("a")
    with pytest.raises(TypeError, match="neither numbers nor labels"):
        from_spark(visits.selectExpr("a", "current_date() as day"), "day")


def test_rows_stay_where_they_are(visits):
    rows = from_spark(visits, "cost", FEATURES)
    assert repr(rows) == "<Spark: 3 columns>"
    with pytest.raises(TypeError, match="not pickled"):
        rows.__reduce__()


@pytest.mark.parametrize("plan", ["joined", "sorted", "random", "limited"])
def test_places_that_may_change_are_not_sampled_by(visits, plan):
    from pyspark.sql.functions import rand

    unsteady = {
        "joined": lambda: visits.join(visits.selectExpr("person", "a as d"), "person"),
        "sorted": lambda: visits.orderBy("a"),
        "random": lambda: visits.withColumn("d", rand()),
        "limited": lambda: visits.limit(70),
    }[plan]()
    coins = Coins(b"s" * 32)
    with pytest.raises(EngineError, match=r"persist\(\)"):
        from_spark(unsteady, "cost", FEATURES).sample(0.5, coins)
    with pytest.raises(EngineError, match=r"persist\(\)"):
        from_spark(unsteady, "cost", FEATURES).split_into_blocks(2, coins)
    from_spark(unsteady, "cost", [*FEATURES, "person"]).assign_units("person").sample(0.5, coins)
    kept = unsteady.persist()
    from_spark(kept, "cost", FEATURES).sample(0.5, coins)
    kept.unpersist()


def test_sources_that_may_change_are_not_sampled_by(spark, frame, tmp_path):
    """Files, local rows, ranges and what is persisted stay; an RDD may give other rows whenever it is run."""
    coins, cells = Coins(b"s" * 32), frame[["a", "b"]]
    rdd = spark.sparkContext.parallelize(cells.to_numpy().tolist(), 2).toDF(["a", "b"])
    for unsteady in (rdd, rdd.union(spark.createDataFrame(cells)), rdd.filter("a > 0")):
        with pytest.raises(EngineError, match=r"persist\(\)"):
            from_spark(unsteady).sample(0.5, coins)
    rdd.write.parquet(str(tmp_path / "p"))
    rdd.write.csv(str(tmp_path / "c"))
    steady = {
        "persisted": rdd.persist(),
        "parquet": spark.read.parquet(str(tmp_path / "p")).filter("a > 0"),
        "csv": spark.read.schema("a double, b double").csv(str(tmp_path / "c")),
        "local": spark.createDataFrame(cells),
        "range": spark.range(9).selectExpr("id * 2 as a"),
    }
    for data in steady.values():
        from_spark(data).sample(0.5, coins)
    steady["persisted"].unpersist()


def test_the_unit_can_be_named_at_once(visits):
    rows = from_spark(visits, "cost", [*FEATURES, "person"], unit="person")
    assert rows.unit == "person" and rows.columns == tuple(FEATURES)
    with pytest.raises(ValueError, match="no columns"):
        from_spark(visits, "cost", FEATURES, unit="nobody")
    with pytest.raises(TypeError, match=r"columns=\['ab'\]"):
        from_spark(visits, columns="ab")


def test_a_failure_tells_nothing_of_rows(visits):
    def image(batch):
        if len(batch):
            raise ValueError(f"secret {batch.X[0, 0]}")
        return batch.X

    with pytest.raises(EngineError, match=r"failed while adding up rows \(ValueError\)") as caught:
        from_spark(visits.coalesce(1), "cost", FEATURES).sum(BoundedSum(image, norm=1.0))
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_a_failing_plan_tells_nothing_of_rows(visits):
    broken = visits.coalesce(1).selectExpr("cast(kind as double) as a", "cost")
    with pytest.raises(EngineError, match="could not run the plan") as caught:
        from_spark(broken, "cost").sum(outer())
    assert "yes" not in str(caught.value) and caught.value.__context__ is None


def test_a_failing_plan_prints_nothing_of_rows(spark, visits, capfd):
    """Spark's Python half logs what an error says before it can be caught; outside of our jobs it still does."""
    for broken in (
        visits.selectExpr("cast(if(b > 0, 'SECRET', '1') as int) as a", "cost"),
        visits.select(visits.kind.cast("double").alias("a"), "cost"),
    ):
        with pytest.raises(EngineError, match="could not run the plan"):
            from_spark(broken, "cost").sum(outer())
        with pytest.raises(EngineError, match="could not run the plan"):
            from_spark(broken.filter("a > 0"), "cost").count_replace_one()
        printed = "".join(capfd.readouterr())
        assert not any(word in printed for word in ("SECRET", "yes", "CAST_INVALID_INPUT"))
    loggers = _find_loggers()
    assert len(loggers) == 4 and not any(logger.filters for logger in loggers)


def test_loggers_are_silent_only_meanwhile():
    pytest.importorskip("pyspark")
    seen = []
    logger = _find_loggers()[-1]
    handler = logging.Handler()
    handler.emit = seen.append
    logger.addHandler(handler)

    def work():
        run_on_spark(None, lambda: logger.error("within"))  # the end of an inner one is not the end of this
        logger.error("within")

    kept, logger.handlers = logger.handlers, [handler]
    try:
        run_on_spark(None, work)
        with pytest.raises(EngineError):
            run_on_spark(None, lambda: logger.error("within") or 1 / 0)
        assert not seen
        logger.error("after")
        assert len(seen) == 1
    finally:
        logger.handlers = [one for one in kept if one is not handler]


def test_what_cannot_be_sent_is_refused(visits):
    lock = threading.Lock()

    def image(batch):
        assert lock
        return batch.X

    with pytest.raises(EngineError, match="cannot be sent to the workers"):
        from_spark(visits, "cost", FEATURES).sum(BoundedSum(image, norm=1.0))


WORKERS = {
    "no module discreet": "import sys; sys.modules['discreet'] = None",
    "have discreet 0.0.1": "import sys, types; m = sys.modules['discreet'] = types.ModuleType('discreet'); "
    "m.__version__ = '0.0.1'",
    "different versions of Python": "import sys; from collections import namedtuple; "
    "sys.version_info = namedtuple('V', 'major minor micro releaselevel serial')(3, 99, 0, 'final', 0)",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "message", ["no module discreet", *(pytest.param(one, marks=pytest.mark.integration) for one in list(WORKERS)[1:])]
)
def test_workers_must_have_the_package_and_the_python(spark, visits, tmp_path, monkeypatch, message):
    """Workers of another Python: one that starts with a line which takes the package away, or makes it another."""
    (tmp_path / "sitecustomize.py").write_text(WORKERS[message])
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
    with pytest.raises(EngineError, match=message) as caught:
        from_spark(visits, "cost", FEATURES).sum(outer())
    assert "PYSPARK_PYTHON" in str(caught.value)


class Huge:
    """Rows whose total has no place in 64 bits."""

    def __init__(self, total):
        self.total = total

    def sum(self, query):
        return np.array(self.total, dtype=object)

    def count_labels(self):
        return {"a": 1, 0.1: 2, float("inf"): 3, 1 << 60: 1}


def test_totals_beyond_64_bits_are_exact():
    totals = [[1 << 70, -(1 << 66) - 1], [-(1 << 70) + 5, 3]]
    ask = Sum(outer(), (2,))
    found = ask.combine_partials([ask.compute_partial(iter([Huge(total)])) for total in totals])
    assert found.tolist() == [5, -(1 << 66) + 2]
    assert ask.compute_partial(iter([])) is None and ask.combine_partials([]).tolist() == [0, 0]
    tally = Tally()
    twice = [tally.compute_partial(iter([Huge(None), Huge(None)]))] * 2
    assert tally.combine_partials(twice) == {"a": 4, 0.1: 8, float("inf"): 12, 1 << 60: 4}
    assert Count().combine_partials([b"3", b"4"]) == 7


def test_other_workers_say_so():
    (record,) = make_worker(b"", "0.0.1")(iter([]))
    assert record.to_pydict() == {"problem": [f"version {dc.__version__}"], "total": [None]}
    (record,) = make_worker(b"cno_such_package\nthing\n.", dc.__version__)(iter([]))
    assert record.to_pydict() == {"problem": ["module no_such_package"], "total": [None]}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "python"),
        ("Job 3 cancelled because SparkContext was shut down", "stopped"),
        ("is bigger than spark.driver.maxResultSize (1024.0 MiB)", "result"),
        ("Python worker exited unexpectedly (crashed)", "memory"),
        ("RuntimeError: discreet task MemoryError", "memory"),
        ("RuntimeError: discreet task KeyError\n at org.apache", "task KeyError"),
        ("The value 'a secret' cannot be cast to DOUBLE", "job"),
    ],
)
def test_failures_are_told_by_their_kind(said, reason):
    assert find_reason(said) == reason


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.catalogue("CO6")
def test_a_session_that_stops(spark, visits, tmp_path, measured):
    """The last one here: it stops sessions, between two passes and in the middle of one.

    Under a retrying ledger, a run in the next session goes on with the charge.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    @udf("double")
    def slow(value):
        import time

        time.sleep(0.05)
        return value

    def table(session):
        return from_spark(session.read.parquet(str(tmp_path / "visits")), "cost", FEATURES)

    (values, then), account = measured, dc.Ledger(dc.Budget(4.0, 1e-6))
    visits.write.parquet(str(tmp_path / "visits"))
    model = LinearRegression(n=N, bounds=BOUNDS, ledger=account.retrying("june"))
    then.append(spark.stop)
    with pytest.raises(ReadError, match=r"session stopped.*not charged a second time"):
        model.fit(table(spark))
    unseen, entries = set(values), account.entries
    then.clear()
    another = SparkSession.builder.config(map=OPTIONS).master("local[2]").getOrCreate()
    another.sparkContext.setLogLevel("OFF")
    model.fit(table(another))
    assert unseen and not unseen & set(values[len(unseen) :]) and account.entries == entries

    rows = from_spark(another.range(2000).select(slow("id").alias("a")))
    stop = threading.Timer(3.0, another.stop)
    stop.start()
    with pytest.raises(EngineError, match="session stopped"):
        rows.sum(outer())
    stop.join()
    with pytest.raises(EngineError, match="session stopped"):
        rows.count_replace_one()
