"""Linear models by private stochastic gradient descent."""

from discreet.models.sgd.model import SGDClassifier, SGDRegressor

__all__ = ["SGDClassifier", "SGDRegressor"]
