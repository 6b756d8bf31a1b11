"""Survey: the question, the privacy guarantee and the design; frozen, public, the same for everybody.

A survey is written by the collector before anything is collected, and sent to everybody as JSON. It holds only text and
whole numbers, so that every language reads the same survey; its digest names it in every report.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any

from discreet.errors import NotSupported, VersionError
from discreet.local.design import Design, Subset, Unary, describe_design, make_design
from discreet.local.methods import (
    make_number_design,
    make_one_of,
    make_square_wave,
    make_vector_design,
    read_design,
)
from discreet.local.odds import odds_of, read_epsilon, write_epsilon
from discreet.local.questions import (
    BelowQuestion,
    ChoiceQuestion,
    NumberQuestion,
    SeveralQuestions,
    TextQuestion,
    TreeQuestion,
    Value,
    VectorQuestion,
    read_question,
    write_bound,
)

VERSION = 1


@dataclass(frozen=True)
class Survey:
    """A question, a privacy guarantee and a design.

    Parameters
    ----------
    name : a name for people to read; surveys of different names are different, and their costs add up on a device.
    question : the question.
    epsilon : the guarantee for each person: replacing their answer by any other changes the probability of any report
        by a factor of at most e^ε. A number, or a decimal as text, taken as it is written.
    design : how the question is answered.

    Notes
    -----
    The guarantee: `Pure(epsilon)` under replace-one, for the answer of one person to this survey. It is checked when a
    survey is made *or read*: a document whose design exceeds its ε is refused.

    Examples
    --------
    >>> survey = Survey.choice("browser", ["A", "B", "C"], epsilon=1)
    >>> print(survey)
    browser: one of 3 values, ε = 1 for each person
      design          direct, 1 number a report
      people needed   64,367 for shares within 0.01 (95%)
    >>> Survey.from_json(survey.to_json()) == survey
    True
    """

    name: str
    question: Any
    epsilon: Fraction
    design: Any

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError("The `name` of a survey must be text.")
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon))
        self._check_guarantee()

    def _check_guarantee(self) -> None:
        if not self.design.fits(self.question):
            raise ValueError("The design of this survey is not for its question.")
        if self.design.ratio > Fraction(*_least_power(self.epsilon)):
            raise ValueError(f"This survey tells more than its ε = {write_epsilon(self.epsilon)}: it is not answered.")

    @classmethod
    def choice(
        cls, name: str, values: Iterable[Value], epsilon: Any, *, method: str = "auto", other: Value | None = None
    ) -> Survey:
        """A survey of one choice among values.

        Parameters
        ----------
        name : the name of the survey.
        values : the possible answers: public, and not taken from people's data.
        epsilon : the privacy guarantee for each person.
        method : "auto", "direct" (k-ary randomised response, Warner's for two values), "coins", "subset",
            "projective", "hash" (OLH), "oue", "sue" or "hadamard".
        other : the value that stands for everything else; if None, an unknown value is replaced by a random one.
        """
        question, exact = ChoiceQuestion(tuple(values), other), read_epsilon(epsilon)
        return cls(name, question, exact, make_design(method, question.size, exact))

    @classmethod
    def number(cls, name: str, low: Any, high: Any, epsilon: Any, *, method: str = "auto") -> Survey:
        """A survey of one number, to estimate its mean.

        Parameters
        ----------
        name : the name of the survey.
        low, high : public bounds; numbers outside are clipped.
        epsilon : the privacy guarantee for each person.
        method : "auto" (one bit below ε = 1, then the table of least variance), "bit", "table", "piecewise", "hybrid"
            or "laplace".

        >>> survey = Survey.number("minutes", 0, 60, epsilon=2)
        >>> survey.design.method, survey.needed(1)
        ('table', 6476)
        """
        exact = read_epsilon(epsilon)
        return cls(name, NumberQuestion(low, high), exact, make_number_design(method, exact))

    @classmethod
    def vector(
        cls, name: str, size: int, epsilon: Any, *, low: Any = None, high: Any = 1, method: str = "auto"
    ) -> Survey:
        """A survey of a vector, to estimate its mean.

        Parameters
        ----------
        name : the name of the survey.
        size : the number of coordinates.
        epsilon : the privacy guarantee for each person, for all coordinates together.
        low, high : the bounds of each number (a cube); without `low`, the largest length of the vector (a ball).
        method : "auto"; in a cube "cap", "sparse" (one number of each person) or "vertices"; in a ball "privunitg" or
            "hemisphere".
        """
        exact, shape = read_epsilon(epsilon), "ball" if low is None else "cube"
        below = write_bound("high", high) if low is None else low
        question = VectorQuestion(size, f"-{below}" if low is None else below, high, shape)
        return cls(name, question, exact, make_vector_design(method, size, shape, exact))

    @classmethod
    def below(cls, name: str, threshold: Any, epsilon: Any) -> Survey:
        """A survey of whether a number is below a public threshold."""
        exact = read_epsilon(epsilon)
        return cls(name, BelowQuestion(threshold), exact, make_design("direct", 2, exact))

    @classmethod
    def distribution(
        cls, name: str, low: Any, high: Any, epsilon: Any, *, method: str = "auto", levels: int = 1024
    ) -> Survey:
        """A survey of one number, to estimate its distribution and quantiles with `Estimate.distribution`.

        Parameters
        ----------
        name : the name of the survey.
        low, high : public bounds.
        epsilon : the privacy guarantee for each person.
        method : "auto" and "square wave": a place of a window; "hierarchy": a node of one level of a tree.
        levels : the number of cells; for a hierarchy a power of four.
        """
        exact = read_epsilon(epsilon)
        if method == "hierarchy":
            tree = TreeQuestion(low, high, 4, round(math.log(levels, 4)))
            return cls(name, tree, exact, make_one_of(tree, exact))
        if method not in ("auto", "square wave"):
            raise ValueError(f"The `method` of a distribution is auto, square wave or hierarchy. Got {method!r}.")
        if type(levels) is not int or not 2 <= levels <= 1 << 13:
            raise ValueError(f"The `levels` of a distribution must be a whole number within [2, 8192]. Got {levels!r}.")
        return cls(name, NumberQuestion(low, high), exact, make_square_wave(levels, exact))

    @classmethod
    def several(cls, name: str, questions: Mapping[str, Any], epsilon: Any) -> Survey:
        """A survey of several questions; each person answers one of them, drawn at random, with the whole ε.

        Parameters
        ----------
        name : the name of the survey.
        questions : by name: a list of values, a pair (low, high) as a tuple of two numbers, or a question of
            `discreet.local.questions`.
        epsilon : the privacy guarantee for each person, for all answers together.

        >>> survey = Survey.several("habits", {"smokes": [False, True], "hours": (0, 24)}, epsilon=1)
        >>> survey.question.names, survey.design.method
        (('smokes', 'hours'), 'one')
        """
        exact = read_epsilon(epsilon)
        question = SeveralQuestions(tuple(questions), tuple(map(read_part, questions.values())))
        return cls(name, question, exact, make_one_of(question, exact))

    @classmethod
    def lasting(
        cls,
        name: str,
        values: Iterable[Value] | None,
        epsilon: Any,
        *,
        first: Any = None,
        method: str = "auto",
        cells: int | None = None,
        other: Value | None = None,
        bins: int = 2,
        bits: int = 32,
        cohorts: int = 16,
        hashes: int = 1,
    ) -> Survey:
        """A survey that is answered again and again; its whole cost is charged with the first answer.

        Parameters
        ----------
        name : the name of the survey.
        values : the possible answers; None for any text, by RAPPOR.
        epsilon : the privacy guarantee of one permanent response.
        first : for "loloha", the ε of one report alone; by default half of ε.
        method : "auto" and "loloha"; "bitflip"; "rappor" for text.
        cells : the number of permanent responses that are paid for: by default the number of bins ("loloha"), else 1.
        other : the value that stands for everything else.
        bins : for "loloha", the number of bins, two or more.
        bits, cohorts, hashes : for "rappor"; for "bitflip", `bits` is the number of buckets a device is asked about.

        >>> survey = Survey.lasting("home page", None, epsilon=2, method="rappor")
        >>> survey.design.cells, float(survey.lifetime)
        (1, 2.0)
        """
        from discreet.local.lasting import BitFlip, Rappor, make_loloha

        exact = read_epsilon(epsilon)
        if values is None:
            keep = odds_of(exact / (2 * hashes))
            return cls(
                name, TextQuestion(), exact, Rappor(bits, keep, cells or 1, hashes, cohorts, int(first is not None))
            )
        question = ChoiceQuestion(tuple(values), other)
        if method == "bitflip":
            asked = min(bits, question.size)
            keep = odds_of(exact / min(2, asked))
            return cls(name, question, exact, BitFlip(question.size, keep, cells or 1, asked))
        if method not in ("auto", "loloha"):
            raise ValueError(
                f"The `method` of a lasting survey is loloha, bitflip or, for text, rappor. Got {method!r}."
            )
        alone = exact / 2 if first is None else read_epsilon(first)
        if not alone < exact:
            raise ValueError(f"The `first` of a lasting survey must be below its epsilon. Got {first!r}.")
        return cls(name, question, exact, make_loloha(question.size, exact, alone, bins, cells))

    @property
    def lifetime(self) -> Fraction:
        """The ε of all answers of a person together, charged once: ε, times the number of cells of a lasting survey."""
        return self.epsilon * (self.design.cells if self.design.lasting else 1)

    # -- before anything is collected ----------------------------------------------------------------------------------

    def needed(self, error: float, *, confidence: float = 0.95, share: float | None = None) -> int:
        """The number of people needed for an interval of ± `error`.

        Parameters
        ----------
        error : half the width of the interval, of a share or of a mean, in units of the data.
        confidence : the confidence of the interval.
        share : the share of people who have the value; by default one over the number of values. It is not used for a
            mean, where people are assumed to differ as much as possible.

        >>> Survey.choice("smokes", [False, True], epsilon="1.1").needed(0.01)
        38335
        """
        if not 0 < error < math.inf:
            raise ValueError(f"The `error` of a survey must be a finite number > 0. Got {error!r}.")
        from statistics import NormalDist  # imported here, because a device does not need it and it loads slowly

        z = NormalDist().inv_cdf((1 + confidence) / 2)
        if self.question.kind in ("tree", "several", "text"):
            raise NotSupported("The number of people needed is computed for single questions only.")
        if self.question.kind in ("choice", "below", "prefix"):
            variance = float(self.design.variance(1 / self.question.size if share is None else share))
        else:
            half = float(self.question.ends[1] - self.question.ends[0]) / 2
            variance = half**2 * self.design.largest_variance
        return math.ceil(z**2 * variance / error**2)

    # -- as a document -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary of text and whole numbers."""
        return {
            "discreet": "survey",
            "version": VERSION,
            "name": self.name,
            "question": self.question.to_dict(),
            "epsilon": write_epsilon(self.epsilon),
            "design": describe_design(self.design),
        }

    def to_json(self) -> str:
        """The document that `from_json` and `client.js` read: the same text for the same survey."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the document, by which reports name the survey."""
        return f"sha256:{sha256(self.to_json().encode()).hexdigest()}"

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """Read the survey that `to_json` wrote; `VersionError` for anything else, or for a later version."""
        try:
            document = json.loads(text)
        except ValueError:
            raise VersionError("This is not a survey: it is not JSON.") from None
        if not isinstance(document, dict) or document.get("discreet") != "survey":
            raise VersionError("This is not a survey of discreet.")
        if document.get("version") != VERSION:
            raise VersionError(
                f"This discreet reads surveys of version {VERSION}. Got version {document.get('version')!r}. "
                "Hint: a newer discreet reads it."
            )
        try:
            survey = cls._read_document(document)
        except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            raise VersionError("This is not a survey of discreet: something in it is missing or broken.") from None
        if survey.to_dict() != document:
            raise VersionError("This is not a survey of discreet: it has unknown entries.")
        return survey

    @classmethod
    def _read_document(cls, document: dict[str, Any]) -> Survey:
        if document["question"]["kind"] in ("products", "gradient"):
            import_module("discreet.local.rows")  # registers these kinds of questions
        question = read_question(document["question"])
        return cls(document["name"], question, read_epsilon(document["epsilon"]), read_design(document["design"]))

    # -- for people ----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        kind = self.question.kind
        what = {"choice": "one of {} values", "vector": "{} numbers"}.get(kind, "a number").format(
            getattr(self.question, "size", 1)
        )
        if kind == "text":
            return f"{self.name}: any text, ε = {write_epsilon(self.lifetime)} for each person"
        if kind in ("tree", "several"):
            what = "a number" if kind == "tree" else f"one of {len(self.question.parts)} questions"
            return f"{self.name}: {what}, ε = {write_epsilon(self.epsilon)} for each person"
        length, error = count_report_numbers(self.design), self._example_error()
        return "\n".join(
            [
                f"{self.name}: {what}, ε = {write_epsilon(self.lifetime)} for each person",
                f"  design          {self.design.method}, {length} number{'s' if length > 1 else ''} a report",
                f"  people needed   {self.needed(error):,} for {self.question.measure}s within {error:g} (95%)",
            ]
        )

    def _example_error(self) -> float:
        """A hundredth of the range of answers, as an example."""
        if self.question.kind not in ("number", "vector"):
            return 0.01
        return float(self.question.ends[1] - self.question.ends[0]) / 100


def count_report_numbers(design: Design) -> int:
    """The number of whole numbers in a report of the design, approximately.

    >>> count_report_numbers(make_design("oue", 100, Fraction(1)))
    27
    """
    if isinstance(design, (Subset, Unary)):
        return max(1, round(design.mean_support))
    lengths = {
        "hash": 3,
        "loloha": 3,
        "bitflip": getattr(design, "asked", 1),
        "cap": getattr(design, "asked", 1),
        "cone": design.size,
    }
    return lengths.get(design.method, 1)


def _least_power(epsilon: Fraction) -> tuple[int, int]:
    """A fraction that is not above e^ε, and not below the odds of any design for ε."""
    shift = 160
    return odds_of(epsilon, shift), 1 << shift


def read_part(part: Any) -> Any:
    """A question from a list of values, from a pair of bounds, or as it is."""
    if isinstance(part, tuple) and len(part) == 2 and all(type(end) in (int, float) for end in part):
        return NumberQuestion(*part)
    return part if hasattr(part, "kind") else ChoiceQuestion(tuple(part))


def read_survey(survey: Any) -> Survey:
    """A survey, or the text or dictionary of one."""
    if isinstance(survey, Survey):
        return survey
    if isinstance(survey, (str, dict)):
        return Survey.from_json(survey if isinstance(survey, str) else json.dumps(survey))
    raise NotSupported(f"A survey is a Survey, or its JSON. Got {type(survey).__name__}.")
