"""EB-SSP: second moments of standardised, whitened, weighted rows, and two corrections, shrunk by empirical Bayes.

Why it is accurate: noise is added where a row counts for about as much as any other (standardised features, whitened
by a first look at their correlations, long rows shrunk as a whole), the products are measured about a first solution,
where residuals are small, and every solution is shrunk by what is known of the noise. All constants depend on public
numbers alone: how many rows, columns and how much budget there are, through ρ, the size of the noise in X'X relative to
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share, radial
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.models.linear.known_moments import KnownMoments
from discreet.models.linear.scaled_rows import target
from discreet.models.linear.shrinkage import shrink_coefficients
from discreet.models.linear.standardise import standardise_rows
from discreet.models.shared.linear_fit import ADAPTS
from discreet.query import Batch, BoundedSum, Image, OneHot
from discreet.query.images import LinearForm, Mixed, find_missing
from discreet.release import Release

Floats = NDArray[np.float64]

# shares of the budget: the count (where it is private), means and deviations, X'X to whiten by, X'X, X'y, the size of
# the residuals, X'r
COUNT, MOMENTS, FIRST_LOOK, GRAM, PRODUCTS, RESIDUALS, CORRECTION = 0.02, 0.15, 0.15, 0.2, 0.2, 0.02, 0.23
# the mean of the target alone, beside them: its share grows with ρ, to MOST, where the number of rows is stated
MEAN_MOST, MEAN_HALF = 0.8, 15.0

SMALL_RHO = 0.02  # below such a ρ the moments tell the size of the residuals
CLEAR_OF_NOISE = 5.0  # eigenvalues so many times the noise need no whitening
LARGE_RHO = 10.0  # beyond such a ρ slopes' coordinates are made small, and the noise is in the mean's
COUNT_DEVIATIONS = 1.5  # deviations of the noise of the number of rows
EIGENVALUE_FLOOR = 0.3  # of the noise's spectral norm: the floor of the eigenvalues that rows are whitened by
FAIR_R2, KEPT_LITTLE = 0.3, 0.25  # slopes that explain FAIR of the variance and keep less than LITTLE are remarked on

NOISY_NOTE = (
    "much noise for this many rows: slopes were shrunk to little, and the answer is near the mean of the target alone"
)


@dataclass(frozen=True)
class ClipSetting:
    """How hard to clip, from public numbers and released ones: ρ is the noise in X'X over the size of X'X."""

    rho: float

    @property
    def row_length(self) -> float:
        """Rows are shrunk onto so many times the length of a typical one."""
        return min(max(0.65 * math.pow(self.rho, -0.25), 0.5), 4.0)

    @property
    def target_clip(self) -> float:
        """Targets are clipped at so many of their deviations, the more so where rows are shrunk."""
        return self.residual_clip * min(self.row_length, 1.0)

    @property
    def residual_clip(self) -> float:
        """Residuals are clipped at so many of their deviations."""
        return min(max(1.3 * math.pow(self.rho, -0.13), 1.2), 3.0)


def weigh_target(rho: float, width: int) -> float:
    """Weight of the target's moments beside one feature's: the noisier, the more its mean matters."""
    return min(round(4 * math.sqrt(width * min(max(2.5 * rho, 0.5), 3.5))) / 4, 32.0)


def release_moments(task: Task, clip: float | None = None) -> tuple[KnownMoments, tuple[str, ...]]:
    """Release what is needed to solve a regression, and solve it nearly: the moments about a first solution.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs | the more of the budget for the mean of the target, and slopes shrunk towards 0 |
    | constant or collinear columns | eigenvalues floored at the noise: finite coefficients |
    """
    parts = [radial(weight) for weight in (MOMENTS, FIRST_LOOK, GRAM, PRODUCTS, RESIDUALS, CORRECTION)]
    for_level: Share | None = None
    if task.n is None:
        bounds, (for_count, *rest) = task.deal(radial(COUNT), *parts)
        count, count_std = _count_rows(task.curator, for_count)
    else:
        count, count_std = float(task.n), 0.0
        if task.intercept and task.budget.neighbours == "add-remove":
            bounds, (for_level, *rest) = task.deal(radial(_weigh_mean(_noise_ratio(task, count))), *parts)
        else:
            bounds, plain = task.deal(*parts)
            rest = list(plain)
    size = RowCount(_positive_count(count, count_std), max(count - count_std, 1.0), count_std)
    part, remarks = _measure_moments(task, bounds, for_level, rest, size, clip)
    return part, (ADAPTS, *remarks)


def _weigh_mean(rho: float) -> float:
    """The share of the mean of the target alone beside the others: the less hope there is for slopes, the more."""
    share = MEAN_MOST * rho**2 / (rho**2 + MEAN_HALF**2)
    return max(share, 1e-3) / (1 - share) * (MOMENTS + FIRST_LOOK + GRAM + PRODUCTS + RESIDUALS + CORRECTION)


@dataclass(frozen=True)
class RowCount:
    """The number of rows: never too small for its noise; so many at least, but for the noise; and that noise."""

    rows: float
    least: float
    std: float

    @property
    def certainty(self) -> float:
        """Near 0 where the rows are so few that they may be noise."""
        return min(1.0, self.least / (COUNT_DEVIATIONS * self.std)) ** 2 if self.std else 1.0


def _noise_ratio(task: Task, rows: float, width: float | None = None) -> float:
    """The noise in X'X over the size of X'X, for rows of so many coordinates that are alike."""
    d = task.width if width is None else width
    noise = task.noise(task.width * (task.width + 1) // 2)
    return d * math.sqrt(2 * d) * noise / max(rows, 1.0)


def _count_rows(curator: Curator, share: Share) -> tuple[float, float]:
    one = OneHot(lambda rows: np.where(find_missing(rows), -1, 0), 1)
    noisy = curator.measure(BoundedSum(one, name="count"), share)
    return float(np.squeeze(noisy.value)), float(np.squeeze(noisy.std))


def _positive_count(count: float, std: float) -> float:
    """A number of rows that is never too small for its noise."""
    return max((count + math.sqrt(count**2 + 4 * std**2)) / 2, 1.0)


def _measure_moments(
    task: Task, bounds: Bounds, for_level: Share | None, shares: Sequence[Share], size: RowCount, clip: float | None
) -> tuple[KnownMoments, tuple[str, ...]]:
    curator, intercept = task.curator, int(task.intercept)
    width = len(bounds.lower) + intercept  # of the features that are seen, which may be fewer than there might be
    n, n_std = size.rows, size.std
    for_moments, for_look, for_gram, for_products, for_residuals, for_correction = shares
    rho = _noise_ratio(task, size.least, width)
    setting, t = ClipSetting(rho), target(bounds)

    # BOUND + SUMMARISE + PRIVATISE: means and deviations
    for_means = (for_level, for_moments)
    begun = standardise_rows(task, bounds, weigh_target(rho, width), for_means, n, n_std, clip)
    z: Image = begun.rows.rows
    frame, start, deviation = begun.rows.frame, begun.start, begun.deviation
    radius, clip = setting.row_length * math.sqrt(width), setting.target_clip * deviation

    # a first look at the correlations, to whiten by; then X'X and X'y of whitened rows, long ones shrunk as a whole
    first_look, of_target = (
        _sum_gram(z, radius, "X'X, first look"),
        _sum_products(z, t, frame, start, radius, clip, "X'y"),
    )
    (look,) = curator.measure_together((first_look, for_look, None), ahead=[(of_target, for_products)])
    grams, square = [look], float(width)
    if not _is_white_already(look):
        white = whiten_slopes(look, n, intercept)
        rho, least = (_noise_ratio(task, rows, intercept + white.square) for rows in (n, size.least))
        hope = min(1.0, LARGE_RHO / least) * size.certainty
        matrix = white.matrix * np.append(np.ones(intercept), np.full(width - intercept, hope))
        frame, square = frame @ matrix, max(intercept + hope**2 * white.square, 1e-6)
        grams, z, setting = [], Mixed(begun.rows.scaled, frame), ClipSetting(rho)
        radius, clip = setting.row_length * math.sqrt(square), setting.target_clip * deviation
        of_target = _sum_products(z, t, frame, start, radius, clip, "X'y")
    gram, products = curator.measure_together(
        (_sum_gram(z, radius, "X'X"), for_gram, None), (of_target, for_products, None)
    )
    matrix, noise = _average_grams([*grams, gram])
    weight = min(max(float(np.trace(matrix)) / (n * square), 0.1), 1.0)  # of the average row

    # SOLVE, for a first solution
    def part(line: Floats, products: Release, variance: float, clip: float) -> KnownMoments:
        answer = _share_unclipped(clip, math.sqrt(variance * weight))
        return KnownMoments(
            frame=frame,
            line=line,
            gram=matrix,
            gram_std=noise,
            cross=products.value / answer,
            cross_std=float(products.std) / answer,
            variance=variance,
            count=n,
            count_std=n_std,
            mean=begun.mean,
            low=begun.rows.low,
            high=begun.rows.high,
            start=start,
            start_std=begun.start_std,
            whole=deviation**2,
            weight=weight,
        )

    rough = part(start, products, deviation**2, clip)
    line = shrink_coefficients([rough]).theta

    # PRIVATISE: the size of the residuals, and what they still say
    expected = max(_residual_variance(rough, line), 0.25 * rough.variance)
    edge = setting.residual_clip * math.sqrt(expected / weight)
    squares = _sum_squares(t, LinearForm(z, _to_frame(frame, line)), edge)
    if setting.rho > SMALL_RHO:
        left = _solve_variance(curator.measure(squares, for_residuals), edge, n)
        clip = min(clip, setting.residual_clip * math.sqrt(left * weight))
        correction = curator.measure(_sum_products(z, t, frame, line, radius, clip, "X'r"), for_correction)
    else:  # so little noise that the moments tell the size of the residuals, and the rows need not be read for it
        clip = min(clip, 1.1 * setting.residual_clip * math.sqrt(_residual_variance(rough, line) * weight))
        correct = _sum_products(z, t, frame, line, radius, clip, "X'r")
        measured, correction = curator.measure_together((squares, for_residuals, None), (correct, for_correction, None))
        left = _solve_variance(measured, edge, n)
    found = _combine_products(rough, part(line, correction, left, clip))
    return found, begun.notes + ((NOISY_NOTE,) if _share_kept(found, square) < KEPT_LITTLE else ())


def _share_kept(part: KnownMoments, square: float) -> float:
    """What the noise leaves of fair slopes that are alike in all coordinates."""
    signal = (part.count * (part.weight or 1.0)) ** 2 * FAIR_R2 * (part.whole or 1.0) / square
    return signal / (signal + part.cross_std**2)


def _combine_products(rough: KnownMoments, fine: KnownMoments) -> KnownMoments:
    """The products about the second line and those about the first, moved there: each by its precision."""
    step = np.linalg.solve(fine.frame, fine.line - rough.line)
    moved = rough.cross_std**2 + rough.gram_std**2 / 2 * float(step @ step)
    share = moved / (moved + fine.cross_std**2)
    cross = share * fine.cross + (1 - share) * rough.move_products(fine.line)
    return replace(fine, cross=cross, cross_std=math.sqrt(share) * fine.cross_std)


@dataclass(frozen=True, eq=False)
class Whitening:
    """The matrix that whitens standardised slopes, and their squared length in a typical row then."""

    matrix: Floats
    square: float


def whiten_slopes(look: Release, n: float, intercept: int) -> Whitening:
    """What makes slopes' coordinates alike, as a noisy X'X has it; eigenvalues within the noise are taken for it.

    Rows of few common factors are short then, whatever their number of columns, and the noise that they need is small.
    """
    slopes = look.value[intercept:, intercept:]
    values, vectors = np.linalg.eigh(slopes)
    edge = float(look.std[0, 0]) * math.sqrt(2 * len(slopes))
    true = np.where(values > edge, (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2, 0.0)
    hidden = values <= edge  # all of these together are what is left of the trace, which is well known
    true[hidden] = max(float(np.trace(slopes) - true.sum()), 0.0) / max(int(hidden.sum()), 1)
    values = np.maximum(values, EIGENVALUE_FLOOR * edge + 1e-9)
    matrix = np.eye(len(look.value))
    matrix[intercept:, intercept:] = vectors * np.sqrt(n / values)
    return Whitening(matrix, max(float((true / values).sum()), 1.0))


def _is_white_already(look: Release) -> bool:
    """Whether all directions stand out of the noise, as the noisy matrix has it: post-processing."""
    noise = float(look.std[0, 0]) * math.sqrt(2 * len(look.value))
    return bool(np.linalg.eigvalsh(look.value)[0] > CLEAR_OF_NOISE * noise)


def _residual_variance(part: KnownMoments, line: Floats) -> float:
    """The variance of residuals about a line, from moments about another: at least a hundredth of what it was."""
    step = np.linalg.solve(part.frame, line - part.line)
    gained = float(2 * step @ part.cross - step @ part.gram @ step) / part.count
    return max(part.variance - gained, 0.01 * part.variance)


def _sum_gram(z: Image, radius: float, name: str) -> BoundedSum:
    return BoundedSum(z, z, norm=radius**2, name=name)


def _sum_products(z: Image, t: Image, frame: Floats, line: Floats, radius: float, clip: float, name: str) -> BoundedSum:
    theta = _to_frame(frame, line)
    return BoundedSum(z, t, norm=radius * clip, left_norm=radius, joint=True, about=theta, name=name)


def _to_frame(frame: Floats, line: Floats) -> tuple[float, ...]:
    return tuple(np.linalg.solve(frame, line).tolist())


def _average_grams(grams: list[Release]) -> tuple[Floats, float]:
    """Noisy values of one matrix as one value, and the deviation of its noise."""
    precisions = [float(gram.std[0, 0]) ** -2 for gram in grams]
    total = sum(precisions)
    mean = sum(gram.value * precision for gram, precision in zip(grams, precisions, strict=True)) / total
    return np.asarray(mean), total**-0.5


def _sum_squares(t: Image, line: LinearForm, clip: float) -> BoundedSum:
    def squares(rows: Batch) -> Floats:
        return np.asarray((t(rows) - line(rows)) ** 2)

    return BoundedSum(squares, norm=clip**2, name="squared residuals")


def _solve_variance(squares: Release, clip: float, n: float) -> float:
    """The variance of normal residuals whose squares, clipped at clip², have this noisy sum."""
    found = max(float(np.squeeze(squares.value)), float(np.squeeze(squares.std))) / n
    low, high = 0.0, 2.0 * clip
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean_clipped_square(middle, clip) < found else (low, middle)
    return high**2


def _mean_clipped_square(deviation: float, clip: float) -> float:
    """The mean of min(r², clip²) for a normal r."""
    k = clip / max(deviation, 1e-12)
    inside, density = math.erf(k / math.sqrt(2)), math.exp(-(k**2) / 2) / math.sqrt(2 * math.pi)
    return deviation**2 * (inside - 2 * k * density) + clip**2 * (1 - inside)


def _share_unclipped(clip: float, deviation: float) -> float:
    """How many normal residuals are not clipped: by so much less do their products answer to a change of line."""
    return max(math.erf(clip / max(deviation, 1e-12) / math.sqrt(2)), 0.5)
