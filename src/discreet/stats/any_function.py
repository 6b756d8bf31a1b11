"""Any function of a table, made private by sample and aggregate (ME6, ST4).

Blocks of rows answer separately, and a private summary of the answers is released.
"""

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
FOR_MEDIAN = 0.6  # share of the budget of a point estimator; the rest pays for the spread of the blocks' answers
NORMAL_DISTANCE = NormalDist().inv_cdf(0.75)  # median absolute deviation of the standard normal law


@dataclass(frozen=True)
class SampleAndAggregate:
    """A private answer from any function: it runs on blocks of rows, and the blocks' answers are aggregated.

    Parameters
    ----------
    statistic : a function of a table of rows (of a column, if one is given; of rows and targets, if there are targets)
        that returns one number or a vector.
    blocks : the number of blocks; each unit, or row, is assigned to one of them at random.
    bounds : public (low, high) of the answer, or a list of pairs, one for each of its numbers. Answers are clipped.
    aggregate : "median" of the answers by the exponential mechanism, "mean" with noise, or "stable" (the median with
        noise of a scale that passed a stability test; needs δ > 0).
    default : the public answer of a block that has none: its function raised, took too long, or did not return finite
        numbers. The middle of the bounds if None.
    isolated : run each block in a process of its own, so that no block can change another. With False it runs in this
        process: only for functions that you trust to keep no state.
    seconds, memory : the CPU seconds and the bytes that a block's process may use.

    Notes
    -----
    The budget's guarantee for one row, or for one unit with all of its rows, whatever the function does within its
    block (`mechanisms/proofs/blocks.md`). The running time is not hidden.

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
        """The private answer: a number, or an array with a number for each pair of bounds."""
        if self.aggregate == "stable" and not delta:
            raise ValueError('The aggregate "stable" needs delta > 0. Got delta = 0.')
        question, plan = self._open_question(X, y, epsilon, delta, options), self._plan_parts()
        shares = question.budget.split(*plan)
        # BOUND + SUMMARISE + PRIVATISE: clipped answers of the blocks, aggregated inside the curator
        made = question.curator.run(self._choose_procedure(question.curator), *shares)
        # SOLVE: under "stable" the number of the scale that passed comes first
        value = np.ravel(made.value)
        if self.aggregate == "stable":
            if value[0] < 0:
                question.task.note("the blocks did not agree: the answer is the middle of the bounds")
            value = value[1:]
        std = made.std if made.std is None or len(value) > 1 else float(made.std[0])
        return question.answer("sample and aggregate", value if len(value) > 1 else float(value[0]), std)

    def _open_question(self, X: Any, y: Any, epsilon: float, delta: float, options: Options) -> Question:
        """Check the arguments before anything is charged, and open the question."""
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

    The parameters are those of `SampleAndAggregate` except the aggregate, which is the median of the blocks' estimates.
    Their median distance from it is released too: it gives the sampling error, and the interval adds the noise. The
    estimate has the bias of the function on a single block, so blocks must not be small.

    It is worth using with 100,000 rows or more. With fewer, an estimator made for the purpose is far better.

    Notes
    -----
    ε-differential privacy: exponential mechanisms over the points of a public grid. The δ is not used.

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
        # BOUND + SUMMARISE + PRIVATISE: the median of the blocks' answers, and their median distance from it
        procedure = self._make_procedure(SpreadOfBlocks, question.curator)
        value, distance = question.curator.run(procedure, *shares).value.T
        # SOLVE
        half = self._compute_half_width(distance / NORMAL_DISTANCE, event.epsilon, question.confidence)
        first, last = value - half, value + half
        if len(value) == 1:
            return question.answer("estimate", float(value[0]), None, (float(first[0]), float(last[0])))
        return question.answer("estimate", value, None, (first, last))

    def _compute_half_width(self, spread: Floats, epsilon: float, confidence: float) -> Floats:
        """The half-width of the interval around a median that was chosen with ε among normal estimates of this spread.

        The median of k estimates has standard deviation √(π/2k) times theirs. The exponential mechanism is off by about
        2/ε ranks to either side, and a rank is √(2π)/k wide in the middle. Student's t with k/4 degrees of freedom
        allows for a spread that was itself estimated.
        """
        from scipy.stats import t

        k = self.blocks
        sampled, chosen = math.sqrt(math.pi / 2 / k), 2 * math.sqrt(2) / epsilon * math.sqrt(2 * math.pi) / k
        return np.asarray(t.ppf(0.5 + confidence / 2, max(k / 4, 2)) * spread * math.hypot(sampled, chosen))
