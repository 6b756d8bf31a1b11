"""The parameters of an estimator, possibly made of others, that set its privacy budget and its seed."""

from __future__ import annotations

from typing import Any


def find_owners(model: Any) -> list[str]:
    """The prefixes of the parts that have an `epsilon`, the outermost first.

    >>> from sklearn.pipeline import make_pipeline
    >>> from discreet.models import Ridge
    >>> find_owners(Ridge()), find_owners(make_pipeline(Ridge()))
    ([''], ['ridge__'])
    """
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "epsilon"]
    return [name.removesuffix("epsilon") for name in sorted(names, key=_count_levels)]


def find_epsilon_name(model: Any) -> str:
    """The name of the parameter that is the ε of the whole estimator; `ValueError` if there is none, or several."""
    found = [owner for owner in find_owners(model) if _count_levels(owner) == _count_levels(find_owners(model)[0])]
    if len(found) != 1:
        raise ValueError(
            f"An estimator to evaluate has one `epsilon`. {type(model).__name__} has {len(found) or 'none'}."
        )
    return f"{found[0]}epsilon"


def find_seed_names(model: Any) -> list[str]:
    """The names of the outermost parameters that are seeds."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return [name for name in names if _count_levels(name) == min(map(_count_levels, names))]


def refuse_model(name: str, model: Any) -> None:
    """Raise if an evaluation of this estimator would charge a ledger, or its rows cannot be divided."""
    find_epsilon_name(model)
    params = model.get_params()
    for owner in find_owners(model):
        if params.get(f"{owner}ledger") is not None:
            raise ValueError(
                f"The `ledger` of {name!r} must be None: an evaluation is not private, and charges nothing. "
                "Hint: evaluate on public or simulated rows, then fit with the ledger."
            )
        unit = params.get(f"{owner}unit")
        if unit is not None and not isinstance(unit, str):
            raise ValueError(f"The `unit` of {name!r} must be the name of a column, so that rows can be held out.")
        if unit is not None and params.get(f"{owner}n") is not None:
            raise ValueError(
                f"The `n` of {name!r} must be None where there is a `unit`: parts of the rows have other sizes."
            )


def _count_levels(name: str) -> int:
    return name.count("__")
