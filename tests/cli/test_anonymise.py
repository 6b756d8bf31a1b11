"""`discreet anonymise` and `discreet risk`: people are counted, and what singles them out is not written unasked."""

import json
import os

import polars as pl
import pytest

AGE = ["-q", "age=0.0:100.0:10", "-q", "ward"]


@pytest.fixture
def numbered(table):
    """The visits with a number of the row and a column of two values."""
    rows = pl.read_csv(table.folder / "visits.csv").with_row_index("visit").with_columns(half=pl.col("visit") % 2)
    rows.write_csv(table.folder / "visits.csv")
    return table


def test_a_table_in_which_people_stand_alone_is_refused(numbered):
    words = ["anonymise", "visits.csv", *AGE, "--keep", "visit"]
    result = numbered(*words, "-o", "public.csv", "--report", "report.html")
    assert result.exit_code == 1 and "stand alone" in result.stderr and "--allow-unique" in result.stderr
    assert not (numbered.folder / "public.csv").exists()
    page = (numbered.folder / "report.html").read_text()
    assert "also knows the columns kept as they are</td><td>-</td><td>100%" in page
    if os.name == "posix":
        assert (numbered.folder / "report.html").stat().st_mode & 0o077 == 0
    result = numbered(*words, "-o", "public.csv", "--json")
    assert result.exit_code == 1 and "stand alone" in json.loads(result.stdout)["error"]


def test_a_flag_writes_it_all_the_same_and_shows_no_figure(numbered):
    words = ["anonymise", "visits.csv", *AGE, "--keep", "visit", "--allow-unique", "-o", "public.csv"]
    result = numbered(*words)
    assert result.exit_code == 0 and "%" not in result.output and "100" not in result.output, result.output
    assert "visit" in pl.read_csv(numbered.folder / "public.csv").columns


def write(table, **columns):
    pl.DataFrame(columns).write_csv(table.folder / "rows.csv", quote_style="non_numeric")
    return ["anonymise", "rows.csv", "-q", "ward=north,south", "-o", "public.csv"]


def test_groups_smaller_than_k_by_what_is_kept_are_refused(table):
    words = write(table, ward=["north"] * 40, pair=[i // 2 for i in range(40)])
    result = table(*words, "--keep", "pair", "--report", "report.html")
    assert result.exit_code == 1 and "groups of fewer than --k" in result.stderr, result.output
    assert not (table.folder / "public.csv").exists()
    page = (table.folder / "report.html").read_text()
    known = "to somebody who also knows the columns kept as they are"
    assert f"in groups of fewer than 5 {known}</td><td>-</td><td>100%" in page
    assert table(*words, "--keep", "pair", "--k", "2").exit_code == 0
    assert table(*words, "--keep", "pair", "--allow-unique", "--force").exit_code == 0


def test_standing_alone_among_all_that_is_published_is_refused(table):
    rows = {"ward": ["north"] * 20, "day": [1] * 10 + [2] * 10, "ill": (["flu"] * 9 + ["cold"]) * 2, "same": ["x"] * 20}
    words = [*write(table, **rows), "--sensitive", "ill"]
    result = table(*words, "--keep", "day", "--report", "report.html")
    assert result.exit_code == 1 and "stand alone in the table" in result.stderr, result.output
    page = (table.folder / "report.html").read_text()
    assert "of these, because of the columns kept as they are</td><td>-</td><td>10.0%" in page
    assert table(*words, "--keep", "same").exit_code == 0


def test_blank_cells_are_no_sensitive_value(table):
    words = [*write(table, ward=["north"] * 4, ill=["flu", "flu", "flu", ""]), "--sensitive", "ill", "--k", "4"]
    result = table(*words, "--l", "2")
    assert result.exit_code == 1 and "--missing NAME" in result.stderr, result.output
    result = table(*words, "--l", "2", "--missing", "none")
    assert result.exit_code == 1 and "Infeasible" in result.stderr, result.output
    assert table(*words, "--missing", "none").exit_code == 0


@pytest.mark.parametrize("gone", ["", " ", None])
def test_a_row_of_nobody_is_refused_with_a_hint_that_helps(table, gone):
    words = [*write(table, ward=["north"] * 4, who=["ann", "bea", "cem", gone]), "--person", "who", "--k", "2"]
    for more in ([], ["--missing", "none"], ["--report", "report.html"]):
        result = table(*words, *more)
        assert result.exit_code == 1 and "--person has empty or blank cells" in result.stderr, result.output
        assert "leave these rows out" in result.stderr and "--missing" not in result.stderr
        assert ("report.html" in result.stderr) == ("--report" in more)
        assert "--k" not in result.stderr and not (table.folder / "public.csv").exists()
    assert "in 1 rows" in (table.folder / "report.html").read_text()
    result = table("risk", "rows.csv", "-q", "ward", "--person", "who", "-o", "risk.txt")
    assert result.exit_code == 1 and "--person has empty or blank cells" in result.stderr, result.output


def test_what_nobody_stands_alone_by_is_kept(numbered):
    result = numbered("anonymise", "visits.csv", "-q", "ward", "--keep", "half", "-o", "public.csv")
    assert result.exit_code == 0, result.output
    assert pl.read_csv(numbered.folder / "public.csv").columns == ["ward", "half"]


def test_people_are_counted_where_they_are_named(table):
    """Fifty rows of one person in one ward: a class of fifty by rows, of one by people."""
    rows = pl.DataFrame({"patient": ["p"] * 50 + [f"q{i}" for i in range(99)], "ward": ["north"] * 50 + ["south"] * 99})
    rows.write_csv(table.folder / "wards.csv")
    words = ["wards.csv", "-q", "ward=north,south"]
    assert table("anonymise", *words, "-o", "rows.csv", "--suppress", "0").exit_code == 0
    assert pl.read_csv(table.folder / "rows.csv")["ward"].n_unique() == 2
    options = ["--person", "patient", "--suppress", "0", "-o", "people.csv", "--report", "page.html"]
    result = table("anonymise", *words, *options)
    assert result.exit_code == 0, result.output
    made = pl.read_csv(table.folder / "people.csv")
    assert made.columns == ["ward"] and made["ward"].n_unique() == 1
    assert "other people" in (table.folder / "page.html").read_text()
    for name in ("risk.json", "risk.txt"):
        assert table("risk", "wards.csv", "-q", "ward", "--person", "patient", "-o", name).exit_code == 0
    found = json.loads((table.folder / "risk.json").read_text())
    assert found["people"] == 100 and found["rows"] == 149 and found["prosecutor"]["largest"] == 1
    assert (table.folder / "risk.txt").read_text().startswith("149 rows of 100 people")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["anonymise", "visits.csv", *AGE, "--keep", "patient", "--person", "patient", "-o", "p.csv"], "names people"),
        (["anonymise", "visits.csv", *AGE, "--person", "patience", "-o", "p.csv"], "no columns ['patience']"),
        (["risk", "visits.csv", "-q", "ward,patient", "--person", "patient", "-o", "r.txt"], "names people"),
        (["risk", "visits.csv", "-q", "ward", "--person", "patience", "-o", "r.txt"], "no columns ['patience']"),
    ],
)
def test_people_are_never_published(table, words, told):
    result = table(*words)
    assert result.exit_code == 1 and told in result.stderr, result.output
    assert "`" not in result.stderr
