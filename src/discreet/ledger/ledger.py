"""Ledger: what has been spent. Append-only; charges first; refuses an over-spend; in memory or durable.

Analysts choose what to ask next after seeing answers, so a ledger must be a *privacy filter*: its currency and cap are
fixed when it opens, costs add up in that currency, and a charge that would pass the cap is refused. Privacy-loss
distributions are tighter but are no filter, so they price a plan inside one charge and are never added across charges.

| currency | adds up | the filter theorem |
| --- | --- | --- |
| "pure" | ε, and δ apart | basic composition |
| "gdp" (default for δ > 0) | μ², against the μ of (ε, δ) | Smith & Thakurta 2022; Koskela et al. 2023 |
| "renyi" | Rényi divergence at one order fixed at opening | Feldman & Zrnic 2021 |

The first charge of all may fit by exact accounting alone: nothing had been seen when it was chosen. It then closes the
ledger if need be. `mechanisms/proofs/ledger.md` says why.
"""

from __future__ import annotations

import math
import os
import pickle
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from discreet import accounting
from discreet.accounting import curves
from discreet.budget import Budget
from discreet.documents import html
from discreet.errors import BudgetExceeded, LedgerError
from discreet.events import Composed, Event, Minimum, Sampled, flatten
from discreet.ledger.currency import Currency, CurrencyName, cost_of, exceeded, fits, rho, rounded_up
from discreet.ledger.stores import Entry, MemoryStore, SqliteStore, Store, flag, uncovered

if TYPE_CHECKING:
    from discreet.ledger.retrying import Retrying


