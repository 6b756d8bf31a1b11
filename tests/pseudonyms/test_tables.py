"""Tables in memory: one person is one pseudonym, and rows of nobody are what the user says."""

import datetime
import itertools
import pickle
import re
import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.pseudonyms import MissingIdentifiers, RowsWarning, TooIdentifying, UnknownName, Unparsable, VaultError
from discreet.pseudonyms import distinct as distinct_module
from discreet.pseudonyms.distinct import distinct, distinct_bytes
from discreet.pseudonyms.tokens import seal

from ..lazy import pd

pytestmark = [
    pytest.mark.catalogue("PS1"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.RowsWarning"),
]

TOKEN = re.compile(r"1[A-Za-z0-9_-]{36}")
WHO = ["ssn", "name", "born"]


@pytest.fixture
def vault(make, file):
    """An open vault in a file."""
    with make(file) as opened:
        yield opened


def table():
    return pl.DataFrame(
        {
            "visit": [1, 2, 3, 4],
            "ssn": ["123", "00123", "456", None],
            "cost": [1.5, None, 2.5, 3.5],
            "name": ["Zoë Ash", "ZOE\u0308  ash ", "Bo", "bo"],
            "born": ["1980-01-31"] * 4,
        }
    )


def entries(vault, act):
    return [entry for entry in vault.register.entries() if entry.act == act]


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "batch"])
def test_every_kind_of_table_comes_back_as_it_was_with_pseudonyms_in_place(vault, kind):
    frame = table()
    given = {
        "pandas": lambda: frame.to_pandas().set_index(pd.Index([7, 5, 3, 1])),
        "polars": lambda: frame,
        "lazy": frame.lazy,
        "arrow": lambda: frame.to_arrow().replace_schema_metadata({"note": "Zoë"}),
        "batch": lambda: frame.to_arrow().combine_chunks().to_batches()[0],
    }[kind]()
    result = vault.pseudonymise(given, WHO, "research")
    assert type(result) is (pa.Table if kind == "batch" else type(given))
    if kind == "pandas":
        assert result.index.tolist() == [7, 5, 3, 1] and result.attrs == {}
        plain = pl.from_pandas(result.reset_index(drop=True))
    else:
        plain = pl.from_arrow(result) if isinstance(result, pa.Table) else result.lazy().collect()
    assert plain.columns == ["visit", "pseudonym", "cost"]
    assert plain.drop("pseudonym").equals(frame.drop(WHO))
    words = plain["pseudonym"].to_list()
    assert all(TOKEN.fullmatch(word) for word in words)
    assert words[0] == words[1] != words[2] == words[3]
    assert kind != "arrow" or result.schema.metadata is None


def test_a_person_is_the_same_in_every_table_of_a_purpose_and_another_in_others(vault):
    vault.add_purpose("billing")
    first = vault.pseudonymise(table(), WHO, "research")["pseudonym"]
    again = vault.pseudonymise(table().reverse(), WHO, "research")["pseudonym"].reverse()
    other = vault.pseudonymise(table(), WHO, "billing")["pseudonym"]
    assert first.equals(again) and not set(first) & set(other)
    assert {word[1:7] for word in first} != {word[1:7] for word in other}


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([123, 123, 7]),
        pd.Series([123.0, 123.0, 7.0]),
        pd.Series(["123", " 123", "7"]),
        pd.Series(["123.0", "0123", "7.0"]),
        pd.Series([123, "123.0", 7.0], dtype=object),
        pd.Series(["123", "123", "7"], dtype="category"),
        pd.Series([123, 123, 7], dtype="Int64"),
    ],
)
def test_one_person_however_the_column_is_typed(vault, column):
    known = vault.pseudonymise(pl.DataFrame({"ssn": ["123", "123", "7"]}), ["ssn"], "research")["pseudonym"]
    found = vault.pseudonymise(pd.DataFrame({"ssn": column}), ["ssn"], "research")["pseudonym"]
    assert found.tolist() == known.to_list()


