"""Files larger than memory: what is no identifier stays byte for byte, and a file is there whole or not at all."""

import csv
import errno
import gzip
import io
import os
import re
import resource
import stat
import subprocess
import sys
from itertools import chain

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.pseudonyms import LinkWarning, MissingIdentifiers, Unparsable, VaultError, encodings, lines, runs, shuffle
from discreet.pseudonyms.lines import Dialect, Records
from discreet.pseudonyms.output import draft
from discreet.pseudonyms.shuffle import permutation, shuffled

pytestmark = [
    pytest.mark.catalogue("PS1"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.RowsWarning"),
]
TOKEN = re.compile(rb"1[A-Za-z0-9_-]{36}")


@pytest.fixture
def vault(make, file):
    """An open vault in a file."""
    with make(file) as opened:
        yield opened


def made(vault, folder, content, identifiers=("ssn",), name="in.csv", out="out.csv", **options):
    """The new file's bytes, each pseudonym as <A>, <B> ... in order of appearance."""
    (folder / name).write_bytes(content)
    options = {"overwrite": True, **options}
    path = vault.pseudonymise(folder / name, list(identifiers), "research", out=folder / out, **options)
    return masked(path.read_bytes())


def masked(content):
    seen = {}
    return TOKEN.sub(lambda found: b"<%c>" % seen.setdefault(found[0], 65 + len(seen)), content)


UNCHANGED = {
    "quotes": (
        b'ssn,a,b\n1,"x, ""y""",\n"1",,""\n2, z ,"0"\n',
        b'pseudonym,a,b\n<A>,"x, ""y""",\n<A>,,""\n<B>, z ,"0"\n',
    ),
    "line ends": (b"ssn,a\r\n1,x\r\n2,y\r\n", b"pseudonym,a\r\n<A>,x\r\n<B>,y\r\n"),
    "mixed line ends": (b"ssn,a\r\n1,x\n2,y\r\n", b"pseudonym,a\r\n<A>,x\n<B>,y\r\n"),
    "old line ends": (b"ssn,a\r1,x\r2,y\r", b"pseudonym,a\r<A>,x\r<B>,y\r"),
    "last column": (b"a,ssn\r\nx,1\r\ny,2\r\n", b"a,pseudonym\r\nx,<A>\r\ny,<B>\r\n"),
    "no last line end": (b"a,ssn\nx,1\ny,2", b"a,pseudonym\nx,<A>\ny,<B>"),
    "a line end in a cell": (b'a,ssn\n"x\ny",1\n"\r\n",1\n', b'a,pseudonym\n"x\ny",<A>\n"\r\n",<A>\n'),
    "a mark of byte order": (b"\xef\xbb\xbfssn,a\n1,x\n", b"\xef\xbb\xbfpseudonym,a\n<A>,x\n"),
    "bytes of no encoding": (b"ssn,a\n1,\xff\xfe\x00\n", b"pseudonym,a\n<A>,\xff\xfe\x00\n"),
    "semicolons": (b"a;ssn;b\n1,5;7;\n", b"a;pseudonym;b\n1,5;<A>;\n"),
    "tabs": (b"a\tssn\n1,5\t7\n", b"a\tpseudonym\n1,5\t<A>\n"),
    "one column": (b"ssn\n1\n2\n1\n", b"pseudonym\n<A>\n<B>\n<A>\n"),
    "blank lines go": (b"ssn,a\n1,x\n\n\r\n2,y\n\n", b"pseudonym,a\n<A>,x\n<B>,y\n"),
    "a header alone": (b"ssn,a", b"pseudonym,a"),
    "a quoted header": (b'"ssn","a, b"\n1,"x"\n', b'pseudonym,"a, b"\n<A>,"x"\n'),
    "spellings": (b"ssn\n123\n00123\n123.0\n 1-23 \n", b"pseudonym\n<A>\n<A>\n<A>\n<A>\n"),
}


@pytest.mark.parametrize("case", UNCHANGED)
@pytest.mark.parametrize("block", [3, 1 << 24])
def test_what_is_no_identifier_stays_byte_for_byte(vault, tmp_path, monkeypatch, case, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    content, expected = UNCHANGED[case]
    assert made(vault, tmp_path, content) == expected


def test_several_identifiers_leave_one_column(vault, tmp_path):
    content = b'name,a,ssn,born,b\n"Ash, Zoe",1,5,1980-01-31,x\n"ash, zoe",2,5,1980-01-31,y\n'
    assert made(vault, tmp_path, content, ["ssn", "name", "born"]) == b"pseudonym,a,b\n<A>,1,x\n<A>,2,y\n"


texts = st.text(alphabet='ab,;"\n é\t', max_size=6)  # no \\r: Python's writer does not quote it


@given(
    st.lists(st.tuples(st.sampled_from(["1", "22", "333"]), texts, texts), max_size=12),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 40),
)
def test_cells_are_where_the_csv_module_puts_them(rows, quoting, end, block):
    """Cut into blocks of any size, the cells are those that Python's own reader finds."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=quoting, lineterminator=end)
    writer.writerow(["ssn", "a", "b"])
    writer.writerows(rows)
    before, lines.BLOCK = lines.BLOCK, block
    try:
        records = Records(io.BytesIO(out.getvalue().encode()), Dialect(","), "x.csv")
        found = [cells.column(place).to_list() for cells in records for place in range(3)]
    finally:
        lines.BLOCK = before
    columns = [list(chain(*found[place::3])) for place in range(3)]
    assert list(zip(*columns, strict=True)) == rows


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("size", [5, 1 << 24])
def test_encodings_come_back_as_they_were(vault, tmp_path, monkeypatch, encoding, size):
    monkeypatch.setattr(lines, "BLOCK", size)
    text = "name,born,ort\nZoë,1980-01-31,Köln\nZOË,1980-01-31,Bâle\n"
    dialect = None if encoding in ("utf-16", "utf-32", "utf-8-sig") else Dialect(encoding=encoding)
    path, out = _written(tmp_path / "in.csv", text.encode(encoding)), tmp_path / "o.csv"
    raw = vault.pseudonymise(path, ["name", "born"], "research", out=out, dialect=dialect).read_bytes()
    assert masked(raw.decode(encoding).encode()).decode() == "pseudonym,ort\n<A>,Köln\n<A>,Bâle\n"
    mark = text.encode(encoding)[:2]
    assert encoding not in ("utf-16", "utf-32") or raw.startswith(mark)


def _written(path, content):
    path.write_bytes(content)
    return path


def test_the_person_is_the_same_in_a_file_and_in_memory(vault, tmp_path):
    vault.pseudonymise(_written(tmp_path / "in.csv", b"ssn\n1\n2\n"), ["ssn"], "research", out=tmp_path / "o.csv")
    words = (tmp_path / "o.csv").read_text().split()[1:]
    assert vault.pseudonymise(pl.DataFrame({"ssn": [1, 2]}), ["ssn"], "research")["pseudonym"].to_list() == words


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2", "lz4"])
def test_compressed_files(vault, tmp_path, ending):
    content = b"ssn,a\n" + b"1,x\n" * 5000
    with pa.output_stream(str(tmp_path / f"in.csv.{ending}"), compression="detect") as stream:
        stream.write(content)
    out = vault.pseudonymise(tmp_path / f"in.csv.{ending}", ["ssn"], "research", out=tmp_path / f"out.csv.{ending}")
    with pa.input_stream(str(out), compression="detect") as stream:
        assert masked(stream.read()) == b"pseudonym,a\n" + b"<A>,x\n" * 5000


def test_rows_left_out_of_a_file(vault, tmp_path):
    content = b"ssn,a\n1,x\n,y\nbad,z\n2,w\n"
    assert made(vault, tmp_path, content, missing="skip", unparsable="skip") == b"pseudonym,a\n<A>,x\n<B>,w\n"
    ones = made(vault, tmp_path, content, missing="one-off", unparsable="one-off")
    assert ones == b"pseudonym,a\n<A>,x\n<B>,y\n<C>,z\n<D>,w\n"
    *_, entry = vault.register.entries()
    assert entry.rows == 4 and entry.table == "out" and entry.details["one-off pseudonyms"] == 2


def parquet(path, rows=1000, **options):
    numbers = np.arange(rows)
    table = pa.table(
        {
            "when": pa.array(numbers, pa.timestamp("us", "UTC")),
            "ssn": pa.array([f"{i % 50}" for i in numbers]).dictionary_encode(),
            "tags": pa.array([["a"] * (i % 3) for i in numbers]),
            "cost": pa.array([None if i % 7 == 0 else i / 4 for i in numbers], pa.float32()),
            "kind": pa.array([f"k{i % 4}" for i in numbers]).dictionary_encode(),
        },
        metadata={"note": "canary"},
    )
    pq.write_table(table, path, row_group_size=300, **options)
    return table


@pytest.mark.parametrize("codec", ["zstd", "none", "snappy"])
def test_parquet_keeps_types_and_compression_and_drops_metadata(vault, tmp_path, codec):
    table = parquet(tmp_path / "in.parquet", compression=codec)
    out = vault.pseudonymise(tmp_path / "in.parquet", ["ssn"], "research", out=tmp_path / "out.parquet")
    found = pq.read_table(out)
    assert found.column_names == ["when", "pseudonym", "tags", "cost", "kind"]
    rest = found.drop_columns(["pseudonym"])
    assert rest.equals(table.drop_columns(["ssn"]).cast(rest.schema))
    assert len(set(found["pseudonym"].to_pylist())) == 50 and b"canary" not in out.read_bytes()
    used = pq.read_metadata(out).row_group(0).column(0).compression.lower()
    assert used == {"none": "uncompressed"}.get(codec, codec)
    assert found.schema.field("when").type == pa.timestamp("us", "UTC")


def test_an_empty_parquet_file(vault, tmp_path):
    parquet(tmp_path / "in.parquet", rows=0)
    out = vault.pseudonymise(tmp_path / "in.parquet", ["ssn"], "research", out=tmp_path / "out.parquet")
    assert pq.read_table(out).num_rows == 0


CANARY = b"900000077"
BROKEN = {
    "a record too long": (b"ssn,a\n1,x\n" + CANARY + b",x,y\n", "Record 2 of 'in.csv', or one after it, has 3 cells"),
    "a record too short": (b"ssn,a\n1,x\n" + CANARY + b"\n", "has 1 cells where the header has 2"),
    "a stray quote": (b'ssn,a\n1,x"' + CANARY + b'"\n', "a quote inside a cell that is not quoted"),
    "an open quote": (b'ssn,a\n1,"' + CANARY + b"\n2,y\n", "a quote that is never closed"),
    "no header": (b"", "is empty"),
    "no column": (b"sn,a\n1,x\n", r"The table has no columns \['ssn'\]"),
    "twice a column": (b"ssn,ssn\n1,2\n", "Column names must differ"),
    "no UTF-8": (b"ssn,a\n" + CANARY + b"\xff,x\n", "not UTF-8"),
    "does not parse": (b"ssn,a\nx" + CANARY + b",x\n", "1 in `ssn`"),
    "missing": (b"ssn,a\n,x" + CANARY + b"\n", "1 rows hold no whole identity"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_changes_nothing_and_no_value_is_shown(vault, tmp_path, case):
    content, message = BROKEN[case]
    (tmp_path / "out.csv").write_bytes(b"the old one")
    with pytest.raises((VaultError, ValueError), match=message) as caught:
        made(vault, tmp_path, content)
    assert CANARY.decode() not in repr(caught.value) and caught.value.__cause__ is None
    assert (tmp_path / "out.csv").read_bytes() == b"the old one"
    assert not [path for path in tmp_path.iterdir() if "draft" in path.name or path.name.startswith(".")]
    assert not [entry for entry in vault.register.entries() if entry.act == "pseudonymise"]


def test_damaged_files_are_told_by_their_name(vault, tmp_path):
    whole = gzip.compress(b"ssn,a\n" + b"1,x\n" * 9999)
    (tmp_path / "in.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "in.parquet").write_bytes(b"PAR1 is not enough")
    for name in ("in.csv.gz", "in.parquet", "absent.csv"):
        ending = name.partition(".")[2]
        with pytest.raises(VaultError, match=r"cannot be read|no file"):
            vault.pseudonymise(tmp_path / name, ["ssn"], "research", out=tmp_path / f"out.{ending}")
        assert not (tmp_path / f"out.{ending}").exists()
    (tmp_path / "out.csv").write_text("there")
    with pytest.raises(VaultError, match="There is no file"):
        vault.pseudonymise(tmp_path / "absent.csv", ["ssn"], "research", out=tmp_path / "out.csv")


def test_a_file_that_is_there_is_not_replaced_unless_told(vault, tmp_path):
    path, out = _written(tmp_path / "in.csv", b"ssn,a\n1,x\n"), _written(tmp_path / "out.csv", b"the old one")
    (tmp_path / "link.csv").symlink_to(out)
    (tmp_path / "lost.csv").symlink_to(tmp_path / "nowhere.csv")
    before = vault.anchor()
    for name in ("out.csv", "link.csv", "lost.csv"):
        with pytest.raises(VaultError, match=r"exists\. Hint: overwrite=True"):
            vault.pseudonymise(path, ["ssn"], "research", out=tmp_path / name)
    assert out.read_bytes() == b"the old one" and vault.anchor() == before
    vault.pseudonymise(path, ["ssn"], "research", out=tmp_path / "link.csv", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink() and masked(out.read_bytes()) == b"pseudonym,a\n<A>,x\n"


HEADLESS = f"{CANARY.decode()},Zoe Canary,1980-01-31\n111,Bo,1981-01-31\n".encode()


def test_a_file_without_a_header_shows_no_value(vault, tmp_path):
    path = _written(tmp_path / "in.csv", HEADLESS)
    for act, more in ((vault.pseudonymise, {}), (vault.share, {"partner": "university", "require_k": 2})):
        with pytest.raises(
            MissingIdentifiers, match=r"Of 3 columns 0 are called like a declared field\. Hint: is"
        ) as one:
            act(path, ["ssn", "name", "born"], purpose="research", out=tmp_path / "o.csv", **more)
        assert CANARY.decode() not in str(one.value) and "Zoe" not in str(one.value)
    with pytest.raises(ValueError, match="must be columns that remain") as one:
        options = {"require_k": 2, "quasi_identifiers": ["town"], "out": tmp_path / "o.csv"}
        vault.share(path, {CANARY.decode(): "ssn"}, "university", "research", **options)
    assert "Zoe" not in str(one.value)


@pytest.mark.parametrize("fields", [b"ssn,name,a\n1,Zoe,x\n", b"ssn, Born ,a\n1,1980-01-31,x\n"])
def test_a_declared_field_of_a_file_stays_in_clear_only_if_named(vault, tmp_path, fields):
    name = fields.split(b",")[1].decode()
    with pytest.raises(ValueError, match=r"called like declared fields and would stay in clear"):
        made(vault, tmp_path, fields)
    assert not vault.find({"ssn": "1"}).known and not (tmp_path / "out.csv").exists()
    assert made(vault, tmp_path, fields, keep=[name]).startswith(b"pseudonym," + name.encode())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_are_there_twice_are_refused(vault, tmp_path, ending):
    """Also of columns that are no identifiers: only one of them would be looked at by `require_k`."""
    table = pa.Table.from_arrays([pa.array(["1"]), pa.array(["a"]), pa.array(["x"])], names=["ssn", "t", "t"])
    if ending == "csv":
        _written(tmp_path / "in.csv", b"ssn,t,t\n1,a,x\n")
    else:
        pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(ValueError, match="Column names must differ"):
        vault.share(
            tmp_path / f"in.{ending}", ["ssn"], "university", "research", out=tmp_path / f"o.{ending}", require_k=2
        )


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("partner", [None, "university"])
def test_values_of_rows_that_are_left_out_are_not_in_the_bytes(vault, tmp_path, partner):
    note = {"note": "CANARY"}
    schema = pa.schema([("ssn", pa.string()), pa.field("d", pa.dictionary(pa.int32(), pa.string()), metadata=note)])
    values = [pa.array(["5", None, "6"]), pa.array(["b", "HIDDENVALUE", "a"]).dictionary_encode()]
    pq.write_table(pa.table(values, schema=schema), tmp_path / "in.parquet")
    options = {"out": tmp_path / "o.parquet", "missing": "skip", "purpose": "research"}
    if partner is None:
        out = vault.pseudonymise(tmp_path / "in.parquet", ["ssn"], **options)
    else:
        with pytest.warns(LinkWarning):
            out = vault.share(tmp_path / "in.parquet", ["ssn"], partner, **options)
    content, found = out.read_bytes(), pq.read_table(out)
    assert b"HIDDENVALUE" not in content and b"CANARY" not in content
    assert sorted(found["d"].to_pylist()) == ["a", "b"] and found["d"].type == schema.field("d").type
    assert found["d"].chunk(0).dictionary.to_pylist() == ["a", "b"]


def test_a_refused_file_leaves_a_note_that_people_were_taken_in(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 64)
    with pytest.raises(Unparsable):
        made(vault, tmp_path, b"ssn,a\n" + b"".join(b"%d,x\n" % i for i in range(40)) + b"none,x\n", name="in.csv")
    *_, entry = vault.register.entries()
    assert (entry.act, entry.table, entry.purpose, entry.rows) == ("failed", "out", "research", 0)
    assert entry.details["act"] == "pseudonymise" and entry.details["reason"] == "Unparsable"
    assert 0 < entry.details["people"] <= 40 and vault.find({"ssn": "1"}).known
    before = vault.anchor()
    with pytest.raises(Unparsable):
        made(vault, tmp_path, b"ssn,a\nnone,x\n")
    assert vault.anchor() == before  # nobody was taken in


@pytest.mark.parametrize("where", ["writing", "reading"])
def test_no_file_is_left_where_sharing_fails(vault, tmp_path, monkeypatch, where):
    path = _written(tmp_path / "in.csv", b"ssn,a\n" + b"1,x\n" * 50)
    if where == "writing":
        monkeypatch.setattr(encodings.Writer, "write", _full)
    else:
        path.write_bytes(path.read_bytes() + b"broken\n")
    held = []
    with pytest.warns(LinkWarning):
        try:
            vault.share(path, ["ssn"], "university", "research", out=tmp_path / "out.csv")
        except VaultError as error:
            held.append(error)  # and its frames with it
    assert held and not [one for one in tmp_path.iterdir() if one.name.startswith(".") or one.name == "out.csv"]


def _full(self, data):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_memory_does_not_go_by_how_well_a_file_is_packed(vault, tmp_path, monkeypatch):
    """A Parquet file of equal texts is tiny: hands are counted as they are dealt."""
    monkeypatch.setattr(shuffle, "AT_ONCE", 1 << 14)
    table = pa.table({"ssn": [str(i) for i in range(3000)], "x": ["x" * 100] * 3000})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.warns(LinkWarning):
        vault.share(tmp_path / "in.parquet", ["ssn"], "university", "research", out=tmp_path / "o.parquet")
    footer = pq.read_metadata(tmp_path / "o.parquet")
    assert footer.num_rows == 3000
    assert max(footer.row_group(one).num_rows for one in range(footer.num_row_groups)) * 137 <= 2 << 14


def test_arguments_of_files(vault, tmp_path):
    path = _written(tmp_path / "in.csv", b"ssn,a\n1,x\n")
    for options, error, message in (
        ({}, ValueError, "The `out` must be given"),
        ({"out": path}, ValueError, "another file than the table"),
        ({"out": path, "overwrite": True}, ValueError, "another file than the table"),
        ({"out": tmp_path / "out.parquet"}, ValueError, "the same kind"),
        ({"out": tmp_path / "out.xls"}, ValueError, "must end in .csv"),
        ({"out": tmp_path / "no" / "out.csv"}, VaultError, "its folder does not exist"),
    ):
        with pytest.raises(error, match=message):
            vault.pseudonymise(path, ["ssn"], "research", **options)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(VaultError, match="it is a folder"):
        vault.pseudonymise(path, ["ssn"], "research", out=tmp_path / "folder.csv")


DIALECTS = [{"delimiter": mark} for mark in (",,", '"', "\n", "_", "é")] + [{"quote": "a"}, {"encoding": "klingon"}]


@pytest.mark.parametrize("bad", DIALECTS)
def test_bad_dialects(bad):
    with pytest.raises(ValueError, match="of a Dialect must"):
        Dialect(**bad)


KILLED = """
import os, signal, sys, warnings
from discreet.pseudonyms import Vault, encodings
warnings.simplefilter("ignore")
encodings.Writer.write = lambda self, data: os.kill(os.getpid(), signal.SIGKILL)
with Vault.open(sys.argv[1], key_file=sys.argv[2]) as vault:
    vault.share(sys.argv[3], ["ssn"], "university", "research", out=sys.argv[4], progress=False)
"""


@pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning")
def test_what_a_killed_process_left_is_removed_by_the_next(vault, file, key, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    (tmp_path / "in.csv").write_text("ssn,a\n" + "".join(f"{i},x\n" for i in range(40)))
    with draft(folder / "out.csv") as (going_on, _):  # another process writes the same file meanwhile
        paths = [str(one) for one in (file, tmp_path / "key", tmp_path / "in.csv", folder / "out.csv")]
        done = subprocess.run([sys.executable, "-c", KILLED, *paths], check=False)
        left = {one for one in folder.iterdir() if not one.name.startswith(going_on.name)}
        assert done.returncode == -9 and {one.is_dir() for one in left} == {True, False} and len(left) == 3
        vault.share(tmp_path / "in.csv", ["ssn"], "university", "research", out=folder / "out.csv")
        assert {one.name for one in folder.iterdir()} == {"out.csv", going_on.name, going_on.name + ".lock"}


def test_a_file_is_its_owners_alone(vault, tmp_path):
    made(vault, tmp_path, b"ssn\n1\n")
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o600


def test_a_full_disk_leaves_the_old_file_and_no_other(vault, tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_bytes(b"the old one")

    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(encodings.Writer, "write", full)
    with pytest.raises(VaultError, match=r"cannot be written: the disk is full\. Nothing was changed there"):
        made(vault, tmp_path, b"ssn\n1\n")
    assert (tmp_path / "out.csv").read_bytes() == b"the old one"
    assert sorted(path.name for path in tmp_path.iterdir() if "csv" in path.name) == ["in.csv", "out.csv"]


LIMITED = """
import resource, sys
from discreet.pseudonyms.vault import Vault
vault = Vault.open(sys.argv[1], key_file=sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    vault.pseudonymise(sys.argv[3], ["ssn"], "research", out=sys.argv[4], progress=False, overwrite=True)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_file_that_outgrows_its_limit_in_truth(make, file, key, tmp_path):
    """The operating system itself refuses the write: the old file stays, no draft is left, nothing is recorded."""
    make(file).close()
    _written(tmp_path / "in.csv", b"ssn,a\n" + b"1,xxxxxxxx\n" * 30_000)
    out = _written(tmp_path / "out.csv", b"the old one")
    arguments = [str(file), str(key.path), str(tmp_path / "in.csv"), str(out)]
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("VaultError") and "larger than files may be" in done.stdout, done.stderr
    assert out.read_bytes() == b"the old one" and not list(tmp_path.glob(".*draft"))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 400_000


def test_there_is_no_file_without_a_record(vault, tmp_path, monkeypatch):
    def fails(*arguments, **options):
        assert not (tmp_path / "out.csv").exists()
        raise RuntimeError("no register")

    monkeypatch.setattr(runs, "record", fails)
    with pytest.raises(RuntimeError):
        made(vault, tmp_path, b"ssn\n1\n")
    assert sorted(path.name for path in tmp_path.iterdir() if "csv" in path.name) == ["in.csv"]


def test_people_of_all_pieces_are_known_to_find(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 64)
    made(vault, tmp_path, b"ssn,a\n" + b"".join(b"%d,x\n" % (i % 150) for i in range(400)), name="in.csv")
    for ssn in ("0", "77", "149"):
        assert [one.table for one in vault.find({"ssn": ssn}).locators] == ["out"]
    assert not vault.find({"ssn": "150"}).known


def test_an_error_tells_the_numbers_of_the_whole_file(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 64)
    bad = b"ssn,a\n" + b"1,x\n" * 100 + b"none,x\n" * 40 + b"2,x\n" * 100 + b"none,x\n" * 3
    with pytest.raises(Unparsable) as caught:
        made(vault, tmp_path, bad)
    assert caught.value.counts == {"ssn": 43} and caught.value.__context__ is None
    with pytest.raises(MissingIdentifiers, match=r"^43 rows hold no whole identity"):
        made(vault, tmp_path, bad.replace(b"none", b""))


def test_a_bar_shows_the_share_alone(vault, tmp_path, capsys):
    made(vault, tmp_path, b"ssn,a\n900000077,x\n", progress=True)
    shown = capsys.readouterr().err
    assert "pseudonyms" in shown and "rows" not in shown and "900000077" not in shown


@pytest.mark.parametrize("guess", [0, 1000, 10**9])
def test_rows_of_a_large_file_are_dealt_and_shuffled(tmp_path, monkeypatch, guess):
    """Whatever the guess of its size: every row is there once, no hand is large, and no piece keeps its order."""
    monkeypatch.setattr(shuffle, "AT_ONCE", 400)
    monkeypatch.setattr(shuffle, "MOST", 5)
    pieces = (pa.table({"i": range(start, start + 500)}) for start in range(0, 4000, 500))
    found = [piece["i"].to_pylist() for piece in shuffled(pieces, guess, tmp_path)]
    assert sorted(chain(*found)) == list(range(4000)) and max(map(len, found)) <= 2 * 400 / 8
    assert sum(piece != sorted(piece) for piece in found) > len(found) / 2 and not list(tmp_path.iterdir())


def test_files_of_hands_are_few(tmp_path, monkeypatch):
    monkeypatch.setattr(shuffle, "AT_ONCE", 8)
    most = 0
    for _ in shuffled(iter([pa.table({"i": range(2000)})]), 10**12, tmp_path):
        most = max(most, sum(len(files) for _, _, files in os.walk(tmp_path)))
    assert 0 < most <= 2 * shuffle.MOST


def test_the_first_row_is_anywhere(tmp_path, monkeypatch):
    """Hands are given out by number, not by who came first.

    Of 300 tries a row that comes alone before 400 others is in the first half of them with probability 1/2 each: fewer
    than 100 or more than 200 times below 1e-8. Were hands given out as they are filled, it would always be.
    """
    monkeypatch.setattr(shuffle, "AT_ONCE", 400)
    places = []
    for _ in range(300):
        pieces = iter([pa.table({"i": [0]}), pa.table({"i": range(1, 401)})])
        places.append([i for one in shuffled(pieces, 3200, tmp_path) for i in one["i"].to_pylist()].index(0))
    assert 100 < sum(place < 200 for place in places) < 200


def test_a_hand_keeps_its_dictionaries(tmp_path, monkeypatch):
    """The types are those of the pieces, the lists of values sorted, also where a hand was dealt twice."""
    monkeypatch.setattr(shuffle, "AT_ONCE", 64)
    letters = [chr(97 + i % 26) for i in range(600)][::-1]
    pieces = (pa.table({"d": pa.array(letters[i : i + 200]).dictionary_encode()}) for i in range(0, 600, 200))
    found = list(shuffled(pieces, 0, tmp_path))
    assert sorted(chain(*(one["d"].to_pylist() for one in found))) == sorted(letters)
    for one in found:
        assert one["d"].type == pa.dictionary(pa.int32(), pa.string())
        assert all(part.dictionary.to_pylist() == sorted(set(one["d"].to_pylist())) for part in one["d"].chunks)


def chi_square(draws, size):
    counts = np.zeros((size, size))
    for place in draws:
        counts[np.arange(size), place] += 1
    expected = len(draws) / size
    return ((counts - expected) ** 2 / expected).sum()


def test_every_place_is_as_likely_as_any_other():
    """Chi-square of where each of 8 rows comes from, 49 degrees of freedom: above 147 with probability below 1e-10.

    A shuffle that moves rows by at most half of the table is caught by the same threshold.
    """
    rng = np.random.default_rng(1)
    assert chi_square([permutation(8) for _ in range(4000)], 8) < 147
    halves = [np.concatenate([rng.permutation(4), 4 + rng.permutation(4)]) for _ in range(4000)]
    assert chi_square(halves, 8) > 147


def test_errors_of_a_stream_are_of_the_vault():
    assert issubclass(Unparsable, VaultError) and issubclass(MissingIdentifiers, VaultError)
