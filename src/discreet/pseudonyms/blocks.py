"""AES-256 of single blocks: a keyed permutation of 16 bytes, for all rows in one call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

Bytes = npt.NDArray[np.uint8]
SIZE = 16


def encrypted(blocks: Bytes, key: bytes) -> Bytes:
    """The image of each row, (n, 16)."""
    # one block each: a permutation of 2^128 values, not encryption of a text in ECB mode
    return _through(Cipher(AES(key), ECB()).encryptor().update(_flat(blocks)))


def decrypted(blocks: Bytes, key: bytes) -> Bytes:
    """The row of each image.

    >>> rows = np.arange(32, dtype=np.uint8).reshape(2, 16)
    >>> bool((decrypted(encrypted(rows, bytes(32)), bytes(32)) == rows).all())
    True
    """
    return _through(Cipher(AES(key), ECB()).decryptor().update(_flat(blocks)))


def _flat(blocks: Bytes) -> bytes:
    if blocks.ndim != 2 or blocks.shape[1] != SIZE or blocks.dtype != np.uint8:
        raise ValueError(f"Blocks are an array of bytes of shape (n, {SIZE}).")
    return blocks.tobytes()


def _through(content: bytes) -> Bytes:
    return np.frombuffer(content, np.uint8).reshape(-1, SIZE)
