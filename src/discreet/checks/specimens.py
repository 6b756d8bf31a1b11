"""What checks are tried on: every estimator and statistic there is, and rows ordinary, extreme and hostile."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.curator.procedures import Inside
from discreet.engines import BaseRows
from discreet.engines.memory import Memory
from discreet.query import Batch, BoundedSum, Exact, Image, Together
from discreet.release import Release

WIDTH = 3
Data = tuple[NDArray[Any], NDArray[Any]]


def private_estimators() -> dict[str, Any]:
    """Every private estimator of discreet, ready to fit on the checks' data."""
    from sklearn.base import MetaEstimatorMixin

    from discreet import models
    from discreet.models.shared.estimator import PrivateEstimator

    found = {}
    for name in models.__all__:
        cls = getattr(models, name)
        concrete = isinstance(cls, type) and issubclass(cls, PrivateEstimator) and not inspect.isabstract(cls)
        if concrete and not issubclass(cls, MetaEstimatorMixin):  # those are checked through what they are given
            found[name] = prepared(cls())
    return found


def private_searches() -> dict[str, Any]:
    """A search by each strategy, for each kind of promise."""
    from discreet import models

    line, classes = models.Ridge(1.0, 1e-6), models.LogisticRegression(1.0, 1e-6)
    penalties, intercepts = {"alpha": [1.0, 10.0]}, {"fit_intercept": [True, False]}
    public = np.linspace(-1.0, 1.0, 60).reshape(20, WIDTH), np.linspace(-1.0, 1.0, 20)

    def search(estimator: Any, grid: Any, delta: float = 1e-6, **options: Any) -> Any:
        return models.PrivateSearchCV(prepared(estimator), grid, epsilon=1.0, delta=delta, **options)

    return {
        "subsets": search(line, penalties),
        "subsets, classes": search(classes, intercepts),
        "subsets, pure": search(line, penalties, 0.0),
        "subsets, refit": search(line, penalties, refit=0.3),
        "subsets, lots": search(models.SGDClassifier(1.0, 1e-6, epochs=2), {"loss": ["log", "hinge"]}),
        "repeats": search(line, penalties, strategy="repeats", trials=3),
        "repeats, pure": search(line, penalties, 0.0, strategy="repeats", trials=3),
        "public": search(line, penalties, strategy="public", public=public),
    }


def private_statistics() -> dict[str, Callable[..., Release]]:
    """Every statistic of discreet, as a function of a column and options; but not those made of functions."""
    from discreet import stats

    found = {name: getattr(stats, name) for name in stats.__all__}
    return {name: _with_bounds(statistic) for name, statistic in found.items() if inspect.isfunction(statistic)}


def private_procedures() -> dict[str, type[Inside]]:
    """Every procedure of discreet that runs inside a curator; those that others are made of are none themselves."""
    from discreet import models, stats  # noqa: F401, as procedures are known once they are imported

    kinds = [kind for kind in _below(Inside) if kind.__module__.partition(".")[0] == "discreet"]
    return {kind.__name__: kind for kind in kinds if not inspect.isabstract(kind)}


