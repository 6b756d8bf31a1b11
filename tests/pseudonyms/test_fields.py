"""One person is one person: which spellings of an identifier are one, and which do not parse."""

import datetime
import unicodedata
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.pseudonyms.characters import SHAPE
from discreet.pseudonyms.fields import Field

from ..lazy import pd

pytestmark = pytest.mark.catalogue("PS1")

KINDS = [
    Field("digits"),
    Field("digits", width=9),
    Field("digits", prefix="AHV"),
    Field("integer"),
    Field("text"),
    Field("text", case="keep", spaces="remove", accents="drop"),
    Field("text", accents="drop"),
    Field("email"),
    Field("date"),
    Field("date", format="day-first"),
    Field("date", format="%d %b %Y"),
    Field("exact"),
]


def outcome(field, values, dtype=None):
    """The canonical value of each, None where missing, "bad" where it does not parse."""
    parsed = field.canonical(pl.Series("x", values, dtype=dtype))
    assert parsed.values.dtype == pl.String and parsed.values.name == "x"
    assert len(parsed.values) == len(parsed.missing) == len(parsed.bad)
    assert not (parsed.missing & parsed.bad).any()
    assert (parsed.values.is_null() == (parsed.missing | parsed.bad)).all()
    return ["bad" if bad else value for value, bad in zip(parsed.values.to_list(), parsed.bad, strict=True)]


def one(field, value):
    return outcome(field, [value], pl.Object)[0]


@pytest.mark.parametrize(
    "value", [123, 123.0, "123", "123.0", " 123 ", "1-2 3", "00123", "１２３", "1\u20132\u00a03", "\ufeff123"]
)
def test_spellings_of_digits_are_one(value):
    assert one(Field("digits"), value) == "123"
    assert one(Field("digits", width=9), value) == "000000123"


def test_columns_of_numbers_and_text_agree():
    numbers = [0, 7, 123, 99_999_999]
    wanted = [str(number) for number in numbers]
    for dtype in (pl.Int32, pl.UInt64, pl.Int128, pl.Float64, pl.Decimal(20, 2)):
        assert outcome(Field("digits"), pl.Series(numbers).cast(dtype)) == wanted
    assert outcome(Field("digits"), pl.Series(wanted).cast(pl.Categorical)) == wanted
    assert outcome(Field("digits"), pl.Series(wanted).cast(pl.Enum(wanted))) == wanted


@pytest.mark.parametrize(
    "value",
    ["-123", "123-", "+1", "1,000", "1.5", "1.", ".0", "1e5", "12a", "-", "12\x003", "1.0.0", "²", "1\n2",
     -1, 1.5, 2.0**53, float("inf"), True, b"123", [1], Decimal("1.5"), datetime.date(2000, 1, 1), f"{2**53}.0"],
)  # fmt: skip
def test_what_is_no_number_does_not_parse(value):
    assert one(Field("digits"), value) == "bad"


@pytest.mark.parametrize("value", [None, "", "  ", "\t", "\u200b", float("nan"), np.nan, Decimal("nan")])
@pytest.mark.parametrize("field", KINDS, ids=repr)
def test_nothing_is_missing_and_not_bad(field, value):
    if field.kind == "exact" and isinstance(value, str) and value:
        assert one(field, value) == value
    else:
        assert one(field, value) is None


@pytest.mark.parametrize("field", KINDS, ids=repr)
def test_what_is_missing_to_pandas_is_missing(field):
    assert one(field, pd.NA) is None and one(field, pd.NaT) is None


def test_floats_parse_while_they_stand_for_one_number():
    assert outcome(Field("digits"), [2.0**53 - 1, 2.0**53, -0.0]) == [str(2**53 - 1), "bad", "0"]
    assert outcome(Field("digits"), [2.0**24 - 1, 2.0**24], pl.Float32) == [str(2**24 - 1), "bad"]
    assert outcome(Field("digits"), [np.float32(2**24 - 1), np.float32(2**24)], pl.Object) == [str(2**24 - 1), "bad"]
    assert outcome(Field("digits"), [f"{2**53 - 1}.0", f"{2**53}.0", f"{2**53}"]) == [str(2**53 - 1), "bad", str(2**53)]
    assert one(Field("digits"), 10**40) == "1" + "0" * 40


