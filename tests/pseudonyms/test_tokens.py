"""Tokens: one text each, reversible with the keys alone, and no bit of them can change."""

import base64
import hashlib
import os

import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from hypothesis import given
from hypothesis import strategies as st

from discreet.pseudonyms.hashing import tags
from discreet.pseudonyms.tokens import ALPHABET, TokenKeys, key_ids, new_key_id, one_way, opened, seal

pytestmark = pytest.mark.catalogue("PS1")

K1, K2 = bytes(range(32)), bytes(range(32, 64))
KEYS = TokenKeys("AbC-_9", K1, K2)
OTHER = TokenKeys("other0", K2, K1)
BOTH = {keys.key_id: keys for keys in (KEYS, OTHER)}
IDS = np.random.default_rng(5).integers(0, 256, (300, 16), dtype=np.uint8)


def block(key, content):
    return Cipher(AES(key), ECB()).encryptor().update(content)


def test_known_answers():
    # FIPS 197, appendix C.3: AES-256 of 00112233...ff under 000102...1f.
    known = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), dtype=np.uint8).reshape(1, 16)
    code = bytes.fromhex("8ea2b7ca516745bfeafc49904b496089")
    body = base64.urlsafe_b64encode(code + block(K2, code)[:6]).rstrip(b"=").decode()
    assert seal(known, KEYS).to_list() == ["1AbC-_9" + body]
    for row, token in zip(IDS, seal(IDS, KEYS), strict=True):
        code = block(K1, row.tobytes())
        body = base64.urlsafe_b64encode(code + block(K2, code)[:6]).rstrip(b"=").decode()
        assert token == "1AbC-_9" + body and len(token) == 37


def test_known_answers_of_one_way_tokens():
    key = hashlib.blake2b(b"discreet one-way token", key=K1 + K2, digest_size=32).digest()
    for row, token in zip(IDS[:20], one_way(IDS[:20], KEYS), strict=True):
        digest = hashlib.blake2b(row.tobytes(), key=key, digest_size=22).digest()
        assert token == "0AbC-_9" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_known_answers_of_tags():
    messages = [b"", b"one", bytes(1000), b"x" * 128]
    found = tags(messages, K1, 16)
    assert found.shape == (4, 16) and found.dtype == np.uint8
    for message, tag in zip(messages, found, strict=True):
        assert tag.tobytes() == hashlib.blake2b(message, key=K1, digest_size=16).digest()
    assert (tags(pl.Series(messages, dtype=pl.Binary), K1) == found).all()
    assert tags([], K1).shape == (0, 16) and tags([b"a"], K1, 8).tobytes() != found[:1, :8].tobytes()


def test_tags_check_their_arguments():
    with pytest.raises(ValueError, match="32 bytes"):
        tags([b"a"], b"")
    with pytest.raises(ValueError, match="must hold no nulls"):
        tags(pl.Series([b"CANARY", None]), K1)


def test_round_trip():
    found = opened(seal(IDS, KEYS), BOTH)
    assert found.ok.all() and (found.ids == IDS).all()
    assert repr(found) == "<Opened: 300 tokens, 0 do not open>"


