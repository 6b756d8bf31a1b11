"""The default of logistic regression: slopes always, shrunk by the known noise; the class shares in the intercept.

BOUND: features get a common scale, by means and deviations that were paid for, and rows are whitened as far as a noisy
look at their correlations goes. SUMMARISE and PRIVATISE: a few noisy gradients, each clipped as a whole, and two small
sums that tell how far to trust the scores. SOLVE: each gradient is an observation of where the loss is least, with
known noise; `belief.py` averages them and shrinks what noise may have made of the slopes by their evidence, and the
next gradient is taken there; `scores.py` sets the level and the scale of the scores, so that probabilities are right.

All is sums with noise, so that any share of a plan pays for it: `parts` and `fit_shares` are for models built on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Part, Share, radial
from discreet.curator.task import Task
from discreet.models.logistic.class_counts import (
    FEW_NOTE,
    count_classes,
    estimate_class_shares,
    estimate_rows,
    has_too_few_rows,
)
from discreet.models.logistic.class_scores import ClassBasis, ScoreDistribution, set_scale
from discreet.models.logistic.directions import RowDirections, binary_residuals, multiclass_residuals, sum_gradients
from discreet.models.logistic.feature_moments import (
    exceeds_noise,
    noise_spectral_norm,
    shrink_correlations,
    whiten_matrix,
)
from discreet.models.logistic.shrinkage import GradientAverage, SlopePrior
from discreet.models.logistic.standardise import CLIP_AT, scale_features
from discreet.models.shared.classifier import SCANTY
from discreet.models.shared.linear_fit import ADAPTS, Fit
from discreet.models.shared.scaling import StandardisedRows, centre_at_zero, find_indicators
from discreet.query import BoundedSum, Image
from discreet.query.images import Mixed

Floats = NDArray[np.float64]

ROUNDS, ROUNDS_PURE = 10, 4
SCALINGS, SCALINGS_PURE = 2, 1
# shares of the budget: rows of each class, means and squares, X'X, level and scale; the rest is for the gradients
SHARES, SHARES_PURE = (0.06, 0.1, 0.12, 0.14), (0.1, 0.1, 0.06, 0.14)
CLIP_LENGTHS, CLIP_LEAST, CLIP_MOST = 0.5, 0.3, 2.5  # rows count up to so many typical lengths: this much, over ρ^¼
LOOK_RADIUS = 1.5  # of a row in the look, in typical lengths
EIGENVALUE_FLOOR = 0.3  # of the noise's spectral norm: the floor of the eigenvalues that rows are whitened by
LOOK_NOISE = 0.55  # of √width: with more noise than that in its entries X'X would tell nothing, and is not asked for
RARE_INDICATOR_SPREAD = (
    0.2  # scaled: the deviation of an indicator counts as this much more, so that rare ones do not lengthen rows
)
STEP_LENGTH, STEP_SHARE = 1.0, 0.7  # how far a step may go in slopes, or in so much of their length

LOOK_NAME = "correlations"
SHRUNK_NOTE = "much noise for this many rows: slopes were shrunk to {:.0%} of what was found"
CLIPPED_NOTE = (
    "features were clipped at {:g} standard deviations from their means: coefficients are of the clipped values"
)


def parts(pure: bool, rounds: int | None = None, weight: float = 1.0) -> tuple[Part, ...]:
    """The parts of a plan that one fit takes, of `weight` in all; `fit_shares` uses them.

    >>> round(sum(part.weight for part in parts(False, weight=0.3)), 9), all(part.is_sum for part in parts(True))
    (0.3, True)
    """
    rounds = rounds or (ROUNDS_PURE if pure else ROUNDS)
    counts, moments, look, scale = SHARES_PURE if pure else SHARES
    scalings = SCALINGS_PURE if pure else SCALINGS
    step = (1 - counts - moments - look - scale) / rounds
    weights = (counts, moments, look, *[scale / scalings] * scalings, *[step] * rounds)
    return tuple(radial(weight * one) for one in weights)


def fit_logistic(task: Task, clip: float | None = CLIP_AT, rounds: int | None = None) -> Fit:
    """The whole of a task's budget for one fit."""
    bounds, shares = task.deal(*parts(task.budget.pure, rounds))
    return fit_shares(task, bounds, shares, clip)