def test_dates_of_every_type_are_one(vault):
    days = [datetime.date(1980, 1, 31), datetime.datetime(1980, 1, 31), "1980-01-31", "19800131"]
    mixed = pd.DataFrame({"name": ["Bo"] * 4, "born": pd.Series(days, dtype=object)})
    found = set(vault.pseudonymise(mixed, ["name", "born"], "research")["pseudonym"])
    typed = pl.DataFrame({"name": ["bo"], "born": days[:1]})
    assert found == set(vault.pseudonymise(typed, ["name", "born"], "research")["pseudonym"])


def test_columns_are_mapped_to_fields(vault):
    known = vault.pseudonymise(pl.DataFrame({"ssn": ["5"]}), ["ssn"], "research")["pseudonym"]
    found = vault.pseudonymise(pl.DataFrame({"Social Security": ["5"]}), {"Social Security": "ssn"}, "research")
    assert found["pseudonym"].equals(known)


def test_a_pseudonym_reverses_to_the_id_and_find_gives_the_same(vault):
    word = vault.pseudonymise(table(), WHO, "research", name="visits")["pseudonym"][0]
    person = vault.find({"ssn": "123"})
    assert [(one.table, one.pseudonym) for one in person.locators] == [("visits", word)]
    assert vault.find({"name": "zoë ash", "born": "1980-01-31"}).locators[0].pseudonym == word


def test_what_the_register_says(vault):
    vault.pseudonymise(table(), WHO, "research", name="visits", who="Ada", retention="2031-12-31")
    (entry,) = entries(vault, "pseudonymise")
    assert (entry.who, entry.table, entry.purpose, entry.rows) == ("Ada", "visits", "research", 4)
    assert entry.retention == "2031-12-31" and set(entry.categories) == set(table().columns)


def holes():
    return pl.DataFrame({"ssn": ["1", None, " ", "2", None], "x": [1, 2, 3, 4, 5]})


def test_missing_identifiers_are_refused_unless_told(vault):
    with pytest.raises(MissingIdentifiers, match=r"^3 rows hold no whole identity in the columns 'ssn'\. Hint"):
        vault.pseudonymise(holes(), ["ssn"], "research")
    assert not entries(vault, "pseudonymise")


def test_missing_identifiers_are_left_out(vault):
    result = vault.pseudonymise(holes(), ["ssn"], "research", missing="skip")
    assert result["x"].to_list() == [1, 4]
    (entry,) = entries(vault, "pseudonymise")
    assert entry.rows == 2 and entry.details["rows left out"] == 3


def test_one_off_pseudonyms_belong_to_one_row_and_to_nobody(vault):
    first, second = (vault.pseudonymise(holes(), ["ssn"], "research", missing="one-off") for _ in range(2))
    assert first["x"].equals(holes()["x"]) and first["pseudonym"].n_unique() == 5
    assert set(first["pseudonym"]) & set(second["pseudonym"]) == set(first["pseudonym"][[0, 3]])
    assert all(TOKEN.fullmatch(word) for word in first["pseudonym"])
    assert len({word[:7] for word in first["pseudonym"]}) == 1  # they look like the others


def broken():
    born = ["1980-01-31", "31/31", "31/31", "1990-01-01"]
    return pl.DataFrame({"ssn": ["1", "x1", "x1", "2"], "name": ["a", "b", "b", "c"], "born": born})


def test_values_that_do_not_parse_are_counted_and_never_shown(vault):
    with pytest.raises(Unparsable) as caught:
        vault.pseudonymise(broken(), WHO, "research")
    assert caught.value.counts == {"ssn": 2, "born": 2}
    assert "x1" not in str(caught.value) and "31/31" not in repr(vars(caught.value))
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert not entries(vault, "pseudonymise") and not vault.find({"ssn": "1"}).known


