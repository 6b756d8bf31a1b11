"""Coins by place: a pseudo-random function under a fresh key, so that work done twice draws the same coins.

A lot is a sample with coins of its own, one for each unit, or for each row where no unit is given. They are not drawn
one after the other but looked up by the unit's name or the row's place: a task that a cluster repeats, or runs twice at
once, finds the same ones. They are never looked up by what a row holds, else equal rows would share a coin.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.mechanisms.keystream import Keystream, zeros

_SHORT, _LONG, _UNIT = 0, 1, 2  # what is looked up: in the first byte of a block, so that no two share one


class Coins:
    """The coins of one lot; AES-256 of the place under a key that is drawn for it.

    Parameters
    ----------
    key : 32 bytes; `Coins.draw_key` draws them.

    >>> coins = Coins.draw_key(Keystream.seeded(1))
    >>> whole = coins.look_up_heads(0, 1000, 0.5)
    >>> bool((np.concatenate([coins.look_up_heads(0, 7, 0.5), coins.look_up_heads(7, 1000, 0.5)]) == whole).all())
    True
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def draw_key(cls, rng: Keystream) -> Coins:
        """Coins that nobody has seen."""
        return cls(rng.u8(32).tobytes())

    def look_up_heads(self, start: int, stop: int, rate: float) -> NDArray[np.bool_]:
        """For each of the places start .. stop-1, heads with probability ⌊2^64·rate⌋/2^64.

        16 bits decide nearly all of them, 48 more the rest.
        """
        top = int(rate * 2.0**64)
        if top >= 1 << 64:
            return np.ones(stop - start, dtype=bool)
        bits = self._read_stream(_SHORT, 2 * start, 2 * stop).view("<u2")
        heads: NDArray[np.bool_] = bits < np.uint16(top >> 48)
        ties = np.flatnonzero(bits == np.uint16(top >> 48))
        if len(ties):
            more = self._encrypt_places(_LONG, (ties.astype(np.uint64) + np.uint64(start)))
            heads[ties] = more >> np.uint64(16) < np.uint64(top & ((1 << 48) - 1))
        return heads

    def look_up_words(self, start: int, stop: int) -> NDArray[np.uint64]:
        """For each of the places start .. stop-1, 64 fair bits."""
        return self._read_stream(_LONG, 8 * start, 8 * stop).view("<u8")

    def look_up_unit_words(self, names: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """For each unit, 64 fair bits; `names` are 15 bytes each, as `engines.units` makes them."""
        blocks = np.empty((len(names), 16), np.uint8)
        blocks[:, 0], blocks[:, 1:] = _UNIT, names
        return self._encrypt_blocks(blocks)

    def _encrypt_places(self, kind: int, places: NDArray[np.uint64]) -> NDArray[np.uint64]:
        blocks = np.zeros((len(places), 16), np.uint8)
        blocks[:, 0], blocks[:, 1] = kind, 1  # apart from the blocks of a stream, whose second byte is 0
        blocks[:, 8:] = places.astype(">u8")[:, None].view(np.uint8)
        return self._encrypt_blocks(blocks)

    def _encrypt_blocks(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint64]:
        made = Cipher(algorithms.AES(self._key), modes.ECB()).encryptor().update(blocks.tobytes())
        return np.frombuffer(made, "<u8")[::2]

    def _read_stream(self, kind: int, start: int, stop: int) -> NDArray[np.uint8]:
        """Bytes start .. stop-1 of a stream of counter mode: its blocks are (kind, 0, ..., number of the block)."""
        first = start // 16
        counter = bytes([kind]) + first.to_bytes(15, "big")
        made = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor().update(zeros(stop - 16 * first))
        return np.frombuffer(made, np.uint8)[start - 16 * first :]
