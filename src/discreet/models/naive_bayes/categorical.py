"""CategoricalNB and MixedNB (CL6): counts of each value in each class; numbers in bins, or taken to be normal."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.budget import Budget, Part, counts
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.engines.opening import as_memory_rows
from discreet.engines.tables import split_column
from discreet.models.naive_bayes.base import LEAST, NaiveBayes
from discreet.models.naive_bayes.columns import (
    Cells,
    Edges,
    Lists,
    Places,
    SomeMoments,
    lists_of,
    place_edges,
    refuse_edges,
    some_bounds,
    whole_edges,
)
from discreet.models.naive_bayes.gaussian import log_normal, solve_moments
from discreet.models.naive_bayes.sums import ClassSums
from discreet.models.shared.bins import FINE, find_edges
from discreet.models.shared.classifier import as_array
from discreet.models.shared.parameters import estimator
from discreet.query import Batch

Floats = NDArray[np.float64]
Numbers = Literal["histogram", "gaussian"]

FOR_BINS = 0.1  # of what the model may spend, where bins are found
BINS = 10


@estimator
class TableNB(NaiveBayes):
    """Naive Bayes by how many rows of each class hold each value."""

    categories: Any = None
    categories_: Lists = field(init=False)
    feature_log_prob_: list[Floats] = field(init=False)

    @property
    def numeric(self) -> bool:  # type: ignore[override]
        """Whether all features are numbers."""
        return self.categories is None

    def _collect_facts(self, rows: Rows, budget: Budget) -> dict[str, Any]:
        self.categories_ = lists_of(type(self).__name__, self.categories, rows.width, rows.columns)
        public = super()._collect_facts(rows, budget)
        if public["bounds"] is None and None not in self.categories_:  # there is nothing to be found
            public["bounds"] = Bounds(*zip(*map(_range, self.categories_), strict=True))
        return public

    def _check_bounds(self, rows: Rows) -> Bounds:
        """Bounds of all columns; by their names, those of numbers are enough."""
        given, names = self.bounds, rows.columns
        if not isinstance(given, Bounds) or given.columns is None or names is None:
            return super()._check_bounds(rows)
        ranges = dict(zip(given.columns, zip(given.lower.tolist(), given.upper.tolist(), strict=True), strict=True))
        known = {name: _range(one) for name, one in zip(names, self.categories_, strict=True) if one is not None}
        return Bounds(ranges | known, target=given.target, classes=given.classes).matched(rows.width, names)

    @abstractmethod
    def _in_bins(self) -> list[int]:
        """The columns whose bins are to be found."""

    def _bin_count(self) -> int:
        """At most so many bins of each of them."""
        return 1

    def _plain(self) -> list[int]:
        """The columns of numbers."""
        return [j for j, known in enumerate(self.categories_) if known is None]

    def _as_normal(self) -> list[int]:
        """The columns whose numbers are taken to be normal in each class."""
        return []

    @abstractmethod
    def _edges(self, column: int, bounds: Bounds) -> Edges:
        """The edges of a column whose bins need not be found."""

    def _fit(self, task: Task) -> None:
        if not self.numeric:
            task.curator.map(Places(self.categories_))
        normal, binned = self._as_normal(), self._in_bins()
        tabled = [j for j in range(task.curator.width) if j not in normal]
        bounds, shares = task.deal(*price_parts(len(tabled), len(normal), bool(binned), task.budget.pure))
        assert bounds.classes is not None
        classes, pure = len(bounds.classes), task.budget.pure

        # BOUND: values by their cells, which are public or found first; other numbers as moments
        found = find_edges(task.curator, shares[-1], bounds, binned, self._bin_count()) if binned else []
        known = dict(zip(binned, (tuple(one.tolist()) for one in found), strict=True))
        edges = tuple(known[j] if j in known else self._edges(j, bounds) for j in tabled)
        cells, moments = Cells(tuple(tabled), edges), SomeMoments.of(bounds, normal)

        # SUMMARISE: both for each class, in one reading
        public = [len(one) + 2 for j, one in zip(tabled, edges, strict=True) if j not in known]
        most = max(self._bin_count() + 1, *public, 0)  # public, as the number of bins that are found is not
        queries = [cells.count_by_class(classes, most, self._plain(), pure)] if tabled else []
        queries += [moments.sum_by_class(classes, pure)] if normal else []

        # PRIVATISE: shares in proportion to the norms are one release with the norm of both
        noisy = task.curator.measure_together(
            *((one, share, None) for one, share in zip(queries, shares, strict=False))
        )

        # SOLVE
        totals, stds = tuple(np.asarray(one.value) for one in noisy), tuple(float(one.std) for one in noisy)
        self._accept(ClassSums(bounds, (self.categories_, cells.columns, edges, tuple(normal)), totals, stds))

    def _accept(self, statistics: ClassSums) -> None:
        self.statistics_, self.classes_ = statistics, as_array(statistics.bounds.classes or ())
        self.categories_ = statistics.layout[0]
        cells, normal, k = *_layout(statistics), len(self.classes_)
        tables = cells.tables(statistics.totals[0], k) if cells.columns else []
        moments, noise = (statistics.totals[-1], statistics.stds[-1]) if normal else (np.zeros((k, 1)), 0.0)
        said = [(table.sum(axis=1), table.shape[1] * statistics.stds[0] ** 2) for table in tables]
        said += [(moments[:, 0], noise**2)] if normal else []
        weights = [1 / max(variance, 1e-300) for _, variance in said]
        self._accept_counts(np.average([count for count, _ in said], axis=0, weights=weights))
        self.feature_log_prob_ = [_log_shares(table, self.class_count_) for table in tables]
        self._moments = solve_moments(moments, noise)

    def _likelihood(self, X: Any) -> Floats:
        rows, (cells, normal) = self._numbers_of(X), _layout(self.statistics_)
        total = np.zeros((len(rows), len(self.classes_)))
        if cells.columns:
            for codes, logs in zip(cells.codes(rows).T, self.feature_log_prob_, strict=True):
                total += logs.T[codes]
        if normal:
            z = some_bounds(self.bounds_, normal).scale(rows[:, list(normal)])
            total += log_normal(z, *self._moments)
        return total

    def _numbers_of(self, X: Any) -> Floats:
        """Rows to predict for, with categories as their places."""
        if all(known is None for known in self.categories_):
            return np.asarray(self._check_rows(X), np.float64)
        if isinstance(self.unit, str) and self.unit in getattr(X, "columns", ()):
            X, _ = split_column(X, self.unit)
        rows = as_memory_rows(X, numeric=False)
        validate_data(self, X, reset=False, skip_check_array=True)
        return Places(self.categories_)(Batch(rows.read_features()))


def price_parts(tabled: int, normal: int, searched: bool, pure: bool) -> list[Part]:
    """The parts of the plan: cells and moments in proportion to their norms (squared, for Gaussian noise), and bins."""
    norm = 1.5 * normal + 1 if pure else 1.25 * normal + 1
    parts = ([counts(tabled)] if tabled else []) + ([Part(norm)] if normal else [])
    total = tabled + (norm if normal else 0.0)
    return [*parts, counts(total * FOR_BINS / (1 - FOR_BINS))] if searched else parts


def _layout(statistics: ClassSums) -> tuple[Cells, tuple[int, ...]]:
    """Which columns are counted by cells, and which are taken to be normal."""
    _, columns, edges, normal = statistics.layout
    return Cells(columns, edges), normal


def _range(known: tuple[Any, ...] | None) -> tuple[float, float]:
    """The places of a list."""
    return 0.0, float(max(1, len(known or ()) - 1))


def _log_shares(table: Floats, count: Floats) -> Floats:
    """The log probability of each cell in each class; a missing value says nothing.

    Cells add up to the count of the class, which is known better than each of them, and none holds more.
    """
    apart = (count - table.sum(axis=1)) / table.shape[1]
    present = np.clip(table[:, :-1] + apart[:, None], LEAST, count[:, None])
    return np.column_stack([np.log(present / present.sum(axis=1, keepdims=True)), np.zeros(len(table))])


@estimator
class CategoricalNB(TableNB):
    """Naive Bayes of categories, with differential privacy.

    A row adds one to a cell of each of d tables, class by value: one release of the ℓ2 norm √d (under pure ε, of whole
    noise for the ℓ1 norm d). Cells are counted as at least one row, also where the noise says less.

    Parameters
    ----------
    epsilon, delta : the promise. With delta = 0 it is the pure one.
    categories : the values that each column may have, public: one list per column, or a dictionary of column -> list.
        If None, columns are whole numbers within the bounds.
    neighbours, unit, n, bounds, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    feature_log_prob_ : for each column the log probability of each value in each class; zeros last, for missing ones.
    class_count_, class_log_prior_, classes_, statistics_, bounds_, release_ : as in `GaussianNB`.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are.

    | data | what comes out |
    | --- | --- |
    | no rows, a class without any | finite probabilities |
    | a category that is missing, or not in the list | says nothing; the other columns of its row count |
    | a row of another class, or with a number that is missing | counts for nothing |
    | numbers between whole numbers, or beyond the bounds | count as the nearest |

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["ill", "well"], 4000)
    >>> smokes = np.where(rng.random(4000) < np.where(y == "ill", 0.8, 0.3), "yes", "no")
    >>> model = CategoricalNB(1.0, 1e-6, categories=[["yes", "no"]], classes=("ill", "well")).fit(smokes[:, None], y)
    >>> bool(abs(np.exp(model.feature_log_prob_[0][0, 0]) - 0.8) < 0.05)
    True
    """

    def _in_bins(self) -> list[int]:
        return []

    def _edges(self, column: int, bounds: Bounds) -> Edges:
        known = self.categories_[column]
        return place_edges(known) if known is not None else whole_edges(bounds.lower[column], bounds.upper[column])


@estimator
class MixedNB(TableNB):
    """Naive Bayes of numbers and categories, with differential privacy.

    Numbers are counted in bins that hold about as many rows each, found first with a tenth of the budget; or they are
    taken to be normal in each class, as in `GaussianNB`, which is better where they are, and needs no bins.

    Parameters
    ----------
    epsilon, delta : the promise. With delta = 0 it is the pure one.
    categories : the values that columns of categories may have, public: one list, or None for numbers, per column; or a
        dictionary of column -> list, which leaves numbers out. If None, all columns are numbers.
    numbers : "histogram" or "gaussian".
    n_bins : at most so many bins of a column.
    edges : the inner edges of the bins, if these are public: one increasing list per column, None for other columns.
    bounds : of the numbers; those of categories may be left out if it names columns.
    neighbours, unit, n, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    feature_log_prob_ : for each column of cells the log probability of each in each class; zeros last, for missing.
    edges_ : the inner edges of the bins of each column; None for others.
    class_count_, class_log_prior_, classes_, statistics_, bounds_, release_ : as in `GaussianNB`.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are; bins and
    counts are one plan.

    | data | what comes out |
    | --- | --- |
    | no rows, a class without any | finite probabilities |
    | a category that is missing, or not in the list | says nothing; the other columns of its row count |
    | a row of another class, or with a number that is missing | counts for nothing |
    | a number that is missing in a row to predict | says nothing of that row |

    Examples
    --------
    >>> import numpy as np, pandas as pd, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["ill", "well"], 4000)
    >>> smokes = np.where(rng.random(4000) < np.where(y == "ill", 0.8, 0.3), "yes", "no")
    >>> table = pd.DataFrame({"age": rng.normal(40, 10, 4000) + 20 * (y == "ill"), "smokes": smokes})
    >>> bounds = dc.Bounds({"age": (0, 100)}, classes=("ill", "well"))
    >>> MixedNB(1.0, 1e-6, categories={"smokes": ["yes", "no"]}, bounds=bounds).fit(table, y).score(table, y) > 0.8
    True
    """

    sharpest: ClassVar[dict[str, Any]] = {"edges": ((0.0,),) * 3}  # bins that are found are not where they were before

    numbers: Numbers = "histogram"
    n_bins: int = BINS
    edges: Sequence[Sequence[float] | None] | None = None
    edges_: list[Edges | None] = field(init=False)

    def _read_budget(self) -> Budget:
        budget = super()._read_budget()
        if self.numbers not in get_args(Numbers):
            raise ValueError(f"The `numbers` of MixedNB are 'histogram' or 'gaussian'. Got {self.numbers!r}.")
        check_whole("MixedNB", "n_bins", self.n_bins, 2, FINE)
        for one in self.edges or ():
            refuse_edges(one)
        return budget

    def _collect_facts(self, rows: Rows, budget: Budget) -> dict[str, Any]:
        if self.edges is not None and len(self.edges) != rows.width:
            raise ValueError(f"The `edges` of MixedNB must be one list, or None, for each of {rows.width} columns.")
        return super()._collect_facts(rows, budget)

    def _bin_count(self) -> int:
        return self.n_bins

    def _as_normal(self) -> list[int]:
        return self._plain() if self.numbers == "gaussian" else []

    def _in_bins(self) -> list[int]:
        given = self.edges or [None] * len(self.categories_)
        return [j for j in self._plain() if given[j] is None] if self.numbers == "histogram" else []

    def _edges(self, column: int, bounds: Bounds) -> Edges:
        known = self.categories_[column]
        return place_edges(known) if known is not None else tuple(map(float, (self.edges or ())[column] or ()))

    def _accept(self, statistics: ClassSums) -> None:
        super()._accept(statistics)
        cells, _ = _layout(statistics)
        by_column = dict(zip(cells.columns, cells.edges, strict=True))
        self.edges_ = [by_column.get(j) if known is None else None for j, known in enumerate(self.categories_)]

    def _found(self) -> dict[str, Any]:
        return super()._found() | ({"edges": self.edges_} if self.numbers == "histogram" else {})