def test_values_that_do_not_parse_may_be_left_out_or_one_off(vault):
    assert vault.pseudonymise(broken(), WHO, "research", unparsable="skip").height == 2
    ones = vault.pseudonymise(broken(), WHO, "research", unparsable="one-off")["pseudonym"]
    assert ones.n_unique() == 4
    (_, entry) = entries(vault, "pseudonymise")
    assert entry.details["values that do not parse"] == {"ssn": 2, "born": 2}


def test_a_row_with_a_bad_value_is_known_by_another_identity(vault):
    good = pl.DataFrame({"ssn": ["9"], "name": ["Zoë"], "born": ["1980-01-31"]})
    word = vault.pseudonymise(good, WHO, "research")["pseudonym"]
    bad = good.with_columns(ssn=pl.lit("none"))
    assert vault.pseudonymise(bad, WHO, "research", unparsable="skip")["pseudonym"].equals(word)


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("links", ["stored", "derived"])
def test_people_who_were_erased_do_not_come_back(make, file, links):
    with make(file, links=links) as vault:
        before = vault.pseudonymise(table(), WHO, "research")
        vault.erase(vault.find({"ssn": "123"}), reason="asked")
        after = vault.pseudonymise(table(), WHO, "research")
        assert after["visit"].to_list() == [3, 4]
        assert after["pseudonym"].equals(before["pseudonym"][2:])
        ones = vault.pseudonymise(table(), WHO, "research", suppressed="one-off")
        assert ones["visit"].to_list() == [1, 2, 3, 4]
        assert ones["pseudonym"][:3].n_unique() == 3 and not set(ones["pseudonym"][:2]) & set(before["pseudonym"])
        assert entries(vault, "pseudonymise")[-1].details["rows of erased people"] == 2


@pytest.mark.parametrize("links", ["stored", "derived"])
def test_an_empty_table_is_a_table(make, file, links):
    with make(file, links=links) as vault:
        result = vault.pseudonymise(table().clear(), WHO, "research")
        assert result.height == 0 and result.columns == ["visit", "pseudonym", "cost"]
        assert entries(vault, "pseudonymise")[0].rows == 0


def test_one_way_pseudonyms_do_not_open(vault):
    result = vault.pseudonymise(table(), WHO, "research", one_way=True)
    assert all(word[0] == "0" and len(word) == 37 for word in result["pseudonym"])
    assert result["pseudonym"].n_unique() == 2
    with pytest.raises(VaultError, match="4 of 4 pseudonyms do not open"):
        vault.reseal(result, "research")


def test_derived_and_stored_give_one_pseudonym_to_each_person(make, file):
    with make(file, links="derived") as vault:
        first = vault.pseudonymise(table(), ["ssn"], "research", missing="skip", keep=["name", "born"])["pseudonym"]
        assert first[0] == first[1] != first[2]
        assert vault.find({"ssn": "456"}).locators[0].pseudonym == first[2]


