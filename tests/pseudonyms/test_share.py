"""Partners: what two of them hold cannot be joined by what the vault made, and the docs say what still can."""

import datetime
import itertools
import warnings
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from discreet.pseudonyms import (
    LinkWarning,
    MissingIdentifiers,
    Tampered,
    TooIdentifying,
    UnknownName,
    VaultError,
    files,
    lines,
)
from discreet.pseudonyms.crowd import Crowd

from ..lazy import pd

pytestmark = [
    pytest.mark.catalogue("PS2"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.RowsWarning"),
]
N = 400


@pytest.fixture
def vault(make, file):
    """An open vault with a second partner."""
    with make(file) as opened:
        opened.add_partner("laboratory")
        yield opened


def table(rows=N, people=N):
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "ssn": [str(1000 + i % people) for i in range(rows)],
            "age": rng.integers(20, 22, rows),
            "cost": rng.normal(size=rows).round(6),
        }
    )


def both(vault, frame, **options):
    return tuple(
        vault.share(frame, ["ssn"], partner, "research", **options) for partner in ("university", "laboratory")
    )


def pieces(words, length=6):
    """All stretches of letters of pseudonyms, behind the key id, which is public and says nothing of a person."""
    return {word[7:][start : start + length] for word in words for start in range(30 - length + 1)}


def test_no_pseudonym_of_one_partner_says_anything_to_another(vault):
    """Joined on pseudonyms, whole or in part: 400 tokens have 10,000 stretches of 6 letters (36 bits) each.

    Two sets of random tokens share one with probability below 1e8 / 2^36 = 0.0015, so up to two common ones may happen
    (three: below 1e-8); one shared id or block would give 25.
    """
    mine = vault.pseudonymise(table(), ["ssn"], "research")
    shared = both(vault, table())
    words = [set(one["pseudonym"]) for one in (mine, *shared)]
    assert all(len(one) == N for one in words)
    for a, b in itertools.combinations(words, 2):
        assert not a & b and len(pieces(a) & pieces(b)) < 3


def test_rows_are_in_an_order_that_says_nothing(vault):
    """Joined by place: of N rows a random order leaves one in its place on average; 20 or more have odds below 1e-18.

    The rank correlation of two random orders is normal with deviation 1/sqrt(N - 1) = 0.05: 0.3 is six of them.
    """
    frame = table().with_columns(place=pl.int_range(N))
    orders = [one["place"].to_numpy() for one in both(vault, frame)]
    for a, b in itertools.combinations([np.arange(N), *orders], 2):
        assert (a == b).sum() < 20 and abs(np.corrcoef(a, b)[0, 1]) < 0.3
        assert sorted(a) == sorted(b)


def test_an_index_is_not_shared(vault):
    frame = table().to_pandas().set_index(pd.Index(range(9000, 9000 + N), name="row"))
    frame.attrs["note"] = "canary"
    shared = vault.share(frame, ["ssn"], "university", "research")
    assert shared.index.tolist() == list(range(N)) and shared.index.name is None and shared.attrs == {}


def test_what_can_still_be_joined_remaining_columns(vault):
    """A column of values that occur once joins everything; that is why sharing warns, and `require_k` refuses."""
    with pytest.warns(LinkWarning, match="may single people out"):
        a, b = both(vault, table())
    assert a.join(b, on=["age", "cost"]).height == N
    with pytest.raises(TooIdentifying, match=r"^400 of 400 people look like fewer than 5 by 'age', 'cost'"):
        vault.share(table(), ["ssn"], "university", "research", require_k=5)


def test_what_can_still_be_joined_multiplicity(vault):
    """How many rows a person has is the same everywhere: whoever has a number of their own is found by it."""
    frame = pl.DataFrame({"ssn": ["1"] * 17 + [str(i) for i in range(2, 90)], "age": 30})
    a, b = both(vault, frame, require_k=5)
    most = [one["pseudonym"].value_counts().sort("count").row(-1) for one in (a, b)]
    assert [count for _, count in most] == [17, 17]
    back = [vault.unshare(one, partner, "research") for one, partner in ((a, "university"), (b, "laboratory"))]
    assert len({one["pseudonym"].mode().item() for one in back}) == 1  # the holder can tell that they are one


