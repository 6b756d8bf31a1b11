"""Keyed tags: what a vault keeps instead of an identity."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import polars as pl


def tags(messages: Sequence[bytes] | pl.Series, key: bytes, size: int = 16) -> npt.NDArray[np.uint8]:
    """BLAKE2b of each message under a key, (n, size): a pseudorandom function of the message (RFC 7693, section 2.9).

    Parameters
    ----------
    messages : bytes, or a binary column without nulls.
    key : 32 bytes.
    size : bytes of a tag. Two of n different messages share a tag with probability about n² / 2^(8 size + 1).

    >>> tags([b"one", b"two"], bytes(32)).shape
    (2, 16)
    """
    if len(key) != 32:
        raise ValueError(f"The `key` of tags must be 32 bytes long. Got {len(key)}.")
    keyed = blake2b(key=key, digest_size=size)  # the key's own block is compressed once, then copied
    found = []
    for message in _listed(messages):
        tag = keyed.copy()
        tag.update(message)
        found.append(tag.digest())
    return np.frombuffer(bytearray().join(found), dtype=np.uint8).reshape(-1, size)


def _listed(messages: Sequence[bytes] | pl.Series) -> Sequence[bytes]:
    if not isinstance(messages, pl.Series):
        return messages
    if messages.has_nulls():
        raise ValueError(f"The `messages` of tags must hold no nulls. Got {messages.null_count()}.")
    listed: list[bytes] = messages.to_list()
    return listed
