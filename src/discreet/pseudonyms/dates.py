"""Fields of days: `date`."""

from __future__ import annotations

import datetime

import polars as pl

from discreet.pseudonyms.characters import numerals
from discreet.pseudonyms.texts import replaced

FIRST = datetime.date(1000, 1, 1)  # a year with fewer digits is a short form of another
ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MIDNIGHT = "[T ]00:00(?::00(?:\\.0+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?$"
YEAR_FIRST = "^[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}$"
YEAR_LAST = "^[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}$"
ORDERS = {"day-first": (3, 0), "month-first": (0, 3)}  # where month and day begin, the year last


def date(values: pl.Series, *, format: str | None) -> pl.Series:
    """Days as YYYY-MM-DD; "" where the text is blank, null where it does not parse.

    Parameters
    ----------
    values : strings; see `written_days` for columns of dates.
    format : how days are written besides year first: "day-first", "month-first" or directives of strptime.
        Without it only the year first (1980-01-31, 1980/1/31, 19800131) is read, for 01/02/1980 is two days.

    A time of day other than midnight does not parse: a day moved into another time zone may be another day.
    """
    if not values.str.contains(ISO).all() or values.has_nulls():
        values = _iso(values, format)
    known = values.str.to_date("%Y-%m-%d", strict=False) >= FIRST
    return values.set(~known.fill_null(False) & (values != ""), None)


def written_days(values: pl.Series) -> pl.Series:
    """A column of dates or times as text; null where the time of day is not midnight."""
    if values.dtype == pl.Date:
        return values.dt.strftime("%Y-%m-%d")
    local = values.dt.replace_time_zone(None)
    day = local.dt.truncate("1d")
    return day.dt.strftime("%Y-%m-%d").set(day != local, None)


def _iso(values: pl.Series, format: str | None) -> pl.Series:
    values = replaced(values, values, values.str.len_bytes() != values.str.len_chars(), numerals).str.strip_chars()
    short = values.str.replace(MIDNIGHT, "") if values.str.contains(":", literal=True).any() else values
    if format is None:
        short = short.str.replace("^([0-9]{4})([0-9]{2})([0-9]{2})$", "${1}-${2}-${3}")
    day = _arranged(short, YEAR_FIRST, 0, 5, 8)
    if format in ORDERS:
        day = day.zip_with(day.is_not_null(), _arranged(short, YEAR_LAST, 6, *ORDERS[format]))
    elif format is not None:
        day = day.zip_with(day.is_not_null(), short.str.to_date(format, strict=False).dt.strftime("%Y-%m-%d"))
    return day.set(values == "", "")


def _arranged(values: pl.Series, pattern: str, year: int, month: int, day: int) -> pl.Series:
    """Texts that fit the pattern as YYYY-MM-DD, parts taken from these places; null for others. Days may not exist."""
    fits = values.str.contains(pattern)
    if not fits.any():
        return values.clear(len(values))
    values = values.set(~fits, None)
    if (values.str.len_bytes() < 10).any():
        values = values.str.replace_all("\\b([0-9])\\b", "0${1}")
    return values.str.slice(year, 4) + "-" + values.str.slice(month, 2) + "-" + values.str.slice(day, 2)
