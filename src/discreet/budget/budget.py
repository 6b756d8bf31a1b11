"""Budget: what may be spent, on which promise; dealt out in shares of a plan."""

from __future__ import annotations

import math
import warnings
from dataclasses import InitVar, dataclass, replace
from typing import Any, Literal, get_args

from discreet.arguments import check_positive, check_whole, is_number
from discreet.documents import html
from discreet.errors import DeltaWarning, outside

Neighbours = Literal["add-remove", "replace-one"]
Kind = Literal["noise", "radial", "counts", "choice", "minimum", "approximate"]

DELTA = "The `delta` of a budget"
LARGE_DELTA, NO_GUARANTEE = 1e-3, 0.1  # a δ above the first warns; one from the second on is refused


@dataclass(frozen=True)
class Budget:
    """(ε, δ), the neighbour relation it speaks of, and the unit it protects.

    Parameters
    ----------
    epsilon : how much any one unit may shift the odds of any outcome: at most by a factor e^ε.
    delta : what is added to that: the answers are those of a method that keeps it always, but for a probability of δ;
        0 for the pure promise. Keep it far below 1/n.
    neighbours : "add-remove": with or without one unit (the number of units is then private too);
        "replace-one": one unit exchanged for another (their number is public).
    unit : what one unit is.
    large_delta : True to insist on a δ of 0.1 or more, which is refused otherwise: with it, one unit in ten may be
        published whole. A δ above 1e-3 warns, and so does one above 1/(100 n) where the number of units n is public.

    Examples
    --------
    >>> half, rest = Budget(1.0, 1e-6).split(1, 1)
    >>> print(Budget(1.0, 1e-6))
    ε = 1, δ = 1e-06 (add-remove one row)
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add-remove"
    unit: str = "row"
    large_delta: InitVar[bool] = False

    def __post_init__(self, large_delta: bool) -> None:
        self._check()
        if not large_delta:
            refuse_delta(DELTA, self.delta, self.unit)
        if self.delta > LARGE_DELTA:
            warnings.warn(
                f"{DELTA}, {self.delta:g}, is large: it is the probability that the guarantee fails for a {self.unit}. "
                "Choose delta far below one over their number, 1e-6 say.",
                DeltaWarning,
                stacklevel=outside(),
            )

    def _check(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if not is_number(value):
                hint = " Hint: leave the quotes out." if isinstance(value, str) else ""
                raise TypeError(f"The `{name}` of a budget must be a number. Got {value!r}.{hint}")
            object.__setattr__(self, name, float(value))
        check_positive("a budget", "epsilon", self.epsilon)
        if not 0 <= self.delta < 1:
            raise ValueError(f"The `delta` of a budget must be within [0, 1). Got {self.delta!r}.")
        if self.neighbours not in get_args(Neighbours):
            raise ValueError(
                f"The `neighbours` of a budget are 'add-remove' or 'replace-one'. Got {self.neighbours!r}."
            )
        if not isinstance(self.unit, str) or not self.unit:
            raise ValueError("The `unit` of a budget must be a name, such as 'row'.")

    @classmethod
    def derive(
        cls, epsilon: float, delta: float = 0.0, neighbours: Neighbours = "add-remove", unit: str = "row"
    ) -> Budget:
        """A guarantee that follows from others, or that was stated before: its δ is not judged again.

        >>> Budget.derive(1.0, 0.2).delta
        0.2
        """
        budget = object.__new__(cls)
        for name, value in zip(
            ("epsilon", "delta", "neighbours", "unit"), (epsilon, delta, neighbours, unit), strict=True
        ):
            object.__setattr__(budget, name, value)
        budget._check()
        return budget

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}, δ = {self.delta:g} ({self.neighbours} one {self.unit})"

    @property
    def pure(self) -> bool:
        """Whether the promise is the pure one, δ = 0."""
        return self.delta == 0

    def split(self, *parts: float | Part) -> tuple[Share, ...]:
        """Shares of one plan; the whole plan is charged, once, before the first of them is used.

        A plain number is the weight of a noisy measurement; `choice(weight)` stands for a choice among candidates,
        `radial(weight)` for a vector of bounded ℓ2 norm, `counts(weight)` for numbers of rows, `minimum(weight, ...)`
        for the minimum of a perturbed objective and `approximate(weight)` for a procedure known as (ε, δ) only. Weights
        are shares of μ² (δ > 0) or of ε (δ = 0): never of (ε/k, δ/k), which wastes most of the budget.
        (With `approximate` parts in the plan: the others together get their share of ε and δ, dealt out in μ².)
        """
        return Plan(self, tuple(part if isinstance(part, Part) else Part(part) for part in parts)).shares

    def lots(self, rounds: int, rate: float, *parts: float | Part) -> tuple[Lot, ...]:
        """A plan of `rounds` lots, each a fresh sample that holds every unit with probability `rate`.

        On each lot there is one measurement per part; `Curator.sample` draws it. Everything measured on one lot is one
        sampled event, and the whole plan is charged before the first lot is drawn.
        """
        rounds = check_whole("a plan", "rounds", rounds)
        if not 0 < rate <= 1:
            raise ValueError(f"The `rate` of a plan must be within (0, 1]. Got {rate!r}.")
        if self.pure or self.neighbours != "add-remove":
            raise ValueError("Sampled lots are accounted for with delta > 0 and add-remove neighbours only.")
        plan = Plan(self, tuple(part if isinstance(part, Part) else Part(part) for part in parts), rounds, rate, True)
        return tuple(Lot(plan, i) for i in range(rounds))

    def whole(self, kind: Kind = "noise") -> Share:
        """All of it, for one measurement or choice."""
        return self.split(Part(1.0, kind))[0]

    def warn_of_delta(self, n: int | None) -> None:
        """Warn if δ is above 1/(100 n), where n is public."""
        warn_of_delta(DELTA, self.delta, n, self.unit)

    def group(self, size: int) -> Budget:
        """What the promise is worth to `size` units together: (kε, k e^((k-1)ε) δ).

        >>> Budget(0.5).group(3).epsilon
        1.5
        """
        size = check_whole("a group", "size", size)
        delta = size * math.exp((size - 1) * self.epsilon) * self.delta
        if delta >= 1:
            raise ValueError(f"Nothing is promised to {size} units together: their δ would be {delta:.3g} >= 1.")
        return Budget.derive(size * self.epsilon, delta, self.neighbours, f"group of {size} {self.unit}s")

    def as_replace_one(self) -> Budget:
        """What a promise for add-remove is worth for replace-one: an exchange is a removal and an addition.

        The other direction does not hold: replace-one says nothing of how many units there are.
        """
        if self.neighbours == "replace-one":
            return self
        both = self.group(2)
        return Budget.derive(both.epsilon, both.delta, "replace-one", self.unit)

    def explain(self) -> str:
        """What the promise means to a person, in words and odds.

        >>> print(Budget(1.0).explain().splitlines()[1])
          an even chance (50%) that a given row is in the data can become at most 73.1%, or sink to 26.9%;
        """
        factor = math.exp(min(self.epsilon, 700.0))

        def shifted(prior: float) -> tuple[float, float]:
            odds = prior / (1 - prior)
            return 100 * odds / factor / (1 + odds / factor), 100 * odds * factor / (1 + odds * factor)

        verb = "is in the data" if self.neighbours == "add-remove" else "has one value and not another"
        found = 100 * min(1.0, 0.05 * factor + self.delta, 1 - (0.95 - self.delta) / factor)
        low, high = shifted(0.5)
        rare = shifted(0.01)[1]
        lines = [
            f"Whatever an adversary knows already, ε = {self.epsilon:.3g} multiplies the odds of any guess about one "
            f"{self.unit} by at most {factor:.3g}:",
            f"  an even chance (50%) that a given {self.unit} {verb} can become at most {high:.1f}%, or sink to "
            f"{low:.1f}%;",
            f"  a long shot (1%) can become at most {rare:.1f}%;",
            f"  a test that accuses 5% of those who are not there finds at most {found:.0f}% of those who are.",
        ]
        if self.delta:
            # P(loss > ε + ln 2) <= δ / (1 - e^(-ln 2)), as in Ledger.beyond
            lines += [
                f"But for a probability of δ = {self.delta:g}, answers are those of a method for which all this always "
                f"holds. Keep δ far below one over the number of {self.unit}s:",
                f"  odds are multiplied by more than {2 * factor:.3g}, twice as much, with a probability of at most "
                f"{min(1.0, 2 * self.delta):g}.",
            ]
        both = "their row as without it" if self.unit == "row" else "them as without them"
        lines.append(
            f"Everybody can deny: {'but for δ, ' if self.delta else ''}each answer was at most {factor:.3g} times "
            f"as likely with {both}."
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html.write_table([("privacy guarantee", self)]) + html.write_paragraphs(self.explain())

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {name: getattr(self, name) for name in ("epsilon", "delta", "neighbours", "unit")}


def refuse_delta(name: str, delta: float, unit: str = "row") -> None:
    """Raise if a δ guarantees next to nothing.

    A mechanism that publishes each unit with probability δ is (0, δ)-private: n δ of them, on average, are published.

    Parameters
    ----------
    name : what the δ is called where it was stated.
    """
    if delta >= NO_GUARANTEE:
        raise ValueError(
            f"{name} must be below {NO_GUARANTEE:g}: with such a δ, one {unit} in {1 / delta:.2g} may be published "
            f"whole. Got {delta:g}. Hint: 1e-6, or 0; in Python, Budget(..., large_delta=True) insists."
        )


def warn_of_delta(name: str, delta: float, n: int | None, unit: str = "row") -> None:
    """Warn of a δ above 1/(100 n), where n is public."""
    if n and delta * n > 0.01:
        warnings.warn(
            f"{name}, {delta:g}, is not far below 1/n for n = {n}: such a guarantee would allow to publish whole "
            f"{unit}s. Choose delta <= {0.01 / n:.1g}.",
            DeltaWarning,
            stacklevel=outside(),
        )


def check_unit(owner: str, budget: Budget, unit: Any, limit: int | None, n: int | None) -> None:
    """Raise where a promise for units with many rows cannot be kept, or means nothing."""
    if unit is None:
        if limit is not None:
            raise ValueError(f"`max_rows_per_unit` of {owner} needs a `unit`: rows by themselves have no others.")
        return
    if isinstance(unit, str) and unit == "row":
        raise ValueError("A `unit` is not called 'row', which stands for rows by themselves. Hint: rename the column.")
    if budget.neighbours != "add-remove":
        raise ValueError(
            f"With a `unit`, the neighbours of {owner} are 'add-remove': how many rows a unit has is not public. "
            f"Got {budget.neighbours!r}."
        )
    if limit is not None and n is not None:
        raise ValueError(
            f"`n` of {owner} cannot be public where rows are left out by `max_rows_per_unit`. Hint: leave out one of "
            "the two; without the limit, `n` is the number of units."
        )


@dataclass(frozen=True)
class Part:
    """One part of a plan: its weight, and what it is for; of a minimum also what `events.Minimum` says of it.

    `inside` for what no sum with noise is: a procedure that runs inside the curator, or a function of a total.
    """

    weight: float
    kind: Kind = "noise"
    excess: float = 0.0
    two_sided: bool = False
    inside: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.weight):
            raise TypeError(f"A weight must be a number. Got {self.weight!r}.")
        if not (self.weight > 0 and math.isfinite(self.weight)):
            raise ValueError(f"A weight must be a finite number > 0. Got {self.weight!r}.")
        if self.kind == "minimum":
            check_positive("a minimum", "excess", self.excess)
        if self.kind != "minimum" and (self.excess or self.two_sided):
            raise ValueError(f"A part for {self.kind!r} has no excess and no sides: only a minimum has.")

    @property
    def is_sum(self) -> bool:
        """Whether it buys a sum with noise, and nothing else."""
        return not self.inside and self.kind not in ("choice", "minimum", "approximate")


def choice(weight: float) -> Part:
    """A part of a plan that chooses among candidates."""
    return Part(weight, "choice")


def radial(weight: float) -> Part:
    """A part of a plan for a vector of bounded ℓ2 norm (under pure ε: gamma-radius noise)."""
    return Part(weight, "radial")


def counts(weight: float) -> Part:
    """A part of a plan for numbers of rows (under pure ε: whole noise, bounded in ℓ1)."""
    return Part(weight, "counts")


def minimum(weight: float, excess: float, two_sided: bool = False) -> Part:
    """A part of a plan for the minimum of an objective with a random linear term (`events.Minimum`).

    Its noise is dealt out like that of the others; the excess is public, and what no noise takes away. Needs δ > 0 and
    add-remove neighbours.
    """
    return Part(weight, "minimum", excess, two_sided)


def inside(part: float | Part) -> Part:
    """A part of a plan for a procedure inside the curator (`Curator.run`), or a function of a total (`then=`).

    >>> Budget(1.0).split(1, 2)[0].plan.sums_only, Budget(1.0).split(1, inside(radial(2)))[0].plan.sums_only
    (True, False)
    """
    return replace(part if isinstance(part, Part) else Part(part), inside=True)


def approximate(weight: float) -> Part:
    """A part of a plan for a procedure of which only (ε, δ) is known: it gets a share of δ too. Needs δ > 0."""
    return Part(weight, "approximate")


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be measured and chosen, fixed beforehand; its cost is that of the whole."""

    budget: Budget
    parts: tuple[Part, ...]
    rounds: int = 1
    rate: float = 1.0
    sampled: bool = False

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("A budget is split into one part or more.")
        if not 1e-9 <= self.budget.epsilon <= 1e9:
            raise ValueError(f"To be spent, `epsilon` must be within 1e-9 and 1e9. Got {self.budget.epsilon!r}.")
        if min(self.weights) < 1e-6:
            raise ValueError("A part of a plan must be at least a millionth of it.")

    @property
    def shares(self) -> tuple[Share, ...]:
        """One share per part."""
        return tuple(Share(self, i) for i in range(len(self.parts)))

    @property
    def sums_only(self) -> bool:
        """Whether nothing but sums with noise is asked for: no choice, no procedure, no function of a total."""
        return all(part.is_sum for part in self.parts)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights, summing to one."""
        total = math.fsum(part.weight for part in self.parts)
        return tuple(part.weight / total for part in self.parts)


@dataclass(frozen=True)
class Lot:
    """The right to one sample of a plan, and to what is measured on it."""

    plan: Plan
    round: int

    def __post_init__(self) -> None:
        if type(self.round) is not int or not 0 <= self.round < self.plan.rounds:
            raise ValueError(f"The plan has {self.plan.rounds} lots. Got number {self.round!r}.")

    @property
    def shares(self) -> tuple[Share, ...]:
        """One share per part."""
        return tuple(Share(self.plan, i, self.round) for i in range(len(self.plan.parts)))


@dataclass(frozen=True)
class Share:
    """The right to one measurement or choice of a plan."""

    plan: Plan
    index: int
    round: int = 0

    def __post_init__(self) -> None:
        whole = type(self.index) is int and type(self.round) is int
        if not (whole and 0 <= self.index < len(self.plan.parts) and 0 <= self.round < self.plan.rounds):
            raise ValueError("There is no such share in the plan.")

    @property
    def part(self) -> Part:
        """What it is a share for."""
        return self.plan.parts[self.index]

    @property
    def kind(self) -> Kind:
        """The kind of that."""
        return self.part.kind

    @property
    def budget(self) -> Budget:
        """The budget it is a share of."""
        return self.plan.budget
