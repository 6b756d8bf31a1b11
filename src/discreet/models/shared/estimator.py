"""What every private estimator shares: rows in, a curator made, the rest never sees a row."""

from __future__ import annotations

import copy
import sys
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from discreet.bounds import Bounds
from discreet.budget import Budget, check_unit
from discreet.curator import Bound, Curator
from discreet.curator.session import open_task, public_count, refuse_count, run_once
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.engines.opening import as_rows, is_lazy, is_rows
from discreet.engines.tables import split_column
from discreet.errors import LeakWarning, NotSupported, outside
from discreet.labels import unit_name
from discreet.ledger import Detached, Ledger, open_ledger
from discreet.ledger.retrying import Attempt
from discreet.models.shared.attempts import RestoreOnError, begin_attempt, collect_fitted_state
from discreet.models.shared.parameters import SharedParameters
from discreet.preprocessing import leaks
from discreet.query import WIDEST
from discreet.release import Release

PRINTER = "sklearn.utils._pprint"
_FITTED_ON: WeakKeyDictionary[Any, weakref.ref[Any]] = WeakKeyDictionary()  # the table of the last fit, while it lives


class PrivateEstimator(BaseEstimator, SharedParameters, ABC):  # type: ignore[misc]
    """`fit` opens a task and hands `_fit` that, never the rows: what is not released cannot leak.

    Subclasses write `_fit(task)`, which reads BOUND, SUMMARISE, PRIVATISE, SOLVE and sets what was learnt. All share
    these parameters.

    Parameters
    ----------
    epsilon, delta : the promise; see `discreet.Budget`.
    neighbours : "add-remove" or "replace-one".
    unit : who is protected, all of whose rows together: the name of a column (it is no feature then), or an array with
        one name per row; None for single rows. With a unit, neighbours are "add-remove".
    max_rows_per_unit : read at most so many rows of a unit, chosen among its own by a keyed hash; noise grows in
        proportion. None: all are read, and share what one row may add, so that each unit counts once.
    n : the number of rows, if it is public knowledge; under "replace-one" it always is. Methods that need it pay for
        it otherwise; all warn if delta is not far below 1/n.
    bounds : `discreet.Bounds`, public; estimated privately with a fifth of the budget if None.
    ledger : the account to charge; one of its own, with just this budget, if None.
    random_state : None for private noise; a seed makes the run repeatable and *not private*.

    Attributes
    ----------
    release_ : what left, and what it cost.
    bounds_ : the bounds used.
    """

    release_: Release
    bounds_: Bounds
    supervised = True
    has_labels = False  # whether targets are classes
    numeric = True  # whether features are numbers
    in_rounds = False  # whether it learns in rounds that follow each other
    calls_by_task = False  # whether its `callback` is called as `task.showing(callback)`, which marks what it shows
    wider_hint = ""  # what else to do where there are too many columns
    outlook = ""  # what a failure to read means, where that is not what it means to a fit by itself
    _hides = False  # whether fits inside it are out of sight, whatever watches them

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn from the rows, privately.

        | rows | what happens |
        | --- | --- |
        | with NaN or infinity | count for nothing |
        | none at all | an answer, of noise alone |
        | outside the bounds | are clipped |

        Nothing is charged if the arguments are refused. A fit that fails changes nothing of this estimator; where it
        fails because rows could not be read (`ReadError`), `ledger.retrying(version)` lets it be run again unpaid. (A
        `NoiseWarning` that was made an error is raised once it has been fitted.)
        """
        with RestoreOnError(self) as before:
            rows, budget = self._learn_from(before, X, y, options)
        return self._finish_fit(X, rows, budget)

    def _learn_from(
        self, before: dict[str, Any], X: Any, y: Any, options: dict[str, Any], **stated: Any
    ) -> tuple[Rows, Budget]:
        """Learn from the rows, of which what is `stated` is public too; what was learnt stands in for what was before.

        Whoever calls sees to it that a failure changes nothing (`Undone`), and concludes.
        """
        self._refuse_arguments(options, y, is_rows(X))
        budget = self._read_budget()
        y_given = y if self.supervised else None
        rows = as_rows(X, y_given, numeric=self.numeric, labels=self.has_labels, unit=self.unit)
        if getattr(y, "shape", ())[1:] == (1,):
            column_or_1d(y, warn=True)
        if self.supervised and rows.make_empty_batch().y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed: these rows bring no target.")
        self._refuse_schema(rows, y)
        public = self._collect_facts(rows, budget) | stated
        account = open_ledger(self.ledger, budget)
        attempt = begin_attempt(self, account, budget, rows)
        self._remember_columns(X, rows)
        self._warn_before(budget, rows)
        try:
            found = run_once(attempt, lambda: self._run_task(rows, attempt or account, budget, public))
        except BaseException:
            del rows, X, y  # what was measured dies with them, and not with the traceback
            raise
        if attempt is not None:
            self._replace_state(before, found)
        return rows, budget

    def _finish_fit(self, X: Any, rows: Rows, budget: Budget) -> Self:
        """Warn of what was learnt, which is there to stay."""
        self._warn_after(budget, rows)
        self._remember_table(X)
        return self

    def _run_task(self, rows: Rows, account: Ledger, budget: Budget, public: dict[str, Any]) -> dict[str, Any]:
        """Charge, measure, solve; what was learnt."""
        bound = None if self.unit is None else Bound(self.max_rows_per_unit)
        task = open_task(
            type(self).__name__,
            rows,
            budget,
            account,
            bound=bound,
            random_state=self.random_state,
            shown=self._is_watched("callback"),
            outlook=self.outlook,
            settle=self._settle_bounds,
            **public,
        )
        try:
            self._fit(task)
        except BaseException:
            del task, rows
            raise
        self.release_ = task.receipt(type(self).__name__)
        return collect_fitted_state(self) if isinstance(account, Attempt) else {}

    def _collect_facts(self, rows: Rows, budget: Budget) -> dict[str, Any]:
        """What is public of the rows and of the question: what a task knows besides."""
        return {
            "bounds": None if self.bounds is None else self._check_bounds(rows),
            "n": public_count(budget, rows, self.n),
            "target": "number" if self.supervised else "none",
            "intercept": bool(getattr(self, "fit_intercept", True)),
        }

    def _settle_bounds(self, curator: Curator, bounds: Bounds) -> Bounds:
        """Keep the bounds, once they are known; what a method sees may be bounded otherwise."""
        self.bounds_ = bounds
        return bounds

    def _is_watched(self, by: str) -> bool:
        """Whether something is shown while it is fitted, by a `callback` or `progress`, its own or of one inside it."""
        own = {} if self._hides else self.get_params()
        return any(
            value is not None and value is not False for name, value in own.items() if name.split("__")[-1] == by
        )

    def _replace_state(self, before: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """The same estimator with what was learnt, and nothing of how."""
        self.__dict__.clear()
        self.__dict__.update(before | learnt)
        return self

    @property
    def _n_is_limit(self) -> bool:
        """Whether the promise is for data of at most `n` rows; elsewhere a wrong `n` costs accuracy, never privacy."""
        return False

    @abstractmethod
    def _fit(self, task: Task) -> None:
        """BOUND, SUMMARISE, PRIVATISE, SOLVE."""

    def _remember_columns(self, X: Any, rows: Rows) -> None:
        if not is_rows(X) and not is_lazy(X):
            validate_data(self, split_column(X, self.unit)[0], skip_check_array=True)
            return
        self.n_features_in_ = rows.width
        if rows.columns is not None:
            self.feature_names_in_ = np.array(rows.columns, dtype=object)

    def _check_rows(self, X: Any) -> Any:
        """Rows to predict for, as one dense array of numbers; the column of units may be there or not."""
        if is_rows(X) or is_lazy(X):
            raise TypeError(
                f"Predictions are made of rows in memory, not of a {type(X).__name__}. Hint: collect() them."
            )
        if isinstance(self.unit, str) and self.unit in getattr(X, "columns", ()):
            X, _ = split_column(X, self.unit)
        as_rows(X)  # errors that show no value
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False, accept_sparse="csr")
        return X.toarray() if hasattr(X, "toarray") else X

    def _refuse_arguments(self, options: dict[str, Any], y: Any, behind_engine: bool) -> None:
        if options.pop("sample_weight", None) is not None:
            raise NotSupported(
                "sample_weight is not supported: a weight multiplies what one row may change, so it would have to be "
                "public and bounded. Hint: leave it out, or repeat the analysis per group."
            )
        if options:
            raise TypeError(f"{type(self).__name__}.fit() got an unexpected keyword argument {next(iter(options))!r}.")
        if y is None and self.supervised and not behind_engine:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def _refuse_schema(self, rows: Rows, y: Any) -> None:
        """Raise what the columns' number and types tell to go wrong: both are public."""
        if rows.width == 0:
            raise ValueError("Found array with 0 feature(s) while a minimum of 1 is required.")
        widest = self._limit_columns()
        if widest is not None and rows.width > widest:
            raise ValueError(
                f"{type(self).__name__} learns from at most {widest:,} columns. Got {rows.width:,}. Hint: in a "
                "pipeline, discreet.features.RandomProjection or a public choice of columns before it"
                f"{self.wider_hint}."
            )

    def _limit_columns(self) -> int | None:
        """The most columns there may be: those of a factor of a bounded sum, an intercept among them. None: any."""
        return WIDEST - bool(getattr(self, "fit_intercept", True))

    def _read_budget(self) -> Budget:
        budget = Budget(self.epsilon, self.delta, self.neighbours, unit_name(self.unit))
        check_unit(type(self).__name__, budget, self.unit, self.max_rows_per_unit, self.n)
        refuse_count(type(self).__name__, self.n)
        return budget

    def _check_bounds(self, rows: Rows) -> Bounds:
        if not isinstance(self.bounds, Bounds):
            raise TypeError(
                f"The `bounds` must be discreet.Bounds or None. Got {type(self.bounds).__name__}. Hint: "
                "discreet.Bounds(low, high, target=(low, high)), or classes=[...] in place of the target."
            )
        return self.bounds.matched(rows.width, rows.columns)

    def _warn_before(self, budget: Budget, rows: Rows) -> None:
        budget.warn_of_delta(public_count(budget, rows, self.n))
        leaky = leaks()
        if leaky:
            warnings.warn(
                f"{', '.join(leaky)} learnt from the data beside {type(self).__name__}, and nobody paid for it: the "
                f"whole is NOT private. Hint: {', and '.join(dict.fromkeys(leaky.values()))}.",
                LeakWarning,
                stacklevel=outside(),
            )

    def _warn_after(self, budget: Budget, rows: Rows) -> None:
        """Warn of what the release tells, once it is there to stay."""

    def _remember_table(self, X: Any) -> None:
        """Remember which table was fitted, by a weak reference: nothing of it is kept."""
        try:
            _FITTED_ON[self] = weakref.ref(X)
        except TypeError:  # a list has no weak references
            _FITTED_ON.pop(self, None)

    def _warn_of_training_rows(self, X: Any) -> None:
        """Warn if a score is of the training rows: it is exact, and nobody paid for it."""
        refer = _FITTED_ON.get(self)
        table = None if refer is None else refer()
        if table is not None and _is_same_table(table, X):
            warnings.warn(
                f"This score of {type(self).__name__} is of the rows that it was fitted on: it is exact and unpaid, so "
                "NOT private, and too good. Hint: score rows that were kept apart, or use discreet.evaluate, which "
                "pays for its scores.",
                LeakWarning,
                stacklevel=outside(),
            )

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = memo[id(self)] = type(self).__new__(type(self))
        other.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return other  # with the same ledger: copies share the account

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; to scikit-learn's printer, which prints the values of arrays, a unit only by its name."""
        params: dict[str, Any] = super().get_params(deep)
        return _hide_units(params) if sys._getframe(1).f_globals.get("__name__") == PRINTER else params

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)  # scikit-learn shows what differs from the defaults
        epsilon = getattr(self, "epsilon", None)
        if epsilon is None or "epsilon=" in text:
            return text
        name, _, rest = text.partition("(")
        return f"{name}(epsilon={epsilon}{'' if rest == ')' else ', '}{rest}"

    def _get_params_html(self, *arguments: Any, **options: Any) -> Any:
        table = super()._get_params_html(*arguments, **options)  # scikit-learn's own, for notebooks
        table.update(_hide_units(table))
        return table

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "release_" in state and "unit" in state:  # and a fitted model without the names of those it learnt from
            state["unit"] = None if state["unit"] is None else unit_name(state["unit"])
        if isinstance(state.get("ledger"), Ledger) and "release_" in state:
            state["ledger"] = Detached(state["ledger"].data)  # a fitted model travels without the account
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.target_tags.required = self.supervised
        return tags


