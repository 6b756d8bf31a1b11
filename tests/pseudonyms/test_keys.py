"""Keys: derived apart, wrapped so that only the secret opens them, never shown."""

import copy
import gc
import hashlib
import hmac
import json
import os
import pickle
import stat

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import VersionError
from discreet.pseudonyms.errors import Tampered, VaultError, WrongKey
from discreet.pseudonyms.keys import KeyFile, Master, Passphrase, unwrap, wrap
from discreet.pseudonyms.tokens import TokenKeys

pytestmark = pytest.mark.catalogue("PS1")

WORDS = "correct horse battery staple"


def hkdf(content, info):
    """One block of HKDF-SHA256 without salt, by its definition (RFC 5869)."""
    prk = hmac.new(bytes(32), content, hashlib.sha256).digest()
    return hmac.new(prk, info + b"\x01", hashlib.sha256).digest()


def test_known_answers_of_derived_keys():
    master = Master(bytes(range(32)))
    head = b"28:discreet vault, keys, form 1,"
    assert master.derive("lookup") == hkdf(bytes(range(32)), head + b"6:lookup,")
    assert master.derive("use", "é") == hkdf(bytes(range(32)), head + b"3:use,2:\xc3\xa9,")
    tail = b"5:study,1:2,6:AbC-_9,7:partner,12:university-x,"
    assert master.token_keys("study", "university-x", 2, "AbC-_9") == (
        hkdf(bytes(range(32)), head + b"12:token cipher," + tail),
        hkdf(bytes(range(32)), head + b"11:token check," + tail),
    )


PARTS = st.lists(st.text(st.sampled_from("ab:,0123"), max_size=5), max_size=3)


@given(one=PARTS, two=PARTS)
def test_different_parts_give_different_keys(one, two):
    master = Master(bytes(range(32)))
    assert (master.derive("x", *one) == master.derive("x", *two)) == (one == two)


def test_token_keys_of_all_kinds_differ():
    master = Master.random()
    asked = [
        ("p", None, 1, "AAAAAA"),
        ("p", None, 1, "AAAAAB"),
        ("p", "", 1, "AAAAAA"),
        ("p", "holder", 1, "AAAAAA"),
        ("p", "partner", 1, "AAAAAA"),
        ("p", None, 2, "AAAAAA"),
        ("p", "1", 1, "AAAAAA"),
        ("p1", None, 1, "AAAAAA"),
    ]
    found = [key for parts in asked for key in master.token_keys(*parts)]
    assert len(set(found)) == 2 * len(asked) and {len(key) for key in found} == {32}


def test_arguments_of_keys():
    master = Master.random()
    for version in (0, -1, True, "1"):
        with pytest.raises(ValueError, match="version"):
            master.token_keys("p", None, version, "AAAAAA")
    with pytest.raises(ValueError, match="label"):
        master.derive("")
    with pytest.raises(ValueError, match="valid Unicode"):
        master.derive("use", "\ud800")
    with pytest.raises(ValueError, match="32 bytes"):
        Master(b"short")


def test_secrets_are_not_shown_copied_or_pickled(tmp_path):
    token_keys = TokenKeys("AbC-_9", b"CANARY" + bytes(26), b"canary" + bytes(26))
    secrets = [Master(b"CANARY" + bytes(26)), Passphrase("CANARY words"), token_keys]
    for secret in secrets:
        shown = repr(secret) + str(secret) + f"{secret}" + repr([secret])
        assert "CANARY" not in shown.upper() and repr(secret).startswith("<")
        assert not hasattr(secret, "__dict__")
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="secret"):
                act(secret)
    assert repr(secrets[0]) == "<Master>" and repr(secrets[1]) == "<Passphrase>"
    assert repr(KeyFile.create(tmp_path / "CANARY")) == "<KeyFile>"


def test_closed_secrets_are_zeroed_and_refuse():
    master = Master(b"\x01" * 32)
    content = master._bytes
    master.close()
    assert not content
    with pytest.raises(VaultError, match="closed"):
        master.derive("lookup")
    master.close()
    other = Master(b"\x01" * 32)
    content = other._bytes
    del other
    gc.collect()
    assert not content


@pytest.fixture(scope="module")
def by_passphrase():
    """A master key and its document; scrypt takes a while."""
    master = Master.random()
    return master, wrap(master, Passphrase(WORDS))


@pytest.fixture
def by_file(tmp_path):
    master, secret = Master.random(), KeyFile.create(tmp_path / "key")
    return master, wrap(master, secret), secret


def test_a_passphrase_opens(by_passphrase):
    master, document = by_passphrase
    stored = json.loads(json.dumps(document))
    assert unwrap(stored, Passphrase(WORDS)).derive("x") == master.derive("x")
    assert (document["n"], document["r"], document["p"]) == (2**17, 8, 1)
    assert set(document) == {"form", "kind", "salt", "n", "r", "p", "nonce", "check", "sealed"}


def test_known_answer_of_the_wrapping(by_passphrase):
    master, document = by_passphrase
    salt = bytes.fromhex(document["salt"])
    both = hashlib.scrypt(WORDS.encode(), salt=salt, n=2**17, r=8, p=1, maxmem=2**28, dklen=64)
    assert document["check"] == both[32:].hex()
    header = {name: value for name, value in document.items() if name != "sealed"}
    associated = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    sealed, nonce = bytes.fromhex(document["sealed"]), bytes.fromhex(document["nonce"])
    assert Master(AESGCM(both[:32]).decrypt(nonce, sealed, associated)).derive("x") == master.derive("x")


def test_a_wrong_passphrase_says_so(by_passphrase):
    with pytest.raises(WrongKey, match="does not open") as caught:
        unwrap(by_passphrase[1], Passphrase("CANARY words"))
    assert "CANARY" not in str(caught.value)