BAD = {
    "no such column": (
        {"ssn": "ssn", "nme": "name"},
        {},
        MissingIdentifiers,
        r"^The table has no columns \['nme'\]\. Of 5 columns 3 are called like a declared field: born, name, ssn\. ",
    ),
    "left in clear": (["ssn"], {}, ValueError, r"^The columns \['name', 'born'\] are called like declared fields"),
    "kept in vain": (["ssn"], {"keep": ["names"]}, ValueError, r"The `keep` must name columns that remain"),
    "kept as text": (WHO, {"keep": "name"}, TypeError, r'Hint: keep=\["name"\]'),
    "no such field": (["ssn", "cost"], {}, UnknownName, "No field 'cost'. Known: "),
    "no identity": (["name"], {}, MissingIdentifiers, "cover no identity"),
    "no purpose": (
        ["ssn"],
        {"purpose": "marketing"},
        UnknownName,
        "There is no purpose 'marketing'. Known: 'research'",
    ),
    "text": ("ssn", {}, TypeError, "must be a list or a mapping"),
    "nothing": ([], {}, ValueError, "at least one column"),
    "twice": (["ssn", "ssn"], {}, ValueError, "each column once"),
    "one field": ({"ssn": "ssn", "name": "ssn"}, {}, ValueError, "two columns share one"),
    "name taken": (["ssn"], {"column": "cost"}, ValueError, "has a column 'cost' already"),
    "policy": (["ssn"], {"missing": "ignore"}, ValueError, "The `missing` must be one of refuse, skip, one-off"),
    "out": (["ssn"], {"out": "x.csv"}, ValueError, "for a table in memory"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_before_anything_is_written(vault, case):
    identifiers, options, error, message = BAD[case]
    before = vault.anchor()
    with pytest.raises(error, match=message):
        vault.pseudonymise(table(), identifiers, **{"purpose": "research", **options})
    assert vault.anchor() == before


def test_a_table_of_no_known_kind_is_refused(vault):
    with pytest.raises(TypeError, match=r"must be a pandas or polars data frame.* Got list"):
        vault.pseudonymise([["123"]], ["ssn"], "research")


def test_what_polars_says_of_a_broken_plan_is_not_repeated(vault):
    plan = pl.LazyFrame({"ssn": ["canary-77"]}).with_columns(pl.col("ssn").cast(pl.Int64))
    with pytest.raises(ValueError, match="could not be collected") as caught:
        vault.pseudonymise(plan, ["ssn"], "research")
    assert "canary" not in str(caught.value) and caught.value.__context__ is None


ODD = {
    "lists": pl.Series([[1], [2]]),
    "Booleans": pl.Series([True, False]),
    "bytes": pl.Series([b"1", b"2"]),
    "fractions": pl.Series([1.5, 2.5]),
    "times": pl.Series([datetime.datetime(2020, 1, 1, 3), datetime.datetime(2020, 1, 1, 4)]),
    "structs": pl.Series([{"a": 1}, {"a": 2}]),
    "objects": pl.Series([object(), object()], dtype=pl.Object),
}


@pytest.mark.parametrize("kind", ODD)
def test_columns_that_are_no_identifiers_do_not_parse(vault, kind):
    with pytest.raises(Unparsable) as caught:
        vault.pseudonymise(pl.DataFrame({"ssn": ODD[kind]}), ["ssn"], "research")
    assert caught.value.counts == {"ssn": 2}


def test_a_column_of_nulls_is_missing(vault):
    for column in (pl.Series([None, None]), pl.Series([float("nan")] * 2), pl.Series([None, None], dtype=pl.Date)):
        with pytest.raises(MissingIdentifiers, match=r"^2 rows"):
            vault.pseudonymise(pl.DataFrame({"ssn": column}), ["ssn"], "research")


def test_the_pseudonym_stands_for_the_id_alone(vault):
    """Known answer: the token of a person is the seal of the id that the vault gave, under the purpose's keys."""
    from discreet.pseudonyms.messages import messages

    word = vault.pseudonymise(pl.DataFrame({"ssn": ["1"]}), ["ssn"], "research")["pseudonym"]
    ids = vault.resolve(messages(vault.schema, pl.DataFrame({"ssn": ["1"]}))).ids
    assert seal(ids, vault.token_keys("research")).to_list() == word.to_list()


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "aa", ""]), st.text(max_size=3))


@given(st.lists(st.tuples(cells, st.integers(0, 2)), max_size=30))
def test_distinct_rows_are_what_a_set_says(rows):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64}, orient="row")
    found, codes = distinct(frame)
    assert found.height == len(set(rows))
    assert [found.row(code) for code in codes.tolist()] == rows


@pytest.mark.parametrize("bits", [0, 1, 3])
def test_rows_that_share_a_hash_are_told_apart(monkeypatch, bits):
    frame = pl.DataFrame({"a": [str(i % 9) for i in range(50)]})
    few = pl.Series([hash(value) % 2**bits for value in frame["a"]], dtype=pl.UInt64)
    monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda self, seed: few)
    found, codes = distinct(frame)
    assert found.height == 9 and found[codes].equals(frame)


