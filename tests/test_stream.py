"""Streams: the same answers as in memory, to the bit, from every source, in any pieces; and what is refused."""

import gc
import os
import threading
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import stats
from discreet.checks.engines import check_engine
from discreet.engines.memory import Memory
from discreet.engines.stream import parallel, parquet, stream
from discreet.engines.stream.parquet import Parquet
from discreet.engines.stream.sources import open_stream, scan_csv, scan_parquet
from discreet.errors import EngineError, NotPrivateWarning
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models import LinearRegression, LogisticRegression, SGDClassifier
from discreet.query import BoundedSum, OneHot, Together

duckdb = pytest.importorskip("duckdb")

pytestmark = [
    pytest.mark.catalogue("EN1"),
    pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning", "ignore::discreet.NoiseWarning"),
]
assert NotPrivateWarning is not None

N = 3000
FEATURES = ["age", "visits", "smoker", "dose"]
BOUNDS = dc.Bounds([0, 0, 0, -3], [100, 9, 1, 3], target=(-50, 50))


def frame(n=N):
    """Floats, whole numbers, truths, small floats with gaps; a target, a label, and units of several rows."""
    rng = np.random.default_rng(7)
    age, visits = rng.uniform(0, 100, n), rng.integers(0, 10, n)
    dose = rng.standard_normal(n).astype(np.float32)
    cost = 0.3 * age - 2 * visits + rng.standard_normal(n)
    patient = rng.integers(0, max(1, n // 4), n)
    return pl.DataFrame(
        {
            "age": pl.Series(np.where(rng.random(n) < 0.02, np.nan, age)),
            "visits": pl.Series([None if rng.random() < 0.02 else int(v) for v in visits], dtype=pl.Int32),
            "smoker": rng.random(n) < 0.3,
            "dose": pl.Series(dose),
            "cost": pl.Series(cost),
            "ill": pl.Series(
                [None if rng.random() < 0.01 else ["no", "yes"][int(c > 5)] for c in cost], dtype=pl.String
            ),
            "patient": pl.Series([None if rng.random() < 0.02 else f"p{i}" for i in patient], dtype=pl.String),
        }
    )


@pytest.fixture(scope="module")
def table():
    return frame()


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """The table as Parquet in three files of small row groups, as one file of one, and as three CSV files."""
    at = tmp_path_factory.mktemp("stream")
    for i, (start, stop) in enumerate(pairwise([0, 1100, 1150, N])):
        some = table.slice(start, stop - start)
        pq.write_table(some.to_arrow(), at / f"rows-{i}.parquet", row_group_size=170)
        some.with_columns(dose=pl.col("dose").cast(pl.Float64)).write_csv(at / f"rows-{i}.csv")  # all of its digits
    pq.write_table(table.to_arrow(), at / "whole.pq")
    with pa.output_stream(str(at / "rows-1.csv.gz"), compression="gzip") as out:
        out.write((at / "rows-1.csv").read_bytes())
    with pa.output_stream(str(at / "rows-2.csv.zst"), compression="zstd") as out:
        out.write((at / "rows-2.csv").read_bytes())
    return at


SOURCES = ("parquet", "one row group", "csv", "polars", "dataset", "arrow", "duckdb")


def open_source(name, folder, table, columns, target=None):
    """A stream of some columns of the table, by this source."""
    wanted = [*columns, *([] if target is None else [target])]
    if name == "parquet":
        shuffled = [folder / f"rows-{i}.parquet" for i in (2, 0, 1)]
        return scan_parquet(shuffled, target, columns)
    if name == "one row group":
        return scan_parquet(folder / "whole.pq", target, columns)
    if name == "csv":
        return scan_csv([folder / "rows-0.csv", folder / "rows-1.csv.gz", folder / "rows-2.csv.zst"], target, columns)
    lazy = pl.scan_parquet(folder / "rows-*.parquet").select(wanted)
    if name == "polars":
        return open_stream(lazy, target)
    if name == "arrow":
        return open_stream(table.select(wanted).to_arrow(), target)
    if name == "dataset":
        files = [str(folder / f"rows-{i}.parquet") for i in range(3)]
        return Narrow(ds.dataset(files), wanted, target)
    relation = duckdb.read_parquet([str(folder / f"rows-{i}.parquet") for i in range(3)])
    return open_stream(relation.project(", ".join(wanted)), target)


def Narrow(dataset, wanted, target):
    schema = pa.schema([dataset.schema.field(name) for name in wanted])
    return open_stream(dataset.replace_schema(schema), target)


def coins(seed=3):
    return Coins.draw_key(Keystream.seeded(seed))


def x(batch):
    return batch.X


def y(batch):
    return batch.y


def ends(batch):
    return batch.X[:, 0] > 0


PRODUCT = BoundedSum(x, x, norm=50.0)
TARGETS = BoundedSum(y, norm=50.0, whole=True)
BOTH = Together((PRODUCT, BoundedSum(x, y, norm=100.0)))


@pytest.mark.parametrize("source", SOURCES)
def test_models_are_the_same_to_the_bit(source, folder, table):
    X = table.select(FEATURES)
    rows = open_source(source, folder, table, FEATURES, "cost")
    for bounds in (BOUNDS, None):
        model = LinearRegression(2.0, bounds=bounds, random_state=1)
        here = model.fit(X, table["cost"])
        coef, intercept = here.coef_.copy(), here.intercept_
        there = model.fit(rows)
        assert (there.coef_ == coef).all() and there.intercept_ == intercept
        assert list(there.feature_names_in_) == FEATURES

    labelled = open_source(source, folder, table, FEATURES, "ill")
    public = dc.Bounds(BOUNDS.lower, BOUNDS.upper)
    for model in (
        LogisticRegression(2.0, bounds=public, classes=["no", "yes"], random_state=1),
        SGDClassifier(2.0, bounds=public, classes=["no", "yes"], random_state=1),  # samples lots
    ):
        coef = model.fit(X, table["ill"]).coef_.copy()
        assert (model.fit(labelled).coef_ == coef).all() and np.isfinite(coef).all() and coef.any()


@pytest.mark.parametrize("source", SOURCES)
def test_statistics_are_the_same_to_the_bit(source, folder, table):
    values = table.select("age")
    rows = open_source(source, folder, table, ["age"])
    for ask in (
        lambda x: stats.mean(x, (0, 100), random_state=5),
        lambda x: stats.variance(x, (0, 100), random_state=5),
        lambda x: stats.quantile(x, 0.9, (0, 100), random_state=5),
        lambda x: stats.mean(x, random_state=5, epsilon=2.0),
    ):
        assert np.array_equal(ask(values).value, ask(rows).value)
    both = open_source(source, folder, table, ["age", "visits"])
    pair = table.select("age", "visits")
    public = dc.Bounds([0, 0], [100, 9])
    here, there = (stats.covariance(one, public, random_state=5).value for one in (pair, both))
    assert np.array_equal(here, there)


@pytest.mark.parametrize("source", SOURCES)
def test_labels_as_they_are(source, folder, table):
    rows = open_source(source, folder, table, ["ill", "age"]).expect_types(numeric=False)
    here = Memory(table.select("ill", "age"), numeric=False)

    def known(batch):
        return np.array([0 if cell == "yes" else -1 for cell in batch.X[:, 0]])

    query = BoundedSum(OneHot(known, 1))
    assert rows.sum(query) == here.sum(query) > 100
    assert rows.make_empty_batch().X.shape == (0, 2)


@pytest.mark.parametrize("source", SOURCES)
def test_samples_blocks_and_classes(source, folder, table):
    rows = open_source(source, folder, table, FEATURES, "ill")
    here = Memory(table.select(FEATURES), table["ill"], labels=True)
    assert rows.count_labels() == here.count_labels()
    assert rows.count_replace_one() == N
    rows, here = rows.encode_targets(["yes", "no"]), here.encode_targets(["yes", "no"])
    assert rows.count_labels() == here.count_labels()
    assert (rows.sum(BOTH) == here.sum(BOTH)).all()
    one, other = rows.sample(0.3, coins()), here.sample(0.3, coins())
    assert (one.sum(BOTH) == other.sum(BOTH)).all()
    assert one.count_replace_one() == other.count_replace_one() < N / 2
    for mine, theirs in zip(rows.split_into_blocks(3, coins()), here.split_into_blocks(3, coins()), strict=True):
        assert (mine.sum(BOTH) == theirs.sum(BOTH)).all()
        assert mine.count_labels() == theirs.count_labels()
    seen = rows.map(lambda batch: np.column_stack([batch.X[:, 0] * 2, batch.X[:, 2]]), ["twice", "smoker"])
    assert seen.columns == ("twice", "smoker") and seen.width == 2
    assert (seen.sample(0.5, coins()).sum(PRODUCT) != 0).any()


@pytest.mark.parametrize("source", SOURCES)
def test_units_over_pieces(source, folder, table):
    """Units have rows in several files: bounded, shared, clipped as a whole, sampled and blocked as in memory."""
    rows = open_source(source, folder, table, [*FEATURES, "patient"], "cost").assign_units("patient")
    here = Memory(table.select(*FEATURES, "patient"), table["cost"], unit="patient")
    assert rows.columns == tuple(FEATURES) and rows.unit == "patient"
    assert rows.count_replace_one() == here.count_replace_one() < N
    assert (rows.sum(BOTH) == here.sum(BOTH)).all()
    for limit in (1, 2, 5):
        one, other = rows.limit_rows_per_unit(limit, coins()), here.limit_rows_per_unit(limit, coins())
        assert (one.sum(BOTH) == other.sum(BOTH)).all()
        assert one.count_replace_one() == other.count_replace_one() > 700
        one, other = one.share_within_units(), other.share_within_units()
        assert (one.sum(BOTH) == other.sum(BOTH)).all()
    one, other = rows.share_within_units(), here.share_within_units()
    for query in (PRODUCT, BOTH, TARGETS):
        total = one.sum(query)
        assert (total == other.sum(query)).all()
        assert not (total == rows.sum(query)).all()
        assert (one.sample(0.4, coins()).sum(query) == other.sample(0.4, coins()).sum(query)).all()
    for mine, theirs in zip(one.split_into_blocks(3, coins()), other.split_into_blocks(3, coins()), strict=True):
        assert (mine.sum(BOTH) == theirs.sum(BOTH)).all()
        assert (
            mine.limit_rows_per_unit(1, coins(4)).sum(PRODUCT) == theirs.limit_rows_per_unit(1, coins(4)).sum(PRODUCT)
        ).all()


def test_units_are_compared_by_value(tmp_path):
    """7 in one file, 7.0 in the next and True for 1: units by value, and large ones by every digit."""
    big = 2**60
    pq.write_table(pa.table({"x": [1.0, 2, 3], "u": pa.array([7, big, big + 1])}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [4.0, 5], "u": pa.array([7.0, None])}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"x": [6.0], "u": pa.array([True])}), tmp_path / "c.parquet")
    rows = scan_parquet(tmp_path, unit="u")
    assert len(rows.unit_index) == 4 and sorted(rows.unit_index.counts) == [1, 1, 1, 2]
    assert rows.limit_rows_per_unit(1, coins()).count_replace_one() == 4
    units = np.array([7, big, big + 1, 7.0, None, True], dtype=object)
    here = Memory(np.arange(1.0, 7)[:, None], unit=units)
    assert (rows.sample(0.5, coins()).sum(PRODUCT) == here.sample(0.5, coins()).sum(PRODUCT)).all()


