"""Models with scikit-learn's contract that are private."""

from discreet.models.base import PrivateEstimator, PrivateRegressor
from discreet.models.linear import (
    BayesianLinearRegression,
    ElasticNet,
    Lasso,
    LinearRegression,
    Ridge,
    Statistics,
)

__all__ = [
    "BayesianLinearRegression",
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "PrivateEstimator",
    "PrivateRegressor",
    "Ridge",
    "Statistics",
]
