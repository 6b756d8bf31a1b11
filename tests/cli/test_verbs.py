"""Verbs, each from its command to its files and its receipt."""

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from discreet.cli.facts import read
from discreet.models.saving import load_saved

from .conftest import visits


def charges(run):
    facts = read(run.folder / "privacy.toml")
    return [entry.name for entry in facts.account().entries]


def test_describe_says_it_and_draws_it(table):
    result = table("describe", "visits.csv", "--epsilon", "2", "-o", "visits.png", "--seed", "1", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert abs(found["count"]["value"] - 2000) < 100 and found["columns"]["ward"]["values"] == [
        "north",
        "south",
        "west",
    ]
    assert abs(found["columns"]["age"]["mean"]["value"] - 50) < 5
    assert sum(found["columns"]["ill"]["counts"]) == pytest.approx(2000, abs=200)
    assert found["receipt"]["epsilon"] == 2 and not found["receipt"]["private"] and "NOT PRIVATE" in result.stderr
    assert (table.folder / "visits.png").read_bytes().startswith(b"\x89PNG")
    assert charges(table) == ["describe"]


def test_describe_for_people(table):
    result = table("describe", "visits.csv", "--epsilon", "1", "--columns", "age,ward", "-o", "visits.html")
    assert result.exit_code == 0, result.output
    for wanted in ("About", "median", "north", "Receipt: describe", "spent ε = 1 of 4", "Written: visits.html"):
        assert wanted in result.stdout
    assert "  cost " not in result.stdout
    page = (table.folder / "visits.html").read_text()
    assert "data:image/png;base64," in page and "<td>south</td>" in page and "guarantee" in page


def test_fit_and_predict(table):
    result = table("fit", "visits.csv", "-t", "cost", "-e", "3", "-o", "model.json")
    assert result.exit_code == 0, result.output
    assert "ward=south" in result.stdout and "Receipt: LinearRegression" in result.stdout
    saved = load_saved(table.folder / "model.json")
    assert saved.columns == ("age", "ward", "ill") and saved.target == "cost" and saved.release.epsilon == 3
    new = pl.DataFrame(
        {"x": [0, 0, 0], "ward": ["south", "moon", "north"], "ill": ["yes", "no", "no"], "age": [50, 50, None]}
    )
    new.write_csv(table.folder / "new.csv")
    result = table("predict", "model.json", "new.csv", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    head, first, *rest = csv.reader((table.folder / "out.csv").read_text().splitlines())
    if os.name == "posix":
        assert (table.folder / "out.csv").stat().st_mode & 0o777 == 0o600
    assert head == ["predicted cost"] and 30 < float(first[0]) < 60 and rest == [[""], [""]]
    new.write_parquet(table.folder / "new.parquet")
    assert table("predict", "model.json", "new.parquet", "-o", "out2.csv", "--json").exit_code == 0
    assert (table.folder / "out2.csv").read_text() == (table.folder / "out.csv").read_text()


def test_predictions_are_those_of_the_model_in_memory(table):
    table("fit", "visits.csv", "-t", "ill", "-m", "logistic", "--features", "age,cost", "-e", "3", "-o", "model.json")
    assert table("predict", "model.json", "visits.csv", "-o", "out.csv", "--probabilities").exit_code == 0
    rows = pl.read_csv(table.folder / "visits.csv").select("age", "cost")
    model = load_saved(table.folder / "model.json").model
    found = pl.read_csv(table.folder / "out.csv")
    assert found["predicted ill"].to_list() == model.predict(rows).tolist()
    np.testing.assert_array_equal(found.select("P(no)", "P(yes)").to_numpy(), model.predict_proba(rows))


def test_people_with_many_rows(table):
    text = (table.folder / "privacy.toml").read_text().replace("n = 2000", 'n = 1000\nunit = "patient"')
    (table.folder / "privacy.toml").write_text(text)
    result = table("describe", "visits.csv", "-e", "2", "--columns", "age,ward")
    assert result.exit_code == 0 and "units (patient)" in result.stdout and "one patient" in result.stdout, (
        result.output
    )
    assert table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json").exit_code == 0


def test_parquet_and_options_of_estimators(table):
    pl.read_csv(table.folder / "visits.csv").write_parquet(table.folder / "visits.parquet")
    text = (table.folder / "privacy.toml").read_text().replace("visits.csv", "visits.parquet")
    (table.folder / "privacy.toml").write_text(text)
    result = table(
        "fit", "visits.parquet", "-t", "cost", "-m", "ridge", "--set", "alpha=0.1", "-e", "1", "-o", "m.json"
    )
    assert result.exit_code == 0 and load_saved(table.folder / "m.json").model.alpha == 0.1, result.output
    assert table("describe", "visits.parquet", "-e", "1").exit_code == 0
    wrong = table("fit", "visits.parquet", "-t", "cost", "-m", "ridge", "--set", "alfa=1", "-e", "1", "-o", "n.json")
    assert wrong.exit_code == 1 and "Did you mean 'alpha'?" in wrong.output


def test_nothing_is_charged_for_what_cannot_be_kept(table):
    (table.folder / "there.json").write_text("old")
    for output in ("there.json", "no/where.json", ".", "visits.csv"):
        assert table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", output).exit_code == 1
    for output in ("no/where.png", "x.pdf"):
        assert table("describe", "visits.csv", "-e", "1", "-o", output).exit_code == 1
    assert charges(table) == [] and (table.folder / "there.json").read_text() == "old"


def test_what_was_paid_for_is_shown_even_if_it_cannot_be_written(table, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.cli.console.Output.write", full)
    for arguments in (
        ["fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json"],
        ["describe", "visits.csv", "-e", "1", "-o", "v.png"],
    ):
        result = table(*arguments)
        assert result.exit_code == 1 and "Receipt" in result.stdout and "No space left" in result.stderr
    assert len(charges(table)) == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("end", ["> /dev/full", "| true"])
def test_what_was_paid_for_is_written_even_if_it_cannot_be_shown(table, end):
    command = f"{sys.executable} -m discreet.cli fit visits.csv -t cost -e 1 -o m.json {end}"
    ended = subprocess.run(command, shell=True, cwd=table.folder, capture_output=True, text=True)
    assert load_saved(table.folder / "m.json").target == "cost" and charges(table) == ["LinearRegression"]
    assert ("the answer could not be shown, and is in 'm.json'" in ended.stderr) == ("full" in end), ended.stderr


def test_what_was_taken_meanwhile_is_kept_beside(table, monkeypatch):
    from discreet.models import LinearRegression

    fit = LinearRegression.fit

    def slow(self, *arguments):
        (table.folder / "m.json").write_text("of somebody else")
        return fit(self, *arguments)

    monkeypatch.setattr(LinearRegression, "fit", slow)
    result = table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json")
    assert result.exit_code == 1 and "was taken meanwhile" in result.stderr and "Receipt" in result.stdout
    (beside,) = table.folder.glob("m.json.*")
    assert load_saved(beside).target == "cost" and (table.folder / "m.json").read_text() == "of somebody else"


@pytest.mark.parametrize("name", ["privacy.toml", "visits.ledger", "visits.csv"])
def test_no_output_takes_the_place_of_what_is_kept(table, name):
    table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json")
    before = (table.folder / name).read_bytes()
    for arguments in (
        ["fit", "visits.csv", "-t", "cost", "-e", "0.1"],
        ["predict", "m.json", "visits.csv"],
    ):
        result = table(*arguments, "-o", name, "--force")
        assert result.exit_code == 1 and "read or kept" in result.stderr, result.output
    assert (table.folder / name).read_bytes() == before and len(charges(table)) == 1


def test_an_account_that_is_not_there_yet_is_kept_too(table):
    result = table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "visits.ledger")
    assert result.exit_code == 1 and "read or kept" in result.stderr
    assert charges(table) == []


def test_descriptions_are_whole_in_a_narrow_terminal(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("high = 100", "high = 90000000"))
    (table.folder / "visits.csv").write_text(
        visits().with_columns(pl.col("age", "cost") * 300_000).write_csv(), encoding="utf-8"
    )
    result = table("describe", "visits.csv", "-e", "2", "--seed", "1")
    assert result.exit_code == 0 and "…" not in result.stdout and "e+0" not in result.stdout, result.stdout
    assert max(map(len, result.stdout.splitlines()[:20])) <= 80
    assert "(other or missing)" in result.stdout and re.search(r" \d\d,\d00,000 ", result.stdout)


def test_whole_numbers_have_whole_quartiles(table):
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("high = 100", "high = 100\nwhole = true", 1))
    visits().with_columns(pl.col("age").round(0)).write_csv(table.folder / "visits.csv")
    result = table("describe", "visits.csv", "-e", "2", "--columns", "age", "--json")
    quartiles = json.loads(result.stdout)["columns"]["age"]["quartiles"]
    assert all(float(one["value"]).is_integer() for one in quartiles)


def test_a_seeded_picture_says_so(table, monkeypatch):
    from discreet.cli import pictures

    drawn, figure = [], pictures.figure

    def watched(found):
        drawn.append(figure(found))
        return drawn[-1]

    monkeypatch.setattr(pictures, "figure", watched)
    for seed in (["--seed", "1"], []):
        table("describe", "visits.csv", "-e", "1", "-o", "v.png", "--force", *seed)
    assert [one.get_suptitle() for one in drawn] == [pictures.SEEDED, ""]


@pytest.mark.parametrize("values", ["false, true", '"false", "true"'])
def test_columns_of_true_and_false(table, values):
    facts = f'\n[columns.seen]\nkind = "category"\nvalues = [{values}]\n'
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("visits.csv", "visits.parquet") + facts)
    visits().with_columns(seen=pl.col("age") > 25).write_parquet(table.folder / "visits.parquet")
    result = table("describe", "visits.parquet", "-e", "2", "--columns", "seen", "--json")
    if '"' in values:
        assert result.exit_code == 1 and "no value would match" in result.stderr and charges(table) == []
        return
    found = json.loads(result.stdout)["columns"]["seen"]
    assert found["values"] == [False, True] and abs(found["counts"][1] - 1500) < 100 and found["other"]["value"] < 200