def fit_shares(task: Task, bounds: Bounds, shares: Sequence[Share], clip: float | None = CLIP_AT) -> Fit:
    """Logistic regression, paid for by shares dealt for `parts`, in that order.

    | data | what comes out |
    | --- | --- |
    | no rows, or far too few for the budget | class shares as far as they are known, slopes near zero |
    | features that tell nothing | slopes near zero: the likeliest class |
    | one class only | that class, as far as its rows outnumber the noise |
    | constant or collinear columns | finite coefficients |
    """
    bounds = bounds if task.intercept else centre_at_zero(bounds)
    scalings = SCALINGS_PURE if task.budget.pure else SCALINGS
    for_counts, for_moments, for_look, *rest = shares
    for_scale, for_steps = rest[:scalings], rest[scalings:]
    curator = task.curator

    # SUMMARISE + PRIVATISE: how many rows of each class
    counts = count_classes(curator, for_counts, len(bounds.classes or ()))
    n = estimate_rows(counts.total, task.n)
    if len(counts.value) < 2:  # one class: nothing to learn of the features
        return Fit(np.zeros((1, task.width)), bounds=bounds, narrow=bounds)
    classes = ClassBasis.from_shares(estimate_class_shares(counts, n), counts.std / n, task.intercept)

    # BOUND + SUMMARISE + PRIVATISE: means and deviations; then the correlations, unless noise would hide them
    standard = scale_features(task, bounds, n, clip, for_moments, RARE_INDICATOR_SPREAD)
    if _hides_correlations(task, for_look, n):
        white, for_steps = WhitenedRows.as_is(standard), [*for_steps, for_look]
    else:
        white = _whiten_rows(task, standard, for_look, n)
    rows = RowDirections(white.image, task.width)

    # SUMMARISE + PRIVATISE + SOLVE: gradients, each where all before it have led
    curator.keep()
    prior = SlopePrior.for_rows(white.sizes, white.common_slopes(bounds), n)
    theta, kept = _follow_gradients(task, rows, classes, prior, n, for_steps)
    theta = set_scale(curator, rows, classes, theta, n, for_scale)

    # SOLVE: in the coordinates of the bounds
    signal = 1 / (task.noise(theta.size) / n * math.sqrt(task.width))
    scanty = signal < SCANTY or has_too_few_rows(counts, task)
    notes = ADAPTS, FEW_NOTE if scanty else "", SHRUNK_NOTE.format(kept) if kept < 0.5 else ""
    task.note(*filter(None, (*notes, CLIPPED_NOTE.format(clip) if standard.clips_features else "")))
    return Fit(classes.expand(theta) @ white.matrix.T, bounds=bounds, narrow=standard.narrow)


@dataclass(frozen=True, eq=False)
class WhitenedRows:
    """Rows of about unit variance in every direction that could be seen.

    Attributes
    ----------
    image : of the rows.
    matrix : M with rows = M'x of the scaled rows x; of slopes θ on white rows, Mθ are those on scaled ones.
    sizes : the variance of standardised rows along each white coordinate.
    turn : slopes on white rows, of slopes on standardised ones.
    """

    image: Image
    matrix: Floats
    sizes: Floats
    turn: Floats

    @classmethod
    def as_is(cls, standard: StandardisedRows) -> WhitenedRows:
        """Standardised rows themselves."""
        d = len(standard.low)
        return cls(standard.rows, standard.frame, np.ones(d), np.eye(d))

    def common_slopes(self, bounds: Bounds) -> Floats:
        """The slopes with which all numbers speak for one class alike; indicators have none."""
        numbers = ~find_indicators(bounds, True)
        return np.asarray(self.turn @ numbers.astype(np.float64))


