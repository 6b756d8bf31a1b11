"""LogisticRegression: one estimator, every method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from discreet.bounds import Bounds
from discreet.budget import Budget, Neighbours, Part, Share
from discreet.curator import Curator
from discreet.ledger import Ledger
from discreet.models.classifier import LinearClassifier
from discreet.models.logistic.descent import descent
from discreet.models.logistic.plain import gradient_descent
from discreet.models.logistic.problem import Fit, Problem
from discreet.models.logistic.quadratic import quadratic

Method = Literal["auto", "gradient", "quadratic"]
METHODS: dict[str, Callable[[Problem], Fit]] = {"auto": descent, "gradient": gradient_descent, "quadratic": quadratic}


class LogisticRegression(LinearClassifier):
    """Logistic regression with differential privacy."""

    sharpest: ClassVar[dict[str, Any]] = {"rounds": 1}

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        method: Method = "auto",
        fit_intercept: bool = True,
        clip: float | None = 4.0,
        rounds: int | None = None,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.fit_intercept = fit_intercept
        self.clip = clip
        self.rounds = rounds
        self.neighbours = neighbours
        self.unit = unit
        self.n = n
        self.bounds = bounds
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def _budget(self) -> Budget:
        if self.method not in get_args(Method):
            raise ValueError(f"The `method` of LogisticRegression is one of {get_args(Method)}. Got {self.method!r}.")
        if self.rounds is not None and not (isinstance(self.rounds, (int, np.integer)) and 1 <= self.rounds <= 10_000):
            raise ValueError(f"The `rounds` must be a whole number from 1 to 10000, or None. Got {self.rounds!r}.")
        if self.clip is not None and not (self.clip > 0 and np.isfinite(self.clip)):
            raise ValueError(f"The `clip` must be a number > 0, or None. Got {self.clip!r}.")
        return super()._budget()

    def _fit(self, curator: Curator) -> None:
        def deal(*parts: float | Part) -> tuple[Bounds, tuple[Share, ...]]:
            return self._deal(curator, *parts)

        problem = Problem(
            curator,
            self._asked,
            deal,
            lambda: len(self.classes_),
            self._public_count,
            self.fit_intercept,
            self.clip,
            self.rounds,
        )
        fit = METHODS[self.method](problem)
        self._notes += fit.notes
        slopes = fit.theta[:, self.fit_intercept :] / fit.bounds.half
        levels = fit.theta[:, 0] if self.fit_intercept else np.zeros(len(fit.theta))
        self.coef_, self.intercept_ = slopes, levels - slopes @ fit.bounds.centre
        self.narrow_ = fit.narrow
