"""Fields of digits: `digits` (numbers that name; leading zeros are shape) and `integer` (numbers that count)."""

from __future__ import annotations

import polars as pl

from discreet.pseudonyms.characters import numerals
from discreet.pseudonyms.texts import replaced

WHOLE = 2**53  # a float at or above this may stand for several whole numbers


def digits(values: pl.Series, *, width: int | None, prefix: str) -> pl.Series:
    """Digits alone: "" where the text is blank, null where it does not parse.

    Parameters
    ----------
    values : strings. Spaces and hyphens may stand between digits; a fraction may be there if it is zero.
    width : digits are filled with zeros to this width and more do not parse; None: leading zeros are dropped.
    prefix : dropped from the front where it is there, in capitals or small letters, with separators after it.
    """
    if not values.str.contains("^[0-9]+$").all() or values.has_nulls():
        values = _bare(values, prefix)
    if width is None:
        return _unpadded(values)
    return values.set((values.str.len_bytes() > width), None).str.zfill(width).set(values == "", "")


def integer(values: pl.Series) -> pl.Series:
    """A whole number without leading zeros, with its minus; "" where blank, null where it does not parse."""
    values = _ascii(values).str.strip_chars()
    sign = values.str.starts_with("-")
    size = _unpadded(_whole(values.str.replace("^[+-]", ""), "^[0-9]+(?:\\.0+)?$").set(values == "", ""))
    return ("-" + size).zip_with(sign & (size != "0"), size)


def _bare(values: pl.Series, prefix: str) -> pl.Series:
    values = _ascii(values).str.strip_chars()
    blank = values == ""
    if prefix:
        front = values.str.slice(0, len(prefix)).str.to_lowercase() == prefix.lower()
        values = values.str.slice(len(prefix)).str.strip_chars_start(" -").zip_with(front, values)
    bare = _whole(values, "^[0-9]+(?:[ -]+[0-9]+)*(?:\\.0+)?$")
    if bare.str.contains("[ -]").any():
        bare = bare.str.replace_all("[ -]", "")
    return bare.set(blank, "")


def _whole(values: pl.Series, pattern: str) -> pl.Series:
    """What fits the pattern, without its fraction; a number written with a point obeys the limit of floats."""
    values = values.set(~values.str.contains(pattern), None)
    pointed = values.str.contains(".", literal=True)
    if not pointed.any():
        return values
    values = values.str.replace("\\.0+$", "")
    size = values.str.replace_all("[ -]", "").str.strip_chars_start("0")
    large = (size.str.len_bytes() > 16) | ((size.str.len_bytes() == 16) & (size >= str(WHOLE)))
    return values.set(pointed & large, None)


def _unpadded(values: pl.Series) -> pl.Series:
    short = values.str.strip_chars_start("0")
    return short.set((short == "") & (values != ""), "0")


def _ascii(values: pl.Series) -> pl.Series:
    return replaced(values, values, values.str.len_bytes() != values.str.len_chars(), numerals)
