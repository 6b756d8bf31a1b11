"""Names by which files and ledgers know what is discreet's; they stay when code moves.

A saved model holds the names of its classes, and the key of a run that may be retried the name of what was run. When a
module moves, write its new place before the old ones; the last is the first it had, which keys of runs are made of.
Where the code calls a class otherwise than its registered name, its place says so: "module:Class".
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES: dict[str, tuple[str, ...]] = {
    "bounds.Bounds": ("bounds",),
    "budget.Budget": ("budget.budget", "budget"),
    **{
        f"events.{name}": ("events",)
        for name in (
            "Approximate",
            "Choice",
            "Composed",
            "Either",
            "Gaussian",
            "Laplace",
            "Minimum",
            "Pure",
            "Repeated",
            "Sampled",
        )
    },
    "features.Cosines": ("features.fourier",),
    "features.Histograms": ("features.orientations",),
    "features.Landmarked": ("features.landmarks",),
    "features.LandmarkFeatures": ("features.landmarks",),
    "features.OrientationHistograms": ("features.orientations",),
    "features.Projected": ("features.projection",),
    "features.RandomFourierFeatures": ("features.fourier",),
    "features.RandomProjection": ("features.projection",),
    "features.Similarity": ("features.similarity",),
    "images.Line": ("query.images:LinearForm", "images"),
    "images.Mixed": ("query.images", "images"),
    "images.Scaled": ("query.images", "images"),
    "ledger.Detached": ("ledger.ledger", "ledger"),
    "models.BayesianLinearRegression": ("models.linear.bayes",),
    "models.CategoricalNB": ("models.naive_bayes.categorical",),
    "models.ClassSums": ("models.naive_bayes.sums",),
    "models.Conjunction": ("models.hypotheses.families", "models.families"),
    "models.Deferred": ("models.linear.posterior_draws", "models.linear.sampler"),
    "models.ElasticNet": ("models.linear.penalised",),
    "models.Encoder": ("models.shared.encoder", "models.encoder"),
    "models.GaussianNB": ("models.naive_bayes.gaussian",),
    "models.HypothesisClass": ("models.hypotheses.finite_class", "models.hypotheses"),
    "models.KernelRidge": ("models.kernels.ridge",),
    "models.KernelSVC": ("models.kernels.svc",),
    "models.Lasso": ("models.linear.penalised",),
    "models.LinearRegression": ("models.linear.regression",),
    "models.LinearSVC": ("models.svm",),
    "models.LogisticRegression": ("models.logistic.regression",),
    "models.Noisy": ("models.linear.noisy_moments", "models.linear.moments"),
    "models.MixedNB": ("models.naive_bayes.categorical",),
    "models.OnlineClassifier": ("models.online.classifier",),
    "models.Part": ("models.linear.known_moments:KnownMoments", "models.linear.part"),
    "models.PointwiseRegression": ("models.kernels.pointwise_ridge", "models.kernels.pointwise"),
    "models.PointwiseSVC": ("models.kernels.pointwise_svc", "models.kernels.margins"),
    "models.Posterior": ("models.linear.posterior_draws", "models.linear.sampler"),
    "models.Prior": ("models.linear.noisy_moments", "models.linear.moments"),
    "models.PrivateSearchCV": ("models.selection.search",),
    "models.Ridge": ("models.linear.penalised",),
    "models.SGDClassifier": ("models.sgd.model",),
    "models.SGDRegressor": ("models.sgd.model",),
    "models.Statistics": ("models.linear.statistics",),
    "models.Stump": ("models.hypotheses.families", "models.families"),
    "models.Unit": ("models.erm.problem:UnitVectors", "models.erm.problem"),
    "release.Release": ("release",),
    "stats.MEstimator": ("stats.m_estimator", "stats.density"),
    "stats.PointEstimator": ("stats.any_function", "stats.generic"),
    "stats.SampleAndAggregate": ("stats.any_function", "stats.generic"),
    "stats.count": ("stats.counts",),
    "stats.covariance": ("stats.moments",),
    "stats.histogram": ("stats.counts",),
    "stats.iqr": ("stats.robust",),
    "stats.mad": ("stats.robust",),
    "stats.mean": ("stats.moments",),
    "stats.median": ("stats.quantiles",),
    "stats.quantile": ("stats.quantiles",),
    "stats.sum": ("stats.moments",),
    "stats.trimmed_mean": ("stats.robust",),
    "stats.variance": ("stats.moments",),
    "stats.winsorized_mean": ("stats.robust",),
}


def name_of(what: Any) -> str | None:
    """The registered name of a class or function; None where it has none.

    >>> from discreet import Bounds
    >>> name_of(Bounds), name_of(int)
    ('bounds.Bounds', None)
    """
    return NAMES.get(f"{what.__module__}:{what.__qualname__}")


def find(name: str) -> Any:
    """The class or function of a registered name; `LookupError` if there is none."""
    module, _, attribute = _locate(name).partition(":")
    return getattr(import_module(module), attribute)


def first_module(name: str) -> str:
    """The module where what has this name first was."""
    return f"discreet.{PLACES[name][-1]}"


def _locate(name: str) -> str:
    """Where the class or function of a registered name is now: "package.module:Class"."""
    module, _, attribute = PLACES[name][0].partition(":")
    return f"discreet.{module}:{attribute or name.partition('.')[2]}"


NAMES = {_locate(name): name for name in PLACES}