def test_columns_of_another_kind_are_refused_before_they_are_paid_for(table):
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("visits.csv", "visits.parquet"))
    visits().with_columns(pl.col("age").cast(pl.String)).write_parquet(table.folder / "visits.parquet")
    result = table("fit", "visits.parquet", "-t", "cost", "-e", "1", "-o", "m.json")
    assert result.exit_code == 1 and "'age' holds text" in result.stderr and "OneHot" not in result.stderr
    assert charges(table) == []


def test_no_row_is_read_before_it_is_paid_for(table):
    path = table.folder / "visits.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:7], "a,b", *lines[7:]]) + "\n")
    for arguments in (["describe", "-e", "1"], ["fit", "-t", "cost", "-e", "1", "-o", "m.json"]):
        result = table(arguments[0], "visits.csv", *arguments[1:])
        assert result.exit_code == 1 and "retrying" not in result.stderr, result.output
    assert len(charges(table)) == 2


def test_facts_of_another_file(table):
    visits().write_csv(table.folder / "other.csv")
    for arguments in (
        ["describe", "other.csv", "-e", "1", "--facts", "privacy.toml"],
        ["ledger", "show", "other.csv"],
    ):
        result = table(*arguments)
        assert result.exit_code == 1 and "is about 'visits.csv'" in result.stderr, result.output


