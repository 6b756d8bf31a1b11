"""The common checks, and the estimators that are put to them in other ways than their defaults: all in one list.

`test_checks.py` puts every estimator, as it is, to all checks, and every variant to those that are named here. What is
left out says why; audits are in `test_checks.py` and in the files of the estimators, beside twins that are caught.
"""

from dataclasses import replace

import numpy as np
from sklearn.neighbors import KernelDensity

from discreet import Bounds, Budget, Ledger
from discreet.checks import Asked, estimator_checks, private_statistics
from discreet.labels import unit_name
from discreet.models import (
    HypothesisClass,
    KernelRidge,
    KernelSVC,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    OnlineClassifier,
    SGDClassifier,
    SGDRegressor,
)
from discreet.stats import MEstimator, PointEstimator, SampleAndAggregate

CHECKS = {check.__name__: check for check in estimator_checks()}
AUDIT = {"check_audit"}
NOISE = AUDIT | {"check_stated_noise"}  # tests of their own, or those of the default
ORDER = {"check_engines_agree"}  # coins are drawn row by row: another order is another sample
HOSTILE = {"check_hostile_rows"}
BAD = {"check_bad_rows_add_nothing"}
LIMITS = {"check_units"}  # where some of a unit's rows are left out there is no public number of rows
SHARED = {"check_contract"}  # in a shared ledger it has a δ of its own


def product(x, Z):
    """A kernel that is no function of x - z."""
    return ((1 + Z @ x / len(x)) / 2) ** 4


def all_but(names):
    return [name for name in CHECKS if name not in names]


CORNERS = [-1.0] * 3, [1.0] * 3
FAST = {"epochs": 0.4, "rate": 0.1}  # four lots
PURE = {"noise": "pure", "delta": 0.0, "epochs": 2, "rate": 0.25}
WHOLE = {"rate": 1.0, "epochs": 3, "n": 200}
STEPS = {"fast": FAST, "adaptive": FAST | {"clip": "adaptive"}, "pure": PURE, "whole": WHOLE}

# name: the estimator, and the names of its checks
VARIANTS = {
    "line, pure": (LinearRegression(delta=0.0), all_but(AUDIT)),
    "margin, pure": (LinearSVC(8.0, 0.0, n=1000), all_but(NOISE | HOSTILE | LIMITS)),
    "margin, output": (LinearSVC(8.0, method="output"), all_but(NOISE | HOSTILE)),
    "margin, output, little": (LinearSVC(0.5, method="output"), HOSTILE),
    "classes, public n": (LogisticRegression(4.0, n=211), all_but(NOISE)),
    "classes, exchanged": (LogisticRegression(4.0, neighbours="replace-one"), all_but(NOISE)),
    "classes, no intercept": (LogisticRegression(4.0, fit_intercept=False), all_but(NOISE)),
    "classes, pure": (LogisticRegression(4.0, 0.0), all_but(NOISE)),
    "classes, no clip": (LogisticRegression(4.0, clip=None), all_but(NOISE)),
    "classes, gradient": (LogisticRegression(4.0, method="gradient"), all_but(AUDIT)),
    "classes, quadratic": (LogisticRegression(4.0, method="quadratic"), all_but(AUDIT)),
    "ridge": (KernelRidge(4.0, n_components=5), all_but(NOISE)),
    "ridge, landmarks": (KernelRidge(4.0, kernel=product, n_components=6), all_but(NOISE)),
    "ridge, points": (KernelRidge(4.0, 0.0, n_components=5, method="pointwise"), all_but(NOISE)),
    "points, pure": (KernelSVC(4.0, 0.0, n=200, n_components=5, method="pointwise"), all_but(NOISE)),
    "points": (KernelSVC(4.0, 1e-6, n_components=5, method="pointwise"), all_but(AUDIT | SHARED)),
    "kernels, lots": (
        KernelSVC(4.0, n_components=5, linear=SGDClassifier(loss="hinge", epochs=2)),
        all_but(NOISE | HOSTILE | ORDER),
    ),
    "stream": (OnlineClassifier(8.0, horizon=2), all_but(AUDIT | ORDER)),
    # labels are numbers: one check does arithmetic with them
    "choice": (HypothesisClass(epsilon=8.0, bounds=Bounds(*CORNERS, classes=(0.0, 1.0))), all_but(AUDIT)),
} | {
    f"{kind.__name__}, {name}": (kind(**({"epsilon": 4.0} | options)), all_but(NOISE | HOSTILE | BAD | ORDER))
    for kind in (SGDClassifier, SGDRegressor)
    for name, options in STEPS.items()
}
VARIANTS |= {
    f"{name}, hostile rows": (SGDRegressor(**({"epsilon": 4.0} | options)), HOSTILE | BAD)
    for name, options in STEPS.items()
    if name in ("pure", "whole")
}

