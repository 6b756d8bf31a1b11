"""Averaged descent on standardised, whitened rows: the default of logistic regression.

Why it is accurate: features get a common scale by means and deviations that cost a tenth of the budget, and are
whitened as far as a noisy look at their correlations can be trusted, so that few steps go far; each row's gradient is
clipped as a whole, at a size where a row counts for about as much as any other; where noise hides features one by one,
rows lean towards the average of all (`together.py`); steps get longer as the loss gets flatter, and shorter where there
is much noise; later ones are averaged, which averages their noise; what noise may have made of the slopes counts for as
little as the likeliest class is worth (`trust.py`); and unless slopes are plain to see, the last part of the budget is
for the rows to say whether they are any good (`verdict.py`). All constants depend on public numbers and on what was
released: how many rows, columns and how much budget there are, through ρ, the size of the noise in X'X relative to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share, inside, radial
from discreet.curator import Curator
from discreet.images import Mixed
from discreet.models.classifier import SCANTY
from discreet.models.fit import ADAPTS, Fit
from discreet.models.logistic import few, together
from discreet.models.logistic.counts import FEW, Counts, class_counts, shares_of, too_few, total_rows
from discreet.models.logistic.directions import Directions
from discreet.models.logistic.moments import shrunk_correlations, spectral, trusted, whitening
from discreet.models.logistic.standard import CLIP_AT, all_together, one_by_one
from discreet.models.logistic.trust import Moved, worth
from discreet.models.logistic.verdict import MOST, held_back, verdict
from discreet.models.logistic.walk import Path, Walk
from discreet.models.scaling import Standard, around_zero
from discreet.query import WIDEST, BoundedSum, Image
from discreet.task import Task

Floats = NDArray[np.float64]

# shares of the budget: how many rows of each class, means and squares, X'X to whiten by; the rest for the gradients
SHARES, SHARES_PURE = (0.04, 0.1, 0.12), (0.12, 0.12, 0.08)
ROUNDS, ROUNDS_PURE = 20, 5
CLIP, CLIP_POWER = 0.4, 0.25  # of √width, the length that gradients are clipped to; and how it falls with ρ
STEP, STEP_POWER = 1.2, 0.4  # the longest step along an average gradient, and how it falls with ρ
STRONG = 9.0  # signals: with fewer, steps get shorter still
RADIUS = 1.5  # of a row in the look, in typical lengths
LOOSE = 0.3  # of the noise's spectral norm: the floor of the eigenvalues that rows are whitened by
BLIND = 0.55  # of √width: with more noise than that in its entries X'X would tell nothing, and is not asked for
PLAIN = 0.7  # of the slopes is surely no noise: with less, rows are asked whether they are any good

LOOK = "correlations"
FAINT = (
    "much noise for this many rows: coefficients were shrunk to {:.0%} of what was found, towards class shares alone"
)
JUDGED = "at this budget, what was learnt of the features could not be told to be better than {}, which was chosen"
CLASS, LINE = "a class for all rows", "a line along which all numbers grow"
CLIPPED = "features were clipped at {:g} standard deviations from their means: coefficients are of the clipped values"


@dataclass(frozen=True)
class Setting:
    """How hard to clip and how far to step, from public numbers.

    Attributes
    ----------
    noise : the deviation of the noise in a coordinate of a vector of norm 1, over n.
    width : the mean squared length of a row of uncorrelated features: their number, where none is shrunk.
    """

    noise: float
    width: float

    @property
    def rho(self) -> float:
        """The noise in X'X over the size of X'X."""
        return self.width * math.sqrt(2 * self.width) * self.noise

    @property
    def signal(self) -> float:
        """The sum of n vectors of norm 1 over the length of its noise."""
        return 1 / (self.noise * math.sqrt(self.width))

    @property
    def clip(self) -> float:
        """The length that gradients are clipped to: a typical standardised row has length √width."""
        return min(CLIP * math.pow(self.rho, -CLIP_POWER), 1.0) * math.sqrt(self.width)

    def step(self, kept: float) -> float:
        """How far to follow the average gradient; a Newton step where rows are white."""
        plain = min(math.pow(self.rho, -STEP_POWER), STEP) * min(math.sqrt(self.signal / STRONG), 1.0)
        return plain + (4.0 - plain) * kept


def classes_of(bounds: Bounds) -> int:
    """How many classes there are, of bounds that were dealt."""
    assert bounds.classes is not None
    return len(bounds.classes)


def descent(task: Task, clip: float | None = CLIP_AT, rounds: int | None = None) -> Fit:
    """Release class counts, moments and gradients; follow them; and let the rows judge where they lead.

    | data | what comes out |
    | --- | --- |
    | fewer rows than slopes need | a class for all of them, or a line across them (`few.py`) |
    | features that tell nothing | the likeliest class, nearly always (`verdict.py`) |
    | one class only | that class, nearly always |
    | constant or collinear columns | finite coefficients |
    """
    bounds, plan = _dealt(task, rounds)
    bounds = bounds if task.intercept else around_zero(bounds)
    curator, classes = task.curator, classes_of(bounds)

    # PRIVATISE: how many rows of each class; how noisy all else will be follows from it
    counts = class_counts(curator, plan.counts, classes)
    rows, moments = counts.total, [plan.moments]
    if plan.again and few.surely_many(rows, task):
        moments.append(plan.again)
    elif task.intercept and classes > 1:
        rows, scarce = few.counted(rows, task, plan.again, classes)
        if scarce:
            return few.chosen(task, bounds, rows, (plan.moments, plan.look, *plan.steps))
    n = total_rows(rows, task.n)

    # BOUND + SUMMARISE + PRIVATISE: means and deviations, then a look at the correlations, unless noise would hide them
    standard = (all_together if _hidden(task, bounds, n) else one_by_one)(task, bounds, n, clip, *moments)
    blind = _blind(task, plan.look, n)
    image, white, kept = (standard.rows, np.eye(task.width), 0.0) if blind else _white(curator, standard, plan.look, n)
    shares = (*plan.steps, plan.look) if blind else plan.steps

    # SUMMARISE + PRIVATISE: gradients, each where the ones before have led
    start = few.by_shares(counts, task)
    setting = Setting(task.noise(start.size) / n, task.width)
    scanty = setting.signal < SCANTY or too_few(counts, task)
    if kept == 0 and _hidden(task, bounds, n):
        white = together.leaning(together.average(bounds))
        image = Mixed(standard.scaled, standard.frame @ white)
        setting = Setting(setting.noise, float((white**2).sum()))
    walk = Walk(
        curator,
        Directions(image, task.width),
        setting.clip,
        n,
        setting.step(kept) * flatness(counts),
        white[0] if task.intercept and not blind else None,
        rarest(counts),
        math.sqrt(setting.width),
    )
    curator.keep()
    back = len(shares) - held_back(task, shares, n, classes)
    path = walk.along(Path((np.asarray(np.linalg.solve(white, start.T).T),)), shares[:back])
    moved = Moved.by(walk, path, white, start)
    judged = back < len(shares) and moved.signal < PLAIN
    if not judged:
        moved = Moved.by(walk, walk.along(path, shares[back:]), white, start)

    # SOLVE: what noise may have made of it counts for as little as the likeliest class is worth
    weight = moved.trust(worth(counts)) if task.intercept else 1.0
    learnt = np.array([(start + part * moved.way) @ standard.frame.T for part in dict.fromkeys((weight, 1.0))])
    theta, note = learnt[0], FAINT.format(weight) if weight < 0.5 else ""
    if judged:  # PRIVATISE: by how many rows are right, one of a few candidates
        found = verdict(task, standard.scaled, bounds, learnt, n, shares[back:])
        theta = found.theta
        if found.learnt is None:
            note = JUDGED.format(LINE if found.line else CLASS)
        elif found.learnt:  # all of it, and nothing shrunk
            note = ""
    clipped = CLIPPED.format(clip) if standard.clips else ""
    task.note(*filter(None, (ADAPTS, FEW if scanty else "", note, clipped)))
    return Fit(theta, bounds=bounds, narrow=standard.narrow)


def bends(counts: Counts) -> Floats:
    """The curvature p(1 - p) of the loss along each of several classes; of two, as if they were even."""
    shares = shares_of(counts)
    return shares * (1 - shares) if len(shares) > 2 else np.full(len(shares), 0.25)


def flatness(counts: Counts) -> float:
    """How much flatter the loss is along the steepest class than for two even ones: so much longer may steps be."""
    return 0.25 / max(float(bends(counts).max()), 1e-3)


def rarest(counts: Counts) -> float:
    """How much flatter the loss is along the rarest class than along the steepest."""
    bent = bends(counts)
    return float(bent.min() / max(float(bent.max()), 1e-300))


@dataclass(frozen=True)
class _Plan:
    """Shares for each question."""

    counts: Share
    again: Share | None
    moments: Share
    look: Share
    steps: tuple[Share, ...]


def _dealt(task: Task, rounds: int | None) -> tuple[Bounds, _Plan]:
    rounds = rounds or (ROUNDS_PURE if task.budget.pure else ROUNDS)
    counts, moments, look = SHARES_PURE if task.budget.pure else SHARES
    counted = task.n is None and task.intercept  # rows may have to be counted again
    again = [few.AGAIN] if counted else []
    moments -= sum(again) / 2
    step = (1 - counts - moments - look - sum(again)) / rounds
    steps = [step] * rounds
    if task.budget.pure and task.intercept and rounds > 2:
        last = max(2, int(MOST * rounds))  # several pure shares do not pay for one choice: the last is a large one
        steps[-last:] = [last * step]
    bounds, shares = task.deal(
        radial(counts), *map(radial, again), *(inside(radial(part)) for part in (moments, look, *steps))
    )
    first, rest = shares[0], shares[1 + len(again) :]
    return bounds, _Plan(first, shares[1] if counted else None, rest[0], rest[1], tuple(rest[2:]))


def _hidden(task: Task, bounds: Bounds, n: float) -> bool:
    """Whether noise would hide features one by one, and there are some that may grow together."""
    fits = 2 * len(bounds.lower) <= WIDEST  # their average is asked for in the shape of means and squares
    if not (task.intercept and fits) or np.count_nonzero(together.average(bounds)) < 2:
        return False
    classes = classes_of(bounds)
    size = task.width * (classes if classes > 2 else 1)
    return Setting(task.noise(size) / n, task.width).signal < together.HIDDEN


def _blind(task: Task, share: Share, n: float) -> bool:
    """Whether noise would hide any correlation: the share is worth more for another gradient then, or for a choice."""
    width = task.width
    noise = RADIUS**2 * width * task.noise(width * (width + 1) // 2, share) / n
    return noise > BLIND * math.sqrt(width)


def _white(curator: Curator, standard: Standard, share: Share, n: float) -> tuple[Image, Floats, float]:
    """The rows whitened as far as a noisy look allows; the matrix W that did it; how much of the look was kept."""
    width = len(standard.frame)
    rows = BoundedSum(standard.rows, standard.rows, norm=RADIUS**2 * width, name=LOOK)
    look = curator.measure(rows, share)
    noise = float(look.std[0, 0]) / n
    matrix, kept = shrunk_correlations(look.value / n, noise)
    if not trusted(kept, width):
        return standard.rows, np.eye(width), 0.0
    image = Mixed(standard.scaled, standard.frame @ whitening(matrix, max(LOOSE * kept * spectral(noise, width), 0.01)))
    return image, np.asarray(np.linalg.solve(standard.frame, image.matrix)), kept