def _is_same_table(one: Any, other: Any) -> bool:
    if one is other:
        return True
    effort: Any = 10_000
    try:
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.shares_memory(one, other, effort)
    except np.exceptions.TooHardError:
        return False


def _hide_units(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters to be shown: who rows belong to is not for show."""
    units = {name: value for name, value in params.items() if name.split("__")[-1] == "unit" and value is not None}
    return {**params, **{name: unit_name(value) for name, value in units.items()}}


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator that predicts a number."""

    coef_: Any
    intercept_: float

    def _check_bounds(self, rows: Rows) -> Bounds:
        bounds = super()._check_bounds(rows)
        bounds.target_scale  # noqa: B018 - raises, before anything is charged, if the target has no range
        return bounds

    def predict(self, X: Any) -> Any:
        """The predicted target of each row, within the target's bounds; NaN where a feature is not finite.

        Features beyond their bounds count as at them, as they did in fitting.
        """
        check_is_fitted(self, "release_")
        X = self._check_rows(X)
        assert self.bounds_.target is not None
        linear = np.clip(X, self.bounds_.lower, self.bounds_.upper) @ self.coef_ + self.intercept_
        return np.clip(np.where(np.isfinite(X).all(axis=1), linear, np.nan), *self.bounds_.target)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² on these rows: exact, so it is private only if they are public; training rows bring a warning."""
        self._warn_of_training_rows(X)
        return float(super().score(X, y, sample_weight))
