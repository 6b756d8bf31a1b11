"""No output replaces what is read or kept, whatever --force says."""

import contextlib
import json

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli import app, secrets

PASS = ["--passphrase-file", "pw"]
WHO = ["--identifiers", "ssn", "--purpose", "research"]
READ = {
    "find": ["find", "c.csv", "--person", "person.json", *PASS, "--export"],
    "register": ["register", "c.csv", *PASS, "-o"],
    "pseudonymise": ["pseudonymise", "c.csv", "visits.csv", *WHO, *PASS, "-o"],
    "share": ["share", "c.csv", "visits.csv", *WHO, "--partner", "university", *PASS, "-o"],
    "unshare": ["unshare", "c.csv", "visits.csv", "--purpose", "research", "--partner", "university", *PASS, "-o"],
    "reseal": ["reseal", "c.csv", "visits.csv", "--purpose", "research", *PASS, "-o"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A vault whose name ends as tables do, so that the name alone refuses nothing."""
    tmp_path = tmp_path_factory.mktemp("vault")
    with contextlib.chdir(tmp_path):
        _make(tmp_path)
    return tmp_path


@pytest.fixture
def vault(made, monkeypatch):
    """The same, as the folder to work in; no test changes it."""
    monkeypatch.chdir(made)
    return made


def _make(tmp_path):
    (tmp_path / "pw").write_text("correct horse battery staple\n")
    (tmp_path / "pw").chmod(0o600)
    (tmp_path / "person.json").write_text(json.dumps({"ssn": "918273645"}))
    pl.DataFrame({"ssn": ["918273645", "222"], "cost": [1, 2]}).write_csv("visits.csv")
    for words in (
        ["create", "c.csv", "--field", "ssn=digits:9", "--identity", "ssn=ssn"],
        ["purpose", "c.csv", "research"],
        ["partner", "c.csv", "university"],
    ):
        assert CliRunner().invoke(app, ["vault", *words, *PASS]).exit_code == 0


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("verb", READ)
def test_outputs_of_a_vault_replace_nothing_that_is_kept(vault, verb):
    before = {path.name: path.read_bytes() for path in vault.iterdir()}
    targets = ["c.csv", "c.csv-wal", "pw", *(["person.json"] if verb == "find" else [])]
    for target in targets:
        result = CliRunner().invoke(app, ["vault", *READ[verb], target, "--force"])
        assert result.exit_code == 1, (target, result.output)
        if not (verb == "register" and target != "c.csv"):  # there the ending is refused first
            assert "is one of the files that are read or kept" in result.stderr, (target, result.output)
    assert {path.name: path.read_bytes() for path in vault.iterdir()} == before


def test_key_files_are_kept_and_stdin_is_none(tmp_path):
    kept = {path.name for path in secrets.kept("c.vault", "-", tmp_path / "c.key", "person.json", "-")}
    assert kept == {"c.vault", "c.vault-wal", "c.vault-shm", "c.vault-journal", "c.key", "person.json"}
    assert secrets.kept("postgresql://127.0.0.1/x", None, None) == []


@pytest.mark.catalogue("PS3")
def test_a_vault_that_is_not_there_is_told_before_a_passphrase_is_asked_for(vault):
    result = CliRunner().invoke(app, ["vault", "find", "no.vault"])
    assert result.exit_code == 1 and "There is no vault 'no.vault'" in result.stderr


def test_hierarchies_are_kept(table):
    wards = "north,all\nsouth,all\nwest,all\n"
    (table.folder / "wards.csv").write_text(wards)
    for option in ("-o", "--report"):
        named = {"-o": "public.csv", "--report": "page.html"} | {option: "wards.csv"}
        words = [word for pair in named.items() for word in pair]
        result = table("anonymise", "visits.csv", "-q", "ward=wards.csv", *words, "--force")
        assert result.exit_code == 1 and "read or kept" in result.stderr, result.output
    assert (table.folder / "wards.csv").read_text() == wards


def test_the_case_of_a_study_does_not_matter(run, monkeypatch):
    """Its files are there already, whatever the case of the name."""

    def never(*arguments, **options):
        raise AssertionError("the study ran")

    monkeypatch.setattr("discreet.studies.run", never)
    (run.folder / "sy6.png").write_text("old")
    for name in ("sy6", "Sy6", "SY6"):
        result = run("study", name, "--quick", "-o", ".")
        assert result.exit_code == 1 and "is there already" in result.stderr, result.output
    assert run("study", "LIST").output == run("study", "list").output
