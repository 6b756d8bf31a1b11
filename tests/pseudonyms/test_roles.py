"""Rows of several people: each has a column of pseudonyms, and the table has one entry in the register."""

import polars as pl
import pytest

from discreet.errors import NotSupported
from discreet.pseudonyms import LinkWarning, MissingIdentifiers, RowsWarning, Tampered, TooIdentifying, Unparsable
from discreet.pseudonyms import tables as making

pytestmark = pytest.mark.catalogue("PS1")
FIELDS = {"ssn": "digits", "name": "text", "born": "date", "licence": "text"}
IDENTITIES = {"ssn": ["ssn"], "licence": ["licence"], "name and birth": ["name", "born"]}
BOTH = {"patient": ["ssn", "name", "born"], "doctor": {"by": "ssn"}}


@pytest.fixture
def vault(make, file):
    """An open vault in a file; its people may also be known by a licence."""
    with make(file, fields=FIELDS, identities=IDENTITIES) as opened:
        yield opened


def visits(**more):
    columns = {"cost": [10, 20, 30], "ssn": ["1", "2", "3"], "name": ["Ann", "Bo", "Cy"], "born": ["1980-01-31"] * 3}
    return pl.DataFrame({**columns, "ward": ["a", "b", "b"], "by": ["8", "8", "9"], **more})


def entries(vault, act):
    return [entry for entry in vault.register.entries() if entry.act == act]


