"""One posterior sample (LR11): a draw whose spread follows the curvature of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import noise_multiplier
from discreet.budget import Budget, approximate, inside
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.events import Approximate, Event, Gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.reals import normals
from discreet.models.linear.output import ERROR, FOR_COUNT, choose_ridge, count_rows, minimise_on_ball
from discreet.models.linear.scaled_rows import features, target
from discreet.models.shared.linear_fit import Fit
from discreet.query import BITS, Batch, BoundedSum, Exact
from discreet.query.lipschitz import smallest_eigenvalue
from discreet.release import Release

Floats = NDArray[np.float64]

FOR_SMALLEST = 0.08  # of the budget
RIDGE = 5.0  # in units of the noise that one row's slope would need
LARGEST = 50.0  # no more than this ε is used: e^50 times the distance to the ideal law stays below REST
REST = 2.0**-50  # the δ set aside for that distance
DIGITS = 120
FINE = 20  # the grid is at most 2^-20 of the least deviation of a coefficient
TINY = 1e-12


def fit_posterior_sample(task: Task) -> Fit:
    """One draw from N(m, (γH)^-1), H = X'X + λI and m the ridge regression on a ball: private by its own spread.

    Directions in which the data have much to say get little noise. The smallest eigenvalue of X'X is measured first:
    the better conditioned the data, the less ridge and the less noise (AdaOPS). How sharp the draw may be (γ) follows
    from the Rényi divergence of the draws of neighbours. The number of rows is measured too, to bound float error: a
    stated one, if it were wrong, would cost privacy.

    Notes
    -----
    (ε, δ)-differential privacy for the budget's relation, whatever the rows, float error and the chance that the
    measured eigenvalue misleads included: `mechanisms/proofs/posterior.md`. Replace-one is two steps of add-remove.

    | data | what comes out |
    | --- | --- |
    | no rows, one row | a draw around zero |
    | constant or collinear columns | finite coefficients: λ > 0 |
    | δ < 1e-12 | ValueError |

    References
    ----------
    Y.-X. Wang, "Revisiting differentially private linear regression", UAI 2018 (AdaOPS); Dimitrakakis et al., "Robust
    and private Bayesian inference", ALT 2014; Gil, Alajaji & Linder 2013 for the divergence of Gaussians.
    """
    if task.budget.delta < TINY:
        raise ValueError(f"A posterior sample needs delta >= {TINY:g}. Got {task.budget.delta:g}.")
    d = task.width
    bounds, shares = task.deal(FOR_COUNT, inside(FOR_SMALLEST), approximate(1 - FOR_COUNT - FOR_SMALLEST))
    for_count, for_smallest, for_draw = shares
    x, y = features(bounds, task.intercept), target(bounds)

    # BOUND: (x, y) in the cube
    def v(rows: Batch) -> Floats:
        return np.column_stack([x(rows), y(rows)])

    # SUMMARISE: x x' for its smallest eigenvalue, and all moments, with x on the same grid
    xx, widths = task.curator.expect(
        BoundedSum(x, x, norm=1, box=True, bits=min(BITS, (53 - d.bit_length()) // 2), name="X'X")
    )
    bits = xx.coarsen_grid(_noise_multiplier(task.curator.buys(for_smallest)), widths).bits
    vv, _ = task.curator.expect(BoundedSum(v, v, norm=1, box=True, bits=bits, name="moments"))

    # PRIVATISE: the number of rows; the smallest eigenvalue; the draw
    event = task.curator.buys(for_draw)
    assert isinstance(event, Approximate)
    wrong = (
        failure_probability(event, task.budget) / 2
    )  # that n is above, or the eigenvalue below, what is taken for it
    n = bound_rows_above(count_rows(task, for_count), wrong, task.curator.group)
    smallest = task.curator.measure(xx, for_smallest, then=smallest_eigenvalue)
    draw = PosteriorDraw.for_rows(vv, n, bound_eigenvalue_below(smallest, wrong) / d, event, task.budget)
    theta = task.curator.run(draw, for_draw)

    # SOLVE: in the units of the cube
    return Fit(np.asarray(theta.value) / math.sqrt(d))


def failure_probability(event: Approximate, budget: Budget) -> float:
    """The probability with which what was measured before the draw may mislead it."""
    return event.delta / 2 * (1 - budget.delta)


def bound_rows_above(count: Release, wrong: float, group: int = 1) -> float:
    """What the number of rows of a data set or its neighbour exceeds with probability at most `wrong`.

    A neighbour has at most `group` rows more.
    """
    return max(0.0, float(count.value[0]) + group + _normal_tail(wrong) * float(count.std))


def bound_eigenvalue_below(smallest: Release, wrong: float) -> float:
    """What the eigenvalue of a data set, or of that without a row, falls below with probability at most `wrong`."""
    step = float(smallest.std) / _noise_multiplier(smallest.event)
    return max(0.0, float(smallest.value) - step - _normal_tail(wrong) * float(smallest.std))


def _normal_tail(wrong: float) -> float:
    return math.sqrt(2 * math.log(1 / min(wrong, 0.5)))  # P(Z > z) <= exp(-z²/2)


def _noise_multiplier(event: Event) -> float:
    assert isinstance(event, Gaussian)
    return event.noise_multiplier


@dataclass(frozen=True)
class PosteriorDraw(Inside):
    """One draw from N(m, (γH)^-1) for rows in the unit ball: H = X'X + ridge·I, m the minimiser over the ball.

    Attributes
    ----------
    vv : the moments of (x, y), each coordinate within [-1, 1]; x is divided by the root of its width here.
    rows : at least the number of rows, but for the failure probability.
    floor : at most the smallest eigenvalue of H, with any one row left out, but for the failure probability.
    ridge, radius : public.
    """

    name: str
    vv: BoundedSum
    rows: float
    floor: float
    ridge: float
    radius: float
    proof = "posterior"
    pays = (Approximate,)
    replayable = False  # the draw is its own noise

    @classmethod
    def for_rows(cls, vv: BoundedSum, n: float, smallest: float, event: Approximate, budget: Budget) -> PosteriorDraw:
        """The draw for so many rows and such a smallest eigenvalue, by a public rule."""
        epsilon, delta = draw_guarantee(event, budget)
        noise = noise_multiplier(epsilon, delta)
        _, radius = choose_ridge(n, noise)
        wanted = RIDGE * (1 + radius) * noise
        ridge = max(wanted - smallest, 0.01 * wanted)
        draw = cls("posterior sample", vv, n, smallest + ridge, ridge, radius)
        while draw.largest_precision(event, budget) <= 0:  # too little ridge for any draw: tell so little
            draw = replace(draw, ridge=2 * draw.ridge, floor=smallest + 2 * draw.ridge)
        return draw

    def largest_precision(self, event: Approximate, budget: Budget) -> float:
        """The largest γ for which the draw keeps the promise."""
        assert self.vv.fixed is not None
        d = self.vv.fixed[0] - 1
        epsilon, delta = draw_guarantee(event, budget)
        u = 1 / self.floor
        error = float(ERROR) * d * (self.radius * (self.rows + self.ridge) + self.rows) / math.sqrt(self.floor)
        reach = (1 + self.radius) * math.sqrt(u) / (1 + u / 2) + 2 * error
        return solve_precision(epsilon, delta, u, reach)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The draw, rounded to a public grid; its deviation would tell of the rows."""
        assert isinstance(event, Approximate) and self.vv.fixed is not None
        total, exponent, d = rows.sum(self.vv).astype(object), self.vv.exponent(self.vv.fixed), self.vv.fixed[0] - 1
        S = self._project_total(np.ldexp(total[:d, :d].astype(np.float64), exponent) / d)
        b = self._project_total(np.ldexp(total[:d, d].astype(np.float64), exponent) / math.sqrt(d))
        centre = minimise_on_ball(S, b, self.ridge, self.radius)
        gamma = self.largest_precision(event, budget)
        unit = math.frexp(1 / math.sqrt(gamma * (self.rows + self.ridge)))[1] - 1 - FINE
        with localcontext(Context(prec=DIGITS)):
            H = total[:d, :d] * (Decimal(2) ** exponent / d) + np.diag([Decimal(self.ridge)] * d)
            whole = draw_rounded(centre, H * Decimal(gamma), unit, rng)
        return np.ldexp(np.array([float(value) for value in whole]), unit), None

    def _project_total(self, total: Floats) -> Floats:
        return total * min(1.0, self.rows / max(float(np.linalg.norm(total)), 1e-300))


