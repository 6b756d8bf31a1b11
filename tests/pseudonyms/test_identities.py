"""Identities: what names a person, as bytes that collide with nothing else."""

import json
import pickle
import unicodedata

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import VersionError
from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, UnknownName
from discreet.pseudonyms.fields import Field
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.netstrings import netstring, netstrings

pytestmark = pytest.mark.catalogue("PS1")

FIELDS = {"ssn": "digits:9", "name": "text", "born": "date"}
PEOPLE = Schema(FIELDS, {"ssn": ["ssn"], "name and birth": ["name", "born"], "all": ["born", "name", "ssn"]})


def message(schema, identity, **values):
    return schema.serialise(identity, pl.DataFrame(values, schema=dict.fromkeys(values, pl.String)))[0]


def test_known_message():
    assert message(PEOPLE, "name and birth", name=["zoë"], born=["1980-01-31"]) == (
        b"1:1,14:name and birth,4:zo\xc3\xab,10:1980-01-31,"
    )


def test_a_null_field_is_no_message():
    columns = pl.DataFrame({"name": ["a", None, "b"], "born": ["x", "y", None]}, schema_overrides={"name": pl.String})
    assert PEOPLE.serialise("name and birth", columns).is_null().to_list() == [False, True, True]
    assert PEOPLE.serialise("name and birth", columns.clear()).dtype == pl.Binary


def test_the_order_of_columns_does_not_count_and_others_are_not_read():
    one = pl.DataFrame({"name": ["a"], "born": ["b"]})
    two = pl.DataFrame({"extra": ["c"], "born": ["b"], "name": ["a"]})
    assert PEOPLE.serialise("name and birth", one).equals(PEOPLE.serialise("name and birth", two))


def cut(content):
    """A run of netstrings as a list: what proves that a message is read back in one way."""
    parts = []
    while content:
        length, _, rest = content.partition(b":")
        parts.append(rest[: int(length)])
        assert rest[int(length) :][:1] == b","
        content = rest[int(length) + 1 :]
    return parts


VALUES = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("0123456789:,\x00"), max_size=10)


@given(name=VALUES, born=VALUES)
def test_a_message_is_read_back(name, born):
    found = message(PEOPLE, "name and birth", name=[name], born=[born])
    assert cut(found) == [b"1", b"name and birth", name.encode(), born.encode()]


@given(one=st.tuples(VALUES, VALUES), two=st.tuples(VALUES, VALUES))
def test_different_identities_have_different_messages(one, two):
    assume(one != two)
    first, second = (message(PEOPLE, "name and birth", name=[a], born=[b]) for a, b in (one, two))
    assert first != second


@given(one=st.lists(VALUES, max_size=4), two=st.lists(VALUES, max_size=4))
def test_runs_of_netstrings_are_those_of_one_list(one, two):
    assert (netstrings(*one) == netstrings(*two)) == (one == two)


def test_netstrings_refuse_half_a_surrogate_without_showing_it():
    with pytest.raises(ValueError, match="valid Unicode") as caught:
        netstring("CANARY\ud800")
    assert caught.value.__cause__ is caught.value.__context__ is None and "CANARY" not in str(caught.value)


def test_names_and_numbers_keep_messages_apart():
    other = Schema({"a": "text", "b": "text"}, {"x": ["a"], "y": ["b"]})
    assert message(other, "x", a=["v"]) != message(other, "y", b=["v"])
    later = other.changed({"a": Field("text", case="keep"), "b": "text"}, other.identities)
    assert message(other, "x", a=["v"]) != message(later, "x", a=["v"])
    assert message(other, "y", b=["v"]) == message(later, "y", b=["v"])


def test_covered_in_declared_order():
    assert PEOPLE.covered(["ssn", "name", "born", "other"]) == ("ssn", "name and birth", "all")
    assert PEOPLE.covered(["name", "born"]) == ("name and birth",)
    assert PEOPLE.covered([]) == ()


def test_a_change_makes_a_new_number_and_keeps_people():
    wider = PEOPLE.changed({**FIELDS, "mail": "email"}, {"mail": ["mail"], **PEOPLE.identities})
    assert wider.number == 2 and dict(wider.since) == {"mail": 2, "ssn": 1, "name and birth": 1, "all": 1}
    stricter = wider.changed({**wider.fields, "born": "date:day-first"}, wider.identities)
    assert dict(stricter.since) == {"mail": 2, "ssn": 1, "name and birth": 3, "all": 3}
    turned = PEOPLE.changed(FIELDS, {**PEOPLE.identities, "name and birth": ["born", "name"]})
    assert turned.since["name and birth"] == 2 and turned.since["ssn"] == 1
    assert PEOPLE.changed(FIELDS, PEOPLE.identities) is PEOPLE


def test_an_identity_that_comes_back_is_a_new_one():
    without = PEOPLE.changed(FIELDS, {"ssn": ["ssn"]})
    again = without.changed(FIELDS, {"ssn": ["ssn"], "all": ["born", "name", "ssn"]})
    assert without.number == 2 and again.since["all"] == 3 and again.since["ssn"] == 1


def test_documents():
    stored = json.loads(json.dumps(PEOPLE.document()))
    assert Schema.from_document(stored) == PEOPLE == pickle.loads(pickle.dumps(PEOPLE))
    assert list(Schema.from_document(stored).identities) == list(PEOPLE.identities)
    assert stored["unicode"] == unicodedata.unidata_version
    turned = Schema(FIELDS, dict(reversed(PEOPLE.identities.items())))
    assert turned != PEOPLE and hash(turned) != hash(PEOPLE)


def test_documents_of_later_versions_and_broken_ones_are_refused():
    with pytest.raises(VersionError, match="newer"):
        Schema.from_document({**PEOPLE.document(), "form": 2})
    for part in ("number", "unicode", "fields", "identities"):
        broken = PEOPLE.document()
        del broken[part]
        with pytest.raises(Tampered, match="schema"):
            Schema.from_document(broken)
    for part, value in {"number": 0, "fields": {}, "identities": [["x", 9, ["ssn"]]]}.items():
        with pytest.raises(Tampered, match="schema"):
            Schema.from_document({**PEOPLE.document(), part: value})


@pytest.mark.parametrize(
    ("fields", "identities"),
    [(FIELDS, {}), (FIELDS, {"x": []}), (FIELDS, {"x": "ssn"}), (FIELDS, {"x": ["ssn", "ssn"]}),
     (FIELDS, {"x": ["name", "born"], "y": ["born", "name"]}), ({"": "text"}, {"x": [""]}),
     ({"a\x00": "text"}, {"x": ["a\x00"]}),
     ({"\ud800": "text"}, {"x": ["\ud800"]}), (FIELDS, {" x": ["ssn"]}), ({"a" * 65: "text"}, {"x": ["a" * 65]})],
)  # fmt: skip
def test_schemas_are_checked(fields, identities):
    with pytest.raises(ValueError):
        Schema(fields, identities)


def test_unknown_names():
    with pytest.raises(UnknownName, match="No field wrong"):
        Schema(FIELDS, {"x": ["wrong"]})
    with pytest.raises(UnknownName, match="No identity 'wrong'"):
        PEOPLE.serialise("wrong", pl.DataFrame())
    with pytest.raises(MissingIdentifiers, match="needs the fields born"):
        PEOPLE.serialise("name and birth", pl.DataFrame({"name": ["x"]}))


def test_a_schema_does_not_change():
    with pytest.raises(TypeError):
        PEOPLE.fields["ssn"] = Field("text")
    with pytest.raises(AttributeError):
        PEOPLE.number = 5
