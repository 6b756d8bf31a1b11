"""Rows simulated from public facts only, to choose ε before any data are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.arguments import check_whole, is_whole
from discreet.bounds import Bounds

Floats = NDArray[np.float64]
Kind = Literal["regression", "classification"]
ENOUGH = 4000  # the number of rows on which a simulation of classes is tuned
STEEPEST = 1e6  # of a class's probability along its score


@dataclass(frozen=True, eq=False)
class Simulated:
    """Invented rows: `X, y = simulate(...)` takes them apart.

    Attributes
    ----------
    X, y : the rows; categories are columns of zeros and ones.
    bounds : of all columns of X, and of the target or its classes: for the estimators.
    columns : the names of X's columns.
    note : what they were made from.
    """

    X: Floats = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    bounds: Bounds
    columns: tuple[str, ...]
    note: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __len__(self) -> int:
        return len(self.y)

    def frame(self, target: str = "target") -> Any:
        """Features and target as one polars frame."""
        import polars

        return polars.DataFrame({**dict(zip(self.columns, self.X.T, strict=True)), target: self.y})

    def __str__(self) -> str:
        return self.note


def simulate(
    kind: Kind,
    *,
    bounds: Bounds,
    n: int,
    expected: float,
    d: int | None = None,
    categories: Mapping[str, int | Sequence[Any]] | None = None,
    shares: Sequence[float] | None = None,
    correlation: float = 0.0,
    informative: float = 1.0,
    spread: float = 1 / 3,
    random_state: int = 0,
) -> Simulated:
    """Rows that share publicly known facts with the real ones, and nothing else: no data are read.

    Numbers are normal around the middle of their bounds. The target is a linear function of them, with as much noise as
    makes the best model as good as expected. Real rows are less regular: use the result for the order of magnitude of
    ε, and try a smaller `spread` if the bounds are generous.

    Parameters
    ----------
    kind : "regression" or "classification".
    bounds : of the numeric columns, with a target for regression or classes for classification.
    n : the number of rows.
    expected : the R² or accuracy of the best model, as a colleague or the literature would guess it.
    d : the number of numeric columns, if the bounds are one pair for all.
    categories : further columns by name, with the number or the list of their categories. Each category becomes a
        column of zeros and ones.
    shares : the shares of the classes; equal if None.
    correlation : the correlation of any two numeric columns, within [0, 1).
    informative : the share of the columns that matter to the target.
    spread : the standard deviation, as a share of half the range; small where bounds are far from most values.
    random_state : a whole number >= 0.

    Notes
    -----
    None is needed: the rows are of nobody. The facts must be public; an R² that was computed on the data is not.

    Examples
    --------
    >>> data = simulate("regression", bounds=Bounds({"age": (0, 110)}, target=(0, 60_000)), n=1000, expected=0.5,
    ...                 categories={"ward": ["north", "south", "west"]})
    >>> data.columns
    ('age', 'ward=north', 'ward=south', 'ward=west')
    >>> print(data)
    Simulated from public facts alone: 1,000 rows of 4 columns, expected R² 0.5. Nobody is in them.
    """
    _check_arguments(kind, bounds, n, expected, correlation, informative, spread, random_state)
    rng = np.random.default_rng([random_state, 0x5EED])
    wide = _read_width(bounds, d)
    numeric = bounds.matched(wide)
    names = bounds.columns or tuple(f"x{i + 1}" for i in range(wide))
    latent = np.sqrt(correlation) * rng.normal(size=(n, 1)) + np.sqrt(1 - correlation) * rng.normal(size=(n, wide))
    X = [np.clip(numeric.centre + numeric.half * spread * latent, numeric.lower, numeric.upper)]
    for column, levels in _read_levels(categories, names).items():
        X.append(np.eye(len(levels))[rng.integers(len(levels), size=n)])
        names += tuple(f"{column}={level}" for level in levels)
    table = np.column_stack(X)
    ends = [(low, high) for low, high in zip(numeric.lower, numeric.upper, strict=True)] + [(0.0, 1.0)] * len(names)
    public = Bounds(dict(zip(names, ends[: len(names)], strict=True)), None, bounds.target, bounds.classes)
    scores = _make_scores(table, informative, 1 if kind == "regression" else len(bounds.classes or ()), rng)
    if kind == "regression":
        y, measure = _make_target(scores[:, 0], bounds, expected, spread, rng), "R²"
    else:
        y, measure = _draw_classes(scores, bounds, expected, shares, rng), "accuracy"
    note = (
        f"Simulated from public facts alone: {n:,} rows of {len(names)} columns, expected {measure} {expected:g}. "
        "Nobody is in them."
    )
    return Simulated(table, y, public, names, note)


def _make_scores(X: Floats, informative: float, many: int, rng: np.random.Generator) -> Floats:
    """Random linear functions of the columns that matter, each of mean 0 and deviation 1."""
    matter = rng.permutation(X.shape[1])[: max(1, round(informative * X.shape[1]))]
    spread = X[:, matter].std(axis=0)
    Z = (X[:, matter] - X[:, matter].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores = Z @ rng.normal(size=(len(matter), many))
    deviation = scores.std(axis=0)
    return np.asarray((scores - scores.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _make_target(signal: Floats, bounds: Bounds, expected: float, spread: float, rng: np.random.Generator) -> Floats:
    middle, half = bounds.target_scale
    both = np.sqrt(expected) * signal + np.sqrt(1 - expected) * rng.normal(size=len(signal))
    assert bounds.target is not None
    return np.asarray(np.clip(middle + half * spread * both, *bounds.target))


def _draw_classes(
    scores: Floats, bounds: Bounds, expected: float, shares: Any, rng: np.random.Generator
) -> NDArray[Any]:
    """Classes drawn from softmax(a·score + b), with a for the expected accuracy and b for the shares."""
    classes = np.array(bounds.classes)
    wanted = np.full(len(classes), 1 / len(classes)) if shares is None else np.asarray(shares, np.float64)
    if wanted.shape != classes.shape or not (wanted > 0).all() or not np.isclose(wanted.sum(), 1):
        raise ValueError("The `shares` of simulate must be one number > 0 for each class, with a sum of 1.")
    if expected <= wanted.max():
        raise ValueError(
            f"The `expected` accuracy must be above the share of the largest class, {wanted.max():g}, the accuracy of "
            f"a guess. Got {expected!r}."
        )
    slope, level = _tune_slope(scores[:ENOUGH], expected, wanted)
    p = softmax(slope * scores + level, axis=1)
    drawn = (p.cumsum(axis=1) < rng.uniform(size=(len(p), 1))).sum(axis=1)
    return np.asarray(classes[drawn.clip(max=len(classes) - 1)])


def _tune_slope(scores: Floats, expected: float, shares: Floats) -> tuple[float, Floats]:
    """The slope at which the best prediction has the expected accuracy, by bisection, and the levels for it."""
    low, high, level = 0.0, 1.0, np.log(shares)
    while high < STEEPEST:
        accuracy, level = _fit_levels(scores, high, level, shares)
        if accuracy >= expected:
            break
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        accuracy, level = _fit_levels(scores, middle, level, shares)
        low, high = (middle, high) if accuracy < expected else (low, middle)
    return high, level


def _fit_levels(scores: Floats, slope: float, level: Floats, shares: Floats) -> tuple[float, Floats]:
    """The accuracy of the best prediction, and the levels at which classes have their shares, starting from `level`."""
    for _ in range(8):
        p = softmax(slope * scores + level, axis=1)
        level = level + np.log(shares / np.maximum(p.mean(axis=0), 1e-12))
    return float(p.max(axis=1).mean()), level


def _read_levels(categories: Mapping[str, Any] | None, known: tuple[str, ...]) -> dict[str, list[Any]]:
    found = {}
    for column, given in (categories or {}).items():
        levels = list(range(given)) if isinstance(given, int) else list(given)
        if column in known or len(levels) < 2 or len(set(levels)) != len(levels):
            raise ValueError(
                f"The `categories` of {column!r} must be two or more distinct ones, of a column without bounds."
            )
        found[str(column)] = levels
    return found


def _read_width(bounds: Bounds, d: int | None) -> int:
    if bounds.width is None and d is None:
        raise ValueError("The number of columns must be known. Hint: simulate(..., d=), or bounds for each column.")
    if d is not None and (not is_whole(d) or d < 1 or bounds.width not in (None, d)):
        raise ValueError(f"The `d` of simulate must be a whole number >= 1, as many as there are bounds. Got {d!r}.")
    return d if bounds.width is None and d is not None else int(bounds.width or 0)


def _check_arguments(kind: Any, bounds: Any, n: Any, expected: float, *rest: Any) -> None:
    correlation, informative, spread, random_state = rest
    if kind not in get_args(Kind):
        raise ValueError(f"The `kind` of simulate is 'regression' or 'classification'. Got {kind!r}.")
    if not isinstance(bounds, Bounds):
        raise TypeError(f"The `bounds` must be discreet.Bounds. Got {type(bounds).__name__}.")
    if kind == "regression":
        bounds.target_scale  # noqa: B018 - raises if the target has no range
    elif bounds.classes is None:
        raise ValueError("These bounds have no classes. Hint: Bounds(..., classes=[...]).")
    check_whole("simulate", "n", n, 2)
    check_whole("simulate", "random_state", random_state, 0)
    for name, value, inside in (
        ("expected", expected, 0 < expected < 1),
        ("correlation", correlation, 0 <= correlation < 1),
        ("informative", informative, 0 < informative <= 1),
        ("spread", spread, 0 < spread <= 1),
    ):
        if not inside:
            raise ValueError(f"The `{name}` of simulate must be within 0 and 1. Got {value!r}.")