def test_studies_do_not_overwrite(run):
    (run.folder / "sy6.csv").write_text("old")
    result = run("study", "sy6", "--quick", "-o", ".")
    assert result.exit_code == 1 and "--force" in result.stderr and (run.folder / "sy6.csv").read_text() == "old"


def test_the_version(run):
    import discreet

    assert run("--version").stdout.strip() == discreet.__version__


def test_without_an_account_it_is_said(table):
    text = (table.folder / "privacy.toml").read_text().split("[ledger]")[0]
    (table.folder / "privacy.toml").write_text(text)
    result = table("describe", "visits.csv", "-e", "1", "--columns", "age")
    assert result.exit_code == 0 and "nobody adds it up" in result.stdout
    assert "names no ledger" in table("ledger", "show", "visits.csv").output


def test_the_ledger(table):
    assert "nothing was charged to it yet" in table("ledger", "show", "visits.ledger").output
    table("describe", "visits.csv", "-e", "1", "--columns", "age")
    table("describe", "visits.csv", "-e", "0.5", "--columns", "ward")
    for where in ("visits.ledger", "privacy.toml", "visits.csv"):
        result = table("ledger", "show", where)
        assert result.exit_code == 0 and result.stdout.count("describe") == 2, result.output
    shown = json.loads(table("ledger", "show", "visits.csv", "--json").stdout)
    assert [round(one["epsilon"], 6) for one in shown["entries"]] == [1.0, 0.5] and 1 < shown["spent"] < 1.5
    assert "even chance" in table("ledger", "explain", "visits.csv").stdout
    assert table("ledger", "show", "visits.csv", "-o", "l.png").exit_code == 0
    assert (table.folder / "l.png").read_bytes().startswith(b"\x89PNG")
    for name in ("l.json", "l.csv"):
        assert table("ledger", "export", "visits.csv", "-o", name).exit_code == 0
    assert len(json.loads((table.folder / "l.json").read_text())["entries"]) == 2
    assert len((table.folder / "l.csv").read_text().splitlines()) == 3


