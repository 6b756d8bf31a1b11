"""The side of a value on which a quantile lies, from noisy counts of rows between edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.events import Gaussian, flatten
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release

Floats = NDArray[np.float64]


def count_between(edges: Floats, order: int = 1, about: float | None = None) -> BoundedSum:
    """A query for the rows of the first column below the first edge, between each two edges, and at or above the last.

    With `about`, values are replaced by their distances from that public number.
    """

    def find_cell(rows: Batch) -> NDArray[np.int64]:
        values = rows.X[:, 0] if about is None else np.abs(rows.X[:, 0] - about)
        return np.where(np.isfinite(values), np.searchsorted(edges, values, side="right"), -1)

    return BoundedSum(OneHot(find_cell, len(edges) + 1), order=2 if order == 2 else 1, name="rows around")


@dataclass(frozen=True)
class Balance:
    """For each edge, the number of rows below it in excess of a share q of all rows, and the noise in that number.

    Attributes
    ----------
    edges : the edges, rising.
    excess : (1 - q)·(rows below) - q·(rows above), noisy.
    noise : the standard deviation of the noise in `excess`.
    tail : the scale of the heaviest single noise if it is Laplace noise, else 0.
    q, count : the rank, and the noisy number of rows.
    """

    edges: Floats
    excess: Floats
    noise: Floats
    tail: float
    q: float
    count: float

    @classmethod
    def from_release(cls, noisy: Release, edges: Floats, q: float) -> Balance:
        """The balance from a release of `count_between`; cells of no width hold no row, so their noise is dropped."""
        std = float(noisy.std)
        wide = np.diff(edges, prepend=-np.inf, append=np.inf) > 0
        cells = np.where(wide, noisy.value, 0.0)
        below, above = np.cumsum(cells)[:-1], np.cumsum(cells[::-1])[::-1][1:]
        noises = np.cumsum(wide)
        noise = std * np.sqrt((1 - q) ** 2 * noises[:-1] + q**2 * (noises[-1] - noises[:-1]))
        gaussian = all(isinstance(leaf, Gaussian) for leaf, _ in flatten(noisy.event))
        tail = 0.0 if gaussian else max(q, 1 - q) * std / math.sqrt(2)
        return cls(edges, (1 - q) * below - q * above, noise, tail, q, float(cells.sum()))

    def bracket_quantile(
        self, confidence: float, n: int | None, ends: tuple[float, float], sampled: bool = True
    ) -> tuple[float, float]:
        """The two edges, or ends of the range, that bracket the quantile of the population, or of the rows alone.

        The sampling error includes Bernstein's correction for ranks near 0 and 1.
        """
        wrong = (1 - confidence) / 2
        z = NormalDist().inv_cdf(1 - wrong)
        rows = max(self.count if n is None else float(n), 1.0) * float(sampled)
        noise = np.maximum(z * self.noise, self.tail * math.log(1 / (2 * wrong)))
        margin = np.hypot(z * math.sqrt(rows * self.q * (1 - self.q)), noise) + (z * z / 3 + 1) * sampled
        first = int(np.argmax(np.append(self.excess > -margin, True)))
        last = int(np.argmax(np.append((self.excess < margin)[::-1], True)))
        return float(np.append(ends[0], self.edges)[first]), float(np.append(ends[1], self.edges[::-1])[last])

    def find_crossing(self, ends: tuple[float, float]) -> float:
        """The point where the excess changes from negative to positive, by linear interpolation between edges."""
        rising = np.maximum.accumulate(self.excess)
        falling = np.minimum.accumulate(self.excess[::-1])[::-1]
        best = np.concatenate([[-self.q * self.count], (rising + falling) / 2, [(1 - self.q) * self.count]])
        best = np.maximum.accumulate(best)
        edges = np.concatenate([[ends[0]], self.edges, [ends[1]]])
        i = int(np.clip(np.searchsorted(best, 0.0), 1, len(best) - 1))
        part = -best[i - 1] / (best[i] - best[i - 1]) if best[i] > best[i - 1] else 0.5
        return float(edges[i - 1] + np.clip(part, 0, 1) * (edges[i] - edges[i - 1]))
