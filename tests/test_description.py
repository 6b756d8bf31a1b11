"""A description: one plan, one charge, one reading; intervals that hold; the checks of every statistic."""

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.checks import statistic_checks
from discreet.curator import Curator
from discreet.engines.memory import Memory
from discreet.events import flatten
from discreet.stats.description import Categories, Numbers, describe
from discreet.stats.statistic import Question

pytestmark = pytest.mark.filterwarnings("ignore:NOT PRIVATE")
RNG = np.random.default_rng(3)
TABLE = pl.DataFrame({"age": RNG.normal(50, 10, 4000), "ward": RNG.choice(["n", "s"], 4000, p=[0.25, 0.75])})
PUBLIC = ({"age": (0.0, 100.0)}, {"ward": ["n", "s", "w"]})


def asked(x, **options):
    """A column described, as a statistic among others."""
    if isinstance(x, np.ndarray):
        x = pl.DataFrame({"x": x})
    else:
        x.columns = ("x",)
    return describe(x, {"x": (-1.0, 1.0)}, cells=8, **options).release


LONG = {"check_audit", "check_stated_noise"}
CHECKS = [
    pytest.param(check, id=check.__name__, marks=[pytest.mark.slow] if check.__name__ in LONG else [])
    for check in statistic_checks()
    if check.__name__ != "check_bad_rows_add_nothing"  # a row with a missing cell is left out of its column alone
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_of_every_statistic(check):
    check(asked)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_one_plan_one_charge(delta):
    ledger = dc.Ledger(dc.Budget(1.0, delta))
    found = describe(TABLE, *PUBLIC, epsilon=1.0, delta=delta, ledger=ledger)
    assert len(ledger.entries) == 1 and ledger.spent == pytest.approx(1.0, abs=1e-6)
    names = [part.name for part in found.release.parts]
    assert names == ["count", "age: mean", "age: histogram", "ward: histogram"]
    assert len(list(flatten(found.release.event))) <= 4
    with pytest.raises(dc.BudgetExceeded):
        describe(TABLE, *PUBLIC, epsilon=1.0, delta=delta, ledger=ledger)


def test_what_it_finds():
    """With ε = 20 the noise is far below the tolerances: they are 20 deviations away, a false alarm below 1e-6."""
    found = describe(TABLE, *PUBLIC, epsilon=20.0, delta=1e-6, random_state=1)
    age, ward = found.columns
    assert isinstance(age, Numbers) and isinstance(ward, Categories)
    assert abs(found.count - 4000) < 60
    assert abs(age.mean - TABLE["age"].mean()) < 0.5
    for value, q in zip(age.quartiles, (0.25, 0.5, 0.75), strict=True):
        assert abs(value - TABLE["age"].quantile(q)) < 1.6 + 0.5  # a cell, and noise
    np.testing.assert_allclose(ward.counts, [(TABLE["ward"] == one).sum() for one in "nsw"], atol=60)
    edges, counts = age.merge_cells(16)
    assert len(edges) == 17 and counts.sum() == pytest.approx(age.counts.sum())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_intervals_hold(delta):
    """Each of five intervals misses at most 5% of the time; of 40 runs more than 14 miss with probability < 1e-7.

    (A binomial of 40 at 0.05 has P(>= 15) = 4e-10; five intervals and two deltas: below 1e-8.)
    """
    rng, runs = np.random.default_rng(11), 40
    truth = [50.0, 50 - 6.745, 50.0, 50 + 6.745]
    missed = np.zeros(5)
    for seed in range(runs):
        table = pl.DataFrame({"x": rng.normal(50, 10, 1500)})
        found = describe(table, {"x": (0, 100)}, epsilon=1.0, delta=delta, random_state=seed)
        x = found.columns[0]
        spans = [x.mean_interval, *x.quartile_intervals]
        missed[0] += not found.count_interval[0] <= 1500 <= found.count_interval[1]
        missed[1:] += [not low <= value <= high for (low, high), value in zip(spans, truth, strict=True)]
    assert (missed <= 14).all()


def test_intervals_of_quartiles_say_something():
    found = describe(TABLE, *PUBLIC, epsilon=1.0, delta=1e-6, random_state=2)
    assert all(high - low < 10 for low, high in found.columns[0].quartile_intervals)


def test_few_rows_and_none():
    for rows in (0, 1, 5):
        found = describe(TABLE[:rows], *PUBLIC, epsilon=0.5, random_state=1)
        age, _ = found.columns
        numbers = [found.count, age.mean, *age.quartiles, *age.mean_interval, *np.ravel(age.quartile_intervals)]
        assert np.isfinite(numbers).all() and 0 <= age.quartiles[1] <= 100


def test_missing_cells_are_left_out_of_their_column():
    table = TABLE.with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("age")).alias("age"), pl.lit("?").alias("ward")
    )
    found = describe(table, *PUBLIC, epsilon=20.0, delta=1e-6, random_state=1)
    age, ward = found.columns
    assert abs(found.count - 4000) < 60 and abs(age.counts.sum() - 2000) < 200 and abs(ward.counts.sum()) < 60


def test_units_count_once():
    table = TABLE.with_columns((pl.int_range(pl.len()) % 1000).alias("person"))
    found = describe(table, *PUBLIC, epsilon=20.0, delta=1e-6, unit="person", random_state=1)
    assert abs(found.count - 1000) < 60 and found.release.unit == "person"