def test_a_file_that_is_no_ledger(table):
    (table.folder / "odd.ledger").write_text("x" * 5000)
    result = table("ledger", "show", "odd.ledger")
    assert result.exit_code == 1 and "cannot be used" in result.output


def test_audit_by_name(run):
    result = run("audit", "linear", "--runs", "30", "--confidence", "0.999999", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["violated"] is False, result.output
    assert run("audit", "Ridge", "--runs", "30", "--confidence", "0.999999").exit_code == 0
    assert "Did you mean" in run("audit", "Rige").output


def test_studies_are_listed(run):
    result = run("study")
    assert result.exit_code == 0 and "sy6" in result.stdout
    assert run("study", "sy99").exit_code == 1


def test_anonymise_writes_to_files_alone(table):
    arguments = ["-q", "age=0.0:100.0:10", "-q", "ward", "--sensitive", "ill", "--k", "5"]
    result = table("anonymise", "visits.csv", *arguments, "-o", "public.csv", "--report", "report.html")
    assert result.exit_code == 0, result.output
    made = pl.read_csv(table.folder / "public.csv")
    assert made.columns == ["age", "ward", "ill"] and made.group_by("age", "ward").len()["len"].min() >= 5
    assert "<html" in (table.folder / "report.html").read_text()
    result = table("anonymise", "visits.csv", "-q", "age", "--k", "1999", "-o", "p.parquet", "--report", "why.html")
    assert result.exit_code in (0, 1) and "1999" not in result.output
    result = table("anonymise", "visits.csv", "-q", "age", "--k", "5000", "-o", "q.csv", "--report", "no.html")
    assert result.exit_code == 1 and "2000" not in result.output and "no.html" in result.output
    assert "2000 rows" in (table.folder / "no.html").read_text() and not (table.folder / "q.csv").exists()


@pytest.mark.parametrize(
    ("quasi", "told"),
    [
        ("agee=0:100:5", "no columns ['agee']"),
        ("age=0:x:5", "three numbers"),
        ("age=one", "cannot be read"),
        ("age=none.csv", "There is no file"),
        ("age=visits.csv", "cannot be used as the hierarchy"),
        ("patient", "is of kind"),
    ],
)
def test_hierarchies_that_cannot_be_read(table, quasi, told):
    result = table("anonymise", "visits.csv", "-q", quasi, "-o", "public.csv")
    assert result.exit_code == 1 and told in result.output, result.output


def test_risk_writes_to_a_file_alone(table):
    for name in ("risk.json", "risk.txt"):
        result = table("risk", "visits.csv", "-q", "ward,ill", "-o", name)
        assert result.exit_code == 0 and "2000" not in result.output and "2,000" not in result.output, result.output
    assert json.loads((table.folder / "risk.json").read_text())["rows"] == 2000
    assert "2,000 rows" in (table.folder / "risk.txt").read_text()


FEW = ["--epsilons", "0.3,3", "--repeats", "2"]


def test_frontier_on_public_and_on_invented_rows(table):
    refused = table("frontier", "visits.csv", "-t", "cost", "--public", *FEW, "-o", "f.png")
    assert refused.exit_code == 1 and "names a ledger: these rows are private" in refused.stderr
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("[data]", "[data]\npublic = true"))
    result = table("frontier", "visits.csv", "-t", "cost", "--public", *FEW, "-o", "f.png")
    assert result.exit_code == 0 and "linear" in result.stdout, result.output
    assert (table.folder / "f.png").exists() and "epsilon" in (table.folder / "f.csv").read_text()
    (table.folder / "visits.csv").unlink()  # no row is read
    simulate = ["--simulate", "--expected", "0.6", "--n", "300"]
    result = table("frontier", "visits.csv", "-t", "cost", *simulate, *FEW, "-o", "g.png")
    assert result.exit_code == 0, result.output
    assert pl.read_csv(table.folder / "g.csv")["n"].max() == 300
    assert charges(table) == []


