"""The names of the features of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.arguments import is_whole


def names_of(model: Any) -> list[str]:
    """The columns that the model was fitted on, or x1, x2, ..."""
    known = getattr(model, "feature_names_in_", None)
    return [f"x{i + 1}" for i in range(model.n_features_in_)] if known is None else [str(name) for name in known]


def place_of(names: Sequence[str], feature: Any) -> int:
    """The place of a feature, given by name or number.

    >>> place_of(["age", "bmi"], "bmi")
    1
    """
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"The `feature` must be one of {', '.join(names)}. Got {feature!r}.")
        return list(names).index(feature)
    if not is_whole(feature) or not 0 <= feature < len(names):
        raise ValueError(f"The `feature` must be a name, or a number from 0 to {len(names) - 1}. Got {feature!r}.")
    return int(feature)
