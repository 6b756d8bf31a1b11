"""Netstrings: bytes that tell their own length, so that a run of them is read back in one way only."""

from __future__ import annotations

import contextlib


def netstring(text: str | bytes) -> bytes:
    r"""The length in decimal, a colon, the bytes, a comma.

    >>> netstring("née")
    b'4:n\xc3\xa9e,'
    """
    content = text if isinstance(text, bytes) else encoded(text)
    return b"%d:%b," % (len(content), content)


def netstrings(*texts: str | bytes) -> bytes:
    """A run of netstrings; no two lists have the same, for each is cut off the front in one way only.

    >>> netstrings("a", "bc") != netstrings("ab", "c") != netstrings("abc")
    True
    """
    return b"".join(map(netstring, texts))


def encoded(text: str) -> bytes:
    """UTF-8; half of a surrogate pair is refused without showing the text."""
    with contextlib.suppress(UnicodeEncodeError):  # what Python raises has the whole text: it is not even the context
        return text.encode()
    raise ValueError("The text must be valid Unicode. It holds half of a surrogate pair.")
