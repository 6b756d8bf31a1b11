"""A tape of a private run: what each mechanism was given, the noise that it drew, and what it answered.

A run on one table is recorded; a run on a neighbouring table is given the recorded answers. Both then ask the same
questions, so the two runs differ in nothing but the exact totals that the mechanisms were given. The distance between
the totals, divided by the scale of the noise that was in fact drawn, is the privacy loss of each answer; composed, the
losses are what tells these two tables apart (`Tape.loss`).

Scales are read where the samplers draw, so noise that is smaller than its event says is seen.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import curves
from discreet.curator import Curator
from discreet.curator.procedures import Inside
from discreet.engines.memory import Memory
from discreet.events import (
    Approximate,
    Choice,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Repeated,
    Sampled,
    one_of,
)
from discreet.mechanisms import choose, gaussian, laplace, norm, points, samplers
from discreet.mechanisms.coins import Coins
from discreet.models.selection.renyi import Trial, epsilon_of
from discreet.models.selection.repeats import Repeats
from discreet.models.selection.trials import Law
from discreet.release import Release

BY_ANSWERS = "which questions are asked depends on the rows by more than the answers"
BY_ROWS = "the scale of the noise depends on the rows"
RELEASED = "what is released depends on the rows by more than the answers"

ADDITIVE = (gaussian.add_gaussian, laplace.add_laplace, laplace.add_discrete_laplace, norm.add_norm)
CHOICES = (choose.exponential, choose.permute_and_flip, choose.report_noisy_max, points.exponential_on_grid)
CHOOSING = {function.__name__ for function in CHOICES}
# where the scale of a draw can be seen, below all that decides on it: module, function, place of the argument
SCALES = (
    (samplers, "_plan", 1),
    (norm, "_magnitudes", 2),
    (choose, "floats", 1),
    (choose, "coins", 1),
    (points, "floats", 1),
)


@dataclass(frozen=True)
class Lots:
    """Lots of one plan: what is answered on one of them is one sampled event."""

    rate: float
    rounds: int
    number: int  # of the plan, among those of a run

    def compose(self, lots: Sequence[tuple[Event, ...]], group: int) -> Event:
        """All rounds, each as the lot in which the tables differ most: from others the coin left the unit out."""
        worst = max(lots, key=lambda events: curves.mu(Composed(events)))
        return Repeated(Sampled(self.rate, Composed(worst)), self.rounds)


@dataclass(frozen=True)
class Trials:
    """Trials of a repeated search, of which the best one leaves (`mechanisms/proofs/selection.md`)."""

    law: Law
    delta: float  # of what one row is promised
    number: int  # of the search, among those of a run

    def compose(self, trials: Sequence[tuple[Event, ...]], group: int) -> Event:
        """The best of a random number of them, for one of `group` rows by which the tables differ; then for all."""
        each = Trial(tuple(one_of(Composed(trial), group) for trial in trials))
        epsilon = epsilon_of(each, self.law, self.delta)
        if not self.delta:
            return Pure(group * epsilon)
        more = math.expm1(group * epsilon) / math.expm1(epsilon)  # 1 + e^ε + … + e^((k - 1)ε): proofs/units.md
        return Approximate(group * epsilon, self.delta * more)


Place = tuple[tuple[Lots | Trials, int], ...]  # of an answer: on which lot, in which trial; () for neither


@dataclass(frozen=True)
class Call:
    """One answer: of which mechanism, to what exact numbers, with noise of which scales, and where.

    `charged` is the event of a procedure that is not replayed: its loss is taken to be that where any of the totals
    that it read, which are what it was given, differ.
    """

    name: str
    given: NDArray[Any]
    answer: Any
    place: Place
    scales: tuple[Fraction, ...] = ()
    symmetric: bool = False
    charged: Event | None = None

    def check_alike(self, other: Call) -> None:
        """Raise if the other is not the same question, answered with the same noise."""
        asked = [(call.name, call.place, call.symmetric) for call in (self, other)]
        assert asked[0] == asked[1], BY_ANSWERS
        assert self.charged is not None or self.given.shape == other.given.shape, BY_ANSWERS
        assert (self.scales, self.charged) == (other.scales, other.charged), BY_ROWS

    def loss(self, other: Call) -> Event | None:
        """What tells two tables apart in this answer, as an event; None where nothing does."""
        if np.array_equal(self.given, other.given):
            return None
        if self.charged is not None:
            return self.charged
        if self.name == "exponential_on_grid":
            moved = _on_all_points(other.given, self.given) - _on_all_points(self.given, other.given)
        else:
            moved = np.asarray(other.given - self.given, dtype=object)
        if self.name in CHOOSING:
            spread = float(self.scales[0] * (max(moved.ravel()) - min(moved.ravel())))
            rule: Any = "exponential" if self.name.startswith("exponential") else "permute-and-flip"
            return Choice(spread, rule) if spread else None
        steps = [float(entry / scale) for scale, part in self._parts(moved) for entry in map(Fraction, part)]
        if self.name == "add_gaussian":
            return Gaussian(1 / math.hypot(*steps))
        return Pure(math.hypot(*steps)) if self.name == "add_norm" else Laplace(1 / math.fsum(map(abs, steps)))

    def _parts(self, moved: NDArray[Any]) -> Iterator[tuple[Fraction, list[int]]]:
        """The entries that have noise of their own, by its scale."""
        if not self.symmetric:
            yield self.scales[0], [int(entry) for entry in moved.ravel()]
            return
        # off the diagonal the scale is smaller by √2, as such a pair of entries counts twice in a matrix's norm
        off, whole = (self.scales[0] / Fraction(math.sqrt(2)), self.scales[0]) if len(self.scales) == 1 else self.scales
        yield off, [int(entry) for entry in moved[np.triu_indices(len(moved), 1)]]
        yield whole, [int(entry) for entry in np.diag(moved)]


@dataclass
class Tape:
    """The answers of a run, in their order, and those of its replay.

    >>> from discreet import accounting, stats
    >>> tape = Tape()
    >>> with tape.recorded():
    ...     first = stats.count(np.ones((5, 1)), epsilon=0.5)
    >>> with tape.replayed():
    ...     second = stats.count(np.ones((6, 1)), epsilon=0.5)
    >>> bool(first.value == second.value), round(accounting.epsilon(tape.loss(), 0.0), 9)
    (True, 0.5)
    """

    calls: list[Call] = field(default_factory=list)
    again: list[Call] = field(default_factory=list)
    _coins: list[Coins] = field(default_factory=list)
    _left: list[Any] = field(default_factory=list)  # what was released, in the units of the data

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Within it, all that mechanisms answer is written down."""

        def answer(call: Call) -> Any:
            self.calls.append(call)
            return call.answer

        def keep(coins: Coins) -> Coins:
            self._coins.append(coins)
            return coins

        with _Hooks(answer, keep, self._left.append).set():
            yield

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """Within it, mechanisms answer as they did before, whatever they are given."""
        self.again, coins, left = [], iter(self._coins), iter(self._left)

        def answer(call: Call) -> Any:
            assert len(self.again) < len(self.calls), BY_ANSWERS
            past = self.calls[len(self.again)]
            past.check_alike(call)
            self.again.append(call)
            return past.answer

        def compare(released: Any) -> None:
            assert released == next(left, None), RELEASED

        with _Hooks(answer, lambda drawn: next(coins, drawn), compare).set():
            yield
        assert len(self.again) == len(self.calls), BY_ANSWERS

    def loss(self, group: int = 1) -> Event:
        """What tells the two tables apart, in all answers together, where they differ by at most `group` rows."""
        found: dict[Place, list[Event]] = defaultdict(list)
        for first, second in zip(self.calls, self.again, strict=True):
            event = first.loss(second)
            if event is not None:
                found[first.place].append(event)
        return Composed(_compose(found, group))


