"""From options to coefficients: which plan, which noise, and what to remark."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget, Share, radial
from discreet.curator import Curator
from discreet.models.sgd.design import Design
from discreet.models.sgd.gaussian import FOR_ROWS, Clip, Lots, Size, gathered, shrunk
from discreet.models.sgd.options import Options
from discreet.models.sgd.progress import Bar
from discreet.models.sgd.pure import Passes, sizes_of
from discreet.models.sgd.schedule import Descent

Floats = NDArray[np.float64]
Deal = Callable[..., tuple[Bounds, tuple[Share, ...]]]

FOR_MEANS = 0.02  # of the budget, where no lot can be had for them
FAINT = 1.0  # of the clip: where the noise in the mean of all steps' gradients is longer, little can be learnt
ADAPTED = "what each step measured depended on earlier answers"
WHOLE = "every step read all rows: lots are drawn where bounds and classes are public and neighbours add-remove"
NOISY = "the noise outweighs what the rows can say at this budget; more rows, fewer features or a larger epsilon help"


@dataclass(frozen=True)
class Problem:
    """Everything a descent may know.

    Attributes
    ----------
    curator : answers.
    budget : what may be spent.
    deal : makes bounds, and shares of a plan for the parts given.
    design : of bounds, once they are known.
    public : whether bounds and classes are, so that nothing has to be paid before the first lot.
    n : the number of rows, if it is public.
    intercept : whether there is one: features are centred then.
    options : what was asked for.
    watch : is shown each noised iterate.
    """

    curator: Curator
    budget: Budget
    deal: Deal
    design: Callable[[Bounds], Design]
    public: bool
    n: int | None
    intercept: bool
    options: Options
    watch: Callable[[Design, Descent], None]

    def map(self, design: Design) -> None:
        """From here on rows as the design wants them: a map of each row by itself, held where memory allows."""
        self.curator.map(design.polar)
        self.curator.hold(np.float32)

    def descent(self, design: Design, steps: int) -> Descent:
        """At the start: all coefficients zero."""
        options = self.options
        width = design.shape[0]
        schedule = replace(options.schedule, alpha=options.schedule.alpha / width)  # θ is √width times what is shrunk
        return Descent(np.zeros(design.shape), schedule, options.momentum, steps, design.intercept)


@dataclass(frozen=True)
class Found:
    """What came of a descent: its end, the design its coefficients are of, and how long the noise of a step was.

    The noise is in units of the clip, of the mean gradient.
    """

    design: Design
    descent: Descent
    noise: float
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """For the receipt."""
        faint = self.noise > FAINT * math.sqrt(self.descent.t)
        return (ADAPTED, *self.notes, *[NOISY] * faint)


def descend(problem: Problem) -> Found:
    """Take the way that the options and what is public allow."""
    options = problem.options
    share = options.share(problem.n)
    steps = max(1, round(options.epochs / share))
    if options.noise == "pure":
        return by_passes(problem, int(options.epochs), whole=False)
    if share < 1 and problem.public and problem.budget.neighbours == "add-remove":
        return by_lots(problem, steps, share)
    return replace(by_passes(problem, steps, whole=True), notes=(WHOLE,))


def by_lots(problem: Problem, steps: int, rate: float) -> Found:
    """DP-SGD: Gaussian noise on the gradients of Poisson lots, one plan; a first lot finds where features centre."""
    curator, options = problem.curator, problem.options
    bounds, _ = problem.deal(1.0)  # public: nothing is paid for them, and these shares are not used
    design = problem.design(bounds)
    counted = problem.n is None
    parts = (1 - FOR_ROWS, FOR_ROWS) if counted or options.adaptive else (1.0,)
    lots = problem.budget.lots(steps + problem.intercept, rate, *parts)
    size = Size(None if problem.n is None else rate * problem.n)
    before = len(curator.releases)

    if problem.intercept:
        design = design.about(Lots(curator, design, lots, counted).centre(lots[0], size))
    problem.map(design)
    descent, clip = problem.descent(design, steps), Clip(options.norm, options.adaptive)
    each = Lots(curator, design, lots[int(problem.intercept) :], counted)
    each.descend(descent, size, clip, lambda at: problem.watch(design, at))
    curator.releases[before:] = gathered(curator.releases[before:])
    event: Any = curator.buys(lots[0].shares[0])
    return Found(design, descent, event.noise_multiplier * math.sqrt(math.prod(design.shape)) / size.surely)


def by_passes(problem: Problem, passes: int, whole: bool) -> Found:
    """Noisy gradients of disjoint batches, or of the whole; what is not public of rows is paid for first."""
    curator, options = problem.curator, problem.options
    if options.adaptive:
        raise ValueError(
            "clip='adaptive' needs lots, and those public bounds and classes, add-remove neighbours and a rate below "
            "1. Hint: a number > 0."
        )
    parts = [FOR_ROWS] * (problem.n is None) + [radial(FOR_MEANS)] * problem.intercept + [radial(1.0)]
    bounds, shares = problem.deal(*parts)
    design = problem.design(bounds)
    rows, surely = (float(problem.n),) * 2 if problem.n is not None else _counted(curator, design, shares[0])
    if problem.intercept:
        noisy = curator.measure(design.means(), shares[-2])
        design = design.about(shrunk(np.asarray(noisy.value), float(noisy.std), max(rows, 1.0)))
    problem.map(design)
    count = 1 if whole else options.batches(rows, problem.n, problem.budget.epsilon, math.prod(design.shape))
    sizes = sizes_of(options.batch, count)

    descent = problem.descent(design, passes * len(sizes))
    inside = Passes(
        "gradients", design, descent.copied(), options.norm, sizes, passes, rows, lambda at: problem.watch(design, at)
    )
    sums = curator.run(inside, shares[-1])
    for i, total in enumerate(np.asarray(sums.value)):
        inside.step(descent, total, sizes[i % len(sizes)])
    each = max(1.0, surely / len(sizes))
    return Found(design, descent, float(sums.std) / options.norm * math.sqrt(math.prod(design.shape)) / each)


def _counted(curator: Curator, design: Design, share: Share) -> tuple[float, float]:
    """About how many rows count: one deviation of the noise more, so that steps are rather too short; and two less."""
    noisy = curator.measure(design.count(), share)
    about, std = float(noisy.value[0]), float(noisy.std)
    return max(about, 0.0) + std, about - 2 * std


def watcher(
    name: str, units: Callable[[Design, Floats], tuple[Any, Any]], callback: Callable[..., Any] | None, progress: bool
) -> Callable[[Design, Descent], None]:
    """Shows a bar, and hands each noised iterate, in the units of the data, to the callback."""
    bar: Bar | None = None

    def watch(design: Design, descent: Descent) -> None:
        nonlocal bar
        if progress:
            bar = bar or Bar(name, descent.steps)
            bar.at(descent.t)
        if callback is not None:
            callback(descent.t, *units(design, descent.theta))

    return watch
