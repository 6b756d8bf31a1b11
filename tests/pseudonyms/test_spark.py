"""Pseudonyms on Spark: the same as on one machine, and keys in no plan, closure or log.

Two workers of a small local Spark; skipped where there is no Java, or no pyspark.
"""

import os
import pickle
import shutil
import stat
import sys
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import EngineError, NotSupported
from discreet.pseudonyms import (
    MissingIdentifiers,
    RowsWarning,
    Tampered,
    TooIdentifying,
    Unparsable,
    VaultError,
    spark_task,
)
from discreet.pseudonyms.naming import Policy
from discreet.pseudonyms.spark_task import ORDER, Task, sent
from discreet.pseudonyms.workers import Worker

pytestmark = [
    pytest.mark.catalogue("PS4"),
    pytest.mark.xdist_group("spark"),  # one process, one session
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # pyspark's own sockets
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.RowsWarning"),
]
WHO = ["ssn", "name", "born"]
CLEAR = ["name", "born"]
N = 500
NUMBER = "771007710077100"  # long: an event log is full of numbers, and a short one is among them by chance


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="Spark tests need pyspark: pip install discreet[spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark tests need Java 17 or 21: apt-get install openjdk-17-jre-headless")
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "60",  # several batches to a task
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        "spark.eventLog.compress": "false",
    }
    builder = sql.SparkSession.builder.master("local[2]").appName("pseudonyms")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.events = folder / "events"
    yield session
    session.stop()


@pytest.fixture
def vault(make, file):
    """An open vault with derived links."""
    with make(file, links="derived") as opened:
        yield opened


def table():
    return pl.DataFrame(
        {
            "visit": range(N),
            "ssn": [None if i % 11 == 0 else f"{NUMBER}{i % 120:04d}" for i in range(N)],
            "a.b": [i / 4 for i in range(N)],
            "name": [f"Canary Person {i % 120}" for i in range(N)],
            "born": ["1980-01-31"] * N,
        }
    )


@pytest.fixture
def frame(spark, tmp_path):
    table().write_parquet(tmp_path / "in.parquet")
    return spark.read.parquet(str(tmp_path / "in.parquet")).repartition(4)


def rows(dataframe):
    return pl.DataFrame([tuple(row) for row in dataframe.collect()], schema=dataframe.columns, orient="row").sort(
        "visit"
    )


def test_the_same_pseudonyms_as_on_one_machine(vault, frame):
    known = vault.pseudonymise(table(), WHO, "research", name="here")
    found = rows(vault.pseudonymise(frame, WHO, "research", name="there"))
    assert found.columns == ["visit", "pseudonym", "a.b"] and found.equals(known)
    *_, entry = vault.register.entries()
    assert (entry.act, entry.table, entry.rows) == ("pseudonymise", "there", N)
    locators = vault.find({"ssn": f"{NUMBER}0007"}).locators
    assert {one.table for one in locators} == {"here", "there"} and len({one.pseudonym for one in locators}) == 1


def test_no_key_and_no_identifier_is_in_plans_or_event_logs(spark, vault, frame):
    result = vault.pseudonymise(frame, WHO, "research")
    assert result.count() == N
    keys = vault.token_keys("research")
    secrets = [vault._hash_key(), keys.cipher, keys.check]
    plan = result._jdf.queryExecution().toString()
    logs = b"".join(path.read_bytes() for path in spark.events.rglob("*") if path.is_file())
    assert b"mapInArrow" in logs or b"MapInArrow" in logs  # the jobs are in the log
    for text in (plan.encode(), logs):
        for secret in secrets:
            assert secret not in text and secret.hex().encode() not in text
        assert b"Canary Person" not in text and NUMBER.encode() not in text


def test_what_is_sent_to_workers_holds_no_secret(vault, tmp_path):
    from pyspark.cloudpickle import dumps

    vault.worker_file(tmp_path / "worker", "research")
    task = Task(str(tmp_path / "worker"), ((0, "ssn", "ssn"),), "pseudonym", Policy())
    worker = Worker.read(tmp_path / "worker")
    content = dumps(sent(task, "named", "0")) + pickle.dumps(task)
    for secret in (worker.hash, worker.keys.cipher, worker.keys.check):
        assert secret not in content and secret.hex().encode() not in content
    for thing in (worker, worker.keys, vault):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing)
    assert repr(worker) == "<Worker>"


