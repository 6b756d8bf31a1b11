"""The accuracy of a model (CL12), and its accuracy at another ε.

For rows that you may see, exact and NOT private: `roc`, `auc`, `confusion`, `calibration`, `frontier`, `error_curve`;
`simulate` makes such rows from public facts. For private test rows, with noise and at a cost: `private_accuracy`,
`private_confusion`, `private_auc`, `private_calibration`, and `private_scores`, from which `auc_of`, `roc_of` and
`calibration_of` follow at no further cost.
"""

from discreet.evaluate.curves import Calibration, Confusion, Roc, auc, calibration, confusion, roc
from discreet.evaluate.frontier import Frontier, frontier
from discreet.evaluate.paid import private_accuracy, private_confusion
from discreet.evaluate.scores import auc_of, calibration_of, private_auc, private_calibration, private_scores, roc_of
from discreet.evaluate.simulate import Simulated, simulate
from discreet.evaluate.study import ErrorCurve, error_curve

__all__ = [
    "Calibration",
    "Confusion",
    "ErrorCurve",
    "Frontier",
    "Roc",
    "Simulated",
    "auc",
    "auc_of",
    "calibration",
    "calibration_of",
    "confusion",
    "error_curve",
    "frontier",
    "private_accuracy",
    "private_auc",
    "private_calibration",
    "private_confusion",
    "private_scores",
    "roc",
    "roc_of",
    "simulate",
]