def test_width_fills_and_limits():
    field = Field("digits", width=4)
    assert outcome(field, ["1", "0001", "12-34", "01234", "12345", "0"]) == [
        "0001",
        "0001",
        "1234",
        "bad",
        "bad",
        "0000",
    ]
    assert outcome(field, ["12345", "1"]) == ["bad", "0001"]


def test_prefix_may_stand_in_front():
    field = Field("digits", prefix="CHE")
    assert outcome(field, ["CHE-12", "CHE 12", "che12", "12", "CHECHE12", "CHE", "XCHE1"]) == [
        "12", "12", "12", "12", "bad", "bad", "bad",
    ]  # fmt: skip


def test_integers_keep_their_sign():
    assert outcome(Field("integer"), ["-5", "-5.0", "-005", "+5", "5", "-0", "--5", "1-2", "-", "5 "]) == [
        "-5", "-5", "-5", "5", "5", "0", "bad", "bad", "bad", "5",
    ]  # fmt: skip
    assert outcome(Field("integer"), [-5, 0, 5]) == ["-5", "0", "5"]
    assert outcome(Field("integer"), [-5.0, 0.5]) == ["-5", "bad"]


def test_spellings_of_a_name_are_one():
    spellings = [
        "Zoë  Ash",
        "zoë ash",
        "ZOË\tASH",
        " Zoe\u0308 Ash ",
        "Zo\u00ad\u00eb\u200b \u200eAsh",
        "Zoë\u3000Ash\x00",
    ]
    assert set(outcome(Field("text"), spellings)) == {"zoë ash"}
    assert outcome(Field("text", accents="drop"), spellings)[0] == "zoe ash"
    assert outcome(Field("text", case="keep"), ["Zoë  Ash", "A  B"]) == ["Zoë Ash", "A B"]
    assert outcome(Field("text", spaces="remove"), ["Zoë  Ash", " A  B"]) == ["zoëash", "ab"]
    assert outcome(Field("text"), ["Straße", "STRASSE", "\u212belvin", "\u212a"]) == [
        "strasse",
        "strasse",
        "åelvin",
        "k",
    ]


def test_different_names_stay_apart():
    names = [
        "Søren",
        "Soren",
        "Sören",
        "o'neill",
        "oneill",
        "o-neill",
        "שלום",
        "שלו",
        "محمد",
        "李",
        "NA",
        "null",
        "nan",
    ]
    assert len(set(outcome(Field("text"), names))) == len(names)
    assert outcome(Field("text", accents="drop"), ["हिन्दी"]) == ["हिन्दी"]


@pytest.mark.parametrize("kind", ["text", "exact", "email"])
def test_lost_and_unknown_characters_do_not_parse(kind):
    values = ["M\ufffdller@x", "M\u0378ller@x", "\ud800@x", "fine\u00e9@x"]
    assert outcome(Field(kind), values, pl.Object) == ["bad", "bad", "bad", "fineé@x"]


def test_numbers_are_text_too():
    assert outcome(Field("text"), [12, 13]) == outcome(Field("text"), [12.0, 13.0]) == ["12", "13"]
    assert outcome(Field("text"), [12.5, float("nan")]) == ["bad", None]
    assert outcome(Field("text"), [True, None]) == ["bad", None]
    assert outcome(Field("text"), [None, None], pl.Null) == [None, None]
    assert outcome(Field("text"), [[1], None], pl.List(pl.Int64)) == ["bad", None]
    assert outcome(Field("text"), [b"x", None], pl.Binary) == ["bad", None]


def test_addresses():
    values = ["Ann@Example.ORG ", "ann@example.org", "an n@example.org", "ann", "@", "a@b@c", "é@x"]
    assert outcome(Field("email"), values) == ["ann@example.org"] * 3 + ["bad", "bad", "bad", "é@x"]