def test_coarse_columns_are_shared_without_a_warning(vault):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shared = vault.share(table().drop("cost"), ["ssn"], "university", "research", require_k=5)
    assert shared.height == N


def test_people_are_counted_not_rows(vault):
    """Five rows of one person are one person: k-anonymity of rows would let them pass."""
    frame = pl.DataFrame({"ssn": ["1"] * 5 + [str(i) for i in range(2, 9)], "town": ["A"] * 5 + ["B"] * 7})
    with pytest.raises(TooIdentifying, match="1 of 8 people look like fewer than 5 by 'town'"):
        vault.share(frame, ["ssn"], "university", "research", require_k=5)


def test_all_rows_of_a_person_together_single_them_out(vault):
    """Each town has three people, but one alone was in both."""
    frame = pl.DataFrame({"ssn": ["1", "1", "2", "3", "4", "5"], "town": ["A", "B", "A", "A", "B", "B"]})
    with pytest.raises(TooIdentifying, match="5 of 5 people look like fewer than 3"):
        vault.share(frame, ["ssn"], "university", "research", require_k=3)
    assert vault.share(frame[2:], ["ssn"], "university", "research", require_k=2).height == 4


def test_only_the_columns_that_others_may_know_are_looked_at(vault):
    shared = vault.share(table(), ["ssn"], "university", "research", require_k=5, quasi_identifiers=["age"])
    assert shared.height == N
    with pytest.raises(ValueError, match="must be columns that remain"):
        vault.share(table(), ["ssn"], "university", "research", require_k=5, quasi_identifiers=["ssn"])


def test_a_refused_table_is_not_recorded(vault, tmp_path):
    table().write_csv(tmp_path / "in.csv")
    for given, out in ((table(), None), (tmp_path / "in.csv", tmp_path / "out.csv")):
        with pytest.raises(TooIdentifying) as caught:
            vault.share(given, ["ssn"], "university", "research", require_k=3, out=out)
        assert "Nothing was shared" in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    assert not [entry for entry in vault.register.entries() if entry.act == "share"]


def test_pieces_of_a_file_are_one_crowd():
    crowd = Crowd(["town"])
    rng = np.random.default_rng(0)
    for _ in range(5):
        who, where = rng.integers(0, 60, 300), rng.integers(0, 2, 300)
        crowd.add(pl.DataFrame({"town": where}), pl.Series([f"p{i}" for i in who]))
    assert crowd.below(5) == (0, 60)  # all were in both towns by now
    crowd.add(pl.DataFrame({"town": [7]}), pl.Series(["p3"]))
    assert crowd.below(2) == (1, 60) and Crowd([]).below(5) == (0, 0)


def with_one_offs(town):
    """Four people and one row of nobody."""
    return pl.DataFrame({"ssn": ["1", "2", "3", "4", None], "town": ["A"] * 4 + [town]})


@pytest.mark.parametrize("kind", ["frame", "file"])
def test_rows_of_nobody_make_no_crowd_larger(vault, tmp_path, kind):
    def shared(town, k):
        given, out = with_one_offs(town), None
        if kind == "file":
            given.write_csv(tmp_path / "in.csv")
            given, out = tmp_path / "in.csv", tmp_path / f"{town}{k}.csv"
        return vault.share(given, ["ssn"], "university", "research", missing="one-off", require_k=k, out=out)

    shared("A", 4)
    with pytest.raises(TooIdentifying, match="4 of 4 people look like fewer than 5"):
        shared("A", 5)
    with pytest.raises(TooIdentifying, match="1 rows with one-off pseudonyms hold what fewer than 2 people hold"):
        shared("B", 2)


