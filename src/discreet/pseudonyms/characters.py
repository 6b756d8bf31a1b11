"""Which characters of an identifier count, which are only shape, and which cannot be trusted.

The lists are fixed here and do not follow the Unicode version of Python. Normal form C and case folding are stable:
text of assigned characters keeps its form in every later version of Unicode (Unicode Standard Annex 15, section 3;
Character Encoding Stability Policies). Unassigned characters do not parse. So what parses today reads the same later.

| character | what becomes of it |
| --- | --- |
| white space of any kind, tabs and line ends too | a space |
| control characters, zero-width ones, marks of direction, soft hyphens, variation selectors | removed |
| U+FFFD, which stands for a lost character; unassigned characters; halves of surrogates | the value does not parse |
| more than 30 marks on one letter, which would take hours to sort | the value does not parse |
"""

from __future__ import annotations

import re
from unicodedata import category, combining, decimal, normalize

SPACES = (*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
INVISIBLE = (
    *range(0x00, 0x09), *range(0x0E, 0x20), *range(0x7F, 0x85), *range(0x86, 0xA0),  # controls
    0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810),
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164,
    *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC), *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
)  # fmt: skip
HYPHENS = (*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63, 0xFF0D)
SHAPE: dict[int, str | None] = {**dict.fromkeys(INVISIBLE), **dict.fromkeys(SPACES, " ")}
DASHES: dict[int, str | None] = {**SHAPE, **dict.fromkeys(HYPHENS, "-")}
ODD = {chr(letter) for letter in SHAPE} - {" "}
LOST = "\ufffd"
MARKS = 30  # in one run; sorting more takes the square of their number (Unicode Standard Annex 15, section 13)


def plain(texts: list[str]) -> list[str]:
    r"""Texts without invisible characters, and with every white space a space.

    >>> plain(["a\tb", "soft\xadly"])
    ['a b', 'softly']
    """
    return [text.translate(SHAPE) for text in texts] if letters(texts) & ODD else texts


def trusted(texts: list[str]) -> list[bool]:
    r"""Whether each text has only characters that can be trusted, and no run of marks longer than 30.

    >>> trusted(["Zoë", "Zo\ufffd", "e" + 30 * "\u0301", "e" + 31 * "\u0301"])
    [True, False, True, False]
    """
    found = letters(texts)
    doubtful = {letter for letter in found if letter == LOST or category(letter) in ("Cn", "Cs")}
    marks = "".join(letter for letter in found if combining(normalize("NFD", letter)[0]))
    long = re.compile(f"[{re.escape(marks)}]{{{MARKS + 1}}}") if marks else None
    return [not doubtful.intersection(text) and not (long and long.search(text)) for text in texts]


def numerals(texts: list[str]) -> list[str]:
    r"""Digits of every script as 0 to 9, dashes as hyphens, the rest as in `plain`.

    >>> numerals(["\u0661\u0662\u2013\uff13"])
    ['12-3']
    """
    table = DASHES | {ord(letter): str(decimal(letter)) for letter in letters(texts) if decimal(letter, -1) >= 0}
    return [text.translate(table) for text in texts]


def letters(texts: list[str]) -> set[str]:
    """The distinct characters of texts."""
    return set("".join(texts))
