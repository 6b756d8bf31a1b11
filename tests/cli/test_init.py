"""`discreet init`: by questions or by options, without reading a value."""

import json

import polars as pl
import pytest

from discreet.cli.facts import read

OPTIONS = [
    *("--number", "age=0:120", "--category", "ward=north,south", "--category", "code=01,02", "--category", "sex=1,2"),
    *("--unit", "patient", "--epsilon", "2"),
]
HEADER = "patient,age,ward,code,sex,remarks\n"


def test_by_options(run):
    (run.folder / "v.csv").write_text(HEADER)
    assert run("init", "v.csv", *OPTIONS, "--skip-rest").exit_code == 0
    facts = read(run.folder / "privacy.toml")
    assert facts.columns["age"].low == 0 and facts.columns["remarks"].kind == "skip"
    assert facts.columns["code"].values == ("01", "02") and facts.columns["sex"].values == (1, 2)
    assert (facts.unit, facts.epsilon, facts.delta) == ("patient", 2.0, 1e-6)
    assert (facts.path, facts.ledger_path, facts.data_name) == ("v.csv", "v.ledger", "v")


def test_by_questions_that_explain_themselves(run):
    (run.folder / "v.csv").write_text("age,ward,name\n")
    answers = ["row", "number", "0 120 whole", "category", "north, south", "skip", "5000", "1.5", "", ""]
    result = run("init", "v.csv", input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    for wanted in (
        "'age' (1 of 3): number, category or skip?",
        "belongs to somebody",
        "give its holder away",
        "multiplies the odds",
        "δ, the chance",
    ):
        assert wanted in result.output
    facts = read(run.folder / "privacy.toml")
    assert (facts.n, facts.epsilon, facts.delta, facts.unit) == (5000, 1.5, 2e-6, "row")
    assert facts.columns["age"].high == 120 and facts.columns["age"].whole
    assert facts.columns["ward"].values == ("north", "south")


def test_letters_are_enough_one_can_go_back_and_help_is_shown_once(run):
    (run.folder / "v.csv").write_text("age,ward,name\n")
    answers = ["row", "n", "0:120", "c", "b", "b", "c", "young,old", "C", "north,south", "s", "5000", "1", "", ""]
    result = run("init", "v.csv", input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    columns = read(run.folder / "privacy.toml").columns
    assert [one.kind for one in columns.values()] == ["category", "category", "skip"]
    assert columns["age"].values == ("young", "old")
    assert result.output.count("a quantity; its range is asked for next") == 1
    assert result.output.count("would give its holder") == 1


def test_a_template_for_an_editor(run):
    pl.DataFrame({"age": [77123.0], "ward": ["CANARY"], "day": [None]}).write_parquet(run.folder / "v.parquet")
    assert run("init", "v.parquet", "--template", input="").exit_code == 0
    text = (run.folder / "privacy.toml").read_text()
    assert "CANARY" not in text and "77123" not in text
    suggested = 'kind = "skip"\n# kind = "number"\n# low = \n# high = '
    assert f'[columns."age"]\n{suggested}' in text
    assert [one.kind for one in read(run.folder / "privacy.toml").columns.values()] == ["skip"] * 3
    (run.folder / "privacy.toml").write_text(text.replace(suggested, 'kind = "number"\nlow = 0\nhigh = 120'))
    assert read(run.folder / "privacy.toml").columns["age"].high == 120


def test_facts_to_standard_output(run):
    (run.folder / "v.csv").write_text("age,ward,name\n")
    result = run("init", "v.csv", *("--number", "age=0:120"), "--skip-rest", "--unit", "row", "-e", "1", "-o", "-")
    assert result.exit_code == 0 and 'kind = "number"' in result.stdout and "Written" not in result.stdout
    assert not (run.folder / "privacy.toml").exists()


def test_types_of_parquet_are_suggested_and_values_not_read(run):
    pl.DataFrame({"age": [77123.0], "ward": ["CANARY"]}).write_parquet(run.folder / "v.parquet")
    result = run("init", "v.parquet", input="\n\n0:120\n\nnorth,south\n\n\n\n\n")
    assert result.exit_code == 0, result.output
    assert "CANARY" not in result.output and "77123" not in result.output
    assert [one.kind for one in read(run.folder / "privacy.toml").columns.values()] == ["number", "category"]


def test_the_rest_of_the_file_is_never_read(run):
    (run.folder / "v.csv").write_bytes(b"age,ward\n" + b"\xff\xfeCANARY,,,,\n" * 1000)
    assert (
        run("init", "v.csv", "--number", "age=0:1", "--skip", "ward", "--unit", "row", "--epsilon", "1").exit_code == 0
    )


def test_a_mistake_is_asked_again(run):
    (run.folder / "v.csv").write_text("age,ward\n")
    answers = ["nobody", "row", "nmber", "number", "0", "5:1", "0:120", "category", "north", "north,south"]
    answers += ["many", "5000", "-1", "1.5", "0.5", "1e-6", ""]
    result = run("init", "v.csv", input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    for told in ("to be the unit", "must be one of", "two numbers", "low < high", "two or more", "whole number", "> 0"):
        assert told in result.output, told
    facts = read(run.folder / "privacy.toml")
    assert (facts.columns["age"].high, facts.n, facts.epsilon, facts.delta) == (120, 5000, 1.5, 1e-6)
    assert not facts.columns["age"].whole


def test_truths_of_parquet(run):
    pl.DataFrame({"seen": [True]}).write_parquet(run.folder / "v.parquet")
    options = ["--unit", "row", "--epsilon", "1"]
    wrong = run("init", "v.parquet", "--category", "seen=yes,no", *options)
    assert wrong.exit_code == 1 and "--category seen=false,true" in wrong.stderr
    assert run("init", "v.parquet", "--category", "seen=False,true", *options).exit_code == 0
    assert read(run.folder / "privacy.toml").columns["seen"].values == (False, True)


def test_whole_numbers(run):
    (run.folder / "v.csv").write_text("age,ward\n")
    options = ["--number", "age=0:120", "--skip-rest", "--unit", "row", "--epsilon", "1"]
    assert "no --number" in run("init", "v.csv", *options, "--whole", "ward").output
    assert run("init", "v.csv", *options, "--whole", "age").exit_code == 0
    assert read(run.folder / "privacy.toml").columns["age"].whole


def test_one_account_for_one_table(run):
    (run.folder / "v.csv").write_text(HEADER)
    (run.folder / "sub").mkdir()
    assert run("init", "v.csv", *OPTIONS, "--skip-rest", "--ledger", "mine.ledger").exit_code == 0
    first = read(run.folder / "privacy.toml")
    first.account()
    assert run("init", "v.csv", *OPTIONS, "--skip-rest", "-o", "sub/p.toml").exit_code == 0
    assert read(run.folder / "sub" / "p.toml").ledger.resolve() == first.ledger.resolve()
    second = run("init", "v.csv", *OPTIONS, "--skip-rest", "-o", "q.toml", "--ledger", "new.ledger")
    assert second.exit_code == 0 and "there is an account of these data already" in second.stderr
    lost = run("init", "v.csv", *OPTIONS, "--skip-rest", "-o", "mine.ledger", "--force")
    assert lost.exit_code == 1 and "read or kept" in lost.stderr


def test_nobody_to_answer(run):
    (run.folder / "v.csv").write_text("age,ward\n")
    result = run("init", "v.csv", "--number", "age=0:120", "--unit", "row", input="")
    assert result.exit_code == 1 and "Nobody is there to answer" in result.output
    assert not (run.folder / "privacy.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--number", "agee=0:1"], "no column 'agee'"),
        (["--number", "age=0"], "two numbers, such as 0:120"),
        (["--number", "age=5:1"], "low < high"),
        (["--category", "ward=north"], "two or more distinct"),
        (["--number", "age=0:1", "--skip", "age"], "told of twice"),
        (["--unit", "person", "--skip-rest", "--epsilon", "1"], "to be the unit"),
        (["--skip-rest", "--unit", "row", "--n", "100", "--delta", "0.2", "--epsilon", "1"], "must be below 0.1"),
    ],
)
def test_what_is_refused(run, arguments, told):
    (run.folder / "v.csv").write_text("age,ward\n")
    result = run("init", "v.csv", *arguments)
    assert result.exit_code == 1 and told in result.output, result.output
    assert not (run.folder / "privacy.toml").exists()


def test_an_old_file_stays_unless_forced(run):
    (run.folder / "v.csv").write_text(HEADER)
    (run.folder / "privacy.toml").write_text("old")
    assert "--force" in run("init", "v.csv", *OPTIONS, "--skip-rest").output
    assert (run.folder / "privacy.toml").read_text() == "old"
    result = run("init", "v.csv", *OPTIONS, "--skip-rest", "--force", "--json")
    assert json.loads(result.stdout)["columns"]["age"] == "number"
