"""Statistics with differential privacy: each returns a `Release` with an interval."""

from discreet.stats.any_function import PointEstimator, SampleAndAggregate
from discreet.stats.counts import count, histogram
from discreet.stats.m_estimator import MEstimator
from discreet.stats.moments import covariance, mean, sum, variance
from discreet.stats.quantiles import median, quantile
from discreet.stats.robust import iqr, mad, trimmed_mean, winsorized_mean

__all__ = [
    "MEstimator",
    "PointEstimator",
    "SampleAndAggregate",
    "count",
    "covariance",
    "histogram",
    "iqr",
    "mad",
    "mean",
    "median",
    "quantile",
    "sum",
    "trimmed_mean",
    "variance",
    "winsorized_mean",
]
