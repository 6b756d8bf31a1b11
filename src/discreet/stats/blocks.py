"""Sample and aggregate (ME6): one row can change the answer of one block only.

Each unit, or row, is assigned to one of k blocks at random. A block's answer is a vector of numbers, clipped to public
ranges. An aggregate of the answers is released. Proof: `mechanisms/proofs/blocks.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget
from discreet.curator import Curator
from discreet.curator.procedures import Inside
from discreet.curator.total_noise import deviation_of, noise_after_test, perturbed
from discreet.engines import Rows
from discreet.errors import NotSupported
from discreet.events import Approximate, Choice, Composed, Event, Gaussian, Laplace
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.points import DecimalGrid, exponential_on_grid
from discreet.mechanisms.propose import first_stable, threshold_for
from discreet.query.integer_sums import root_above
from discreet.stats.isolation import Runner
from discreet.stats.quantile_exponential import score_pieces
from discreet.stats.quantile_stable import PROPOSALS, find_ranges_near
from discreet.stats.ranks import Ranked

Ints = NDArray[np.int64]

HALF = Fraction(1, 2)
OCTAVES = 40  # the least distance between answers is 2^-40 of the range
FINE = 1 << 40  # for the mean, answers are whole multiples of 2^-40 of half their range


@dataclass(frozen=True)
class Blocks(Inside):
    """The answers of blocks of rows, and a private aggregate of them.

    Attributes
    ----------
    runner : the function, and the way it runs.
    count : the number of blocks.
    grids : a public grid for each number of an answer.
    default : the answer of a block that has none, on these grids.
    flat : whether the function takes a column instead of a table with one column.
    """

    name: str
    runner: Runner
    count: int
    grids: tuple[DecimalGrid, ...]
    default: tuple[int, ...]
    flat: bool = False
    proof: ClassVar[str] = "blocks"
    by_units: ClassVar[bool] = True

    def answers(self, rows: Rows, rng: Keystream) -> Ints:
        """One row of whole numbers for each block: points of the grids."""
        found = np.empty((self.count, len(self.grids)), dtype=np.int64)
        for place, block in enumerate(rows.split_into_blocks(self.count, Coins.draw_key(rng))):
            X, *targets = block.read_arrays()
            said = self.runner(X[:, 0] if self.flat else X, *targets)
            found[place] = self.default
            if said is not None:
                found[place] = [int(grid.codes(np.array(value))) for grid, value in zip(self.grids, said, strict=True)]
        return found


def check_rows(curator: Curator) -> None:
    """Raise, before anything is charged, if blocks of these rows cannot be handed to a function."""
    if not curator.holds_rows:
        raise NotSupported("A `statistic` of blocks needs rows in memory: these are read piece by piece.")


@dataclass(frozen=True)
class MeanOfBlocks(Blocks):
    """The mean of the blocks' answers, scaled to [-1, 1], with noise for a change of one block."""

    pays: ClassVar[tuple[type[Event], ...]] = (Laplace, Gaussian)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The mean and the standard deviation of its noise."""
        low, high = np.array([(grid.first, grid.last) for grid in self.grids], dtype=object).T
        answers = self.answers(rows, rng).astype(object)
        scaled = ((2 * answers - low - high) * FINE) // np.maximum(high - low, 1)  # within ±FINE
        p = len(self.grids)
        half = np.array([(grid.high - grid.low) / 2 for grid in self.grids])
        each = isinstance(event, Laplace)  # each of p scaled answers moves by at most 2: 2p in ℓ1, 2√p in ℓ2
        sensitivity = Fraction(2 * p * FINE) if each else root_above(4 * p * FINE**2)
        noisy = perturbed(scaled.sum(axis=0), sensitivity, event, rng)
        std = deviation_of(event, p, 2 * p if each else 2 * math.sqrt(p))
        middle = np.array([(grid.high + grid.low) / 2 for grid in self.grids])
        value = np.asarray(noisy, dtype=np.float64) / FINE / self.count
        return middle + np.clip(value, -1, 1) * half, std * half / self.count


@dataclass(frozen=True)
class MedianOfBlocks(Blocks):
    """The median of each number of the blocks' answers, by the exponential mechanism over the points of its grid."""

    pays: ClassVar[tuple[type[Event], ...]] = (Choice, Composed)
    choices: ClassVar[int] = 1  # for each number

    def check(self, event: Event) -> None:
        """Raise, before anything is charged, if there is no proof or the event is not one choice for each decision."""
        super().check(event)
        if [type(one) for one in _list_events(event)] != [Choice] * (len(self.grids) * self.choices):
            raise ValueError("What blocks agree on is paid for by choices for each number.")

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """A row of released values for each number of an answer."""
        answers, epsilons = self.answers(rows, rng), iter([one.epsilon for one in _list_events(event)])  # type: ignore[attr-defined]
        asked = zip(self.grids, answers.T, strict=True)
        return np.array([self.choose_values(codes, grid, epsilons, rng) for grid, codes in asked]), None

    def choose_values(self, codes: Ints, grid: DecimalGrid, epsilons: Iterator[float], rng: Keystream) -> list[float]:
        """Choose the median of one number of the answers."""
        found, counts = np.unique(codes, return_counts=True)
        ranked = Ranked(found, counts, np.cumsum(counts) - counts, self.count)
        pieces = score_pieces(ranked, grid, HALF, self.count)
        return [float(grid.values(exponential_on_grid(pieces, grid, next(epsilons), HALF.denominator, rng)))]