def draw_guarantee(event: Approximate, budget: Budget) -> tuple[float, float]:
    """What the draw itself has to keep when one row is added or removed."""
    epsilon, delta = min(event.epsilon, LARGEST), event.delta / 2 - REST
    if budget.neighbours == "add-remove":
        return epsilon, delta
    return epsilon / 2, delta / (1 + math.exp(epsilon / 2))  # a replacement is a removal and an addition


def solve_precision(epsilon: float, delta: float, u: float, reach: float) -> float:
    """The largest γ for which N(m, (γH)^-1) and N(m', (γH')^-1) are (ε, δ)-close, by their Rényi divergence.

    H' = H + xx' with x'H^-1x <= u, and m - m' is at most `reach` long in the norm of H. Any order serves; the best of
    many is taken. Negative or zero if there is no such γ.

    >>> round(solve_precision(1.0, 1e-6, 1e-6, 1.0), 3)  # of a Gaussian of multiplier 1/√γ: 0.056
    0.049
    """
    step = np.exp(np.linspace(math.log(1e-3), math.log(0.999 / u), 2000))  # order - 1
    order = 1 + step
    convert = np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / step
    spread = -np.log1p(-step * u) / (2 * step) - math.log1p(u) / 2
    gamma = 2 * (epsilon - convert - spread) * (1 - step * u) / (order * (1 + u) * reach**2)
    return float(gamma.max()) * (1 - 1e-9)


