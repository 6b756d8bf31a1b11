"""Fair bits: AES-256 in counter mode, keyed by the operating system.

Everything random in this library is a function of such bits. A keystream made by `Keystream()` is secure.
One made by `Keystream.seeded` repeats itself, for tests and studies, and says so: its `secure` is False.

A process that forks would share its key with its child, and so the noise: in the child every secure keystream
is keyed anew. For the same reason a keystream can be neither copied nor pickled. (Copies made from outside,
such as a restored snapshot of a virtual machine, are beyond the reach of a library.)
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from typing import Any, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.arguments import is_whole

_ZEROS = memoryview(bytes(1 << 20))  # counter mode turns zeros into keystream
_REFILL = 4096  # bytes taken at once for scalar requests


class Keystream:
    """An endless stream of fair bits.

    >>> rng = Keystream.seeded(1)
    >>> rng.secure, rng.u8(4).dtype.name, 0 <= rng.bits(100) < 2**100
    (False, 'uint8', True)
    """

    def __init__(self) -> None:
        self.secure = True
        self._key(os.urandom(32))
        _SECURE.add(self)

    @classmethod
    def seeded(cls, seed: int) -> Keystream:
        """A stream that depends on `seed` alone: never for a release."""
        if not is_whole(seed):
            raise TypeError(f"The `seed` of Keystream must be a whole number. Got {seed!r}.")
        stream = cls.__new__(cls)
        stream.secure = False
        stream._key(hashlib.sha256(b"discreet/keystream/seed\0%d" % int(seed)).digest())
        return stream

    def _key(self, key: bytes) -> None:
        # A new lock as well: at a fork another thread, which the child lacks, may have held the old one.
        self._lock = threading.Lock()
        self._encrypt = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update
        self._words: list[int] = []

    def _bytes(self, count: int) -> bytes:
        with self._lock:
            return self._encrypt(zeros(count))

    def u64(self, n: int) -> NDArray[np.uint64]:
        """`n` words of 64 bits."""
        return np.frombuffer(self._bytes(8 * n), dtype="<u8")

    def u16(self, n: int) -> NDArray[np.uint16]:
        """`n` words of 16 bits."""
        return np.frombuffer(self._bytes(2 * n), dtype="<u2")

    def u8(self, n: int) -> NDArray[np.uint8]:
        """`n` bytes."""
        return np.frombuffer(self._bytes(n), dtype=np.uint8)

    def word(self) -> int:
        """One word of 64 bits; buffered, for scalar work."""
        try:
            return self._words.pop()  # atomic, so no two threads get the same word
        except IndexError:
            fresh: list[int] = self.u64(_REFILL // 8).tolist()
            word = fresh.pop()
            self._words.extend(fresh)
            return word

    def bits(self, k: int) -> int:
        """A whole number uniform on 0 .. 2^k - 1."""
        value = 0
        for _ in range(-(-k // 64)):
            value = value << 64 | self.word()
        return value >> (-k % 64)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A Keystream cannot be copied or pickled: two copies would add the same noise.")


_SECURE: weakref.WeakSet[Keystream] = weakref.WeakSet()


def _after_fork() -> None:
    for stream in list(_SECURE):
        stream._key(os.urandom(32))


if hasattr(os, "register_at_fork"):  # not where nothing forks
    os.register_at_fork(after_in_child=_after_fork)
_DEFAULT = Keystream()


def zeros(count: int) -> memoryview | bytes:
    """So many bytes of zero: what counter mode turns into keystream."""
    return _ZEROS[:count] if count <= len(_ZEROS) else bytes(count)


def default() -> Keystream:
    """The secure keystream that this process shares.

    >>> default().secure
    True
    """
    return _DEFAULT
