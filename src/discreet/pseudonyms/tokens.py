"""Tokens: the pseudonyms themselves. A token is an encrypted id with a check.

    token = version "1" + key id (6 characters) + base64url(C + T) (30 characters)
    C = AES-256 of the id under K1: one block, a permutation, so different ids have different tokens
    T = the first 6 bytes of AES-256 of C under K2

| question | answer |
| --- | --- |
| what does a token reverse to? | with the keys, to the id, which is random or a keyed hash; never to a name |
| do two people share a token? | only if they share an id: about n² / 2^129 for n people |
| can a token be made up? | without K2 each try passes with probability 2^-48 |
| how many texts has a token? | one: other spellings of the same bytes do not open |
| what does a one-way token reverse to? | to nothing, so it cannot be rotated to another key either |
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from discreet.pseudonyms.blocks import decrypted, encrypted
from discreet.pseudonyms.hashing import tags

Bytes = npt.NDArray[np.uint8]
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
REVERSIBLE, ONE_WAY = "1", "0"
ID, CHECK, KEY_ID, BODY = 16, 6, 6, 30
LENGTH = 1 + KEY_ID + BODY
# 22 bytes leave four bits of the last of 30 letters unused: they must be unset, or a token had 16 texts.
FORM = "^1[A-Za-z0-9_-]{35}[AQgw]$"


def new_key_id() -> str:
    """A random public name for the keys of one purpose, partner and version: 36 bits as 6 characters of base64url."""
    return "".join(chr(ALPHABET[secrets.randbelow(64)]) for _ in range(KEY_ID))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TokenKeys:
    """The keys of one purpose, partner and version.

    Parameters
    ----------
    key_id : their public name, 6 characters of base64url.
    cipher, check : K1 and K2, 32 bytes each.
    """

    key_id: str
    cipher: bytes = field(repr=False)
    check: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.key_id) != KEY_ID or not set(self.key_id.encode("utf-8", "replace")) <= set(ALPHABET):
            raise ValueError(f"The `key_id` of token keys must be {KEY_ID} characters of base64url.")
        if len(self.cipher) != 32 or len(self.check) != 32 or self.cipher == self.check:
            raise ValueError("The `cipher` and `check` of token keys must be two different keys of 32 bytes.")

    def __repr__(self) -> str:
        return f"<TokenKeys {self.key_id}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse: a pickle would hold the keys in clear."""
        raise TypeError("TokenKeys are secret and cannot be pickled or copied.")


@dataclass(frozen=True, repr=False, eq=False)
class Opened:
    """What tokens reverse to.

    Parameters
    ----------
    ids : (n, 16); zeros where a token does not open.
    ok : (n,); whether it does.
    """

    ids: Bytes
    ok: npt.NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"<Opened: {len(self.ok)} tokens, {int((~self.ok).sum())} do not open>"


def seal(ids: Bytes, keys: TokenKeys) -> pl.Series:
    """The token of each id.

    Parameters
    ----------
    ids : (n, 16) bytes.
    keys : of one purpose, partner and version.

    >>> keys = TokenKeys("AAAAAA", bytes(32), bytes(31) + b"1")
    >>> seal(np.zeros((1, 16), np.uint8), keys).to_list()
    ['1AAAAAA3JXAeKJAiYmtSKIUkoQgh4SHy_pViA']
    """
    block = encrypted(_blocks(ids), keys.cipher)
    check = encrypted(block, keys.check)[:, :CHECK]
    return _written(REVERSIBLE, keys.key_id, np.hstack([block, check]))


def one_way(ids: Bytes, keys: TokenKeys) -> pl.Series:
    """Tokens that nothing reverses: BLAKE2b of the id, 22 bytes, under a key made of K1 and K2.

    They have the form of other tokens, with version "0". They do not open, so they can be neither mapped back nor moved
    to new keys; whoever holds ids and keys can still compute them again.
    """
    key = blake2b(b"discreet one-way token", key=keys.cipher + keys.check, digest_size=32).digest()
    flat = _blocks(ids).tobytes()
    blocks = [flat[start : start + ID] for start in range(0, len(flat), ID)]
    return _written(ONE_WAY, keys.key_id, tags(blocks, key, size=ID + CHECK))


