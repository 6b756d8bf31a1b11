"""Columns and single values of any type as text, before a field reads them."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

LIMITS: dict[Any, int] = {pl.Float32: 2**24, pl.Float64: 2**53}  # at or above, a float stands for several whole numbers
NARROW = {np.float16: 2**11, np.float32: 2**24}
ABSENT = ("NAType", "NaTType")  # of pandas, which need not be installed


def written(values: pl.Series) -> pl.Series:
    """A column as text: "" where a float is NaN, null where a value has no one text (fractions, Booleans ...)."""
    kind = values.dtype
    if kind == pl.String:
        return values
    if kind.is_integer() or kind in (pl.Categorical, pl.Enum):
        return values.cast(pl.String)
    if kind.is_float():
        return _whole(values)
    if kind.is_decimal():
        return values.cast(pl.String).str.replace("\\.0+$", "")
    return pl.Series(values.name, [None], dtype=pl.String).new_from_index(0, len(values))


def _whole(values: pl.Series) -> pl.Series:
    limit = LIMITS.get(values.dtype, 2**11)
    fits = (values.abs() < limit) & (values == values.floor())
    return values.cast(pl.Int64, strict=False).cast(pl.String).set(~fits, None).set(values.is_nan(), "")


def described(value: Any, days: bool) -> str | None:
    """One Python value as text: "" where it is missing, None where it has no one text.

    Parameters
    ----------
    value : any object.
    days : whether dates are wanted; otherwise they have no text.
    """
    if value is None or type(value).__name__ in ABSENT:
        return ""
    limit = NARROW.get(type(value), 2**53)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else str(int(value)) if abs(value) < limit and value.is_integer() else None
    if isinstance(value, int) and not isinstance(value, bool):
        return _numeral(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    return _day(value) if days and isinstance(value, datetime.date) else None


def _encodable(value: str) -> str | None:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return str(value)


def _numeral(value: int) -> str | None:
    return str(value) if value.bit_length() < 1024 else None  # far below the length at which str() refuses


def _decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return ""
    if not value.is_finite() or abs(value.adjusted()) > 300 or value != value.to_integral_value():
        return None
    return str(int(value))


def _day(value: datetime.date) -> str | None:
    if isinstance(value, datetime.datetime):
        if value.time() != datetime.time.min:
            return None
        value = value.date()
    return value.isoformat()
