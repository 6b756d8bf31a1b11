"""Estimate: the collector's side. Reports are counted; shares follow, unbiased, with the noise that is in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from discreet.budget import Budget
from discreet.events import Pure
from discreet.local.decode import DECODERS, Decoder, Ints
from discreet.local.device import VERSION, Report
from discreet.local.shrink import shrink_shares
from discreet.local.survey import Survey, read_survey
from discreet.release import Release

Floats = NDArray[np.float64]


class Estimate:
    """Shares of all values of a survey, from reports.

    Parameters
    ----------
    survey : the survey, or its JSON.

    Attributes
    ----------
    n : how many reports were counted.
    refused : how many were not: of another survey, or impossible ones. Nothing else of them is kept.

    Notes
    -----
    A report is private before it gets here, so all of this is post-processing: it may be looked at, added up, and kept.
    Estimates are unbiased, and so may be below 0 or above 1. The standard deviation and the interval are of the noise
    *and* of who was asked: what is estimated is the share in the population that the people are drawn from.

    Examples
    --------
    >>> from discreet.local import Device
    >>> survey = Survey.choice("browser", ["A", "B", "C"], epsilon=2)
    >>> tally = Estimate(survey)
    >>> for browser in ["A"] * 300 + ["B"] * 100:
    ...     tally.add(Device(budget=2).answer(survey, browser))
    >>> tally.n, tally.refused, bool(abs(tally.value[0] - 0.75) < 0.3)
    (400, 0, True)
    """

    def __init__(self, survey: Survey | str | dict[str, Any]) -> None:
        self.survey = read_survey(survey)
        self.n = self.refused = 0
        self._decoder: Decoder = DECODERS[type(self.survey.design)](self.survey.design)
        self._counts: Ints = np.zeros(self._decoder.cells, np.int64)

    # -- reports -------------------------------------------------------------------------------------------------------

    def add(self, report: Any) -> None:
        """Count a report: a `Report`, its JSON or dictionary. One that cannot be is refused, and counted as such."""
        numbers = read_report(report, self.survey)
        if numbers is None or not self.survey.design.accepts(numbers):
            self.refused += 1
            return
        self.n += 1
        self._counts += self._decoder.tally(self._decoder.stack([numbers]))

    def add_many(self, reports: Any) -> None:
        """Count many: an array as `answer_many` returns it, a column of such numbers, or a list of reports."""
        if isinstance(reports, (list, tuple)) and any(isinstance(one, (Report, dict, str)) for one in reports):
            self._add_each(reports)
            return
        rows = np.asarray(reports)
        if rows.dtype == object and rows.ndim == 1 and len(rows):  # a column of lists
            self._add_rows([tuple(row) if np.ndim(row) else (row,) for row in rows])
            return
        sound = self._decoder.sound(rows)
        self.refused += int(len(rows) - sound.sum())
        rows = rows if sound.all() else rows[sound]
        if len(rows):
            self.n += len(rows)
            self._counts += self._decoder.tally(rows)

    def _add_each(self, reports: Iterable[Any]) -> None:
        read = [read_report(report, self.survey) for report in reports]
        self.refused += sum(numbers is None for numbers in read)
        self._add_rows([numbers for numbers in read if numbers is not None])

    def _add_rows(self, rows: list[tuple[int, ...]]) -> None:
        sound = [row for row in rows if _are_whole(row) and self.survey.design.accepts(row)]
        self.refused += len(rows) - len(sound)
        if sound:
            self.n += len(sound)
            self._counts += self._decoder.tally(self._decoder.stack(sound))

    def merge(self, other: Estimate) -> Estimate:
        """Both together; of the same survey."""
        if other.survey.digest != self.survey.digest:
            raise ValueError("Estimates of two surveys cannot be merged.")
        both = Estimate(self.survey)
        both.n, both.refused = self.n + other.n, self.refused + other.refused
        both._counts = self._counts + other._counts
        return both

    @classmethod
    def from_counts(cls, survey: Survey | str | dict[str, Any], counts: Any, n: int) -> Estimate:
        """From sums of reports alone, as a collector of secret shares hands them over.

        Parameters
        ----------
        survey : the survey.
        counts : how many reports there are of each kind ("direct": a value, "hadamard": a row, "projective": a point),
            or how many support each value ("subset", "oue", "sue", "hash").
        n : how many people reported.

        >>> survey = Survey.choice("smokes", [False, True], epsilon=1)
        >>> Estimate.from_counts(survey, [640, 360], 1000).value.round(2).tolist()
        [0.8, 0.2]
        """
        made = cls(survey)
        found = np.asarray(counts)
        if found.shape != made._counts.shape or found.dtype.kind not in "iu":
            raise ValueError(
                f"The `counts` of this survey must be {made._decoder.cells} whole numbers. Got shape {found.shape}."
            )
        if found.min() < 0 or found.max() > n:
            raise ValueError("The `counts` of a survey must be within 0 and n.")
        made.n, made._counts = int(n), found.astype(np.int64)
        return made

    @property
    def counts(self) -> Ints:
        """What the reports add up to: what `from_counts` takes."""
        return self._counts.copy()

    # -- SOLVE ---------------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Floats:
        """The share of each value, unbiased."""
        p, q = self.survey.design.rates
        return np.asarray((self._supported() - q) / (p - q))

    @property
    def std(self) -> Floats:
        """Its standard deviation."""
        p, q = self.survey.design.rates
        c = self._supported()
        return np.asarray(np.sqrt(np.clip(c * (1 - c), 0, None) / self._some()) / (p - q))

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """For each value, an interval of its share; Wilson's, of the share of supporting reports."""
        p, q = self.survey.design.rates
        c, n, z = self._supported(), self._some(), float(norm.ppf((1 + confidence) / 2))
        middle = (c + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(c * (1 - c) / n + z**2 / (4 * n**2))
        return (middle - half - q) / (p - q), (middle + half - q) / (p - q)

    def shares(self, *, shrink: bool = True) -> Floats:
        """The shares; with `shrink`, drawn towards what shares are like here, within 0 and 1.

        Shrunk shares are closer to the truth, most of all where there are many values, but biased: they come without
        standard deviations and intervals. Empirical Bayes: the noise is known, and so the law of the shares can be
        learnt from all of them together.
        """
        return shrink_shares(self.value, self.survey.design, self._some()) if shrink else self.value

    def table(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """For each value its share, the standard deviation, and the ends of the interval."""
        low, high = self.interval(confidence)
        columns = (self.survey.question.values, self.value.tolist(), self.std.tolist(), low.tolist(), high.tolist())
        names = ("value", "share", "std", "low", "high")
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @property
    def max_influence(self) -> float:
        """By how much one report, an invented one, can move the share of a value.

        It grows as ε falls, whatever the design. No survey can tell liars: let people report once, known to be people.
        """
        p, q = self.survey.design.rates
        return float(max(1 - q, q) / (p - q) / self._some())

    def release(self, confidence: float = 0.95) -> Release:
        """The shares with all that is to be known of them."""
        epsilon = float(self.survey.epsilon)
        return Release(
            name=self.survey.name,
            value=self.value,
            std=self.std,
            event=Pure(epsilon),
            budget=Budget(epsilon, 0.0, "replace-one", "person"),
            interval=self.interval(confidence),
            confidence=confidence,
            axes=(tuple(self.survey.question.values),),
            notes=("each person added noise of their own: the collector never saw an answer",),
        )

    def _supported(self) -> Floats:
        """The share of reports that support each value."""
        return np.asarray(self._decoder.support(self._counts, self.n) / self._some())

    def _some(self) -> int:
        if self.n == 0:
            raise ValueError("There are no reports yet, so that nothing can be estimated.")
        return self.n

    # -- to keep -------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """What was counted, as a document that `from_json` reads."""
        content = {"n": self.n, "refused": self.refused, "counts": self._counts.tolist()}
        return json.dumps({"discreet": "estimate", "version": 1, "survey": self.survey.to_dict(), **content})

    @classmethod
    def from_json(cls, text: str) -> Estimate:
        """The estimate that `to_json` wrote."""
        document = json.loads(text)
        if document.get("discreet") != "estimate" or document.get("version") != 1:
            raise ValueError("This is not an estimate of version 1 of discreet.")
        made = cls.from_counts(document["survey"], np.array(document["counts"], np.int64), document["n"])
        made.refused = int(document["refused"])
        return made

    def __repr__(self) -> str:
        return f"<Estimate of {self.survey.name!r} from {self.n} reports>"


def read_report(report: Any, survey: Survey) -> tuple[int, ...] | None:
    """The numbers of a report of this survey; None if it is none."""
    try:
        document = json.loads(report) if isinstance(report, str) else report
    except (ValueError, RecursionError):
        return None
    if isinstance(document, Report):
        return document.numbers if document.survey == survey.digest and _are_whole(document.numbers) else None
    if not isinstance(document, dict) or set(document) != {"v", "survey", "r"}:
        return None
    numbers = document["r"]
    known = document["v"] == VERSION and document["survey"] == survey.digest and isinstance(numbers, list)
    return tuple(numbers) if known and _are_whole(numbers) else None


def _are_whole(numbers: Iterable[Any]) -> bool:
    return all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) and abs(int(x)) < 1 << 62 for x in numbers)
