"""Curator: the one place where rows, noise and ledger meet."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from discreet.accounting import noise_multiplier, scaled
from discreet.budget import Budget, Lot, Part, Plan, Share
from discreet.engines import Rows
from discreet.engines.memory import Memory
from discreet.errors import LedgerError, NotPrivateWarning
from discreet.events import (
    Approximate,
    Choice,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Minimum,
    Pure,
    Repeated,
    Sampled,
    one_of,
)
from discreet.inside import Inside
from discreet.ledger import Ledger
from discreet.lipschitz import Lipschitz, Score
from discreet.mechanisms import keystream
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.laplace import add_laplace
from discreet.mechanisms.norm import add_norm
from discreet.query import WIDEST, BoundedSum, Exact, Image, OneHot, Together
from discreet.release import NOT_PRIVATE, Release

FINE = 31  # noise is at least 2^31 steps of the grid it is added on


@dataclass(frozen=True)
class _Asked:
    query: BoundedSum
    widths: tuple[int, int]
    share: Share
    event: Event
    then: Lipschitz | None


@dataclass(frozen=True)
class Bound:
    """How much of an answer may be one unit's, where a unit has many rows (`mechanisms/proofs/units.md`).

    Parameters
    ----------
    limit : at most so many rows of each unit are read, whatever their order; noise is for so many rows. None: all of
        its rows are, and share what one row may add; what is no sum (a choice, a procedure inside) reads one row each.
    """

    limit: int | None

    def __post_init__(self) -> None:
        limit = self.limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise ValueError(f"`max_rows_per_unit` must be a whole number >= 1, or None. Got {limit!r}.")

    @property
    def group(self) -> int:
        """How many rows a unit may change."""
        return self.limit or 1


class Curator:
    """Holds the rows; answers `measure`, `choose`, `run` and `sample`, after the ledger has been charged.

    Parameters
    ----------
    rows : the data behind an engine.
    ledger : where every plan is charged.
    name : what the charges are called.
    rng : the keystream of the noise; a secure one unless given.
    bound : where rows belong to units, how their part in an answer is bounded (`Bound`).
    """

    def __init__(
        self,
        rows: Rows,
        ledger: Ledger,
        name: str = "release",
        rng: Keystream | None = None,
        bound: Bound | None = None,
    ) -> None:
        self._rows, self._rng, self._bound = rows, rng or keystream.default(), bound
        self.ledger, self.name = ledger, name
        self._paid: dict[Plan, tuple[Event, ...]] = {}
        self._charges: list[Event] = []
        self._used: set[Share | Lot] = set()
        self._lot: Lot | None = None
        self._is_bound, self._ones = False, cast(Rows | None, None)
        self._lock, self._process = threading.Lock(), os.getpid()
        self._totals: dict[BoundedSum, Exact] = {}  # exact: they never leave, and die with the curator
        self._counted: dict[BoundedSum, Exact] = {}
        self.releases: list[Release] = []

    @property
    def width(self) -> int:
        """The number of columns: public, like all of the schema."""
        return self._rows.width

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns, if they have any."""
        return self._rows.columns

    def measure(self, query: BoundedSum, share: Share, then: Lipschitz | None = None) -> Release:
        """The total of the query with noise, in the units of the data.

        Parameters
        ----------
        query : what to add up.
        share : what may be spent on it, from `Budget.split`.
        then : a function proved 1-Lipschitz, of which the noisy value is wanted instead of the total.
        """
        return self.measure_together((query, share, then))[0]

    def measure_together(
        self, *wanted: tuple[BoundedSum, Share, Lipschitz | None], ahead: Sequence[tuple[BoundedSum, Share]] = ()
    ) -> tuple[Release, ...]:
        """Several totals with noise, each of (query, share, then) as in `measure`, in one reading of the rows.

        `ahead` are totals that may be asked for next, read along: they stay here, and their shares unused, until then.
        """
        asked = [self._ask(query, share, then) for query, share, then in wanted]
        later = [self._ask(query, share, None) for query, share in ahead]
        for one in asked:
            self._pay(one.share)
        for one in later:
            self._charge(one.share.plan)
        self._read([one.query for one in asked + later])
        return tuple(self._answer(one) for one in asked)

    def _ask(self, query: BoundedSum, share: Share, then: Lipschitz | None) -> _Asked:
        event = self.buys(share)
        query, widths = self.expect(query)
        self._refuse(query, widths, event, then)
        if self.sharing:
            query = query.divisible()
        return _Asked(query.coarser(_noise(event), widths), widths, share, event, then)

    def _answer(self, asked: _Asked) -> Release:
        query, widths, event, then = asked.query, asked.widths, asked.event, asked.then
        budget = asked.share.budget
        sensitivity = query.sensitivity(widths, budget.neighbours)
        exponent = query.exponent(widths)

        total = self._totals[query]
        if then is not None:
            total, sensitivity = then.apply(total, query, widths, budget.neighbours)
        symmetric = query.symmetric and total.ndim == 2
        triangle = symmetric and query.triangle
        fine = max(0, FINE - math.frexp(_noise(event) * float(sensitivity))[1])
        grid = _times(total.astype(object) if triangle else total, fine)  # a triangle is put together from its entries
        noisy = self._perturb(grid, sensitivity * (1 << fine), event, symmetric, triangle)
        value = np.ldexp(noisy.astype(np.float64), exponent - fine)
        std = _std(event, math.ldexp(float(sensitivity), exponent), value.shape, symmetric, triangle)
        name = query.name if then is None else f"{then.name} of {query.name}"
        return self._release(name, value, std, self.costs(asked.share), budget)

    def expect(self, query: BoundedSum) -> tuple[BoundedSum, tuple[int, int]]:
        """The query with the widths of its factors fixed, as a batch without rows has them: public, and free."""
        if query.fixed is not None and _strict(query, query.fixed):
            return query, query.fixed
        widths = query.widths(self._rows.empty())
        return replace(query, fixed=widths), widths

    def _refuse(self, query: BoundedSum, widths: tuple[int, int], event: Event, then: Lipschitz | None) -> None:
        """Raise what can be known to go wrong, before anything is charged."""
        if isinstance(event, Choice | Minimum):
            name = "choice" if isinstance(event, Choice) else "minimum"
            raise ValueError(f"A share for a {name} does not buy a measurement. Hint: a plain weight in split.")
        if isinstance(event, Laplace) and query.order == 2 and math.prod(widths) > 1 and then is None:
            raise ValueError(
                "Laplace noise needs a sum bounded in ℓ1. Hint: BoundedSum(..., order=1), or radial(weight)."
            )
        if then is not None:
            then.check(query)

    def _perturb(
        self, total: Exact, sensitivity: Fraction, event: Event, symmetric: bool = False, triangle: bool = False
    ) -> Exact:
        if triangle:  # the sensitivity is that of the upper triangle: one draw for each of its entries
            upper = np.triu_indices(len(total))
            noisy = np.empty_like(total)
            noisy[upper] = self._perturb(total[upper], sensitivity, event)
            noisy.T[upper] = noisy[upper]
            return noisy
        if isinstance(event, Gaussian):
            # for a sum bounded in ℓ1 the bound serves too: ‖·‖₂ <= ‖·‖₁
            return add_gaussian(total, sensitivity, event, self._rng, symmetric=symmetric)
        if isinstance(event, Laplace):
            return add_laplace(total, sensitivity, event, self._rng)
        assert isinstance(event, Pure)
        return add_norm(total, sensitivity, event.epsilon, self._rng, symmetric=symmetric)

    def choose(self, query: BoundedSum, share: Share, score: Score) -> Release:
        """The index of a good candidate by the exponential mechanism, scores computed from the query's exact total."""
        query, _ = self.expect(query)
        score.check(query)
        if not isinstance(self.buys(share), Choice):
            raise ValueError("A share for a measurement does not buy a choice. Hint: choice(weight) in split.")
        event = self._pay(share)
        assert isinstance(event, Choice)
        scores, sensitivity = score(self._total(query), share.budget.neighbours)
        index = exponential(scores, event.epsilon, sensitivity, self._rng)
        return self._release(score.name, index, None, self.costs(share), share.budget)

    def run(self, inside: Inside, share: Share, *more: Share) -> Release:
        """What a procedure with a proof of its own makes of exact sums, inside the curator.

        With more shares, all of one plan, it runs under their composition, and spends all of them or none.
        """
        shares = (share, *more)
        if any((one.plan, one.round) != (share.plan, share.round) for one in more) or len(set(shares)) < len(shares):
            raise LedgerError("What a procedure spends are different shares of one plan, of one lot.")
        event = Composed(tuple(self.buys(one) for one in shares)) if more else self.buys(share)
        inside.check(event)
        if more and not self._used.isdisjoint(shares):  # before any of them is used
            raise LedgerError("One of these shares was used already: a share buys one answer.")
        for one in shares:
            self._pay(one)
        value, std = inside.run(self._single(), event, share.budget, self._rng)
        costs = Composed(tuple(self.costs(one) for one in shares)) if more else self.costs(share)
        return self._release(inside.name, value, std, costs, share.budget)

    def _total(self, query: BoundedSum) -> Exact:
        """The exact total for a choice; rows are read once for a query that is used twice."""
        if not self.sharing:
            self._read([query])
            return self._totals[query]
        if query not in self._counted:
            self._counted[query] = self._single().sum(query)
        return self._counted[query]

    def _read(self, queries: Sequence[BoundedSum]) -> None:
        """The exact totals of those not read yet, in one reading of the rows."""
        new = list(dict.fromkeys(query for query in queries if query not in self._totals))
        if len(new) == 1 or any(query.whole for query in new):  # units clipped as a whole have shares of their own
            self._totals.update((query, self._rows.sum(query)) for query in new)
        elif new:
            together = Together(tuple(new))
            self._totals.update(zip(new, together.apart(self._rows.sum(together)), strict=True))

    def buys(self, share: Share) -> Event:
        """The event that a share pays for, as what one row may do: public, and free to ask.

        Where a unit may change several rows, this is the event that is worth `costs` to so many of them together.
        """
        return one_of(self.costs(share), self.group)

    def costs(self, share: Share) -> Event:
        """The event that is charged for a share, for one unit: public, and free to ask."""
        return (self._paid.get(share.plan) or deal(share.plan))[share.index]

    @property
    def group(self) -> int:
        """How many rows a unit may change."""
        return self._bound.group if self._bound else 1

    @property
    def sharing(self) -> bool:
        """Whether the rows of a unit share what one row may add."""
        return self._bound is not None and self._bound.limit is None

    def _single(self) -> Rows:
        """Rows for what is no sum with noise: where rows of a unit share, one of each unit."""
        if not self.sharing:
            return self._rows
        if self._ones is None:
            self._ones = self._rows.bounded(1, Coins.fresh(self._rng))
        return self._ones

    def _bind(self) -> None:
        """Bound what is a unit's, once something has been charged."""
        if self._bound is None or self._is_bound:
            return
        self._is_bound = True
        limit = self._bound.limit
        self._rows = self._rows.shared() if limit is None else self._rows.bounded(limit, Coins.fresh(self._rng))

    def label(self, classes: Sequence[Any]) -> None:
        """From here on targets are places in this public list of classes; a row of any other class counts for nothing.

        Free: a map of each row by itself, known to everybody.
        """
        self._become(self._rows.coded(classes))

    def map(self, image: Image) -> None:
        """From here on the features of a row are what `image` makes of it. Free: a map of each row by itself."""
        self._become(self._rows.map(image))

    def _become(self, rows: Rows) -> None:
        self._rows, self._totals, self._ones, self._counted = rows, {}, None, {}

    def next(self, rows: Rows) -> Curator:
        """A curator of *other* units' rows under the same plans: what was paid stays paid, what was used before, used.

        Each unit is in the rows of one such curator only, so that a share may be used once by each of them.
        """
        child = Curator(rows, self.ledger, self.name, self._rng, self._bound)
        child._is_bound = self._is_bound
        child._paid, child._charges, child._used = self._paid, self._charges, set(self._used)
        child._lock, child._process = self._lock, self._process
        return child

    def without_rows(self) -> Curator:
        """The account alone: a curator of no rows, under the same plans, whose releases are these."""
        empty = self._rows.empty()
        child = self.next(Memory(empty.X, empty.y))
        child.releases = self.releases
        return child

    def dealt(self, share: Share, count: int) -> Iterator[Curator]:
        """Curators of disjoint blocks of the rows, each row in one of them, drawn for it alone, once the plan is paid.

        One block is all of the rows, and no coin is drawn.
        """
        if count > 1:
            self._check_places()
        self._charge(share.plan)
        blocks = iter([self._rows]) if count == 1 else self._rows.blocks(count, Coins.fresh(self._rng))
        return (self.next(rows) for rows in blocks)

    def hold(self, dtype: Any) -> None:
        """Let an engine hold features in memory as `dtype`, which must hold them exactly, where it can."""
        rows: Any = self._rows
        self._become(getattr(rows, "held", lambda _: rows)(dtype))

    def keep(self) -> None:
        """Let an engine keep what it makes of rows, where it can: many sums of the same images are to come."""
        self._rows = getattr(self._rows, "keep", lambda: self._rows)()

    def sample(self, lot: Lot) -> Curator:
        """A curator for one lot: a fresh Poisson sample of the rows, under a plan from `Budget.lots`.

        The coins are drawn after the whole plan has been charged; the size of a lot is not released.
        """
        if self._lot is not None:
            raise LedgerError("A lot is not sampled again: a sample of a sample is another plan.")
        self._check_places()
        self._charge(lot.plan)
        self._use(lot, "This lot was drawn already: measuring twice on one sample costs more than two samples.")
        rows = self._rows.sample(lot.plan.rate, Coins.fresh(self._rng))
        curator = Curator(rows, self.ledger, self.name, self._rng, self._bound)
        curator._is_bound = True
        curator._paid, curator._charges, curator._used = self._paid, self._charges, self._used
        curator.releases, curator._lot, curator._lock = self.releases, lot, self._lock
        return curator

    def _check_places(self) -> None:
        """Let an engine refuse to draw coins by places, before anything is charged for them."""
        getattr(self._rows, "check_places", lambda: None)()

    def _pay(self, share: Share) -> Event:
        """The event of this share; its whole plan is charged before the first of its shares is used."""
        lot = Lot(share.plan, share.round) if share.plan.sampled else None
        if lot != self._lot:
            raise LedgerError(
                "A share of a lot is used on that lot, and no other. Hint: curator.sample(lot).measure(...)."
            )
        self._charge(share.plan)
        self._use(share, "This share was used already: a share buys one measurement. Hint: split the budget further.")
        return self.buys(share)

    def _use(self, right: Share | Lot, otherwise: str) -> None:
        self._same_process()
        with self._lock:
            if right in self._used:
                raise LedgerError(otherwise)
            self._used.add(right)

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError("A curator belongs to the process that made it: a forked copy would use shares twice.")

    def _charge(self, plan: Plan) -> None:
        self._same_process()
        with self._lock:
            if plan not in self._paid:
                self._book(plan)
            self._bind()

    def _book(self, plan: Plan) -> None:
        self.ledger.check(plan.budget)
        events = deal(plan)
        one = events[0] if len(events) == 1 else Composed(events)
        whole = one if plan.rate == 1 else Sampled(plan.rate, one)
        whole = whole if plan.rounds == 1 else Repeated(whole, plan.rounds)
        self.ledger.charge(self.name, whole)
        self._charges.append(whole)
        self._paid[plan] = events

    def _release(self, name: str, value: Any, std: Any, event: Event, budget: Budget) -> Release:
        release = Release(name, value, std, event, budget, seeded=not self._rng.secure, data=self.ledger.data)
        self.releases.append(release)
        return release

    def summary(self, name: str, budget: Budget, notes: tuple[str, ...] = ()) -> Release:
        """Everything released so far, as one release; its event is all that was charged."""
        event = self._charges[0] if len(self._charges) == 1 else Composed(tuple(self._charges))
        return Release(
            name,
            None,
            None,
            event,
            budget,
            seeded=not self._rng.secure,
            data=self.ledger.data,
            parts=tuple(self.releases),
            notes=notes,
        )

    def __repr__(self) -> str:
        return f"<Curator of {self.ledger.data}>"