def test_hashes_that_differ_in_low_bits_alone_are_told_apart():
    hashes = np.array([5 << 40, (5 << 40) | 1, 5 << 40, (5 << 40) | 1, 7], np.uint64)
    codes, firsts = distinct_module._coded(hashes)
    assert (hashes[firsts][codes] == hashes).all() and len(firsts) == 3


@given(st.lists(st.sampled_from(list(itertools.product([0, 1], repeat=3))), max_size=20))
def test_distinct_bytes(rows):
    array = np.array([list(row) + [0] * 13 for row in rows], np.uint8).reshape(-1, 16)
    found, codes = distinct_bytes(array)
    assert len(found) == len(set(rows)) and (found[codes] == array).all()


def test_a_declared_field_stays_in_clear_only_if_named(vault):
    frame = table().rename({"name": " NAME"})
    with pytest.raises(ValueError, match=r"Hint: name them as identifiers, leave them out, or keep=\[' NAME'\]"):
        vault.pseudonymise(frame, ["ssn", "born"], "research", missing="skip")
    found = vault.pseudonymise(frame, ["ssn", "born"], "research", missing="skip", keep=[" NAME"])
    assert found.columns == ["visit", "pseudonym", "cost", " NAME"]


CANARY = "918273645"


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_whose_names_are_values_shows_none(vault, kind):
    """What a reader makes of a file without a header: the first row is the names."""
    plain = pl.DataFrame({CANARY: ["2"], "Zoe": ["Bo"]})
    given = {"pandas": plain.to_pandas(), "polars": plain, "arrow": plain.to_arrow()}[kind]
    for options in ({}, {"require_k": 2, "quasi_identifiers": ["cost"]}):
        for identifiers in (["ssn"], {CANARY: "ssn"}):
            act = vault.share if options else vault.pseudonymise
            if not options and CANARY in identifiers:
                continue
            who = {"partner": "university"} if options else {}
            with pytest.raises(ValueError) as caught:
                act(given, identifiers, **who, purpose="research", **options)
            assert "Zoe" not in str(caught.value) and CANARY not in str(caught.value)


def twice(kind):
    if kind == "pandas":
        return pd.DataFrame([["1", "a", "x"]], columns=["ssn", "t", "t"])
    if kind == "labels":
        return pd.DataFrame([["1", "a", "x"]], columns=["ssn", "0", 0])
    return pa.Table.from_arrays([pa.array(["1"]), pa.array(["a"]), pa.array(["x"])], names=["ssn", "t", "t"])


@pytest.mark.parametrize("kind", ["pandas", "labels", "arrow"])
def test_names_that_are_there_twice_are_refused(vault, kind):
    with pytest.raises(ValueError, match=r"^Column names must differ\. 1 are there again"):
        vault.pseudonymise(twice(kind), ["ssn"], "research")


def test_labels_of_pandas_may_be_numbers_or_tuples(vault):
    known = vault.pseudonymise(pl.DataFrame({"ssn": ["5", "6"]}), ["ssn"], "research")["pseudonym"].to_list()
    numbers = pd.DataFrame([["5", 1], ["6", 1]])
    found = vault.pseudonymise(numbers, {0: "ssn"}, "research")
    assert found["pseudonym"].tolist() == known and found.columns.tolist() == ["pseudonym", 1]
    tuples = pd.DataFrame([["5", 1], ["6", 1]], columns=pd.MultiIndex.from_tuples([("id", "ssn"), ("v", "c")]))
    found = vault.pseudonymise(tuples, {("id", "ssn"): "ssn"}, "research")
    assert found[("pseudonym", "")].tolist() == known and ("v", "c") in found.columns