def test_engines_agree(tmp_path):
    TABLE.write_parquet(tmp_path / "t.parquet")
    TABLE.write_csv(tmp_path / "t.csv")
    streams = (
        dc.scan_parquet(tmp_path / "t.parquet"),
        dc.scan_csv(tmp_path / "t.csv", types={"age": "number", "ward": "text"}),
        TABLE.lazy(),
    )
    wanted = describe(TABLE, *PUBLIC, epsilon=1.0, random_state=4)
    for rows in streams:
        found = describe(rows, *PUBLIC, epsilon=1.0, random_state=4)
        assert found.count == wanted.count and found.columns[0].mean == wanted.columns[0].mean
        np.testing.assert_array_equal(found.columns[1].counts, wanted.columns[1].counts)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (({}, {}), "nothing to describe"),
        (({"age": (0, 1)}, {"age": ["a"]}), "not both"),
        (({"weight": (0, 1)},), r"no columns \['weight'\] to describe. There are: \['age', 'ward'\]"),
        (({"age": (1, 0)},), "low < high"),
        (({"age": (0, 1)}, {"ward": ["n", "n"]}), "distinct"),
    ],
)
def test_what_is_refused(arguments, told):
    ledger = dc.Ledger(dc.Budget(1.0))
    with pytest.raises(ValueError, match=told):
        describe(TABLE, *arguments, epsilon=1.0, ledger=ledger)
    assert not ledger.entries


def test_other_columns_are_not_in_the_way():
    assert describe(TABLE, {"age": (0, 100)}, epsilon=1.0).release.epsilon == 1
    assert describe(TABLE.to_pandas(), {"age": (0, 100)}, epsilon=1.0).release.epsilon == 1


def test_other_columns_are_not_in_the_way_whatever_the_engine(tmp_path):
    TABLE.write_parquet(tmp_path / "t.parquet")
    wanted = describe(TABLE, {"age": (0, 100)}, epsilon=1.0, random_state=4)
    others = TABLE.to_arrow(), TABLE.to_arrow().to_batches()[0], TABLE.lazy(), dc.scan_parquet(tmp_path / "t.parquet")
    for rows in others:
        found = describe(rows, {"age": (0, 100)}, epsilon=1.0, random_state=4)
        assert (found.count, found.columns[0].mean) == (wanted.count, wanted.columns[0].mean)
    with pytest.raises(ValueError, match="no columns"):
        describe(TABLE.to_arrow(), {"weight": (0, 1)}, epsilon=1.0)


def test_a_public_number_of_rows_is_not_paid_for():
    found = describe(TABLE, *PUBLIC, epsilon=1.0, n=4000)
    assert (found.count, found.count_interval) == (4000.0, (4000.0, 4000.0))
    assert [part.name for part in found.release.parts] == ["age: mean", "age: histogram", "ward: histogram"]
    paid = describe(TABLE, *PUBLIC, epsilon=1.0)
    assert found.columns[0].std < paid.columns[0].std


def test_whole_numbers_are_cut_evenly_and_told_as_such():
    """Noise of 0.3 rows a cell at ε = 500: the tolerance is beyond thirty deviations."""
    table = pl.DataFrame({"age": np.arange(9090) % 101, "smokes": np.arange(9090) % 10 == 0, "z": np.zeros(9090)})
    ranges = {"age": (0, 100), "smokes": (0, 1), "z": (0, 1)}
    found = describe(table, ranges, epsilon=500.0, delta=1e-6, whole=["age", "smokes"], random_state=1)
    age, smokes, z = found.columns
    assert age.edges.tolist() == [-0.5 + 2 * k for k in range(52)] and age.whole and not z.whole and len(z.counts) == 64
    assert np.abs(age.counts[:-1] - 180).max() < 10  # no cell of one number beside cells of two
    assert np.abs(age.merge_cells()[1][:-1] - 540).max() < 20
    assert smokes.edges.tolist() == [-0.5, 0.5, 1.5] and smokes.quartiles == (0.0, 0.0, 0.0)
    assert all(float(end).is_integer() for pair in age.quartile_intervals for end in pair)
    assert smokes.quartile_intervals[1] == (0.0, 0.0)


@pytest.mark.parametrize(
    ("whole", "told"), [(["ward"], r"\['ward'\]"), ("age", "Got 'age'"), (["age"], "must be whole. Got")]
)
def test_whole_columns_that_are_refused(whole, told):
    with pytest.raises(ValueError, match=told):
        describe(TABLE, {"age": (0.5, 99.0)}, {"ward": ["n", "s"]}, epsilon=1.0, whole=whole)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("place", ["while reading", "after it"])
def test_exact_totals_are_in_no_frame_of_an_error(kind, place, monkeypatch):
    real = Memory.sum

    def broken(self, query):
        totals = real(self, query)
        assert totals is not None
        raise kind()

    def interrupted(*arguments):
        raise KeyboardInterrupt

    if place == "while reading":
        monkeypatch.setattr(Memory, "sum", broken)
    else:
        monkeypatch.setattr("discreet.curator.total_noise.perturbed", interrupted)
    with pytest.raises((KeyboardInterrupt, dc.errors.ReadError)) as failed:
        describe(TABLE, *PUBLIC, epsilon=1.0)
    frames, step = [], failed.value.__traceback__
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    held = [value for frame in frames[1:] for value in frame.f_locals.values()]
    assert "totals" not in {name for frame in frames for name in frame.f_locals}
    assert not any(isinstance(value, (Curator, Question)) for value in held) and len(frames) > 1


def test_retries_are_refused_before_a_charge():
    ledger = dc.Ledger(dc.Budget(1.0))
    with pytest.raises(dc.NotSupported):
        describe(TABLE, *PUBLIC, epsilon=1.0, ledger=ledger.retrying("1"))