def converted(frame, kind):
    return {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[kind]


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow"])
def test_two_people_in_a_row_are_one_call_and_one_entry(vault, kind):
    result = vault.pseudonymise(converted(visits(), kind), BOTH, "research", name="visits")
    found = pl.DataFrame(result.collect() if kind == "lazy" else result)
    assert found.columns == ["cost", "patient", "ward", "doctor"] and found["cost"].to_list() == [10, 20, 30]
    assert found["patient"].n_unique() == 3 and found["doctor"].n_unique() == 2
    (entry,) = entries(vault, "pseudonymise")
    assert entry.rows == 3 and entry.categories == ("ssn", "name", "born", "by", "cost", "ward")
    assert entry.details["columns"] == ["patient", "doctor"]
    for ssn, column, row in (("1", "patient", 0), ("8", "doctor", 1), ("9", "doctor", 2)):
        (where,) = vault.find({"ssn": ssn}).locators
        assert (where.table, where.pseudonym) == ("visits", found[column][row])
    vault.verify()


def test_nobody_stays_in_clear_in_a_share(vault):
    """Not even between two calls, which is what it took before."""
    with pytest.warns(LinkWarning):
        for_x = vault.share(visits(), BOTH, "university", "research", name="study")
    assert for_x.columns == ["cost", "patient", "ward", "doctor"]
    (entry,) = entries(vault, "share")
    assert entry.recipients == ("university",) and not entries(vault, "pseudonymise")
    held = vault.unshare(for_x, "university", "research", column=["patient", "doctor"], name="back")
    own = vault.pseudonymise(visits(), BOTH, "research")
    assert held.sort("cost").equals(own.sort("cost"))
    (entry,) = entries(vault, "unshare")
    assert entry.categories == ("patient", "doctor", "cost", "ward")
    assert set(vault.find({"ssn": "8"}).tables) >= {"study", "back"} <= set(vault.find({"ssn": "1"}).tables)


def test_a_doctor_who_is_a_patient_is_one_person(vault):
    found = vault.pseudonymise(visits(by=["2", "2", "1"]), BOTH, "research")
    assert found["doctor"].to_list() == [found["patient"][1], found["patient"][1], found["patient"][0]]


def test_people_of_another_kind(vault):
    rows = visits().drop("by").with_columns(signed=pl.Series(["L-1", "L-1", "L-2"]))
    found = vault.pseudonymise(rows, {"patient": ["ssn", "name", "born"], "doctor": {"signed": "licence"}}, "research")
    assert found["doctor"].n_unique() == 2 and vault.find({"licence": "l-1"}).known


@pytest.mark.parametrize("kind", ["frame", "slices", "file"])
def test_what_one_column_tells_of_another_is_heard(vault, tmp_path, monkeypatch, kind):
    """A patient known by name alone turns out to be the doctor, who has name and number."""
    rows = {"n": ["Ann"], "b": ["1980-01-31"], "ssn": ["7"], "name": ["Ann"], "born": ["1980-01-31"]}
    who = {"patient": {"n": "name", "b": "born"}, "doctor": ["ssn", "name", "born"]}
    vault.pseudonymise(pl.DataFrame({"ssn": ["7"]}), ["ssn"], "research")
    if kind == "slices":
        monkeypatch.setattr(making, "ROWS", 0)
    if kind == "file":
        pl.DataFrame(rows).write_csv(tmp_path / "in.csv")
        out = vault.pseudonymise(tmp_path / "in.csv", who, "research", out=tmp_path / "out.csv")
        found = pl.read_csv(out)
    else:
        found = vault.pseudonymise(pl.DataFrame(rows), who, "research")
    assert found["patient"][0] == found["doctor"][0] and len(vault.find({"ssn": "7"}).locators) == 2


# erasure


def test_erasing_either_person_names_the_table_and_keeps_the_rows_out(vault):
    vault.pseudonymise(visits(), BOTH, "research", name="visits")
    done = vault.erase({"ssn": "8"}, reason="asked")
    assert [one.table for one in done.locators] == ["visits"]
    with pytest.warns(RowsWarning, match=r"^2 rows were left out, 0 have one-off pseudonyms: 2 of people who were"):
        again = vault.pseudonymise(visits(), BOTH, "research", name="again")
    assert again["cost"].to_list() == [30]
    assert vault.find({"ssn": "1"}).tables == ("visits",), "whose rows went with the doctor's is not in the table"
    assert vault.find({"ssn": "3"}).tables == ("visits", "again")
    with pytest.warns(RowsWarning, match=r"^0 rows were left out, 2 have one-off pseudonyms"):
        blank = vault.pseudonymise(visits(), BOTH, "research", name="blank", suppressed="one-off")
    assert blank.height == 3 and blank["doctor"].n_unique() == 3 and vault.find({"ssn": "1"}).tables[-1] == "blank"
    assert vault.erase({"ssn": "1"}, reason="asked").cut


@pytest.mark.parametrize("kind", ["frame", "file"])
def test_erased_people_are_moved_in_no_column(vault, tmp_path, kind):
    rows = vault.pseudonymise(visits(), BOTH, "research", name="visits")
    vault.erase({"ssn": "8"}, reason="asked")
    vault.erase({"ssn": "3"}, reason="asked")
    vault.pseudonymise(pl.DataFrame({"ssn": ["1"]}), ["ssn"], "research", name="other")
    rows, options = rows.with_columns(doctor=pl.Series([rows["doctor"][0], None, rows["doctor"][2]])), {}
    given = rows
    if kind == "file":
        rows.write_csv(tmp_path / "in.csv")
        given, options = tmp_path / "in.csv", {"out": tmp_path / "moved.csv"}
    with pytest.warns(RowsWarning, match=r"^2 rows were left out"):
        moved = vault.reseal(given, "research", column=["patient", "doctor"], name="moved", **options)
    moved = pl.read_csv(moved) if kind == "file" else moved
    assert moved["cost"].to_list() == [20] and moved["doctor"].to_list() == [None]
    assert "moved" not in vault.find({"ssn": "1"}).tables and "moved" in vault.find({"ssn": "2"}).tables


# files


def test_cells_of_a_file_stay_byte_for_byte(vault, tmp_path):
    (tmp_path / "in.csv").write_bytes(b'a,by,ssn,"b, c",name,born\r\n"x",8,1,"y, z",Ann,1980-01-31\r\n,8,2,,,\n')
    made = vault.pseudonymise(tmp_path / "in.csv", BOTH, "research", out=tmp_path / "out.csv")
    patients = [vault.find({"ssn": number}).locators[0].pseudonym for number in ("1", "2")]
    doctor = vault.find({"ssn": "8"}).locators[0].pseudonym
    assert made.read_bytes().decode() == (
        f'a,doctor,patient,"b, c"\r\n"x",{doctor},{patients[0]},"y, z"\r\n,{doctor},{patients[1]},\n'
    )


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_files_for_a_partner(vault, tmp_path, ending):
    source, out, back = (tmp_path / f"{name}{ending}" for name in ("in", "out", "back"))
    write, read = ("write_csv", pl.read_csv) if ending == ".csv" else ("write_parquet", pl.read_parquet)
    getattr(visits(), write)(source)
    with pytest.warns(LinkWarning):
        vault.share(source, BOTH, "university", "research", out=out)
    vault.unshare(out, "university", "research", column=["patient", "doctor"], out=back)
    expected = vault.pseudonymise(visits(), BOTH, "research")
    assert read(back).sort("cost").equals(expected.sort("cost")) and read(out)["doctor"].n_unique() == 2


# what is refused


def test_require_k_looks_at_everybody(vault):
    rows = pl.DataFrame({"ssn": [str(n) for n in range(8)], "by": ["90", "91"] * 4, "ward": ["a", "b"] * 4})
    who = {"patient": ["ssn"], "doctor": {"by": "ssn"}}
    with pytest.raises(TooIdentifying, match=r"2 of 10 people look like fewer than 2 by 'ward'"):
        vault.share(rows, who, "university", "research", require_k=2)
    alike = rows.with_columns(ward=pl.lit("a"))
    assert vault.share(alike, who, "university", "research", require_k=2).height == 8
    with pytest.raises(TooIdentifying, match=r"2 of 9 people"):  # one of the two doctors is a patient too
        vault.share(alike.with_columns(by=pl.Series(["0", "91"] * 4)), who, "university", "research", require_k=2)


def test_errors_tell_the_columns_of_all_and_no_value(vault, tmp_path):
    bad = visits(ssn=["1", "canary", "3"], by=["8", "canary", "canary"])
    with pytest.raises(Unparsable, match=r"1 in `ssn`, 2 in `by`"):
        vault.pseudonymise(bad, BOTH, "research")
    bad.write_csv(tmp_path / "in.csv")
    with pytest.raises(Unparsable, match=r"1 in `ssn`, 2 in `by`"):
        vault.pseudonymise(tmp_path / "in.csv", BOTH, "research", out=tmp_path / "out.csv")
    with pytest.raises(MissingIdentifiers, match=r"^1 rows hold no whole identity in the columns 'by'"):
        vault.pseudonymise(visits(by=["8", None, "9"]), BOTH, "research")
    assert vault.people.links.count() == 0, "nobody was taken in"
    with pytest.warns(RowsWarning, match=r"^2 rows were left out, 0 have .*: 1 without .*, 1 with a value that"):
        found = vault.pseudonymise(
            visits(ssn=["1", "x", "3"], name=None, by=["8", "x", None]), BOTH, "research", missing="skip",
            unparsable="skip",
        )  # fmt: skip
    assert found["cost"].to_list() == [10]
    both = vault.pseudonymise(visits(), BOTH, "research").with_columns(doctor=pl.lit("made up"))
    with pytest.raises(Tampered, match="3 of 3 pseudonyms"):
        vault.reseal(both, "research", column=["patient", "doctor"])


WRONG = {
    "a column of two": ({"patient": ["ssn"], "doctor": ["ssn"]}, {}, "each column once"),
    "a name that is taken": ({"ward": ["ssn"], "doctor": {"by": "ssn"}}, {}, "has a column 'ward' already"),
    "the identifier of another": ({"by": ["ssn"], "ssn": {"by": "ssn"}}, {}, "identifier of somebody else"),
    "a text": ({"patient": ["ssn"], "doctor": "by"}, {}, "must be a list or a mapping"),
    "one name for both": (BOTH, {"column": "who"}, "each person's column"),
    "nobody": ({"patient": ["ssn"], "doctor": []}, {}, "at least one column"),
    "a field that stays": ({"patient": {"by": "ssn"}, "doctor": ["ssn"]}, {}, "would stay in clear"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_descriptions_are_refused_before_anybody_is_taken_in(vault, case):
    identifiers, options, words = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=words):
        vault.pseudonymise(visits(), identifiers, "research", **options)
    assert vault.people.links.count() == 0


def test_not_on_spark(vault):
    class DataFrame:
        __module__ = "pyspark.sql.dataframe"

    with pytest.raises(NotSupported, match="several people"):
        vault.pseudonymise(DataFrame(), BOTH, "research")


# one column of several is not moved alone


def moving(vault, act):
    """A table of two people per row, and what moves some of its columns."""
    if act == "reseal":
        table = vault.pseudonymise(visits(), BOTH, "research", name="visits")
        vault.rotate("research")
        return table, lambda given, column, **options: vault.reseal(given, "research", column=column, **options)
    with pytest.warns(LinkWarning):
        table = vault.share(visits(), BOTH, "university", "research", name="visits")
    return table, lambda given, column, **options: vault.unshare(
        given, "university", "research", column=column, **options
    )


@pytest.mark.parametrize("act", ["unshare", "reseal"])
@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow"])
def test_a_column_of_pseudonyms_does_not_stay_behind(vault, act, kind):
    table, move = moving(vault, act)
    vault.erase({"ssn": "9"}, reason="asked")
    before = vault.anchor()
    with pytest.raises(ValueError, match="hold pseudonyms of this purpose") as refused:
        move(converted(table, kind), "patient", name="back")
    assert "['doctor']" in str(refused.value) and "column=['patient', 'doctor']" in str(refused.value)
    assert vault.anchor() == before and not set(table["doctor"]) & set(str(refused.value).split("'"))
    with pytest.warns(RowsWarning):
        assert len(pl.DataFrame(move(table, ["patient", "doctor"], name="back"))) == 2
    assert vault.find({"ssn": "8"}).tables[-1] == "back"


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum, pl.Binary(), pl.Object()], ids=str)
def test_pseudonyms_are_seen_in_columns_of_any_kind_of_text(vault, dtype):
    table, move = moving(vault, "reseal")
    words = table["doctor"]
    if dtype == pl.Object():
        words = pl.Series("doctor", [7, *words.to_list()[1:]], dtype=pl.Object)
    else:
        words = words.cast(pl.Enum(words.unique()) if dtype is pl.Enum else dtype)
    with pytest.raises(ValueError, match="doctor"):
        move(table.with_columns(words), "patient")