def _below(kind: type[Any]) -> Iterator[type[Inside]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _with_bounds(statistic: Callable[..., Release]) -> Callable[..., Release]:
    def call(x: Any, **options: Any) -> Release:
        public = {"bounds": (-1.0, 1.0), "cells": 64}
        options = {key: public[key] for key in public if key in inspect.signature(statistic).parameters} | options
        return statistic(x, **options)

    call.__name__ = statistic.__name__
    return call


def prepared(estimator: Any) -> Any:
    """A copy with bounds for the checks' data, if it has none."""
    from sklearn.base import clone

    estimator = clone(estimator)
    if estimator.bounds is None:
        public: dict[str, Any] = {"classes": ("a", "b")} if hasattr(estimator, "classes") else {"target": (-1.0, 1.0)}
        estimator.set_params(bounds=Bounds([-1.0] * WIDTH, [1.0] * WIDTH, **public))
    return estimator


class Asked:
    """A statistic in an estimator's clothes, so that one set of checks serves both."""

    supervised = False

    def __init__(self, statistic: Callable[..., Release], **options: Any) -> None:
        self.statistic = statistic
        self.options: dict[str, Any] = {"epsilon": 1.0, "ledger": None, "random_state": None} | options

    epsilon = property(lambda self: self.options["epsilon"])
    delta = property(lambda self: self.options.get("delta", 0.0))
    neighbours = property(lambda self: self.options.get("neighbours", "add-remove"))
    bounds = Bounds([-1.0], [1.0])

    def set_params(self, **options: Any) -> Asked:
        """Change options."""
        self.options |= options
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options, and the statistic."""
        return {"statistic": self.statistic, **self.options}

    def fit(self, X: Any, y: Any = None) -> Asked:
        """Ask the statistic of the first column."""
        self.release_ = self.statistic(X[:, 0] if isinstance(X, np.ndarray) else X, **self.options)
        return self


def ordinary(estimator: Any, n: int = 211) -> Data:
    """Rows as the estimator expects them."""
    rng = np.random.default_rng(n)
    width = estimator.bounds.width or WIDTH
    return rng.uniform(-1, 1, (n, width)), _targets(estimator, rng, n)


def _targets(estimator: Any, rng: np.random.Generator, n: int) -> NDArray[Any]:
    if estimator.bounds.classes:
        return np.asarray(rng.choice(np.array(estimator.bounds.classes), n))
    return rng.uniform(-1, 1, n)


def extremes(estimator: Any) -> Iterator[Data]:
    """No row, one row, ordinary rows, tiny ones, huge ones, missing ones."""
    for n in (0, 1, 211):
        yield ordinary(estimator, n)
    X, y = ordinary(estimator)
    yield X * 1e-9, y
    yield X * 1e300, y
    yield np.where(np.arange(len(X))[:, None] % 3 == 0, np.nan, X), y
    yield np.full_like(X, np.inf), y


@dataclass(frozen=True)
class Table:
    """Rows and targets; and whose each row is, where it does not stand for itself."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    units: NDArray[Any] | None = None

    def with_row(self, row: NDArray[np.float64], target: Any, many: int) -> Table:
        """The same with so many rows more, all alike, and of one unit."""
        y = np.append(self.y, np.full(many, target, self.y.dtype))
        units = None if self.units is None else np.append(self.units, np.full(many, "stranger", object))
        return Table(np.vstack([self.X, np.tile(row, (many, 1))]), y, units)

    def head(self, n: int) -> Table:
        """The first rows."""
        return Table(self.X[:n], self.y[:n], None if self.units is None else self.units[:n])

    def rows(self, estimator: Any) -> Memory:
        """The rows behind an engine, as the estimator expects them."""
        if isinstance(estimator, Asked):
            return Memory(self.X[:, :1], unit=self.units)
        if not getattr(estimator, "supervised", True):
            return Memory(self.X, unit=self.units)
        return Memory(self.X, self.y, labels=hasattr(estimator, "classes"), unit=self.units)


def neighbours_of(estimator: Any, many: int | None = None) -> Iterator[tuple[Table, dict[str, Table]]]:
    """Tables of no row, one row and ordinary rows; each with neighbours, which have a row of a stranger more.

    Where rows are exchanged, the stranger takes the place of the last row. With `many` rows a stranger is a unit.
    """
    X, y = ordinary(estimator, 41)
    units = None if many is None else np.array([f"unit {i % 7}" for i in range(41)], dtype=object)
    table = Table(X, y.astype(object) if hasattr(estimator, "classes") else y, units)
    found = list(strangers(estimator))
    exchange = getattr(estimator, "neighbours", "add-remove") == "replace-one"
    for n, few in ((0, 3), (1, 1), (40, len(found))):
        first = table.head(n)
        others = {name: first.with_row(row, target, many or 1) for name, row, target in found[-few:]}
        yield first.with_row(*found[-1][1:], many=1) if exchange else first, others


def strangers(estimator: Any) -> Iterator[tuple[str, NDArray[np.float64], Any]]:
    """Rows that move an answer as far as it may be moved, and rows that break careless code, each with a target."""
    width = estimator.bounds.width or WIDTH
    signs = np.where(np.arange(width) % 2 == 0, 1.0, -1.0)
    low, high = (estimator.bounds.classes or (-1.0, 1.0))[:2]
    yield "an unknown target", np.ones(width), "unknown" if estimator.bounds.classes else 1e300
    yield "not a number", np.where(signs > 0, np.nan, 1.0), high
    yield "infinity", np.inf * signs, low
    yield "1e300", 1e300 * signs, high
    yield "beyond the bounds", 40.0 * signs, low
    yield "another corner", signs, low
    yield "the opposite corner", -np.ones(width), low
    yield "a corner", np.ones(width), high


def hostile(width: int) -> Iterator[NDArray[np.float64]]:
    """Rows that break careless code."""
    for value in (np.inf, -np.inf, np.nan, 1e308, -1e308, 1e6, -3.0, 5e-324, -0.0, 1.0, -1.0, 1 + 2**-52):
        yield np.full((1, width), value)
        row = np.zeros((1, width))
        row[0, -1] = value
        yield row


class Spy(BaseRows):
    """Rows that remember what was asked of them."""

    def __init__(self, rows: Memory, watch: Callable[[], Any]) -> None:
        self._rows, self._watch = rows, watch
        self.width, self.columns, self.unit = rows.width, rows.columns, rows.unit
        self.queries: list[Any] = []
        self.watched: list[Any] = []
        self.whole: list[int] = []  # how many rows there were, where they were read as they are
        self._images: tuple[Image, ...] = ()

    def make_empty_batch(self) -> Batch:
        """A batch without rows."""
        return self._rows.make_empty_batch()

    def count_replace_one(self) -> int:
        """The number of rows."""
        return self._rows.count_replace_one()

    def encode_targets(self, classes: Any) -> Spy:
        """The same rows with codes for targets, spied on too."""
        return self._spied(self._rows.encode_targets(classes))

    def map(self, image: Image, columns: Any = None) -> Spy:
        """Rows of features, spied on too: what is asked of them is noted as a question about these rows."""
        spy = self._spied(self._rows.map(image, columns))
        spy._images = (*self._images, image)
        return spy

    def count_labels(self) -> dict[Any, int]:
        """Counts of labels, noted."""
        self.watched.append(self._watch())
        return self._rows.count_labels()

    def assign_units(self, unit: str) -> Spy:
        """Rows of units, spied on too."""
        return self._spied(self._rows.assign_units(unit))

    def limit_rows_per_unit(self, limit: int, coins: Any) -> Spy:
        """At most so many rows of each unit, spied on too."""
        return self._spied(self._rows.limit_rows_per_unit(limit, coins))

    def share_within_units(self) -> Spy:
        """Rows that share what their unit may add, spied on too."""
        return self._spied(self._rows.share_within_units())

    def _spied(self, rows: Memory) -> Spy:
        spy = Spy(rows, self._watch)
        spy.queries, spy.watched, spy.whole, spy._images = self.queries, self.watched, self.whole, self._images
        return spy

    def sample(self, rate: float, coins: Any) -> Spy:
        """A sample, noted and spied on."""
        self.watched.append(self._watch())
        return self._spied(self._rows.sample(rate, coins))

    def split_into_blocks(self, count: int, coins: Any) -> Iterator[Spy]:
        """Blocks whose sums are noted too."""
        for block in self._rows.split_into_blocks(count, coins):
            yield self._spied(block)

    def count_arrays(self) -> int:
        """How many arrays hold the rows."""
        return self._rows.count_arrays()

    def read_arrays(self) -> tuple[NDArray[Any], ...]:
        """The rows as they are, noted."""
        self.watched.append(self._watch())
        tables = self._rows.read_arrays()
        self.whole.append(len(tables[0]))
        return tables

    def sum(self, query: BoundedSum | Together) -> Exact:
        """A sum, noted."""
        self.watched.append(self._watch())
        queries = query.queries if isinstance(query, Together) else (query,)
        self.queries += [Mapped(one, self._images) if self._images else one for one in queries]
        return self._rows.sum(query)


class Mapped:
    """A sum over features of rows, as a sum over those rows."""

    def __init__(self, query: BoundedSum, images: tuple[Image, ...]) -> None:
        self.query, self.images = query, images

    def __call__(self, batch: Batch) -> Any:
        """The total of a batch."""
        return self.query(self._mapped(batch))

    def read_widths(self, empty: Batch) -> tuple[int, int]:
        """The number of columns of each factor."""
        return self.query.read_widths(self._mapped(empty))

    def _mapped(self, batch: Batch) -> Batch:
        for image in self.images:
            with np.errstate(all="ignore"):
                batch = Batch(image(Batch(batch.X)), batch.y)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.query, name)


def rows_of(estimator: Any, data: Data, block: int | None = None) -> Any:
    """The data behind an engine, as the estimator expects them."""
    X, y = data
    if getattr(estimator, "supervised", True):
        return Memory(X, y, labels=hasattr(estimator, "classes"), block=block)
    return Spy(Memory(X[:, :1], block=block), lambda: None) if isinstance(estimator, Asked) else Memory(X, block=block)
