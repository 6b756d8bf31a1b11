"""Where, in an estimator made of others, the promise and the seed are set."""

from __future__ import annotations

from typing import Any


def owners(model: Any) -> list[str]:
    """The prefixes of those parts that have an `epsilon`, the outermost first.

    >>> from sklearn.pipeline import make_pipeline
    >>> from discreet.models import Ridge
    >>> owners(Ridge()), owners(make_pipeline(Ridge()))
    ([''], ['ridge__'])
    """
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "epsilon"]
    return [name.removesuffix("epsilon") for name in sorted(names, key=_depth)]


def epsilon_of(model: Any) -> str:
    """The name of the parameter that is the ε of all of it; `ValueError` where there is none, or several."""
    found = [owner for owner in owners(model) if _depth(owner) == _depth(owners(model)[0])]
    if len(found) != 1:
        raise ValueError(
            f"An estimator to evaluate has one `epsilon`. {type(model).__name__} has {len(found) or 'none'}."
        )
    return f"{found[0]}epsilon"


def seeds_of(model: Any) -> list[str]:
    """The names of the outermost parameters that are seeds."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return [name for name in names if _depth(name) == min(map(_depth, names))]


def refuse(name: str, model: Any) -> None:
    """Raise if an evaluation of this estimator would charge a ledger, or cannot be cut into parts."""
    epsilon_of(model)
    params = model.get_params()
    for owner in owners(model):
        if params.get(f"{owner}ledger") is not None:
            raise ValueError(
                f"The `ledger` of {name!r} must be None: an evaluation is not private, and charges nothing. "
                "Hint: evaluate on public or simulated rows, then fit with the ledger."
            )
        unit = params.get(f"{owner}unit")
        if unit is not None and not isinstance(unit, str):
            raise ValueError(f"The `unit` of {name!r} must be the name of a column, so that rows can be held out.")
        if unit is not None and params.get(f"{owner}n") is not None:
            raise ValueError(f"The `n` of {name!r} must be None where there is a `unit`: parts have other numbers.")


def _depth(name: str) -> int:
    return name.count("__")
