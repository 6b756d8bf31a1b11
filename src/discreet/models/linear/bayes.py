"""Bayesian linear regression from noised second moments, with the noise in the model."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.budget import Budget, Share, radial
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.events import Pure
from discreet.models.linear.linear_model import through_origin
from discreet.models.linear.posterior_draws import Deferred, Noisy, Prior
from discreet.models.shared.estimator import PrivateRegressor
from discreet.models.shared.parameters import estimator
from discreet.query import WIDEST, Batch, BoundedSum, OneHot
from discreet.query.images import find_missing

Floats = NDArray[np.float64]
Kind = Literal["noise-aware", "naive-overconfident"]

COUNT = 0.1  # of the budget, for the number of rows where it stands alone
AGREE = 1.05  # chains of a larger split R-hat have not met
WIDE = 0.5  # of the prior's variance: slopes that vary more have hardly been told apart from it
BLOCK = 4096  # rows predicted at a time


@estimator
class BayesianLinearRegression(PrivateRegressor):
    """Linear regression whose posterior knows of the privacy noise: its intervals cover what they say.

    One release of Σ v v' with v = (1, x, y) pays for everything. The true second moments are then unknowns like the
    coefficients, and all are drawn together (`moments.py` states the model). The draws are made when they are first
    asked for: `fit` only measures.

    Parameters
    ----------
    epsilon, delta : the promise; with delta = 0 the noise is that of the ℓ2 norm mechanism, else Gaussian.
    neighbours, unit, bounds, ledger : as in every private estimator.
    n : the number of rows, if it is public; then it is used as it is, so rows with missing values should not be many.
        (With delta = 0 the other entries' noise is then taken for the norm mechanism's with none in the count.)
    fit_intercept : whether the line may miss the origin. Without one, a tenth of the budget pays for the number of rows
        (its Laplace noise, if delta = 0, is taken for Gaussian).
    a0, b0 : shape and rate of the gamma prior of λ0, the precision of the coefficients, which are N(0, 1/λ0).
    a, b : shape and rate of the gamma prior of λ, the precision of the target about the line.
        Both priors are in scaled units, features and target within [-1, 1].
    draws, chains : of the posterior: draws in all, divided among so many chains.
    posterior : "noise-aware"; or "naive-overconfident", which takes the noised moments for exact, as in the literature
        before 2019: its intervals are far too narrow, and it is here for comparison only.
    random_state : as in every private estimator. The draws of the posterior hide nothing, and use NumPy's generator.

    Attributes
    ----------
    coef_, intercept_ : posterior means, in the units of the data.
    posterior_ : draws of (intercept, coefficients), in the units of the data: as private as the release, like anything
        made of it. The intercept is 0 where there is none.
    residual_std_ : draws of the standard deviation of the target about the line.
    diagnostics_ : split R-hat and effective sample size of each coefficient, and a note where chains have not met.
    moments_ : the noisy moments that were released, in scaled units.
    bounds_, release_, n_features_in_, feature_names_in_ : as in every private estimator.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs, or none | nearly the prior: coefficients near zero, wide intervals |
    | constant or collinear columns | finite coefficients, their intervals wide |
    | targets not normal about the line | intervals that hold about as well as those of least squares |

    References
    ----------
    G. Bernstein & D. Sheldon, "Differentially private Bayesian linear regression", NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 1))
    >>> y = 0.5 * X[:, 0] + rng.normal(0, 0.2, 2000)
    >>> model = BayesianLinearRegression(epsilon=1.0, delta=1e-6, bounds=dc.Bounds(-1, 1, target=(-1, 1))).fit(X, y)
    >>> bool(abs(model.coef_[0] - 0.5) < 0.3)
    True
    """

    fit_intercept: bool = True
    a0: float = 2.0
    b0: float = 1.0
    a: float = 1.0
    b: float = 0.05
    draws: int = 2000
    chains: int = 8
    posterior: Kind = "noise-aware"

    def _limit_columns(self) -> int | None:
        return WIDEST - 2  # (1, x, y)

    def _read_budget(self) -> Budget:
        Prior(self.a0, self.b0, self.a, self.b)  # raises, before anything is charged
        if self.posterior not in get_args(Kind):
            raise ValueError(f"The `posterior` is 'noise-aware' or 'naive-overconfident'. Got {self.posterior!r}.")
        chains = check_whole(type(self).__name__, "chains", self.chains)
        check_whole(type(self).__name__, "draws", self.draws, 4 * chains, why=f": 4 in each of {chains} chains")
        return super()._read_budget()

    def _fit(self, task: Task) -> None:
        intercept, curator = task.intercept, task.curator
        count: float | None = self.n  # replace-one makes the number of rows public, not that of whole ones
        alone = not intercept and count is None
        parts = (radial(1 - COUNT), COUNT) if alone else (radial(1.0),)
        bounds, shares = task.deal(*parts)
        given, bounds = bounds, bounds if intercept else through_origin(bounds)
        self.bounds_ = Bounds(bounds.lower, bounds.upper, given.target)

        # BOUND: v = (1, x, y), every coordinate within [-1, 1]
        v = _make_image(bounds, intercept)

        # SUMMARISE: v v' over all rows; ‖v v'‖ = ‖v‖² <= its number of coordinates
        moments = BoundedSum(v, v, norm=intercept + len(bounds.lower) + 1, name="second moments")

        # PRIVATISE: one event
        noisy = curator.measure(moments, shares[0])
        count, count_std = _count_rows(curator, shares[1]) if alone else (count, 0.0)

        # SOLVE: later, when the posterior is asked for
        law = isinstance(noisy.event, Pure)
        self.moments_ = _complete_moments(noisy.value, np.asarray(noisy.std), intercept, count, count_std, law)
        prior = Prior(self.a0, self.b0, self.a, self.b)
        seen = self.moments_ if self.posterior == "noise-aware" else _treat_as_exact(self.moments_)
        self._drawn = Deferred(seen, intercept, prior, self.draws, self.chains, self._draw_seed(), bounds)
        self._kind = self.posterior
        if self.posterior != "noise-aware":
            task.note("noised moments are taken for exact: intervals are too narrow")

    def _prepare_saving(self) -> None:
        """Draw the posterior, so that later versions, whose samplers may differ, predict the same from a file."""
        _ = self._drawn.coefficients, self._drawn.residual

    def _draw_seed(self) -> int:
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31))
        if isinstance(state, np.random.Generator):
            return int(state.integers(2**63))
        return int(np.random.SeedSequence(None if state is None else abs(int(state))).generate_state(1, np.uint64)[0])

    @property
    def posterior_(self) -> Floats:
        """Draws of (intercept, coefficients), in the units of the data."""
        check_is_fitted(self, "release_")
        return self._drawn.coefficients

    @property
    def residual_std_(self) -> Floats:
        """Draws of the standard deviation of the target about the line."""
        check_is_fitted(self, "release_")
        return self._drawn.residual

    @property
    def coef_(self) -> Floats:
        """Posterior means of the coefficients."""
        return np.asarray(self.posterior_[:, 1:].mean(axis=0))

    @property
    def intercept_(self) -> float:  # type: ignore[override]
        """The posterior mean of the intercept."""
        return float(self.posterior_[:, 0].mean())

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """Split R-hat and effective sample size of each coefficient, the intercept first if there is one."""
        check_is_fitted(self, "release_")
        drawn = self._drawn.posterior
        met = bool((drawn.rhat < AGREE).all())
        note = "" if met else f"chains have not met (R-hat above {AGREE}): ask for more draws"
        if drawn.of_prior or self._resembles_prior():
            note = "the noise hides the data: the posterior is the prior, or nearly so"
        return {"rhat": drawn.rhat, "ess": drawn.size, "note": note}

    def _resembles_prior(self) -> bool:
        """Whether the slopes, scaled, vary as widely as before any data were seen."""
        drawn = self._drawn.posterior.coefficients[..., int(self._drawn.intercept) :]
        before = self.b0 / max(self.a0 - 1, 0.5)  # the variance of a slope a priori, about
        return bool((drawn.var(axis=(-3, -2)) > WIDE * before).all())

    def coef_interval(self, confidence: float = 0.9) -> Floats:
        """Low and high end for each coefficient, which the coefficient is between with this probability."""
        return np.asarray(np.quantile(self.posterior_[:, 1:], _interval_tails(confidence), axis=0).T)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the target of each row, within its bounds; with its standard deviation, if wanted.

        The deviation is that of a new target: of the coefficients, sampling and privacy noise, and of the residuals.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        rows = self._check_rows(X)
        inside = np.where(np.isfinite(rows), np.clip(rows, self.bounds_.lower, self.bounds_.upper), np.nan)
        full = np.column_stack([np.ones(len(rows)), inside])
        of_line = np.einsum("ij,ij->i", full @ np.cov(self.posterior_.T, bias=True), full)
        return mean, np.sqrt(np.maximum(of_line, 0.0) + np.mean(self.residual_std_**2))

    def predict_interval(self, X: Any, confidence: float = 0.9) -> Floats:
        """Low and high end for the target of each row, within its bounds: a new target is there with this chance."""
        tails = _interval_tails(confidence)
        residual = self.residual_std_ * np.random.default_rng(self._drawn.seed).normal(size=len(self.posterior_))
        ends = [np.quantile(line + residual, tails, axis=1).T for line in self._predict_lines(X)]
        assert self.bounds_.target is not None
        return np.asarray(np.clip(np.concatenate([*ends, np.empty((0, 2))]), *self.bounds_.target))

    def _predict_lines(self, X: Any) -> list[Floats]:
        """The target's mean for each row and draw, in blocks; NaN where a feature is not finite."""
        check_is_fitted(self, "release_")
        rows, draws = self._check_rows(X), self.posterior_
        inside = np.where(np.isfinite(rows), np.clip(rows, self.bounds_.lower, self.bounds_.upper), np.nan)
        return [draws[:, 0] + inside[start : start + BLOCK] @ draws[:, 1:].T for start in range(0, len(inside), BLOCK)]

    def summary(self, confidence: float = 0.9) -> str:
        """A table for people: mean, standard deviation, interval and diagnostics of each coefficient."""
        check_is_fitted(self, "release_")
        first = 0 if self._drawn.intercept else 1
        draws, checks = self.posterior_[:, first:], self.diagnostics_
        names = list(getattr(self, "feature_names_in_", [f"x{i + 1}" for i in range(self.n_features_in_)]))
        names = ["intercept", *map(str, names)][first:]
        wide = max(10, *map(len, names))
        low, high = (f"{100 * tail:.3g}%" for tail in _interval_tails(confidence))
        head = f"{'':{wide}} {'mean':>11} {'sd':>11} {low:>11} {high:>11} {'R-hat':>7} {'ESS':>7}"
        lines = [f"{type(self).__name__}: {self.release_.budget}, posterior {self._kind}", head, "-" * len(head)]
        ends = np.quantile(draws, _interval_tails(confidence), axis=0)
        for row in zip(names, draws.mean(0), draws.std(0), *ends, checks["rhat"], checks["ess"], strict=True):
            lines.append("{:{w}} {:11.4g} {:11.4g} {:11.4g} {:11.4g} {:7.3f} {:7.0f}".format(*row, w=wide))
        lines += [f"note: {note}" for note in (checks["note"], *self.release_.notes) if note]
        return "\n".join(lines)


