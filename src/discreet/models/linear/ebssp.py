"""EB-SSP: second moments of standardised, whitened, weighted rows, and two corrections, shrunk by empirical Bayes.

Why it is accurate: noise is added where a row counts for about as much as any other (standardised features, whitened
by a first look at their correlations, long rows shrunk as a whole), the products are measured about a first solution,
where residuals are small, and every solution is shrunk by what is known of the noise. All constants depend on public
numbers alone: how many rows, columns and how much budget there are, through ρ, the size of the noise in X'X relative to
it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share, radial
from discreet.curator import Curator
from discreet.images import Line, Mixed, missing
from discreet.models.fit import ADAPTS
from discreet.models.linear.part import Part
from discreet.models.linear.scaled import features, target
from discreet.models.linear.shrink import shrunk, spectrum
from discreet.models.scaling import Standard, indicators, standardised
from discreet.powers import Powers
from discreet.query import Batch, BoundedSum, Image, OneHot
from discreet.release import Release
from discreet.task import Task

Floats = NDArray[np.float64]

# shares of the budget: the count (where it is private), means and deviations, X'X to whiten by, X'X, X'y, the size of
# the residuals, X'r
COUNT, MOMENTS, LOOK, GRAM, PRODUCTS, RESIDUALS, CORRECTION = 0.02, 0.15, 0.15, 0.2, 0.2, 0.02, 0.23

TOO_NOISY = 2.5  # beyond such a ρ slopes are not worth trying
TOO_FEW = 30.0  # rows, in deviations of the noise of a count
CALM = 0.02  # below such a ρ the moments tell the size of the residuals
ROUND = 5.0  # eigenvalues so many times the noise need no whitening
SQUARES = 0.5  # weight of squares beside their values
FLAT = 1.5  # variances below so much of their noise are taken for it
OUTER = 0.8  # of the way to its bounds a value is near them
LOOSE = 0.3  # of the noise's spectral norm: the floor of the eigenvalues that rows are whitened by


CLIPPED = "features were clipped at {:g} standard deviations from their means: coefficients are of the clipped values"
ALONE = "too few rows for slopes at this budget: the answer is the mean of the target alone"


@dataclass(frozen=True)
class Setting:
    """How hard to clip, from public numbers: ρ is the noise in X'X over the size of X'X."""

    rho: float
    width: int

    @property
    def radius(self) -> float:
        """Rows longer than this are shrunk onto it: a typical standardised row has length √width."""
        return min(max(0.65 * math.pow(self.rho, -0.25), 0.5), 4.0) * math.sqrt(self.width)

    @property
    def reach(self) -> float:
        """Residuals are clipped at so many of their deviations."""
        return min(max(1.3 * math.pow(self.rho, -0.13), 1.2), 3.0)

    @property
    def for_target(self) -> float:
        """Weight of the target's moments beside one feature's: the noisier, the more its mean matters."""
        return min(round(4 * math.sqrt(self.width * min(max(2.5 * self.rho, 0.5), 3.5))) / 4, 32.0)


def ebssp(task: Task, clip: float | None = None) -> tuple[Part, tuple[str, ...]]:
    """Release what is needed to solve a regression, and solve it nearly: the moments about a first solution.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs | the mean of the target alone |
    | constant or collinear columns | eigenvalues floored at the noise: finite coefficients |
    """
    if task.n is not None and _hopeless(task, task.n):
        return _public_mean(task, task.n), (ALONE,)
    weights = (MOMENTS, LOOK, GRAM, PRODUCTS, RESIDUALS, CORRECTION)
    parts = [radial(weight) for weight in weights]
    if task.n is not None:
        bounds, shares = task.deal(*parts)
        count, count_std = float(task.n), 0.0
    else:
        bounds, (for_count, *rest) = task.deal(radial(COUNT), *parts)
        shares, (count, count_std) = tuple(rest), _count(task.curator, for_count)
    if task.n is None and _hopeless(task, max(count - count_std, 1.0)):
        return _private_mean(task, bounds, shares, count, count_std), (ADAPTS, ALONE)
    part, crowded = _moments(task, bounds, shares, _positive(count, count_std), count_std, clip)
    return part, (ADAPTS, *crowded)


def _hopeless(task: Task, rows: float) -> bool:
    return _rho(task, rows) > TOO_NOISY or rows < TOO_FEW * task.noise(1) * task.exchange


def _rho(task: Task, rows: float) -> float:
    d = task.width
    noise = task.noise(d * (d + 1) // 2)
    return d * math.sqrt(2 * d) * noise / max(rows, 1.0)


def _count(curator: Curator, share: Share) -> tuple[float, float]:
    one = OneHot(lambda rows: np.where(missing(rows), -1, 0), 1)
    noisy = curator.measure(BoundedSum(one, name="count"), share)
    return float(np.squeeze(noisy.value)), float(np.squeeze(noisy.std))


def _positive(count: float, std: float) -> float:
    """A number of rows that is never too small for its noise."""
    return max((count + math.sqrt(count**2 + 4 * std**2)) / 2, 1.0)


def _moments(
    task: Task, bounds: Bounds, shares: tuple[Share, ...], n: float, n_std: float, clip: float | None
) -> tuple[Part, tuple[str, ...]]:
    curator, width = task.curator, task.width
    for_moments, for_look, for_gram, for_products, for_residuals, for_correction = shares
    setting = Setting(_rho(task, n), width)
    t = target(bounds)

    # BOUND + SUMMARISE + PRIVATISE: means and deviations
    begun = _begin(task, bounds, setting, for_moments, n, clip)
    z: Image = begun.rows.rows
    frame, start, deviation = begun.rows.frame, begun.start, begun.deviation
    u, radius = begun.rows.scaled, setting.radius

    # a first look at the correlations, to whiten by; then X'X and X'y of whitened rows, long ones shrunk as a whole
    clip = setting.reach * deviation
    first_look, of_target = _gram(z, radius, "X'X, first look"), _products(z, t, frame, start, radius, clip, "X'y")
    (look,) = curator.measure_together((first_look, for_look, None), ahead=[(of_target, for_products)])
    grams = [look]
    if not _round(look):
        values, vectors = spectrum(look.value, float(look.std[0, 0]), LOOSE)
        white = Mixed(u, frame @ (vectors * np.sqrt(n / values)))
        grams, z, frame = [], white, white.matrix
        of_target = _products(z, t, frame, start, radius, clip, "X'y")
    gram, products = curator.measure_together(
        (_gram(z, radius, "X'X"), for_gram, None), (of_target, for_products, None)
    )
    matrix, noise = _averaged([*grams, gram])
    weight = min(max(float(np.trace(matrix)) / (n * width), 0.1), 1.0)  # of the average row

    # SOLVE, for a first solution
    def part(line: Floats, products: Release, variance: float, clip: float) -> Part:
        answer = _inside(clip, math.sqrt(variance * weight))
        cross, cross_std = products.value / answer, float(products.std) / answer
        low, high = begun.rows.low, begun.rows.high
        return Part(frame, line, matrix, noise, cross, cross_std, variance, n, n_std, begun.mean, low, high)

    rough = part(start, products, deviation**2, clip)
    line = shrunk([rough]).theta

    # PRIVATISE: the size of the residuals, and what they still say
    expected = max(_leftover(rough, line), 0.25 * rough.variance)
    edge = setting.reach * math.sqrt(expected / weight)
    squares = _squares(t, Line(z, _in_frame(frame, line)), edge)
    if setting.rho > CALM:
        left = _variance(curator.measure(squares, for_residuals), edge, n)
        clip = min(clip, setting.reach * math.sqrt(left * weight))
        correction = curator.measure(_products(z, t, frame, line, radius, clip, "X'r"), for_correction)
    else:  # so little noise that the moments tell the size of the residuals, and the rows need not be read for it
        clip = min(clip, 1.1 * setting.reach * math.sqrt(_leftover(rough, line) * weight))
        correct = _products(z, t, frame, line, radius, clip, "X'r")
        measured, correction = curator.measure_together((squares, for_residuals, None), (correct, for_correction, None))
        left = _variance(measured, edge, n)
    return part(line, correction, left, clip), begun.notes


def _round(look: Release) -> bool:
    """Whether all directions stand out of the noise, as the noisy matrix has it: post-processing."""
    noise = float(look.std[0, 0]) * math.sqrt(2 * len(look.value))
    return bool(np.linalg.eigvalsh(look.value)[0] > ROUND * noise)


def _leftover(part: Part, line: Floats) -> float:
    """The variance of residuals about a line, from moments about another: at least a hundredth of what it was."""
    step = np.linalg.solve(part.frame, line - part.line)
    gained = float(2 * step @ part.cross - step @ part.gram @ step) / part.count
    return max(part.variance - gained, 0.01 * part.variance)


def _gram(z: Image, radius: float, name: str) -> BoundedSum:
    return BoundedSum(z, z, norm=radius**2, name=name)


def _products(z: Image, t: Image, frame: Floats, line: Floats, radius: float, clip: float, name: str) -> BoundedSum:
    theta = _in_frame(frame, line)
    return BoundedSum(z, t, norm=radius * clip, left_norm=radius, joint=True, about=theta, name=name)


def _in_frame(frame: Floats, line: Floats) -> tuple[float, ...]:
    return tuple(np.linalg.solve(frame, line).tolist())


def _averaged(grams: list[Release]) -> tuple[Floats, float]:
    """Noisy values of one matrix as one value, and the deviation of its noise."""
    precisions = [float(gram.std[0, 0]) ** -2 for gram in grams]
    total = sum(precisions)
    mean = sum(gram.value * precision for gram, precision in zip(grams, precisions, strict=True)) / total
    return np.asarray(mean), total**-0.5


@dataclass(frozen=True, eq=False)
class _Begun:
    """Standardised rows; the target's mean as a line, and its deviation; the means of the features."""

    rows: Standard
    start: Floats
    deviation: float
    mean: Floats
    notes: tuple[str, ...]


