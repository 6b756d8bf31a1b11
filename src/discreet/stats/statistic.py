"""Steps that all statistics share: check the arguments, open a private run, and return one release."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import noise_multiplier
from discreet.arguments import is_number
from discreet.bounds import Bounds
from discreet.budget import Budget, Neighbours, Part, Share, check_unit
from discreet.curator import Bound, Curator
from discreet.curator.session import open_task, public_count, refuse_count, run_once
from discreet.curator.task import Task
from discreet.engines.opening import as_rows, is_lazy, is_rows
from discreet.engines.tables import as_column
from discreet.errors import ReadError
from discreet.labels import unit_name
from discreet.ledger import Ledger, open_ledger
from discreet.ledger.retrying import Attempt, Retrying
from discreet.query import Batch
from discreet.release import Release

Floats = NDArray[np.float64]
Range = tuple[float, float] | Bounds | None
P = ParamSpec("P")
T = TypeVar("T")


class Options(TypedDict, total=False):
    """Options that every statistic takes besides its data and its budget.

    neighbours : "add-remove" (default) or "replace-one".
    unit : who is protected, with all their rows: the name of a column of x, or an array; None for single rows.
    max_rows_per_unit : the most rows of a unit that are read. With None all are read, and a unit counts as one row: by
        the mean of its rows, or in a `sum` by their sum, clipped as a whole.
    n : the number of rows, if it is public and no value is missing; otherwise a share of the budget is spent on it.
    confidence : the confidence of the interval, 0.95 by default; None for no interval, where it would cost (quantiles).
    ledger : the account to charge; a new one if None.
    random_state : a seed for tests and studies; the release is then marked as not private.
    """

    neighbours: Neighbours
    unit: Any
    max_rows_per_unit: int | None
    n: int | None
    confidence: float | None
    ledger: Ledger | None
    random_state: Any


@dataclass(frozen=True)
class Question:
    """One question to one data set: its task, and the confidence of its interval."""

    task: Task
    confidence: float

    @property
    def curator(self) -> Curator:
        """The curator that answers."""
        return self.task.curator

    @property
    def budget(self) -> Budget:
        """The budget of this question."""
        return self.task.budget

    @property
    def n(self) -> int | None:
        """The number of rows, if it is public."""
        return self.task.n

    @property
    def order(self) -> Any:
        """The norm that bounds sums: ℓ1 for Laplace noise, ℓ2 for Gaussian noise."""
        return 1 if self.budget.pure else 2

    def deal(self, bounds: Range, *parts: float | Part) -> tuple[Bounds, tuple[Share, ...]]:
        """The bounds, given or estimated privately, and a share of the budget for each part."""
        if bounds is not None:
            return replace(self.task, bounds=self.read_bounds(bounds)).deal(*parts)
        found, shares = self.task.deal(*parts)
        ranges = ", ".join(f"[{a:.6g}, {b:.6g}]" for a, b in zip(found.lower, found.upper, strict=True))
        self.task.note(f"the answer and its interval are of values clipped to {ranges}")
        return found, shares

    def read_bounds(self, bounds: tuple[float, float] | Bounds) -> Bounds:
        """The given bounds, one pair per column."""
        if not isinstance(bounds, Bounds):
            try:
                low, high = bounds
            except (TypeError, ValueError):
                raise ValueError(
                    "`bounds` must be (low, high), or discreet.Bounds, or None to estimate them."
                ) from None
            bounds = Bounds(low, high)
        return bounds.matched(self.curator.width, self.curator.columns)

    def answer(self, name: str, value: Any, std: Any, interval: Any = None, **more: Any) -> Release:
        """The release of this question."""
        confidence = None if interval is None else self.confidence
        return replace(self.task.receipt(name), value=value, std=std, interval=interval, confidence=confidence, **more)


def ask(
    name: str,
    X: Any,
    epsilon: float,
    delta: float,
    options: Options,
    numeric: bool = True,
    wider: Callable[[int], float] | float = math.inf,
) -> Question:
    """Check the arguments and make the curator; nothing is charged and no value is read yet.

    `wider` is the ratio of the ℓ1 sensitivity to the ℓ2 sensitivity, if it is public beforehand: a number, or a
    function of the number of columns. It is infinite if it is unknown or the budget is split; then the guarantee asked
    for is kept.
    """
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}.")
    unit, limit, n = options.get("unit"), options.get("max_rows_per_unit"), options.get("n")
    budget = Budget(epsilon, delta, options.get("neighbours", "add-remove"), unit_name(unit))
    check_unit(name, budget, unit, limit, n)
    confidence = options.get("confidence", 0.95)
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ValueError(f"The `confidence` of {name} must be a number within (0, 1). Got {confidence!r}.")
    rows = as_rows(X if is_rows(X) or is_lazy(X) else as_table(X, numeric), numeric=numeric, unit=unit)
    refuse_count(name, n)
    budget = _choose_lighter_budget(budget, options, wider(rows.width) if callable(wider) else wider)
    ledger = open_ledger(options.get("ledger"), budget)
    budget.warn_of_delta(public_count(budget, rows, n))
    bound = None if unit is None else Bound(limit)
    task = open_task(name, rows, budget, ledger, bound=bound, random_state=options.get("random_state"), n=n)
    return Question(task, float(confidence))


def l1_factor_of_cells(options: Options) -> float:
    """The ratio of ℓ1 to ℓ2 sensitivity of counts: a replaced row leaves one cell and enters another."""
    return math.sqrt(2) if options.get("neighbours") == "replace-one" else 1.0


def _choose_lighter_budget(budget: Budget, options: Options, wider: float) -> Budget:
    """The budget with the pure guarantee of the same ε, which implies the (ε, δ) one, if that needs less noise.

    `wider` is the ratio of the ℓ1 sensitivity, for Laplace noise, to the ℓ2 sensitivity, for Gaussian noise. Noise is
    compared by its 95 % quantile. A given ledger keeps Gaussian noise, which composes better on a shared account.
    """
    if budget.pure or options.get("ledger") is not None or wider == math.inf:
        return budget
    laplace, gaussian = -math.log(0.05) / budget.epsilon, 1.96 * noise_multiplier(budget.epsilon, budget.delta)
    return replace(budget, delta=0.0) if laplace * wider < gaussian else budget


class Forgetting:
    """A context that drops an error's frames, with what was measured in them, if reading fails or is interrupted."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, (ReadError, KeyboardInterrupt)):
            raise error.with_traceback(None) from error.__cause__


