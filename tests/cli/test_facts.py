"""privacy.toml: read strictly, written so that it reads back, and headers that may be rows."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.columns import Column
from discreet.cli.facts import Facts, read
from discreet.cli.header import header, missing
from discreet.cli.writer import written
from discreet.errors import EngineError

GOOD = """
[columns.age]
kind = "number"
low = 0
high = 120
[budget]
epsilon = 1.0
"""


def toml(folder, text):
    path = folder / "privacy.toml"
    path.write_text(text)
    return path


def test_the_example_in_the_docstring_reads(tmp_path):
    import discreet.cli.facts as module

    text = module.__doc__.split("\n", 2)[2].replace("\n    ", "\n")
    text = text.replace("[columns.age]", '[columns.patient]\nkind = "skip"\n\n[columns.age]')
    facts = read(toml(tmp_path, text))
    assert facts.unit == "patient" and facts.columns["ward"].values == ("north", "south") and facts.n == 20_000
    assert facts.budget.epsilon == 2 and facts.ledger_path == "visits.ledger"


WRONG = {
    "epsilon = 1.0": ("epsilonn = 1.0", "Did you mean 'epsilon'?"),
    "low = 0": ("lo = 0", "Did you mean 'low'?"),
    "[budget]": ("[budgets]", "Did you mean 'budget'?"),
    "low = 0\n": ("", "without `low` and `high`"),
    "high = 120": ("high = -1", "low < high"),
    'kind = "number"': ('kind = "integer"', "must be one of"),
    "epsilon = 1.0\n": ("", "no `epsilon` in [budget]"),
    "1.0": ('"1.0"', "must be a number"),
}


@pytest.mark.parametrize("old", WRONG)
def test_mistakes_are_named(old, tmp_path):
    new, told = WRONG[old]
    with pytest.raises(ValueError, match=r"privacy\.toml: ") as error:
        read(toml(tmp_path, GOOD.replace(old, new)))
    assert told in str(error.value)


def test_further_mistakes(tmp_path):
    for text, told in (
        ("non sense\n", "is no TOML: see line 1"),
        (GOOD + "[ledger]\ndata = 'x'\n", "no `path` in [ledger]"),
        (GOOD + "[data]\nunit = 'patient'\n", "is none of the columns"),
        (GOOD + "[data]\nmax_rows_per_unit = 2\n", "needs a `unit`"),
        (GOOD.replace("1.0", "1.0\ndelta = 0.1") + "[data]\nn = 1000\n", "must be below 0.1"),
        (GOOD + "[columns.w]\nkind = 'category'\nvalues = ['a']\n", "two or more distinct"),
        (GOOD + "[columns.w]\nkind = 'category'\nvalues = ['a', 1]\n", "all text, all numbers"),
    ):
        with pytest.raises(ValueError) as error:
            read(toml(tmp_path, text))
        assert told in str(error.value)
    with pytest.raises(ValueError, match="discreet init"):
        read(tmp_path / "none.toml")


names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20).filter(str.isprintable)
columns = st.one_of(
    st.builds(
        lambda name, low, width: Column(name, "number", low, low + width),
        names,
        st.integers(-99, 99),
        st.integers(1, 99),
    ),
    st.builds(
        lambda name, values: Column(name, "category", values=tuple(values)),
        names,
        st.one_of(st.lists(names, min_size=2, unique=True), st.lists(st.integers(), min_size=2, unique=True)),
    ),
    st.builds(lambda name: Column(name, "skip"), names),
)


@given(st.lists(columns, min_size=1, unique_by=lambda one: one.name), st.floats(1e-3, 100), st.booleans())
def test_what_is_written_reads_back(several, epsilon, account):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        more = {"ledger_path": "x.ledger", "data_name": "x"} if account else {}
        facts = Facts(Path(folder), {one.name: one for one in several}, epsilon, 1e-6, path="x.csv", **more)
        path = Path(folder) / "privacy.toml"
        path.write_text(written(facts), encoding="utf-8")
        assert read(path) == facts


def test_a_header_is_one_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffage,ward\r\n".encode() + b"\xff\xfe not text at all\n" * 3)
    assert header(path).names == ("age", "ward")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b'"a,b",c\n1,2\n'))
    assert header(tmp_path / "a.csv.gz").names == ("a,b", "c")
    assert missing(path, ["age", "x"]) == ["x"]


def test_lines_that_end_by_a_carriage_return(table):
    path = table.folder / "visits.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    assert header(path).names == ("patient", "age", "ward", "cost", "ill")
    result = table("describe", "visits.csv", "-e", "2", "--columns", "ward", "--seed", "1", "--json")
    assert result.exit_code == 0 and abs(json.loads(result.stdout)["count"]["value"] - 2000) < 50, result.output


def test_a_header_of_parquet_is_its_schema(tmp_path):
    pl.DataFrame({"age": [1], "ward": ["CANARY"], "on": [None]}).write_parquet(tmp_path / "a.parquet")
    found = header(tmp_path / "a.parquet")
    assert found.names == ("age", "ward", "on") and found.kinds == ("number", "category", "skip")


@pytest.mark.parametrize(
    "line",
    [
        *("CANARY,12/03/1961", "CANARY,120/80", "CANARY,$45", "CANARY,12:30", "CANARY,-", "CANARY, b"),
        *('CANARY,"b\nc",d', 'CANARY,"b'),
        *("CANARY,31", "CANARY,CANARY", "CANARY,2024-05-01", "CANARY,", "CANARY\x1b[31m,b", "CANARY;b;c", "1e5,CANARY"),
    ],
)
def test_a_header_that_may_be_a_row_is_refused_unprinted(line, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{line}\nx,y\n")
    with pytest.raises(EngineError) as error:
        header(path)
    assert "CANARY" not in str(error.value) and "Hint" in str(error.value)


def test_files_that_have_no_header(tmp_path):
    for name, content in (("empty.csv", b""), ("long.csv", b"a" * (1 << 21)), ("bad.csv", b"\xff\xfe\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(EngineError):
            header(tmp_path / name)
    (tmp_path / "damaged.parquet").write_bytes(b"CANARY")
    for name, told in (("damaged.parquet", "damaged"), ("x.txt", "no file"), (".", "folder")):
        with pytest.raises(EngineError, match=told):
            header(tmp_path / name)
