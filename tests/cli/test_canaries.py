"""No value of a table is printed by a verb that has not been paid for, nor by any error.

The table holds strange names and numbers of nine digits; what is printed is searched for them. Paid answers are shown
to four digits and have noise, so that a canary in them would be one that leaked.
"""

import gzip

import numpy as np
import polars as pl
import pytest

NAMES = [f"Quagga{i}" for i in range(7)]
N = 1237  # rows: their number is a value too
FACTS = """
[columns.person]
kind = "skip"
[columns.wage]
kind = "number"
low = 0
high = 1e9
[columns.town]
kind = "category"
values = ["here", "there"]
[columns.age]
kind = "number"
low = 0
high = 1e9
[budget]
epsilon = 50.0
delta = 1e-6
[ledger]
path = "people.ledger"
data = "people"
"""


def canaries(n: int = N) -> pl.DataFrame:
    number = 481516234.0 + np.arange(n)
    return pl.DataFrame(
        {"person": np.resize(NAMES, n), "wage": number, "town": np.resize(["Zanzib", "here"], n), "age": number}
    )


@pytest.fixture
def people(run):
    canaries().write_csv(run.folder / "people.csv")
    canaries().write_parquet(run.folder / "people.parquet")
    (run.folder / "privacy.toml").write_text(FACTS)
    return run


def silent(result, paid: bool = False):
    for canary in ("Quagga", "48151623", "481,516", "4.815e+08 ", "Zanzib"):
        assert canary not in result.output, (canary, result.output)
    if not paid:
        assert "1237" not in result.output and "1,237" not in result.output, result.output
    assert "Traceback" not in result.output
    return result


OUT = ["-o", "out.csv"]
MODEL = ["fit", "people.csv", "-t", "wage", "-e", "1", "-o", "m.json"]
FINE = [
    [
        "init",
        "people.csv",
        "-o",
        "other.toml",
        "--number",
        "wage=0:1",
        "--skip-rest",
        "--unit",
        "row",
        "--epsilon",
        "1",
    ],
    [
        "init",
        "people.parquet",
        "-o",
        "o.toml",
        "--number",
        "wage=0:1",
        "--skip-rest",
        "--unit",
        "person",
        "--epsilon",
        "1",
    ],
    [
        "frontier",
        "people.csv",
        "-t",
        "wage",
        "--i-accept-unpaid-evaluation",
        "--repeats",
        "1",
        "--epsilons",
        "1",
        "-o",
        "f.png",
    ],
    ["anonymise", "people.csv", "-q", "wage", "--k", "5", *OUT, "--report", "r.html"],
    ["anonymise", "people.parquet", "-q", "town=here,Zanzib", "--sensitive", "person", "--k", "2", "-o", "two.csv"],
    ["risk", "people.csv", "-q", "wage,town", "-o", "risk.txt"],
    ["ledger", "show", "people.csv"],
    ["ledger", "explain", "people.csv"],
    ["ledger", "export", "people.csv", "-o", "l.json"],
]


@pytest.mark.parametrize("json", [False, True])
def test_verbs_that_work(people, json):
    more = ["--json"] if json else []
    assert silent(people(*MODEL, *more), paid=True).exit_code == 0
    assert silent(people("describe", "people.csv", "-e", "1", *more), paid=True).exit_code == 0
    assert silent(people("predict", "m.json", "people.csv", "-o", "p.csv", *more)).exit_code == 0
    for arguments in FINE:
        result = silent(people(*arguments, *more))
        assert result.exit_code == 0, (arguments, result.output)
    assert "Quagga" in (people.folder / "two.csv").read_text()


ODD = {
    "no header": lambda: canaries().write_csv(include_header=False).encode(),
    "a row of names as header": lambda: b"Quagga1,Quagga2,Zanzib\n" + canaries().write_csv().encode(),
    "ragged": lambda: canaries().write_csv().encode() + b"Quagga9,481516234.5,Zanzib,481516234.5,Quagga,Quagga\n",
    "not UTF-8": lambda: canaries().write_csv().encode() + b"Quagga\xff\xfe,1,Zanzib,481516234.5\n",
    "an open quote": lambda: canaries().write_csv().encode() + b'"Quagga,481516234.5,Zanzib,481516234.5\n',
    "text where numbers are": lambda: canaries().write_csv().replace("481516", "Quagga").encode(),
    "no rows": lambda: canaries(0).write_csv().encode(),
    "nothing": lambda: b"",
    "one column": lambda: b"Quagga;481516234;Zanzib\n" * 50,
    "twice the same name": lambda: b"wage,wage,Quagga\n481516234,481516234,Zanzib\n",
    "a number in the header": lambda: b"wage,town,age,481516234.5\n1,2,3,4\n",
    "a NUL": lambda: canaries().write_csv().encode() + b"Quagga\x00,\x00,Zanzib,481516234\n",
}


UNPAID = ["--i-accept-unpaid-evaluation", "--repeats", "1", "--epsilons", "1", "-o", "f.png"]


