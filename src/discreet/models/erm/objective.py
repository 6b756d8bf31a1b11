"""Objective perturbation (CL2, CL3): the minimum of a regularised sum of losses with a random linear term."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import epsilon, gauss
from discreet.bounds import Bounds
from discreet.budget import Budget, Part, Share, approximate, inside, minimum, radial
from discreet.curator import deal
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.events import Approximate, Composed, Event, Gaussian, Minimum, Pure
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.norm import add_norm
from discreet.models.erm.accelerated import Minimiser
from discreet.models.erm.output import add_coefficient_noise
from discreet.models.erm.passes import cap_passes, refuse_weak_penalty
from discreet.models.erm.problem import WEAKEST, Objective, UnitVectors, count_changed_rows, count_columns
from discreet.models.erm.row_limit import FOR_COUNT_APART, limit_rows, plan_count

Floats = NDArray[np.float64]

FOR_ERROR = 0.01  # of μ², for the noise that covers numerical error
FOR_ERROR_PURE = 0.03  # of ε
FOR_EXCESS = 0.15  # of ε, at most, goes to the excess
REACH = 10.0  # how far the random term may push the coefficients of a class, about
FINE = 40  # the random term's scale is at least 2^40 steps of its grid
TAIL = 46.0  # standard deviations beyond which no Gaussian length is expected: e^(-46²/2) < 1e-459
RARE = 64.0  # in the exponent of a probability that pure ε absorbs


def objective(task: Task, objective: Objective) -> Floats:
    """Coefficients of least regularised loss plus b·θ, with b Gaussian.

    The objective of a class is Σ loss(±u·θ) + Λ/2·‖θ‖² + b·θ over a ball, rows u in the unit ball, slopes of the loss
    within -1 and 0, b drawn afresh for each class. With σ the deviation of b and β the curvature of the loss, its exact
    minimum has the privacy of `events.Minimum(σ, log(1 + β/Λ))`. What numbers cannot be exact about is bounded by a
    public tolerance and covered by a little noise on the result, with 1% of μ². For replace-one neighbours, units of
    several rows, and where the number of classes has to be found, an (ε, δ) share is split again inside.

    Notes
    -----
    That of the budget, which needs δ > 0, whatever the rows, float error charged: `mechanisms/proofs/objective.md`. The
    number of passes over the rows follows from a public limit on their number: n where that is public (then for data
    of at most n rows), else a noisy count with 1 to 3% of the budget.

    Returns
    -------
    One line per class (of two classes: one line, for the second), for rows u = (z, 1)/‖(z, 1)‖.

    | data | what comes out |
    | --- | --- |
    | no rows, one row, one class | noise, and hardly more |
    | constant or collinear columns, separable classes | finite coefficients: Λ > 0, and a ball |

    References
    ----------
    Chaudhuri, Monteleoni & Sarwate, "Differentially private empirical risk minimization", JMLR 2011; Redberg, Koskela
    & Wang, "Improving the privacy and practicality of objective perturbation", NeurIPS 2023, for the tight account;
    Iyengar and others, "Towards practical differentially private convex optimization", S&P 2019, for noise that covers
    an inexact minimum.
    """
    if task.budget.pure:
        raise ValueError("Objective perturbation with Gaussian noise needs delta > 0. Hint: method='objective-pure'.")
    refuse_weak_penalty(task, objective)
    bounds, shares, events, strength = _deal_shares(task, objective)

    # BOUND: rows in the unit ball
    image, columns = UnitVectors.from_bounds(bounds), len(events) - 1

    # SUMMARISE and PRIVATISE: how many rows there may be; the minimum of the noised objective, inside the curator; then
    # noise for its error
    rows, shares = limit_rows(task, shares)
    scale = _minimum_multiplier(events[0])
    minimiser = Minimiser(
        image,
        objective.loss,
        columns,
        strength,
        float(objective.radius),
        finest_tolerance(scale, strength, _gaussian_multiplier(events[-1])),
        rows,
        push=scale * (math.sqrt(image.width) + TAIL),
        blur=math.sqrt(image.width) * _grid_unit(scale),
    )
    noisy = PerturbedMinimum("coefficients", cap_passes(minimiser, task, objective), events)
    return np.asarray(task.curator.run(noisy, *shares).value)


def _deal_shares(task: Task, objective: Objective) -> tuple[Bounds, tuple[Share, ...], tuple[Event, ...], float]:
    """Bounds, shares, what the first of them pay for (a minimum for each class, noise), and Λ."""
    _refuse_exhausting(
        task, objective, add_remove_budget(Approximate(task.budget.epsilon, task.budget.delta), task.budget).epsilon
    )
    if task.classes is not None and task.budget.neighbours == "add-remove" and task.curator.group == 1:
        strength, parts = _plan_parts(task, objective, task.budget, count_columns(len(task.classes)))
        bounds, shares = task.deal(*parts, *plan_count(task))
        return bounds, shares, tuple(task.curator.buys(share) for share in shares[: len(parts)]), strength
    bounds, shares = task.deal(approximate(1 - FOR_COUNT_APART), *plan_count(task, FOR_COUNT_APART))
    paid = task.curator.buys(shares[0])
    assert isinstance(paid, Approximate)
    budget = add_remove_budget(paid, task.budget)
    strength, parts = _plan_parts(task, objective, budget, count_columns(len(bounds.classes or ())))
    return bounds, shares, deal(budget.split(*parts)[0].plan), strength


def _plan_parts(task: Task, objective: Objective, budget: Budget, columns: int) -> tuple[float, list[float | Part]]:
    """Λ and the parts of a plan."""
    enough = choose_penalty(budget, objective.loss.curvature, columns, task.width)
    strength = _choose_strength(task, objective, enough, budget.epsilon / columns)
    excess = math.log1p(objective.loss.curvature / strength)
    return strength, [*[minimum((1 - FOR_ERROR) / columns, excess)] * columns, inside(FOR_ERROR)]


def _choose_strength(task: Task, objective: Objective, enough: float, each: float) -> float:
    """Λ as given; `enough` if none is, or, as it may be too late to refuse, if its excess takes all a class has."""
    if objective.strength is None:
        return enough
    if not _exhausts_epsilon(task, objective, each):
        return float(objective.strength)
    task.note(f"the penalty was raised to Λ = {enough:.3g}, as the excess of the one given takes all of ε")
    return enough


def _exhausts_epsilon(task: Task, objective: Objective, each: float) -> bool:
    """Whether the excess of the Λ given takes all of the ε that a class has."""
    assert objective.strength is not None
    return math.log1p(objective.loss.curvature / objective.strength) >= each * (1 - 1e-6)


def _refuse_exhausting(task: Task, objective: Objective, epsilon: float) -> None:
    """Raise, before anything is charged, where the excess of a given Λ surely takes all of ε."""
    curvature, each = objective.loss.curvature, epsilon / count_columns(len(task.classes or (0, 1)))
    if objective.strength is not None and _exhausts_epsilon(task, objective, each):
        raise ValueError(
            f"The `strength` must be larger than {curvature / math.expm1(each):.3g} for this epsilon: the excess of a "
            f"minimum, log(1 + {curvature:g}/strength), is a part of ε that no noise takes away, and a class has "
            f"{each:.3g}. Got {objective.strength!r}. Hint: {_strength_for_excess(each, curvature):.3g}, or None for a "
            "public rule."
        )


def finest_tolerance(scale: float, strength: float, noise: float) -> float:
    """The tolerance whose noise, of so many sensitivities, is a hundredth of what the random term does at most.

    >>> finest_tolerance(4.0, 3.0, 40.0) == 4 / 3 / 100 / 80
    True
    """
    return min(max(scale / strength / 100 / (2 * noise), 2.0**-16), 2.0**-8)


def add_remove_budget(paid: Approximate, budget: Budget) -> Budget:
    """What may be spent for add-remove neighbours where so much was paid.

    To replace a row is to remove one and to add one: of an (ε, δ) promise remains (2ε, (1 + e^ε)δ).
    """
    if budget.neighbours == "add-remove":
        return Budget.derive(paid.epsilon, paid.delta)
    half = min(paid.epsilon / 2, 100.0)
    return Budget.derive(half, paid.delta * math.exp(-half) / 2 * (1 - 1e-12))


def choose_penalty(budget: Budget, curvature: float, columns: int, width: int) -> float:
    """Λ for a budget: the excess takes at most 15% of ε, and the random term is pushing by 10 at most, about.

    >>> round(choose_penalty(Budget(1.0, 1e-6), 0.25, 1, 64), 2)
    3.38
    """
    noise = math.sqrt(columns * width) / gauss.mu_of(budget.epsilon, budget.delta)
    return max(_strength_for_excess(budget.epsilon / columns, curvature), noise / REACH, WEAKEST)


def _strength_for_excess(budget: float, curvature: float) -> float:
    """The Λ whose excess takes 15% of ε."""
    return curvature / math.expm1(min(FOR_EXCESS * budget, 30.0))


def objective_pure(task: Task, objective: Objective) -> Floats:
    """The same with δ = 0: b of a density ∝ exp(-r‖b‖).

    One row moves the b that belongs to a minimum by at most 1, and the volume around it by a factor between 1 and
    1 + β/Λ: so the exact minimum of a class is (r + log(1 + β/Λ))-private (2r + log(1 + β/Λ) where a row is replaced).
    Numerical error is covered by noise of gamma radius with 3% of ε.

    Notes
    -----
    Pure ε-differential privacy, add-remove or replace-one, whatever the rows, at most n of them, where n has to be
    public; float error charged: `mechanisms/proofs/objective.md`. The bound is that of a sum of losses, added to or
    removed from: half the noise of algorithm 2 of the paper, whose rows are exchanged.

    References
    ----------
    Chaudhuri, Monteleoni & Sarwate, "Differentially private empirical risk minimization", JMLR 2011, algorithm 2.
    """
    if not task.budget.pure:
        raise ValueError("Pure objective perturbation is for delta = 0. Hint: method='objective'.")
    plan_count(task)  # raises where no limit is public
    refuse_weak_penalty(task, objective)
    _refuse_exhausting(task, objective, task.budget.epsilon)
    bounds, (first, second) = task.deal(inside(radial(1 - FOR_ERROR_PURE)), inside(radial(FOR_ERROR_PURE)))
    events = task.curator.buys(first), task.curator.buys(second)
    columns, epsilons = count_columns(len(bounds.classes or ())), [_pure_epsilon(event) for event in events]

    # BOUND: rows in the unit ball
    image = UnitVectors.from_bounds(bounds)

    # SUMMARISE and PRIVATISE: as above
    curvature, each = objective.loss.curvature, epsilons[0] / columns
    noise = count_changed_rows(task.budget) * image.width / each
    strength = _choose_strength(
        task, objective, max(_strength_for_excess(each, curvature), noise / REACH, WEAKEST), each
    )
    rate = noise_rate(each, curvature / strength, task.budget)
    fine = finest_tolerance(1 / rate, strength, 1 / epsilons[1])
    exponent = epsilons[1] * objective.radius / fine + RARE + math.log(columns)
    minimiser = Minimiser(
        image,
        objective.loss,
        columns,
        strength,
        float(objective.radius),
        fine,
        limit_rows(task, ())[0],
        push=2 * (image.width + exponent) / rate,
        blur=math.sqrt(image.width) * _grid_unit(1 / rate),
    )
    noisy = PerturbedMinimum("coefficients", cap_passes(minimiser, task, objective), events)
    return np.asarray(task.curator.run(noisy, first, second).value)


def noise_rate(each: float, excess: float, budget: Budget) -> float:
    """The r of b's density, of what a class may spend; rounded down."""
    return (each * (1 - 2.0**-40) - math.log1p(excess)) / count_changed_rows(budget) * (1 - 2.0**-50)


