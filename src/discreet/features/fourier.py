"""RandomFourierFeatures: a kernel as an inner product of public random cosines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_positive, check_whole
from discreet.bounds import Bounds
from discreet.features.arithmetic import cosine
from discreet.features.base import FixedFeatures, lost, public_seed
from discreet.features.similarity import refuse_kernel
from discreet.query import Batch, Image
from discreet.query.images import Mixed, Scaled

Floats = NDArray[np.float64]
Shift = Literal["gaussian", "laplacian"]


class RandomFourierFeatures(FixedFeatures):
    """x → √(2/D)·cos(w_j·x + b_j), j = 1 … D: inner products of features are about k(x, z).

    Parameters
    ----------
    n_components : D, how many columns come out. The error of the kernel shrinks like 1/√D, the noise that privacy needs
        grows with D.
    kernel : "gaussian": exp(-γ‖x - z‖²); "laplacian": exp(-γ‖x - z‖₁). For any other see `LandmarkFeatures`.
    gamma : γ, for columns scaled into [-1, 1]; 2/d for d columns if None. Public.
    bounds : public ranges of the columns; [-1, 1] if None.
    seed : of the frequencies w and phases b; public.

    References
    ----------
    A. Rahimi & B. Recht, "Random features for large-scale kernel machines", NeurIPS 2007: w is drawn from the Fourier
    transform of the kernel (normal of variance 2γ; Cauchy of scale γ), b evenly from a whole turn.

    Examples
    --------
    >>> X = np.array([[0.1, 0.2], [0.3, -0.4]])
    >>> Z = RandomFourierFeatures(20_000, gamma=1.0).fit_transform(X)
    >>> round(float(Z[0] @ Z[1]), 1), round(math.exp(-0.4), 1)
    (0.7, 0.7)
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Shift = "gaussian",
        gamma: float | None = None,
        bounds: Bounds | None = None,
        seed: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.bounds = bounds
        self.seed = seed

    def _check(self, width: int) -> None:
        check_whole("RandomFourierFeatures", "n_components", self.n_components)
        refuse_kernel(self.kernel, get_args(Shift))
        if self.gamma is not None:
            check_positive("RandomFourierFeatures", "gamma", self.gamma)
        public_seed("RandomFourierFeatures", self.seed)

    def _image(self, bounds: Bounds) -> Image:
        rng, shape = public_seed("RandomFourierFeatures", self.seed), (len(bounds.lower), int(self.n_components))
        gamma = 2 / shape[0] if self.gamma is None else float(self.gamma)
        if self.kernel == "gaussian":
            frequencies = math.sqrt(2 * gamma) * rng.normal(size=shape)
        else:
            frequencies = gamma * rng.standard_cauchy(size=shape)
        return Cosines(
            Mixed(Scaled.from_bounds(bounds, False), frequencies / (2 * math.pi)), rng.uniform(size=shape[1])
        )

    def _reach(self, width: int | None) -> tuple[float, float]:
        reach = math.sqrt(2 / check_whole("RandomFourierFeatures", "n_components", self.n_components))
        return -reach, reach


@dataclass(frozen=True, eq=False)
class Cosines:
    """The image √(2/D)·cos 2π(w·x + b), w and b in turns."""

    mixed: Mixed
    phases: Floats

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row."""
        turns = self.mixed(batch)
        turns += self.phases
        z = cosine(turns)
        z *= math.sqrt(2 / len(self.phases))
        return np.asarray(lost(z, batch))