def test_somebody_with_two_ids_is_not_counted_twice(make, file):
    frame = pl.DataFrame({"ssn": ["1", None], "name": ["zed"] * 2, "born": ["1980-01-01"] * 2, "a": ["x"] * 2})
    with make(file, links="derived") as vault:
        with pytest.raises(VaultError, match="with derived links one person has an id for each of"):
            vault.share(frame, ["ssn", "name", "born"], "university", "research", require_k=2)
        several = pl.DataFrame({"ssn": ["1", "2"], "a": ["x"] * 2})
        assert vault.share(several, ["ssn"], "university", "research", require_k=2).height == 2


def test_nobody_is_taken_in_by_a_table_that_is_refused(vault, tmp_path):
    """Neither by one that singles people out, nor where the columns that others may know are not there."""
    vault.version("research", "university")  # its keys are made on first use
    before = vault.anchor()
    with pytest.raises(TooIdentifying):
        vault.share(table(), ["ssn"], "university", "research", require_k=5)
    table().write_csv(tmp_path / "in.csv")
    for given, out in ((table(), None), (tmp_path / "in.csv", tmp_path / "out.csv")):
        options = {"require_k": 5, "quasi_identifiers": ["nope"], "out": out}
        with pytest.raises(ValueError, match="must be columns that remain"):
            vault.share(given, ["ssn"], "university", "research", **options)
    assert vault.anchor() == before and not vault.find({"ssn": "1001"}).known
    with pytest.raises(TooIdentifying):
        vault.share(tmp_path / "in.csv", ["ssn"], "university", "research", require_k=5, out=tmp_path / "out.csv")
    *_, entry = vault.register.entries()
    assert entry.act == "failed" and entry.partner == "university" and entry.details["reason"] == "TooIdentifying"


def test_the_list_of_values_does_not_tell_the_order(vault):
    """Arrow lists values as they come: in the order of the rows before they were shuffled."""
    import pyarrow as pa

    wards = pa.array([f"w{9 - i % 10}" for i in range(20)]).dictionary_encode()
    given = pa.table({"ssn": [str(i) for i in range(20)], "ward": wards})
    shared = vault.share(given, ["ssn"], "university", "research")
    assert shared["ward"].chunk(0).dictionary.to_pylist() == sorted(set(wards.to_pylist()))
    frame = given.to_pandas()
    frame["ward"] = frame["ward"].astype(pd.CategoricalDtype([f"w{i}" for i in (9, 3, 5, 1, 0, 2, 4, 6, 7, 8)]))
    shared = vault.share(frame, ["ssn"], "university", "research")
    assert shared["ward"].cat.categories.tolist() == [f"w{i}" for i in range(10)]


def test_declared_identifiers_are_not_shared_in_clear(vault):
    frame = pl.DataFrame({"ssn": ["5", "6"], "Name": ["Zoe", "Bo"]})
    with pytest.raises(ValueError, match=r"^The columns \['Name'\] are called like declared fields"):
        vault.share(frame, ["ssn"], "university", "research")
    assert vault.share(frame, ["ssn"], "university", "research", keep=["Name"]).columns == ["pseudonym", "Name"]


def test_labels_that_are_numbers_are_looked_at(vault):
    frame = pd.DataFrame([["5", "a"], ["6", "b"]])
    with pytest.raises(TooIdentifying, match="2 of 2 people look like fewer than 2 by '1'"):
        vault.share(frame, {0: "ssn"}, "university", "research", require_k=2)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_shared_in_random_order(vault, tmp_path, ending):
    frame = table().with_columns(place=pl.int_range(N))
    path, out = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    getattr(frame, f"write_{ending}")(path)
    vault.share(path, ["ssn"], "university", "research", out=out)
    found = getattr(pl, f"read_{ending}")(out)
    assert found.columns == ["pseudonym", "age", "cost", "place"]
    assert found["place"].to_list() != list(range(N)) and sorted(found["place"]) == list(range(N))
    assert found.sort("place").drop("pseudonym").equals(frame.drop("ssn"))
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_columns_of_any_type_are_looked_at(vault):
    frame = pl.DataFrame(
        {"ssn": ["1", "2", "3"], "tags": [["a"], ["a"], ["b"]], "of": [{"x": 1}] * 3, "day": [None] * 3}
    )
    with pytest.raises(TooIdentifying, match="1 of 3 people look like fewer than 2 by 'tags', 'of', 'day'"):
        vault.share(frame, ["ssn"], "university", "research", require_k=2)
    assert vault.share(frame[:2], ["ssn"], "university", "research", require_k=2).height == 2


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [Decimal("1.5"), Decimal("2.5")],
        [True, None],
        [(1,), (2,)],
        [b"a", "a"],
    ],
)
def test_columns_of_several_types_are_looked_at(vault, values):
    """Values that are no identifiers are told apart all the same."""
    mixed = pd.Series([values[0], values[0], values[1]], dtype=object)
    frame = pd.DataFrame({"ssn": ["1", "2", "3"], "x": mixed})
    with pytest.raises(TooIdentifying, match="1 of 3 people"):
        vault.share(frame, ["ssn"], "university", "research", require_k=2)


