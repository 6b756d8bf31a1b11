"""`discreet vault`: the rights of people from a terminal, and no secret on the command line."""

import inspect
import json
import stat
from types import SimpleNamespace

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli import app, secrets
from discreet.cli import vault as verbs

pytestmark = pytest.mark.catalogue("PS3")
FIELDS = ["--field", "ssn=digits:9", "--field", "name=text", "--field", "born=date"]
IDENTITIES = ["--identity", "ssn=ssn", "--identity", "person=name,born"]
SSN, NAME = "918273645", "Zoe Canary"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def called(*words, input=None, code=0):
        result = CliRunner().invoke(app, ["vault", *words], input=input)
        assert result.exit_code == code, result.output
        return result

    return called


@pytest.fixture
def clinic(run, tmp_path):
    """A vault with a key file, a purpose, a partner, a table and a person's file."""
    run("create", "clinic.vault", *FIELDS, *IDENTITIES, "--key-file", "clinic.key")
    run("purpose", "clinic.vault", "research", "--basis", "Article 9(2)(j)", "--key-file", "clinic.key")
    run("partner", "clinic.vault", "university", "--contact", "a@b.example", "--key-file", "clinic.key")
    rows = {"ssn": [SSN, "222", "333"], "name": [NAME, "Bo", "Cy"], "born": ["1980-01-31"] * 3, "cost": [1, 1, 2]}
    pl.DataFrame(rows).write_csv(tmp_path / "visits.csv")
    (tmp_path / "person.json").write_text(json.dumps({"ssn": SSN}))
    return tmp_path


KEY = ["--key-file", "clinic.key"]
WHO = ["--identifiers", "ssn,name,born", "--purpose", "research"]


def test_a_life_of_a_vault(run, clinic):
    made = run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    assert "Written: out.csv. Entry 5 of the register holds the counts." in made.stdout
    assert pl.read_csv("out.csv").columns == ["pseudonym", "cost"]
    assert stat.S_IMODE((clinic / "out.csv").stat().st_mode) == 0o600

    shared = run("share", "clinic.vault", "visits.csv", "-o", "for.csv", *WHO, *KEY, "--partner", "university")
    assert "Note: The columns that remain may single people out" in shared.stderr

    word = pl.read_csv("out.csv")["pseudonym"][0]
    found = run("find", "clinic.vault", "--person", "person.json", *KEY)
    assert f"out: {word}, for research" in found.stdout and "given to university" in found.stdout
    document = json.loads(
        run("find", "clinic.vault", "--person", "-", "--json", *KEY, input='{"ssn": 918273645}').stdout
    )
    assert document["known"] and [one["table"] for one in document["locators"]] == ["out", "for"]

    anchor = run("register", "clinic.vault", "--anchor", *KEY).stdout.strip()
    assert "complete up to entry" in run("verify", "clinic.vault", "--anchor", anchor, *KEY).stdout
    assert run("verify", "clinic.vault", *KEY).stdout.strip() == "consistent, completeness unproven"

    run("backup", "clinic.vault", "-o", "copy.vault", *KEY)
    erased = run("erase", "clinic.vault", "--person", "person.json", "--reason", "asked", "--yes", *KEY)
    assert "Tell 'university' of the erasure" in erased.stdout and word in erased.stdout
    run("restore", "copy.vault", "again.vault", "--erasures-from", "clinic.vault", *KEY)
    for place in ("clinic.vault", "again.vault"):
        assert "knows nobody" in run("find", place, "--person", "person.json", *KEY).stdout

    run("rotate", "clinic.vault", "--purpose", "research", *KEY)
    run("rotate", "clinic.vault", "--wrapping", "--new-key-file", "new.key", *KEY)
    run("verify", "clinic.vault", *KEY, code=1)
    run("register", "clinic.vault", "-o", "records.csv", "--key-file", "new.key")
    text = (clinic / "records.csv").read_text()
    assert "erase" in text and SSN not in text and NAME not in text