def _begin(task: Task, bounds: Bounds, setting: Setting, share: Share, n: float, clip: float | None) -> _Begun:
    """Means and deviations of features and target, from noisy sums, and what follows from them."""
    intercept, d = task.intercept, len(bounds.lower)
    sums = task.curator.measure(_powers(bounds, 1.0, setting.for_target), share)
    noise = float(sums.std) / n
    x, squares, (y, y_squared) = np.split(sums.value / n, [d, 2 * d])
    of_target = noise / setting.for_target
    mean = np.clip(x, -1, 1) if intercept else np.zeros(d)
    y_mean = float(np.clip(y / setting.for_target, -1, 1)) if intercept else 0.0
    spread = np.sqrt(np.clip(squares - mean**2, max(FLAT * noise, 1e-6), 1.0))
    y_variance = y_squared / (SQUARES * setting.for_target) - y_mean**2
    deviation = math.sqrt(min(max(y_variance, 2 * of_target, 1e-6), 1.0))

    standard = standardised(bounds, intercept, clip, mean, spread)
    start = np.zeros(d + intercept)
    start[:intercept] = y_mean
    columns = task.curator.columns or tuple(f"x{i + 1}" for i in range(d))
    crowded = np.where(indicators(bounds, intercept), 0.0, squares)
    notes = _crowded(np.append(crowded, y_squared / SQUARES / setting.for_target), noise, columns)
    if clip is not None and standard.clips:
        notes += (CLIPPED.format(clip),)
    return _Begun(standard, start, deviation, mean, notes)


