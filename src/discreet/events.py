"""Events: frozen descriptions of what ran, enough to account for it and nothing else.

An event says how much noise there was *relative to the sensitivity* of what it covered; how much privacy that costs
is a pure function of it (`discreet.accounting`). Events are stated for the neighbour relation of the budget they
were charged to: the sensitivity they are relative to is the sensitivity under that relation.

| event | what ran |
| --- | --- |
| `Gaussian(noise_multiplier)` | noise of `noise_multiplier` × ℓ2 sensitivity: a Gaussian, rounded to the grid |
| `Laplace(scale)` | noise of scale `scale` × ℓ1 sensitivity: a Laplace, rounded to the grid |
| `Pure(epsilon)` | anything proved ε-DP |
| `Choice(epsilon, rule)` | one of finitely many candidates, chosen by score |
| `Minimum(noise_multiplier, excess, two_sided)` | the minimum of a convex sum of losses with a random linear term |
| `Approximate(epsilon, delta)` | anything of which only (ε, δ) is known |
| `Either(events)` | one of them: which, was decided by what ran before; in saved files only |
| `Sampled(rate, event)` | the event, run on a Poisson sample of the units |
| `Composed(events)` | all of them, each possibly chosen after seeing the ones before |
| `Repeated(event, times)` | the event, `times` over |
| `Parallel(event, groups, touched)` | the event on each of several disjoint groups of rows |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from discreet.arguments import check_whole
from discreet.errors import NotSupported, VersionError

VERSION = 1

Rule = Literal["exponential", "permute-and-flip"]


def _positive(owner: str, name: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and value > 0 and math.isfinite(value)):
        raise ValueError(f"The `{name}` of {owner} must be a finite number > 0. Got {value!r}.")


def _probability(owner: str, name: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and 0 <= value <= 1):
        raise ValueError(f"The `{name}` of {owner} must be within [0, 1]. Got {value!r}.")


@dataclass(frozen=True)
class Event:
    """Base of all events."""

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary from which `from_dict` makes the event again."""
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"version": VERSION, "kind": self.kind, **plain}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Event:
        """The event that `to_dict` described.

        >>> Event.from_dict(Gaussian(2.0).to_dict())
        Gaussian(noise_multiplier=2.0)
        """
        content = dict(document)
        version, kind = content.pop("version", None), content.pop("kind", None)
        if version != VERSION or kind not in _KINDS:
            raise VersionError(
                f"This discreet reads events of version {VERSION} ({', '.join(_KINDS)}). "
                f"Got version {version!r}, kind {kind!r}."
            )
        return _KINDS[kind](**{name: _event(value) for name, value in content.items()})


