"""A person's row, (features, target), as a question: its products, or its gradient at public weights.

Both are functions of one row on the person's own device. Numbers outside the public bounds are clipped, anything that
is not a number counts as the middle, and an unknown class counts as half of each of the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.local.questions import GRID, QUESTIONS, Value, find_value, place_number, write_bound
from discreet.local.randomise import Bits

LINKS = ("logit", "identity", "log")


@dataclass(frozen=True)
class RowQuestion:
    """The bounds of a row.

    Parameters
    ----------
    low, high : the bounds of each feature.
    target : the bounds of the target, or its two classes.
    classes : 1 if `target` holds classes, 0 if it holds bounds.
    """

    low: tuple[str, ...]
    high: tuple[str, ...]
    target: tuple[Any, Any]
    classes: int = 0
    measure: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, tuple(write_bound(name, end) for end in getattr(self, name)))
        if (
            len(self.low) != len(self.high)
            or not self.low
            or any(Fraction(a) >= Fraction(b) for a, b in zip(self.low, self.high, strict=True))
        ):
            raise ValueError("The bounds of features must be pairs, low < high.")
        ends = tuple(self.target)
        if not self.classes:
            ends = tuple(write_bound("target", end) for end in ends)
        object.__setattr__(self, "target", ends)
        if len(ends) != 2 or (not self.classes and Fraction(ends[0]) >= Fraction(ends[1])):
            raise ValueError("The `target` of a row must be two classes, or two bounds, low < high.")

    @property
    def feature_count(self) -> int:
        """The number of features."""
        return len(self.low)

    def place_row(self, value: Any) -> tuple[list[int], int]:
        """The places of a row, (features, target), on a grid from -GRID to GRID."""
        x: Any
        x, y = value if isinstance(value, (tuple, list)) and len(value) == 2 else (None, None)
        parts = list(x) if hasattr(x, "__len__") and not isinstance(x, (str, bytes, dict)) else []
        parts = parts if len(parts) == self.feature_count else [None] * self.feature_count
        ends = [(Fraction(a), Fraction(b)) for a, b in zip(self.low, self.high, strict=True)]
        places = [place_number(one, *pair) for one, pair in zip(parts, ends, strict=True)]
        if not self.classes:
            return places, place_number(y, Fraction(self.target[0]), Fraction(self.target[1]))
        found = find_value(self.target, getattr(y, "item", lambda: y)())
        return places, 0 if found is None else GRID * (2 * found - 1)

    def decode_mean(self, value: Any) -> Any:
        """Means of products and gradients stay on [-1, 1]."""
        return value

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds of what is estimated."""
        return Fraction(-1), Fraction(1)


@dataclass(frozen=True)
class ProductsQuestion(RowQuestion):
    """The features, their squares (as 2z² − 1) and products, their products with the target, and the target."""

    kind: ClassVar[str] = "products"

    @property
    def size(self) -> int:
        """The number of products."""
        d = self.feature_count
        return 2 * d + d * (d - 1) // 2 + d + 1

    def encode_answer(self, value: Any, bits: Bits) -> tuple[int, ...]:
        """Places of all products on the grid."""
        z, t = self.place_row(value)
        d = self.feature_count
        squares = [2 * x * x // GRID - GRID for x in z]
        pairs = [z[i] * z[j] // GRID for i in range(d) for j in range(i + 1, d)]
        return (*z, *squares, *pairs, *(x * t // GRID for x in z), t)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        ends = {"low": list(self.low), "high": list(self.high), "target": list(self.target)}
        return {"kind": self.kind, **ends, "classes": self.classes}


@dataclass(frozen=True)
class GradientQuestion(RowQuestion):
    """The gradient of a row's own loss at public weights, no longer than 1.

    Parameters
    ----------
    weights : the weights of the intercept and of each feature, as decimals, for features (1, z)/√(d + 1) in the unit
        ball.
    link : "logit", "identity" (of a target on [-1, 1]) or "log" (of a share of the target's upper bound).
    """

    weights: tuple[str, ...] = ()
    link: str = "logit"
    kind: ClassVar[str] = "gradient"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", tuple(write_bound("weights", weight) for weight in self.weights))
        if len(self.weights) != self.size or self.link not in LINKS or (self.link == "logit") != bool(self.classes):
            raise ValueError(f"A gradient needs a weight for each feature and one, and a link of {', '.join(LINKS)}.")

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.feature_count + 1

    def encode_answer(self, value: Any, bits: Bits) -> tuple[int, ...]:
        """Places of the gradient on the grid, in the unit ball."""
        z, t = self.place_row(value)
        unit = [x / GRID / math.sqrt(self.size) for x in (GRID, *z)]
        rest = compute_residual(self.link, sum(float(w) * x for w, x in zip(self.weights, unit, strict=True)), t / GRID)
        return tuple(int(rest * x * (GRID - self.size)) for x in unit)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        ends = {"low": list(self.low), "high": list(self.high), "target": list(self.target)}
        return {"kind": self.kind, **ends, "classes": self.classes, "weights": list(self.weights), "link": self.link}


def compute_residual(link: str, eta: float, target: float) -> float:
    """The prediction minus the target, within [-1, 1], for a target on [-1, 1].

    >>> compute_residual("logit", 0.0, 1.0), compute_residual("identity", 3.0, 0.5), compute_residual("log", 0.0, 1.0)
    (-0.5, 1.0, 0.0)
    """
    if link == "identity":
        return min(max(eta - target, -1.0), 1.0)
    if link == "log":
        return math.exp(min(max(eta, -700.0), 0.0)) - (target + 1) / 2
    return 1 / (1 + math.exp(-min(max(eta, -700.0), 700.0))) - (target + 1) / 2


QUESTIONS |= {one.kind: one for one in (ProductsQuestion, GradientQuestion)}


def make_row(
    low: Any, high: Any, target: tuple[Any, Any] | None, classes: tuple[Value, Value] | None
) -> dict[str, Any]:
    """The bounds of a row, as parameters of a question."""
    if (target is None) == (classes is None):
        raise ValueError("A row has a target with bounds, or two classes.")
    ends = target if classes is None else classes
    return {"low": tuple(low), "high": tuple(high), "target": tuple(ends or ()), "classes": int(classes is not None)}
