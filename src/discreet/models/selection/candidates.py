"""Candidates: public settings of an estimator, and how one of them is fitted out of sight."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from discreet.budget import Budget
from discreet.errors import DiscreetWarning, NotSupported
from discreet.events import Approximate, Event, Pure, Sampled, flatten
from discreet.mechanisms.keystream import Keystream, default

# the search sets these itself
KEPT = {"epsilon", "delta", "neighbours", "unit", "max_rows_per_unit", "n", "classes", "ledger", "random_state"}
WATCHERS = {"callback": None, "progress": False}  # of an estimator, or of one inside it: what shows how a fit goes


@dataclass(frozen=True)
class Found:
    """What a search found: the place of the candidate and its fitted model. `ran` is False if there was no trial."""

    index: int
    model: Any
    ran: bool = True


def listed(grid: Any, distributions: Any, draws: int) -> list[dict[str, Any]]:
    """All settings of a grid, or so many drawn from distributions; nothing of the data enters."""
    if (grid is None) == (distributions is None):
        raise ValueError("PrivateSearchCV takes `param_grid` or `param_distributions`: one of the two.")
    if grid is not None:
        settings = list(ParameterGrid(grid))
    else:
        # unpredictable, though public once drawn
        seed = np.random.SeedSequence([default().word() for _ in range(4)])
        rng = np.random.RandomState(np.random.MT19937(seed))
        settings = list(ParameterSampler(distributions, draws, random_state=rng))
    kept = sorted({name for setting in settings for name in setting if name in KEPT})
    if kept:
        raise ValueError(f"A search does not try values of {', '.join(map(repr, kept))}: its promise is about them.")
    return settings


def candidate(estimator: Any, setting: dict[str, Any], epsilon: float, delta: float, n: int | None) -> Any:
    """The estimator with a setting and a budget, and an account of its own, which dies with it."""
    # rows come to it as they are: what is a unit's in them is bounded by the search
    ours = {"n": n, "ledger": None, "random_state": None, **bounding(estimator, None, None)}
    own = {
        name: clone(value, safe=False) for name, value in setting.items()
    }  # the caller's estimators stay as they are
    return clone(estimator).set_params(**own, epsilon=epsilon, delta=delta, **ours)


def bounding(estimator: Any, unit: Any, limit: int | None) -> dict[str, Any]:
    """Parameters of an estimator about units, as far as it has them."""
    wanted = {"unit": unit, "max_rows_per_unit": limit}
    return {name: value for name, value in wanted.items() if name in estimator.get_params(deep=False)}


def fitted(model: Any, rows: Any, rng: Keystream) -> Any:
    """The model, fitted; its noise is the operating system's, or follows from the seed of the search.

    Nobody watches: a callback would see candidates that are not released, and a bar how many trials there are.
    """
    unwatched = {name: WATCHERS[last] for name in model.get_params() if (last := name.split("__")[-1]) in WATCHERS}
    model.set_params(random_state=None if rng.secure else rng.bits(62), **unwatched)
    with quiet():
        return model.fit(rows)


def within_event(event: Event, budget: Budget) -> Budget:
    """What an event allows one row to be promised, as a budget for rows."""
    assert isinstance(event, (Approximate, Pure))
    return Budget.derive(event.epsilon, event.delta if isinstance(event, Approximate) else 0.0, budget.neighbours)


def refuse_lots_of_groups(event: Event, group: int) -> None:
    """Raise, before anything is charged, if a candidate samples lots of rows of which a unit may have several.

    A lot holds all rows of a unit or none of them, so a candidate that accounts for single rows would be wrong about
    how likely two rows are to be in a lot together: what a group of rows is promised does not follow.
    """
    if group > 1 and any(isinstance(leaf, Sampled) for leaf, _ in flatten(event)):
        raise NotSupported(
            f"A search does not try estimators that sample lots, with up to {group} rows of each unit: the privacy of "
            "a sample is known for one row each. Hint: max_rows_per_unit=None or 1; or strategy='public'."
        )


@contextmanager
def quiet() -> Iterator[None]:
    """The search itself has said what there is to say of seeds and of delta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        yield
