"""Documents: values as JSON and back, exactly; values alone, for no code is stored and none is run on reading.

| value | form |
| --- | --- |
| None, True, numbers, text | as in JSON; floats to the bit |
| NaN and infinity, tuples, dictionaries, bytes, fractions | tagged |
| arrays, numbers of NumPy | type, shape, order and bytes |
| objects of discreet that are plain data: bounds, events, releases, models … | name (`names`) and attributes |

Functions, and whatever else is not in the table, have no form: `ValueError`.
"""

from __future__ import annotations

import base64
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.documents.registered_names import find, first_module, name_of


def dump(value: Any, former: bool = False) -> str:
    """The document of a value; the same for equal values, whatever the order of dictionaries.

    With `former`, classes are named by the modules where they first were, as in documents from before names were
    registered.

    >>> load(dump({"a": (1, 0.1, np.arange(2.0))}))
    {'a': (1, 0.1, array([0., 1.]))}
    >>> dump({"f": len})
    Traceback (most recent call last):
    ...
    ValueError: a builtin_function_or_method has no stable form
    """
    try:
        return json.dumps(to_form(value, former), sort_keys=True, allow_nan=False)
    except RecursionError:
        raise ValueError("what refers to itself has no stable form") from None


def load(text: str) -> Any:
    """The value of a document."""
    return of_form(json.loads(text))


def to_form(value: Any, former: bool = False) -> Any:
    """The form of a value: what `dump` writes, as lists and dictionaries for a document of one's own."""
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [to_form(part, former) for part in value]
    if kind is tuple:
        return {"tuple": [to_form(part, former) for part in value]}
    if kind is dict:
        pairs = [[to_form(key, former), to_form(part, former)] for key, part in value.items()]
        return {"dict": sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True))}
    if kind is bytes:
        return {"bytes": _text(value)}
    if kind is Fraction:
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, np.generic) and not value.dtype.hasobject and value.dtype.kind != "V":
        return {"scalar": [value.dtype.str, _text(value.tobytes())]}
    if kind is np.ndarray:
        return _array(value, former)
    return _object(value, former)


def of_form(form: Any) -> Any:
    """The value of a form; `ValueError` for what is none."""
    try:
        return _value(form)
    except (TypeError, LookupError, ArithmeticError, AttributeError, ImportError, RecursionError):
        raise ValueError("This is no document of discreet: it holds a form that is broken.") from None


def _value(form: Any) -> Any:
    if isinstance(form, list):
        return [_value(part) for part in form]
    if not isinstance(form, dict):
        return form
    if len(form) != 1 or (reader := _READERS.get(next(iter(form)))) is None:
        raise ValueError("This is no document of discreet: it holds a form that is not known.")
    (content,) = form.values()
    return reader(content)


def _array(array: Any, former: bool) -> Any:
    if array.dtype == object:
        return {"objects": [list(array.shape), [to_form(part, former) for part in array.ravel().tolist()]]}
    if array.dtype.hasobject or array.dtype.kind == "V":
        raise ValueError(f"an array of {array.dtype} has no stable form")
    # the order in memory belongs to it: products may differ in the last bit with it
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return {
        "array": [array.dtype.str, list(array.shape), order, array.flags.writeable, _text(array.tobytes(order=order))]
    }


def _read_array(content: Any) -> Any:
    dtype, shape, order, writeable, text = content
    array = np.frombuffer(bytearray(_bytes(text)), np.dtype(dtype)).reshape(shape, order=order)
    array.flags.writeable = writeable
    return array


def _read_objects(content: Any) -> Any:
    shape, parts = content
    array = np.empty(len(parts), dtype=object)
    array[:] = [_value(part) for part in parts]
    return array.reshape(shape)


def _object(value: Any, former: bool) -> Any:
    kind = type(value)
    name = name_of(kind)
    if name is None:
        raise ValueError(f"a {kind.__qualname__} has no stable form")
    state = {key: to_form(part, former) for key, part in attributes(value).items()}
    return {"object": [first_module(name), kind.__qualname__, state] if former else [name, state]}


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds, as it would be pickled: a model without its ledger, a stream without its sums."""
    state = value.__getstate__() if hasattr(value, "get_params") else getattr(value, "__dict__", {})
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    return dict(state) | {name: getattr(value, name) for name in slots if hasattr(value, name)}


def _read_object(content: Any) -> Any:
    *place, state = content
    name = place[0] if len(place) == 1 else _registered(*place)
    try:
        cls = find(name)
    except LookupError:
        raise ValueError(f"{name} is no class that documents hold.") from None
    if not isinstance(cls, type) or any(key.startswith("__") for key in state):
        raise ValueError(f"A {name} holds no attribute of such a name.")
    value: Any = object.__new__(cls)
    for key, part in state.items():
        object.__setattr__(value, key, _value(part))
    return value


def _registered(module: str, name: str) -> str:
    """The registered name of a class that an earlier document names by its module."""
    return f"{module.split('.')[1]}.{name}"


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_FLOATS = {repr(number): number for number in (math.nan, math.inf, -math.inf)}
_READERS: dict[str, Any] = {
    "tuple": lambda parts: tuple(_value(part) for part in parts),
    "dict": lambda pairs: {_value(key): _value(part) for key, part in pairs},
    "bytes": _bytes,
    "float": lambda text: _FLOATS[text],
    "fraction": lambda pair: Fraction(*pair),
    "scalar": lambda pair: np.frombuffer(_bytes(pair[1]), np.dtype(pair[0]))[0],
    "array": _read_array,
    "objects": _read_objects,
    "object": _read_object,
}