def _make_image(bounds: Bounds, intercept: bool) -> Any:
    def v(rows: Batch) -> Floats:
        assert rows.y is not None
        out = np.ones((len(rows), intercept + len(bounds.lower) + 1))
        out[:, intercept:-1], out[:, -1] = bounds.scale(rows.X), bounds.scale_target(rows.y)
        return out

    return v


def _count_rows(curator: Curator, share: Share) -> tuple[float, float]:
    """The number of rows, with noise: each whole row adds one."""
    table = OneHot(lambda rows: np.where(find_missing(rows), -1, 0), 1)
    noisy = curator.measure(BoundedSum(table, order=1 if share.budget.pure else 2, name="count"), share)
    return float(noisy.value[0]), float(np.max(noisy.std))


def _complete_moments(
    value: Floats, std: Floats, intercept: bool, count: float | None, count_std: float, law: bool
) -> Noisy:
    """Over (1, x, y), whether or not the sums of x and y were measured; a public count in place of a noisy one."""
    wide = len(value) + 1 - intercept
    matrix, spread = np.zeros((wide, wide)), np.full((wide, wide), np.inf)
    matrix[1 - intercept :, 1 - intercept :], spread[1 - intercept :, 1 - intercept :] = value, std
    if count is not None:
        matrix[0, 0], spread[0, 0] = count, count_std
    return Noisy(matrix, spread, law)


def _treat_as_exact(noisy: Noisy) -> Noisy:
    """The nearest moments that could be real, as if they were."""
    values, vectors = np.linalg.eigh(noisy.matrix[1:, 1:] if np.isinf(noisy.std).any() else noisy.matrix)
    moments = (vectors * np.maximum(values, 0.0)) @ vectors.T
    matrix = np.zeros(noisy.matrix.shape)
    matrix[-len(moments) :, -len(moments) :] = moments
    matrix[0, 0] = max(float(noisy.matrix[0, 0]), float(matrix[0, 0]), 1.0)  # no less: it stays positive definite
    return Noisy(matrix, np.zeros(matrix.shape))


def _interval_tails(confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise ValueError(f"The `confidence` must be within 0 and 1. Got {confidence!r}.")
    return (1 - confidence) / 2, (1 + confidence) / 2
