"""Noise: what is added to a total, how much of it, and where its bits come from."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting import noise_multiplier
from discreet.budget import Plan
from discreet.errors import NotPrivateWarning, outside
from discreet.events import Approximate, Event, Gaussian, Laplace, Pure
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.laplace import add_discrete_laplace, add_laplace
from discreet.mechanisms.norm import add_norm
from discreet.query import Exact
from discreet.release import NOT_PRIVATE

FINE = 31  # noise is at least 2^31 steps of the grid it is added on


def noise_source(random_state: Any) -> Keystream | None:
    """None for private noise; for a seed, a keystream that repeats itself, and a warning."""
    if random_state is None:
        return None
    warnings.warn(NOT_PRIVATE, NotPrivateWarning, stacklevel=outside())
    if isinstance(random_state, np.random.RandomState):
        return Keystream.seeded(int(random_state.randint(2**31)))
    if isinstance(random_state, np.random.Generator):
        return Keystream.seeded(int(random_state.integers(2**63)))
    return Keystream.seeded(random_state)


class Adder:
    """Adds noise to the totals of one curator: here, all of it by this process.

    A federation puts an adder in its place that adds up the totals of all sites, and their parts of the noise.
    """

    def check(self, plan: Plan) -> None:
        """Raise, before a plan is charged, if it asks for what this adder cannot answer: `plan.sums_only` tells."""

    def add(
        self,
        total: Exact,
        sensitivity: Fraction,
        event: Event,
        rng: Keystream,
        symmetric: bool = False,
        triangle: bool = False,
        counts: bool = False,
    ) -> Exact:
        """The total with the noise of the event."""
        return perturbed(total, sensitivity, event, rng, symmetric, triangle, counts)

    def times_std(self) -> float:
        """By how much the noise of a total is larger than the event asks for."""
        return 1.0


def perturbed(
    total: Exact,
    sensitivity: Fraction,
    event: Event,
    rng: Keystream,
    symmetric: bool = False,
    triangle: bool = False,
    counts: bool = False,
) -> Exact:
    """The total with the noise of an event; of a symmetric one, symmetric noise, or that of its upper triangle.

    A pure event buys noise of the ℓ2 norm; for `counts`, with a sensitivity in ℓ1, whole noise on each.
    """
    if triangle:  # the sensitivity is that of the upper triangle: one draw for each of its entries
        upper = np.triu_indices(len(total))
        noisy = np.empty_like(total)
        noisy[upper] = perturbed(total[upper], sensitivity, event, rng)
        noisy.T[upper] = noisy[upper]
        return noisy
    if isinstance(event, Gaussian):
        # for a sum bounded in ℓ1 the bound serves too: ‖·‖₂ <= ‖·‖₁
        return add_gaussian(total, sensitivity, event, rng, symmetric=symmetric)
    if isinstance(event, Laplace):
        return add_laplace(total, sensitivity, event, rng)
    assert isinstance(event, Pure)
    if counts:
        return add_discrete_laplace(total, sensitivity, event, rng)
    return add_norm(total, sensitivity, event.epsilon, rng, symmetric=symmetric)


def finer(total: Exact, power: int) -> Exact:
    """The total times 2^power: int64 where it surely fits, Python integers where not."""
    if total.dtype != object and np.abs(total, dtype=np.float64).max(initial=0) < 2.0 ** (62 - power) and power < 63:
        return np.asarray(total * (1 << power))
    return np.asarray(total.astype(object) * (1 << power), dtype=object)


def size_of(event: Event) -> float:
    """The scale of the noise, in sensitivities."""
    if isinstance(event, Gaussian):
        return event.noise_multiplier
    if isinstance(event, Laplace):
        return event.scale
    assert isinstance(event, Pure), "a choice cannot pay for a measurement"
    return 1 / event.epsilon


def deviation_of(event: Event, size: int, sensitivity: float = 1.0) -> float:
    """The deviation of the noise in each of `size` numbers; the sensitivity is in ℓ1 for Laplace noise, else in ℓ2.

    >>> deviation_of(Gaussian(3.0), 10), deviation_of(Pure(0.5), 8), deviation_of(Pure(0.5), 8, sensitivity=2.0)
    (3.0, 6.0, 12.0)
    """
    if isinstance(event, Laplace):
        return math.sqrt(2) * event.scale * sensitivity
    scale = size_of(event) * sensitivity
    # of a pure event the radius is Gamma(size): each coordinate has variance (size + 1) / ε²
    return scale * math.sqrt(size + 1) if isinstance(event, Pure) else scale


def noise_after_test(event: Approximate) -> Gaussian:
    """The noise of a value that passed a test of stability: half of ε and of δ, as the test has spent the other half.

    >>> noise_after_test(Approximate(2.0, 2e-6)).noise_multiplier == noise_multiplier(1.0, 1e-6)
    True
    """
    return Gaussian(noise_multiplier(event.epsilon / 2, event.delta / 2))


def std_of(event: Event, sensitivity: float, shape: tuple[int, ...], symmetric: bool, triangle: bool) -> Any:
    """The standard deviation of each entry: one number, or a matrix where it is less off the diagonal."""
    size = shape[0] * (shape[0] + 1) // 2 if symmetric else math.prod(shape)
    std = deviation_of(event, size, sensitivity)
    if symmetric and not triangle and not isinstance(event, Laplace):
        return np.where(np.eye(shape[0], dtype=bool), std, std / math.sqrt(2))
    return std
