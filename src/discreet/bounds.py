"""Bounds: public facts about the data, never computed from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.documents import html
from discreet.labels import refuse_classes

Floats = NDArray[np.float64]


NARROWEST = 1e-300  # half of a range: one over it is a number still


class Bounds:
    """Ranges of the features and of the target, and the classes there may be: facts that everybody may know.

    They come from the meaning of the columns (an age lies within 0 and 120), from a code book or from public data.
    Values outside are clipped, so bounds that are too narrow or too wide cost accuracy, never privacy. Leave them
    out and they are estimated privately, with a paid share of the budget.

    Parameters
    ----------
    lower, upper : numbers, or one per feature; or, as `lower` alone, a dictionary of column name -> (low, high).
    target : (low, high) of the quantity to predict.
    classes : the labels there may be, for classification.

    Examples
    --------
    >>> Bounds(0, 1, target=(-10, 10))
    Bounds(0.0, 1.0, target=(-10.0, 10.0))
    >>> Bounds({"age": (0, 120), "bmi": (10, 70)}).columns
    ('age', 'bmi')
    """

    __slots__ = ("classes", "columns", "lower", "target", "upper")

    lower: Floats
    upper: Floats
    target: tuple[float, float] | None
    classes: tuple[Any, ...] | None
    columns: tuple[str, ...] | None

    def __init__(
        self,
        lower: ArrayLike | Mapping[str, tuple[float, float]],
        upper: ArrayLike | None = None,
        target: tuple[float, float] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        columns: tuple[str, ...] | None = None
        if isinstance(lower, Mapping):
            if upper is not None:
                raise ValueError(
                    "Bounds takes a dictionary of column -> (low, high), or `lower` and `upper`, not both."
                )
            columns, pairs = tuple(lower), [_pair(str(name), pair) for name, pair in lower.items()]
            lower, upper = [low for low, _ in pairs], [high for _, high in pairs]
        elif upper is None:
            raise ValueError("Bounds needs `upper` beside `lower`, or one dictionary of column -> (low, high).")
        low, high = _interval(lower, upper, columns)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "target", None if target is None else _pair("target", target))
        object.__setattr__(self, "classes", None if classes is None else refuse_classes("Bounds", classes))
        object.__setattr__(self, "columns", columns)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Bounds are public facts and do not change; make new ones.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.lower, self.upper, self.target, self.classes, self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bounds) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _repr_html_(self) -> str:
        names = self.columns or tuple(f"x{place + 1}" for place in range(len(self.lower)))
        rows = [(name, f"{low:g}", f"{high:g}") for name, low, high in zip(names, self.lower, self.upper, strict=True)]
        if self.target is not None:
            rows.append(("target", f"{self.target[0]:g}", f"{self.target[1]:g}"))
        table = html.write_table(rows, ("column", "low", "high"), "Public bounds")
        classes = "" if self.classes is None else f"Classes: {', '.join(map(str, self.classes))}"
        return table + html.write_paragraphs(classes)

    def __repr__(self) -> str:
        if self.columns is None:
            parts = [repr(self.lower.tolist()), repr(self.upper.tolist())]
        else:
            pairs = zip(self.columns, self.lower.tolist(), self.upper.tolist(), strict=True)
            parts = [repr({name: (low, high) for name, low, high in pairs})]
        parts += [
            f"{name}={getattr(self, name)!r}" for name in ("target", "classes") if getattr(self, name) is not None
        ]
        return f"Bounds({', '.join(parts)})"

    @property
    def width(self) -> int | None:
        """How many features; None where one pair of numbers stands for any number of them."""
        return None if self.lower.ndim == 0 else len(self.lower)

    def with_classes(self, classes: Sequence[Any]) -> Bounds:
        """The same with these labels, which may have been found privately: of a single class, too."""
        return _rebuild(self.lower, self.upper, self.target, tuple(classes), self.columns)

    def with_ends(self, lower: ArrayLike, upper: ArrayLike) -> Bounds:
        """Other ends, one pair per feature, of the same target."""
        return _rebuild(lower, upper, self.target, self.classes, None)

    def matched(self, width: int, columns: Sequence[str] | None = None) -> Bounds:
        """These bounds, one pair per feature, in the order of the data's columns."""
        if self.columns is not None and columns is not None:
            return self._ordered(columns)
        if self.width not in (None, width):
            raise ValueError(
                f"The bounds are of {self.width} features, the data have {width}. Hint: one low and one high for each "
                "feature, or one pair of numbers for all."
            )
        low, high = np.broadcast_to(self.lower, width), np.broadcast_to(self.upper, width)
        return self.with_ends(low, high)

    def _ordered(self, columns: Sequence[str]) -> Bounds:
        known = {name: i for i, name in enumerate(self.columns or ())}
        missing = [name for name in columns if name not in known]
        unknown = [name for name in known if name not in set(columns)]
        if missing or unknown:
            raise ValueError(
                "The columns of the bounds and of the data differ:"
                + (f" no bounds for {missing};" if missing else "")
                + (f" not in the data: {unknown};" if unknown else "")
                + f" the data have {list(columns)}."
            )
        order = [known[name] for name in columns]
        return self.with_ends(self.lower[order], self.upper[order])

    @property
    def centre(self) -> Floats:
        """The middle of each range."""
        return np.asarray(self.lower / 2 + self.upper / 2)

    @property
    def half(self) -> Floats:
        """Half the width of each range."""
        return np.asarray(self.upper / 2 - self.lower / 2)

    def scale(self, X: Floats) -> Floats:
        """Into the cube [-1, 1]^d, clipped; what is not finite becomes NaN, so that its row counts for nothing."""
        return _scale(X, self.centre, self.half)

    def scale_target(self, y: Floats) -> Floats:
        """Into [-1, 1], clipped; what is not finite becomes NaN."""
        centre, half = self.target_scale
        return _scale(y, np.float64(centre), np.float64(half))

    @property
    def target_scale(self) -> tuple[float, float]:
        """Middle and half the width of the target's range."""
        if self.target is None:
            raise ValueError("These bounds say nothing of the target. Hint: Bounds(..., target=(low, high)).")
        low, high = self.target
        return low / 2 + high / 2, high / 2 - low / 2