def test_pseudonyms_are_seen_in_an_index(vault):
    table, move = moving(vault, "reseal")
    with pytest.raises(ValueError, match="doctor"):
        move(table.to_pandas().set_index("doctor"), "patient")
    with pytest.raises(ValueError, match="doctor"):
        move(table.to_pandas().set_index(["ward", "doctor"]), "patient")
    plain = table.drop("doctor").to_pandas().set_index("ward")
    assert move(plain, "patient").index.tolist() == ["a", "b", "b"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("act", ["unshare", "reseal"])
def test_a_column_of_pseudonyms_does_not_stay_behind_in_a_file(vault, tmp_path, monkeypatch, act, ending):
    monkeypatch.setattr("discreet.pseudonyms.lines.BLOCK", 64)
    table, move = moving(vault, act)
    table = table.with_columns(doctor=pl.Series([None, None, table["doctor"][2]]))  # in a later piece
    source, out = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    getattr(table, "write_csv" if ending == ".csv" else "write_parquet")(source)
    before = vault.anchor()
    with pytest.raises(ValueError, match="doctor"):
        move(source, "patient", out=out)
    assert vault.anchor() == before and [one.name for one in tmp_path.glob("*out*")] == []
    assert move(source, ["patient", "doctor"], out=out) == out


def test_quoted_pseudonyms_are_seen_and_other_bytes_are_copied(vault, tmp_path):
    table, move = moving(vault, "reseal")
    first, second = table["patient"][0], table["doctor"][0]
    odd = b"\xfc" * 37  # no UTF-8, as long as a pseudonym
    (tmp_path / "in.csv").write_bytes(f"patient,note\n{first},".encode() + odd + b"\n")
    assert odd in move(tmp_path / "in.csv", "patient", out=tmp_path / "out.csv").read_bytes()
    (tmp_path / "in.csv").write_bytes(f'patient,note\n{first},"{second}"\n'.encode())
    with pytest.raises(ValueError, match="note"):
        move(tmp_path / "in.csv", "patient", out=tmp_path / "more.csv")


def test_pseudonyms_of_others_may_stay(vault):
    """They are not of these keys, so they are no part of this move."""
    vault.add_partner("laboratory")
    table, move = moving(vault, "unshare")
    other = vault.pseudonymise(visits(), BOTH, "research")["patient"].alias("theirs")
    both = table.with_columns(other)
    assert "theirs" in move(both, ["patient", "doctor"]).columns