PAIRS = [(name, check) for name, (_, checks) in VARIANTS.items() for check in sorted(checks)]


def gaussian(statistic, epsilon=8.0, **options):
    """On an account of its own: counts would otherwise rather keep the pure promise."""

    def asked(x, *, ledger=None, **given):
        kind = given.get("neighbours", "add-remove"), unit_name(given.get("unit"))
        budget = Budget(given["epsilon"], given["delta"], *kind)
        return statistic(x, ledger=Ledger(budget) if ledger is None else ledger, **given)

    return Asked(asked, epsilon=epsilon, delta=1e-6, **options)


def density(x, **options):
    """The log of the density at zero, of cells."""
    model = MEstimator(KernelDensity(bandwidth=0.5), Bounds(-1, 1), cells=8).fit(x, **options)
    return replace(model.release_, value=float(model.score_samples([[0.0]])[0]), std=None)


def blocks(aggregate):
    return SampleAndAggregate(np.mean, 8, (-1.0, 1.0), aggregate, isolated=False)


OTHER = {"check_contract"}  # it is of models
RANKS = OTHER | NOISE  # audits are in test_smooth.py
BLOCKS = OTHER | AUDIT | ORDER | BAD  # a function of yours may count a row with something missing
NAMED = private_statistics()
READING = {
    "check_blind_to_the_data",
    "check_charges_before_reading",
    "check_hostile_rows",
    "check_leaves_data_alone",
    "check_replayed_loss",
}

# as above, of statistics by other methods, and of those made of functions
STATISTIC_VARIANTS = {
    "quantile, smooth": (Asked(NAMED["quantile"], method="smooth"), all_but(RANKS)),
    "quantile, ptr": (Asked(NAMED["quantile"], method="ptr", delta=1e-6), all_but(RANKS)),
    "quantile, histogram": (Asked(NAMED["quantile"], method="histogram"), all_but(OTHER | AUDIT)),
    "quantile, histogram, gaussian": (gaussian(NAMED["quantile"], method="histogram"), all_but(RANKS)),
    "iqr, ptr": (Asked(NAMED["iqr"], method="ptr", delta=1e-6), READING),
    "mad, smooth": (Asked(NAMED["mad"], method="smooth"), READING),
    "blocks, mean": (Asked(blocks("mean")), all_but(BLOCKS)),
    "blocks, mean, gaussian": (gaussian(blocks("mean")), all_but(BLOCKS)),
    "blocks, median": (Asked(blocks("median")), all_but(BLOCKS | NOISE)),
    "blocks, stable": (Asked(blocks("stable"), delta=1e-6), all_but(BLOCKS | NOISE)),
    "point": (Asked(PointEstimator(np.mean, 8, (-1.0, 1.0), isolated=False)), all_but(BLOCKS | NOISE)),
    "density": (Asked(density), all_but(RANKS)),
    "density, gaussian": (gaussian(density), all_but(RANKS)),
}
STATISTIC_PAIRS = [(name, check) for name, (_, checks) in STATISTIC_VARIANTS.items() for check in sorted(checks)]