def test_a_file_without_a_last_line_end_is_shared_whole(vault, tmp_path):
    (tmp_path / "in.csv").write_text("ssn,a\n1,x\n2,y\n3,z")
    vault.share(tmp_path / "in.csv", ["ssn"], "university", "research", out=tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv")["a"].sort().to_list() == ["x", "y", "z"]


@pytest.mark.parametrize("kind", ["polars", "pandas", "lazy", "arrow"])
def test_the_holder_alone_maps_back(vault, kind):
    frame = table().with_columns(place=pl.int_range(N))
    mine = vault.pseudonymise(frame, ["ssn"], "research")
    shared = vault.share(frame, ["ssn"], "university", "research")
    given = {"polars": shared, "pandas": shared.to_pandas(), "lazy": shared.lazy(), "arrow": shared.to_arrow()}[kind]
    back = vault.unshare(given, "university", "research")
    assert type(back) is type(given)
    plain = (
        pl.from_pandas(back) if kind == "pandas" else pl.from_arrow(back) if kind == "arrow" else back.lazy().collect()
    )
    assert plain.sort("place").equals(mine)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_map_back_piece_by_piece(vault, tmp_path, monkeypatch, ending):
    """The holder's pseudonyms, nulls as nulls, the rest as it was; and keys are changed in files too."""
    monkeypatch.setattr(lines, "BLOCK", 4096)
    monkeypatch.setattr(files, "ROWS", 100)
    read, write = getattr(pl, f"read_{ending}"), f"write_{ending}"
    frame = table().with_columns(place=pl.int_range(N))
    mine = vault.pseudonymise(frame, ["ssn"], "research")
    shared = vault.share(frame, ["ssn"], "university", "research")
    shared = shared.with_columns(shared["pseudonym"].scatter(7, None))
    getattr(shared, write)(tmp_path / f"in.{ending}")
    out, made = tmp_path / f"back.{ending}", []
    assert vault.unshare(tmp_path / f"in.{ending}", "university", "research", out=out, recorded=made.append) == out
    hole = shared["place"][7]
    expected = mine.with_columns(mine["pseudonym"].scatter(hole, None))
    assert read(out).sort("place").equals(expected) and made[0].table == "back"
    vault.rotate("research")
    vault.reseal(out, "research", out=tmp_path / f"new.{ending}")
    assert read(tmp_path / f"new.{ending}").drop("pseudonym").equals(read(out).drop("pseudonym"))
    assert read(tmp_path / f"new.{ending}")["pseudonym"].n_unique() == N


def test_a_file_that_does_not_map_back(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 4096)
    shared = vault.share(table(), ["ssn"], "university", "research")
    shared.write_csv(tmp_path / "in.csv")
    with pytest.raises(Tampered, match=r"^400 of 400 pseudonyms do not open"):
        vault.unshare(tmp_path / "in.csv", "laboratory", "research", out=tmp_path / "out.csv")
    for given, options, message in (
        (tmp_path / "in.csv", {}, "The `out` must be given"),
        (shared, {"out": tmp_path / "out.csv"}, "for a table in memory"),
        (tmp_path / "in.csv", {"out": tmp_path / "out.csv", "column": "word"}, r"no columns \['word'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            vault.unshare(given, "university", "research", **options)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("suppressed", ["drop", "one-off"])
def test_people_who_were_erased_do_not_come_back_with_a_file(vault, tmp_path, suppressed):
    shared = vault.share(table(), ["ssn"], "university", "research")
    shared.write_csv(tmp_path / "in.csv")
    person = vault.find({"ssn": "1007"})
    mine = vault.pseudonymise(table(), ["ssn"], "research")["pseudonym"][7]
    vault.erase(person, reason="asked")
    out = tmp_path / "out.csv"
    vault.unshare(tmp_path / "in.csv", "university", "research", out=out, suppressed=suppressed)
    found = pl.read_csv(out)["pseudonym"]
    assert mine not in found.to_list() and len(found) == (N - 1 if suppressed == "drop" else N) == found.n_unique()


def test_older_tables_are_joined_by_an_older_version(vault):
    """After a rotation the newest pseudonyms join nothing that was made before."""
    mine = vault.pseudonymise(table(), ["ssn"], "research")
    shared = vault.share(table(), ["ssn"], "university", "research")
    vault.rotate("research")
    assert vault.unshare(shared, "university", "research").join(mine, on="pseudonym").height == 0
    assert vault.unshare(shared, "university", "research", version=1).join(mine, on="pseudonym").height == N
    with pytest.raises(UnknownName, match=r"no keys of version 7\. Known: \[1, 2\]"):
        vault.unshare(shared, "university", "research", version=7)


def test_a_table_of_somebody_else_does_not_map_back(vault):
    a, b = both(vault, table())
    with pytest.raises(Tampered, match=r"^400 of 400 pseudonyms do not open"):
        vault.unshare(b, "university", "research")
    last = a["pseudonym"][0][-1]
    changed = a.with_columns(a["pseudonym"].scatter(0, a["pseudonym"][0][:-1] + ("A" if last != "A" else "Q")))
    with pytest.raises(Tampered, match=r"^1 of 400 pseudonyms do not open") as caught:
        vault.unshare(changed, "university", "research")
    assert changed["pseudonym"][0] not in str(caught.value)


def test_nulls_stay_nulls(vault):
    shared = vault.share(table(3, 3), ["ssn"], "university", "research")
    holed = shared.with_columns(shared["pseudonym"].scatter(1, None))
    assert vault.unshare(holed, "university", "research")["pseudonym"].null_count() == 1


def test_rotation_moves_pseudonyms_without_identifiers(vault):
    old = vault.pseudonymise(table(), ["ssn"], "research")
    vault.rotate("research")
    new = vault.pseudonymise(table(), ["ssn"], "research")
    assert not set(old["pseudonym"]) & set(new["pseudonym"])
    assert vault.reseal(old, "research").equals(new) and vault.reseal(new, "research").equals(new)


def test_a_moved_table_is_known_to_find_under_its_new_pseudonyms(vault):
    vault.pseudonymise(table(), ["ssn"], "research", name="visits")
    old = vault.share(table(), ["ssn"], "university", "research", name="shared")
    vault.rotate("research", "university")
    new = vault.reseal(old, "research", partner="university", name="shared anew")
    back = vault.unshare(new, "university", "research", name="back")
    locators = {one.table: one.pseudonym for one in vault.find({"ssn": "1007"}).locators}
    assert set(locators) == {"visits", "shared", "shared anew", "back"}
    assert locators["shared anew"] in set(new["pseudonym"]) and locators["back"] in set(back["pseudonym"])
    assert locators["back"] == locators["visits"]


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("links", ["stored", "derived"])
@pytest.mark.parametrize("policy, rows", [("drop", 2), ("one-off", 3)])
def test_erased_people_are_not_carried_on(make, file, links, policy, rows):
    with make(file, links=links) as vault:
        mine = vault.pseudonymise(table(3, 3), ["ssn"], "research", name="mine")
        shared = vault.share(table(3, 3), ["ssn"], "university", "research", name="shared")
        vault.erase(vault.find({"ssn": "1001"}), reason="asked")
        vault.rotate("research")
        moved = vault.reseal(mine, "research", name="moved", suppressed=policy)
        back = vault.unshare(shared, "university", "research", name="back", suppressed=policy)
        assert moved.height == back.height == rows and moved["pseudonym"].n_unique() == rows
        assert len(set(moved["pseudonym"]) & set(back["pseudonym"])) == 2
        assert not vault.find({"ssn": "1001"}).tables and vault.find({"ssn": "1000"}).tables[-1] == "back"
        assert list(vault.register.entries())[-1].details["rows of erased people"] == 1
        with pytest.raises(ValueError, match="`suppressed` must be one of"):
            vault.reseal(mine, "research", suppressed="keep")


def test_rotation_of_a_partner(vault):
    shared = vault.share(table(), ["ssn"], "university", "research")
    vault.rotate("research", "university")
    moved = vault.reseal(shared, "research", partner="university")
    assert not set(moved["pseudonym"]) & set(shared["pseudonym"])
    for one in (shared, moved):  # older versions still open
        assert vault.unshare(one, "university", "research")["pseudonym"].n_unique() == N


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "parquet"])
def test_rotation_parts_the_tables_of_a_partner(vault, tmp_path, kind):
    """Rows of the new table do not lie where those of the old one do, and no index tells."""
    shared = vault.share(table().with_columns(place=pl.int_range(N)), ["ssn"], "university", "research")
    vault.rotate("research", "university")
    out = None
    if kind == "pandas":
        given = shared.to_pandas().set_index(pl.Series([f"row {i}" for i in range(N)]).to_pandas())
    elif kind == "polars":
        given = shared
    else:
        given, out = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
        getattr(shared, f"write_{kind}")(given)
    moved = vault.reseal(given, "research", partner="university", out=out)
    if kind == "pandas":
        assert moved.index.tolist() == list(range(N))
    places = (moved if out is None else getattr(pl, f"read_{kind}")(out))["place"].to_list()
    assert places != shared["place"].to_list() and sorted(places) == list(range(N))


def test_a_revoked_partner_gets_nothing_new(vault):
    shared = vault.share(table(), ["ssn"], "university", "research")
    vault.revoke("university")
    with pytest.raises(VaultError, match="was revoked"):
        vault.share(table(), ["ssn"], "university", "research")
    assert vault.unshare(shared, "university", "research").height == N


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"partner": "nobody"}, UnknownName, "There is no partner 'nobody'. Known: 'laboratory', 'university'"),
        ({"partner": None}, TypeError, "The `partner` must be"),
        ({"purpose": "ads"}, UnknownName, "There is no purpose 'ads'"),
        ({"require_k": 1}, ValueError, "The `require_k` must be a whole number >= 2. Got 1"),
        ({"require_k": 2.5}, ValueError, "The `require_k` must be"),
        ({"quasi_identifiers": ["age"]}, ValueError, "need a `require_k`"),
    ],
)
def test_bad_arguments(vault, options, error, message):
    before = vault.anchor()
    with pytest.raises(error, match=message):
        vault.share(table(), ["ssn"], **{"partner": "university", "purpose": "research", **options})
    assert vault.anchor() == before


def test_a_table_without_pseudonyms_does_not_map_back(vault):
    vault.share(table(), ["ssn"], "university", "research")
    with pytest.raises(MissingIdentifiers, match="no column 'pseudonym'"):
        vault.unshare(table(), "university", "research")
    with pytest.raises(Tampered, match="400 of 400"):
        vault.unshare(table(), "university", "research", column="cost")


@pytest.mark.catalogue("PS3")
def test_who_received_what_is_known(vault):
    both(vault, table(), name="visits")
    person = vault.find({"ssn": "1007"})
    assert {recipient for one in person.locators for recipient in one.recipients} == {"university", "laboratory"}
    entries = [entry for entry in vault.register.entries() if entry.act == "share"]
    assert [entry.recipients for entry in entries] == [("university",), ("laboratory",)]
