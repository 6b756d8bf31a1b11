"""Parameters of estimators: each is declared once, as an annotated attribute of the class that introduces it."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from discreet.bounds import Bounds
from discreet.budget import Neighbours
from discreet.ledger import Ledger

T = TypeVar("T")


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
    signature = _sign(made)

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        try:
            bound = signature.bind(self, *given, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}.") from None
        bound.apply_defaults()
        _, *stored = bound.arguments.items()
        for name, value in stored:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    setattr(made, "__init__", __init__)  # noqa: B010 - mypy forbids the assignment
    return made


def _sign(cls: Any) -> inspect.Signature:
    """The signature of `__init__`: positional parameters, the class's own ones first; then those given by name."""
    own = inspect.get_annotations(cls)
    *_, first = (one for one in cls.__mro__ if "__dataclass_fields__" in vars(one))
    shared = {one.name for one in fields(first)}
    declared = sorted(
        (one for one in fields(cls) if one.init),
        key=lambda one: (bool(one.kw_only), one.name in shared, one.name not in own),
    )
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([itself, *(_parameter(cls, one) for one in declared)])


def _parameter(cls: type, one: Field[Any]) -> inspect.Parameter:
    if one.default is MISSING:
        raise TypeError(
            f"The parameter `{one.name}` of {cls.__name__} has no default. Hint: annotate what `fit` sets with "
            "field(init=False)."
        )
    kind = inspect.Parameter.KEYWORD_ONLY if one.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(one.name, kind, default=one.default, annotation=one.type)


@estimator
class Shared:
    """The parameters of every private estimator; `models.base.PrivateEstimator` says what they mean."""

    epsilon: float = field(default=1.0, kw_only=False)
    delta: float = field(default=1e-6, kw_only=False)
    neighbours: Neighbours = "add-remove"
    unit: Any = None
    max_rows_per_unit: int | None = None
    n: int | None = None
    bounds: Bounds | None = None
    ledger: Ledger | None = None
    random_state: Any = None
