"""Every estimator and every statistic on every engine: the same release as in memory, to the bit."""

import os
import shutil
import sys
from functools import cache

import numpy as np
import polars
import pyarrow.dataset
import pyarrow.parquet
import pytest

import discreet as dc
from discreet import checks
from discreet.checks.behaviour import _bits
from discreet.engines.memory import Memory
from discreet.models import LinearSVC

pytestmark = [
    pytest.mark.catalogue("DI7"),
    pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning", "ignore::discreet.NoiseWarning"),
]

ESTIMATORS, STATISTICS = checks.private_estimators(), checks.private_statistics()
NAMES = [*ESTIMATORS, *(f"stats.{name}" for name in STATISTICS)]
STREAMS = ("parquet", "csv", "polars", "arrow", "dataset", "duckdb")
FEW = {"strength": 1e4, "n": 211}  # a strong penalty, and a public number of rows: a dozen passes
JOBS = {  # settings with which these, that may ask for hundreds of sums, ask for few: on Spark each is a job
    "KernelSVC": {"n_components": 3, "n": 211, "linear": LinearSVC(strength=1e4)},
    "LinearSVC": FEW,
    "OnlineClassifier": {"horizon": 2, "n": 211},
    "SGDClassifier": {"rate": 0.5, "epochs": 1.5},
    "SGDRegressor": {"rate": 0.5, "epochs": 1.5},
}
QUICK = {"BayesianLinearRegression": {"draws": 64, "chains": 1}}  # draws follow from the release: a few show as much


def prepared(name):
    kind, _, statistic = name.partition(".")
    if statistic:
        return checks.Asked(STATISTICS[statistic])
    return checks.prepared(ESTIMATORS[kind]).set_params(epsilon=4.0)


def table_of(estimator):
    X, y = checks.specimens.ordinary(estimator)
    X[5, 0], X[7, -1] = np.nan, np.nan
    if isinstance(estimator, checks.Asked):
        X = X[:, :1]
    table = polars.DataFrame({f"x{i}": column for i, column in enumerate(X.T)})
    table = table.with_columns(polars.Series("person", [f"p{i % 61}" for i in range(len(X))]))
    return table if isinstance(estimator, checks.Asked) else table.with_columns(polars.Series("y", y))


def opened(engine, table, features, target, unit, folder):
    """Rows behind an engine, or what `fit` takes for them, and y."""
    table = table.select([*features, *([target] if target else []), *([unit] if unit else [])])
    if engine in ("parquet", "dataset"):
        for i in range(3):
            part = table.slice(80 * i, 80 if i < 2 else None).to_arrow()
            pyarrow.parquet.write_table(part, folder / f"{i}.parquet", row_group_size=37)
        if engine == "parquet":
            return dc.scan_parquet(folder / "*.parquet", target=target), None
        return pyarrow.dataset.dataset(folder), target
    if engine == "csv":
        table.write_csv(folder / "rows.csv", float_precision=None)
        return dc.scan_csv(folder / "rows.csv", target=target), None
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        return duckdb.connect().from_arrow(table.to_arrow()), target
    return {"polars": table.lazy(), "arrow": table.to_arrow()}[engine], target


def posed(name, kind, few):
    """An estimator, a table for it, and the names of its features, its target and its unit."""
    options = QUICK.get(name, {}) | (JOBS.get(name, {}) if few else {})
    estimator = prepared(name).set_params(random_state=11, ledger=None, **options)
    unit = "person" if kind != "rows" else None
    if unit:
        estimator.set_params(unit=unit, max_rows_per_unit=2 if kind == "limit" else None)
    table, statistic = table_of(estimator), isinstance(estimator, checks.Asked)
    features = [column for column in table.columns if column.startswith("x")]
    return estimator, table, features, None if statistic or not estimator.supervised else "y", unit


@cache
def in_memory(name, kind, few):
    """What rows in memory give: the same for every engine."""
    estimator, table, features, target, unit = posed(name, kind, few)
    roles = {"labels": hasattr(estimator, "classes"), "unit": unit}
    held = [*features, unit] if unit else features
    estimator.fit(Memory(table.select(held), table[target] if target else None, **roles))
    return _bits(estimator.release_), coefficients(estimator)


def agree(name, kind, give, few=False):
    """The release of rows that `give` hands over is that of the same rows in memory."""
    estimator, *asked = posed(name, kind, few)
    found, (wanted, learnt) = estimator.fit(*give(*asked)), in_memory(name, kind, few)
    assert _bits(found.release_) == wanted
    assert np.array_equal(coefficients(found), learnt)


def coefficients(model):
    return np.asarray(getattr(model, "coef_", getattr(model, "best_index_", 0.0)))


@pytest.mark.parametrize("unit", ["rows", "shares", "limit"])
@pytest.mark.parametrize("engine", STREAMS)
@pytest.mark.parametrize("name", NAMES)
def test_streams(name, engine, unit, tmp_path):
    agree(name, unit, lambda *asked: opened(engine, *asked, tmp_path))


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="Spark tests need pyspark: pip install discreet[spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark tests need Java 17 or 21: apt-get install openjdk-17-jre-headless")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]").appName("discreet")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
    }
    for option, value in options.items():
        builder = builder.config(option, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


# a sum, passes over lots, and descent; each job takes a while, so all others wait for `make integration`
SMOKE = ("LinearRegression", "LogisticRegression", "SGDClassifier", "stats.mean")


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("unit", ["rows", "shares"])
@pytest.mark.parametrize(
    "name", [name if name in SMOKE else pytest.param(name, marks=pytest.mark.integration) for name in NAMES]
)
def test_spark(spark, name, unit):
    """Sums are the same for any partitions; a coin by a row's place only if the rows are in the places they had."""
    placed = unit == "rows" and getattr(prepared(name), "coins", False)

    def give(table, features, target, column):
        some = table.select([*features, *([target] if target else []), *([column] if column else [])])
        frame = spark.createDataFrame(some.to_arrow())
        return frame.coalesce(1).persist() if placed else frame.repartition(3), target

    agree(name, unit, give, few=True)
