"""Statistics with differential privacy: each returns a `Release` with an interval."""

from discreet.stats.counts import count, histogram
from discreet.stats.moments import covariance, mean, sum, variance
from discreet.stats.quantiles import median, quantile

__all__ = ["count", "covariance", "histogram", "mean", "median", "quantile", "sum", "variance"]