def draw_rounded(centre: Floats, precision: Exact, unit: int, rng: Keystream) -> list[int]:
    """round((centre + R^-1 z) / 2^unit), R'R = precision and z standard normal, in decimals of the context."""
    d = len(centre)
    R, z = decimal_cholesky(precision), normals(d, rng)
    for _ in range(3):  # 192 more bits: what is rounded is as good as a real
        z.refine()
    scale = Decimal(2) ** -z.bits
    t = np.array([sign * m * scale for sign, m in zip(z.signs, z.m, strict=True)], dtype=object)
    for i in reversed(range(d)):
        t[i] = (t[i] - sum(R[i, i + 1 :] * t[i + 1 :], Decimal(0))) / R[i, i]
    return [round((Decimal(m) + x) * Decimal(2) ** -unit) for m, x in zip(centre.tolist(), t, strict=True)]


def decimal_cholesky(matrix: Exact) -> Exact:
    """The upper triangular R with R'R = matrix, in decimals of the context.

    >>> decimal_cholesky(np.array([[Decimal(4), Decimal(2)], [Decimal(2), Decimal(5)]], dtype=object))[0].tolist()
    [Decimal('2'), Decimal('1')]
    """
    rest, R = matrix.copy(), np.full(matrix.shape, Decimal(0), dtype=object)
    for i in range(len(matrix)):
        R[i, i:] = rest[i, i:] / rest[i, i].sqrt()
        rest[i + 1 :, i + 1 :] = rest[i + 1 :, i + 1 :] - R[i, i + 1 :, None] * R[i, None, i + 1 :]
    return R