def test_a_refusal_is_recorded_with_its_ground(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    said = run("refuse", "clinic.vault", "--ground", "b", "--person", "person.json", *KEY).stdout
    assert "Article 17(3)(b)" in said


def test_an_erasure_asks_first(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    run("erase", "clinic.vault", "--person", "person.json", "--reason", "asked", *KEY, input="n\n", code=1)
    assert "out:" in run("find", "clinic.vault", "--person", "person.json", *KEY).stdout


def test_the_export_is_for_the_person_alone(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    run("find", "clinic.vault", "--person", "person.json", "--export", "answer.json", *KEY)
    assert stat.S_IMODE((clinic / "answer.json").stat().st_mode) == 0o600
    assert json.loads((clinic / "answer.json").read_text())


def test_passphrases_are_typed_or_read(run, monkeypatch, tmp_path):
    terminal = SimpleNamespace(isatty=lambda: True, readline=lambda: "", read=lambda: "")
    monkeypatch.setattr(secrets, "sys", SimpleNamespace(stdin=terminal))
    words = "correct horse canary\ncorrect horse canary\n"
    made = run("create", "a.vault", *FIELDS, *IDENTITIES, input=words)
    assert "correct horse" not in made.output
    run("verify", "a.vault", input="correct horse canary\n")
    (tmp_path / "pass").write_text("correct horse canary\n")
    (tmp_path / "pass").chmod(0o644)
    open_to_all = run("verify", "a.vault", "--passphrase-file", "pass", code=1)
    assert "must be its owner's alone. Got mode 0644. Hint: chmod 600" in open_to_all.output
    (tmp_path / "pass").chmod(0o600)
    run("verify", "a.vault", "--passphrase-file", "pass")
    wrong = run("verify", "a.vault", input="correct horse finch\n", code=1)
    assert "The passphrase does not open this vault" in wrong.output and "finch" not in wrong.output


def test_people_are_typed(run, clinic, monkeypatch):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    monkeypatch.setattr(secrets, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    typed = {"ssn": "", "name": NAME, "born": "1980-01-31"}
    fields = sorted(typed)  # as the vault keeps them
    found = run("find", "clinic.vault", *KEY, input="".join(f"{typed[name]}\n" for name in fields))
    assert "out:" in found.stdout


def test_without_a_terminal_a_hint_is_given(run, clinic):
    assert "--person FILE" in run("find", "clinic.vault", *KEY, code=2).output
    assert "--passphrase-file or --key-file" in run("verify", "clinic.vault", code=2).output


def test_no_verb_takes_a_secret_or_a_person_on_the_command_line():
    taken = set()
    for command in verbs.app.registered_commands:
        taken |= set(inspect.signature(command.callback).parameters)
    assert not taken & {"passphrase", "ssn", "name_of_person", "values", "key", "secret"}
    assert {"passphrase_file", "key_file", "person"} <= taken
    kind = inspect.signature(verbs.rights.find).parameters["person"].annotation
    assert "PersonFile" in str(kind)


def test_errors_are_one_sentence_without_values(run, clinic):
    pl.DataFrame({"ssn": ["x-canary"], "cost": [1]}).write_csv("bad.csv")
    only = ["--identifiers", "ssn", "--keep", "name,born", *KEY]
    bad = run(
        "pseudonymise",
        "clinic.vault",
        "bad.csv",
        "-o",
        "b.csv",
        "--identifiers",
        "ssn",
        *KEY,
        "--purpose",
        "research",
        code=1,
    )
    assert (
        "do not parse as declared, in 'ssn'. Hint:" in bad.output
        and "canary" not in bad.output
        and "Traceback" not in bad.output
    )
    (clinic / "person.json").write_text('"Zoe Canary"')
    broken = run("find", "clinic.vault", "--person", "person.json", *KEY, code=1)
    assert "must be a JSON object" in broken.output and "Canary" not in broken.output
    absent = run("pseudonymise", "clinic.vault", "visits.csv", "-o", "b.csv", *only, "--purpose", "ads", code=1)
    assert "There is no purpose 'ads'" in absent.output
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "visits.csv", *WHO, *KEY, code=1)
    run("rotate", "clinic.vault", *KEY, code=2)


def test_columns_are_mapped_to_fields():
    assert verbs._mapping("ssn, Name of patient=name") == {"ssn": "ssn", "Name of patient": "name"}


def test_every_verb_shows_an_example():
    for command in verbs.app.registered_commands:
        text = inspect.getdoc(command.callback)
        assert "For example:\n\n    discreet vault" in text, command.callback.__name__


def test_a_partners_table_comes_back_and_keys_are_changed(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    run("share", "clinic.vault", "visits.csv", "-o", "for.csv", *WHO, *KEY, "--partner", "university")
    run("rotate", "clinic.vault", "--purpose", "research", *KEY)
    who = ["--purpose", "research", *KEY]
    back = ["unshare", "clinic.vault", "for.csv", "--partner", "university", *who]
    said = run(*back, "-o", "back.csv").stdout
    assert "Written: back.csv. Entry 10 of the register holds the counts." in said
    run(*back, "-o", "old.csv", "--version", "1")
    run("reseal", "clinic.vault", "out.csv", "-o", "new.csv", *who)
    words = {name: set(pl.read_csv(f"{name}.csv")["pseudonym"]) for name in ("out", "back", "old", "new")}
    assert words["new"] == words["back"] and words["old"] == words["out"] and not words["new"] & words["out"]
    run(*back, "-o", "back.csv", code=1)
    run(*back, "-o", "back.csv", "--force")


def test_the_receipt_is_of_the_table_itself(run, clinic, monkeypatch):
    """Another process may write to the register at any moment."""
    from discreet.pseudonyms.vault import Vault

    real = Vault.pseudonymise

    def busy(vault, *arguments, **options):
        made = real(vault, *arguments, **options)
        vault.add_purpose("other")
        return made

    monkeypatch.setattr(Vault, "pseudonymise", busy)
    made = run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    assert "Written: out.csv. Entry 5 of the register holds the counts." in made.stdout


def test_tables_and_lines_end(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    assert "'out' is gone" in run("retire", "clinic.vault", "out", *KEY).stdout
    assert "There is no table 'nope'" in run("retire", "clinic.vault", "nope", *KEY, code=1).output
    assert "suppression list: 0" in run("purge", "clinic.vault", *KEY).stdout


def test_workers_need_derived_links(run, clinic):
    assert (
        "derived links" in run("worker-file", "clinic.vault", "-o", "w", "--purpose", "research", *KEY, code=1).output
    )
    run("create", "d.vault", *FIELDS, *IDENTITIES, "--links", "derived", "--key-file", "d.key")
    run("purpose", "d.vault", "research", "--key-file", "d.key")
    run("worker-file", "d.vault", "-o", "w", "--purpose", "research", "--key-file", "d.key")
    assert stat.S_IMODE((clinic / "w").stat().st_mode) == 0o600


@pytest.mark.parametrize("address", ["postgresql://ada:s3cret@127.0.0.1/x", "postgresql://127.0.0.1/x?password=s3cret"])
def test_no_password_is_on_the_command_line(run, clinic, address):
    for words in (["verify", address], ["create", address, *FIELDS, *IDENTITIES]):
        refused = run(*words, *KEY, code=2)
        assert "PGPASSFILE" in refused.output and "s3cret" not in refused.output


def test_days_are_dates_or_numbers(run, clinic):
    run("purpose", "clinic.vault", "billing", "--retention", "30", *KEY)
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY, "--retention", "0")
    for words in (["--keep", "100", "--ground", "Article 17(1)(b)"], ["--keep", "soon"]):
        person = ["--person", "person.json", "--reason", "asked", "--yes"]
        run("erase", "clinic.vault", *person, *words, *KEY, code=0 if "100" in words else 1)


def test_what_is_overdue_alone_is_written(run, clinic):
    from discreet.pseudonyms import entries

    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY, "--retention", "2020-01-01")
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "late.csv", *WHO, *KEY, "--retention", "2999-01-01")
    run("register", "clinic.vault", "--overdue", "-o", "late.json", *KEY)
    run("register", "clinic.vault", "--overdue", "-o", "overdue.csv", *KEY)
    assert [one["table"] for one in json.loads((clinic / "late.json").read_text())] == ["out"]
    assert pl.read_csv("overdue.csv")["table"].to_list() == ["out"]
    assert pl.read_csv("overdue.csv").columns == list(entries.Entry().public())


def test_a_vault_that_is_there_gets_no_new_key_file(run, clinic):
    refused = run("create", "clinic.vault", *FIELDS, *IDENTITIES, "--key-file", "other.key", code=1)
    assert "There is a file 'clinic.vault' already" in refused.output and not (clinic / "other.key").exists()


def test_hints_are_words_of_the_command_line(run, clinic, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shared = run("share", "clinic.vault", "visits.csv", "-o", "for.csv", *WHO, *KEY, "--partner", "university")
    assert "Hint: --require-k 5 refuses" in shared.stderr and "require_k=5" not in shared.stderr
    listed = run("register", "clinic.vault", *KEY).stdout
    assert "partner" in listed and listed.count("university") >= 2
    rows = pl.read_csv("visits.csv").vstack(pl.read_csv("visits.csv").with_columns(ssn=None, name=None))
    rows.write_csv("holes.csv")
    skip = ["--missing", "skip", "--partner", "university"]
    told = run("share", "clinic.vault", "holes.csv", "-o", "holes-out.csv", *WHO, *KEY, *skip)
    assert "Note: rows were left out" in told.stderr and "register says how many" in told.stderr
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "x.csv", "--identifiers", "ssn", *WHO[2:], *KEY, code=1)


def test_what_changes_while_a_vault_is_in_use(run, clinic):
    """An erasure names models; a wrong identity is taken off; rules change; people are pruned."""
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    noted = run("used", "clinic.vault", "out", "--model", "readmission", *KEY)
    assert "'readmission' was fitted on 'out'" in noted.stdout
    found = json.loads(run("find", "clinic.vault", "--person", "person.json", "--json", *KEY).stdout)
    assert found["models"] == ["readmission"] and found["known"]

    (clinic / "wrong.json").write_text(json.dumps({"name": NAME, "born": "1980-01-31"}))
    by_name = ["find", "clinic.vault", "--person", "wrong.json", "--json", *KEY]
    assert json.loads(run(*by_name).stdout)["known"]
    said = run("correct", "clinic.vault", "--person", "person.json", "--wrong", "wrong.json", "--yes", *KEY)
    assert "Corrected." in said.stdout and not json.loads(run(*by_name).stdout)["known"]
    again = run("correct", "clinic.vault", "--person", "person.json", "--wrong", "wrong.json", "--yes", *KEY, code=1)
    assert "Canary" not in again.output and "Traceback" not in again.output

    assert "field ssn: digits, width 9" in run("fields", "clinic.vault", *KEY).stdout
    changed = ["--field", "ssn=digits:9", "--field", "mail=text", "--identity", "ssn=ssn", "--identity", "mail=mail"]
    rules = json.loads(run("fields", "clinic.vault", *changed, "--json", *KEY).stdout)
    assert rules["version"] == 2 and rules["identities"] == {"ssn": ["ssn"], "mail": ["mail"]}
    assert json.loads(run("find", "clinic.vault", "--person", "person.json", "--json", *KEY).stdout)["known"]
    run("fields", "clinic.vault", "--field", "ssn=digits:9", *KEY, code=2)

    assert json.loads(run("prune", "clinic.vault", "--json", "--yes", *KEY).stdout)["people"] == 0
    run("retire", "clinic.vault", "readmission", "--model", *KEY)
    run("retire", "clinic.vault", "out", *KEY)
    assert json.loads(run("prune", "clinic.vault", "--json", "--yes", *KEY).stdout)["people"] == 3
    assert not json.loads(run("find", "clinic.vault", "--person", "person.json", "--json", *KEY).stdout)["known"]


def test_a_sealed_list_of_erasures_is_enough_for_a_restore(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    run("backup", "clinic.vault", "-o", "copy.vault", *KEY)
    run("erase", "clinic.vault", "--person", "person.json", "--reason", "asked", "--yes", *KEY)
    run("erasures", "clinic.vault", "-o", "clinic.erasures", *KEY)
    assert stat.S_IMODE((clinic / "clinic.erasures").stat().st_mode) == 0o600
    (clinic / "clinic.vault").unlink()
    run("restore", "copy.vault", "again.vault", "--erasures-from", "clinic.erasures", *KEY)
    assert not json.loads(run("find", "again.vault", "--person", "person.json", "--json", *KEY).stdout)["known"]


def test_a_restore_says_what_it_could_not_do_again(run, clinic):
    from discreet.pseudonyms.vault import Vault

    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    copied = json.loads(run("backup", "clinic.vault", "-o", "copy.vault", "--json", *KEY).stdout)["anchor"]
    with Vault.open("clinic.vault", key_file=KEY[1]) as vault:
        vault.register.append("correct", rows=1)
        vault.erasures("clinic.erasures")
        newest = str(vault.anchor())
    refused = run("restore", "copy.vault", "again.vault", "--anchor", newest, *KEY, code=1).output
    assert "something happened since" in " ".join(refused.split())
    source = ("--erasures-from", "clinic.vault")
    ahead = f"{int(newest.partition('-')[0]) + 1}-{'0' * 64}"
    assert (
        "newest anchor" in run("restore", "copy.vault", "again.vault", *source, "--anchor", ahead, *KEY, code=1).output
    )
    source = ("--erasures-from", "clinic.erasures")
    done = " ".join(run("restore", "copy.vault", "again.vault", *source, "--anchor", newest, *KEY).stdout.split())
    assert "corrections lost: 1." in done and "Correct again" in done
    assert "not known" not in done, "nobody came since"
    run("restore", "copy.vault", "third.vault", "--anchor", copied, *KEY)
    assert "This is a backup" in run("verify", "copy.vault", *KEY, code=1).output


def test_a_restore_from_a_file_of_erasures_says_who_is_not_known(run, clinic, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    run("backup", "clinic.vault", "-o", "copy.vault", *KEY)
    pl.DataFrame({"ssn": [SSN, "444", "555"], "ward": ["x"] * 3}).write_csv("more.csv")
    ssn = ["--identifiers", "ssn", "--purpose", "research", "--partner", "university"]
    run("share", "clinic.vault", "more.csv", "-o", "study.csv", *ssn, *KEY)
    run("erasures", "clinic.vault", "-o", "clinic.erasures", *KEY)
    done = run("restore", "copy.vault", "again.vault", "--erasures-from", "clinic.erasures", *KEY).stdout
    assert "People first seen since, and not known: at least 2." in done
    assert "Tables of which it is not known who is in them: 1." in done
    (clinic / "new.json").write_text(json.dumps({"ssn": "444"}))
    found = run("find", "again.vault", "--person", "new.json", *KEY).stdout
    assert "study: it was not kept who is in it" in found and "given to university: such a table" in found
    erased = run("erase", "again.vault", "--person", "new.json", "--reason", "asked", "--yes", *KEY).stdout
    assert "Look into 'study'" in erased and "Tell 'university' of the erasure (Article 19)." in erased
    move = ["again.vault", "study.csv", "--purpose", "research", "--partner", "university", *KEY]
    for verb in ("unshare", "reseal"):
        told = run(verb, *move, "-o", f"{verb}.csv").stderr
        assert "Who of them was erased cannot be told: their rows stay" in told and "2 of" not in told


def test_a_row_of_two_people_is_one_call(run, clinic, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rows = {"ssn": [SSN, "222"], "by": ["333", "333"], "cost": [1, 2]}
    pl.DataFrame(rows).write_csv("visits.csv")
    both = ["--identifiers", "ssn", "--column", "patient", "--identifiers", "by=ssn", "--column", "doctor"]
    columns = ["--column", "patient", "--column", "doctor"]
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *both, *WHO[2:], *KEY)
    shared = ["share", "clinic.vault", "visits.csv", "-o", "for.csv", *both, *WHO[2:], "--partner", "university"]
    run(*shared, *KEY)
    assert pl.read_csv("out.csv").columns == pl.read_csv("for.csv").columns == ["patient", "doctor", "cost"]
    acts = [one["act"] for one in json.loads(run("register", "clinic.vault", "--json", *KEY).stdout)]
    assert acts.count("pseudonymise") == acts.count("share") == 1
    partner = ["--purpose", "research", "--partner", "university"]
    run("unshare", "clinic.vault", "for.csv", "-o", "back.csv", *columns, *partner, *KEY)
    assert pl.read_csv("back.csv").sort("cost").equals(pl.read_csv("out.csv"))
    refused = run("unshare", "clinic.vault", "for.csv", "-o", "x.csv", *columns[:2], *partner, *KEY, code=1).stderr
    assert "'doctor'" in refused and "Hint: --column NAME for each of these columns" in refused
    run("reseal", "clinic.vault", "out.csv", "-o", "moved.csv", *columns, "--purpose", "research", *KEY)
    (clinic / "doctor.json").write_text(json.dumps({"ssn": "333"}))
    found = json.loads(run("find", "clinic.vault", "--person", "doctor.json", "--json", *KEY).stdout)
    assert [one["table"] for one in found["locators"]] == ["out", "for", "back", "moved"]
    for wrong in (both[:-2], [*both[:-1], "patient"], [*both[:2], *both[4:6]]):
        refused = run("pseudonymise", "clinic.vault", "visits.csv", "-o", "x.csv", *wrong, *WHO[2:], *KEY, code=2)
        assert "one --column for each --identifiers" in refused.output
    one = ["--identifiers", "ssn", "--column", "who"]
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "one.csv", *one, *WHO[2:], *KEY)
    assert pl.read_csv("one.csv").columns == ["who", "by", "cost"]


def test_a_restore_counts_people(run, clinic):
    """Not the tags that they are known by."""
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    run("backup", "clinic.vault", "-o", "copy.vault", *KEY)
    pl.DataFrame({"ssn": ["444"], "name": ["Di"], "born": ["1980-01-31"]}).write_csv("more.csv")
    run("pseudonymise", "clinic.vault", "more.csv", "-o", "later.csv", *WHO, *KEY)
    run("erase", "clinic.vault", "--person", "person.json", "--reason", "asked", "--yes", *KEY)
    done = run("restore", "copy.vault", "again.vault", "--erasures-from", "clinic.vault", *KEY).stdout
    assert "erased again: 1; later tables known again: 1; people first seen since, and known again: 1;" in done
    (clinic / "new.json").write_text(json.dumps({"ssn": "444"}))
    assert "later: " in run("find", "again.vault", "--person", "new.json", *KEY).stdout


def test_a_run_that_was_cut_off_is_shown(run, clinic, monkeypatch):
    from discreet.pseudonyms.vault import Vault

    monkeypatch.setenv("COLUMNS", "200")
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    shown = run("register", "clinic.vault", *KEY)
    assert "not finished" not in shown.output and "started" in shown.stdout
    with Vault.open("clinic.vault", key_file=KEY[1]) as vault:  # what a killed process leaves
        number = vault.register.append("started", table="cut", purpose="research", details={"act": "share"}).number
    shown = run("register", "clinic.vault", *KEY)
    assert shown.stdout.count("started, not finished") == 1
    assert f"not finished: entry {number}" in " ".join(shown.stderr.split())
    listed = json.loads(run("register", "clinic.vault", "--json", *KEY).stdout)
    assert [one["finished"] for one in listed if one["act"] == "started"] == [True, False]
    verdict = json.loads(run("verify", "clinic.vault", "--json", *KEY).stdout)
    assert verdict["unfinished"] == [number] and f"not finished: entry {number}" in verdict["verdict"]
    run("prune", "clinic.vault", "--yes", *KEY)
    assert json.loads(run("verify", "clinic.vault", "--json", *KEY).stdout)["unfinished"] == []


def test_what_cannot_be_undone_is_asked_for(run, clinic):
    run("pseudonymise", "clinic.vault", "visits.csv", "-o", "out.csv", *WHO, *KEY)
    (clinic / "wrong.json").write_text(json.dumps({"name": NAME, "born": "1980-01-31"}))
    run("correct", "clinic.vault", "--person", "person.json", "--wrong", "wrong.json", *KEY, input="n\n", code=1)
    twice = run("correct", "clinic.vault", "--person", "-", "--wrong", "-", *KEY, code=2)
    assert "Stdin can be one of them" in twice.output
    assert json.loads(run("find", "clinic.vault", "--person", "wrong.json", "--json", *KEY).stdout)["known"]
    asked = run(
        "erase", "clinic.vault", "--person", "person.json", "--reason", "x", "--json", *KEY, input="n\n", code=1
    )
    assert "for research" in asked.stderr and "for research" not in asked.stdout
    run("retire", "clinic.vault", "out", *KEY)
    run("prune", "clinic.vault", *KEY, input="n\n", code=1)
    assert json.loads(run("find", "clinic.vault", "--person", "person.json", "--json", *KEY).stdout)["known"]


def test_a_restore_says_that_the_old_secret_is_back(run, clinic):
    run("backup", "clinic.vault", "-o", "copy.vault", *KEY)
    run("rotate", "clinic.vault", "--wrapping", "--new-key-file", "new.key", *KEY)
    said = run("restore", "copy.vault", "again.vault", "--erasures-from", "clinic.vault", *KEY).stdout
    assert "OLD secret" in said and "later tables known again: 0" in said