def test_units_of_text_in_dictionaries(tmp_path):
    """Each file has a dictionary of its own, with values that no row has: they are no units."""
    first = pa.array(["a", "b", "a"]).dictionary_encode()
    second = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), pa.array(["b", "c", "never"]))
    pq.write_table(pa.table({"x": [1.0, 2, 3], "u": first, "k": first}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [4.0, 5, 6], "u": second, "k": second}), tmp_path / "b.parquet")
    rows = scan_parquet(tmp_path, target="k", unit="u")
    assert sorted(rows.unit_index._known) == ["a", "b", "c"]
    assert rows.count_labels() == {"a": 2, "b": 2, "c": 1}


LABELS = {
    "truths": ([True, False, None], [False, True], bool),
    "floats": ([2.0, 1.0, None], [1.0, 2.0], float),
    "numbers": ([7, 3, None], [3, 7], int),
    "text": (["b", "a", None], ["a", "b"], str),
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_that_are_found_are_of_the_type_of_the_column(kind, tmp_path):
    """However the rows are held; where there is no type, as in a list, equal numbers are one, a whole one if it is."""
    values, classes, made = LABELS[kind]
    x = np.linspace(-1, 1, 3000)
    table = pl.DataFrame({"x": x, "y": values * 1000})
    table.write_parquet(tmp_path / "y.parquet")
    table.write_csv(tmp_path / "y.csv")
    there = table.drop_nulls()
    tables = {
        "numpy": (there.select("x").to_numpy(), there["y"].to_numpy()),
        "pandas": (table.to_pandas()[["x"]], table.to_pandas(use_pyarrow_extension_array=True)["y"]),
        "polars": (table.select("x"), table["y"]),
        "lazy": (table.lazy(), "y"),
        "arrow": (table.to_arrow(), "y"),
        "parquet": (scan_parquet(tmp_path / "y.parquet", "y"), None),
        "csv": (scan_csv(tmp_path / "y.csv", "y"), None),
    }
    for name, (X, y) in tables.items():
        model = LogisticRegression(4.0, 1e-6, method="quadratic", bounds=dc.Bounds(-1, 1)).fit(X, y)
        assert [type(label) for label in model.classes_.tolist()] == [made, made], name
        assert model.classes_.tolist() == classes, name


def test_chunks_threads_and_order_change_nothing(folder, table, monkeypatch):
    here = Memory(table.select(FEATURES), table["cost"]).sample(0.5, coins()).sum(BOTH)
    for cells, cores in ((1 << 11, 1), (1 << 18, 1), (1 << 11, 2), (1 << 13, 7)):
        monkeypatch.setattr(stream, "CELLS", cells)
        monkeypatch.setattr(parallel, "count_cores", lambda cores=cores: cores)
        monkeypatch.setattr("discreet.engines.stream.parquet.count_cores", lambda cores=cores: cores)
        for source in ("parquet", "one row group", "csv", "arrow"):
            rows = open_source(source, folder, table, FEATURES, "cost").sample(0.5, coins())
            assert (rows.sum(BOTH) == here).all()


def test_only_the_columns_needed_are_read(folder):
    rows = scan_parquet(str(folder / "rows-*.parquet"), "cost", columns=["dose", "age"])
    assert rows.columns == ("dose", "age")
    asked = []
    pieces = rows._source.iter_pieces
    rows._source.iter_pieces = lambda numbers, labels, size: (
        asked.append((*numbers, *labels)) or pieces(numbers, labels, size)
    )
    rows.sum(PRODUCT)
    rows.count_labels()
    rows.assign_units("patient").share_within_units().sum(PRODUCT)
    assert asked == [("dose", "age", "cost"), ("cost",), ("patient",), ("dose", "age", "cost", "patient")]


def test_a_fit_reads_as_often_as_it_sums(folder, monkeypatch):
    """With bounds given, AdaSSP reads once."""
    rows = scan_parquet(str(folder / "rows-*.parquet"), "cost", columns=FEATURES)
    readings = []
    pieces = rows._source.iter_pieces
    rows._source.iter_pieces = lambda *asked: readings.append(asked) or pieces(*asked)
    LinearRegression(method="adassp", bounds=BOUNDS, n=N, random_state=1).fit(rows)
    assert len(readings) == 1


def test_held_and_kept_rows_are_the_same(folder, table):
    rows = scan_parquet(str(folder / "rows-*.parquet"), "cost", columns=FEATURES)
    here = Memory(table.select(FEATURES), table["cost"])
    for some in (rows.hold_in_memory(np.float64), rows.cache_images()):
        assert isinstance(some, Memory) and some.columns == tuple(FEATURES)
        assert (some.sample(0.2, coins()).sum(BOTH) == here.sample(0.2, coins()).sum(BOTH)).all()
    assert not isinstance(rows.sample(0.2, coins()).hold_in_memory(), Memory)  # places would be lost
    units = scan_parquet(str(folder / "rows-*.parquet"), "cost", columns=FEATURES, unit="patient").share_within_units()
    theirs = Memory(table.select(*FEATURES, "patient"), table["cost"], unit="patient").share_within_units()
    for query in (PRODUCT, TARGETS):
        assert (units.hold_in_memory().sample(0.2, coins()).sum(query) == theirs.sample(0.2, coins()).sum(query)).all()
    csv = scan_csv(folder / "rows-0.csv", "cost", columns=FEATURES)
    assert csv.cache_images() is csv  # how many rows there are is not known yet
    csv.sum(PRODUCT)
    assert isinstance(csv.cache_images(), Memory)


def test_no_rows_at_all(tmp_path, table):
    pq.write_table(table.slice(0, 0).to_arrow(), tmp_path / "none.parquet")
    rows = scan_parquet(tmp_path / "none.parquet", "cost", columns=FEATURES)
    model = LinearRegression(bounds=BOUNDS, random_state=1)
    coef = model.fit(table.slice(0, 0).select(FEATURES), table["cost"].slice(0, 0)).coef_.copy()
    assert (model.fit(rows).coef_ == coef).all() and np.isfinite(coef).all()
    assert rows.count_replace_one() == 0 and rows.count_labels() == {}
    units = rows.assign_units("patient")
    assert (
        not units.limit_rows_per_unit(2, coins()).sum(BOTH).any() and not units.share_within_units().sum(TARGETS).any()
    )


def test_tables_are_given_to_fit_directly(folder, table):
    """The target is named; a column of persons too."""
    lazy = pl.scan_parquet(folder / "rows-*.parquet").select(*FEATURES, "cost", "patient")
    model = LinearRegression(2.0, bounds=BOUNDS, unit="patient", random_state=1)
    coef = model.fit(table.select(*FEATURES, "patient"), table["cost"]).coef_.copy()
    for given in (lazy, table.select(*FEATURES, "cost", "patient").to_arrow()):
        assert (model.fit(given, "cost").coef_ == coef).all()
    counted = stats.count(lazy.select("patient"), random_state=5).value
    assert counted == stats.count(table.select("patient"), random_state=5).value


def test_what_is_no_number(folder, table):
    rows = scan_parquet(folder / "whole.pq", "cost")
    with pytest.raises(TypeError, match=r"not numbers: \['ill', 'patient'\]"):
        rows.sum(PRODUCT)
    with pytest.raises(TypeError, match="not numbers"):
        LinearRegression(bounds=BOUNDS).fit(rows)
    text = scan_parquet(folder / "whole.pq", "ill", FEATURES)
    with pytest.raises(TypeError, match=r"'ill' is of type .*string"):
        text.expect_types()
    text.expect_types(labels=True)
    dates = pa.table({"x": [1.0], "day": pa.array([0], pa.date32())})
    with pytest.raises(TypeError, match="'day' is neither numbers nor text"):
        open_stream(dates, "day")
    with pytest.raises(TypeError, match="'day' must be a column of its own"):
        open_stream(dates, "x").assign_units("day")
    with pytest.raises(TypeError, match="give its name"):
        open_stream(dates, [1.0])
    assert open_stream(np.ones((3, 2))) is None and open_stream(table) is None


def test_missing_files_and_columns(folder, tmp_path):
    with pytest.raises(EngineError, match=r"no file '.*nowhere\.parquet'"):
        scan_parquet(tmp_path / "nowhere.parquet")
    with pytest.raises(EngineError, match="No file matches"):
        scan_parquet(str(tmp_path / "*.parquet"))
    with pytest.raises(EngineError, match="no file that ends in"):
        scan_csv(tmp_path)
    for options in ({"target": "price"}, {"columns": ["age", "price"]}, {"unit": "price"}):
        with pytest.raises(ValueError, match="no column 'price'"):
            scan_parquet(folder / "whole.pq", **options)
    with pytest.raises(ValueError, match=r"must differ. Twice: \['age'\]"):
        scan_parquet(folder / "whole.pq", columns=["age", "age"])
    (tmp_path / "text.parquet").write_text("no Parquet at all")
    with pytest.raises(EngineError, match=r"text\.parquet.* cannot be read as a Parquet file"):
        scan_parquet(tmp_path / "text.parquet")


def test_types_that_change_between_files(tmp_path):
    pq.write_table(pa.table({"x": [1, 2], "z": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"z": [3.0], "x": [0.5]}), tmp_path / "b.parquet")  # another order, floats: fine
    rows = scan_parquet(tmp_path)
    assert (rows.sum(PRODUCT) == Memory(np.array([[1, 1], [2, 2], [0.5, 3]])).sum(PRODUCT)).all()
    pq.write_table(pa.table({"x": ["three"], "z": [3]}), tmp_path / "c.parquet")
    with pytest.raises(
        EngineError, match=r"'x' is of type int64 in .*a\.parquet.*, but of type string in .*c\.parquet"
    ):
        scan_parquet(tmp_path)
    os.remove(tmp_path / "c.parquet")
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "d.parquet")
    with pytest.raises(EngineError, match=r"column 'z' in .*a\.parquet', but not in .*d\.parquet"):
        scan_parquet(tmp_path)


