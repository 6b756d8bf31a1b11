"""How large the classes of a sample are in the population it was drawn from, estimated.

The classes are taken as a draw from the Ewens-Pitman partition with parameters α in [0, 1) and θ > -α: the next person
joins a class of f people with probability (f - α)/(n + θ), else founds a new one. Both are fitted to the sample by
maximum likelihood; the growth of each class from sample to population then has a beta-binomial law.

Limits: the rows must be a simple random sample of the population, one per person; the columns are taken to have no
structure of their own (ranges that cannot occur together, rounding). Where that fails the estimate may be off by a
factor, either way, and it carries no error bars. A population table is always better.

References: J. Pitman, "Exchangeable and partially exchangeable random partitions", Probability Theory and Related
Fields 102, 1995. N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", Journal of
Official Statistics 17, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import betaln, expit, gammaln

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DENSE, STEPS = 2_000, 2_000  # growth is summed one by one up to DENSE, then on a grid of STEPS ratios


@dataclass(frozen=True)
class Pitman:
    """A fitted partition: α, θ, and the rows of the sample and of the population.

    Examples
    --------
    >>> model = Pitman(alpha=0.5, theta=10.0, sample=100, population=100)
    >>> model.unique, model.share(np.array([1, 4]))
    (1.0, array([1.  , 0.25]))
    """

    alpha: float
    theta: float
    sample: int
    population: int

    @classmethod
    def fit(cls, sizes: Ints, population: int) -> Pitman:
        """The likeliest partition for classes of these sizes."""
        counts, repeats = np.unique(sizes, return_counts=True)

        def unlikely(x: Floats) -> float:
            alpha = float(expit(x[0]))
            return -likelihood(alpha, float(np.exp(x[1])) - alpha, counts, repeats)

        starts = [(a, t) for a in (-2.0, 2.0) for t in (0.0, 5.0)]
        bounds = [(-14.0, 14.0), (-7.0, 23.0)]
        found = min((minimize(unlikely, s, method="L-BFGS-B", bounds=bounds) for s in starts), key=lambda f: f.fun)
        alpha = float(expit(found.x[0]))
        return cls(alpha, float(np.exp(found.x[1])) - alpha, int(sizes.sum()), population)

    @property
    def unique(self) -> float:
        """The probability that a row alone in the sample is alone in the population."""
        n, N, a, t = self.sample, self.population, self.alpha, self.theta
        return float(np.exp(gammaln(N + t - 1 + a) - gammaln(n + t - 1 + a) + gammaln(n + t) - gammaln(N + t)))

    def share(self, sizes: Ints) -> Floats:
        """For each size in the sample, the mean of 1/(size in the population)."""
        found, places = np.unique(sizes, return_inverse=True)
        return np.array([self._mean(int(size)) for size in found])[places]

    def _mean(self, size: int) -> float:
        growth = self.population - self.sample
        grid = np.unique(np.r_[0 : min(DENSE, growth) + 1, np.geomspace(DENSE, max(growth, DENSE), STEPS).round()])
        grid = grid[grid <= growth]
        a, b = size - self.alpha, self.sample + self.theta - size + self.alpha
        ways = gammaln(growth + 1) - gammaln(grid + 1) - gammaln(growth - grid + 1)
        mass = np.exp(ways + betaln(grid + a, growth - grid + b) - betaln(a, b))
        width = np.maximum((np.diff(grid, prepend=-1.0) + np.diff(grid, append=growth + 1.0)) / 2, 1.0)
        mass = mass * width
        return float((mass / (size + grid)).sum() / mass.sum())


def likelihood(alpha: float, theta: float, counts: Ints, repeats: Ints) -> float:
    """The logarithm of Pitman's sampling formula, but for a constant: `repeats` classes of `counts` rows each."""
    n, u = int(counts @ repeats), int(repeats.sum())
    ratio = theta / alpha
    founded = (u - 1) * np.log(alpha) + gammaln(ratio + u) - gammaln(ratio + 1)
    joined = repeats @ (gammaln(counts - alpha) - gammaln(1 - alpha))
    return float(founded + joined - (gammaln(theta + n) - gammaln(theta + 1)))
