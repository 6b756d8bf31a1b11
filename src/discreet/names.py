"""Names by which files and ledgers know what is discreet's; they stay when code moves.

A saved model holds the names of its classes, and the key of a run that may be retried the name of what was run. When a
module moves, write its new place before the old ones; the last is the first it had, which keys of runs are made of.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES: dict[str, tuple[str, ...]] = {
    "bounds.Bounds": ("bounds",),
    "budget.Budget": ("budget",),
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
    "images.Line": ("images",),
    "images.Mixed": ("images",),
    "images.Scaled": ("images",),
    "ledger.Detached": ("ledger",),
    "models.BayesianLinearRegression": ("models.linear.bayes",),
    "models.CategoricalNB": ("models.naive_bayes.categorical",),
    "models.ClassSums": ("models.naive_bayes.sums",),
    "models.Conjunction": ("models.families",),
    "models.Deferred": ("models.linear.sampler",),
    "models.ElasticNet": ("models.linear.penalised",),
    "models.Encoder": ("models.encoder",),
    "models.GaussianNB": ("models.naive_bayes.gaussian",),
    "models.HypothesisClass": ("models.hypotheses",),
    "models.KernelRidge": ("models.kernels.ridge",),
    "models.KernelSVC": ("models.kernels.svc",),
    "models.Lasso": ("models.linear.penalised",),
    "models.LinearRegression": ("models.linear.regression",),
    "models.LinearSVC": ("models.svm",),
    "models.LogisticRegression": ("models.logistic.regression",),
    "models.Noisy": ("models.linear.moments",),
    "models.MixedNB": ("models.naive_bayes.categorical",),
    "models.OnlineClassifier": ("models.online.classifier",),
    "models.Part": ("models.linear.part",),
    "models.PointwiseRegression": ("models.kernels.pointwise",),
    "models.PointwiseSVC": ("models.kernels.margins",),
    "models.Posterior": ("models.linear.sampler",),
    "models.Prior": ("models.linear.moments",),
    "models.PrivateSearchCV": ("models.selection.search",),
    "models.Ridge": ("models.linear.penalised",),
    "models.SGDClassifier": ("models.sgd.model",),
    "models.SGDRegressor": ("models.sgd.model",),
    "models.Statistics": ("models.linear.statistics",),
    "models.Stump": ("models.families",),
    "models.Unit": ("models.erm.problem",),
    "release.Release": ("release",),
    "stats.MEstimator": ("stats.density",),
    "stats.PointEstimator": ("stats.generic",),
    "stats.SampleAndAggregate": ("stats.generic",),
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
    package, _, module = what.__module__.partition(".")
    name = f"{module.split('.')[0]}.{what.__qualname__}"
    known = package == "discreet" and module == PLACES.get(name, ("",))[0]
    return name if known else None


def find(name: str) -> Any:
    """The class or function of a registered name; `LookupError` if there is none."""
    place = PLACES[name][0]
    return getattr(import_module(f"discreet.{place}"), name.partition(".")[2])


def first_module(name: str) -> str:
    """The module where what has this name first was."""
    return f"discreet.{PLACES[name][-1]}"