def deal(plan: Plan) -> tuple[Event, ...]:
    """What each share of a plan buys: the plan as a whole costs its budget, exactly."""
    epsilon, delta = plan.budget.epsilon, plan.budget.delta
    pairs = list(zip(plan.parts, plan.weights, strict=True))
    if any(part.kind == "minimum" for part in plan.parts):
        _refuse_minima(plan)
    if all(part.kind == "approximate" for part in plan.parts) and not plan.budget.pure and plan.rounds == 1:
        room = 1.0 if len(pairs) == 1 else 1 - 1e-12  # ε adds, δ adds
        return tuple(Approximate(weight * room * epsilon, weight * room * delta) for _, weight in pairs)
    if plan.budget.pure:
        if any(part.kind == "approximate" for part in plan.parts):
            raise ValueError("This method is known as (ε, δ)-private only: it needs delta > 0. Got delta = 0.")
        kinds = {"noise": lambda w: Laplace(1 / w), "radial": Pure, "choice": Choice}
        return scaled(tuple(kinds[part.kind](weight) for part, weight in pairs), epsilon, 0.0)
    if all(part.kind == "choice" for part in plan.parts) and len(pairs) == 1:
        return (Choice(epsilon),)
    templates = tuple(_template(part, weight, _base(plan), plan.budget) for part, weight in pairs)
    room = epsilon * (1 - 1e-9)  # for the accountant to round upward
    if plan.rate == 1:
        rounds = tuple(Repeated(event, plan.rounds) for event in templates) if plan.rounds > 1 else templates
        return tuple(event.event if isinstance(event, Repeated) else event for event in scaled(rounds, room, delta))
    (whole,) = scaled((Repeated(Sampled(plan.rate, Composed(templates)), plan.rounds),), room, delta)
    assert isinstance(whole, Repeated) and isinstance(whole.event, Sampled) and isinstance(whole.event.event, Composed)
    return whole.event.event.events


