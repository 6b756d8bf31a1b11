"""Fields: what an identifier is, and which spellings of it are one.

| kind | spellings of one value | does not parse |
| --- | --- | --- |
| `digits` | 123, 123.0, "123", "123.0", " 1-2 3 ", "00123" | signs, letters, fractions |
| `integer` | -5, "-5.0", "-005" | separators, fractions |
| `text` | "Zoë  Ash", " ZOË ASH", composed or not | U+FFFD, which stands for a lost character |
| `email` | "A@b.org ", "a@B.org" | not one @ |
| `date` | date(1980, 1, 31), "1980-01-31", "19800131" | "01/02/1980" unless declared, a time of day |
| `exact` | what is the same in normal form C | U+FFFD |

| rule | values, the default first |
| --- | --- |
| `width` of digits | None (leading zeros are dropped), or the number of digits (filled with zeros; more do not parse) |
| `prefix` of digits | "", or what may stand in front |
| `case`, `spaces`, `accents` of text | "fold", "keep"; "collapse", "remove"; "keep", "drop" |
| `format` of date | None, "day-first", "month-first", or directives such as "%d %b %Y" |

Nulls, NaN and text with nothing in it are *missing*. "NA" or "null" as text are not: they are names that people have.
A column of Booleans, lists or bytes does not parse. A `float32` parses below 2^24, a `float64` below 2^53: above, one
float stands for several whole numbers, and two people would become one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.pseudonyms.dates import ORDERS, date, written_days
from discreet.pseudonyms.numbers import digits, integer
from discreet.pseudonyms.texts import email, exact, text
from discreet.pseudonyms.values import described, written

Rule = str | int | None
KINDS: dict[str, Callable[..., pl.Series]] = {
    "digits": digits, "integer": integer, "text": text, "email": email, "date": date, "exact": exact,
}  # fmt: skip
DEFAULTS: dict[str, dict[str, Rule]] = {
    "digits": {"width": None, "prefix": ""},
    "text": {"case": "fold", "spaces": "collapse", "accents": "keep"},
    "date": {"format": None},
}
CHOICES: dict[str, tuple[str, ...]] = {
    "case": ("fold", "keep"), "spaces": ("collapse", "remove"), "accents": ("keep", "drop"),
}  # fmt: skip
SHORT = {"digits": "width", "date": "format"}  # what stands after the colon of "digits:9"


@dataclass(frozen=True, repr=False)
class Parsed:
    """A column after parsing; its repr shows counts alone.

    Parameters
    ----------
    values : canonical strings; null where missing or bad.
    missing : nothing was there.
    bad : something was there that does not parse.
    """

    values: pl.Series
    missing: pl.Series
    bad: pl.Series

    def __repr__(self) -> str:
        return f"<Parsed: {len(self.values)} values, {self.missing.sum()} missing, {self.bad.sum()} bad>"


@dataclass(frozen=True, init=False, repr=False)
class Field:
    """A kind of identifier with its rules.

    Parameters
    ----------
    kind : one of the kinds above.
    rules : as in the table above; what is not given has its default.

    >>> ssn = Field("digits", width=9)
    >>> ssn.canonical(pl.Series([" 123-45-6789", "12345678.0", "none"])).values.to_list()
    ['123456789', '012345678', None]
    >>> Field.of("digits:9") == ssn
    True
    """

    kind: str
    rules: tuple[tuple[str, Rule], ...]

    def __init__(self, kind: str, **rules: Rule) -> None:
        if kind not in KINDS:
            raise ValueError(f"The `kind` of a field must be one of {', '.join(KINDS)}. Got {kind!r}.")
        known = DEFAULTS.get(kind, {})
        for name, value in rules.items():
            _check(kind, name, value, known)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "rules", tuple({**known, **rules}.items()))

    @classmethod
    def of(cls, description: Field | str | Mapping[str, Any]) -> Field:
        """A field from itself, from its document, or from short text such as "digits:9" or "date:day-first"."""
        if isinstance(description, Field):
            return description
        if isinstance(description, Mapping):
            return cls(**description)
        kind, colon, rule = description.partition(":")
        if not colon:
            return cls(kind)
        if kind not in SHORT:
            raise ValueError(f"A field of kind {kind!r} takes no rule after a colon. Hint: Field({kind!r}, rule=...).")
        return cls(kind, **{SHORT[kind]: int(rule) if rule.isascii() and rule.isdigit() else rule})

    def document(self) -> dict[str, Rule]:
        """The field as JSON can hold it."""
        return {"kind": self.kind, **dict(self.rules)}

    def canonical(self, values: pl.Series) -> Parsed:
        """Parse a column of any type; nothing is raised for a value, whatever it is."""
        source = self._text(values)
        form = KINDS[self.kind](source, **dict(self.rules))
        missing = (form == "").fill_null(False) | values.is_null()
        form = form.set(missing, None) if missing.any() else form
        return Parsed(form.alias(values.name), missing, form.is_null() & ~missing)

    def _text(self, values: pl.Series) -> pl.Series:
        if values.dtype == pl.Object:
            return pl.Series([described(value, self.kind == "date") for value in values], dtype=pl.String)
        if self.kind == "date" and values.dtype in (pl.Date, pl.Datetime):
            return written_days(values)
        return written(values)

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.rules if DEFAULTS[self.kind][name] != value]
        return f"Field({', '.join([repr(self.kind), *changed])})"


def _check(kind: str, name: str, value: Rule, known: Mapping[str, Rule]) -> None:
    if name not in known:
        raise ValueError(f"A field of kind {kind!r} has no rule `{name}`. Known: {', '.join(known) or 'none'}.")
    if name in CHOICES and value not in CHOICES[name]:
        raise ValueError(f"The `{name}` of a field must be one of {', '.join(CHOICES[name])}. Got {value!r}.")
    if name == "width" and value is not None and (type(value) is not int or not 1 <= value <= 64):
        raise ValueError(f"The `width` of digits must be a whole number from 1 to 64. Got {value!r}.")
    if name == "prefix" and not (isinstance(value, str) and re.fullmatch("([A-Za-z+#:/.]{1,16})?", value)):
        raise ValueError(f"The `prefix` of digits must be at most 16 ASCII letters or + # : / . Got {value!r}.")
    if name == "format" and value is not None:
        _check_format(value)


def _check_format(value: Rule) -> None:
    if value in ORDERS:
        return
    directives = re.findall("%(.?)", value) if isinstance(value, str) else []
    if sorted(directives) not in (["Y", "d", "m"], ["B", "Y", "d"], ["Y", "b", "d"]):
        raise ValueError(
            f"The `format` of a date must be day-first, month-first, or hold %d, %m (or %b, %B) and %Y once each. "
            f"Got {value!r}."
        )
    assert isinstance(value, str)
    if re.match(" *%Y", value):
        raise ValueError(f"The `format` of a date must not begin with the year, which is always read. Got {value!r}.")
