"""Which values a published label stands for, read as an attacker reads it.

| label | stands for |
| --- | --- |
| `Paris` | itself |
| `10-19`, `10 to 19`, `[10, 20)`, `[10, 20[` | the numbers between; `[` and `]` facing inwards include the end |
| `2024-03`, `2024-Q1`, `2024`, `2020s`, `2024-03-01 to 2024-03-09` | the days in it, where the values are days |
| `654**`, `**321` | values that begin (end) so, and are no longer |
| `{a | b}` | a and b |
| `*` | everything |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
CLOSED = re.compile(rf"({NUMBER})\s*(?:-|–|\bto\b)\s*({NUMBER})")
BRACKETS = re.compile(rf"([\[\](])\s*({NUMBER})\s*[,;]\s*({NUMBER})\s*([\[\])])")
PERIOD = re.compile(r"(\d{4})(?:(s)|-Q([1-4])|-(\d\d))?")
END = "\U0010ffff"


class Values:
    """The distinct values of an attacker's column, laid out so that the values of a label are found fast.

    Examples
    --------
    >>> values = Values(["9", "10", "15", "20", "654"])
    >>> [values.words[i] for i in values.covered("10-19")], [values.words[i] for i in values.covered("[10, 20]")]
    (['10', '15'], ['10', '15', '20'])
    >>> [values.words[i] for i in values.covered("65*")], len(values.covered("*"))
    (['654'], 5)
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.place = {word: i for i, word in enumerate(self.words)}
        self.lengths = np.array([len(word) for word in self.words], dtype=np.int64)
        self.ahead = np.array(self.words, dtype=object)
        self.forward = np.argsort(self.ahead, kind="stable") if self.words else np.zeros(0, dtype=np.int64)
        self.behind = np.array([word[::-1] for word in self.words], dtype=object)
        self.backward = np.argsort(self.behind, kind="stable") if self.words else np.zeros(0, dtype=np.int64)
        self.days = all(_day(word) is not None for word in self.words)
        numbers = np.array([_number(word, self.days) for word in self.words], dtype=np.float64)
        self.by_size = np.argsort(numbers, kind="stable")  # NaN, for words, comes last
        self.numbers = numbers[self.by_size]

    def covered(self, label: str) -> Ints:
        """The places of the values that a label stands for."""
        if label in self.place:
            return np.array([self.place[label]])
        if label and set(label) == {"*"}:
            return np.arange(len(self.words))
        if label.startswith("{") and label.endswith("}"):
            return self.named(label[1:-1].split(" | "))
        if self.days:
            return self._between(*_period(label), True, True)
        if "*" in label:
            return self._masked(label)
        return self._interval(label)

    def named(self, words: Sequence[str]) -> Ints:
        """The places of those of the words that are here."""
        return np.array([self.place[word] for word in words if word in self.place], dtype=np.int64)

    def _interval(self, label: str) -> Ints:
        plain, bracketed = CLOSED.fullmatch(label), BRACKETS.fullmatch(label)
        if plain:
            return self._between(float(plain[1]), float(plain[2]), True, True)
        if bracketed:
            return self._between(float(bracketed[2]), float(bracketed[3]), bracketed[1] == "[", bracketed[4] == "]")
        return np.zeros(0, dtype=np.int64)

    def _between(self, low: float, high: float, with_low: bool, with_high: bool) -> Ints:
        first = np.searchsorted(self.numbers, low, side="left" if with_low else "right")
        last = np.searchsorted(self.numbers, high, side="right" if with_high else "left")
        return self.by_size[first:last]

    def _masked(self, label: str) -> Ints:
        if label.endswith("*"):
            return self._begins(self.ahead, self.forward, label.rstrip("*"), len(label))
        if label.startswith("*"):
            return self._begins(self.behind, self.backward, label.lstrip("*")[::-1], len(label))
        return np.zeros(0, dtype=np.int64)

    def _begins(self, words: npt.NDArray[np.object_], order: Ints, start: str, longest: int) -> Ints:
        first, last = (np.searchsorted(words, end, sorter=order) for end in (start, start + END))
        found = order[first:last]
        return found[self.lengths[found] <= longest]


def _number(word: str, days: bool) -> float:
    if days:
        day = _day(word)
        return float(day.toordinal()) if day else np.nan
    return float(word) if re.fullmatch(NUMBER, word) else np.nan


def _day(word: str) -> date | None:
    try:
        return date.fromisoformat(word) if len(word) == 10 else None
    except ValueError:
        return None


def _period(label: str) -> tuple[float, float]:
    """The first and the last day of a period; of anything else an empty one."""
    ends = [_day(word) for word in label.split(" to ")]
    found = PERIOD.fullmatch(label)
    if len(ends) == 2 and ends[0] and ends[1]:
        return ends[0].toordinal(), ends[1].toordinal()
    if not found or (found[4] and not 1 <= int(found[4]) <= 12):
        return 1.0, 0.0
    year, decade, quarter, month = int(found[1]), found[2], found[3], found[4]
    first = date(year, int(month) if month else 3 * int(quarter) - 2 if quarter else 1, 1)
    months = 120 if decade else 3 if quarter else 1 if month else 12
    after = first.month - 1 + months
    last = date(year + after // 12, after % 12 + 1, 1) - timedelta(1)
    return first.toordinal(), last.toordinal()