def _refuse_minima(plan: Plan) -> None:
    """Raise where the privacy of a minimum is not known."""
    if plan.budget.pure:
        raise ValueError("The minimum of a perturbed objective needs delta > 0. Got delta = 0.")
    if plan.budget.neighbours != "add-remove":
        raise ValueError(
            "The privacy of a minimum is stated for add-remove neighbours, not for 'replace-one'. Hint: with "
            "approximate(weight) in its place, an ε and a δ proved for replace-one can be used."
        )
    if plan.rounds > 1 or plan.sampled:
        raise ValueError("The minimum of a perturbed objective is found once, on all rows: not on sampled lots.")


def _base(plan: Plan) -> float:
    """The noise multiplier of a part of weight 1; parts known as (ε, δ) only get their shares of those first."""
    rest = math.fsum(w for part, w in zip(plan.parts, plan.weights, strict=True) if part.kind != "approximate")
    if rest > 1 - 1e-9:
        return 1.0
    return noise_multiplier(rest * plan.budget.epsilon, rest * plan.budget.delta) * math.sqrt(rest)


def _template(part: Part, weight: float, base: float, budget: Budget) -> Event:
    if part.kind == "approximate":
        return Approximate(weight * budget.epsilon, weight * budget.delta)
    if part.kind == "minimum":
        return Minimum(base / math.sqrt(weight), part.excess, part.two_sided)
    # equal weights are equal shares of zero-concentrated privacy: μ²/2 for noise, ε²/8 for a choice
    return Choice(2 * math.sqrt(weight) / base) if part.kind == "choice" else Gaussian(base / math.sqrt(weight))


