"""What every statistic shares: arguments in, a curator made, one release out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget, Neighbours, Part, Share
from discreet.curator import Curator, noise_source
from discreet.engines.memory import as_rows, is_rows
from discreet.engines.tables import plain
from discreet.ledger import Ledger, open_ledger
from discreet.query import Batch
from discreet.ranges import NOTE, with_bounds
from discreet.release import Release

Floats = NDArray[np.float64]
Range = tuple[float, float] | Bounds | None


class Options(TypedDict, total=False):
    """What every statistic takes besides its data and its budget.

    neighbours : "add-remove" (default) or "replace-one".
    n : the number of rows, if it is public and no value is missing; a share of the budget is spent on it otherwise.
    confidence : of the interval, 0.95 by default.
    ledger : the account to charge; one of its own if None.
    random_state : a seed for tests and studies; the release is then marked as not private.
    """

    neighbours: Neighbours
    n: int | None
    confidence: float
    ledger: Ledger | None
    random_state: Any


@dataclass(frozen=True)
class Question:
    """One question to one data set: the promise, the curator, and what is public."""

    curator: Curator
    budget: Budget
    n: int | None
    confidence: float

    @property
    def order(self) -> Any:
        """The norm to bound sums in: ℓ1 for Laplace noise, ℓ2 for Gaussian."""
        return 1 if self.budget.pure else 2

    def deal(self, bounds: Range, *parts: float | Part) -> tuple[Bounds, tuple[Share, ...], tuple[str, ...]]:
        """The bounds, given or paid for, a share for each part, and notes for the reader."""
        if bounds is not None:
            return self.public(bounds), self.budget.split(*parts), ()
        found, shares = with_bounds(self.curator, self.budget, parts, target=False)
        ranges = ", ".join(f"[{a:.6g}, {b:.6g}]" for a, b in zip(found.lower, found.upper, strict=True))
        clipped = f"the answer and its interval are of values clipped to {ranges}"
        return found, shares, (NOTE, clipped)

    def public(self, bounds: tuple[float, float] | Bounds) -> Bounds:
        """The bounds given, one pair per column."""
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
        whole = self.curator.summary(name, self.budget)
        confidence = None if interval is None else self.confidence
        return replace(whole, value=value, std=std, interval=interval, confidence=confidence, **more)


def ask(name: str, X: Any, epsilon: float, delta: float, options: Options, numeric: bool = True) -> Question:
    """Check the arguments and make the curator; nothing is charged and no value is read yet."""
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}.")
    budget = Budget(epsilon, delta, options.get("neighbours", "add-remove"))
    confidence = options.get("confidence", 0.95)
    if not 0 < confidence < 1:
        raise ValueError(f"The `confidence` of {name} must be within (0, 1). Got {confidence!r}.")
    rows = as_rows(X if is_rows(X) else as_table(X, numeric), numeric=numeric)
    n = options.get("n")
    if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0):
        raise ValueError(f"The `n` of {name} must be a whole number >= 0. Got {n!r}.")
    ledger = open_ledger(options.get("ledger"), budget)
    budget.warn_of_delta(rows.count_replace_one() if budget.neighbours == "replace-one" else n, stacklevel=4)
    return Question(Curator(rows, ledger, name, noise_source(options.get("random_state"))), budget, n, confidence)


def as_table(x: Any, numeric: bool = True) -> Any:
    """A single column as a table of one; tables as they are."""
    family = type(x).__module__.split(".")[0]
    if family in ("pandas", "polars") and hasattr(x, "to_frame"):
        return x.to_frame() if hasattr(x, "dtype") else x
    if isinstance(x, np.ndarray) or hasattr(x, "columns"):
        return x[:, None] if isinstance(x, np.ndarray) and x.ndim == 1 else x
    array = plain(x, "x", numeric)
    return array[:, None] if array.ndim == 1 else array


def present(rows: Batch) -> NDArray[np.int64]:
    """Cell 0 for a row that counts, -1 for one with a missing value."""
    there = np.isfinite(rows.X) if rows.X.dtype.kind == "f" else ~_MISSING(rows.X).astype(bool)
    return np.where(there.all(axis=1), 0, -1)


def _missing(value: Any) -> bool:
    # None, pandas' NA, NaN and NaT; infinity too, as in columns of numbers
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and not np.isfinite(value)


_MISSING = np.frompyfunc(_missing, 1, 1)
