"""A CSV file for a partner holds values, and not how each of them was written."""

import pytest

from discreet.pseudonyms import Dialect, VaultError, lines

pytestmark = [
    pytest.mark.catalogue("PS2"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning"),
]


@pytest.fixture
def vault(make, file):
    with make(file) as opened:
        yield opened


@pytest.fixture
def shared(vault, tmp_path):
    """The lines that a partner gets, without their pseudonyms, in order."""

    def cut(content, **options):
        (tmp_path / "in.csv").write_bytes(content)
        out = tmp_path / "out.csv"
        vault.share(tmp_path / "in.csv", ["ssn"], "university", "research", out=out, overwrite=True, **options)
        head, *rest = out.read_bytes().splitlines(keepends=True)
        return [head, *sorted(line[line.index(b",") :] if b"," in line else line for line in rest)]

    return cut


@pytest.mark.parametrize(
    "cells, given",
    [
        (["north"] * 9 + ['"north"'], b",north\n"),
        ([""] * 5 + ['""'] * 5, b",\n"),
        (['"a,b"'] * 10, b',"a,b"\n'),
        (['"so ""called"" it"'] * 10, b',"so ""called"" it"\n'),
        ([" north"] * 9 + ['" north"'], b", north\n"),
    ],
)
@pytest.mark.parametrize("block", [64, 1 << 24])
def test_quotes_do_not_tell_rows_apart(shared, monkeypatch, cells, given, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    content = "ssn,ward\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    assert shared(content.encode(), require_k=10) == [b"pseudonym,ward\n", *[given] * 10]


@pytest.mark.parametrize("first, other", [(b"\n", b"\r\n"), (b"\r\n", b"\n")])
def test_line_ends_do_not_tell_rows_apart(shared, first, other):
    rows = b"".join(b"%d,north%s" % (i, other if i == 4 else first) for i in range(10))
    found = shared(b"ssn,ward" + first + rows.removesuffix(first), require_k=10)
    assert found == [b"pseudonym,ward" + first, *[b",north" + first] * 10]


def test_values_are_those_of_the_file(vault, tmp_path):
    content = 'ssn;"a;b";c\n1;"x\ny";"q""r"\n'
    (tmp_path / "in.csv").write_bytes(content.encode("utf-16"))
    out = vault.share(tmp_path / "in.csv", ["ssn"], "university", "research", out=tmp_path / "out.csv")
    head, _, row = out.read_bytes().decode("utf-16").partition("\n")
    assert head == 'pseudonym;"a;b";c' and row.partition(";")[2] == '"x\ny";"q""r"\n'


def test_cells_in_another_encoding_are_refused(shared):
    with pytest.raises(VaultError, match=r"not UTF-8.*latin-1"):
        shared("ssn,ward\n1,Zoë\n".encode("latin-1"))
    assert (
        "Zoë".encode("latin-1") in shared("ssn,ward\n1,Zoë\n".encode("latin-1"), dialect=Dialect(encoding="latin-1"))[1]
    )


def test_without_quotes_cells_are_as_they_are(shared):
    assert shared(b'ssn,ward\n1,"north\n', dialect=Dialect(",", quote=None))[1] == b',"north\n'


def test_the_holder_gets_bytes_as_they_were(vault, tmp_path):
    content = b'ssn,ward\n1,"north"\r\n2,north\n3,""'
    (tmp_path / "in.csv").write_bytes(content)
    out = vault.pseudonymise(tmp_path / "in.csv", ["ssn"], "research", out=tmp_path / "out.csv").read_bytes()
    assert [line.split(b",")[1] for line in out.splitlines(keepends=True)] == [
        b"ward\n",
        b'"north"\r\n',
        b"north\n",
        b'""',
    ]