def noise_source(random_state: Any, stacklevel: int = 4) -> Keystream | None:
    """None for private noise; for a seed, a keystream that repeats itself, and a warning."""
    if random_state is None:
        return None
    warnings.warn(NOT_PRIVATE, NotPrivateWarning, stacklevel=stacklevel)
    if isinstance(random_state, np.random.RandomState):
        return Keystream.seeded(int(random_state.randint(2**31)))
    if isinstance(random_state, np.random.Generator):
        return Keystream.seeded(int(random_state.integers(2**63)))
    return Keystream.seeded(random_state)


def _times(total: Exact, power: int) -> Exact:
    """The total times 2^power: int64 where it surely fits, Python integers where not."""
    if total.dtype != object and np.abs(total, dtype=np.float64).max(initial=0) < 2.0 ** (62 - power) and power < 63:
        return np.asarray(total * (1 << power))
    return np.asarray(total.astype(object) * (1 << power), dtype=object)


def _strict(query: BoundedSum, fixed: tuple[int, int]) -> bool:
    """Whether the query by itself refuses a batch of other widths than these: a batch without rows need not be made."""
    table = query.left
    if isinstance(table, OneHot) and (query.right is not None or fixed != (table.columns * table.size, 1)):
        return False
    return max(fixed) <= WIDEST


def _noise(event: Event) -> float:
    """The scale of the noise, in sensitivities."""
    if isinstance(event, Gaussian):
        return event.noise_multiplier
    if isinstance(event, Laplace):
        return event.scale
    assert isinstance(event, Pure), "a choice cannot pay for a measurement"
    return 1 / event.epsilon


def _std(event: Event, sensitivity: float, shape: tuple[int, ...], symmetric: bool, triangle: bool) -> Any:
    """The standard deviation of each entry: one number, or a matrix where it is less off the diagonal."""
    if isinstance(event, Laplace):
        return math.sqrt(2) * event.scale * sensitivity
    std = _noise(event) * sensitivity
    if isinstance(event, Pure):  # a radius of Gamma(size): each coordinate has variance (size + 1) / ε²
        size = shape[0] * (shape[0] + 1) // 2 if symmetric else math.prod(shape)
        std *= math.sqrt(size + 1)
    if symmetric and not triangle:
        return np.where(np.eye(shape[0], dtype=bool), std, std / math.sqrt(2))
    return std
