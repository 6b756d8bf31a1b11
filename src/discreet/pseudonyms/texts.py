"""Fields of words: `text`, `email` and `exact`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from unicodedata import combining, normalize

import polars as pl

from discreet.pseudonyms.characters import plain, trusted


def text(values: pl.Series, *, case: str, spaces: str, accents: str) -> pl.Series:
    """One form for all spellings of a text; "" where nothing is left, null where a character cannot be trusted.

    Parameters
    ----------
    values : strings.
    case : "fold" (one form for capitals and small letters) or "keep".
    spaces : "collapse" (runs become one space, none at the ends) or "remove".
    accents : "keep" or "drop" (marks above, below and through letters; ø and ß are letters of their own).
    """
    words = values.str.to_lowercase() if case == "fold" else values
    words = _spaced(words, spaces)
    return replaced(
        words, values, values.str.contains("[^ -~]"), partial(_folded, case=case, spaces=spaces, accents=accents)
    )


def email(values: pl.Series) -> pl.Series:
    """An address as folded text without spaces; null unless it has one @ with something on both sides."""
    words = text(values, case="fold", spaces="remove", accents="keep")
    fits = words.str.contains("^[^@]+@[^@]+$") | (words == "")
    return words.set(~fits, None)


def exact(values: pl.Series) -> pl.Series:
    """The text itself in normal form C; "" where it is empty."""
    return replaced(values, values, values.str.len_bytes() != values.str.len_chars(), _composed)


def replaced(
    values: pl.Series, source: pl.Series, odd: pl.Series, rewritten: Callable[[list[str]], Sequence[str | None]]
) -> pl.Series:
    """Values, but where `odd` the source rewritten in Python, all texts in one call."""
    places = odd.fill_null(False).arg_true()
    if places.is_empty():
        return values
    texts = rewritten(source.gather(places).to_list())
    return values.clone().scatter(places, pl.Series(texts, dtype=pl.String))


def _spaced(words: pl.Series, spaces: str) -> pl.Series:
    if spaces == "remove":
        return words.str.replace_all(" ", "", literal=True)
    words = words.str.strip_chars(" ")
    if words.str.contains("  ", literal=True).any():
        words = words.str.replace_all(" {2,}", " ")
    return words


def _composed(texts: list[str]) -> list[str | None]:
    return [normalize("NFC", text) if good else None for text, good in zip(texts, trusted(texts), strict=True)]


def _folded(texts: list[str], case: str, spaces: str, accents: str) -> list[str | None]:
    shown = plain(texts)
    believed = trusted(shown)
    # One long text of many lines: a line end folds to itself, composes with nothing, and marks do not move past it.
    lines = normalize("NFD", "\n".join(text if good else "" for text, good in zip(shown, believed, strict=True)))
    if case == "fold":
        # Canonical caseless matching: decompose, fold, decompose (The Unicode Standard, section 3.13, D145).
        lines = normalize("NFD", lines.casefold())
    if accents == "drop":
        lines = lines.translate({ord(letter): None for letter in set(lines) if _is_accent(letter)})
    lines = (
        lines.replace(" ", "") if spaces == "remove" else re.sub(" *\n *", "\n", re.sub(" +", " ", lines)).strip(" ")
    )
    forms = normalize("NFC", lines).split("\n")
    return [form if good else None for form, good in zip(forms, believed, strict=True)]


def _is_accent(letter: str) -> bool:
    # Classes of marks that stand above, below or across a letter; vowel signs and viramas have others.
    place = combining(letter)
    return place == 1 or place >= 200