def test_csv_types(tmp_path):
    """Whole numbers may have decimals later; text among numbers is missing, and no other row notices."""
    lines = ["x,u", *(f"{i},{i}" for i in range(700_000)), "0.5,7"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    rows = scan_csv(tmp_path / "a.csv", unit="u")
    assert rows.count_replace_one() == 700_001 and len(rows.unit_index) == 700_000
    without = scan_csv(tmp_path / "a.csv", columns=["x"]).sum(PRODUCT)
    lines[-1] = "secret,7"
    (tmp_path / "b.csv").write_text("\n".join(lines))
    rows = scan_csv(tmp_path / "b.csv", columns=["x"])
    quarter = Memory(np.array([[0.5]])).sum(PRODUCT)
    assert (rows.sum(PRODUCT) == without - quarter).all() and quarter.any()
    assert rows.count_replace_one() == 700_001


def test_csv_cells(tmp_path):
    """Numbers in all forms and cells that are none, each by itself; types that the caller knows win."""
    cells = ["1.5", " 2 ", "+3", "-4e-3", "12 kg", "NA", "nan", "", "1e400", "2019-01-01"]
    numbers = [1.5, 2, 3, -4e-3, *[np.nan] * 6]
    (tmp_path / "a.csv").write_text("x,s\n" + "".join(f"{cell},{cell}\n" for cell in cells))
    with pytest.raises(TypeError, match=r"not numbers: \['x'\]"):
        scan_csv(tmp_path / "a.csv", columns=["x"]).sum(PRODUCT)
    rows = scan_csv(tmp_path / "a.csv", columns=["x"], types={"x": "number"})
    assert (rows.sum(PRODUCT) == Memory(np.array(numbers)[:, None]).sum(PRODUCT)).all()
    assert rows.count_replace_one() == len(cells)
    for types, message in (
        ({"z": "text"}, "no column 'z'"),
        ({"x": "date"}, "'number', 'text' or 'truth', not 'date'"),
    ):
        with pytest.raises(ValueError, match=message):
            scan_csv(tmp_path / "a.csv", types=types)
    (tmp_path / "b.csv").write_text("x,s\n7,7\n")  # of numbers here, of text there
    with pytest.raises(EngineError, match="'x' is of type"):
        scan_csv(tmp_path)
    both = scan_csv(tmp_path, "s", types={"x": "number", "s": "text"})
    assert both.count_labels()["7"] == 1 and (both.sum(PRODUCT) != 0).all()


def test_csv_truths_and_whole_numbers(tmp_path):
    """Of types told from the beginning, a later cell that is none is missing: in features, labels and units."""
    lines = ["yes,k,n,u", *["true,True,1,7"] * 300_000, "false,FALSE,2,8", "maybe,maybe,maybe,maybe"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    rows = scan_csv(tmp_path / "a.csv", "k", ["yes", "n"], unit="u")
    assert rows.count_labels() == {True: 300_000, False: 1} and len(rows.unit_index) == 2
    X = np.column_stack([np.r_[np.ones(300_000), 0], np.r_[np.ones(300_000), 2]])
    assert (scan_csv(tmp_path / "a.csv", columns=["yes", "n"]).sum(PRODUCT) == Memory(X).sum(PRODUCT)).all()


def test_csv_text_that_looks_missing_is_text(tmp_path):
    (tmp_path / "a.csv").write_text('x,k,u\n1,NA,null\n2,nan,null\n3,,NA\n4,"",\n5,b,\n')
    rows = scan_csv(tmp_path / "a.csv", "k", ["x"], unit="u")
    assert rows.count_labels() == {"NA": 1, "nan": 1} and sorted(rows.unit_index._known) == ["NA", "null"]
    assert scan_csv(tmp_path / "a.csv", "k", ["x"]).count_labels() == {"NA": 1, "nan": 1, "b": 1}


def test_a_csv_row_of_another_width_shows_no_value(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 1_200_000 + "secret,1,2\n")
    with pytest.raises(EngineError, match=r"a\.csv' cannot be read") as error:
        scan_csv(tmp_path / "a.csv").sum(PRODUCT)
    assert "secret" not in str(error.value) and error.value.__suppress_context__


def test_a_file_of_two_names_is_read_once(tmp_path, monkeypatch):
    """Its rows would count twice, and be paid for once."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "dd"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1.0, 2.0]}), folder / "x.parquet")
    (folder / "x.csv").write_text("x\n1\n2\n")
    os.symlink(folder / "x.parquet", folder / "w.parquet")
    os.symlink(folder, tmp_path / "ee")
    for paths in (
        ["dd/x.parquet", folder / "x.parquet"],
        "dd",
        ["./dd/x.parquet", "dd/../dd/x.parquet"],
        ["dd/*.parquet", "ee/*.parquet"],
    ):
        assert scan_parquet(paths).count_replace_one() == 2
    assert scan_csv(["dd/x.csv", folder / "x.csv", "ee"]).count_replace_one() == 2
    pq.write_table(pa.table({"x": [1.0, 2.0]}), folder / "y.parquet")  # the same rows in another file are others
    assert scan_parquet(folder).count_replace_one() == 4


def test_columns_are_a_list(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "b": [2.0], "ab": [3.0]}), tmp_path / "a.parquet")
    with pytest.raises(TypeError, match=r"columns=\['ab'\]"):
        scan_parquet(tmp_path / "a.parquet", columns="ab")
    assert scan_parquet(tmp_path / "a.parquet", columns=["ab"]).columns == ("ab",)


@pytest.mark.parametrize("checksums", [True, False])
def test_small_row_groups_are_read_together(tmp_path, monkeypatch, checksums):
    """Bundles of several row groups, of some files, with the right places; a file is opened once for each bundle."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40_000, 3))
    for i, (start, stop) in enumerate(pairwise([0, 15_010, 15_013, 40_000])):
        some = pa.table({f"x{j}": X[start:stop, j] for j in range(3)})
        pq.write_table(some, tmp_path / f"{i}.parquet", row_group_size=97, write_page_checksum=checksums)
    monkeypatch.setattr("discreet.engines.stream.parquet.count_cores", lambda: 2)
    rows, here = scan_parquet(tmp_path), Memory(X)
    assert (rows.sample(0.3, coins()).sum(PRODUCT) == here.sample(0.3, coins()).sum(PRODUCT)).all()
    for some, cells in ((40_000 // 8, parquet.SOME), (1000, 3000), (97, 1)):
        monkeypatch.setattr(parquet, "SOME", cells)
        bundles = list(rows._source._bundle_groups(3))
        assert sum(one.rows for one in bundles) == 40_000 and max(one.rows for one in bundles) <= some
        assert bundles[0].place == 0 and all(b.place == a.place + a.rows for a, b in pairwise(bundles))
        assert len(bundles) < 3 * 40_000 / some  # at least about half of what they may hold
        assert (rows.sample(0.3, coins()).sum(PRODUCT) == here.sample(0.3, coins()).sum(PRODUCT)).all()


def test_row_groups_are_pieces_as_soon_as_there_is_one_for_each_core(tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": np.arange(4000.0)}), tmp_path / "a.parquet", row_group_size=1000)
    source = Parquet(tmp_path / "a.parquet")
    for cores, apart in ((2, True), (4, True), (5, False)):
        monkeypatch.setattr("discreet.engines.stream.parquet.count_cores", lambda cores=cores: cores)
        pieces = list(source.iter_pieces(["x"], [], 100))
        assert all(isinstance(piece, parquet._Groups) for piece in pieces) is apart
        assert next(place for piece in pieces for place, _ in piece()) == 0
        assert sum(batch.num_rows for piece in pieces for _, batch in piece()) == 4000


@pytest.mark.parametrize("groups", [2, 20])
def test_a_damaged_row_group(tmp_path, groups):
    path = tmp_path / "bad.parquet"
    data = pa.table({"x": np.random.default_rng(0).standard_normal(1000 * groups)})
    pq.write_table(data, path, row_group_size=1000, compression="zstd", use_dictionary=False, write_page_checksum=True)
    column = pq.read_metadata(path).row_group(1).column(0)
    raw = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    raw[middle : middle + 8] = bytes(b ^ 0xFF for b in raw[middle : middle + 8])
    path.write_bytes(raw)
    rows = scan_parquet(path)
    before = threading.active_count()
    with pytest.raises(EngineError, match=r"Row groups? (1|0 to \d) of '.*bad\.parquet' cannot be read"):
        rows.sum(PRODUCT)
    gc.collect()
    assert threading.active_count() <= before  # no worker is left waiting


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("checksums", [True, False])
def test_checksums_are_noticed(tmp_path, checksums, dictionary, compression):
    data = pa.table({"x": np.arange(100.0) % 7, "s": ["a", "b"] * 50})
    options = {"write_page_checksum": checksums, "use_dictionary": dictionary, "compression": compression}
    pq.write_table(data, tmp_path / "a.parquet", **options)
    assert bool(Parquet(tmp_path / "a.parquet")._checked) is checksums


def test_files_that_change(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    rows = scan_parquet(path)
    first = rows.read_version()
    rows.sum(PRODUCT)
    pq.write_table(pa.table({"x": [1.0, 3.0]}), path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(EngineError, match=r"a\.parquet' changed"):
        rows.sum(PRODUCT)
    assert scan_parquet(path).read_version() != first == rows.read_version()
    os.remove(path)
    with pytest.raises(EngineError, match="is it gone"):
        rows.sum(PRODUCT)


def test_a_query_that_fails_shows_no_value():
    lazy = pl.LazyFrame({"x": ["1.5", "secret"]}).select(pl.col("x").cast(pl.Float64))
    with pytest.raises(EngineError, match=r"lazy polars frame cannot be read \(\w+\)") as error:
        open_stream(lazy).sum(PRODUCT)
    assert "secret" not in str(error.value) and error.value.__suppress_context__


def test_memory_is_bounded_whatever_the_row_group(tmp_path):
    """A file of one large row group is read batch by batch: no more than a few batches are there at any time."""
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({f"x{i}": np.arange(1_500_000.0) + i for i in range(8)}), path, row_group_size=1 << 30)
    assert pq.read_metadata(path).num_row_groups == 1
    rows = scan_parquet(path)
    most = 0

    def x_seen(batch):
        nonlocal most
        most = max(most, pa.total_allocated_bytes())
        return batch.X

    before = pa.total_allocated_bytes()
    rows.sum(BoundedSum(x_seen, norm=1.0))
    assert most - before < 60e6 < 8 * 8 * 1_500_000


def test_nothing_is_told_of_rows(folder):
    rows = scan_parquet(str(folder / "rows-*.parquet"), "cost", columns=FEATURES)
    assert repr(rows) == "<Stream of 3 Parquet files: 4 columns>"
    with pytest.raises(TypeError, match="not pickled"):
        rows.__reduce__()


def test_where_the_types_of_all_columns_are_stated_no_row_is_read_to_find_them(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,t,s\nwrong,true,1\n2,0,1\n3,maybe,2\n")
    monkeypatch.setattr("discreet.engines.stream.csv._infer_schema", None)
    types = {"x": "number", "t": "truth", "s": "text"}
    rows = scan_csv(tmp_path / "a.csv", columns=["x", "t"], types=types)
    assert [str(one.type) for one in rows._source.schema] == ["double", "bool", "string"]
    wanted = Memory(np.array([[np.nan, 1.0], [2.0, 0.0], [3.0, np.nan]]))
    assert (rows.sum(PRODUCT) == wanted.sum(PRODUCT)).all() and rows.count_replace_one() == 3
    (tmp_path / "b.csv").write_text("x\n")
    with pytest.raises(TypeError):
        scan_csv(tmp_path / "b.csv")  # types have to be found out


@pytest.mark.parametrize("source", ["parquet", "csv", "polars", "arrow", "duckdb"])
def test_the_contract_of_engines(source, tmp_path):
    made = iter(range(1000))

    def make(columns, target, unit):
        table = pl.DataFrame(columns, strict=False)
        path = tmp_path / f"{source}-{next(made)}"
        if source == "parquet":
            pq.write_table(table.to_arrow(), f"{path}.parquet", row_group_size=7)
            return scan_parquet(f"{path}.parquet", target, unit=unit)
        if source == "csv":
            table.write_csv(f"{path}.csv")
            return scan_csv(f"{path}.csv", target, unit=unit)
        given = {"polars": table.lazy, "arrow": table.to_arrow, "duckdb": lambda: duckdb.from_arrow(table.to_arrow())}
        rows = open_stream(given[source](), target)
        return rows if unit is None else rows.assign_units(unit)

    check_engine(make)
