"""Linear models from noisy second moments."""

from discreet.models.linear.bayes import BayesianLinearRegression
from discreet.models.linear.penalised import ElasticNet, Lasso, Ridge
from discreet.models.linear.regression import LinearRegression
from discreet.models.linear.statistics import Statistics

__all__ = ["BayesianLinearRegression", "ElasticNet", "Lasso", "LinearRegression", "Ridge", "Statistics"]
