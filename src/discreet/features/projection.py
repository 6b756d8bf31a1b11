"""RandomProjection (UN5): fewer columns, distances about kept, at no cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.features.base import FixedFeatures, lost, one_of, public_seed
from discreet.query import Batch, Image
from discreet.query.images import Mixed, Scaled

Floats = NDArray[np.float64]
Entries = Literal["signs", "gaussian"]

REACH = 3.0  # deviations of a coordinate, over the draw of the matrix, beyond which it is clipped


class RandomProjection(FixedFeatures):
    """x → R'x, R a public random matrix that keeps lengths and distances on average.

    Less noise is needed in fewer dimensions, and something is lost with every dimension left out: there is a best
    number in between, smaller the smaller ε is.

    Parameters
    ----------
    n_components : how many columns come out.
    entries : "signs": ±1/√n_components (Achlioptas 2003), or "gaussian", of that deviation.
    bounds : public ranges of the columns, which are scaled into [-1, 1] first; [-1, 1] if None. Ranges around zero keep
        zeros at zero.
    seed : of the matrix; public.

    Of a row x of d scaled columns a coordinate that comes out has the deviation ‖x‖/√n_components <= √(d/n_components)
    over the draw of R; it is clipped at three times that bound.

    References
    ----------
    W. Johnson & J. Lindenstrauss (1984); D. Achlioptas, "Database-friendly random projections", JCSS 2003.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2, 500))
    >>> Z = RandomProjection(100).fit_transform(X)
    >>> Z.shape, bool(0.8 < np.linalg.norm(Z[0] - Z[1]) / np.linalg.norm(X[0] - X[1]) < 1.25)
    ((2, 100), True)
    """

    def __init__(
        self, n_components: int = 50, *, entries: Entries = "signs", bounds: Bounds | None = None, seed: int = 0
    ) -> None:
        self.n_components = n_components
        self.entries = entries
        self.bounds = bounds
        self.seed = seed

    def _check(self, width: int) -> None:
        check_whole("RandomProjection", "n_components", self.n_components)
        one_of("RandomProjection", "entries", self.entries, get_args(Entries))
        public_seed("RandomProjection", self.seed)

    def _image(self, bounds: Bounds) -> Image:
        rng, shape = public_seed("RandomProjection", self.seed), (len(bounds.lower), int(self.n_components))
        matrix: Floats = rng.normal(size=shape)
        matrix = matrix if self.entries == "gaussian" else np.where(matrix < 0, -1.0, 1.0)
        _, reach = self._reach(len(bounds.lower))
        return Projected(Mixed(Scaled.from_bounds(bounds, False), matrix / math.sqrt(self.n_components)), reach)

    def _reach(self, width: int | None) -> tuple[float, float]:
        if width is None:
            raise ValueError(
                "The bounds of a projection depend on the number of columns. Hint: `bounds` with one pair per column, "
                "or `fit` first."
            )
        reach = REACH * math.sqrt(width / check_whole("RandomProjection", "n_components", self.n_components))
        return -reach, reach


@dataclass(frozen=True, eq=False)
class Projected:
    """The image R'x, each coordinate clipped."""

    mixed: Mixed
    reach: float

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row."""
        z = self.mixed(batch)
        np.clip(z, -self.reach, self.reach, out=z)
        return np.asarray(lost(z, batch))
