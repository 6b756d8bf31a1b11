"""Currency: how a ledger counts what is spent; `mechanisms/proofs/ledger.md` has the proofs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from discreet import accounting
from discreet.accounting import curves, gauss
from discreet.accounting.bounds import from_renyi
from discreet.arguments import is_whole
from discreet.budget import Budget
from discreet.events import Choice, Either, Event, Gaussian, Minimum, Sampled, flatten

CurrencyName = Literal["pure", "gdp", "renyi"]


@dataclass(frozen=True)
class Currency:
    """How costs are counted: fixed when a ledger opens."""

    name: CurrencyName
    budget: Budget
    reserve: float = 0.0
    order: int | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(CurrencyName):
            raise ValueError(f"The `currency` of a ledger is 'pure', 'gdp' or 'renyi'. Got {self.name!r}.")
        if self.name != "pure" and self.budget.pure:
            raise ValueError(f"The currency {self.name!r} needs delta > 0. Hint: currency='pure' for delta = 0.")
        if not 0 <= self.reserve <= self.budget.delta or (self.reserve and self.reserve == self.budget.delta):
            raise ValueError(f"The `reserve` must be within [0, delta). Got {self.reserve!r}.")
        if self.order is not None and (self.name != "renyi" or not is_whole(self.order) or self.order < 2):
            raise ValueError(f"The `order` of a ledger is a whole number >= 2, for 'renyi' only. Got {self.order!r}.")
        if self.name == "renyi":
            order = accounting.best_order(self.budget.epsilon, self._delta) if self.order is None else int(self.order)
            object.__setattr__(self, "order", order)

    @property
    def _delta(self) -> float:
        return self.budget.delta - self.reserve

    @property
    def cap(self) -> float:
        """How much may be spent."""
        return _cap(self)

    @property
    def slack_cap(self) -> float:
        """How much δ may be spent by events known only as (ε, δ)."""
        return self.budget.delta if self.name == "pure" else self.reserve

    def cost(self, event: Event) -> float:
        """What an event costs."""
        if self.name == "pure":
            return curves.pure(event)
        if self.name == "gdp":
            return math.nextafter(curves.mu(event) ** 2, math.inf)
        assert self.order is not None
        return curves.renyi(event, self.order)

    def epsilon(self, amount: float) -> float:
        """The ε, at the budget's δ, that an amount of this currency guarantees."""
        if amount <= 0:
            return 0.0
        if self.name == "pure":
            return amount
        if self.name == "gdp":
            return gauss.epsilon_of(math.sqrt(amount), self._delta)
        assert self.order is not None
        return from_renyi(self.order, amount, self._delta)

    def promised(self, amount: float, slack: float, delta: float) -> float:
        """The ε, at another δ, that an amount of this currency and the δ of events themselves guarantee."""
        if self.name == "pure":
            return amount if delta >= slack else math.inf
        if delta <= slack:
            return math.inf if amount else 0.0
        if not amount:
            return 0.0
        if self.name == "gdp":
            return gauss.epsilon_of(math.sqrt(amount), delta - slack)
        assert self.order is not None
        return from_renyi(self.order, amount, delta - slack)


@lru_cache(maxsize=256)
def _cap(currency: Currency) -> float:
    epsilon, delta = currency.budget.epsilon, currency._delta
    if currency.name == "pure":
        return epsilon
    if currency.name == "gdp":
        return float(accounting.mu(epsilon, delta) ** 2)
    assert currency.order is not None
    return accounting.renyi_cap(epsilon, delta, currency.order)


@lru_cache(maxsize=4096)
def cost_of(currency: Currency, event: Event) -> tuple[float, float]:
    """What an event costs, and the δ of its own."""
    return currency.cost(event), curves.slack(event)


def fits(amount: float, cap: float) -> bool:
    """Whether an amount is within a cap."""
    # A budget is stated to twelve digits: ten charges of 0.1 fit in 1, though ten times the float 0.1 is more than 1.
    return amount <= cap * (1 + 2.0**-40)


def rho(event: Event) -> float:
    """An event as zero-concentrated differential privacy; without amplification by sampling."""
    if isinstance(event, Gaussian):
        return 1 / (2 * event.noise_multiplier**2)
    if isinstance(event, Minimum):
        return curves.mu(event) ** 2 / 2
    if isinstance(event, Sampled):  # no amplification is claimed
        return math.fsum(times * rho(leaf) for leaf, times in flatten(event.event))
    if isinstance(event, Either):
        return max(math.fsum(times * rho(leaf) for leaf, times in flatten(way)) for way in event.events)
    pure = curves.pure(event)
    return pure**2 / 8 if isinstance(event, Choice) and event.rule == "exponential" else pure**2 / 2


def exceeded(promises: Iterable[tuple[float, float]], epsilon: float) -> float:
    """A bound on how often odds are multiplied by more than e^ε, where all these (ε', δ') are promised.

    If ε' < ε then δ' >= E max(0, 1 - e^(ε' - loss)) >= P(loss > ε) (1 - e^(ε' - ε)), so that P(loss > ε) is at most
    δ' / (1 - e^(ε' - ε)); the least of these.

    >>> exceeded([(1.0, 1e-6)], 1.0 + math.log(2.0)), exceeded([(1.0, 1e-6)], 1.0)
    (2e-06, 1.0)
    """
    bounds = [delta / -math.expm1(least - epsilon) for least, delta in promises if least < epsilon]
    return min([1.0, *bounds])


def rounded_up(chance: float) -> str:
    """To two digits, not below it.

    >>> rounded_up(1.234e-5), rounded_up(0.5)
    ('1.3e-05', '0.5')
    """
    unit = 10.0 ** (math.floor(math.log10(chance)) - 1)
    return f"{math.ceil(chance / unit - 1e-9) * unit:.2g}"