@dataclass(frozen=True)
class SpreadOfBlocks(MedianOfBlocks):
    """The median of the blocks' answers, and the median distance from it, to the nearest quarter octave."""

    choices: ClassVar[int] = 2

    def choose_values(self, codes: Ints, grid: DecimalGrid, epsilons: Iterator[float], rng: Keystream) -> list[float]:
        """Choose the median, then the smallest of a ladder of distances that contains about half of the answers."""
        (middle,) = super().choose_values(codes, grid, epsilons, rng)
        steps = (grid.high - grid.low) * 2.0 ** (-np.arange(4 * OCTAVES) / 4)
        held = np.searchsorted(
            np.sort(np.abs(codes - int(grid.codes(np.array(middle))))), _in_steps(steps, grid), "right"
        )
        # replacing one answer changes each of these counts by at most 1, so the score by at most 2
        place = exponential(-np.abs(2 * held - self.count), next(epsilons), 2, rng)
        return [middle, float(steps[place])]


@dataclass(frozen=True)
class StableBlocks(Blocks):
    """The median of each number of the blocks' answers, with noise of a scale at which all of them are stable.

    The value is the number of the scale that passed and the medians, or -1 and the middles of the ranges.

    The value is the number of the scale that passed, or -1, and the medians, or the middles of the ranges.
    """

    pays: ClassVar[tuple[type[Event], ...]] = (Approximate,)
    replayable: ClassVar[bool] = False  # private by the chance that its test fails

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """Propose scales, test them, and release with the first that passes."""
        assert isinstance(event, Approximate)
        answers, middle = np.sort(self.answers(rows, rng), axis=0), (self.count - 1) // 2
        many = min(2 * threshold_for(event, PROPOSALS), middle)
        sizes = np.array([grid.size for grid in self.grids], dtype=object)
        orders = [_pad_order(answers[:, i], many, grid) for i, grid in enumerate(self.grids)]
        reach = np.array([find_ranges_near(order, many) for order in orders], dtype=object)
        scales = [np.maximum(1, sizes >> (PROPOSALS - number)) for number in range(PROPOSALS)]
        distances = (int((reach <= scale[:, None]).all(axis=0).sum()) for scale in scales)
        number = first_stable(distances, event, PROPOSALS, rng)
        codes = [(grid.first + grid.last) // 2 for grid in self.grids]
        if number >= 0:
            noise = noise_after_test(event)
            unit = root_above(len(self.grids))  # in units of their scales, all p numbers together move by √p
            codes = [
                int(add_gaussian([int(order[many + 1])], int(scale) * unit, noise, rng)[0])
                for order, scale in zip(orders, scales[number], strict=True)
            ]
        value = [
            float(grid.values(min(max(code, grid.first), grid.last)))
            for grid, code in zip(self.grids, codes, strict=True)
        ]
        return np.array([float(number), *value]), None


def _in_steps(lengths: NDArray[np.float64], grid: DecimalGrid) -> Ints:
    return np.asarray(np.floor(lengths / (grid.high - grid.low) * (grid.last - grid.first)), dtype=np.int64)


def _pad_order(order: Ints, many: int, grid: DecimalGrid) -> Ints:
    """The middle answer with `many` + 1 answers on either side; the grid's end points stand beyond the outermost."""
    wide = np.concatenate([np.full(many + 1, grid.first), order, np.full(many + 1, grid.last)])
    middle = (len(order) - 1) // 2 + many + 1
    return np.asarray(wide[middle - many - 1 : middle + many + 2])


def _list_events(event: Event) -> tuple[Event, ...]:
    return event.events if isinstance(event, Composed) else (event,)
