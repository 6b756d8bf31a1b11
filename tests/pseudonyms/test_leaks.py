"""What leaks, and what does not: canaries in files, reprs, errors and logs; stolen files and stolen keys."""

import base64
import hashlib
import hmac
import logging
import pickle
import random
import shutil
import sqlite3
import unicodedata
import warnings

import polars as pl
import pytest

from discreet.pseudonyms import LinkWarning, VaultError, WrongKey
from discreet.pseudonyms.messages import messages
from discreet.pseudonyms.tokens import TokenKeys, opened
from discreet.pseudonyms.vault import Vault

pytestmark = [
    pytest.mark.catalogue("PS1"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning"),
    pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.RowsWarning"),
]
WHO = ["ssn", "name", "born"]
SSN, NAME = "918273645", "Zoë Kanarienvogel"
PASSPHRASE = "correct horse battery canary"


def table():
    return pl.DataFrame(
        {
            "ssn": [SSN, "111223333", "222334444"],
            "name": [NAME, "Bo Beere", "Cy Clam"],
            "born": ["1980-01-31", "1981-02-28", "1982-03-31"],
            "cost": [1, 2, 3],
        }
    )


def forms(*words):
    """Ways in which a word might lie in a file."""
    found = set()
    for word in words:
        for text in (word, word.casefold(), word.upper(), unicodedata.normalize("NFD", word), word.partition(" ")[2]):
            if len(text) > 5:
                raw = text.encode()
                found |= {raw, text.encode("utf-16-le"), raw.hex().encode(), base64.b64encode(raw)[:-4]}
    return {one for one in found if len(one) > 5}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def holding(folder, canaries, besides=()):
    return [
        name
        for name, content in files(folder).items()
        if name not in besides and any(one in content for one in canaries)
    ]


def test_the_search_finds_what_is_there(tmp_path):
    (tmp_path / "a").write_text(f"... {NAME.upper()} ...")
    assert holding(tmp_path, forms(NAME)) == ["a"]


@pytest.mark.catalogue("PS3")
@pytest.mark.parametrize("links", ["stored", "derived"])
def test_no_identifier_is_in_any_file_also_after_an_erasure(make, file, tmp_path, links):
    canaries = forms(SSN, NAME)
    source = tmp_path / "in.csv"
    table().write_csv(source)
    besides = {"in.csv", "key"}
    with make(file, links=links) as vault:
        vault.pseudonymise(table(), WHO, "research")
        vault.pseudonymise(source, WHO, "research", out=tmp_path / "out.csv")
        vault.share(source, WHO, "university", "research", out=tmp_path / "shared.csv")
        assert not holding(tmp_path, canaries, besides)  # while the log is there
        person = vault.find({"ssn": SSN})
        vault.export(person)
        ids = vault.resolve(messages(vault.schema, table().select("ssn"))).ids[0].tobytes()
        tags = vault.tags(messages(vault.schema, table().select("ssn")).found["ssn"][1])[0].tobytes()
        vault.backup(tmp_path / "backup.vault")
        vault.erase(person, reason="asked")
        assert not holding(tmp_path, {*canaries, ids, tags}, besides)
    assert not holding(tmp_path, {*canaries, ids, tags}, besides)
    assert {"out.csv", "shared.csv", "backup.vault"} <= set(files(tmp_path))


def stored(file):
    """What the vault holds of people, sealed, as it lies in the file."""
    connection = sqlite3.connect(file)
    rows = connection.execute("select store, body from sealed").fetchall()
    connection.close()
    return {(store, body[start : start + 24]) for store, body in rows for start in range(0, len(body) - 24, 24)}


@pytest.mark.catalogue("PS3")
def test_what_was_sealed_of_an_erased_person_is_gone_from_the_bytes(make, file, tmp_path):
    """The old rows, links and uses, are overwritten: not even whoever gets all keys later finds them."""
    with make(file) as vault:
        vault.pseudonymise(table(), WHO, "research")
        before = stored(file)
        old = b"".join(files(tmp_path).values())
        vault.erase(vault.find({"ssn": SSN}), reason="asked")
        now, kept = b"".join(files(tmp_path).values()), stored(file)
    gone = before - kept
    assert len({store for store, _ in gone}) >= 3  # people, aliases and the use of the table
    assert all(piece in old for _, piece in gone) and not any(piece in now for _, piece in gone)


def test_a_wrong_passphrase_is_told_and_nothing_is_written(make, file, tmp_path):
    vault = make(file, key_file=None, passphrase=PASSPHRASE)
    vault.pseudonymise(table(), WHO, "research")
    vault.close()
    before = files(tmp_path)
    with pytest.raises(WrongKey, match=r"does not open this vault\. Nothing was written") as caught:
        Vault.open(file, passphrase="correct horse battery finch")
    assert files(tmp_path) == before and "finch" not in str(caught.value)
    with pytest.raises(WrongKey):
        Vault.open(file, key_file=tmp_path / "key")
    assert files(tmp_path) == before


def guesses(word, keys):
    """Digests with which a thief might try to confirm a name: of all spellings, under all keys that were found."""
    for text in (word, word.casefold(), f"1:1,3:ssn,9:{word},", f"3:ssn,9:{word},", f"9:{word},"):
        raw = text.encode()
        yield from (hashlib.sha256(raw).digest(), hashlib.blake2b(raw).digest(), hashlib.md5(raw).digest())
        yield hashlib.blake2b(raw, digest_size=16).digest()
        for key in keys:
            yield hashlib.blake2b(raw, key=key, digest_size=16).digest()
            yield hmac.digest(key, raw, "sha256")


def confirmed(content, word, keys):
    return any(guess[:8] in content for guess in guesses(word, keys))


@pytest.mark.parametrize("links", ["stored", "derived"])
def test_a_stolen_file_confirms_no_name(make, file, tmp_path, links):
    """Every 32 bytes that the file holds in a column are tried as a key; the same attack finds a tag that is bare."""
    with make(file, links=links) as vault:
        vault.pseudonymise(table(), WHO, "research")
        real = vault._master.derive("hash" if links == "derived" else "lookup")
        tags = vault.tags(messages(vault.schema, table().select("ssn")).found["ssn"][1]).tobytes()
    content = b"".join(files(tmp_path).values())
    rows = sqlite3.connect(file)
    cells = [
        cell if isinstance(cell, bytes) else str(cell).encode()
        for name in ("header", "settings", "entries", "sealed")
        for row in rows.execute(f"select * from {name}")
        for cell in row
    ]
    keys = [bytes(32)] + [
        cell[start : start + 32] for cell in cells for start in (0, 12, 16) if len(cell) >= start + 32
    ]
    assert not confirmed(content, SSN, keys)
    assert confirmed(tags, SSN, [real])  # with the key the very same attack finds the tag


@pytest.mark.catalogue("PS2")
@pytest.mark.parametrize("links", ["stored", "derived"])
def test_a_stolen_partner_key_confirms_no_name_and_links_no_other_partner(make, file, links):
    with make(file, links=links) as vault:
        vault.add_partner("laboratory")
        words = {
            partner: vault.share(table(), WHO, partner, "research")["pseudonym"]
            for partner in ("university", "laboratory")
        }
        mine = vault.pseudonymise(table(), WHO, "research")["pseudonym"]
        stolen, other, own = (vault.token_keys("research", one) for one in ("university", "laboratory", None))
        secret = vault._master.derive("hash" if links == "derived" else "lookup")
    found = opened(words["university"], {stolen.key_id: stolen})
    assert found.ok.all()  # the thief has ids
    ids = found.ids.tobytes()
    assert not confirmed(ids, SSN, [stolen.cipher, stolen.check, ids[:16], bytes(32)])
    for tokens, keys in ((words["laboratory"], other), (mine, own)):
        disguised = TokenKeys(keys.key_id, stolen.cipher, stolen.check)
        assert not opened(tokens, {keys.key_id: disguised}).ok.any()
        assert not set(tokens.str.slice(7)) & set(words["university"].str.slice(7))
        bodies = b"".join(base64.urlsafe_b64decode(word[7:] + "==") for word in tokens)
        assert not any(ids[start : start + 6] in bodies for start in range(0, len(ids), 16))
    assert confirmed(ids, SSN, [secret]) == (links == "derived")  # the hash key confirms names where links are derived


def test_one_flipped_bit_in_any_stored_field_is_found(make, file, key, tmp_path):
    """Every cell of every table of the file, one bit each; opening, verifying or asking must raise."""
    with make(file) as vault:
        vault.pseudonymise(table(), WHO, "research")
        vault.share(table(), WHO, "university", "research")
        vault.erase(vault.find({"ssn": "222334444"}), reason="asked")
        anchor = vault.anchor()
    rng = random.Random(5)
    columns = {
        "header": ["document"],
        "settings": ["kind", "name", "document", "mac"],
        "entries": ["number", "entry", "mac"],
    }
    columns["sealed"] = ["store", "first", "last", "body"]
    tried = 0
    for name, names in columns.items():
        count = sqlite3.connect(file).execute(f"select count(*) from {name}").fetchone()[0]
        for place in range(count):
            for column in names:
                copy = tmp_path / "copy.vault"
                shutil.copy(file, copy)
                tried += _flip(copy, name, column, place, rng)
                with pytest.raises(VaultError):
                    _used(copy, key, anchor)
    assert tried > 60


def _flip(path, name, column, place, rng):
    with sqlite3.connect(path) as connection:
        number, value = connection.execute(f"select rowid, {column} from {name} limit 1 offset {place}").fetchone()
        if isinstance(value, int):
            changed = value ^ 1024
        else:
            raw = bytearray(value if isinstance(value, bytes) else value.encode())
            raw[rng.randrange(len(raw))] ^= 1
            changed = bytes(raw) if isinstance(value, bytes) else raw.decode()
        connection.execute(f"update {name} set {column} = ? where rowid = ?", (changed, number))
    connection.close()
    return 1


def _used(path, key, anchor):
    with Vault.open(path, key_file=key) as vault:
        vault.verify(anchor)
        vault.find({"ssn": SSN})


NASTY = [
    "x'); drop table sealed; --",
    'a"b',
    "%s %d {0}",
    "a;b|c`d`",
    "'",
    "drop table settings",
    "ⅷ‮abc"[:1],
    "日本 🦆",
]


@pytest.mark.parametrize("name", NASTY)
def test_names_are_never_part_of_a_statement(make, file, key, name):
    with make(file) as vault:
        vault.add_purpose(name)
        vault.add_partner(name)
        vault.pseudonymise(table(), WHO, name, name=name, who=name)
        vault.share(table(), WHO, name, name, name=name)
        assert {one.table for one in vault.find({"ssn": SSN}).locators} == {name}
        vault.used(name, model=name)
    with Vault.open(file, key_file=key) as vault:
        assert name in vault.purposes and name in vault.partners and vault.verify().entries > 5


ODD = [
    "\u202eabc",
    "a\x00b",
    "ﷺ" * 50,
    "👩‍👩‍👧",
    "ß",
    "İstanbul",
    "x" * 1_000_000,
    "\ud800",
    "' or 1=1 --",
    "\ufffd",
    "\u200b",
]


def test_odd_and_huge_names_are_people_or_refused_but_never_shown(make, file, tmp_path):
    with make(file) as vault:
        for text in ODD:
            frame = pl.DataFrame({"name": pl.Series([text, text], dtype=pl.Object), "born": ["1980-01-31"] * 2})
            try:
                words = vault.pseudonymise(frame, ["name", "born"], "research")["pseudonym"]
            except VaultError as error:
                assert text not in str(error) or len(text) < 2
            else:
                assert words.n_unique() == 1
        assert vault.verify().entries >= len(ODD) - 4
    assert not holding(tmp_path, {"İstanbul".encode(), ("x" * 1000).encode()})


def test_reprs_errors_and_logs_hold_no_identifier_key_or_passphrase(make, file, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    said = []
    vault = make(file, key_file=None, passphrase=PASSPHRASE)
    vault.pseudonymise(table(), WHO, "research")
    person = vault.find({"ssn": SSN, "name": NAME, "born": "1980-01-31"})
    keys = vault.token_keys("research")
    found = messages(vault.schema, table().select(WHO))
    for thing in (vault, vault.keyring, vault.register, vault.people, person, keys, found, vault.resolve(found)):
        said += [repr(thing), str(thing)]
    for wrong in (
        lambda: vault.pseudonymise(table().with_columns(ssn=pl.lit(NAME)), WHO, "research"),
        lambda: vault.pseudonymise(table().with_columns(ssn=pl.lit(None)), ["ssn"], "research"),
        lambda: vault.find({"ssn": NAME}),
        lambda: vault.find({"name": NAME}),
        lambda: vault.find({NAME: SSN}) and None,
        lambda: vault.reseal(table().rename({"name": "pseudonym"}), "research"),
        lambda: vault.share(table(), WHO, "university", "research", require_k=2),
        lambda: pickle.dumps(vault),
        lambda: Vault.open(file, passphrase=PASSPHRASE + "x"),
    ):
        with pytest.raises((VaultError, TypeError, ValueError)) as caught:
            wrong()
        said += [str(caught.value), repr(vars(caught.value)), repr(caught.value.__context__)]
    vault.close()
    output = capfd.readouterr()
    text = "\n".join([*said, caplog.text, output.out, output.err])
    secrets = [PASSPHRASE, keys.cipher.hex(), repr(keys.cipher)[2:-1], keys.check.hex(), SSN]
    assert not [one for one in secrets if one in text]
    assert NAME not in text.replace(f"No field {NAME!r}", "")  # the caller's own word for a field is repeated


HALF = "Xanthippe canary \ud800"  # half of a surrogate pair


def test_what_python_says_of_a_text_is_not_even_the_context(make, file, tmp_path):
    """An error of Python that is followed by another one stays with it, also where it is not shown."""
    latin, utf = tmp_path / "latin.csv", tmp_path / "utf.csv"
    latin.write_bytes(b"ssn,a\n1,Xanthippe canary \xeb\n")
    utf.write_bytes("ssn,a\n1,Xanthippe canary".encode("utf-16") + b"\n\xd8\xd8")
    with make(file) as vault:
        for act in (
            lambda: Vault.open(file, passphrase=HALF),
            lambda: Vault.create(tmp_path / "b.vault", passphrase=HALF, fields={"a": "text"}, identities={"a": ["a"]}),
            lambda: vault.find({"name": HALF, "born": "1980-01-01"}),
            lambda: vault.find({"ssn": {"Xanthippe canary": object()}}),
            lambda: vault.share(latin, ["ssn"], "university", "research", out=tmp_path / "out.csv", require_k=2),
            lambda: vault.pseudonymise(utf, ["ssn"], "research", out=tmp_path / "out.csv"),
        ):
            with pytest.raises((ValueError, VaultError)) as caught:
                act()
            error = caught.value
            while error is not None:
                said = f"{error} {error!r} {vars(error)} {error.args}"
                assert "anthippe" not in said and "\\xeb" not in said and "a\\x00n\\x00t" not in said
                error = error.__context__


def test_warnings_name_no_value(make, file):
    with make(file) as vault, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vault.share(table(), WHO, "university", "research")
    assert [one.category for one in caught] == [LinkWarning] and NAME not in str(caught[0].message)


def test_a_stolen_file_shows_what_is_declared_and_the_register_and_nobody(make, file, tmp_path):
    """As the documentation says."""
    with make(file) as vault:
        vault.pseudonymise(table(), WHO, "research", name="visits")
        vault.erase(vault.find({"ssn": "222334444"}), reason="asked by letter")
    content = b"".join(files(tmp_path).values())
    assert all(one in content for one in (b"research", b"university", b"visits", b"born", b"asked by letter"))
    assert SSN.encode() not in content and b"222334444" not in content
