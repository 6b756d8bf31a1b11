"""The exact law of a randomiser: every coin and every choice it makes is tried, with its probability."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from discreet.local.randomise import Bits


class Path(Bits):
    """Bits that take one way through all coins and choices, and know the next one."""

    def __init__(self, turns):
        self.turns, self.sizes, self.weight, self.at = turns, [], Fraction(1), 0

    def _turn(self, weights):
        ways = [way for way, weight in enumerate(weights) if weight]  # what is impossible is not tried
        if self.at == len(self.turns):
            self.turns.append(0)
        turn = self.turns[self.at]
        self.at += 1
        self.sizes.append(len(ways))
        self.weight *= weights[ways[turn]]
        return ways[turn]

    def flip_coin(self, top, total):
        return bool(self._turn([Fraction(total - top, total), Fraction(top, total)]))

    def draw_below(self, n):
        return self._turn([Fraction(1, n)] * n)


def law(answer):
    """The probability of each report of `answer(bits)`."""
    found, turns = Counter(), []
    while True:
        path = Path(turns)
        report = answer(path)
        found[report] += path.weight
        turns = turns[: path.at]
        while turns and turns[-1] == path.sizes[len(turns) - 1] - 1:
            turns.pop()
        if not turns:
            assert sum(found.values()) == 1
            return dict(found)
        turns[-1] += 1


def worst_ratio(laws):
    """By what factor the probabilities of a report differ at most; None where one of them is zero alone."""
    reports = set().union(*laws)
    if any(report not in one for one in laws for report in reports):
        return None
    return max(Fraction(one[report], other[report]) for one in laws for other in laws for report in reports)
