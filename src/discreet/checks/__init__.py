"""Checks that every private estimator and statistic must pass; shipped to users, like scikit-learn's.

    from discreet.checks import check_private_estimator
    check_private_estimator(MyPrivateModel(epsilon=1.0, bounds=...))

Each check is a function of its own, so that a test suite can run them one by one: `estimator_checks` and
`statistic_checks` list them. They change the parameters of what they are given: give each a copy.
`private_estimators` and `private_statistics` find all that discreet offers, so that a new one is checked without anyone
remembering.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from discreet.checks.behaviour import (
    SURE,
    check_audit,
    check_bad_rows_add_nothing,
    check_blind_to_the_data,
    check_charges_before_reading,
    check_contract,
    check_engines_agree,
    check_hostile_rows,
    check_leaves_data_alone,
    check_nothing_escapes,
    check_refusal_changes_nothing,
    check_seeded,
    check_spends_what_it_declares,
    check_stated_noise,
)
from discreet.checks.engines import check_engine, engine_checks
from discreet.checks.replay import (
    check_replay,
    check_replayed_loss,
    replay_audit,
    replayed_losses,
    unreplayed_procedures,
)
from discreet.checks.specimens import (
    Asked,
    prepared,
    private_estimators,
    private_procedures,
    private_searches,
    private_statistics,
)
from discreet.checks.units import check_units
from discreet.release import Release

__all__ = [
    "SURE",
    "Asked",
    "check_audit",
    "check_bad_rows_add_nothing",
    "check_blind_to_the_data",
    "check_charges_before_reading",
    "check_contract",
    "check_engine",
    "check_engines_agree",
    "check_hostile_rows",
    "check_leaves_data_alone",
    "check_nothing_escapes",
    "check_private_estimator",
    "check_private_statistic",
    "check_refusal_changes_nothing",
    "check_replay",
    "check_replayed_loss",
    "check_seeded",
    "check_spends_what_it_declares",
    "check_stated_noise",
    "check_units",
    "engine_checks",
    "estimator_checks",
    "prepared",
    "private_estimators",
    "private_procedures",
    "private_searches",
    "private_statistics",
    "replay_audit",
    "replayed_losses",
    "statistic_checks",
    "unreplayed_procedures",
]


def check_private_estimator(estimator: Any) -> None:
    """Run every check on a private estimator; the first that fails raises `AssertionError`.

    >>> from discreet.models import BayesianLinearRegression
    >>> check_private_estimator(BayesianLinearRegression(epsilon=4.0, delta=1e-6))
    """
    estimator = prepared(estimator)
    for check in estimator_checks():
        check(copy.deepcopy(estimator))


def check_private_statistic(statistic: Callable[..., Release]) -> None:
    """Run every check on a function of a column that returns a `Release`."""
    for check in statistic_checks():
        check(statistic)


def estimator_checks() -> list[Callable[[Any], None]]:
    """The checks of an estimator."""
    return [
        check_spends_what_it_declares,
        check_blind_to_the_data,
        check_charges_before_reading,
        check_refusal_changes_nothing,
        check_hostile_rows,
        check_bad_rows_add_nothing,
        check_engines_agree,
        check_replay,
        check_replayed_loss,
        check_units,
        check_nothing_escapes,
        check_leaves_data_alone,
        check_contract,
        check_seeded,
        check_stated_noise,
        check_audit,
    ]


def statistic_checks() -> list[Callable[[Callable[..., Release]], None]]:
    """The checks of a statistic."""
    return [_as_statistic_check(check) for check in estimator_checks() if check is not check_contract]


def _as_statistic_check(check: Callable[[Any], None]) -> Callable[[Callable[..., Release]], None]:
    def run(statistic: Callable[..., Release]) -> None:
        check(Asked(statistic))

    run.__name__ = check.__name__
    return run
