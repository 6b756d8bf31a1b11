"""A frame that comes back holds its rows, and nothing of those that were left out."""

import io
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from discreet.pseudonyms.leftovers import copied

pytestmark = [
    pytest.mark.catalogue("PS2"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.RowsWarning"),
]
CANARY = "canary Xanthippe canary"
TEXTS = ["a remark of some length", CANARY, "another remark, also long", "a third one, as long as those"]
COLUMNS = {
    "text": pl.Series(TEXTS),
    "bytes": pl.Series(TEXTS).cast(pl.Binary),
    "categories": pl.Series(TEXTS).cast(pl.Categorical),
    "enum": pl.Series(TEXTS).cast(pl.Enum(TEXTS)),
    "list": pl.Series([[text, text + "!"] for text in TEXTS]),
    "array": pl.Series([[text, text] for text in TEXTS], dtype=pl.Array(pl.String, 2)),
    "struct": pl.Series([{"a": text, "b": 1} for text in TEXTS]),
    "list of enum": pl.Series([[text] for text in TEXTS], dtype=pl.List(pl.Enum(TEXTS))),
    "wide": pl.Series([{"a": text, "b": 1} for text in TEXTS], dtype=pl.Struct({"a": pl.String, "b": pl.Int128})),
}


def written(frame):
    """The frame as bytes, in the ways that people hand frames over."""
    yield "pickle", pickle.dumps(frame)
    for method, options in (("write_ipc", {}), ("write_parquet", {"compression": "uncompressed"})):
        if method == "write_parquet" and "Int128" in str(frame.schema):
            continue  # Parquet has no such numbers
        stream = io.BytesIO()
        getattr(frame, method)(stream, **options)
        yield method, stream.getvalue()
    if "Int128" not in str(frame.schema):
        stream = io.BytesIO()
        table = frame.to_arrow()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        yield "to_arrow", stream.getvalue()


def leaks(frame):
    return [way for way, content in written(frame) if CANARY.encode() in content]


def test_the_search_finds_what_polars_keeps():
    assert leaks(COLUMNS["text"].to_frame("a")[[0, 2, 3]]) and not leaks(pl.DataFrame({"a": TEXTS[2:]}))


@pytest.fixture
def vault(make, file):
    with make(file) as opened:
        yield opened


@pytest.mark.parametrize("kind", COLUMNS)
def test_no_text_of_a_row_that_was_left_out(vault, kind):
    table = pl.DataFrame({"ssn": ["1", None, "3", "4"], "note": COLUMNS[kind]})
    mine = vault.pseudonymise(table, ["ssn"], "research", missing="skip")
    theirs = vault.share(table, ["ssn"], "university", "research", missing="skip")
    assert leaks(mine) == leaks(theirs) == []
    rest = table["note"][[0, 2, 3]]
    assert mine["note"].to_list() == rest.to_list() and theirs.height == 3
    if "enum" not in kind:
        assert mine.schema["note"] == theirs.schema["note"] == rest.dtype


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("size", [4, 1000])
def test_no_text_of_somebody_who_was_erased(vault, size):
    texts = [f"a remark of some length {i}" for i in range(size)]
    texts[size // 2] = CANARY
    table = pl.DataFrame({"ssn": [str(i) for i in range(size)], "note": texts})
    before = vault.share(table, ["ssn"], "university", "research")
    assert leaks(before)
    vault.erase(vault.find({"ssn": str(size // 2)}), reason="asked")
    for made in (
        vault.share(table, ["ssn"], "university", "research"),
        vault.pseudonymise(table.lazy(), ["ssn"], "research").collect(),
        vault.reseal(before, "research", partner="university"),
        vault.unshare(before, "university", "research"),
    ):
        assert made.height == size - 1 and not leaks(made)


def test_values_that_were_set_to_null_are_gone():
    """What polars sets to null it hides, and no more."""
    for kind in ("text", "list", "struct"):
        mask = pl.Series([False, True, False, False])
        hidden = pl.select(pl.when(mask).then(None).otherwise(COLUMNS[kind]).alias("note"))
        assert leaks(hidden) and not leaks(copied(hidden)) and copied(hidden).equals(hidden)


def test_an_enum_keeps_its_order_and_the_values_in_use():
    table = pl.DataFrame({"size": pl.Series(["large", "small", None], dtype=pl.Enum(["small", "medium", "large"]))})
    assert copied(table).schema["size"] == pl.Enum(["small", "large"])
    assert copied(table, np.array([2])).schema["size"] == pl.Enum([])
    assert copied(table, np.array([0, 2]))["size"].to_list() == ["large", None]