def test_rows_of_nobody(vault, frame):
    only = ["ssn"]
    with pytest.raises(MissingIdentifiers, match=r"^46 rows hold no whole identity"):
        vault.pseudonymise(frame, only, "research", keep=CLEAR)
    with pytest.raises(ValueError, match="would stay in clear"):
        vault.pseudonymise(frame, only, "research", missing="skip")
    with pytest.warns(RowsWarning, match="46 rows were left out, 0 have one-off pseudonyms: 46 without a whole"):
        assert vault.pseudonymise(frame, only, "research", missing="skip", keep=CLEAR).count() == N - 46
    named = vault.pseudonymise(frame, only, "research", missing="one-off", keep=CLEAR)
    ones = rows(named)
    assert ones.equals(rows(named))  # the same row has the same pseudonym, however often it is computed
    assert ones["pseudonym"].n_unique() == 46 + table()["ssn"].drop_nulls().n_unique()
    with pytest.raises(Unparsable) as caught:
        vault.pseudonymise(frame, {"ssn": "ssn", "visit": "name", "name": "born"}, "research", keep=["born"])
    assert caught.value.counts == {"name": N} and "Canary" not in str(caught.value)


def test_people_who_were_erased_are_left_out_on_workers_too(vault, frame):
    options = {"missing": "skip", "keep": CLEAR}
    before = vault.pseudonymise(frame, ["ssn"], "research", **options).count()
    vault.erase(vault.find({"ssn": f"{NUMBER}0007"}), reason="asked")
    gone = table().filter(pl.col("ssn") == f"{NUMBER}0007").height
    assert gone and vault.pseudonymise(frame, ["ssn"], "research", **options).count() == before - gone


def batches(task, partition, size):
    """The rows of a table with holes as one partition in pieces of some size, named by a task."""
    frame = pl.DataFrame({"ssn": ["1", None, "2", None, None, "1"], "x": range(6)}).to_arrow()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_task, "_partition", lambda: partition)
        return pl.from_arrow(pa.Table.from_batches(task.named(iter(frame.to_batches(max_chunksize=size)))))


def test_a_partition_that_is_computed_again_is_the_same(vault, tmp_path):
    """One-off pseudonyms and the order for partners depend on the place of a row and on the run, not on luck."""
    vault.worker_file(tmp_path / "worker", "research")
    policy = Policy(missing="one-off")
    task = Task(str(tmp_path / "worker"), ((0, "ssn", "ssn"),), "pseudonym", policy, shuffle=True, seed="a")
    first = batches(task, 0, 6)
    assert first.equals(batches(task, 0, 6)) and first.equals(batches(task, 0, 2))
    words = first["pseudonym"]
    assert words.n_unique() == 5 and words[0] == words[5] and first[ORDER].n_unique() == 6
    for other in (batches(task, 1, 6), batches(replace(task, seed="b"), 0, 6)):
        assert set(other["pseudonym"]) & set(words) == {words[0], words[2]}
        assert not set(other[ORDER]) & set(first[ORDER])
    assert not set(first[ORDER].to_list()) & set(words)


@pytest.mark.catalogue("PS2")
def test_a_partner_gets_rows_in_random_order(vault, frame):
    vault.add_partner("laboratory")
    shared = vault.share(frame, WHO, "university", "research")
    order = [row.visit for row in shared.collect()]
    assert sorted(order) == list(range(N)) and order != sorted(order)
    assert order == [row.visit for row in shared.collect()]  # a sort by luck could lose rows where tasks are repeated
    mine = vault.pseudonymise(table(), WHO, "research")
    assert vault.unshare(rows(shared), "university", "research").equals(mine)


@pytest.fixture
def wards(spark, tmp_path):
    """Makes a table of people and wards, here and on Spark: 30 people in each of two wards, and what is added."""

    def made(*others):
        numbers = [f"88100{i:04d}" for i in range(60)] * 2
        said = [("Canary north", "Canary south")[i % 2] for i in range(60)] * 2
        here = pl.DataFrame(
            {
                "ssn": [*numbers, *(one for one, _ in others)],
                "visit": range(120 + len(others)),
                "ward": [*said, *(ward for _, ward in others)],
            }
        )
        here.write_parquet(tmp_path / "wards.parquet")
        return here, spark.read.parquet(str(tmp_path / "wards.parquet")).repartition(2)

    return made


CROWDS = {
    "as many as are asked for, and rows of nobody left out": (((None, "Canary west"),), {"missing": "skip"}, 30),
    "somebody in two wards": ((("881000001", "Canary north"),), {}, 2),
    "a missing value is one like others, and two rows are one person": ((("1", None), ("2", None), ("2", None)), {}, 3),
    "rows of nobody that look like others": (((None, "Canary north"),), {"missing": "one-off"}, 30),
    "rows of nobody that stand out": (((None, "Canary west"),) * 3, {"missing": "one-off"}, 3),
}