@pytest.mark.parametrize("rows", [0, 2, 23])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_unpaid_evaluations_that_fail(people, rows, jobs):
    """Too few rows to hold any out, or of one kind: the number of rows is told in the file alone."""
    canaries(rows).with_columns(town=pl.lit("here")).write_csv(people.folder / "people.csv")
    result = people("frontier", "people.csv", "-t", "town", *UNPAID, "--models", "logistic", "--jobs", jobs)
    assert result.exit_code == 1 and "Why is written to 'f.txt'" in result.stderr, result.output
    assert not any(sign.isdigit() for sign in result.output)
    why = (people.folder / "f.txt").read_text()
    assert why.startswith("NOT PRIVATE") and "The evaluation failed: " in why
    assert people("ledger", "show", "people.csv").output.count("UNPAID") >= 1


@pytest.mark.parametrize("odd", ODD)
def test_files_that_are_odd(people, odd):
    silent(people(*MODEL), paid=True)
    for name in ("people.csv", "people.csv.gz") if odd == "ragged" else ("people.csv",):
        content = ODD[odd]()
        (people.folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        verbs = [
            ["init", name, "-o", "x.toml", "--number", "wage=0:1", "--unit", "row", "--epsilon", "1", "--force"],
            ["describe", name, "-e", "1"],
            ["fit", name, "-t", "wage", "-e", "1", "-o", "m2.json", "--force"],
            ["predict", "m.json", name, *OUT, "--force"],
            ["frontier", name, "-t", "wage", *UNPAID, "--force"],
            ["anonymise", name, "-q", "wage", "-q", "town", *OUT, "--force", "--report", "r.html"],
            ["risk", name, "-q", "wage,town", "-o", "risk.txt", "--force"],
        ]
        for arguments in verbs:
            result = people(*arguments, input="")
            if arguments[0] in ("init", "frontier") and odd == "a row of names as header":
                continue  # a first line of plain words is a header, and its names are shown
            silent(result, paid=arguments[0] in ("describe", "fit"))


def test_damaged_parquet(people):
    content = (people.folder / "people.parquet").read_bytes()
    silent(people(*MODEL), paid=True)
    for damaged in (content[:500], content[:40] + b"Quagga" * 20 + content[160:], b"Quagga"):
        (people.folder / "people.parquet").write_bytes(damaged)
        for arguments in (
            ["init", "people.parquet", "-o", "x.toml", "--skip-rest", "--unit", "row", "--epsilon", "1", "--force"],
            ["describe", "people.parquet", "-e", "1"],
            ["predict", "m.json", "people.parquet", *OUT, "--force"],
            ["anonymise", "people.parquet", "-q", "wage", *OUT, "--force"],
            ["risk", "people.parquet", "-q", "wage", "-o", "risk.txt", "--force"],
        ):
            silent(people(*arguments), paid=arguments[0] == "describe")


MISTAKES = [
    ["predict", "people.csv", "people.csv", *OUT],
    ["predict", "people.parquet", "people.csv", *OUT],
    ["describe", "people.csv", "-e", "1", "--facts", "people.csv"],
    ["describe", "people.csv", "-e", "1", "--facts", "people.parquet"],
    ["describe", "people.csv", "-e", "1", "--columns", "none"],
    ["describe", "people.csv", "-e", "100"],
    ["fit", "people.csv", "-t", "person", "-e", "1", *OUT],
    ["fit", "people.csv", "-t", "wage", "-e", "1", "-o", "people.csv", "--force"],
    ["ledger", "show", "people.parquet"],
    ["anonymise", "people.csv", "-q", "wage=people.csv", *OUT],
    ["anonymise", "people.csv", "-q", "wage=0:10:2", *OUT],
    ["anonymise", "people.csv", "-q", "town=a,b", *OUT, "--report", "r.html"],
    ["anonymise", "people.csv", "-q", "wage", "--k", "9999", *OUT, "--report", "r.html"],
    ["anonymise", "people.csv", "-q", "wage", "--sensitive", "person", "--l", "99", *OUT],
    ["anonymise", "people.csv", "-q", "wage", "--method", "none", *OUT],
    ["risk", "people.csv", "-q", "none", "-o", "risk.txt"],
    ["risk", "people.csv", "-q", "wage", "--population", "people.parquet", "-o", "people.parquet.txt"],
    ["frontier", "people.csv", "-t", "wage", "-o", "f.png"],
]


@pytest.mark.parametrize("debug", [False, True])
def test_mistakes(people, debug, monkeypatch):
    if debug:
        monkeypatch.setenv("DISCREET_DEBUG", "1")
    for arguments in MISTAKES:
        result = people(*arguments)
        if debug:  # places in the code are shown then
            assert "Quagga" not in result.output and "48151623" not in result.output and "Zanzib" not in result.output
        else:
            silent(result)


def test_the_search_finds_a_canary():
    """A test of the test: what is looked for would be found."""

    class Printed:
        output = "it was Quagga3"

    with pytest.raises(AssertionError):
        silent(Printed)