def _scale(values: Floats, centre: Any, half: Any) -> Floats:
    # elementwise throughout, so that a row's image depends on that row alone, bit for bit
    with np.errstate(all="ignore"):
        z: Floats = np.subtract(values, centre, dtype=np.float64)
        z /= half
        np.maximum(z, -1.0, out=z)
        np.minimum(z, 1.0, out=z)
        z += 0.0 * values  # NaN where the value was infinite
    return z


def _rebuild(
    lower: ArrayLike, upper: ArrayLike, target: Any, classes: tuple[Any, ...] | None, columns: tuple[str, ...] | None
) -> Bounds:
    """Bounds of parts that were checked before, or that were found."""
    bounds = Bounds(lower, upper, target)
    object.__setattr__(bounds, "classes", classes)
    object.__setattr__(bounds, "columns", columns)
    return bounds


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        raise ValueError(f"The bounds of {name!r} must be a pair (low, high) of numbers. Got {pair!r}.") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"The bounds of {name!r} must be finite, with low < high. Got ({low!r}, {high!r}).")
    return low, high


def _interval(lower: ArrayLike, upper: ArrayLike, columns: Sequence[str] | None) -> tuple[Floats, Floats]:
    try:
        low, high = np.broadcast_arrays(np.asarray(lower, np.float64), np.asarray(upper, np.float64))
    except (TypeError, ValueError):
        raise ValueError("`lower` and `upper` of Bounds must be numbers, or one number per feature each.") from None
    if low.ndim > 1:
        raise ValueError(f"`lower` and `upper` of Bounds must be numbers or flat lists. Got {low.ndim} dimensions.")
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low < high)))
    if bad.size:
        which = columns[bad[0]] if columns else f"feature {bad[0]}"
        raise ValueError(
            f"Bounds must be finite, with lower < upper. Got ({float(low.flat[bad[0]])!r}, "
            f"{float(high.flat[bad[0]])!r}) for {which}."
        )
    narrow = np.flatnonzero(high / 2 - low / 2 < NARROWEST)
    if narrow.size:
        which = columns[narrow[0]] if columns else f"feature {narrow[0]}"
        raise ValueError(f"Bounds must be at least {2 * NARROWEST:g} apart. Hint: other units for {which}.")
    low, high = low.copy(), high.copy()
    low.flags.writeable = high.flags.writeable = False
    return low, high