def opened(tokens: pl.Series, keys: Mapping[str, TokenKeys]) -> Opened:
    """The ids of tokens.

    Parameters
    ----------
    tokens : text; nulls do not open.
    keys : token keys by key id.

    A token opens if it has the one right length, version, alphabet and unused bits, its key id is known, and its check
    is that of its block. One-way tokens do not open.
    """
    tokens = tokens.cast(pl.String) if tokens.dtype in (pl.Categorical, pl.Enum) else tokens
    ids, ok = np.zeros((len(tokens), ID), dtype=np.uint8), np.zeros(len(tokens), dtype=bool)
    if tokens.dtype != pl.String:
        return Opened(ids, ok)
    rows = tokens.str.contains(FORM).fill_null(False).arg_true()
    texts = tokens.gather(rows)
    body, named = _read(texts), texts.str.slice(1, KEY_ID)
    for key_id, pair in keys.items():
        mine = (named == key_id).to_numpy()
        block, check = body[mine, :ID], body[mine, ID:]
        good = (encrypted(block, pair.check)[:, :CHECK] == check).all(axis=1)
        places = rows.to_numpy()[mine][good]
        ids[places], ok[places] = decrypted(block[good], pair.cipher), True
    return Opened(ids, ok)


def plain_texts(values: pa.Array) -> pl.Series:
    r"""Bytes of ASCII as text; others are no tokens, perhaps no text at all, and are left out.

    >>> plain_texts(pa.array([b"1AAAAAA", b"\xfc", None])).to_list()
    ['1AAAAAA']
    """
    plain = values.filter(pc.match_substring_regex(values, "^[ -~]*$"))
    return pl.Series(pl.from_arrow(plain.cast(pa.large_string())))


def key_ids(tokens: pl.Series) -> list[str]:
    """The distinct key ids that well-formed tokens name, whether reversible or one-way; nothing is checked."""
    texts = tokens.drop_nulls()
    named = texts.filter(texts.str.contains("^[01][A-Za-z0-9_-]{36}$")).str.slice(1, KEY_ID)
    found: list[str] = named.unique().sort().to_list()
    return found


def _blocks(ids: Bytes) -> Bytes:
    if ids.dtype != np.uint8 or ids.ndim != 2 or ids.shape[1] != ID:
        raise ValueError(f"The `ids` must be a (n, {ID}) array of uint8. Got {ids.shape} of {ids.dtype}.")
    return ids


def _written(version: str, key_id: str, body: Bytes) -> pl.Series:
    """Texts of one width, through one base64 call over rows padded to 24 bytes."""
    n = len(body)
    padded = np.zeros((n, 24), dtype=np.uint8)
    padded[:, : ID + CHECK] = body
    code = np.frombuffer(base64.urlsafe_b64encode(padded.tobytes()), dtype=np.uint8).reshape(n, 32)
    letters = np.empty((n, LENGTH), dtype=np.uint8)
    letters[:, : 1 + KEY_ID] = np.frombuffer((version + key_id).encode(), dtype=np.uint8)
    letters[:, 1 + KEY_ID :] = code[:, :BODY]
    offsets = np.arange(0, (n + 1) * LENGTH, LENGTH, dtype=np.int64)
    texts = pa.LargeStringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(letters))
    return pl.Series("pseudonym", pl.from_arrow(texts))


def _read(texts: pl.Series) -> Bytes:
    """The 22 bytes of each text of the right form, through one base64 call over rows padded to 32 letters."""
    column = texts.to_arrow().cast(pa.large_string())
    _, offsets, letters = column.buffers()
    start = int(np.frombuffer(offsets, dtype=np.int64)[column.offset]) if len(texts) else 0
    flat = np.frombuffer(letters or b"", dtype=np.uint8)[start : start + len(texts) * LENGTH]
    code = np.full((len(texts), 32), ord("A"), dtype=np.uint8)
    code[:, :BODY] = flat.reshape(-1, LENGTH)[:, 1 + KEY_ID :]
    return np.frombuffer(base64.urlsafe_b64decode(code.tobytes()), dtype=np.uint8).reshape(-1, 24)[:, : ID + CHECK]