def test_spellings_of_a_day_are_one():
    texts = ["1980-01-31", "1980-1-31", "1980/01/31", "19800131", " 1980-01-31 ", "1980-01-31T00:00:00Z",
             "1980-01-31 00:00:00.000", "1980-01-31 00:00", "1980-01-31T00:00:00+02:00", "١٩٨٠-٠١-٣١"]  # fmt: skip
    assert set(outcome(Field("date"), texts)) == {"1980-01-31"}
    days = [
        datetime.date(1980, 1, 31),
        datetime.datetime(1980, 1, 31),
        pd.Timestamp("1980-01-31", tz="Asia/Tokyo"),
        19800131,
    ]
    assert set(outcome(Field("date"), days, pl.Object)) == {"1980-01-31"}
    for dtype in (pl.Date, pl.Datetime("ms"), pl.Datetime("ns")):
        assert outcome(Field("date"), pl.Series(["1980-01-31"]).str.to_date().cast(dtype)) == ["1980-01-31"]
    there = pl.Series(["1980-01-31"]).str.to_date().cast(pl.Datetime("us")).dt.replace_time_zone("Asia/Tokyo")
    assert outcome(Field("date"), there) == ["1980-01-31"]


@pytest.mark.parametrize(
    "value",
    ["01/02/1980", "1980-02-30", "1980-13-01", "80-01-31", "0080-01-31", "0000-00-00", "1980-01", "1980", "today",
     "1980-01-31 10:00", "1980-01-31T00:00:01", datetime.datetime(1980, 1, 31, 1), "1980-01-31x", 44227, True],
)  # fmt: skip
def test_what_is_no_day_does_not_parse(value):
    assert one(Field("date"), value) == "bad"


def test_the_order_of_a_date_is_declared():
    texts = ["01/02/1980", "1.2.1980", "01-02-1980", "1980-02-01", "01/02/80", "19800201", "31/12/1980"]
    assert outcome(Field("date", format="day-first"), texts) == [
        "1980-02-01", "1980-02-01", "1980-02-01", "1980-02-01", "bad", "bad", "1980-12-31",
    ]  # fmt: skip
    assert outcome(Field("date", format="month-first"), texts[:3] + texts[-1:]) == ["1980-01-02"] * 3 + ["bad"]
    assert outcome(Field("date", format="%d %b %Y"), ["1 Feb 1980", "1980-02-01", "1 Feb 80", "1/2/1980"]) == [
        "1980-02-01", "1980-02-01", "bad", "bad",
    ]  # fmt: skip


def test_a_time_of_day_in_a_column_does_not_parse():
    values = [datetime.datetime(1980, 1, 31), datetime.datetime(1980, 1, 31, 23), None]
    assert outcome(Field("date"), values) == ["1980-01-31", "bad", None]


@pytest.mark.parametrize(
    "rules",
    [{"kind": "name"}, {"kind": "digits", "width": 0}, {"kind": "digits", "width": True},
     {"kind": "digits", "width": "9"}, {"kind": "text", "case": "upper"}, {"kind": "text", "width": 3},
     {"kind": "digits", "prefix": "1"},
     {"kind": "date", "format": "%d/%m/%y"}, {"kind": "date", "format": "%Y-%d-%m"},
     {"kind": "date", "format": "%d %m"},
     {"kind": "date", "format": 3}, {"kind": "email", "case": "fold"}],
)  # fmt: skip
def test_rules_are_checked(rules):
    with pytest.raises(ValueError, match=r"must|no rule"):
        Field.of(rules)


def test_documents_and_short_text():
    for field in KINDS:
        assert Field.of(field.document()) == field == eval(repr(field))
        assert hash(Field.of(field.document())) == hash(field)
    assert Field.of("digits:9") == Field("digits", width=9) == Field.of(Field("digits", width=9))
    assert Field.of("date:month-first") == Field("date", format="month-first")
    for wrong in ("digits:x", "digits:", "text:fold", "date:%d", "digits:²"):
        with pytest.raises(ValueError):
            Field.of(wrong)


def test_a_repr_shows_counts_alone():
    parsed = Field("text").canonical(pl.Series(["CANARY", None, "\ufffd"]))
    assert repr(parsed) == "<Parsed: 3 values, 1 missing, 1 bad>"


