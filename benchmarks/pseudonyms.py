"""Pseudonyms: people and rows a second on one core, memory of a stream, and what share of it the keyed hash takes.

    python benchmarks/pseudonyms.py           the figures, in about a minute
    python benchmarks/pseudonyms.py --full    also a CSV file of ten million rows, in some minutes

Rates are per second of CPU time, so that other work on the machine does not count. The keyed hash alone, in the same
run, is what a derived pseudonym can at best cost; the two other lines beside it are other keyed hashes. Goals are those
of a machine that makes 0.67 million HMACs a second, at the pace of this one: ratios within one run.
"""

import os

os.environ["POLARS_MAX_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core

import hashlib
import hmac
import re
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from discreet.pseudonyms import KeyFile
from discreet.pseudonyms.vault import Vault

GOALS = {"derived": 0.5, "stored": 0.15, "rows": 3.0}  # millions a second, where HMACs are made at PACE
PACE = 0.67
PEOPLE, ROWS, REPEATS = 500_000, 4_000_000, 20
NAMESAKES = 0.01  # of people


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


FIELDS = {"ssn": "digits:9", "name": "text", "born": "date"}
IDENTITIES = {"ssn": ["ssn"], "name and birth": ["name", "born"]}


def vault(folder, links, identities=("ssn",)):
    made = Vault.create(
        folder / f"{links}.vault",
        key_file=KeyFile.create(folder / f"{links}.key"),
        fields=FIELDS,
        identities={name: IDENTITIES[name] for name in identities},
        links=links,
    )
    made.add_purpose("benchmark")
    return made


def table(people, rows, seed):
    who = np.arange(rows) % people
    np.random.default_rng(seed).shuffle(who)
    return pl.DataFrame({"ssn": pl.Series(who + 100_000_000).cast(pl.String), "cost": np.arange(rows)})


def line(name, count, spent, unit, goal=None):
    rate = count / spent / 1e6
    mark = "" if goal is None else f"   goal {goal:.2f} ({rate / goal:.2f} of it)"
    mark += "  *** BELOW ***" if goal is not None and rate < goal else ""
    print(f"  {name:46} {rate:6.2f} M {unit}/s{mark}")
    return rate


def hashes():
    print("keyed hashes alone")
    messages, key = [b"1:1,3:ssn,9:%d," % i for i in range(100_000_000, 100_000_000 + PEOPLE)], bytes(32)
    from discreet.pseudonyms.hashing import tags

    line("BLAKE2b, as the vault does it", PEOPLE, seconds(lambda: tags(messages, key)), "messages")
    line(
        "BLAKE2b, a new one each",
        PEOPLE,
        seconds(lambda: [hashlib.blake2b(m, key=key).digest() for m in messages]),
        "messages",
    )
    made = line("HMAC-SHA256", PEOPLE, seconds(lambda: [hmac.digest(key, m, "sha256") for m in messages]), "messages")
    GOALS.update({name: goal * made / PACE for name, goal in GOALS.items()})


def memory(folder):
    print("tables in memory, parsed, looked up, sealed and recorded")
    once, often = table(PEOPLE, PEOPLE, 1), table(ROWS // REPEATS, ROWS, 2)
    for links in ("derived", "stored"):
        with vault(folder, links) as made:
            made.pseudonymise(table(1000, 1000, 0), ["ssn"], "benchmark")
            spent = seconds(lambda made=made: made.pseudonymise(once, ["ssn"], "benchmark"))
            line(f"{links}: new people, one row each", PEOPLE, spent, "people", GOALS[links])
            spent = seconds(lambda made=made: made.pseudonymise(often, ["ssn"], "benchmark"))
            line(f"{links}: known people, {REPEATS} rows each", ROWS, spent, "rows", GOALS["rows"])
            for kind, frame in kinds(often):
                spent = seconds(lambda made=made, frame=frame: made.pseudonymise(frame, ["ssn"], "benchmark"))
                line(f"{links}: the same, {kind}", ROWS, spent, "rows", GOALS["rows"])
    with vault(folder / "new", "stored") as made:
        spent = seconds(lambda: made.pseudonymise(often, ["ssn"], "benchmark"))
        line(f"stored: new people, {REPEATS} rows each", ROWS, spent, "rows", GOALS["rows"])


def two_identities(folder):
    print(f"numbers, names and days of birth: {NAMESAKES:.0%} of people share a name and a day with one other")
    who = np.arange(PEOPLE)
    named = np.where(who % round(2 / NAMESAKES), who, who + 1)
    people = pl.DataFrame(
        {
            "ssn": pl.Series(who + 100_000_000).cast(pl.String),
            "name": "Person " + pl.Series(named).cast(pl.String),
            "born": pl.repeat("1980-01-31", PEOPLE, eager=True),
            "cost": who,
        }
    ).sample(fraction=1, shuffle=True, seed=3)
    with vault(folder / "two", "stored", IDENTITIES) as made:
        for what, goal in (("new people", GOALS["stored"]), ("known people", None)):
            spent = seconds(lambda: made.pseudonymise(people, ["ssn", "name", "born"], "benchmark"))
            line(f"stored: {what}, one row each", PEOPLE, spent, "people", goal)


def spark(folder):
    """By the clock, with all that Spark starts: the work is done in processes of its own."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return
    if shutil.which("java") is None:
        return
    print("Spark on one core, derived, by the clock")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    table(ROWS // REPEATS, ROWS, 4).write_parquet(folder / "spark.parquet")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(folder / "spark.parquet"))
    with vault(folder / "spark", "derived") as made:
        start = time.perf_counter()
        made.pseudonymise(frame, ["ssn"], "benchmark").write.parquet(str(folder / "spark" / "out"))
        line(f"told, then named and written, {REPEATS} rows each", ROWS, time.perf_counter() - start, "rows")
    session.stop()


def kinds(frame):
    """The same rows in other kinds of tables."""
    texts = frame.to_pandas()
    yield "pandas, objects", texts.astype({"ssn": object})
    yield "pandas, its own text", texts.astype({"ssn": "str"})
    yield "pandas, numbers", texts.astype({"ssn": "int64"})
    yield "pyarrow", frame.to_arrow()


def most():
    """The most memory so far, in MiB; the kernel's own figure, which a new program begins anew."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 2**10


def stream(folder, rows):
    print(f"a CSV file of {rows:,} rows, {REPEATS} for each person")
    path = folder / "visits.csv"
    with path.open("w") as file:
        file.write("ssn,name,cost,town\n")
        for start in range(0, rows, 50_000):
            who = np.random.default_rng(start).integers(0, rows // REPEATS, min(50_000, rows - start))
            file.write("".join(f'{100_000_000 + i},"Person, {i}",{i % 97}.5,Springfield\n' for i in who))
    before = most()
    with vault(folder / "stream", "stored") as made:
        spent = seconds(
            lambda: made.pseudonymise(path, ["ssn"], "benchmark", out=folder / "out.csv", keep=["name"], progress=False)
        )
    after = most()
    line("stored, new people", rows, spent, "rows")
    size = path.stat().st_size / 2**20
    print(f"  file {size:,.0f} MiB, most memory {after:,.0f} MiB ({before:,.0f} before)")


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("new", "two", "spark", "stream"):
            (folder / name).mkdir()
        if "--stream" in sys.argv:  # by itself, so that the figure of memory is the stream's own
            return stream(folder, 10_000_000)
        hashes()
        memory(folder)
        two_identities(folder)
        spark(folder)
    if "--full" in sys.argv:
        os.execv(sys.executable, [sys.executable, __file__, "--stream"])


if __name__ == "__main__":
    main()
