"""From options to coefficients: which plan, which noise, and what to remark."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share, inside, radial
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.curator.total_noise import deviation_of
from discreet.models.sgd.dp_sgd import FOR_ROWS, GradientClip, LotDescent, LotSize, shrink_feature_mean, stack_releases
from discreet.models.sgd.options import DescentOptions
from discreet.models.sgd.pure_passes import BatchPasses, batch_sizes
from discreet.models.sgd.row_gradients import RowGradients
from discreet.models.sgd.schedule import Descent
from discreet.progress import Bar

Floats = NDArray[np.float64]

FOR_MEANS = 0.02  # of the budget, where no lot can be had for them
FAINT = 1.0  # of the clip: where the noise in the mean of all steps' gradients is longer, little can be learnt
ADAPTED = "what each step measured depended on earlier answers"
WHOLE = "every step read all rows: lots are drawn where bounds and classes are public and neighbours add-remove"
NOISY = "the noise outweighs what the rows can say at this budget; more rows, fewer features or a larger epsilon help"


MakeGradients = Callable[[Bounds], RowGradients]
Watch = Callable[[RowGradients, Descent], None]


def map_rows(curator: Curator, design: RowGradients) -> None:
    """From here on rows as the design wants them: a map of each row by itself, held where memory allows."""
    curator.map(design.polar)
    curator.hold(np.float32)


def begin_descent(options: DescentOptions, design: RowGradients, steps: int) -> Descent:
    """A descent at its start: all coefficients zero."""
    width = design.shape[0]
    schedule = replace(options.schedule, alpha=options.schedule.alpha / width)  # θ is √width times what is shrunk
    return Descent(np.zeros(design.shape), schedule, options.momentum, steps, design.intercept)


@dataclass(frozen=True)
class DescentResult:
    """What came of a descent: its end, the design its coefficients are of, and how long the noise of a step was.

    The noise is in units of the clip, of the mean gradient.
    """

    design: RowGradients
    descent: Descent
    noise: float
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """For the receipt."""
        faint = self.noise > FAINT * math.sqrt(self.descent.t)
        return (ADAPTED, *self.notes, *[NOISY] * faint)


def run_descent(task: Task, designed: MakeGradients, options: DescentOptions, watch: Watch) -> DescentResult:
    """Take the way that the options and what is public allow.

    Parameters
    ----------
    task : answers, and what is public.
    designed : the design of bounds, once they are known.
    options : what was asked for.
    watch : is shown each noised iterate.
    """
    share = options.lot_share(task.n)
    steps = max(1, round(options.epochs / share))
    if options.noise == "pure":
        return descend_by_passes(task, designed, options, watch, int(options.epochs), whole=False)
    if share < 1 and task.stated and task.budget.neighbours == "add-remove":
        return descend_by_lots(task, designed, options, watch, steps, share)
    return replace(descend_by_passes(task, designed, options, watch, steps, whole=True), notes=(WHOLE,))


def descend_by_lots(
    task: Task, designed: MakeGradients, options: DescentOptions, watch: Watch, steps: int, rate: float
) -> DescentResult:
    """DP-SGD: Gaussian noise on the gradients of Poisson lots, one plan; a first lot finds where features centre."""
    curator = task.curator
    bounds, _ = task.deal(1.0)  # public: nothing is paid for them, and these shares are not used
    design = designed(bounds)
    counted = task.n is None
    parts = (1 - FOR_ROWS, FOR_ROWS) if counted or options.adaptive else (1.0,)
    lots = task.budget.lots(steps + task.intercept, rate, *parts)
    size = LotSize(None if task.n is None else rate * task.n)
    before = len(curator.releases)

    if task.intercept:
        design = design.centre_at(LotDescent(curator, design, lots, counted).estimate_centre(lots[0], size))
    map_rows(curator, design)
    descent, clip = begin_descent(options, design, steps), GradientClip(options.norm, options.adaptive)
    each = LotDescent(curator, design, lots[int(task.intercept) :], counted)
    each.descend(descent, size, clip, lambda at: watch(design, at))
    curator.releases[before:] = stack_releases(curator.releases[before:])
    width = math.prod(design.shape)
    noise = deviation_of(curator.buys(lots[0].shares[0]), width)
    return DescentResult(design, descent, noise * math.sqrt(width) / size.least_rows)


def descend_by_passes(
    task: Task, designed: MakeGradients, options: DescentOptions, watch: Watch, passes: int, whole: bool
) -> DescentResult:
    """Noisy gradients of disjoint batches, or of the whole; what is not public of rows is paid for first."""
    curator = task.curator
    if options.adaptive:
        raise ValueError(
            "clip='adaptive' needs lots, and those public bounds and classes, add-remove neighbours and a rate below "
            "1. Hint: a number > 0."
        )
    parts = [FOR_ROWS] * (task.n is None) + [radial(FOR_MEANS)] * task.intercept + [inside(radial(1.0))]
    bounds, shares = task.deal(*parts)
    design = designed(bounds)
    rows, surely = (float(task.n),) * 2 if task.n is not None else _count_rows(curator, design, shares[0])
    if task.intercept:
        noisy = curator.measure(design.sum_features(), shares[-2])
        design = design.centre_at(shrink_feature_mean(np.asarray(noisy.value), float(noisy.std), max(rows, 1.0)))
    map_rows(curator, design)
    count = 1 if whole else options.count_batches(rows, task.n, task.budget.epsilon, math.prod(design.shape))
    sizes = batch_sizes(options.batch, count)

    descent = begin_descent(options, design, passes * len(sizes))
    passed = BatchPasses(
        "gradients", design, descent.copy(), options.norm, sizes, passes, rows, lambda at: watch(design, at)
    )
    sums = curator.run(passed, shares[-1])
    for i, total in enumerate(np.asarray(sums.value)):
        passed.take_step(descent, total, sizes[i % len(sizes)])
    each = max(1.0, surely / len(sizes))
    return DescentResult(design, descent, float(sums.std) / options.norm * math.sqrt(math.prod(design.shape)) / each)


def _count_rows(curator: Curator, design: RowGradients, share: Share) -> tuple[float, float]:
    """About how many rows count: one deviation of the noise more, so that steps are rather too short; and two less."""
    noisy = curator.measure(design.count_rows(), share)
    about, std = float(noisy.value[0]), float(noisy.std)
    return max(about, 0.0) + std, about - 2 * std


def make_watcher(
    units: Callable[[RowGradients, Floats], tuple[Any, Any]], callback: Callable[..., Any] | None, bar: Bar
) -> Callable[[RowGradients, Descent], None]:
    """Moves the bar, and hands each noised iterate, in the units of the data, to the callback."""

    def watch(design: RowGradients, descent: Descent) -> None:
        bar.at(descent.t / descent.steps)
        if callback is not None:
            callback(descent.t, *units(design, descent.theta))

    return watch