def _crowded(squares: Floats, noise: float, columns: tuple[str, ...]) -> tuple[str, ...]:
    """A remark on columns, the target last, whose values lie at their bounds, as their noisy mean square has it.

    A mean square of s within [-1, 1] means that at least (s - q²)/(1 - q²) of the values are beyond q.
    """
    names = (*columns, "the target")
    shares = [(square - 2 * noise - OUTER**2) / (1 - OUTER**2) for square in squares]
    found = [f"{name} ({min(share, 1.0):.0%})" for name, share in zip(names, shares, strict=True) if share > 0.5]
    if not found:
        return ()
    return (
        f"values near their bounds or beyond, at least, by private estimate: {', '.join(found[:8])}"
        f"{' and more' if len(found) > 8 else ''}. Fine for a column of two values; otherwise clipping to the bounds "
        "costs accuracy: a slope is off by about as large a part as is clipped. Hint: wider bounds",
    )


def _powers(bounds: Bounds, of_features: float, of_target: float) -> Powers:
    """Sums of features, their squares, and the target's, with weights."""
    weights = (of_features, of_features, of_target, SQUARES * of_target)
    return Powers(features(bounds, False), target(bounds), weights=weights, name="means and squares")


def _squares(t: Image, line: Line, clip: float) -> BoundedSum:
    def squares(rows: Batch) -> Floats:
        return np.asarray((t(rows) - line(rows)) ** 2)

    return BoundedSum(squares, norm=clip**2, name="squared residuals")


