"""Heavy hitters: the most common texts, letter by letter; in each round other people report their text's prefix.

Reference: Wang, Li & Jha 2019 (prefix extension).
"""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.local.methods import make_design_for
from discreet.local.odds import read_epsilon
from discreet.local.questions import PrefixQuestion
from discreet.local.survey import Survey


class HeavyHitters:
    """The most common texts of an open vocabulary, found in rounds.

    Parameters
    ----------
    name : the name of the surveys.
    alphabet : the letters of texts; "01" for bits.
    length : the number of letters of a text that are used.
    epsilon : the privacy guarantee for each person. Nobody is asked in two rounds.
    top : the number of prefixes that are kept after each round.
    step : the number of letters by which prefixes grow. The first prefixes are as long as possible, with at most
        `top`·letters^step of them.

    Notes
    -----
    Each round is a `Survey` with one choice among the prefixes, or none of them: `Pure(epsilon)` for its people.

    Examples
    --------
    >>> from discreet.local import Estimate, answer_many
    >>> words = np.random.default_rng(0).choice(["abba", "abab", "baaa"], 30_000, p=[0.6, 0.3, 0.1])
    >>> search = HeavyHitters("word", "ab", 4, epsilon=2, top=2, step=1)
    >>> groups = iter(np.array_split(words, search.rounds))
    >>> while search.rounds_left:
    ...     tally = Estimate(search.survey)
    ...     tally.add_many(answer_many(search.survey, next(groups).tolist()))
    ...     search.learn(tally)
    >>> [text for text, share, std in search.found_texts]
    ['abba', 'abab']
    """

    def __init__(self, name: str, alphabet: str, length: int, epsilon: Any, *, top: int = 16, step: int = 1) -> None:
        if len(set(alphabet)) < len(alphabet) or len(alphabet) < 2:
            raise ValueError("The `alphabet` must be two letters or more, no two alike.")
        if not 1 <= step <= length or top < 1:
            raise ValueError("The `step` must be within 1 and the length, and `top` 1 or more.")
        self.name, self.alphabet, self.top, self.step = name, alphabet, top, step
        self.epsilon: Fraction = read_epsilon(epsilon)
        first = 1
        while first < length and len(alphabet) ** (first + 1) <= top * len(alphabet) ** step:
            first += 1
        self._lengths = [*range(first, length, step), length]
        self._done = 0
        self._kept: list[tuple[str, float, float]] = [("", 1.0, 0.0)]

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self._lengths)

    @property
    def rounds_left(self) -> int:
        """The number of rounds that remain."""
        return self.rounds - self._done

    @property
    def survey(self) -> Survey:
        """The survey of this round."""
        if not self.rounds_left:
            raise ValueError("All rounds of this search are over.")
        prefixes = [text for text, *_ in self._kept]
        while len(prefixes[0]) < self._lengths[self._done]:
            prefixes = [prefix + letter for prefix in prefixes for letter in self.alphabet]
        question = PrefixQuestion(tuple(prefixes))
        design = make_design_for(question, self.epsilon)
        return Survey(f"{self.name}, {self._lengths[self._done]} letters", question, self.epsilon, design)

    def learn(self, tally: Any) -> None:
        """Keep the most common prefixes, by the reports of this round."""
        survey = self.survey
        if tally.survey.digest != survey.digest:
            raise ValueError("This estimate is not of the survey of this round.")
        shares, spread = np.asarray(tally.value)[:-1], np.asarray(tally.std)[:-1]
        best = np.argsort(-shares, kind="stable")[: self.top]
        self._kept = [(survey.question.values[i], float(shares[i]), float(spread[i])) for i in best]
        self._done += 1

    @property
    def found_texts(self) -> list[tuple[str, float, float]]:
        """The texts that stand out from the noise, with shares and standard deviations, the most common first."""
        z = NormalDist().inv_cdf(1 - 0.025 / max(1, len(self._kept)))
        return [one for one in self._kept if one[1] > z * one[2]]

    def smallest_share(self, people: int) -> float:
        """The smallest share that this many people, in groups of equal size, can reveal; from public numbers only.

        >>> search = HeavyHitters("word", "01", 48, epsilon=1, top=16, step=4)
        >>> [round(search.smallest_share(n), 3) for n in (100_000, 10_000_000)]
        [0.086, 0.009]
        """
        size = self.top * len(self.alphabet) ** self.step
        variance = make_design_for(PrefixQuestion(tuple(f"{i:09}" for i in range(size))), self.epsilon).variance()
        z = NormalDist().inv_cdf(1 - 0.025 / self.top) + NormalDist().inv_cdf(0.9)
        return float(z * (variance / max(1, people // self.rounds)) ** 0.5)
