"""Retry: a run that failed before anything of it was shown may be run again for the charge it paid, with fresh noise.

`ledger.retrying(version)` is a view of the account for estimators and statistics; without it every run is charged anew.
Under it, each run has a key: a hash of what is asked, of all its arguments, of the columns, the target, the unit and
the version of the data, and of the version of the code. What was charged, shown and released under a key is marked in
the ledger's store, in one transaction with the charge.

| what was marked under the key | what a run does |
| --- | --- |
| nothing | is charged |
| charged | finds the same events paid, and draws fresh noise |
| shown | is charged anew |
| released | adds up nothing, and returns what was stored, to the bit |

Notes
-----
A stored release that is shown again is post-processing. A charge used again is sound because of the runs that it paid
for only one was ever seen: the others stopped while rows were read, and left nothing but the fact that they stopped. No
seed is stored, so no noise is ever used twice, and nothing that differs by the noise alone can be compared. Hence

- the release is committed to the store before the caller sees it; of two runs at once, one is stored and returned to
  both (whoever comes second throws its own away);
- a run that shows something while it runs (a callback, an estimator's `progress`, whose number of steps may have been
  learnt, a charge that was chosen after rows were read) is marked as shown *before* it does. The bar of a stream is not
  such a thing: it shows how many of the rows were read, and nothing of the noise;
- an error that is not a failure to read may depend on what was learnt (no class was found, say), so it is marked as
  shown too. That reading fails must have nothing to do with what the rows hold or with the noise: a file is gone, a
  machine stops. Whoever can watch a run at work and stop it at will is outside of this promise;
- rows in memory are read before the charge, for a digest of them. It is seen nowhere but in the key, under a secret
  that is drawn once for each ledger and kept in its store, so that a key by itself tests no guess of the rows. Whoever
  has the whole store has the secret too: a store is the curator's, like the rows. That a run was charged anew tells
  that its rows were not those of an earlier one. So other rows need another `version` of the caller's; the digest is
  there for when that was forgotten.
"""

from __future__ import annotations

import hmac
import inspect
import secrets
import sys
import warnings
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, TypeVar

import discreet
from discreet.budget import Budget
from discreet.documents import dump, load
from discreet.documents.registered_names import first_module, name_of
from discreet.engines import Rows
from discreet.errors import DiscreetWarning, LedgerError, ReadError
from discreet.events import Event
from discreet.labels import unit_name
from discreet.ledger.failed_reads import Reading
from discreet.ledger.ledger import Ledger
from discreet.ledger.stores import Entry, Mark, Store

T = TypeVar("T")

# they change nothing of what is released
ASIDE = ("ledger", "random_state", "callback", "progress")
SECRET = "secret"  # no key of a run: those are digests
LATE = (
    "Another run of the same was under way and has shown something, which used up the charge of both; nothing left of "
    "this one. Hint: wait until the other has ended, and run it again: what it released is returned, or, if nothing, "
    "this one is charged anew."
)