def test_frontier_keeps_the_promise_that_fit_would_make(table, monkeypatch):
    import discreet.evaluate

    seen, whole = [], discreet.evaluate.frontier

    def watched(estimators, X, y, **more):
        seen.append((estimators["linear"], X, y))
        return whole(estimators, X, y, **more)

    monkeypatch.setattr(discreet.evaluate, "frontier", watched)
    path = table.folder / "privacy.toml"
    text = path.read_text()
    path.write_text(text.replace("n = 2000", 'n = 100\nunit = "patient"'))
    simulate = ["frontier", "visits.csv", "-t", "cost", "--simulate", "--expected", "0.6", *FEW]
    result = table(*simulate, "-o", "f.png")
    assert result.exit_code == 1 and "--rows-per-unit" in result.stderr
    path.write_text(path.read_text().replace("n = 100", "n = 100\nmax_rows_per_unit = 3"))
    result = table(*simulate, "-o", "f.png")
    assert result.exit_code == 0, result.output
    result = table("frontier", "visits.csv", "-t", "cost", "--i-accept-unpaid-evaluation", *FEW, "-o", "g.png")
    assert result.exit_code == 0, (result.output, (table.folder / "g.txt").read_text())
    for model, X, _ in seen:
        assert (model.neighbours, model.unit, model.max_rows_per_unit) == ("add-remove", "patient", 3)
        assert X["patient"].n_unique() < len(X) / 1.5
    assert len(seen[0][1]) == 375 and len(seen) == 2
    path.write_text(text.replace("delta = 1e-6", 'delta = 1e-6\nneighbours = "replace-one"'))
    assert table(*simulate, "--n", "100", "-o", "h.png").exit_code == 0
    assert seen[2][0].neighbours == "replace-one" and seen[2][0].unit is None


def test_what_other_processes_say_is_told(table):
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("delta = 1e-6", "delta = 0.0"))
    simulate = ["frontier", "visits.csv", "-t", "cost", "--simulate", "--expected", "0.6", "--n", "100"]
    result = table(*simulate, "--models", "adassp", "--jobs", "2", *FEW, "-o", "f.png")
    assert result.exit_code == 1 and "delta" in result.stderr and "joblib" not in result.stderr, result.output


def test_frontier_on_private_rows_is_marked_recorded_and_not_shown(table):
    refused = table("frontier", "visits.csv", "-t", "cost", *FEW, "-o", "f.png")
    assert refused.exit_code == 1 and "--i-accept-unpaid-evaluation" in refused.output
    flag = "--i-accept-unpaid-evaluation"
    assert "not cached" in table("frontier", "visits.csv", "-t", "cost", flag, "--cache", "c", "-o", "f.png").output
    result = table("frontier", "visits.csv", "-t", "cost", flag, *FEW, "-o", "f.png")
    assert result.exit_code == 0 and "R²" not in result.output and "NOT PRIVATE" in result.stdout, result.output
    assert (table.folder / "f.csv").read_text().startswith("# NOT PRIVATE")
    assert (table.folder / "f.txt").read_text().startswith("NOT PRIVATE")
    words = (table.folder / "f.txt").read_text()
    assert "must be public" not in words and "the ledger has it on record" in words
    if os.name == "posix":
        assert all((table.folder / f"f{end}").stat().st_mode & 0o077 == 0 for end in (".png", ".csv", ".txt"))
    assert charges(table) == ["UNPAID EVALUATION, NOT PRIVATE: frontier of cost"]
    assert read(table.folder / "privacy.toml").account().spent == 0
