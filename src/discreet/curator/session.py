"""Session: the one entrance to a private run, of estimators, statistics, and whatever else asks of rows.

A run is opened (`open_task`): its rows behind a watch, an account, a source of noise, and a curator over them; and it
is carried out (`run_once`): under a retrying ledger, what an earlier run of the same released is returned instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from discreet import accounting
from discreet.accounting import curves
from discreet.arguments import check_whole
from discreet.budget import Budget, Plan
from discreet.budget.plan_costs import as_one, deal
from discreet.curator.curator import Bound, Curator
from discreet.curator.task import Task
from discreet.curator.total_noise import Adder, noise_source
from discreet.engines import Rows
from discreet.engines.memory import Memory
from discreet.events import Event
from discreet.ledger import Ledger
from discreet.ledger.retrying import Attempt, Overtaken, reading_of

T = TypeVar("T")


def open_task(
    name: str,
    rows: Rows,
    budget: Budget,
    account: Ledger,
    *,
    bound: Bound | None = None,
    random_state: Any = None,
    shown: bool = False,
    outlook: str = "",
    adder: Adder | None = None,
    **public: Any,
) -> Task:
    """The task of one run; nothing is charged and no value is read yet.

    Parameters
    ----------
    name : what charges and the release are called.
    rows : the data behind an engine.
    budget : what may be spent.
    account : the ledger that is charged, or this run's view of it (`retry.Attempt`).
    bound : how much of an answer may be one unit's, where rows belong to units.
    random_state : None for private noise.
    shown : whether something is shown while the run is under way, by a callback say.
    outlook : what a failure to read means, where that is not what it means to a run by itself.
    adder : adds noise to totals; what the rows bring with them, or noise of this process, if None.
    public : what is public of the data and of the question (`task.Task`).
    """
    reading = reading_of(account, budget, shown)
    reading.outlook = outlook
    curator = Curator(reading.of(rows), account, name, noise_source(random_state), bound, adder or rows.adder)
    reading.charges = curator._charges
    return Task(curator, budget, shows=account.shows if isinstance(account, Attempt) else None, **public)


def run_once(attempt: Attempt | None, work: Callable[[], T]) -> T:
    """What the work releases; of a run that may be retried, what was stored of it, now or before.

    Of two runs of the same at once, one is stored and returned to both.
    """
    if attempt is None:
        return work()
    stored: T | None = attempt.stored
    if stored is not None:
        return stored
    try:
        released = attempt.run(work)
    except Overtaken as other:
        overtaken: T = other.released
        return overtaken
    kept: T = attempt.release(released)
    return kept


def public_count(budget: Budget, rows: Rows, n: int | None) -> int | None:
    """The number of rows, where it is public: under replace-one, or because somebody said so."""
    return rows.count_replace_one() if budget.neighbours == "replace-one" else n


def refuse_count(owner: str, n: Any) -> None:
    """Raise if the public number of rows is none."""
    if n is not None:
        check_whole(owner, "n", n, 0, optional=True)


# What a run would cost ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """What a run is charged, known before there are any rows.

    Attributes
    ----------
    event : what will run.
    budget : the privacy guarantee.
    mu : the event as Gaussian differential privacy.
    sums_only : whether nothing but sums with noise is asked for.
    """

    event: Event
    budget: Budget
    mu: float
    sums_only: bool

    @property
    def epsilon(self) -> float:
        """ε of the event at the budget's δ: at most that of the budget."""
        return accounting.epsilon(self.event, self.budget.delta)


class _Priced(Exception):
    def __init__(self, plan: Plan) -> None:
        super().__init__("priced")
        self.plan = plan


class _Quote(Adder):
    """Stops a run where its plan would be charged."""

    def check(self, plan: Plan) -> None:
        """Hand over the plan."""
        raise _Priced(plan)


class _NoRows(Memory):
    adder = _Quote()


def price_of(run: Callable[[Any], Any], columns: int | Sequence[str], *, target: Any = "number") -> Price:
    """What a run costs on a table of these columns, without any rows and without a charge.

    Parameters
    ----------
    run : a function of rows, such as `model.fit`, or a statistic with its arguments.
    columns : the names of the columns, or how many there are.
    target : "number", "class", or None where there is no target.

    Examples
    --------
    >>> from discreet import Bounds
    >>> from discreet.models import LinearRegression
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=Bounds(0, 1, target=(0, 1)))
    >>> price = price_of(model.fit, 3)
    >>> price.budget.epsilon, price.sums_only, 0.999 < price.epsilon <= 1
    (1.0, True, True)
    """
    width = columns if isinstance(columns, int) else len(columns)
    y = {"number": np.empty(0), "class": np.empty(0, dtype=object), None: None}[target]
    rows = _NoRows(np.empty((0, width)), y, labels=target == "class")
    if not isinstance(columns, int):
        rows.columns = tuple(columns)
    try:
        run(rows)
    except _Priced as priced:
        plan = priced.plan
    else:
        raise ValueError("This run charges nothing.")
    event = as_one(plan, deal(plan))
    return Price(event, plan.budget, curves.mu(event), plan.sums_only)