class Retrying(Ledger):
    """A view of a ledger under which a run that failed while reading is not charged a second time.

    Parameters
    ----------
    ledger : the account.
    version : the caller's name for the state of the data: other rows need another. To it is added what
        `rows.read_version()` says, for engines that have it.

    | rows | what is told apart without another `version` |
    | --- | --- |
    | arrays, frames, Arrow tables | other values |
    | files, datasets of files, lazy frames that scan local files | other names, sizes or times of change |
    | Spark | another plan, other files; **not** other rows behind the same plan: in a table of a database, say |
    | lazy frames and datasets of data in memory, DuckDB | nothing: `NotSupported`, before anything is charged |
    | an engine of your own without `read_version()` | nothing but columns and target |

    | case | what happens |
    | --- | --- |
    | another argument, version of the data or of discreet | another key: charged anew |
    | an argument without a stable form (a function, a generator) | `ValueError`, before anything is charged |
    | `random_state` given | `ValueError`: such a run repeats by itself, and is not private |
    | the same run in two processes at once | one is stored and returned to both, whichever is ahead when |

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.stats import count
    >>> ledger = Ledger(Budget(1.0)).retrying("2024-06-01")
    >>> answers = [count(np.ones(1000), epsilon=0.5, ledger=ledger).value for _ in range(3)]
    >>> len(set(answers)), ledger.spent
    (1, 0.5)
    """

    def __init__(self, ledger: Ledger, version: str) -> None:
        if not isinstance(version, str) or not version:
            raise ValueError("The `version` of the data must be a name for their state, such as a date.")
        _share(self, ledger)
        self.version = version

    def attempt(self, what: Any, arguments: Mapping[str, Any], rows: Rows, budget: Budget) -> Attempt:
        """One run of an estimator or statistic (`what`) with these arguments, on these rows."""
        if arguments.get("random_state") is not None:
            raise ValueError(
                "A run with a `random_state` repeats by itself and is not private: a retrying ledger does not take it."
            )
        kept, version = {name: value for name, value in arguments.items() if name not in ASIDE}, rows.read_version()
        if version is not None and kept.get("unit") is not None:
            kept["unit"] = unit_name(kept["unit"])  # of a column of its own, the version tells what it holds
        data = [rows.width, rows.columns, list(rows.describe_roles()), self.version, version]
        return Attempt(self, _key(_secret(self._store), what, kept, [budget.to_dict(), *data]), budget)

    def __reduce__(self) -> tuple[Any, ...]:
        _, path = super().__reduce__()  # raises for a ledger in memory
        return _reopened, (*path, self.version)


def _reopened(path: str, version: str) -> Retrying:
    return Ledger.open(path).retrying(version)


def _share(view: Ledger, ledger: Ledger) -> None:
    view.currency, view.budget, view.data, view._store = ledger.currency, ledger.budget, ledger.data, ledger._store


def _secret(store: Store) -> bytes:
    """The secret of a ledger, drawn when it is first asked for."""

    def decide(_: tuple[Entry, ...], marks: tuple[Mark, ...]) -> tuple[None, tuple[Mark, ...]]:
        return None, () if marks else (Mark(SECRET, "charged", 0, "", secrets.token_hex(32)),)

    if not store.marks(SECRET):
        store.settle(SECRET, decide)
    return bytes.fromhex(store.marks(SECRET)[0].document)


def _key(secret: bytes, what: Any, arguments: Mapping[str, Any], facts: list[Any]) -> str:
    registered = name_of(what)
    name = f"{first_module(registered) if registered else what.__module__}.{what.__qualname__}"
    forms = []
    for argument in sorted(arguments):
        try:
            forms.append([argument, dump(arguments[argument], former=True)])
        except ValueError as error:
            raise ValueError(
                f"{what.__name__} with this `{argument}` cannot be retried: {error}, so that a second run could not be "
                "told to be the same. Hint: give it the ledger itself, which charges every run."
            ) from None
    text = dump([name, _source(what), discreet.__version__, forms, facts], former=True)
    return hmac.new(secret, text.encode(), sha256).hexdigest()


def _source(what: Any) -> str | None:
    """The source of a class that is not discreet's own, whose version says nothing of it."""
    if what.__module__.split(".")[0] == "discreet":
        return None
    try:
        return inspect.getsource(sys.modules[what.__module__])
    except (OSError, TypeError, KeyError):
        raise ValueError(
            f"{what.__name__} cannot be retried: its source cannot be read, so that a second run could not be told to "
            "be the same. Hint: put it in a module."
        ) from None


class Overtaken(LedgerError):
    """Another run of the same came first; `released` is what it released, and what this one is to return."""

    def __init__(self, released: Any) -> None:
        super().__init__(LATE)
        self.released = released


