"""Labels to numbers, by a public list of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Number
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


def refuse_kind(owner: str, y: Any, known: Sequence[Any]) -> None:
    """Raise if targets are of a type of which no known label can be: numbers where all labels are text, or the reverse.

    By types alone, which are public; a column of objects, or a list, may hold anything.

    >>> refuse_kind("Model", np.array([1, 2]), ["1", "2"])
    Traceback (most recent call last):
        ...
    TypeError: The y of Model is numbers, and all of its `classes` are text: no row would be of any class. Hint: ...
    """
    kind, kinds = kind_of(y), {_kind(label) for label in known}
    if kind is not None and kinds in ({"numbers"}, {"text"}) and kind not in kinds:
        raise TypeError(
            f"The y of {owner} is {kind}, and all of its `classes` are {kinds.pop()}: no row would be of any class. "
            "Hint: write the classes as y has them, or convert y."
        )


def refuse_classes(owner: str, classes: Any) -> tuple[Any, ...]:
    """The labels as plain values; raise if they are no list of two or more different ones.

    >>> refuse_classes("Model", [1])
    Traceback (most recent call last):
        ...
    ValueError: The `classes` of Model must be two or more distinct labels. Got (1,).
    """
    plain = listed(classes)
    try:
        distinct = len(set(plain))
    except TypeError:
        raise TypeError(f"The `classes` of {owner} must be labels: numbers or text. Got {plain!r}.") from None
    if distinct < 2 or distinct != len(plain):
        raise ValueError(f"The `classes` of {owner} must be two or more distinct labels. Got {plain!r}.")
    return plain


def kind_of(column: Any) -> str | None:
    """What a column holds by its type, "numbers" or "text"; None where the type does not say.

    >>> kind_of(np.array([True])), kind_of(np.array(["a"])), kind_of(np.array([1], dtype=object)), kind_of([1])
    ('numbers', 'text', None, None)
    """
    dtype = getattr(column, "dtype", None)
    kind, name = getattr(dtype, "kind", None), type(dtype).__name__
    if name in ("StringDtype", "String", "Categorical", "Enum") and kind in (None, "O", "T", "U"):  # polars, pandas
        return "text"
    if (isinstance(kind, str) and kind in "biuf") or _polars_number(dtype):
        return "numbers"
    return "text" if kind in ("U", "T") else None


def made_of(column: Any) -> type[bool] | type[float] | None:
    """The type of labels that a column's own type tells, where it is not whole numbers or text; None where it is.

    >>> made_of(np.array([True])), made_of(np.array([1.0])), made_of(np.array([1])), made_of([True])
    (<class 'bool'>, <class 'float'>, None, None)
    """
    dtype: Any = getattr(column, "dtype", None)
    categories = getattr(dtype, "categories", None)
    dtype = getattr(categories, "dtype", dtype)  # of pandas: those of the labels
    kind = getattr(dtype, "kind", None)
    if kind == "b" or str(dtype) == "Boolean":
        return bool
    if kind == "f" or (hasattr(dtype, "is_float") and dtype.is_float()):
        return float
    return None


def _polars_number(dtype: Any) -> bool:
    return bool(hasattr(dtype, "is_numeric") and (dtype.is_numeric() or str(dtype) == "Boolean"))


def _kind(label: Any) -> str | None:
    if isinstance(label, str):
        return "text"
    return "numbers" if isinstance(label, (Number, np.bool_)) else None


def ordered(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Labels in their natural order, or as they come where there is none.

    >>> ordered(["b", "a"]), ordered([2, "x", 1])
    (('a', 'b'), (2, 'x', 1))
    """
    plain = listed(labels)
    try:
        return tuple(sorted(plain))
    except TypeError:
        return plain


def listed(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Labels as plain Python values; a text is no list of its letters.

    >>> listed(np.array([1, 2])), listed(["ab", "c"])
    ((1, 2), ('ab', 'c'))
    """
    if isinstance(labels, (str, bytes)):
        raise TypeError(f"The `classes` must be a list of labels. Got {labels!r}. Hint: [{labels!r}, ...].")
    if not isinstance(labels, Iterable):
        raise TypeError(f"The `classes` must be a list of labels. Got {labels!r}.")
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


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


def unit_name(unit: Any) -> str:
    """What a unit is called: by its column, by the name of a series, or "unit"; a row where there is none."""
    if unit is None or isinstance(unit, str):
        return unit or "row"
    name = getattr(unit, "name", None)
    return name if isinstance(name, str) and name else "unit"