@dataclass(frozen=True)
class Gaussian(Event):
    """Gaussian noise with standard deviation `noise_multiplier` × ℓ2 sensitivity."""

    noise_multiplier: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _positive("Gaussian", "noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True)
class Laplace(Event):
    """Laplace noise of scale `scale` × ℓ1 sensitivity: (1/scale)-DP."""

    scale: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        _positive("Laplace", "scale", self.scale)


@dataclass(frozen=True)
class Pure(Event):
    """Anything proved ε-DP of which nothing finer is used."""

    epsilon: float
    kind: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        _positive("Pure", "epsilon", self.epsilon)


@dataclass(frozen=True)
class Choice(Event):
    """One of finitely many candidates, chosen by score.

    The exponential mechanism is ε-bounded-range (ε²/8 in zCDP); permute-and-flip is only ε-DP (ε²/2).
    """

    epsilon: float
    rule: Rule = "exponential"
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        _positive("Choice", "epsilon", self.epsilon)
        if self.rule not in ("exponential", "permute-and-flip"):
            raise ValueError(f"The `rule` of Choice is 'exponential' or 'permute-and-flip'. Got {self.rule!r}.")


@dataclass(frozen=True)
class Minimum(Event):
    """The minimum of Σᵢ lᵢ(θ) + r(θ) + b·θ, where b is Gaussian: objective perturbation. For add/remove neighbours.

    Each loss is convex and depends on θ through one line only, lᵢ(θ) = φᵢ(xᵢ·θ), and r, the same for all data, is
    strongly convex with constant Λ.

    Parameters
    ----------
    noise_multiplier : the standard deviation of b, divided by the largest length of a gradient, |φ'| ‖x‖.
    excess : log(1 + β/Λ), where β is the largest curvature of a loss, φ'' ‖x‖²: by how much one row can change the
        logarithm of the volume. It does not shrink with noise.
    two_sided : whether a row's slope φ' may have either sign. It has one alone for logistic and hinge losses.

    Reference: Chaudhuri, Monteleoni & Sarwate, *Differentially private empirical risk minimization*, JMLR 2011;
    Redberg, Koskela & Wang, *Improving the privacy and practicality of objective perturbation*, NeurIPS 2023.

    >>> from discreet import accounting
    >>> round(accounting.epsilon(Minimum(5.0, excess=0.25), 1e-6) - accounting.epsilon(Gaussian(5.0), 1e-6), 6)
    0.25
    """

    noise_multiplier: float
    excess: float
    two_sided: bool = False
    kind: ClassVar[str] = "minimum"

    def __post_init__(self) -> None:
        _positive("Minimum", "noise_multiplier", self.noise_multiplier)
        if not (isinstance(self.excess, (int, float)) and self.excess >= 0 and math.isfinite(self.excess)):
            raise ValueError(f"The `excess` of Minimum must be a finite number >= 0. Got {self.excess!r}.")
        if not isinstance(self.two_sided, bool):
            raise TypeError(f"The `two_sided` of Minimum is True or False. Got {self.two_sided!r}.")


@dataclass(frozen=True)
class Approximate(Event):
    """Anything of which only (ε, δ)-DP is known."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and math.isfinite(self.epsilon)):
            raise ValueError(f"The `epsilon` of Approximate must be finite and >= 0. Got {self.epsilon!r}.")
        _probability("Approximate", "delta", self.delta)


@dataclass(frozen=True)
class Either(Event):
    """One of `events`, decided by what was released before it, and by nothing else of the data.

    Plans of earlier versions could fork so; none is made any more, and saved ones are still read. In a currency it
    costs what the dearest of them does; as (ε, δ), the sum of their δ. Each is Gaussian throughout, or pure.

    >>> from discreet import accounting
    >>> ways = Gaussian(4.0), Laplace(2.0)
    >>> [f"{accounting.delta(event, 1.0):.4g}" for event in (*ways, Either(ways))]
    ['2.924e-06', '0', '2.924e-06']
    >>> [f"{accounting.delta(event, 0.1):.4g}" for event in (*ways, Either(ways))]
    ['0.06034', '0.1813', '0.2416']
    """

    events: tuple[Event, ...]
    kind: ClassVar[str] = "either"

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if len(self.events) < 2 or not all(map(_plain_way, self.events)):
            raise NotSupported(
                "Either is of two events or more, each made of Gaussians alone, or of Laplace, Pure and Choice events."
            )

    def __str__(self) -> str:
        return f"either {', or '.join(map(_said, self.events))}"


@dataclass(frozen=True)
class Sampled(Event):
    """The event, run on a sample that holds each unit independently with probability `rate`.

    Stated for add/remove neighbours. Everything measured on one sample is *one* `Sampled(rate, Composed(...))`;
    two separate `Sampled` events mean two samples drawn independently.
    """

    rate: float
    event: Event
    kind: ClassVar[str] = "sampled"

    def __post_init__(self) -> None:
        _probability("Sampled", "rate", self.rate)


@dataclass(frozen=True)
class Composed(Event):
    """All of `events`; each may have been chosen after seeing the results of those before it."""

    events: tuple[Event, ...]
    kind: ClassVar[str] = "composed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))


@dataclass(frozen=True)
class Repeated(Event):
    """The event, `times` over, on the same data."""

    event: Event
    times: int
    kind: ClassVar[str] = "repeated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", check_whole("Repeated", "times", self.times, 0))


@dataclass(frozen=True)
class Parallel(Event):
    """The event, run on each of `groups` disjoint groups of rows, which a public rule tells apart by a row's own cells.

    A row is in one group, so that only the answers of `touched` groups depend on it: one, where neighbours differ by a
    row that is there or not; two, where one row is exchanged for another, which may be of another group. The event is
    paid for so many times (`mechanisms/proofs/parallel.md`).
    """

    event: Event
    groups: int
    touched: int = 1
    kind: ClassVar[str] = "parallel"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", check_whole("Parallel", "groups", self.groups, 1))
        if self.touched not in (1, 2):
            raise ValueError(f"The `touched` of Parallel must be 1 or 2. Got {self.touched!r}.")

    @property
    def times(self) -> int:
        """How many times the event is paid for."""
        return min(self.touched, self.groups)


_KINDS: dict[str, type[Event]] = {
    cls.kind: cls
    for cls in (Gaussian, Laplace, Pure, Choice, Minimum, Approximate, Either, Sampled, Composed, Repeated, Parallel)
}


def _plain_way(event: Event) -> bool:
    """Whether an event may be one of several in `Either`."""
    leaves = [leaf for leaf, _ in flatten(event)]
    return bool(leaves) and any(
        all(isinstance(leaf, kinds) for leaf in leaves) for kinds in (Gaussian, Laplace | Pure | Choice)
    )


def _said(event: Event) -> str:
    """The leaves of a composition in a line, equal ones counted."""
    counts: dict[Event, int] = {}
    for leaf, times in flatten(event):
        counts[leaf] = counts.get(leaf, 0) + times
    return " and ".join(f"{leaf}{f' × {times}' if times > 1 else ''}" for leaf, times in counts.items())


def one_of(event: Event, size: int) -> Event:
    """What each of `size` rows may be promised, so that all of them together are promised the event.

    With a sensitivity for one row, noise for `size` of them is `size` times as large. Of (ε, δ) remains, by group
    privacy, (ε/k, δ·(e^(ε/k) - 1)/(e^ε - 1)).

    >>> one_of(Gaussian(2.0), 3), one_of(Pure(1.0), 2), one_of(Laplace(2.0), 1)
    (Gaussian(noise_multiplier=6.000000000000001), Pure(epsilon=0.49999999999999994), Laplace(scale=2.0))
    """
    if size == 1:
        return event

    def up(value: float) -> float:
        return math.nextafter(value * size, math.inf)

    def down(value: float) -> float:
        return math.nextafter(value / size, 0.0)

    match event:
        case Gaussian(noise_multiplier=noise):
            return Gaussian(up(noise))
        case Laplace(scale=scale):
            return Laplace(up(scale))
        case Pure(epsilon=epsilon):
            return Pure(down(epsilon))
        case Choice(epsilon=epsilon, rule=rule):
            return Choice(down(epsilon), rule)
        case Approximate(epsilon=epsilon, delta=delta):
            few = down(epsilon)
            part = math.exp(few - epsilon) * math.expm1(-few) / math.expm1(-epsilon) if few else 1 / size
            return Approximate(few, delta * part * (1 - 1e-12))
        case Either(events=events) | Composed(events=events):
            return type(event)(tuple(one_of(part, size) for part in events))
        case Repeated(event=inner, times=times):
            return Repeated(one_of(inner, size), times)
    raise NotSupported(f"What a {event.kind} means to {size} rows of one unit together is not known.")


def flatten(event: Event, times: int = 1) -> Iterator[tuple[Event, int]]:
    """The leaves of a composition with how often each ran; the one place where repetition is handled.

    `Sampled` and `Either` are leaves: what ran on the sample, or may have run, stays inside.

    >>> list(flatten(Repeated(Composed((Gaussian(1.0), Repeated(Laplace(2.0), 3))), 2)))
    [(Gaussian(noise_multiplier=1.0), 2), (Laplace(scale=2.0), 6)]
    """
    if isinstance(event, Composed):
        for part in event.events:
            yield from flatten(part, times)
    elif isinstance(event, Repeated | Parallel):
        yield from flatten(event.event, times * event.times)
    elif times > 0:
        yield event, times


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return value.to_dict()
    return [part.to_dict() for part in value] if isinstance(value, tuple) else value


def _event(value: Any) -> Any:
    if isinstance(value, dict):
        return Event.from_dict(value)
    return tuple(Event.from_dict(part) for part in value) if isinstance(value, list) else value
