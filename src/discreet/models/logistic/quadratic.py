"""A quadratic stand-in for the logistic loss, solved from sufficient statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.budget import radial
from discreet.curator.task import Task
from discreet.models.logistic.class_counts import (
    FEW_NOTE,
    count_classes,
    estimate_rows,
    has_too_few_rows,
    shrink_class_shares,
)
from discreet.models.logistic.feature_moments import noise_spectral_norm
from discreet.models.logistic.standardise import CLIP_AT, scale_features
from discreet.models.shared.linear_fit import ADAPTS, Fit
from discreet.models.shared.scaling import centre_at_zero
from discreet.query import Batch, BoundedSum

Floats = NDArray[np.float64]

COUNTS, MOMENTS, GRAM, PRODUCTS = 0.02, 0.13, 0.4, 0.45
RADIUS = 1.5  # of a row, in typical lengths
LOOSE = 0.5  # of the noise's spectral norm: the floor of the eigenvalues
PRIORS = np.logspace(-8, 2, 60)  # variances of coefficients that are tried


def fit_quadratic(task: Task, clip: float | None = CLIP_AT) -> Fit:
    """Least squares of the classes' indicators on standardised rows, shrunk by empirical Bayes, as log odds.

    About the class shares p the logistic loss is nearly Σ ½ p(1 - p)(x'θ)² - (y - p) x'θ: its minimum follows from X'X
    and X'(y - p), two noisy sums, whatever the number of classes.

    References
    ----------
    Huggins, Adams & Broderick, "PASS-GLM", NeurIPS 2017, for the approximation.
    """
    parts = [radial(share) for share in (COUNTS, MOMENTS, GRAM, PRODUCTS)]
    bounds, (for_counts, for_moments, for_gram, for_products) = task.deal(*parts)
    bounds = bounds if task.intercept else centre_at_zero(bounds)
    curator, width = task.curator, task.width

    # BOUND + SUMMARISE + PRIVATISE: class shares, standardised rows, X'X and X'(y - p)
    counts = count_classes(curator, for_counts, len(bounds.classes or ()))
    n, shares = estimate_rows(counts.total, task.n), shrink_class_shares(counts)
    standard = scale_features(task, bounds, n, clip, for_moments)
    radius = RADIUS * np.sqrt(width)

    def excess(rows: Batch) -> Floats:
        assert rows.y is not None
        there = np.where(np.isfinite(rows.y), 0.0, np.nan)
        return np.asarray((rows.y[:, None] == np.arange(len(shares))) - shares + there[:, None])[:, first:]

    first = 1 if len(shares) == 2 else 0
    far = float(np.sqrt(2 - first))  # an indicator less its share is shorter than that
    gram = curator.measure(BoundedSum(standard.rows, standard.rows, norm=radius**2, name="X'X"), for_gram)
    sums = BoundedSum(standard.rows, excess, norm=radius * far, left_norm=radius, joint=True, name="X'(y - p)")
    products = curator.measure(sums, for_products)

    # SOLVE: in the eigenvectors of the noisy X'X, shrunk; slopes of probabilities over p(1 - p) are slopes of log odds
    slopes = solve_shrunk(gram.value, float(gram.std[0, 0]), products.value, float(products.std))
    theta = slopes.T / np.maximum(shares * (1 - shares), 1e-3)[first:, None]
    if task.intercept:
        odds = np.log(shares)
        theta[:, 0] += np.array([odds[1] - odds[0]]) if first else odds - odds.mean()
    task.note(*((ADAPTS, FEW_NOTE) if has_too_few_rows(counts, task) else (ADAPTS,)))
    return Fit(theta @ standard.frame.T, bounds=bounds, narrow=standard.narrow)


def solve_shrunk(gram: Floats, gram_noise: float, products: Floats, noise: float) -> Floats:
    """The solution of gram·θ = products, both noisy, with a normal prior whose variance makes the products likeliest.

    >>> solve_shrunk(100 * np.eye(2), 1e-6, np.array([[50.0], [0.0]]), 1e-6).round(3)
    array([[0.5],
           [0. ]])
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, LOOSE * noise_spectral_norm(gram_noise, len(gram)))[:, None]
    along = vectors.T @ products
    doubt = noise**2 + gram_noise**2 * PRIORS * len(gram) / 2  # of a product, if coefficients have such a variance
    total = values**2 * PRIORS + doubt
    each = np.log(total) * along.shape[1] + (along**2).sum(axis=1)[:, None] / total
    best = int(each.sum(axis=0).argmin())
    return np.asarray(vectors @ (along * (values * PRIORS[best] / total[:, best : best + 1])))