@given(content=st.binary(max_size=160))
def test_round_trip_of_any_ids(content):
    ids = np.frombuffer(content[: len(content) // 16 * 16], dtype=np.uint8).reshape(-1, 16)
    tokens = seal(ids, KEYS)
    found = opened(tokens, BOTH)
    assert found.ok.all() and (found.ids == ids).all() and tokens.n_unique() == len(np.unique(ids, axis=0))


def test_no_tokens():
    none = seal(np.zeros((0, 16), np.uint8), KEYS)
    assert none.dtype == pl.String and len(none) == 0 and opened(none, BOTH).ids.shape == (0, 16)
    assert len(one_way(np.zeros((0, 16), np.uint8), KEYS)) == 0


def test_rows_of_a_slice_are_those_rows():
    tokens = seal(IDS, KEYS)
    assert (opened(tokens[100:200], BOTH).ids == IDS[100:200]).all()
    assert (opened(tokens.gather_every(3), BOTH).ids == IDS[::3]).all()
    assert seal(IDS[::2], KEYS).to_list() == tokens.gather_every(2).to_list()
    assert (opened(tokens.cast(pl.Categorical), BOTH).ids == IDS).all()


def test_tokens_of_two_keys_in_one_column():
    mixed = pl.concat([seal(IDS[:100], KEYS), seal(IDS[100:], OTHER)]).sample(fraction=1, shuffle=True, seed=1)
    found = opened(mixed, BOTH)
    assert found.ok.all() and {row.tobytes() for row in found.ids} == {row.tobytes() for row in IDS}
    alone = opened(mixed, {"other0": OTHER})
    assert alone.ok.sum() == 200 and not alone.ids[~alone.ok].any()
    assert key_ids(mixed) == ["AbC-_9", "other0"]


def test_keys_of_others_open_nothing():
    assert not opened(seal(IDS, KEYS), {"AbC-_9": TokenKeys("AbC-_9", K1, K1[::-1])}).ok.any()
    assert not opened(seal(IDS, KEYS), {}).ok.any()


def test_one_flipped_bit_anywhere_is_detected():
    token = seal(IDS[:1], KEYS)[0].encode()
    changed = []
    for bit in range(7 * len(token)):  # the eighth would not be ASCII, and is tried below
        letters = bytearray(token)
        letters[bit // 7] ^= 1 << bit % 7
        changed.append(letters.decode())
    assert not opened(pl.Series(changed), BOTH).ok.any()


def test_one_changed_letter_anywhere_is_detected():
    token = seal(IDS[:1], KEYS)[0]
    every = ALPHABET.decode() + "=+/ é\x00\n"
    changed = [token[:at] + letter + token[at + 1 :] for at in range(37) for letter in every if letter != token[at]]
    found = opened(pl.Series(changed), BOTH)
    assert not found.ok.any() and not found.ids.any()


def test_a_token_has_one_text():
    token = seal(IDS[:1], KEYS)[0]
    last = ALPHABET.decode().index(token[-1])
    assert last % 16 == 0
    same_bytes = [token[:-1] + ALPHABET.decode()[last + low] for low in range(1, 16)]
    for text in same_bytes:
        assert base64.urlsafe_b64decode(text[7:] + "==") == base64.urlsafe_b64decode(token[7:] + "==")
    others = [token + "=", token + "==", token + "\n", " " + token, token[:-1], token[:7], "", token + token,
              token + "A",
              token.replace("-", "+").replace("_", "/"), token.upper(), token + "\x00", None]  # fmt: skip
    assert not opened(pl.Series(same_bytes + [text for text in others if text != token]), BOTH).ok.any()
    assert opened(pl.Series([token]), BOTH).ok.all()


def test_one_way_tokens_do_not_open():
    tokens = one_way(IDS, KEYS)
    assert tokens.n_unique() == 300 and tokens.str.starts_with("0AbC-_9").all() and (tokens.str.len_bytes() == 37).all()
    assert not opened(tokens, BOTH).ok.any()
    assert not opened("1" + tokens.str.slice(1), BOTH).ok.any()
    assert one_way(IDS, KEYS).equals(tokens) and not set(one_way(IDS, OTHER)) & set(tokens)


def test_columns_that_hold_no_text_do_not_open():
    for column in (pl.Series([1, 2]), pl.Series([None, None]), pl.Series([b"x", None])):
        found = opened(column, BOTH)
        assert found.ids.shape == (2, 16) and not found.ok.any()


@given(texts=st.lists(st.text(max_size=45) | st.text(st.sampled_from("1AbC-_9w"), min_size=37, max_size=37)))
def test_made_up_tokens_do_not_open(texts):
    texts = [text for text in texts if text.isprintable()]
    assert not opened(pl.Series(texts, dtype=pl.String), BOTH).ok.any()


@pytest.mark.catalogue("PS2")
def test_tokens_of_two_purposes_share_nothing():
    """Bodies of the same ids under two keys: no equal 4-letter piece at the same place beyond chance.

    300 pairs at 7 places: the number of equal pieces is below 2100 / 2^24 on average, so one at all has probability
    1.3e-4, and two or more 8e-9, which is the false-alarm rate; keys and ids are fixed.
    """
    one, two = (seal(IDS, keys).str.slice(7).to_list() for keys in (KEYS, OTHER))
    equal = sum(a[at : at + 4] == b[at : at + 4] for a, b in zip(one, two, strict=True) for at in range(0, 28, 4))
    assert equal < 2


def test_key_ids():
    found = {new_key_id() for _ in range(200)}
    assert len(found) == 200 and all(TokenKeys(key_id, K1, K2).key_id == key_id for key_id in found)
    assert key_ids(pl.Series([None, "", "junk", "1" + "A" * 35], dtype=pl.String)) == []


@pytest.mark.parametrize("key_id", ["", "short", "toolong", "abc de", "abcdé", "é" * 3, "abc\ud80012", "abc+/="])
def test_key_ids_are_checked(key_id):
    with pytest.raises(ValueError, match="key_id"):
        TokenKeys(key_id, K1, K2)


def test_keys_are_checked():
    for cipher, check in ((K1[:16], K2), (K1, K2[:31]), (K1, K1), (b"", b"")):
        with pytest.raises(ValueError, match="32 bytes"):
            TokenKeys("AAAAAA", cipher, check)
    for ids in (np.zeros((2, 15), np.uint8), np.zeros(16, np.uint8), np.zeros((1, 16))):
        with pytest.raises(ValueError, match="uint8"):
            seal(ids, KEYS)


def test_collisions_are_those_of_ids():
    ids = np.frombuffer(os.urandom(16 * 20_000), dtype=np.uint8).reshape(-1, 16)
    assert seal(ids, KEYS).n_unique() == len(np.unique(ids, axis=0))
