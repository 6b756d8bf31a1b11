"""Statistics: the moments of a data set that linear models need, released once, saved, loaded and added (LR6)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.documents.atomic_files import write_file
from discreet.engines.opening import as_memory_rows
from discreet.errors import VersionError
from discreet.events import Composed
from discreet.models.linear.known_moments import KnownMoments
from discreet.release import Release

Floats = NDArray[np.float64]
VERSION = 1


@dataclass(frozen=True, eq=False)
class Statistics:
    """Noisy second moments of one data set or several: all that `LinearRegression`, `Ridge`, `Lasso` need to know.

    Statistics of data sets that follow the same model are added with `+`: of several private sites, and of public data,
    which enter with their own precision. Solving them is post-processing and costs nothing, however often.

    Attributes
    ----------
    bounds : public; those of the sets that are added must be the same.
    intercept : whether they are for a model with one.
    parts : one per data set.
    releases : the receipts of the private ones.
    columns : names of the features.
    target : the range of predictions.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> from discreet.models import LinearRegression, Statistics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> y = X @ [1.0, -2.0] + rng.normal(0, 0.1, 4000)
    >>> bounds = dc.Bounds(-1, 1, target=(-4, 4))
    >>> north = Statistics.release(X[:2000], y[:2000], epsilon=1.0, delta=1e-6, bounds=bounds)
    >>> south = Statistics.release(X[2000:], y[2000:], epsilon=1.0, delta=1e-6, bounds=bounds)
    >>> bool(np.abs(LinearRegression.from_statistics(north + south).coef_ - [1.0, -2.0]).max() < 0.5)
    True
    """

    bounds: Bounds
    intercept: bool
    parts: tuple[KnownMoments, ...]
    releases: tuple[Release, ...] = ()
    columns: tuple[str, ...] | None = None
    target: tuple[float, float] | None = None

    @classmethod
    def release(cls, X: Any, y: Any = None, epsilon: float = 1.0, delta: float = 1e-6, **options: Any) -> Statistics:
        """Release the statistics of these rows; options as in `LinearRegression`."""
        from discreet.models.linear.regression import LinearRegression

        statistics = LinearRegression(epsilon, delta, **options).fit(X, y).statistics_
        if statistics is None:
            raise ValueError("Only method='auto' releases statistics that can be added and solved again.")
        return statistics

    @classmethod
    def public(cls, X: Any, y: Any, *, bounds: Bounds, fit_intercept: bool = True) -> Statistics:
        """The exact statistics of rows that need no protection. NOT private, and nothing is charged."""
        from discreet.models.linear.linear_model import through_origin

        rows = as_memory_rows(X, y)
        bounds = bounds.matched(rows.width, rows.columns)
        target, bounds = bounds.target, bounds if fit_intercept else through_origin(bounds)
        batch_X, batch_y = np.asarray(rows.read_features(), np.float64), np.asarray(rows.read_targets(), np.float64)
        u, t = bounds.scale(batch_X), bounds.scale_target(batch_y)
        good = np.isfinite(u).all(axis=1) & np.isfinite(t)
        part = _sum_exactly(u[good], t[good], fit_intercept)
        return cls(bounds, fit_intercept, (part,), (), rows.columns, target)

    def __add__(self, other: object) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.bounds != other.bounds or self.intercept != other.intercept:
            raise ValueError(
                "Statistics are added for the same model: the same bounds, both with or both without an intercept. "
                "Hint: agree on public bounds first."
            )
        if None not in (self.columns, other.columns) and self.columns != other.columns:
            raise ValueError(
                f"Statistics are added for the same columns in the same order. Got {self.columns} and {other.columns}."
            )
        if any(one.is_same(two) for one in self.parts for two in other.parts):
            raise ValueError(
                "The same statistics are not added twice: their noise is one draw, and would count as two."
            )
        columns = self.columns if self.columns is not None else other.columns
        parts, releases = self.parts + other.parts, self.releases + other.releases
        return Statistics(self.bounds, self.intercept, parts, releases, columns, self.target)

    @property
    def clip_bounds(self) -> Bounds:
        """The bounds within which features count: the widest that any of the data sets was clipped to."""
        low = np.min([part.low for part in self.parts], axis=0)
        high = np.max([part.high for part in self.parts], axis=0)
        middle, half = self.bounds.centre, self.bounds.half
        lower = middle + low * half
        upper = np.maximum(middle + high * half, np.nextafter(lower, np.inf))
        return Bounds(lower, upper, self.target or self.bounds.target, self.bounds.classes)

    def release_all(self, name: str) -> Release | None:
        """The receipts as one: None for public data alone."""
        if len(self.releases) < 2:
            return self.releases[0] if self.releases else None
        budgets = [release.budget for release in self.releases]
        if {budget.neighbours for budget in budgets} == {"add-remove", "replace-one"}:
            budgets = [budget.as_replace_one() for budget in budgets]
        both = Budget.derive(
            sum(budget.epsilon for budget in budgets),
            min(sum(budget.delta for budget in budgets), 0.5),
            budgets[0].neighbours,
            " or ".join(sorted({budget.unit for budget in budgets})),
        )
        note = "of several data sets: whoever is in one of them alone has the promise of that one"
        return Release(
            name,
            None,
            None,
            Composed(tuple(release.event for release in self.releases)),
            both,
            seeded=any(release.seeded for release in self.releases),
            data=" + ".join(release.data for release in self.releases),
            parts=self.releases,
            notes=(note,),
        )

    def to_json(self) -> str:
        """A versioned document that `from_json` reads."""
        document = {
            "discreet": "statistics",
            "version": VERSION,
            "bounds": [self.bounds.lower.tolist(), self.bounds.upper.tolist(), self.bounds.target],
            "intercept": self.intercept,
            "columns": self.columns,
            "target": self.target,
            "parts": [part.to_dict() for part in self.parts],
            "releases": [json.loads(release.to_json()) for release in self.releases],
        }
        return json.dumps(document, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """The statistics that `to_json` wrote."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            raise VersionError("These are no statistics: not JSON.") from None
        if not isinstance(document, dict) or document.get("discreet") != "statistics":
            raise VersionError("These are no statistics of discreet.")
        if document.get("version") != VERSION:
            raise VersionError(
                f"This discreet reads statistics of version {VERSION}. Got version {document.get('version')!r}."
            )
        lower, upper, target = document["bounds"]
        return cls(
            Bounds(lower, upper, tuple(target)),
            document["intercept"],
            tuple(KnownMoments.from_dict(part) for part in document["parts"]),
            tuple(Release.from_json(json.dumps(release)) for release in document["releases"]),
            None if document["columns"] is None else tuple(document["columns"]),
            None if document["target"] is None else tuple(document["target"]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all."""
        write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Read what `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        private = len(self.releases)
        return f"<Statistics of {private} private and {len(self.parts) - private} public data sets>"


def _sum_exactly(u: Floats, t: Floats, intercept: bool) -> KnownMoments:
    """Moments of public rows, standardised: about their mean."""
    n, d = u.shape
    mean = u.mean(axis=0) if intercept and n else np.zeros(d)
    deviation = np.sqrt(np.maximum(((u - mean) ** 2).mean(axis=0), 1e-4)) if n else np.ones(d)
    frame = np.zeros((d + intercept, d + intercept))
    frame[intercept:, intercept:] = np.diag(1 / deviation)
    frame[:intercept, :intercept], frame[:intercept, intercept:] = 1.0, -mean / deviation
    line = np.zeros(d + intercept)
    line[:intercept] = t.mean() if n else 0.0
    v = np.column_stack([np.ones((n, int(intercept))), u])
    z, r = v @ frame, t - v @ line
    variance = _ridge_residual_variance(z, r)
    return KnownMoments(frame, line, z.T @ z, 0.0, z.T @ r, 0.0, variance, float(n), 0.0, mean, -np.ones(d), np.ones(d))


def _ridge_residual_variance(z: Floats, r: Floats) -> float:
    """The variance of what a ridge regression leaves; with few rows nobody knows, and it is that of the target."""
    n, width = z.shape
    if n < 3:
        return 0.25
    if n <= 2 * width:
        return float(r @ r / (n - 1)) + 1e-9
    theta = np.linalg.solve(z.T @ z + np.eye(width), z.T @ r)
    left = float(((r - z @ theta) ** 2).sum()) / (n - width)
    return float(np.clip(left, 1e-9, r @ r / n + 1e-9))