def _hides_correlations(task: Task, share: Share, n: float) -> bool:
    d = task.width - task.intercept
    noise = LOOK_RADIUS**2 * task.width * task.noise(d * (d + 1) // 2, share) / n
    return noise > LOOK_NOISE * math.sqrt(task.width)


def _whiten_rows(task: Task, standard: StandardisedRows, share: Share, n: float) -> WhitenedRows:
    """The rows whitened as far as a noisy look at their second moments allows."""
    d = len(standard.low)
    features = replace(standard.rows, intercept=False)
    query = BoundedSum(features, features, norm=LOOK_RADIUS**2 * task.width, name=LOOK_NAME)
    look = task.curator.measure(query, share)
    noise = float(np.max(look.std)) / n
    matrix, kept = shrink_correlations(look.value / n, noise)
    if not exceeds_noise(kept, d):
        return WhitenedRows.as_is(standard)
    values, turned = whiten_matrix(matrix, max(EIGENVALUE_FLOOR * kept * noise_spectral_norm(noise, d), 0.01))
    full = np.eye(task.width)
    full[task.intercept :, task.intercept :] = turned
    image = Mixed(standard.scaled, standard.frame @ full)
    return WhitenedRows(image, image.matrix, values, np.sqrt(values)[:, None] * (turned * np.sqrt(values)).T)


def _follow_gradients(
    task: Task, rows: RowDirections, classes: ClassBasis, prior: SlopePrior, n: float, shares: Sequence[Share]
) -> tuple[Floats, float]:
    """Where gradients lead, and how much was kept of the slopes that were found."""
    reach = _choose_clip(task, classes, n, shares)
    theta, belief = (
        classes.start_coefficients(task.width),
        GradientAverage.without_data(len(classes.basis.T), task.width),
    )
    kept = 0.0
    for i, share in enumerate(shares, 1):
        margins = ScoreDistribution.from_coefficients(classes, theta)
        clip = reach * margins.typical_residual
        margins = replace(margins, residual_clip=clip / math.sqrt(task.width))
        query = sum_gradients(
            rows,
            classes.expand(theta),
            clip,
            binary_residuals if classes.is_binary else multiclass_residuals,
            f"round {i}",
        )
        found = task.curator.measure(query, share)
        pull = classes.project(found.value.reshape(rows.width, -1).T) / n
        noise = float(np.max(found.std)) / n
        bend = classes.damp_curvature(margins)
        belief = belief.observe(classes.subtract_intercepts(theta) + margins.newton_step(pull, bend), bend / noise)
        guess, kept = prior.shrink(belief, bend, classes)
        moved = _limit_step(guess - theta, theta, classes.n_intercepts)
        theta, belief = theta + moved, belief.forget(moved)
    return theta, kept


def _choose_clip(task: Task, classes: ClassBasis, n: float, shares: Sequence[Share]) -> float:
    """How long a row may count, from public numbers and how many rows there are; ρ is the noise in X'X over X'X."""
    size = task.width * (1 if classes.is_binary else len(classes.shares))
    noise = sum(task.noise(size, share) ** -2 for share in shares) ** -0.5 / n
    rho = task.width * math.sqrt(2 * task.width) * noise
    return min(max(CLIP_LENGTHS * math.pow(rho, -0.25), CLIP_LEAST), CLIP_MOST) * math.sqrt(task.width)


def _limit_step(move: Floats, theta: Floats, first: int) -> Floats:
    """A step no longer than curvature can be relied on."""
    most = max(STEP_LENGTH, STEP_SHARE * float(np.sqrt((theta[:, first:] ** 2).sum())))
    return move * min(1.0, most / max(float(np.sqrt((move**2).sum())), 1e-300))