def _compose(found: dict[Place, list[Event]], group: int) -> tuple[Event, ...]:
    """Events outside lots and trials; and for all lots of a plan, or all trials of a search, one event."""
    scopes: dict[Lots | Trials, dict[int, dict[Place, list[Event]]]] = defaultdict(lambda: defaultdict(dict))
    for place, events in found.items():
        if place:
            (scope, index), *inner = place
            scopes[scope][index][tuple(inner)] = events
    composed = [
        scope.compose([_compose(part, group) for part in parts.values()], group) for scope, parts in scopes.items()
    ]
    return (*found.get((), ()), *composed)


class _Hooks:
    """Stands in for mechanisms and coins, and follows on which lot and in which trial they are asked.

    Parameters
    ----------
    answer : what to answer to a call.
    coins : which coins to use for those drawn.
    leave : is told of all that a curator releases.
    """

    def __init__(
        self, answer: Callable[[Call], Any], coins: Callable[[Coins], Coins], leave: Callable[[Any], None]
    ) -> None:
        self._answer, self._swap, self._leave = answer, coins, leave
        self._place: Place = ()
        self._plans: list[Any] = []
        self._searches = 0
        self._scales: list[Fraction] = []
        self._read: list[Any] | None = None  # in a procedure that is not replayed, the totals that it reads

    @contextmanager
    def set(self) -> Iterator[None]:
        """Within it, they stand in."""
        fresh = Coins.draw_key
        with ExitStack() as stack:
            for module, name, place in SCALES:
                stack.enter_context(patch.object(module, name, self._read_scale(getattr(module, name), place)))
            stack.enter_context(_replaced({function: self._answered(function) for function in (*ADDITIVE, *CHOICES)}))
            for owner, name, hook in (
                (Coins, "draw_key", lambda rng: self._swap(fresh(rng))),
                (Curator, "_answer", self._on_lot(Curator._answer)),
                (Curator, "choose", self._on_lot(Curator.choose)),
                (Curator, "run", self._on_lot(self._run(Curator.run))),
                (Curator, "_release", self._released(Curator._release)),
                (Memory, "sum", self._note_total(Memory.sum)),
                (Memory, "count_labels", self._note_total(Memory.count_labels)),
                (Memory, "read_arrays", self._note_total(Memory.read_arrays)),
                (Repeats, "run", self._search(Repeats.run)),
                (Repeats, "_trial", self._trial(Repeats._trial)),
            ):
                stack.enter_context(patch.object(owner, name, hook))
            yield

    def _read_scale(self, function: Callable[..., Any], place: int) -> Callable[..., Any]:
        def read(*arguments: Any, **options: Any) -> Any:
            scale = Fraction(arguments[place])
            if scale not in self._scales:  # a draw that is refined has the same scale again
                self._scales.append(scale)
            return function(*arguments, **options)

        return read

    def _answered(self, mechanism: Callable[..., Any]) -> Callable[..., Any]:
        def call(total: Any, *arguments: Any, **options: Any) -> Any:
            self._scales = []
            noisy = mechanism(total, *arguments, **options)
            if self._read is not None:
                return noisy
            given = np.array([int(entry) for entry in np.ravel(total)], dtype=object).reshape(np.shape(total))
            symmetric = bool(options.get("symmetric", False))
            return self._answer(Call(mechanism.__name__, given, noisy, self._place, tuple(self._scales), symmetric))

        return call

    def _on_lot(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(curator: Curator, *arguments: Any, **options: Any) -> Any:
            lot, before = curator._lot, self._place
            if lot is not None:
                if lot.plan not in self._plans:
                    self._plans.append(lot.plan)
                scope = Lots(lot.plan.rate, lot.plan.rounds, self._plans.index(lot.plan))
                self._place = (*before, (scope, lot.round))
            try:
                return method(curator, *arguments, **options)
            finally:
                self._place = before

        return ask

    def _run(self, method: Callable[..., Release]) -> Callable[..., Release]:
        def run(curator: Curator, inside: Inside, *shares: Any) -> Release:
            if inside.replayable or self._read is not None:
                return method(curator, inside, *shares)
            self._read = []
            try:
                release = method(curator, inside, *shares)
                read = np.array([str(total) for total in self._read], dtype=object)
            finally:
                self._read = None
            call = Call(inside.name, read, release.value, self._place, charged=release.event)
            curator.releases[-1] = replace(release, value=self._answer(call))
            return curator.releases[-1]

        return run

    def _released(self, method: Callable[..., Release]) -> Callable[..., Release]:
        def release(curator: Curator, name: str, value: Any, std: Any, *rest: Any) -> Release:
            if self._read is None:
                self._leave((name, _bits(value), _bits(std)))
            return method(curator, name, value, std, *rest)

        return release

    def _note_total(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def read(rows: Memory, *arguments: Any) -> Any:
            total = method(rows, *arguments)
            if self._read is not None:
                parts = total if isinstance(total, tuple) else (total,)  # all rows, and their targets
                self._read += [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]
            return total

        return read

    def _search(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(search: Repeats, *arguments: Any) -> Any:
            before = self._place
            self._place = (*before, (Trials(search.law, search.plan.delta, self._searches), 0))
            self._searches += 1
            try:
                return method(search, *arguments)
            finally:
                self._place = before

        return run

    def _trial(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(search: Repeats, *arguments: Any, **options: Any) -> Any:
            *outer, (scope, number) = self._place
            self._place = (*outer, (scope, number + 1))
            return method(search, *arguments, **options)

        return run


def _on_all_points(pieces: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """The scores that pieces of a grid give to every point at which either these or the others begin.

    Of pieces that begin together all but the last are empty; the last piece of all begins where the grid has ended.
    """
    starts = np.unique(np.concatenate([pieces[0], others[0]]).astype(np.int64))[:-1]
    place = np.searchsorted(pieces[0].astype(np.int64), starts, side="right")
    return np.asarray(pieces[1, place - 1])


def _bits(value: Any) -> Any:
    """Numbers bit for bit; of anything else, its kind."""
    if isinstance(value, (np.ndarray, np.number, int, float)) and np.asarray(value).dtype != object:
        return np.shape(value), np.asarray(value).tobytes()
    return type(value).__name__


@contextmanager
def _replaced(substitutes: dict[Callable[..., Any], Callable[..., Any]]) -> Iterator[None]:
    """Within it, all modules of the library that know one of the functions find its substitute in its place."""
    active = [True]

    def either(function: Callable[..., Any], substitute: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:  # a module imported meanwhile may keep it
            return (substitute if active[0] else function)(*arguments, **options)

        return call

    known = {id(function): either(function, substitute) for function, substitute in substitutes.items()}
    with ExitStack() as stack:
        for module in [one for name, one in list(sys.modules.items()) if name.partition(".")[0] == "discreet"]:
            for name, value in list(vars(module).items()):
                if id(value) in known:
                    stack.enter_context(patch.object(module, name, known[id(value)]))
        yield
        active[0] = False
