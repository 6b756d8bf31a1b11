"""Part: what a private (or public) data set says about a linear model, and how well it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KnownMoments:
    """Second moments of rows about a line, with noise, in coordinates of their own.

    A row is v = (1, u), its features scaled into [-1, 1] (without the 1 if the model has no intercept), and t its
    scaled target. The moments are those of z = frame'v and of the residual r = t - line·v, each row with a weight of at
    most 1.

    Attributes
    ----------
    frame : one column per coordinate.
    line : the coefficients that residuals are taken about.
    gram, cross : sums over rows of z z' and z r.
    gram_std : of the noise on the diagonal of `gram`; off it the noise is 1/√2 of that.
    cross_std : of the noise in each entry of `cross`.
    variance : of the residuals (mean of r²), noise removed as far as may be.
    count, count_std : the number of rows.
    mean : of the scaled features.
    low, high : where scaled features were clipped.
    start, start_std : the line without slopes that coefficients are shrunk towards, the private mean, and the deviation
        of its noise. `line`, and infinity, where it was not measured.
    whole : the variance of the target about that.
    weight : the mean weight of a row, squared.

    A part of rows too few for slopes has no coordinates: its `line` is the mean of the target alone, and `cross_std`
    the noise in that.
    """

    frame: Floats
    line: Floats
    gram: Floats
    gram_std: float
    cross: Floats
    cross_std: float
    variance: float
    count: float
    count_std: float
    mean: Floats
    low: Floats
    high: Floats
    start: Floats | None = None
    start_std: float = math.inf
    whole: float | None = None
    weight: float | None = None

    @classmethod
    def of_mean(cls, mean: float, std: float, count: float, count_std: float, d: int, intercept: bool) -> KnownMoments:
        """The mean of the target, and nothing of slopes. Its variance was not measured: it is at most 1."""
        line, ends = np.zeros(d + intercept), np.ones(d)
        line[:intercept] = mean
        nothing = np.zeros((d + intercept, 0))
        return cls(nothing, line, np.zeros((0, 0)), 0.0, np.zeros(0), std, 1.0, count, count_std, 0 * ends, -ends, ends)

    @property
    def has_slopes(self) -> bool:
        """Whether it says anything of the slopes: else its data were too few, and it is a mean alone."""
        return bool(self.frame.shape[0] == self.frame.shape[1])

    @property
    def is_public(self) -> bool:
        """Whether there is no noise in it."""
        return bool(self.gram_std == 0 and self.cross_std == 0)

    def is_same(self, other: KnownMoments) -> bool:
        """Whether the other is this one, perhaps saved and loaded: noise is never equal by chance."""
        return all(np.array_equal(value, getattr(other, name)) for name, value in vars(self).items())

    @property
    def centre(self) -> Floats:
        """The line that coefficients are shrunk towards."""
        return self.line if self.start is None else self.start

    def move_products(self, line: Floats) -> Floats:
        """The sums of z r for residuals about another line."""
        moved: Floats = self.cross + self.gram @ np.linalg.solve(self.frame, self.line - line)
        return moved

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary; what was not measured is left out."""
        known = {name: value for name, value in vars(self).items() if value is not None and value is not math.inf}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else float(value) for name, value in known.items()
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> KnownMoments:
        """The part that `to_dict` wrote."""
        fields: dict[str, Any] = {
            name: np.asarray(value, np.float64) if isinstance(value, list) else value
            for name, value in document.items()
        }
        for name in ("frame", "gram"):  # an empty matrix loses its shape as a list
            fields[name] = fields[name].reshape(len(fields[name]), len(fields["cross"]))
        return cls(**fields)
