"""Estimate: the collector's side. Reports are added up; shares and means follow, with their standard deviations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from discreet.arguments import is_whole
from discreet.budget import Budget
from discreet.errors import NotSupported
from discreet.events import Pure
from discreet.local.decode import DECODERS, OneOfDecoder
from discreet.local.decoder import Decoder, Ints
from discreet.local.device import VERSION, Report
from discreet.local.distribution import Distribution, make_consistent, make_rising, reconstruct_shares
from discreet.local.lasting import Rappor
from discreet.local.lines import WindowDesign
from discreet.local.shrink import shrink_shares
from discreet.local.survey import Survey, read_survey
from discreet.local.words import decode_words
from discreet.release import Release

Floats = NDArray[np.float64]


class Estimate:
    """Shares, means or mean vectors, from reports.

    Parameters
    ----------
    survey : the survey, or its JSON.

    Attributes
    ----------
    n : the number of reports that were counted.
    refused : the number of reports that were not: of another survey, or impossible. Nothing else of them is kept.

    Notes
    -----
    Reports are private when they arrive, so everything here is post-processing: it may be shown, added up and kept.
    Estimates are unbiased, so they may be below 0 or above 1. The standard deviation and the interval cover the noise
    *and* the sampling: the estimate is for the population that the people are drawn from.

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
        self._decoder: Decoder = DECODERS[type(self.survey.design)](self.survey.design, self.survey.question)
        self._counts: Ints = np.zeros(self._decoder.cell_count, np.int64)

    # -- reports -------------------------------------------------------------------------------------------------------

    def add(self, report: Any) -> None:
        """Count a report: a `Report`, its JSON or dictionary. An impossible one is refused and counted in `refused`."""
        numbers = read_report(report, self.survey)
        if numbers is None or not self.survey.design.accepts(numbers):
            self.refused += 1
            return
        self.n += 1
        self._counts += self._decoder.count_reports(self._decoder.stack_reports([numbers]))

    def add_many(self, reports: Any) -> None:
        """Count many reports: an array as `answer_many` returns it, a column of such numbers, or a list of reports."""
        if isinstance(reports, dict):
            self._add_parts(reports)
            return
        if isinstance(reports, (list, tuple)) and any(isinstance(one, (Report, dict, str)) for one in reports):
            self._add_each(reports)
            return
        rows = np.asarray(reports)
        if rows.dtype == object and rows.ndim == 1 and len(rows):  # a column of lists
            self._add_rows([tuple(row) if np.ndim(row) else (row,) for row in rows])
            return
        sound = self._decoder.find_valid(rows)
        self.refused += int(len(rows) - sound.sum())
        rows = rows if sound.all() else rows[sound]
        if len(rows):
            self.n += len(rows)
            self._counts += self._decoder.count_reports(rows)

    def _add_parts(self, reports: dict[int, Any]) -> None:
        """Count reports of several questions, given by the number of the question."""
        if not isinstance(self._decoder, OneOfDecoder) or not set(reports) <= set(range(len(self._decoder.parts))):
            raise ValueError("These reports are by question, and this survey has no such questions.")
        kept = {}
        for i, rows in reports.items():
            sound = self._decoder.parts[i].find_valid(np.asarray(rows))
            self.refused += int(len(rows) - sound.sum())
            kept[i] = np.asarray(rows)[sound]
        self.n += sum(map(len, kept.values()))
        self._counts += self._decoder.count_reports(kept)

    def _add_each(self, reports: Iterable[Any]) -> None:
        read = [read_report(report, self.survey) for report in reports]
        self.refused += sum(numbers is None for numbers in read)
        self._add_rows([numbers for numbers in read if numbers is not None])

    def _add_rows(self, rows: list[tuple[int, ...]]) -> None:
        sound = [row for row in rows if _are_whole(row) and self.survey.design.accepts(row)]
        self.refused += len(rows) - len(sound)
        if sound:
            self.n += len(sound)
            self._counts += self._decoder.count_reports(self._decoder.stack_reports(sound))

    def merge(self, other: Estimate) -> Estimate:
        """The estimate from both sets of reports, of the same survey."""
        if other.survey.digest != self.survey.digest:
            raise ValueError("Estimates of two surveys cannot be merged.")
        both = Estimate(self.survey)
        both.n, both.refused = self.n + other.n, self.refused + other.refused
        both._counts = self._counts + other._counts
        return both

    @classmethod
    def from_counts(cls, survey: Survey | str | dict[str, Any], counts: Any, n: int) -> Estimate:
        """The estimate from counts of reports, as a collector of secret shares delivers them.

        Parameters
        ----------
        survey : the survey.
        counts : the number of reports of each kind ("direct": a value, "hadamard": a row, "projective": a point), or
            the number that support each value ("subset", "oue", "sue", "hash"); for numbers, the `counts` of another
            estimate.
        n : the number of people who reported.

        >>> survey = Survey.choice("smokes", [False, True], epsilon=1)
        >>> Estimate.from_counts(survey, [640, 360], 1000).value.round(2).tolist()
        [0.8, 0.2]
        """
        made = cls(survey)
        found = np.asarray(counts)
        if found.shape != made._counts.shape or found.dtype.kind not in "iu":
            size = made._decoder.cell_count
            raise ValueError(f"The `counts` of this survey must be {size} whole numbers. Got shape {found.shape}.")
        if not made._decoder.accepts_counts(found, n):
            raise ValueError("The `counts` of a survey must be those of n reports, within 0 and n.")
        made.n, made._counts = int(n), found.astype(np.int64)
        return made

    @property
    def counts(self) -> Ints:
        """The counts of reports, as `from_counts` takes them."""
        return self._counts.copy()

    # -- SOLVE ---------------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The unbiased share of each value, or the mean, or the mean vector."""
        return self._decoder.estimate(self._counts, self._count_some())

    @property
    def std(self) -> Any:
        """The standard deviation of each estimate."""
        return self._decoder.estimate_std(self._counts, self._count_some())

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """The interval of each estimate."""
        return self._decoder.estimate_interval(self._counts, self._count_some(), float(norm.ppf((1 + confidence) / 2)))

    def part(self, name: str) -> Estimate:
        """The estimate of one of several questions, from those who answered it."""
        if not isinstance(self._decoder, OneOfDecoder) or name not in getattr(self.survey.question, "names", ()):
            raise ValueError(f"The survey {self.survey.name!r} has no question {name!r} among several.")
        i = self.survey.question.names.index(name)
        n, counts = self._decoder.split_counts(self._counts)[i]
        question, design = self.survey.question.parts[i], self.survey.design.parts[i]
        alone = Survey(f"{self.survey.name}: {name}", question, self.survey.epsilon, design)
        return Estimate.from_counts(alone, counts, n)

    def words(self, candidates: Sequence[str], *, unbiased: bool = False) -> dict[str, tuple[float, float]]:
        """Shares of words, of a RAPPOR survey, with their standard deviations.

        Parameters
        ----------
        candidates : possible words; reports of other words are spread over them.
        unbiased : use least squares, whose shares are unbiased but may be negative; otherwise none is negative.
        """
        if not isinstance(self.survey.design, Rappor):
            raise NotSupported("Only a survey of text has words. Hint: `value` has the shares of a choice.")
        decoder: Any = self._decoder
        people, _ = decoder.split_counts(self._counts)
        n = self._count_some()
        return decode_words(self.survey.design, decoder.estimate(self._counts, n), people, list(candidates), unbiased)

    def distribution(self) -> Distribution:
        """The distribution of a number, for a survey made by `Survey.distribution`."""
        n, question, design = self._count_some(), self.survey.question, self.survey.design
        if question.kind == "tree":
            tree: Any = self._decoder
            levels = [np.asarray(shares) for shares in tree.estimate(self._counts, n)]
            mass = make_rising(make_consistent(levels, question.base))
            edges = np.linspace(0, 1, len(mass) + 1)
        elif isinstance(design, WindowDesign) and type(design) is WindowDesign:
            mass = reconstruct_shares(self._counts, design)
            # a level is a point of the grid, and its cell extends half a step to either side
            edges = np.clip((np.arange(design.size + 1) - 0.5) / (design.size - 1), 0, 1)
        else:
            raise NotSupported("This survey estimates a mean. Hint: Survey.distribution estimates a distribution.")
        low, high = map(float, question.ends)
        return Distribution(low + (high - low) * edges, mass)

    def shares(self, *, shrink: bool = True) -> Floats:
        """The shares; with `shrink`, shrunk by empirical Bayes to lie within 0 and 1.

        Shrunk shares are closer to the truth, most of all where there are many values, but biased, so they have no
        standard deviations and intervals. The law of the noise is known, so the prior can be estimated from all shares
        together.
        """
        if self.survey.question.kind != "choice":
            raise NotSupported("Only a choice has shares. Hint: `value` is the mean of a number or a vector.")
        return shrink_shares(self.value, self.survey.design, self._count_some()) if shrink else np.asarray(self.value)

    def table(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """For each value its share or mean, the standard deviation, and the ends of the interval."""
        if isinstance(self._decoder, OneOfDecoder):
            raise NotSupported("There is a table for each question. Hint: `part(name).table()`, or `distribution()`.")
        low, high = self.interval(confidence)
        columns = [np.atleast_1d(column).tolist() for column in (self.value, self.std, low, high)]
        names = ("value", self.survey.question.measure, "std", "low", "high")
        return [dict(zip(names, row, strict=True)) for row in zip(self._list_labels(), *columns, strict=True)]

    def _list_labels(self) -> tuple[Any, ...]:
        question = self.survey.question
        if question.kind in ("choice", "below", "prefix"):
            return tuple(question.values)
        return (self.survey.name,) if question.kind == "number" else tuple(range(question.size))

    @property
    def max_influence(self) -> float:
        """The most that one invented report can move a share or a mean.

        It grows as ε falls, whatever the design is. No survey can detect liars, so let only known people report, and
        once each.
        """
        return self._decoder.influence / self._count_some()

    def release(self, confidence: float = 0.95) -> Release:
        """The estimate with its guarantee, as a release."""
        epsilon = float(self.survey.epsilon)
        return Release(
            name=self.survey.name,
            value=self.value,
            std=self.std,
            event=Pure(epsilon),
            budget=Budget(epsilon, 0.0, "replace-one", "person"),
            interval=self.interval(confidence),
            confidence=confidence,
            axes=() if self.survey.question.kind == "number" else (self._list_labels(),),
            notes=("each person added noise of their own: the collector never saw an answer",),
        )

    def _count_some(self) -> int:
        if self.n == 0:
            raise ValueError("There are no reports yet, so nothing can be estimated.")
        return self.n

    # -- to keep -------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The counts, as a document that `from_json` reads."""
        content = {"n": self.n, "refused": self.refused, "counts": self._counts.tolist()}
        return json.dumps({"discreet": "estimate", "version": 1, "survey": self.survey.to_dict(), **content})

    @classmethod
    def from_json(cls, text: str) -> Estimate:
        """Read the estimate that `to_json` wrote."""
        document = json.loads(text)
        if document.get("discreet") != "estimate" or document.get("version") != 1:
            raise ValueError("This is not an estimate of version 1 of discreet.")
        made = cls.from_counts(document["survey"], np.array(document["counts"], np.int64), document["n"])
        made.refused = int(document["refused"])
        return made

    def __repr__(self) -> str:
        return f"<Estimate of {self.survey.name!r} from {self.n} reports>"


def read_report(report: Any, survey: Survey) -> tuple[int, ...] | None:
    """The numbers of a report of this survey; None if it is not one."""
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
    return all(is_whole(x) and abs(int(x)) < 1 << 62 for x in numbers)
