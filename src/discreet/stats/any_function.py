"""Any function of a table, made private: blocks of rows answer, and what they have in common is released (ME6, ST4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_whole
from discreet.budget import Part, approximate, choice, inside
from discreet.curator import Curator
from discreet.engines.memory import Memory
from discreet.engines.opening import is_lazy, is_rows
from discreet.events import Choice
from discreet.mechanisms.points import DecimalGrid
from discreet.release import Release
from discreet.stats.blocks import (
    Blocks,
    MeanOfBlocks,
    MedianOfBlocks,
    SpreadOfBlocks,
    StableBlocks,
    check_rows,
)
from discreet.stats.isolation import Runner
from discreet.stats.statistic import Options, Question, as_table, ask

Floats = NDArray[np.float64]
Aggregate = Literal["median", "mean", "stable"]

MOST = 10_000  # blocks
FOR_MEDIAN = 0.6  # of the budget of a point estimator; the rest is for how far the blocks' answers lie apart
NORMAL_DISTANCE = NormalDist().inv_cdf(0.75)  # median distance of normal numbers of deviation 1 from their median


@dataclass(frozen=True)
class SampleAndAggregate:
    """A private answer of any function: it is asked of blocks of rows, and the blocks' answers are put together.

    Parameters
    ----------
    statistic : a function of a table of rows (a column, if one is given; of rows and targets, if there are targets)
        that answers with one number or a vector.
    blocks : how many; each unit, or row, is dealt to one of them.
    bounds : (low, high) of an answer, or a list of these, one for each of its numbers: public. Answers are clipped.
    aggregate : "median" of the answers by a choice, "mean" with noise, or "stable" (the median with noise of a scale
        that passed a test; needs δ > 0).
    default : the public answer of a block that has none: it raised, took too long, or said something else than finite
        numbers. The middle of the bounds if None.
    isolated : run each block in a process of its own, so that no block can change another. With False it runs here:
        for functions of which you vouch that they keep nothing.
    seconds, memory : of work, and of bytes, that a block's process may take.

    Guarantee
    ---------
    That of the budget for one row, or one unit with all of its rows, whatever the function does within its block
    (`mechanisms/proofs/blocks.md`). How long it takes is not hidden.

    References
    ----------
    Nissim, Raskhodnikova & Smith, "Smooth sensitivity and sampling in private data analysis", STOC 2007.

    Examples
    --------
    >>> from scipy.stats import trim_mean
    >>> from functools import partial
    >>> x = np.random.default_rng(0).gamma(3, 10, 20_000)
    >>> middle = SampleAndAggregate(partial(trim_mean, proportiontocut=0.2), 100, (0, 200), isolated=False)
    >>> bool(abs(middle(x, epsilon=1.0).value - trim_mean(x, 0.2)) < 2)
    True
    """

    statistic: Callable[..., Any]
    blocks: int
    bounds: Any
    aggregate: Aggregate = "median"
    default: Any = None
    isolated: bool = True
    seconds: int = 30
    memory: int = 1 << 32

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", check_whole(type(self).__name__, "blocks", self.blocks, 1, MOST))
        if self.aggregate not in get_args(Aggregate):
            raise ValueError(f"The `aggregate` is one of {', '.join(get_args(Aggregate))}. Got {self.aggregate!r}.")
        if not callable(self.statistic):
            raise TypeError(f"The `statistic` must be a function. Got {type(self.statistic).__name__}.")
        self._make_grids(), self._read_defaults()

    def __call__(
        self, X: Any, y: Any = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]
    ) -> Release:
        """The private answer: a number, or an array of as many as there are bounds."""
        if self.aggregate == "stable" and not delta:
            raise ValueError('The aggregate "stable" needs delta > 0. Got delta = 0.')
        question, plan = self._open_question(X, y, epsilon, delta, options), self._plan_parts()
        shares = question.budget.split(*plan)
        made = question.curator.run(self._choose_procedure(question.curator), *shares)
        value = np.ravel(made.value)
        if self.aggregate == "stable":
            if value[0] < 0:
                question.task.note("the blocks did not agree: the answer is the middle of the bounds")
            value = value[1:]
        std = made.std if made.std is None or len(value) > 1 else float(made.std[0])
        return question.answer("sample and aggregate", value if len(value) > 1 else float(value[0]), std)

    def _open_question(self, X: Any, y: Any, epsilon: float, delta: float, options: Options) -> Question:
        """Check everything that can be known to go wrong, before anything is charged."""
        runner = self._make_runner()
        runner.check()
        if not (is_rows(X) or is_lazy(X)):
            table = as_table(X)
            X = Memory(table, y, unit=options.get("unit")) if y is not None else table
        question = ask("sample and aggregate", X, epsilon, delta, options)
        check_rows(question.curator)
        return question

    def _plan_parts(self) -> tuple[Part, ...]:
        each = {"median": choice(1.0), "mean": inside(1.0), "stable": approximate(1.0)}[self.aggregate]
        return (each,) * (len(self._make_grids()) if self.aggregate == "median" else 1)

    def _choose_procedure(self, curator: Curator) -> Blocks:
        kinds: dict[str, type[Blocks]] = {"median": MedianOfBlocks, "mean": MeanOfBlocks, "stable": StableBlocks}
        return self._make_procedure(kinds[self.aggregate], curator)

    def _make_procedure(self, kind: type[Blocks], curator: Curator) -> Blocks:
        flat = curator.width == 1
        return kind("blocks", self._make_runner(), self.blocks, self._make_grids(), self._read_defaults(), flat)

    def _make_runner(self) -> Runner:
        return Runner(self.statistic, len(self._make_grids()), self.isolated, self.seconds, self.memory)

    def _make_grids(self) -> tuple[DecimalGrid, ...]:
        ranges = np.atleast_2d(np.asarray(self.bounds, dtype=np.float64))
        if (
            ranges.ndim != 2
            or ranges.shape[1] != 2
            or not np.isfinite(ranges).all()
            or (ranges[:, 0] >= ranges[:, 1]).any()
        ):
            raise ValueError(
                f"The `bounds` must be (low, high), or a list of these, with low < high. Got {self.bounds!r}."
            )
        return tuple(DecimalGrid.between(float(low), float(high)) for low, high in ranges)

    def _read_defaults(self) -> tuple[int, ...]:
        grids = self._make_grids()
        if self.default is None:
            return tuple((grid.first + grid.last) // 2 for grid in grids)
        given = np.ravel(np.asarray(self.default, dtype=np.float64))
        if len(given) != len(grids) or not np.isfinite(given).all():
            raise ValueError(f"The `default` must be one finite number for each of the bounds. Got {self.default!r}.")
        return tuple(int(grid.codes(np.array(value))) for grid, value in zip(grids, given, strict=True))


@dataclass(frozen=True)
class PointEstimator(SampleAndAggregate):
    """A private estimate with an interval, by any estimator that is asymptotically normal.

    Its parameters are those of `SampleAndAggregate`, but for the aggregate: the median of the blocks' estimates. Their
    median distance from it, released too, says how far the estimate may be off; the interval holds that and the noise.
    The estimate has the bias of the function on a single block, so blocks must not be small.

    It pays where there are many rows, 100,000 or more: with fewer, an estimator made for the purpose is far better.

    Guarantee
    ---------
    ε-differential privacy: choices among the points of a public grid. A δ is not used.

    References
    ----------
    Smith, "Privacy-preserving statistical estimation with optimal convergence rates", STOC 2011.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(5.0, 2.0, 100_000)
    >>> answer = PointEstimator(np.std, 200, (0, 50), isolated=False)(x, epsilon=1.0)
    >>> low, high = answer.interval
    >>> low < 2.0 < high, high - low < 0.1
    (True, True)
    """

    def __call__(
        self, X: Any, y: Any = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]
    ) -> Release:
        """The private estimates, and an interval for each."""
        question = self._open_question(X, y, epsilon, 0.0, options)
        weights = FOR_MEDIAN, 1 - FOR_MEDIAN
        shares = question.budget.split(
            *[choice(weight / len(self._make_grids())) for _ in self._make_grids() for weight in weights]
        )
        event = question.curator.buys(shares[0])
        assert isinstance(event, Choice)
        made = self._make_procedure(SpreadOfBlocks, question.curator)
        value, distance = question.curator.run(made, *shares).value.T
        half = self._compute_half_width(distance / NORMAL_DISTANCE, event.epsilon, question.confidence)
        first, last = value - half, value + half
        if len(value) == 1:
            return question.answer("estimate", float(value[0]), None, (float(first[0]), float(last[0])))
        return question.answer("estimate", value, None, (first, last))

    def _compute_half_width(self, spread: Floats, epsilon: float, confidence: float) -> Floats:
        """How far the median of normal estimates with this deviation, chosen with this ε, is from their mean.

        A median of k has a deviation of √(π/2k); the choice is off by about 2/ε ranks to either side, each √(2π)/k
        wide in the middle. Student's t with k/4 degrees allows for a spread that was estimated.
        """
        from scipy.stats import t

        k = self.blocks
        sampled, chosen = math.sqrt(math.pi / 2 / k), 2 * math.sqrt(2) / epsilon * math.sqrt(2 * math.pi) / k
        return np.asarray(t.ppf(0.5 + confidence / 2, max(k / 4, 2)) * spread * math.hypot(sampled, chosen))