def test_normal_forms_of_a_passphrase_are_one():
    assert Passphrase("Zoe\u0308 zo\u00eb")._content() == Passphrase("Zo\u00eb zoe\u0308")._content()


@pytest.mark.parametrize(
    "costs",
    [{"n": 2**16}, {"n": 2}, {"n": 2**17 + 1}, {"n": 0}, {"n": -(2**17)}, {"r": 7}, {"r": 1}, {"p": 0}, {"p": 5},
     {"n": 2**31}, {"r": 2**20}, {"r": 65}, {"n": 2**21}, {"n": "131072"}, {"n": 131072.0}, {"p": True}, {"n": None},
     {"n": 10**400}],
)  # fmt: skip
def test_costs_out_of_bounds_are_refused_before_any_work(by_passphrase, costs, monkeypatch):
    monkeypatch.setattr("discreet.pseudonyms.keys.Scrypt", None)  # must not be reached
    with pytest.raises(Tampered, match="out of bounds"):
        unwrap({**by_passphrase[1], **costs}, Passphrase(WORDS))


def test_costs_within_bounds_are_tried(by_passphrase):
    with pytest.raises(WrongKey):
        unwrap({**by_passphrase[1], "p": 2}, Passphrase(WORDS))


def test_a_key_file_opens(by_file):
    master, document, secret = by_file
    assert unwrap(document, secret).derive("x") == master.derive("x")
    assert set(document) == {"form", "kind", "salt", "nonce", "check", "sealed"}
    assert wrap(master, secret)["sealed"] != document["sealed"]


def test_another_key_file_does_not(by_file, tmp_path):
    with pytest.raises(WrongKey, match="does not open"):
        unwrap(by_file[1], KeyFile.create(tmp_path / "other"))


def test_the_kind_of_secret_must_match(by_file, by_passphrase):
    with pytest.raises(WrongKey, match="opens with a key file"):
        unwrap(by_file[1], Passphrase(WORDS))
    with pytest.raises(WrongKey, match="opens with a passphrase"):
        unwrap(by_passphrase[1], by_file[2])
    with pytest.raises(TypeError, match="Passphrase or a KeyFile"):
        unwrap(by_file[1], "CANARY")


def test_one_flipped_bit_anywhere_is_detected(by_file):
    _, document, secret = by_file
    for name in ("salt", "nonce", "check", "sealed"):
        content = bytearray.fromhex(document[name])
        for bit in range(8 * len(content)):
            content[bit // 8] ^= 1 << bit % 8
            with pytest.raises((Tampered, WrongKey)) as caught:
                unwrap({**document, name: content.hex()}, secret)
            content[bit // 8] ^= 1 << bit % 8
        assert caught.type is (Tampered if name in ("nonce", "sealed") else WrongKey)


def test_other_forms_of_a_document_are_refused(by_file, by_passphrase):
    _, document, secret = by_file
    changes = [{"salt": document["salt"].upper()}, {"salt": document["salt"][:-2]}, {"more": 1}, {"form": True},
               {"form": 0}, {"form": "1"}, {"kind": ["key file"]}, {"sealed": document["sealed"] + "00"},
               {"n": 2**17, "r": 8, "p": 1},
               {"nonce": 3}, {"kind": "none"}]  # fmt: skip
    for change in changes:
        with pytest.raises(Tampered):
            unwrap({**document, **change}, secret)
    for name in document:
        with pytest.raises(Tampered):
            unwrap({key: value for key, value in document.items() if key != name}, secret)
    with pytest.raises(VersionError, match="newer"):
        unwrap({**document, "form": 2}, secret)
    with pytest.raises((Tampered, WrongKey)):
        unwrap({**by_passphrase[1], "kind": "key file"}, secret)


def test_passphrases_are_checked():
    for wrong in ("", None, 5):
        with pytest.raises(ValueError, match="not empty"):
            Passphrase(wrong)
    with pytest.raises(ValueError, match="valid Unicode"):
        Passphrase("long enough \ud800")
    with pytest.raises(ValueError, match="at least 8"):
        wrap(Master.random(), Passphrase("short"))


def test_key_files_are_their_owners_alone(tmp_path):
    path = tmp_path / "key"
    KeyFile.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    with pytest.raises(VaultError, match="not written over"):
        KeyFile.create(path)
    assert path.read_bytes() == content
    for mode in (0o640, 0o604, 0o620, 0o644):
        os.chmod(path, mode)
        with pytest.raises(VaultError, match="chmod 600"):
            wrap(Master.random(), KeyFile(path))
    os.chmod(path, 0o400)
    wrap(Master.random(), KeyFile(path))


def test_key_files_hold_a_key_and_nothing_else(tmp_path):
    path = tmp_path / "key"
    for content in (
        b"",
        b"ab" * 31,
        b"ab" * 33,
        b"AB" * 32,
        b"xy" * 32,
        b"ab" * 32 + b"\n\n\nmore",
        b"ab" * 32 + b"\n\n",
        b" " + b"ab" * 32,
        bytes(32),
    ):
        path.write_bytes(content)
        os.chmod(path, 0o600)
        with pytest.raises(WrongKey, match="64 hexadecimal digits") as caught:
            wrap(Master.random(), KeyFile(path))
        assert "abab" not in str(caught.value)
    with pytest.raises(VaultError, match="cannot be read"):
        wrap(Master.random(), KeyFile(tmp_path / "none"))
    with pytest.raises(VaultError):
        wrap(Master.random(), KeyFile(tmp_path))


def test_a_key_file_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.pseudonyms.keyfile.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        KeyFile.create(tmp_path / "key")
    assert not (tmp_path / "key").exists()