def forget_on_failure(question: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function: if reading rows fails in it, the frames that hold measurements are dropped."""

    @wraps(question)
    def call_and_forget(*arguments: P.args, **options: P.kwargs) -> T:
        with Forgetting():
            return question(*arguments, **options)

    return call_and_forget


def allow_retry(statistic: Callable[P, Release]) -> Callable[P, Release]:
    """Decorate a statistic: under `ledger.retrying(version)` its release is stored, and a retry returns it."""
    signature = inspect.signature(statistic)

    @wraps(statistic)
    def ask_again(*arguments: P.args, **options: P.kwargs) -> Release:
        attempt = _open_attempt(statistic, options.get("ledger"), signature.bind(*arguments, **options))
        if attempt is not None:
            options["ledger"] = attempt
        with Forgetting():
            return run_once(attempt, lambda: statistic(*arguments, **options))

    return ask_again


def _open_attempt(statistic: Callable[..., Release], ledger: Any, bound: inspect.BoundArguments) -> Attempt | None:
    if not isinstance(ledger, Retrying):
        return None
    bound.apply_defaults()
    asked: dict[str, Any] = {**bound.arguments, **bound.arguments["options"]}
    del asked["options"]
    x = asked.pop(next(iter(asked)))
    unit = asked.get("unit")
    rows = _open_rows(x, unit)
    relation = asked.get("neighbours", "add-remove")
    return ledger.attempt(statistic, asked, rows, Budget(asked["epsilon"], asked["delta"], relation, unit_name(unit)))


def _open_rows(x: Any, unit: Any) -> Any:
    """The rows in any form that the statistic may need: as numbers where possible, which is faster to compare."""
    if is_rows(x) or is_lazy(x):
        return as_rows(x, numeric=False, unit=unit)
    try:
        return as_rows(as_table(x, False), unit=unit)
    except TypeError:
        return as_rows(as_table(x, False), numeric=False, unit=unit)


def as_table(x: Any, numeric: bool = True) -> Any:
    """A single column as a table with one column; tables as they are."""
    family = type(x).__module__.split(".")[0]
    if family in ("pandas", "polars") and hasattr(x, "to_frame"):
        return x.to_frame() if hasattr(x, "dtype") else x
    if isinstance(x, np.ndarray) or hasattr(x, "columns"):
        return x[:, None] if isinstance(x, np.ndarray) and x.ndim == 1 else x
    array = as_column(x, numeric)
    return array[:, None] if array.ndim == 1 else array


def mark_present(rows: Batch) -> NDArray[np.int64]:
    """Cell 0 for a row that counts, -1 for a row with a missing value."""
    there = np.isfinite(rows.X) if rows.X.dtype.kind == "f" else ~_MISSING(rows.X).astype(bool)
    return np.where(there.all(axis=1), 0, -1)


def _is_missing(value: Any) -> bool:
    # None, pandas' NA, NaN and NaT; infinity too, as in columns of numbers
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and not np.isfinite(value)


_MISSING = np.frompyfunc(_is_missing, 1, 1)
