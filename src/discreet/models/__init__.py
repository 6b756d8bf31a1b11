"""Models with scikit-learn's contract that are private."""

from discreet.models.hypotheses import HypothesisClass
from discreet.models.hypotheses.families import Conjunction, Stump, conjunctions, stumps
from discreet.models.kernels import KernelRidge, KernelSVC
from discreet.models.linear import (
    BayesianLinearRegression,
    ElasticNet,
    Lasso,
    LinearRegression,
    Ridge,
    Statistics,
)
from discreet.models.logistic import LogisticRegression
from discreet.models.naive_bayes import CategoricalNB, GaussianNB, MixedNB
from discreet.models.online import OnlineClassifier
from discreet.models.selection import PrivateSearchCV
from discreet.models.sgd import SGDClassifier, SGDRegressor
from discreet.models.shared.classifier import LinearClassifier, PrivateClassifier
from discreet.models.shared.estimator import PrivateEstimator, PrivateRegressor
from discreet.models.shared.parameters import estimator
from discreet.models.svm import LinearSVC

__all__ = [
    "BayesianLinearRegression",
    "CategoricalNB",
    "Conjunction",
    "ElasticNet",
    "GaussianNB",
    "HypothesisClass",
    "KernelRidge",
    "KernelSVC",
    "Lasso",
    "LinearClassifier",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MixedNB",
    "OnlineClassifier",
    "PrivateClassifier",
    "PrivateEstimator",
    "PrivateRegressor",
    "PrivateSearchCV",
    "Ridge",
    "SGDClassifier",
    "SGDRegressor",
    "Statistics",
    "Stump",
    "conjunctions",
    "estimator",
    "stumps",
]
