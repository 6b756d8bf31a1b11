"""LandmarkFeatures (CL8): any kernel, through its values at public points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from discreet.arguments import check_positive, check_whole
from discreet.bounds import Bounds
from discreet.features.base import FixedFeatures, lost, public_seed
from discreet.features.similarity import NAMED, Kernel, Similarity, refuse_kernel
from discreet.query import Batch, Image, halved
from discreet.query.images import Mixed, Scaled

Floats = NDArray[np.float64]

TINY = 1e-4  # directions that hold less than this of the landmarks' mean square are left out
MORE = 0.25  # of the landmarks' range: features may lie so far beyond it


class LandmarkFeatures(FixedFeatures):
    """x → Λ^(-½)U'k(Z, x) for public landmarks Z, k(Z, Z) = UΛU': inner products are about k(x, z).

    It is the projection of x, as the kernel's Hilbert space has it, onto what the landmarks span, in the coordinates of
    their principal components: e_j = λ_j^(-½) Σ_i U_ij k(z_i, ·) are orthonormal, since <e_j, e_l> is the entry (j, l)
    of Λ^(-½)U'UΛU'UΛ^(-½), and the feature j is <e_j, k(x, ·)>. So the features' length is at most √k(x, x) <= 1.
    Directions with an eigenvalue below 1e-4 of the trace are left out: fewer dimensions need less noise. Each feature
    is clipped to where the landmarks' own lie, and a quarter of that range further to either side: `out_bounds` tells
    a learner how much each of them varies.

    Parameters
    ----------
    kernel : "gaussian": exp(-γ‖x - z‖²), "laplacian": exp(-γ‖x - z‖₁), "polynomial": ((1 + x·z/d)/2)^degree, or a
        function `kernel(x, Z)` of one row x and all landmarks Z, for a number per landmark: positive semidefinite with
        k(x, x) <= 1, deterministic. Values and features are clipped, so a kernel that is not costs accuracy, never
        privacy. Columns are scaled into [-1, 1] for it.
    n_components : how many landmarks to draw, evenly from within the bounds; at most so many columns come out.
    landmarks : public points to use instead, in the units of the data. NOT rows of the data.
    gamma : γ, for columns scaled into [-1, 1]; 2/d for d columns if None.
    degree : of the polynomial.
    bounds : public ranges of the columns; [-1, 1] if None.
    seed : of the landmarks; public.

    References
    ----------
    P. Jain & A. Thakurta, "Differentially private learning with kernels", ICML 2013; C. Williams & M. Seeger, "Using
    the Nyström method to speed up kernel machines", NeurIPS 2000, with public points for rows.

    Examples
    --------
    >>> X = np.array([[0.1, 0.2], [0.3, -0.4]])
    >>> features = LandmarkFeatures("polynomial", degree=2).fit(X)
    >>> Z = features.transform(X)
    >>> round(float(Z[0] @ Z[1]), 6), round(((1 - 0.05 / 2) / 2) ** 2, 6), Z.shape[1]
    (0.237656, 0.237656, 6)
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        n_components: int = 100,
        *,
        landmarks: Any = None,
        gamma: float | None = None,
        degree: int = 3,
        bounds: Bounds | None = None,
        seed: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.landmarks = landmarks
        self.gamma = gamma
        self.degree = degree
        self.bounds = bounds
        self.seed = seed

    def _check(self, width: int) -> None:
        name = type(self).__name__
        if not callable(self.kernel):
            refuse_kernel(self.kernel, NAMED)
        check_whole(name, "n_components", self.n_components)
        check_whole(name, "degree", self.degree)
        if self.gamma is not None:
            check_positive(name, "gamma", self.gamma)
        public_seed(name, self.seed)
        if self.landmarks is not None:
            points = np.asarray(self.landmarks, np.float64)
            if points.ndim != 2 or len(points) == 0 or points.shape[1] != width or not np.isfinite(points).all():
                raise ValueError(f"The `landmarks` of {name} must be one or more finite points of {width} columns.")

    def _image(self, bounds: Bounds) -> Image:
        rng = public_seed("LandmarkFeatures", self.seed)
        points = self._points(bounds, rng)
        gamma = 2 / points.shape[1] if self.gamma is None else float(self.gamma)
        similarity = Similarity(self.kernel, points, gamma, int(self.degree))
        if callable(self.kernel):
            similarity.ask(points[0])  # what is wrong with it shows here, at public points
        gram = similarity(points)
        whitener = _whitener(gram)
        cube = Scaled.from_bounds(Bounds(-1, 1).matched(len(points)), False)
        return Landmarked(
            Scaled.from_bounds(bounds, False), similarity, Mixed(cube, whitener), _ranges(gram @ whitener)
        )

    def _points(self, bounds: Bounds, rng: np.random.Generator) -> Floats:
        if self.landmarks is not None:
            return bounds.scale(np.asarray(self.landmarks, np.float64))
        return rng.uniform(-1, 1, (int(self.n_components), len(bounds.lower)))

    def _reach(self, width: int | None) -> tuple[Floats, Floats]:
        if width is None:
            raise ValueError(
                "The bounds of these features depend on the number of columns. Hint: `bounds` with one pair per "
                "column, or `fit` first."
            )
        fitted = self if hasattr(self, "image_") else clone(self).settle(self._given().matched(width))
        image: Any = fitted.image_
        return image.ranges.lower, image.ranges.upper


@dataclass(frozen=True, eq=False)
class Landmarked:
    """The image Λ^(-½)U'k(Z, x), shrunk into the unit ball, each coordinate clipped to its range."""

    cube: Scaled
    similarity: Similarity
    mixed: Mixed
    ranges: Bounds

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row."""
        near = Batch(self.similarity(self.cube(batch)))
        z = self.mixed(near)
        length = np.sqrt(halved((z * z).T.copy()))
        z /= np.maximum(length, 1.0)[:, None]
        np.clip(z, self.ranges.lower, self.ranges.upper, out=z)
        return np.asarray(lost(z, near))


def _whitener(gram: Floats) -> Floats:
    """Uλ^(-½) of the eigenvalues that count, of a matrix that should be positive semidefinite."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > max(TINY * np.maximum(values, 0).sum(), 1e-12)
    kept[-1] = True
    return np.asarray(vectors[:, kept] / np.sqrt(np.maximum(values[kept], 1e-12)))


def _ranges(made: Floats) -> Bounds:
    """Where the landmarks' own features lie, and a quarter of that range further to either side; within [-1, 1]."""
    low, high = made.min(axis=0), made.max(axis=0)
    more = np.maximum(MORE * (high - low), 1e-3)
    return Bounds(np.maximum(low - more, -1.0), np.minimum(high + more, 1.0))