class Attempt(Ledger):
    """The account as one run sees it: it finds paid what was charged for the same, and never shown.

    Of two runs at once, whoever finds that the other has released meanwhile raises `Overtaken`, wherever it is.

    Attributes
    ----------
    stored : what such a run released before; None if nothing.
    reading : how far this one got with its rows.
    """

    def __init__(self, ledger: Retrying, key: str, budget: Budget) -> None:
        _share(self, ledger)
        self._key, self._run, self._place = key, secrets.token_hex(8), 0
        marks = self._store.marks(key)
        self._turn = sum(mark.state == "shown" for mark in marks)
        released = [mark.document for mark in marks if mark.state == "released"]
        self.stored: Any = load(released[0]) if released else None
        self.reading = Reading(budget, retrying=True)

    def charge(self, name: str, event: Event, *, seeded: bool = False) -> Entry:
        """Charge the event, unless it is found paid."""
        entry, late = self._entry(name, event, seeded), self.reading.started
        charged = self._mark("charged", dump([self._place, event.to_dict()]))

        def decide(entries: tuple[Entry, ...], marks: tuple[Mark, ...]) -> tuple[Entry | None, tuple[Mark, ...]]:
            self._refuse_late(marks)
            if not late and any(_same(charged, mark) for mark in marks):
                return None, ()
            self._admit(entry, entries)
            # chosen after rows were read, and written in the ledger: it may tell of them
            shown = (self._mark("shown"),) if late and not self.reading.shown else ()
            return entry, (*shown, charged)

        self._store.settle(self._key, decide)
        self._place += 1
        self.reading.shown = self.reading.shown or late
        return entry

    def show(self) -> None:
        """Mark this run as shown: from here on its charges are used up, however it ends."""
        if not self.reading.shown:
            self._settle("shown")
            self.reading.shown = True

    def shows(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """The callback, before whose first call the run is marked as shown."""

        def call(*arguments: Any, **options: Any) -> Any:
            self.show()
            return callback(*arguments, **options)

        return call

    def run(self, work: Callable[[], T]) -> T:
        """What the work returns; an error other than a failure to read may tell something, and is marked before it.

        Where that comes too late, what is raised instead has no trace of the error: no context, no frame that holds it.
        """
        try:
            return work()
        except (ReadError, Overtaken):
            raise
        except Exception as error:
            failed = error
        try:
            if self.reading.started:
                self.show()
            raise failed
        finally:
            del failed

    def release(self, value: Any) -> Any:
        """Commit what was released, and return it; or what another run of the same released meanwhile."""
        try:
            document = dump(value)
        except ValueError as error:
            self.show()
            warnings.warn(f"This run is not stored: {error}. A second one pays again.", DiscreetWarning, stacklevel=3)
            return value
        first = self._first(document)
        return load(first)

    def _first(self, document: str) -> str:
        """The document that is stored: this one, unless another run paid by the same charges was faster."""
        found = document

        def decide(_: tuple[Entry, ...], marks: tuple[Mark, ...]) -> tuple[None, tuple[Mark, ...]]:
            nonlocal found
            released = [mark for mark in marks if mark.state == "released"]
            others = [mark.document for mark in released if mark.turn == self._turn]
            if others:
                found = others[0]
                return None, ()
            self._refuse_late(marks)
            return None, () if released else (self._mark("released", document),)

        self._store.settle(self._key, decide)
        return found

    def _settle(self, state: Literal["shown"]) -> None:
        def decide(_: tuple[Entry, ...], marks: tuple[Mark, ...]) -> tuple[None, tuple[Mark, ...]]:
            self._refuse_late(marks)
            return None, (self._mark(state),)

        self._store.settle(self._key, decide)

    def _refuse_late(self, marks: tuple[Mark, ...]) -> None:
        """Raise if another run has used up the charges of this turn, with what it released if it has."""
        others = [mark for mark in marks if mark.turn == self._turn and mark.run != self._run]
        for mark in others:
            if mark.state == "released":
                raise Overtaken(load(mark.document))
        if any(mark.state == "shown" for mark in others):
            raise LedgerError(LATE)

    def _mark(self, state: Literal["charged", "shown", "released"], document: str = "") -> Mark:
        return Mark(self._key, state, self._turn, self._run, document)

    def __reduce__(self) -> tuple[Any, ...]:
        raise LedgerError("A run's view of a ledger belongs to that run. Hint: keep the ledger itself.")


def _same(charged: Mark, mark: Mark) -> bool:
    return (charged.state, charged.turn, charged.document) == (mark.state, mark.turn, mark.document)


def reading_of(attempt: Any, budget: Budget, shown: bool = False) -> Reading:
    """How far a run gets with its rows: the attempt's own record, or a new one; `shown` if it calls back as it runs."""
    return attempt.reading if isinstance(attempt, Attempt) else Reading(budget, shown=shown)
