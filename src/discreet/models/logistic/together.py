"""Where noise hides features one by one: what is learnt of all of them together.

Numbers in one table tend to grow together, and with what they are to tell: people record things so that more is more
(over the published sets of benchmarks/tuning, about twice as much of the difference between classes lies along the
average of the standardised numbers as along another direction). So where noise is about as long as any signal, the
average of the features is what can best be learnt of them: where it is, and how the classes differ along it. The rows
lean towards it then: all other directions are shrunk a little, so that less of a row's clipped length is theirs. To
shrink them further gains more where numbers do grow together, and loses as much where classes differ in other ways.
Only public facts and released numbers decide on it.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.bounds import Bounds
from discreet.models.fit import Floats
from discreet.models.scaling import indicators

HIDDEN = 4.0  # signals: with fewer, rows lean towards the average of their features
REST = 0.8  # what other directions are shrunk to then


def average(bounds: Bounds) -> Floats:
    """The direction, of length 1, along which all numbers grow; indicators have no part in it, nor the intercept.

    >>> average(Bounds([0, 0, 10], [1, 9, 20])).round(3)
    array([0.   , 0.   , 0.707, 0.707])
    """
    numbers = np.concatenate([[0.0], ~indicators(bounds, True)])
    return np.asarray(numbers / math.sqrt(max(float(numbers.sum()), 1.0)))


def leaning(direction: Floats) -> Floats:
    """The matrix that shrinks all but the intercept and a direction.

    >>> leaning(np.array([0.0, 1.0, 0.0])).round(3)
    array([[1. , 0. , 0. ],
           [0. , 1. , 0. ],
           [0. , 0. , 0.8]])
    """
    matrix = REST * np.eye(len(direction)) + (1 - REST) * np.outer(direction, direction)
    matrix[0, 0] = 1.0
    return matrix