def test_the_column_given_is_not_changed():
    for field in KINDS:
        given_values = ["É", "12", "\u0661", None, "1980-01-31", "e\u0301@x"]
        column = pl.Series(given_values)
        field.canonical(column)
        assert column.to_list() == given_values


@pytest.mark.parametrize("field", KINDS, ids=repr)
def test_empty_columns(field):
    for dtype in (pl.String, pl.Int64, pl.Float64, pl.Object, pl.Null, pl.Date):
        assert outcome(field, [], dtype) == []


def test_huge_values():
    million = 1_000_000
    assert outcome(Field("digits"), ["7" * million]) == ["7" * million]
    assert outcome(Field("text"), ["É" * million, "A" * million]) == ["é" * million, "a" * million]
    assert outcome(Field("text"), ["e" + "\u0301" * 30, "é" + "\u0301\u200b" * 31]) == ["é" + "\u0301" * 29, "bad"]
    for kind in ("text", "exact", "email"):  # sorting these marks would take minutes
        assert outcome(Field(kind), ["a@" + "\u0301\u0323" * 100_000, "a@" + "\u0f73" * 100_000]) == ["bad", "bad"]
    assert outcome(Field("date"), ["1" * million, "-" * million]) == ["bad", "bad"]


LETTERS = st.text(st.characters(exclude_categories=()), max_size=12)
SPELT = st.text(
    st.sampled_from("aÉe\u0301\u0345\u0323ßſİΣς \t\u00a0\u200b\u1e9eǰ\x00\n-01.9/@\u0661\ufeff가\u1100\u1161"),
    max_size=12,
)


@pytest.mark.parametrize("field", KINDS, ids=repr)
@settings(max_examples=40)
@given(values=st.lists(LETTERS | SPELT, max_size=8))
def test_parsing_twice_changes_nothing(field, values):
    once = field.canonical(pl.Series(values, dtype=pl.Object)).values.drop_nulls()
    again = field.canonical(once)
    assert again.values.to_list() == once.to_list() and not again.bad.any()


@pytest.mark.parametrize("field", KINDS, ids=repr)
@settings(max_examples=20)
@given(values=st.lists(LETTERS | SPELT, min_size=2, max_size=5))
def test_a_value_parses_alike_whatever_stands_beside_it(field, values):
    assert outcome(field, values, pl.Object) == [one(field, value) for value in values]


def by_hand(value):
    """A second, plain way to the canonical form of a text."""
    value = "".join(SHAPE.get(ord(letter), letter) or "" for letter in value)
    value = unicodedata.normalize("NFD", unicodedata.normalize("NFD", value).casefold())
    return unicodedata.normalize("NFC", " ".join(part for part in value.split(" ") if part)) or None


@given(value=SPELT)
def test_text_agrees_with_a_plain_reading(value):
    assert one(Field("text"), value) == by_hand(value)


@settings(max_examples=50)
@given(value=SPELT)
def test_normal_forms_and_case_are_one(value):
    field = Field("text")
    forms = [unicodedata.normalize(form, value) for form in ("NFC", "NFD")]
    assert len(set(outcome(field, [*forms, value, value + "\u200b", f" {value}\n", forms[1].casefold()]))) == 1


@settings(max_examples=40)
@given(number=st.integers(0, 2**53 - 1), width=st.integers(16, 20))
def test_every_way_to_write_a_number_is_one(number, width):
    ways = [
        number,
        float(number),
        str(number),
        f"{number}.0",
        f" {number} ",
        f"{number:025d}"[-16:],
        "-".join(str(number)),
    ]
    assert set(outcome(Field("digits"), ways, pl.Object)) == {str(number)}
    assert set(outcome(Field("digits", width=width), ways, pl.Object)) == {str(number).zfill(width)}


NUMBERS = st.integers() | st.floats() | st.booleans() | st.decimals() | st.complex_numbers()
DAYS = st.dates() | st.datetimes() | st.times() | st.timedeltas()


@settings(max_examples=40)
@given(
    values=st.lists(NUMBERS | st.text(max_size=4) | st.binary(max_size=3) | DAYS | st.none() | st.tuples(), max_size=6)
)
def test_no_value_raises(values):
    for field in KINDS:
        outcome(field, values, pl.Object)