class Ledger:
    """The account of one data set: every private question is charged here, before rows are read.

    One ledger is one object: copies, deep copies and scikit-learn's `clone` return the same ledger, so that twenty
    models of a grid search share one account. It is thread-safe; the durable form (`Ledger.open`) is safe across
    processes too, and survives a crash at any moment.

    Parameters
    ----------
    budget : the cap.
    currency : "pure", "gdp" or "renyi"; by default "gdp" if δ > 0, else "pure".
    order : of "renyi": a whole number >= 2; by default the one that lets most Gaussian noise through. For sampled
        rounds ask `discreet.accounting.best_order(epsilon, delta, event)`.
    reserve : share of δ kept for events that have a δ of their own (unknown keys, say), for "gdp" and "renyi".
    data : a name for the data set, written on every release.

    Examples
    --------
    >>> from discreet.events import Laplace
    >>> ledger = Ledger(Budget(1.0))
    >>> _ = ledger.charge("count", Laplace(4.0))
    >>> ledger.spent, ledger.remaining
    (0.25, 0.75)
    >>> ledger.charge("histogram", Laplace(1.0))
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: 'histogram' would cost ε = 1, but ε = 0.75 is left of 1. Nothing was charged. Hint:
    ask with epsilon <= 0.75, or for less.
    """

    def __init__(
        self,
        budget: Budget,
        currency: CurrencyName | None = None,
        *,
        order: int | None = None,
        reserve: float = 0.0,
        data: str | None = None,
        _store: Store | None = None,
    ) -> None:
        if not isinstance(budget, Budget):
            raise TypeError(f"A ledger is opened with a Budget. Got {type(budget).__name__}.")
        name = currency or ("pure" if budget.pure else "gdp")
        self.currency = Currency(name, budget, float(reserve), order)
        self.budget = budget
        self.data = data or f"data-{secrets.token_hex(4)}"
        self._store: Store = _store or MemoryStore()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        budget: Budget | None = None,
        currency: CurrencyName | None = None,
        *,
        order: int | None = None,
        reserve: float | None = None,
        data: str | None = None,
    ) -> Ledger:
        """The durable ledger in this file (SQLite), made if there is none.

        An existing ledger keeps the budget and currency it was opened with first; asking for others is an error.
        """
        store = SqliteStore(path)
        stored = store.settings()
        if stored is None:
            if budget is None:
                raise LedgerError(f"There is no ledger at {os.fspath(path)!r}. Hint: Ledger.open(path, Budget(...)).")
            made = cls(budget, currency, order=order, reserve=reserve or 0.0, data=data)
            stored = store.create(made._settings())
        return cls._stored(store, stored, budget, currency, order, reserve, data)

    @classmethod
    def _stored(cls, store: SqliteStore, stored: dict[str, Any], budget: Budget | None, *asked: Any) -> Ledger:
        ledger = cls(
            Budget.derive(**stored["budget"]),
            stored["currency"],
            order=stored["order"],
            reserve=stored["reserve"],
            data=stored["data"],
            _store=store,
        )
        if budget is not None and budget != ledger.budget:
            raise LedgerError(f"This ledger was opened with {ledger.budget}. Got {budget}.")
        for name, value in zip(("currency", "order", "reserve", "data"), asked, strict=True):
            if value is not None and value != stored[name]:
                raise LedgerError(f"This ledger was opened with {name} {stored[name]!r}. Got {value!r}.")
        return ledger

    def _settings(self) -> dict[str, Any]:
        currency = self.currency
        return {
            "budget": self.budget.to_dict(),
            "currency": currency.name,
            "order": currency.order,
            "reserve": currency.reserve,
            "data": self.data,
        }

    def charge(self, name: str, event: Event, *, seeded: bool = False) -> Entry:
        """Charge the event, or raise `BudgetExceeded` and change nothing.

        When it returns, the charge is committed: on disk, for a durable ledger. Whoever draws the noise from a seed
        says so. What was told without being paid for is charged as `Composed(())`, which costs nothing; the entry then
        says "unpaid" (`Entry.outside`).
        """
        return self._store.commit(self._entry(name, event, seeded), self._admit)

    def _entry(self, name: str, event: Event, seeded: bool = False) -> Entry:
        if not isinstance(event, Event):
            raise TypeError(f"A ledger charges events. Got {type(event).__name__}.")
        leaves = [leaf for leaf, _ in flatten(event)]
        if self.budget.neighbours == "replace-one" and any(isinstance(leaf, Sampled | Minimum) for leaf in leaves):
            raise LedgerError("Sampled and Minimum are accounted for add-remove neighbours only, not for replace-one.")
        return Entry(str(name), event, datetime.now(UTC).isoformat(timespec="milliseconds"), bool(seeded))

    def retrying(self, version: str) -> Retrying:
        """A view of this account for runs that may fail: what was charged and never shown is not charged again.

        Parameters
        ----------
        version : your name for the state of the data ("2024-06-01", a commit, a checksum); other data, other name.

        Hand it to estimators and statistics as their `ledger`; `discreet.ledger.retrying`
        says when a charge is found paid.
        """
        from discreet.ledger.retrying import Retrying

        return Retrying(self, version)

    def check(self, budget: Budget) -> None:
        """Raise if a question asked under this budget makes a promise of another kind."""
        for word in ("neighbours", "unit"):
            if getattr(budget, word) != getattr(self.budget, word):
                raise LedgerError(
                    f"The ledger protects {word} {getattr(self.budget, word)!r}, this question "
                    f"{getattr(budget, word)!r}: promises of different kinds do not add up."
                )

    def _admit(self, entry: Entry, before: tuple[Entry, ...]) -> None:
        currency = self.currency
        spent, slack = self._amounts(before)
        cost, more = cost_of(currency, entry.event)
        if fits(spent + cost, currency.cap) and fits(slack + more, currency.slack_cap):
            return
        if not before and accounting.epsilon(entry.event, self.budget.delta) <= self.budget.epsilon:
            return  # the first charge of all: its choice saw nothing, so exact accounting of it alone is enough
        raise BudgetExceeded(self._refusal(entry, cost, more, before))

    def _refusal(self, entry: Entry, cost: float, slack: float, before: tuple[Entry, ...]) -> str:
        left = self._left(before)
        if math.isinf(cost):
            price = f"an unbounded amount in the currency {self.currency.name!r}"
        else:
            price = f"ε = {self.currency.epsilon(cost):.6g}"
        message = f"{entry.name!r} would cost {price}"
        message += f" and δ = {slack:.3g} of its own" if slack else ""
        message += f", but ε = {left:.6g} is left of {self.budget.epsilon:g}"
        message += f" (δ = {self.budget.delta:g})" if self.budget.delta else ""
        return message + ". Nothing was charged." + (self._hint(entry.event, slack) or _way_on(left))

    def _hint(self, event: Event, slack: float) -> str:
        if self.currency.name == "gdp" and any(isinstance(leaf, Sampled) for leaf, _ in flatten(event)):
            return " Hint: sampling saves nothing in 'gdp'; open the ledger with currency='renyi' for sampled rounds."
        if self.currency.name == "pure" and math.isinf(curves.pure(event)):
            return " Hint: Gaussian noise has no pure ε; open the ledger with delta > 0."
        if slack and self.currency.slack_cap < slack:
            return " Hint: open the ledger with `reserve=` to keep some δ for events that have a δ of their own."
        if self.currency.name != "pure" and math.isfinite(curves.pure(event)):
            return " Hint: pure answers are dear in this ledger; with a delta > 0 the same question costs far less."
        return ""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was charged, in order."""
        return self._store.entries()

    def _amounts(self, entries: tuple[Entry, ...]) -> tuple[float, float]:
        costs = [cost_of(self.currency, entry.event) for entry in entries]
        return math.fsum(cost for cost, _ in costs), math.fsum(slack for _, slack in costs)

    @property
    def spent(self) -> float:
        """The ε that all charges together guarantee, at the budget's δ."""
        entries = self.entries
        if len(entries) == 1:
            return min(self.currency.epsilon(self._amounts(entries)[0]), self._exact(entries[0].event))
        return self.currency.epsilon(self._amounts(entries)[0])

    def _exact(self, event: Event) -> float:
        return accounting.epsilon(event, self.budget.delta)

    @property
    def remaining(self) -> float:
        """The largest ε, at the budget's δ, that one more charge may cost.

        In "gdp" and "renyi" spent and remaining do not add up to the budget: composition is better than adding.
        """
        return self._left(self.entries)

    def _left(self, entries: tuple[Entry, ...]) -> float:
        left = self.currency.cap - self._amounts(entries)[0]
        return min(self.currency.epsilon(left), self.budget.epsilon) if left > 0 else 0.0

    @property
    def mu(self) -> float:
        """Everything charged, as Gaussian differential privacy: the μ that adversaries face."""
        return curves.mu(self._event)

    @property
    def rho(self) -> float:
        """Everything charged, as zero-concentrated differential privacy; for Gaussian noise μ²/2."""
        return math.fsum(times * rho(leaf) for leaf, times in flatten(self._event))

    @property
    def _event(self) -> Event:
        return Composed(tuple(entry.event for entry in self.entries))

    def curve(self, deltas: Any) -> Any:
        """The ε guaranteed at each of the given δ, by what the currency adds up."""
        import numpy as np

        entries = self.entries

        amount, slack = self._amounts(entries)

        def at(delta: float) -> float:
            bound = self.currency.promised(amount, slack, delta)
            return min(bound, accounting.epsilon(entries[0].event, delta)) if len(entries) == 1 else bound

        return np.array([at(float(delta)) for delta in np.atleast_1d(deltas)])

    def beyond(self, epsilon: float) -> float:
        """A bound on how often everything charged multiplies odds by more than e^ε; more than δ, at what was spent.

        It follows from `curve` (`currency.exceeded`), so that it holds whatever was chosen after seeing answers.

        >>> from discreet.events import Gaussian
        >>> ledger = Ledger(Budget(2.0, 1e-6))
        >>> _ = ledger.charge("mean", Gaussian(4.0))
        >>> bool(1.9e-5 < ledger.beyond(ledger.spent) < 8e-5)
        True
        """
        if math.fsum(curves.pure(entry.event) for entry in self.entries) <= epsilon:
            return 0.0
        deltas = [delta for step in range(13) if 0 < (delta := self.budget.delta * 2.0**step) < 1]
        return exceeded(zip(self.curve(deltas), deltas, strict=True), epsilon)

    def explain(self) -> str:
        """What has been spent and what it means to a person in the data, in words and odds."""
        entries, spent = self.entries, self.spent
        lines = [f"Ledger of {self.data}: {self.budget}, counted in {self.currency.name!r}."]
        lines += [
            f"  {number}. {entry.time[:19]}  {entry.name}{flag(entry)}" for number, entry in enumerate(entries, 1)
        ]
        lines.append(f"Spent ε = {spent:.4g}; one more charge may cost up to ε = {self.remaining:.4g}.")
        lines += [caveat] if (caveat := uncovered(entries)) else []
        if not entries:
            lines.append("Nothing has been released yet.")
        elif spent > 0 and not all(entry.outside for entry in entries):
            lines.append(replace(self.budget, epsilon=spent).explain())
            if often := self.beyond(spent):
                more = f"odds are multiplied by more than {math.exp(min(spent, 700.0)):.3g}"
                lines.append(f"By what was charged, {more} with a probability of at most {rounded_up(often)}.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (number, entry.time[:19].replace("T", " "), entry.name + flag(entry), entry.event)
            for number, entry in enumerate(self.entries, 1)
        ]
        caption = f"Ledger of {self.data}: {self.budget}"
        spent = f"Spent ε = {self.spent:.4g}; one more charge may cost up to ε = {self.remaining:.4g}."
        table = html.write_table(rows, ("", "time (UTC)", "what", "what ran"), caption)
        return table + html.write_paragraphs(spent)

    def __repr__(self) -> str:
        return f"<Ledger {self.data}: spent ε = {self.spent:.4g} of {self.budget}>"

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: object) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._store, SqliteStore):
            return Ledger.open, (self._store.path,)
        raise pickle.PicklingError(
            "A ledger in memory cannot be sent to another process: two copies would both spend it. "
            "Hint: use the durable one, Ledger.open(path, budget), or n_jobs=1."
        )


def open_ledger(ledger: Any, budget: Budget) -> Ledger:
    """The ledger given, if a question under this budget may be charged to it; one of its own, with just it, if None."""
    if ledger is None:
        return Ledger(budget)
    if isinstance(ledger, Detached):
        ledger.refuse()
    if not isinstance(ledger, Ledger):
        raise TypeError(
            f"The `ledger` must be a discreet.Ledger or None. Got {type(ledger).__name__}. Hint: Ledger(budget), or "
            "Ledger.open(path, budget) for one that lasts."
        )
    ledger.check(budget)
    return ledger


def _way_on(left: float) -> str:
    if left < 1e-3:
        return " Hint: the budget is spent; go on with what was released, or ask whoever answers for the data."
    return f" Hint: ask with epsilon <= {math.floor(left * 1e4 + 1e-6) / 1e4:g}, or for less."


@dataclass(frozen=True)
class Detached:
    """What a pickled model has in place of its ledger: it charges nothing, and says so."""

    data: str

    def refuse(self) -> NoReturn:
        """Raise, since a charge here would be outside the account."""
        raise LedgerError(
            f"This model was unpickled without its ledger of {self.data}; fitting it again would spend outside the "
            "account. Hint: set_params(ledger=...)."
        )
