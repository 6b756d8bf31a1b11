"""Models with scikit-learn's contract that are private."""

from discreet.models.base import PrivateEstimator, PrivateRegressor
from discreet.models.linear import LinearRegression

__all__ = ["LinearRegression", "PrivateEstimator", "PrivateRegressor"]