def test_an_index_that_says_who_rows_are_of_is_refused(vault):
    frame = pd.DataFrame({"ssn": ["5", "6"], "x": [1, 2]})
    for index in (pd.Index([7, 8], name="SSN"), pd.Index(["5", "6"]), pd.Index(["5", "6"], name="row")):
        with pytest.raises(ValueError, match="The index of the table says who rows are of"):
            vault.pseudonymise(frame.set_index(index), ["ssn"], "research")
    kept = vault.pseudonymise(frame.set_index(pd.Index([7, 8], name="row")), ["ssn"], "research")
    assert kept.index.tolist() == [7, 8]


def hidden(kind):
    """Two rows; the first is left out, and its value must be nowhere."""
    if kind in ("pandas", "ordered"):
        values = pd.Categorical(["HIDDEN", "b", "a"], categories=["HIDDEN", "b", "a"], ordered=kind == "ordered")
        return pd.DataFrame({"ssn": [None, "5", "6"], "d": values})
    if kind == "index":
        index = pd.MultiIndex.from_tuples([("HIDDEN", 1), ("b", 2), ("a", 3)], names=["d", None])
        return pd.DataFrame({"ssn": [None, "5", "6"], "x": 1}, index=index)
    column = pa.array(["HIDDEN", "b", "a"]).dictionary_encode()
    if kind == "nested":
        column = pa.ListArray.from_arrays([0, 1, 2, 3], column)
    return pa.table({"ssn": pa.array([None, "5", "6"]), "d": column})


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("kind", ["pandas", "ordered", "index", "arrow", "nested"])
def test_values_of_rows_that_are_left_out_are_in_no_list_of_values(vault, kind):
    found = vault.pseudonymise(hidden(kind), ["ssn"], "research", missing="skip")
    assert b"HIDDEN" not in pickle.dumps(found)
    if kind == "arrow":
        assert found["d"].type == pa.dictionary(pa.int32(), pa.string())
        assert found["d"].to_pylist() == ["b", "a"] and found["d"].chunk(0).dictionary.to_pylist() == ["a", "b"]
    elif kind == "nested":
        assert found["d"].to_pylist() == [["b"], ["a"]]
    elif kind != "index":
        assert found["d"].tolist() == ["b", "a"]
        assert found["d"].cat.categories.tolist() == (["b", "a"] if kind == "ordered" else ["a", "b"])


def test_lists_of_values_of_every_type(vault):
    """Numbers, nothing at all, several chunks, ordered dictionaries, and values that cannot be sorted."""
    two = pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["c"]).dictionary_encode()])
    order = pa.DictionaryArray.from_arrays(pa.array([2, 0, 0], pa.int8()), pa.array(["x", "y", "a"]), ordered=True)
    lists = pa.DictionaryArray.from_arrays(pa.array([1, 0, 0]), pa.array([["p"], ["q"]]))
    columns = {
        "ssn": ["1", "2", "3"],
        "two": two,
        "number": pa.array([7, 3, 7]).dictionary_encode(),
        "none": pa.array([None, None, None], pa.string()).dictionary_encode(),
        "order": order,
        "lists": lists,
    }
    given = pa.table(columns)
    found = vault.pseudonymise(given, ["ssn"], "research")
    for name in ("two", "number", "none", "order", "lists"):
        assert found[name].to_pylist() == given[name].to_pylist(), name
        assert name == "lists" or found[name].type == given[name].type
    assert found["order"].chunk(0).dictionary.to_pylist() == ["x", "a"]


