"""Labels to numbers, by a public list of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def codes_of(values: NDArray[Any], known: Sequence[Any]) -> NDArray[np.int64]:
    """The place of each value in the list of known labels; -1 for any other, missing and unhashable ones too.

    Each value is looked up by itself, so that one odd row cannot change what the others are taken for.

    >>> codes_of(np.array(["b", None, 3], dtype=object), ["a", "b"])
    array([ 1, -1, -1])
    """
    if values.dtype != object:
        return _same_type(values, known)
    places = {label: place for place, label in enumerate(known)}

    def place(value: Any) -> int:
        try:
            return places.get(value, -1)
        except Exception:  # unhashable, ambiguous, or stranger
            return -1

    return np.asarray(np.frompyfunc(place, 1, 1)(values), np.int64)


def _same_type(values: NDArray[Any], known: Sequence[Any]) -> NDArray[np.int64]:
    code = np.full(len(values), -1)
    for place, label in enumerate(known):
        if np.ndim(label) == 0:  # no value of a typed array is a tuple
            match = values == label
            if isinstance(match, np.ndarray):  # not where text is compared with a number
                code[match] = place
    return code


def ordered(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Labels in their natural order, or as they come where there is none.

    >>> ordered(["b", "a"]), ordered([2, "x", 1])
    (('a', 'b'), (2, 'x', 1))
    """
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    try:
        return tuple(sorted(plain))
    except TypeError:
        return tuple(plain)


def canonical(value: Any) -> Any:
    """One form for all values that are equal, of texts and numbers; None for anything else, and for what is missing.

    Else which of several equal values (1, 1.0, True) stands for a label would depend on a single row.

    >>> [canonical(value) for value in ("a", True, 2.0, 0.5, float("nan"), (1,), None)]
    ['a', 1, 2, 0.5, None, None, None]
    """
    try:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (bool, np.bool_, int, np.integer)):
            return int(value)
        if isinstance(value, (float, np.floating)):
            number = float(value)
            return None if np.isnan(number) else int(number) if number.is_integer() else number
    except Exception:  # whatever a strange value does: it is no label, and tells nothing of itself
        return None
    return None