@pytest.mark.catalogue("PS2")
@pytest.mark.parametrize("case", CROWDS)
def test_people_are_counted_as_on_one_machine(vault, wards, case):
    others, options, k = CROWDS[case]
    here, there = wards(*others)
    found = []
    for given in (here, there):
        try:
            vault.share(given, ["ssn"], "university", "research", require_k=k, quasi_identifiers=["ward"], **options)
            found.append("shared")
        except TooIdentifying as error:
            found.append(str(error))
    assert found[0] == found[1] and (found[0] == "shared") == (k == 30)
    shares = [entry.rows for entry in vault.register.entries() if entry.act == "share"]
    assert shares == ([] if k < 30 else [shares[0]] * 2)


@pytest.mark.catalogue("PS2")
def test_all_columns_that_remain_are_looked_at_and_none_is_in_a_log(spark, vault, wards):
    _, there = wards()
    with pytest.raises(TooIdentifying, match="60 of 60 people look like fewer than 2 by 'visit', 'ward'"):
        vault.share(there, ["ssn"], "university", "research", require_k=2)
    with pytest.raises(ValueError, match="must be columns that remain"):
        vault.share(there, ["ssn"], "university", "research", require_k=2, quasi_identifiers=["ssn"])
    with pytest.raises(VaultError, match="cannot count people"):
        vault.share(there, {"ssn": "ssn", "visit": "name", "ward": "born"}, "university", "research", require_k=2)
    logs = b"".join(path.read_bytes() for path in spark.events.rglob("*") if path.is_file())
    assert b"collect_set" in logs and b"Canary" not in logs and b"88100" not in logs


def test_what_tasks_say_of_looks_is_hashed(vault, tmp_path):
    vault.worker_file(tmp_path / "worker", "research")
    batch = pa.record_batch({"ssn": ["1", "1", None, "2"], "ward": ["Canary"] * 4, "x": [0.5, 0.5, 0.5, float("nan")]})
    task = Task(str(tmp_path / "worker"), ((0, "ssn", "ssn"),), "pseudonym", Policy(missing="one-off"), quasi=(1, 2))
    said, other = (
        pl.from_arrow(pa.Table.from_batches(one.looks(iter([batch])))) for one in (task, replace(task, seed="b"))
    )
    assert said.height == 3 and said["own"].sum() == 1 and said["what"].n_unique() == 2
    assert {len(one) for column in ("who", "what") for one in said[column]} == {16}
    assert not (set(said["what"]) | set(said["who"])) & (set(other["what"]) | set(other["who"]))


def test_stored_links_are_not_for_spark(make, file, frame):
    with make(file) as stored, pytest.raises(NotSupported, match="derived links"):
        stored.pseudonymise(frame, ["ssn"], "research", missing="skip", keep=CLEAR)


def test_a_worker_file_is_given(vault, frame, tmp_path):
    vault.worker_file(tmp_path / "worker", "research")
    assert stat.S_IMODE((tmp_path / "worker").stat().st_mode) == 0o600
    given = vault.pseudonymise(frame, WHO, "research", worker_file=tmp_path / "worker")
    assert rows(given).equals(vault.pseudonymise(table(), WHO, "research"))
    (tmp_path / "worker").unlink()
    with pytest.raises(Exception, match="discreet task VaultError") as caught:  # said by a worker, without a value
        given.collect()
    assert "Canary" not in str(caught.value)


def test_worker_files_that_do_not_fit(vault, frame, tmp_path):
    vault.add_purpose("billing")
    vault.worker_file(tmp_path / "other", "billing")
    vault.worker_file(tmp_path / "old", "research")
    with pytest.raises(VaultError, match="There is already a file"):
        vault.worker_file(tmp_path / "old", "research")
    vault.pseudonymise(table(), WHO, "research")
    vault.erase(vault.find({"ssn": f"{NUMBER}0007"}), reason="asked")
    for name, message in (("other", "of other keys"), ("old", "was erased since"), ("none", "cannot be read")):
        with pytest.raises(VaultError, match=message):
            vault.pseudonymise(frame, WHO, "research", worker_file=tmp_path / name)
    os.chmod(tmp_path / "other", 0o644)
    with pytest.raises(VaultError, match=r"owner's alone\. Got mode 0644"):
        Worker.read(tmp_path / "other")


def test_one_flipped_bit_in_a_worker_file_is_found(vault, tmp_path):
    vault.worker_file(tmp_path / "worker", "research")
    content = (tmp_path / "worker").read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1
        (tmp_path / "worker").write_bytes(changed)
        with pytest.raises(Tampered):
            Worker.read(tmp_path / "worker")


def test_a_plan_that_does_not_run_is_told_without_values(vault, spark, frame):
    broken = frame.selectExpr("visit", "raise_error(name) as ssn")
    with pytest.raises(EngineError) as caught:
        vault.pseudonymise(broken, ["ssn"], "research")
    assert "Canary" not in str(caught.value) and caught.value.__context__ is None