def test_no_metadata_survives(vault):
    note = {"comment": "CANARY Zoe"}
    inner = pa.struct([pa.field("x", pa.int32(), metadata=note)])
    fields = [
        pa.field("ssn", pa.string()),
        pa.field("cost", pa.int64(), metadata=note),
        pa.field("list", pa.list_(pa.field("item", inner, metadata=note))),
        pa.field("map", pa.map_(pa.string(), pa.field("value", inner, metadata=note))),
    ]
    values = [["1"], [2], [[{"x": 1}]], [[("k", {"x": 1})]]]
    given = pa.table(values, schema=pa.schema(fields, metadata=note))
    found = vault.pseudonymise(given, ["ssn"], "research")
    assert b"CANARY" in given.schema.serialize().to_pybytes()
    assert b"CANARY" not in found.schema.serialize().to_pybytes()
    assert found.drop_columns(["pseudonym"]).to_pylist() == given.drop_columns(["ssn"]).to_pylist()
    frame = pd.DataFrame({"ssn": ["5"], "a": [1]})
    frame.columns.name = "CANARY"
    assert vault.pseudonymise(frame, ["ssn"], "research").columns.name is None


def test_nobody_is_taken_in_by_a_table_that_is_refused(vault):
    with pytest.raises(MissingIdentifiers):
        vault.pseudonymise(holes(), ["ssn"], "research")
    assert not vault.find({"ssn": "1"}).known


@pytest.mark.filterwarnings("default::discreet.pseudonyms.errors.RowsWarning")
def test_columns_of_pandas_that_arrow_does_not_have(vault):
    """Complex numbers do not parse; what lies in a sparse column reads as it is."""
    with pytest.raises(Unparsable) as caught:
        vault.pseudonymise(pd.DataFrame({"ssn": [1j, 2j], "a": [1, 2]}), ["ssn"], "research")
    assert caught.value.counts == {"ssn": 2}
    sparse = pd.DataFrame({"ssn": pd.arrays.SparseArray([1, 2, 1]), "a": [1j, 2j, 3j]})
    found = vault.pseudonymise(sparse, ["ssn"], "research")["pseudonym"]
    plain = vault.pseudonymise(pl.DataFrame({"ssn": ["1", "2", "1"]}), ["ssn"], "research")["pseudonym"]
    assert found.tolist() == plain.to_list()
    assert len(vault.share(sparse, ["ssn"], "university", "research", require_k=2, quasi_identifiers=[])) == 3
    with pytest.raises(TooIdentifying):
        vault.share(sparse, ["ssn"], "university", "research", require_k=2)


def test_rows_of_nobody_are_told(vault):
    bad = pl.DataFrame({"ssn": ["1", None, "x", "2"], "x": 1})
    vault.pseudonymise(pl.DataFrame({"ssn": ["2"]}), ["ssn"], "research")
    vault.erase(vault.find({"ssn": "2"}), reason="asked")
    with pytest.warns(RowsWarning) as caught:
        vault.pseudonymise(bad, ["ssn"], "research", missing="one-off", unparsable="skip")
    assert str(caught[0].message) == (
        "2 rows were left out, 1 have one-off pseudonyms: 1 without a whole identity, 1 with a value that does not "
        "parse, 1 of people who were erased."
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vault.pseudonymise(bad[:1], ["ssn"], "research")


def test_the_record_is_handed_over(vault):
    made = []
    vault.pseudonymise(table(), WHO, "research", name="visits", recorded=made.append)
    vault.add_purpose("billing")
    (run,) = made
    (entry,) = entries(vault, "pseudonymise")
    assert run.table == "visits" and entry.number == run.entry and entry.details["uid"] == run.uid


@pytest.mark.parametrize("values", [["1", None, "2"], ["1", float("nan"), "2"], ["1", 2, "3"], ["1", b"1", "2"]])
def test_objects_of_pandas_read_as_they_are(vault, values):
    frame = pd.DataFrame({"ssn": pd.Series(values, dtype=object)})
    found = vault.pseudonymise(frame, ["ssn"], "research", missing="one-off", unparsable="one-off")
    known = vault.pseudonymise(pl.DataFrame({"ssn": ["1"]}), ["ssn"], "research")["pseudonym"]
    assert found["pseudonym"][0] == known[0] and found["pseudonym"].nunique() == 3
