"""PrivateSearchCV: hyper-parameters chosen within the budget."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Literal, Self, get_args

from sklearn.base import MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.bounds import Bounds
from discreet.budget import Budget, approximate, check_unit, inside, radial
from discreet.curator import Curator, noise_source
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.engines.opening import as_rows, is_rows
from discreet.errors import NoiseWarning
from discreet.labels import refuse_kind, unit_name
from discreet.ledger import Ledger
from discreet.mechanisms.keystream import default
from discreet.models.selection.candidates import (
    Found,
    bounding,
    candidate,
    fitted,
    listed,
    quiet,
    refuse_lots_of_groups,
    within_event,
)
from discreet.models.selection.prediction_losses import scored
from discreet.models.selection.public_search import best_on_public
from discreet.models.selection.rehearsal import Schema
from discreet.models.selection.repeats import Repeats
from discreet.models.selection.subsets import Subsets
from discreet.models.selection.trial_plan import Planner
from discreet.models.selection.trials import Law, law_of
from discreet.models.shared.attempts import RestoreOnError
from discreet.models.shared.classifier import warn_of_few_rows
from discreet.models.shared.estimator import PrivateEstimator
from discreet.models.shared.parameters import hint_at_names

Strategy = Literal["subsets", "repeats", "public"]

UNLIKELY = 25.0  # a block is larger than the one rehearsed with a chance of e^-25 = 1e-11

NOTES = {
    "subsets": "fitted on one of {0} blocks of the rows and chosen on another",
    "refit": "chosen on {0} blocks of the rows, then fitted on all of them",
    "repeats": "the best of a number of trials that is not told ({1}, {2:g} expected)",
    "none": "no trial was drawn, with a chance of {3:.2g}: this model has seen no row",
}


def _surely(mean: float) -> int:
    """No number of independent coins with this mean is larger, but for a chance of e^-UNLIKELY (Bernstein 1924).

    >>> _surely(1000.0), _surely(1.0)
    (1233, 21)
    """
    third = UNLIKELY / 3
    return math.ceil(mean + third + math.sqrt(third**2 + 2 * UNLIKELY * mean))


def _best_has(name: str) -> Any:
    return available_if(lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name))


class PrivateSearchCV(MetaEstimatorMixin, PrivateEstimator):  # type: ignore[misc]
    """The best of several settings of a private estimator, for one stated budget.

    An ordinary search reads the rows once for every candidate and fold, and pays for each; its scores are not private
    at all. This one keeps to a total.

    Parameters
    ----------
    estimator : a private classifier or regressor of this library. Its `callback` and `progress` are left out of fits
        that are not released, which nobody may watch.
    param_grid : settings to try, as in scikit-learn's GridSearchCV.
    param_distributions, n_iter : or so many settings drawn from distributions, as in its RandomizedSearchCV.
    strategy : how.

        | strategy | how | price |
        | --- | --- | --- |
        | "subsets" | each candidate has its own block of rows; the choice is made on another | fewer rows each |
        | "repeats" | a random number of trials on all rows, candidates drawn at random; the best leaves | less ε each |
        | "public" | the choice is made on public rows | public rows |

    epsilon, delta : the total promise; the estimator's own if None.
    refit : of "subsets", the share of the budget kept for a fit of the winner on all rows. 0: the winner is returned as
        it is, as published.
    trials : of "repeats", how many to expect.
    eta : of "repeats", the law of their number: None for Poisson's (for delta = 0 geometric), or the η > -1 of a
        truncated negative binomial one: 0 logarithmic, 1 geometric.
    score_share : of "repeats", the share of a trial's budget that its score costs.
    pad : of "repeats", whether to hide the number of trials from those who see how long it takes. See below.
    public : of "public", the rows (X, y) to choose on.
    folds : of "public", into how many parts they are cross-validated.
    ledger, random_state : as in every private estimator. The relation, unit, bounds and n are the estimator's.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_ : the winner.
    candidates_ : all settings, public.
    release_ : what left and what it cost.

    No scores are kept: they would be unpaid facts about rows.

    Notes
    -----
    (ε, δ)-differential privacy of the whole search, winner and its parameters included; charged once, before a row is
    read: `mechanisms/proofs/selection.md`. Fits inside have accounts of their own and charge nothing.

    With "repeats" the promise needs the number of trials K to stay hidden, and **time tells it**: whoever can measure
    how long the search took learns about K. With `pad=True` trials are made up to a public number, which K exceeds
    with probability 2^-40, and thrown away: it takes several times as long, always the same number of trials.

    | case | what happens |
    | --- | --- |
    | no rows, or fewer than blocks | an answer, of noise alone |
    | one candidate | it is fitted, at the same price |
    | K = 0 (Poisson) | a model fitted on no rows, and a note in `release_` |
    | a classifier without public classes, a regressor without a public range of its target | ValueError |
    | "repeats" with a method of which only (ε, δ) is known | NotSupported |
    | `max_rows_per_unit` > 1 with an estimator that samples lots | NotSupported: lots would hold whole units |

    References
    ----------
    Chaudhuri, Monteleoni & Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section 6;
    Papernot & Steinke, "Hyperparameter tuning with Rényi differential privacy", ICLR 2022.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> from discreet.models import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.1, 20_000)
    >>> model = Ridge(epsilon=1.0, delta=1e-6, bounds=dc.Bounds(-1, 1, target=(-4, 4)))
    >>> search = PrivateSearchCV(model, {"alpha": [1.0, 1e6]}).fit(X, y)
    >>> search.best_params_, print(search.release_.budget)
    ε = 1, δ = 1e-06 (add-remove one row)
    ({'alpha': 1.0}, None)
    """

    _hides = True

    @hint_at_names
    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        param_distributions: Any = None,
        n_iter: int = 10,
        strategy: Strategy = "subsets",
        epsilon: float | None = None,
        delta: float | None = None,
        refit: float = 0.0,
        trials: float = 10,
        eta: float | None = None,
        score_share: float = 0.1,
        pad: bool = False,
        public: Any = None,
        folds: int = 5,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.strategy = strategy
        self.epsilon = epsilon  # type: ignore[assignment]
        self.delta = delta  # type: ignore[assignment]
        self.refit = refit
        self.trials = trials
        self.eta = eta
        self.score_share = score_share
        self.pad = pad
        self.public = public
        self.folds = folds
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Choose and fit, privately. Nothing is charged if the arguments are refused."""
        self._check()
        if self.strategy != "public":
            return super().fit(X, y, **options)
        with RestoreOnError(self):
            budget, rows = self._on_public(X, y, options)
        self._warn_after(budget, rows)
        return self

    def _warn_after(self, budget: Budget, rows: Rows) -> None:
        warn_of_few_rows(self)

    def _on_public(self, X: Any, y: Any, options: dict[str, Any]) -> tuple[Budget, Rows]:
        """The choice costs nothing, and is the same whenever it is made: what is charged then is one fit."""
        self._refuse_arguments(options, y, is_rows(X))
        budget = self._read_budget()
        rows = as_rows(X, y, labels=self.has_labels, unit=self.unit)
        estimator = candidate(self.estimator, {}, budget.epsilon, budget.delta, self.n)
        with quiet():
            rng = noise_source(0 if self.random_state is None else self.random_state)
        assert rng is not None
        place = best_on_public(estimator, tuple(self.candidates_), scored(self.estimator), self.public, self.folds, rng)
        model = candidate(self.estimator, self.candidates_[place], budget.epsilon, budget.delta, self.n)
        seed = None if self.random_state is None else rng.bits(62)
        ours = bounding(model, self.unit, self.max_rows_per_unit)
        with warnings.catch_warnings():
            # what the receipt tells is told below, once all is kept; what is public is told before the charge
            warnings.filterwarnings("ignore", r"\w+: (perhaps )?too few rows", NoiseWarning)
            model.set_params(random_state=seed, ledger=self.ledger, **ours).fit(rows)
        if ours.get("unit") is not None:
            model.set_params(unit=unit_name(self.unit))  # whose rows they are is not kept
        self._keep(Found(place, model))
        self._remember_columns(X, rows)
        note = "chosen on public rows"
        self.release_ = replace(model.release_, name=type(self).__name__, notes=(*model.release_.notes, note))
        self._remember_table(X)
        return budget, rows

    def _fit(self, task: Task) -> None:
        curator, budget = task.curator, task.budget
        (share,) = budget.split(inside(radial(1.0)) if budget.pure else approximate(1.0))
        # candidates know of rows alone: they get what one row may be promised, so that a unit's rows keep the budget
        make = self._subsets if self.strategy == "subsets" else self._repeats
        chosen = curator.run(make(task, within_event(curator.buys(share), budget)), share)
        count, law = len(self.candidates_) + 1, self._law(budget)
        found: Found = chosen.value
        key = "none" if not found.ran else "refit" if self.strategy == "subsets" and self.refit else self.strategy
        task.note(*found.model.release_.notes, NOTES[key].format(count, law.name, law.expected, law.none))
        self._keep(found)
        # all that leaves: which candidate, and the release of its fit, under the promise of the whole
        parts = tuple(replace(part, budget=budget, data=chosen.data) for part in found.model.release_.parts)
        curator.releases[:] = [replace(chosen, value=found.index), *parts]
        receipt = task.receipt(type(found.model).__name__)
        found.model.release_ = replace(receipt, parts=parts)

    def _subsets(self, task: Task, budget: Budget) -> Subsets:
        """The choice by blocks, rehearsed on no rows: what a candidate refuses is refused before the charge."""
        curator, settings, known = task.curator, tuple(self.candidates_), task.n
        inside = Subsets("choice", self.estimator, settings, scored(self.estimator), self.n, float(self.refit))
        block = known and min(known, _surely(known / (len(settings) + 1)))
        for setting in settings:
            made = [(inside.on_block(setting, budget.epsilon, budget.delta), block)]
            if self.refit:
                made.append((inside.on_all(setting, budget.epsilon, budget.delta), known))
            for model, rows in made:
                event = fitted(model, self._schema(curator, rows), default()).release_.event
                refuse_lots_of_groups(event, curator.group)
        return inside

    def _repeats(self, task: Task, budget: Budget) -> Repeats:
        """The choice among trials, planned by what candidates cost on no rows."""
        settings, law = tuple(self.candidates_), self._law(budget)
        schema = self._schema(task.curator, task.n)
        plan = Planner(self.estimator, settings, self.n, budget, law, schema, float(self.score_share)).plan()
        for event in plan.fits:
            refuse_lots_of_groups(event, task.curator.group)
        scale = scored(self.estimator)
        return Repeats("choice", self.estimator, settings, scale, self.n, law, plan, schema, bool(self.pad))

    def _schema(self, curator: Curator, rows: int | None) -> Schema:
        """The table without its rows."""
        return Schema(curator.width, curator.columns, rows, self.has_labels)

    def _law(self, budget: Budget) -> Law:
        """The law of the number of trials."""
        return law_of(self.trials, 1.0 if self.eta is None and budget.pure else self.eta)

    def _keep(self, found: Found) -> None:
        found.model.set_params(ledger=self.ledger, random_state=self.random_state)
        self.best_index_, self.best_params_ = found.index, self.candidates_[found.index]
        self.best_estimator_ = found.model

    def _check(self) -> None:
        estimator = self.estimator
        if not isinstance(estimator, PrivateEstimator) or not estimator.supervised:
            raise TypeError(
                "The `estimator` of PrivateSearchCV must be a private classifier or regressor of discreet. "
                f"Got {type(estimator).__name__}."
            )
        if isinstance(estimator, PrivateSearchCV):
            raise TypeError("The `estimator` of a PrivateSearchCV is no search itself. Hint: one grid of all settings.")
        if self.strategy not in get_args(Strategy):
            known = ", ".join(map(repr, get_args(Strategy)))
            raise ValueError(f"The `strategy` of PrivateSearchCV is one of {known}. Got {self.strategy!r}.")
        if not 0 <= self.refit < 1:
            raise ValueError(f"The `refit` of PrivateSearchCV must be within [0, 1). Got {self.refit!r}.")
        if not 0 < self.score_share < 1:
            raise ValueError(f"The `score_share` of PrivateSearchCV must be within (0, 1). Got {self.score_share!r}.")
        if self.strategy == "public" and (not isinstance(self.public, tuple) or len(self.public) != 2):
            raise ValueError('strategy="public" needs `public`, the pair (X, y) of public rows to choose on.')
        if estimator.random_state is not None and self.random_state is None:
            raise ValueError("Seed the search and not its estimator: a seeded fit is not private.")
        if estimator.ledger is not None:
            raise ValueError("Give the `ledger` to the search and not to its estimator: the search is charged, once.")
        law_of(self.trials, self.eta)
        scored(estimator)

    def _limit_columns(self) -> int | None:
        return None  # each candidate sees to it

    def _refuse_schema(self, rows: Rows, y: Any) -> None:
        super()._refuse_schema(rows, y)
        if self.has_labels:
            refuse_kind(
                type(self).__name__, rows.make_empty_batch().y if y is None else y, scored(self.estimator)["classes"]
            )

    def _read_budget(self) -> Budget:
        estimator = self.estimator
        epsilon = estimator.epsilon if self.epsilon is None else self.epsilon
        delta = estimator.delta if self.delta is None else self.delta
        self.candidates_ = listed(self.param_grid, self.param_distributions, self.n_iter)
        budgets = [candidate(estimator, s, epsilon, delta, estimator.n)._read_budget() for s in self.candidates_]
        budget = Budget(epsilon, delta, budgets[0].neighbours, unit_name(self.unit))
        check_unit(type(self).__name__, budget, self.unit, self.max_rows_per_unit, self.n)
        return budget

    def _check_bounds(self, rows: Rows) -> Bounds:
        bounds: Bounds = self.estimator._check_bounds(rows)
        return bounds

    @property
    def neighbours(self) -> Any:  # type: ignore[override]
        """The relation of the estimator."""
        return self.estimator.neighbours

    @property
    def unit(self) -> Any:
        """The unit of the estimator."""
        return self.estimator.unit

    @property
    def max_rows_per_unit(self) -> int | None:  # type: ignore[override]
        """How many rows of a unit are read."""
        return self.estimator.max_rows_per_unit  # type: ignore[no-any-return]

    @property
    def n(self) -> int | None:  # type: ignore[override]
        """The public number of rows of the estimator."""
        return self.estimator.n  # type: ignore[no-any-return]

    @property
    def bounds(self) -> Bounds | None:  # type: ignore[override]
        """The bounds of the estimator."""
        return self.estimator.bounds  # type: ignore[no-any-return]

    @property
    def classes(self) -> Any:
        """The public classes of the estimator, where it is a classifier."""
        return self.estimator.classes

    @property
    def has_labels(self) -> bool:  # type: ignore[override]
        """Whether targets are classes."""
        return bool(self.estimator.has_labels)

    @property
    def classes_(self) -> Any:
        """The classes of the winner."""
        return self.best_estimator_.classes_

    def predict(self, X: Any) -> Any:
        """What the winner predicts."""
        check_is_fitted(self, "release_")
        return self.best_estimator_.predict(X)

    @_best_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The winner's probabilities."""
        check_is_fitted(self, "release_")
        return self.best_estimator_.predict_proba(X)

    @_best_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The winner's decisions."""
        check_is_fitted(self, "release_")
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """The winner's score on rows of yours: not private, for those who hold them."""
        self._warn_of_training_rows(X)
        check_is_fitted(self, "release_")
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.target_tags, tags.input_tags = (
            inner.regressor_tags,
            inner.target_tags,
            inner.input_tags,
        )
        return tags
