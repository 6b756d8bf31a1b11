"""Parameters of estimators: each is declared once, as an annotated attribute of the class that introduces it."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from discreet.bounds import Bounds
from discreet.budget import Neighbours
from discreet.ledger import Ledger

T = TypeVar("T")

# names that other libraries have for it, and what to write or to know instead
FOREIGN_NAMES: dict[str, tuple[tuple[str, ...], str]] = {
    "neighbors": (("neighbours",), ""),
    "bounds_X": (("bounds",), "discreet.Bounds(low, high, target=...) holds those of features and of the target"),
    "bounds_y": (("bounds",), "discreet.Bounds(low, high, target=...) holds those of features and of the target"),
    "data_norm": (("bounds",), "rows are clipped to public bounds, and norms follow from them"),
    "accountant": (("ledger",), ""),
    "noise_multiplier": (("epsilon",), "noise follows from the budget"),
    "max_grad_norm": (("clip",), ""),
    "C": ((), "how strongly coefficients are shrunk follows from the noise, and costs no search"),
    "penalty": ((), "how strongly coefficients are shrunk follows from the noise, and costs no search"),
    "max_iter": (("rounds", "epochs", "max_passes"), "how often rows are read is part of the budget's plan"),
    "n_iter": (("rounds", "epochs", "max_passes"), "how often rows are read is part of the budget's plan"),
    "tol": ((), "when to stop must not depend on rows: the number of steps is public"),
    "batch_size": (("lot", "batch"), "the expected number of rows of a Poisson sample"),
    "class_weight": ((), "weights multiply what one row may change; leave it out"),
    "warm_start": ((), "each fit is a release of its own"),
    "n_jobs": ((), "all cores are used where rows are many"),
    "cv": (("strategy",), "how candidates are compared; rows are not read once for each fold"),
    "scoring": (("strategy",), "candidates are compared by how many rows they get right, or by their squared errors"),
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: type[T]) -> type[T]:
    """Make the annotated attributes of a class the parameters of its `__init__`, with those that it inherits.

    `__init__` stores each parameter under its name and does nothing else, as scikit-learn's `clone`, `get_params` and
    `set_params` expect. All but `epsilon` and `delta` are given by name, unless declared by `field(kw_only=False)`. A
    class's own parameters come before those that all estimators share. What `fit` sets is annotated with
    `dataclasses.field(init=False)`, or with `ClassVar`.

    Examples
    --------
    >>> from discreet.models import PrivateRegressor
    >>> @estimator
    ... class Constant(PrivateRegressor):
    ...     value: float = 0.5
    ...
    ...     def _fit(self, task):
    ...         task.deal(1)
    >>> Constant(epsilon=2.0).set_params(value=1.0).get_params()["value"]
    1.0
    >>> ", ".join(list(inspect.signature(Constant).parameters)[:4])
    'epsilon, delta, value, neighbours'
    """
    made = dataclass(init=False, eq=False, repr=False, match_args=False, kw_only=True)(cls)
    signature = _build_signature(made)

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        bound = _bind_arguments(signature, self, given, named)
        bound.apply_defaults()
        _, *stored = bound.arguments.items()
        for name, value in stored:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    setattr(made, "__init__", __init__)  # noqa: B010 - mypy forbids the assignment
    return made


def hint_at_names(init: Callable[..., None]) -> Callable[..., None]:
    """Let an `__init__` that is written out say what to write in place of an unknown name, as `estimator` does."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        _bind_arguments(signature, self, given, named)
        init(self, *given, **named)

    return checked


def _bind_arguments(signature: inspect.Signature, self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    try:
        return signature.bind(self, *given, **named)
    except TypeError as error:
        raise TypeError(f"{type(self).__name__}: {error}.{_hint_at_name(signature, named)}") from None


def _build_signature(cls: Any) -> inspect.Signature:
    """The signature of `__init__`: positional parameters, the class's own ones first; then those given by name."""
    own = inspect.get_annotations(cls)
    *_, first = (one for one in cls.__mro__ if "__dataclass_fields__" in vars(one))
    shared = {one.name for one in fields(first)}
    declared = sorted(
        (one for one in fields(cls) if one.init),
        key=lambda one: (bool(one.kw_only), one.name in shared, one.name not in own),
    )
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([itself, *(_make_parameter(cls, one) for one in declared)])


def _hint_at_name(signature: inspect.Signature, named: Mapping[str, Any]) -> str:
    """What to write in place of the first name that is no parameter; empty where nothing comes to mind."""
    known = list(signature.parameters)[1:]
    for name in named:
        if name in known:
            continue
        close = difflib.get_close_matches(name, known, 1)
        names, why = FOREIGN_NAMES.get(name, (tuple(close), ""))
        found = [f"`{other}`" for other in names if other in known]
        if found or not names:
            said = "; ".join(part for part in (" or ".join(found), why) if part)
            return f" Hint: {said}." if said else ""
    return ""


def _make_parameter(cls: type, one: Field[Any]) -> inspect.Parameter:
    if one.default is MISSING:
        raise TypeError(
            f"The parameter `{one.name}` of {cls.__name__} has no default. Hint: annotate what `fit` sets with "
            "field(init=False)."
        )
    kind = inspect.Parameter.KEYWORD_ONLY if one.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(one.name, kind, default=one.default, annotation=one.type)


@estimator
class SharedParameters:
    """The parameters of every private estimator; `models.shared.estimator.PrivateEstimator` says what they mean."""

    epsilon: float = field(default=1.0, kw_only=False)
    delta: float = field(default=1e-6, kw_only=False)
    neighbours: Neighbours = "add-remove"
    unit: Any = None
    max_rows_per_unit: int | None = None
    n: int | None = None
    bounds: Bounds | None = None
    ledger: Ledger | None = None
    random_state: Any = None