def _variance(squares: Release, clip: float, n: float) -> float:
    """The variance of normal residuals whose squares, clipped at clip², have this noisy sum."""
    found = max(float(np.squeeze(squares.value)), float(np.squeeze(squares.std))) / n
    low, high = 0.0, 2.0 * clip
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _clipped_square(middle, clip) < found else (low, middle)
    return high**2


def _clipped_square(deviation: float, clip: float) -> float:
    """The mean of min(r², clip²) for a normal r."""
    k = clip / max(deviation, 1e-12)
    inside, density = math.erf(k / math.sqrt(2)), math.exp(-(k**2) / 2) / math.sqrt(2 * math.pi)
    return deviation**2 * (inside - 2 * k * density) + clip**2 * (1 - inside)


def _inside(clip: float, deviation: float) -> float:
    """How many normal residuals are not clipped: by so much less do their products answer to a change of line."""
    return max(math.erf(clip / max(deviation, 1e-12) / math.sqrt(2)), 0.5)


def _public_mean(task: Task, n: int) -> Part:
    """Too few rows for slopes, and everybody knows: the whole budget for the mean of the target."""
    bounds, (share,) = task.deal(radial(1.0))
    if task.budget.neighbours == "replace-one":  # the number of rows is public then, not that of whole ones
        both = task.curator.measure(_whole_rows(bounds), share)
        return _mean(task, float(both.value[1]), float(both.std), float(both.value[0]), float(both.std))
    one = Mixed(features(bounds, task.intercept), np.eye(task.width)[:, :1] * task.intercept)
    total = task.curator.measure(BoundedSum(one, target(bounds), norm=1, name="sum of the target"), share)
    return _mean(task, float(total.value[0]), float(total.std), float(n), 0.0)


def _whole_rows(bounds: Bounds) -> BoundedSum:
    """How many rows have all their values, and the sum of their targets."""
    t = target(bounds)

    def both(rows: Batch) -> Floats:
        return np.column_stack([np.where(missing(rows), np.nan, 1.0), t(rows)])

    return BoundedSum(both, norm=math.sqrt(2), name="rows and sum of the target")


def _private_mean(task: Task, bounds: Bounds, shares: tuple[Share, ...], n: float, n_std: float) -> Part:
    """Too few rows for slopes, as the noisy count has it: what is left buys the mean of the target.

    The questions are those of a whole fit, of slopes 0, so that what is asked does not depend on the count.
    """
    curator, d = task.curator, len(bounds.lower)
    for_moments, for_look, for_gram, for_products, for_residuals, for_correction = shares
    u, t = features(bounds, task.intercept), target(bounds)
    one = Mixed(u, np.diag([float(task.intercept)] + [0.0] * (task.width - 1)))
    flat, zero, whole = np.eye(task.width), np.zeros(task.width), Line(one, (0.0,) * task.width)
    powers, look, gram, products, _, correction = curator.measure_together(
        (_powers(bounds, 0.0, 1.0), for_moments, None),
        (_gram(one, 1.0, "X'X, first look"), for_look, None),
        (_gram(one, 1.0, "X'X"), for_gram, None),
        (_products(one, t, flat, zero, 1.0, 1.0, "X'y"), for_products, None),
        (_squares(t, whole, 1.0), for_residuals, None),
        (_products(one, t, flat, zero, 1.0, 1.0, "X'r"), for_correction, None),
    )
    totals = [(float(powers.value[2 * d]), float(powers.std))]
    totals += [(float(sums.value[0]), float(sums.std)) for sums in (products, correction)]
    counts = [(n, n_std)] + [(float(sums.value[0, 0]), float(sums.std[0, 0])) for sums in (look, gram)]
    return _mean(task, *_best(totals), *_best(counts))


def _best(noisy: list[tuple[float, float]]) -> tuple[float, float]:
    """The average of measurements of one number, each by its precision."""
    precision = sum(std**-2 for _, std in noisy)
    return sum(value * std**-2 for value, std in noisy) / precision, precision**-0.5


def _mean(task: Task, total: float, total_std: float, n: float, n_std: float) -> Part:
    """The mean as a part that says nothing of slopes."""
    rows = _positive(n, n_std)
    mean = min(max(total / rows, -1.0), 1.0) * task.intercept
    d = task.curator.width
    return Part.of_mean(mean, math.hypot(total_std, n_std) / rows, rows, n_std, d, task.intercept)
