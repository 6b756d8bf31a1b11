"""Curator: the one place where rows, noise and ledger meet."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from discreet.arguments import check_whole
from discreet.budget import Budget, Lot, Plan, Share
from discreet.budget.plan_costs import as_one, deal
from discreet.curator.procedures import Inside
from discreet.curator.total_noise import FINE, Adder, finer, size_of, std_of
from discreet.engines import Rows
from discreet.engines.memory import Memory
from discreet.errors import LedgerError
from discreet.events import Choice, Composed, Event, Laplace, Minimum, Pure, one_of
from discreet.ledger import Ledger
from discreet.mechanisms import keystream
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.laplace import discrete_laplace_std
from discreet.query import WIDEST, BoundedSum, Exact, Image, OneHot, Together
from discreet.query.lipschitz import Lipschitz, Score
from discreet.release import Release


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
        if self.limit is not None:
            object.__setattr__(self, "limit", check_whole("", "max_rows_per_unit", self.limit, optional=True))

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
    adder : adds noise to totals; noise of this process if None.
    """

    def __init__(
        self,
        rows: Rows,
        ledger: Ledger,
        name: str = "release",
        rng: Keystream | None = None,
        bound: Bound | None = None,
        adder: Adder | None = None,
    ) -> None:
        self._rows, self._rng, self._bound = rows, rng or keystream.default(), bound
        self._adder = adder or Adder()
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

    @property
    def holds_rows(self) -> bool:
        """Whether rows are in memory, where reading them in many blocks is cheap: public, as all of the engine."""
        return self._rows.count_arrays() > 0

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
        self._refuse(query, widths, share, then)
        if self.sharing:
            query = query.make_divisible()
        return _Asked(query.coarsen_grid(size_of(event), widths), widths, share, event, then)

    def _answer(self, asked: _Asked) -> Release:
        query, widths, event, then = asked.query, asked.widths, asked.event, asked.then
        budget = asked.share.budget
        sensitivity = query.sensitivity(widths, budget.neighbours)
        exponent = query.exponent(widths)

        total = self._totals[query]
        if then is not None:
            total, sensitivity = then.apply(total, query, widths, budget.neighbours)
        symmetric = query.is_symmetric and total.ndim == 2
        triangle = symmetric and query.is_triangle
        counts = asked.share.kind == "counts"
        fine = max(0, FINE - math.frexp(size_of(event) * float(sensitivity))[1])
        if counts and query.is_count and isinstance(event, Pure):
            fine = 0  # whole noise on whole numbers; where units share, what they add is finer, and so is the noise
        grid = finer(total.astype(object) if triangle else total, fine)  # a triangle is put together from its entries
        noisy = self._adder.add(grid, sensitivity * (1 << fine), event, self._rng, symmetric, triangle, counts)
        value = np.ldexp(noisy.astype(np.float64), exponent - fine)
        if counts and isinstance(event, Pure):
            scale = float(sensitivity * (1 << fine)) / event.epsilon
            std: Any = math.ldexp(discrete_laplace_std(scale), exponent - fine)
        else:
            std = std_of(event, math.ldexp(float(sensitivity), exponent), value.shape, symmetric, triangle)
        std = std * self._adder.times_std()
        name = query.name if then is None else f"{then.name} of {query.name}"
        return self._release(name, value, std, self.costs(asked.share), budget)

    def expect(self, query: BoundedSum) -> tuple[BoundedSum, tuple[int, int]]:
        """The query with the widths of its factors fixed, as a batch without rows has them: public, and free."""
        if query.fixed is not None and _strict(query, query.fixed):
            return query, query.fixed
        widths = query.read_widths(self._rows.make_empty_batch())
        return replace(query, fixed=widths), widths

    def _refuse(self, query: BoundedSum, widths: tuple[int, int], share: Share, then: Lipschitz | None) -> None:
        """Raise what can be known to go wrong, before anything is charged."""
        event, counts = self.buys(share), share.kind == "counts"
        if counts and not (query.is_count and then is None):
            raise ValueError("A share for counts buys numbers of rows: a OneHot alone, in a bounded sum.")
        if isinstance(event, Choice | Minimum):
            name = "choice" if isinstance(event, Choice) else "minimum"
            raise ValueError(f"A share for a {name} does not buy a measurement. Hint: a plain weight in split.")
        pure = isinstance(event, Laplace) or (counts and isinstance(event, Pure))
        if pure and query.order == 2 and math.prod(widths) > 1 and then is None:
            raise ValueError(
                "Laplace noise needs a sum bounded in ℓ1. Hint: BoundedSum(..., order=1), or radial(weight)."
            )
        if then is not None:
            _refuse_sums(share, "a function of a total")
            then.check(query)

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
        for one in shares:
            _refuse_sums(one, "a procedure")
        event = Composed(tuple(self.buys(one) for one in shares)) if more else self.buys(share)
        inside.check(event)
        if more and not self._used.isdisjoint(shares):  # before any of them is used
            raise LedgerError("One of these shares was used already: a share buys one answer.")
        for one in shares:
            self._pay(one)
        rows = self._rows if inside.by_units else self._single()
        value, std = inside.run(rows, event, share.budget, self._rng)
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
            self._totals.update(zip(new, together.split_total(self._rows.sum(together)), strict=True))

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
            self._ones = self._rows.limit_rows_per_unit(1, Coins.draw_key(self._rng))
        return self._ones

    def _bind(self) -> None:
        """Bound what is a unit's, once something has been charged."""
        if self._bound is None or self._is_bound:
            return
        self._is_bound = True
        limit = self._bound.limit
        self._rows = (
            self._rows.share_within_units()
            if limit is None
            else self._rows.limit_rows_per_unit(limit, Coins.draw_key(self._rng))
        )

    def label(self, classes: Sequence[Any]) -> None:
        """From here on targets are places in this public list of classes; a row of any other class counts for nothing.

        Free: a map of each row by itself, known to everybody.
        """
        self._become(self._rows.encode_targets(classes))

    def map(self, image: Image) -> None:
        """From here on the features of a row are what `image` makes of it. Free: a map of each row by itself."""
        self._become(self._rows.map(image))

    def _become(self, rows: Rows) -> None:
        self._rows, self._totals, self._ones, self._counted = rows, {}, None, {}

    def next(self, rows: Rows) -> Curator:
        """A curator of *other* units' rows under the same plans: what was paid stays paid, what was used before, used.

        Each unit is in the rows of one such curator only, so that a share may be used once by each of them.
        """
        child = Curator(rows, self.ledger, self.name, self._rng, self._bound, self._adder)
        child._is_bound = self._is_bound
        child._paid, child._charges, child._used = self._paid, self._charges, set(self._used)
        child._lock, child._process = self._lock, self._process
        return child

    def without_rows(self) -> Curator:
        """The account alone: a curator of no rows, under the same plans, whose releases are these."""
        empty = self._rows.make_empty_batch()
        child = self.next(Memory(empty.X, empty.y))
        child.releases = self.releases
        return child

    def dealt(self, share: Share, count: int) -> Iterator[Curator]:
        """Curators of disjoint blocks of the rows, each row in one of them, drawn for it alone, once the plan is paid.

        One block is all of the rows, and no coin is drawn.
        """
        if count > 1:
            self._rows.check_places()
        self._charge(share.plan)
        blocks = iter([self._rows]) if count == 1 else self._rows.split_into_blocks(count, Coins.draw_key(self._rng))
        return (self.next(rows) for rows in blocks)

    def hold(self, dtype: Any) -> None:
        """Let an engine hold features in memory as `dtype`, which must hold them exactly, where it can."""
        self._become(self._rows.hold_in_memory(dtype))

    def keep(self) -> None:
        """Let an engine keep what it makes of rows, where it can: many sums of the same images are to come."""
        self._rows = self._rows.cache_images()

    def sample(self, lot: Lot) -> Curator:
        """A curator for one lot: a fresh Poisson sample of the rows, under a plan from `Budget.lots`.

        The coins are drawn after the whole plan has been charged; the size of a lot is not released.
        """
        if self._lot is not None:
            raise LedgerError("A lot is not sampled again: a sample of a sample is another plan.")
        self._rows.check_places()  # an engine may refuse to draw coins by places, before anything is charged for them
        self._charge(lot.plan)
        self._use(lot, "This lot was drawn already: measuring twice on one sample costs more than two samples.")
        rows = self._rows.sample(lot.plan.rate, Coins.draw_key(self._rng))
        curator = Curator(rows, self.ledger, self.name, self._rng, self._bound, self._adder)
        curator._is_bound = True
        curator._paid, curator._charges, curator._used = self._paid, self._charges, self._used
        curator.releases, curator._lot, curator._lock = self.releases, lot, self._lock
        return curator

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
        self._adder.check(plan)
        events = deal(plan)
        whole = as_one(plan, events)
        self.ledger.charge(self.name, whole, seeded=not self._rng.secure)
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


def _refuse_sums(share: Share, what: str) -> None:
    """Raise if a share for a sum with noise is used for something else: plans say what is more than sums."""
    if share.part.is_sum:
        raise ValueError(f"A share for a sum does not buy {what}. Hint: budget.inside(weight) in split.")


def _strict(query: BoundedSum, fixed: tuple[int, int]) -> bool:
    """Whether the query by itself refuses a batch of other widths than these: a batch without rows need not be made."""
    table = query.left
    if isinstance(table, OneHot) and (query.right is not None or fixed != (table.columns * table.size, 1)):
        return False
    return max(fixed) <= WIDEST