@dataclass(frozen=True, eq=False)
class PerturbedMinimum(Inside):
    """The minimum of every class's objective with a random linear term, and noise that covers its error.

    Parameters
    ----------
    minimiser : with a bound on the length of the random term.
    events : what runs: a `Minimum` for each class and a `Gaussian`, or two `Pure`, of all classes and of the error.
    """

    name: str
    minimiser: Minimiser
    events: tuple[Event, ...]
    proof = "objective"
    pays = (Composed, Approximate)
    replayable = False  # the random term enters before the minimum is found

    def check(self, event: Event) -> None:
        """Raise, before anything is charged, if what runs is not what was paid for."""
        super().check(event)
        excess = math.log1p(self.minimiser.loss.curvature / self.minimiser.strength)
        minima = [one for one in self.events if isinstance(one, Minimum)]
        wanted = len(minima) == self.minimiser.columns or not minima
        if not wanted or any(one.excess < excess for one in minima):
            raise ValueError("The minima that run are not those of this objective.")
        if not isinstance(event, Approximate):
            if event != Composed(self.events):
                raise ValueError("What runs is not what was paid for.")
        elif not minima or epsilon(Composed(self.events), event.delta) > event.epsilon:
            raise ValueError("What runs costs more than was paid for.")

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The coefficients; the deviation of what is random in them would tell of the rows."""
        minimiser = self.minimiser
        theta = minimiser(rows, np.stack([self._draw_term(k, budget, rng) for k in range(minimiser.columns)]))
        return add_coefficient_noise(theta, 2 * Fraction(minimiser.tolerance), self.events[-1], rng)[0], None

    def _draw_term(self, k: int, budget: Budget, rng: Keystream) -> Floats:
        """The random b of a class: drawn on a fine grid, so within `blur` of a real one."""
        zeros, first = np.zeros(self.minimiser.image.width, dtype=np.int64), self.events[0]
        if isinstance(first, Minimum):
            event = self.events[k]
            unit = _grid_unit(_minimum_multiplier(event))
            drawn = add_gaussian(zeros, 1 / Fraction(unit), Gaussian(_minimum_multiplier(event)), rng)
        else:
            each, excess = _pure_epsilon(first) / self.minimiser.columns, self.minimiser.loss.curvature
            rate = noise_rate(each, excess / self.minimiser.strength, budget)
            unit = _grid_unit(1 / rate)
            drawn = add_norm(zeros, 1 / Fraction(unit), rate, rng)
        return np.asarray(drawn.astype(np.float64) * unit)


def _grid_unit(scale: float) -> float:
    """The grid of a random term: a power of two, at most 2^-39 of its scale."""
    return math.ldexp(1.0, math.frexp(scale)[1] - FINE)


def _gaussian_multiplier(event: Event) -> float:
    assert isinstance(event, Gaussian)
    return event.noise_multiplier


def _minimum_multiplier(event: Event) -> float:
    assert isinstance(event, Minimum)
    return event.noise_multiplier


def _pure_epsilon(event: Event) -> float:
    assert isinstance(event, Pure)
    return event.epsilon
