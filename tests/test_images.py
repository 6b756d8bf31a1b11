"""Images that queries share, and the pieces of the default regression: each by itself."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn import linear_model

from discreet import Bounds
from discreet.models.linear import ebssp, penalised
from discreet.query import Batch, BoundedSum
from discreet.query.images import LinearForm, Mixed, Scaled, find_missing
from discreet.query.moment_sums import MomentSums

BOUNDS = Bounds([-1.0, 0.0, -5.0], [1.0, 4.0, 5.0], target=(-2.0, 2.0))


def rows(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-6, 6, (n, 3))
    X[3, 1], X[7, 0], X[9, 2] = np.nan, np.inf, -np.inf
    return X, rng.uniform(-2, 2, n)


def test_scaled_rows_are_in_the_cube_and_bad_ones_are_missing():
    X, y = rows()
    z = Scaled.from_bounds(BOUNDS, True)(Batch(X, y))
    good = ~find_missing(Batch(X, y))
    assert np.flatnonzero(~good).tolist() == [3, 7, 9] and np.isnan(z[~good]).all()
    assert (z[good, 0] == 1).all() and np.abs(z[good]).max() <= 1 + 1e-12
    np.testing.assert_allclose(z[good, 1:], BOUNDS.scale(X)[good], atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_that_cannot_be_too_long_are_put_on_the_grid_as_any_others_to_the_bit(intercept):
    """The image is on the grid by itself where its public reach fits; it is then what measuring every row gives."""
    X, y = rows(400)
    y[5] = np.nan
    width = 3 + intercept
    short, long = (Scaled.from_bounds(BOUNDS, intercept).multiply(f / np.sqrt(width)) for f in (1 - 2**-14, 1.2))
    for image, fits in ((short, True), (long, False)):
        grid = BoundedSum(image, image).choose_lattices((width, width))[0]
        assert grid.fits_limit(image.bound_coordinates(-grid.exponent)) == fits
        slow = BoundedSum(lambda batch, image=image: image(batch))
        fast = BoundedSum(image)
        assert fast(Batch(X, y)).tolist() == slow(Batch(X, y)).tolist()
        assert (image(Batch(X, y))[:, 0] != 0).any()
    z = short.quantise_rows(Batch(X, y), 23)
    assert not z[[3, 5, 7, 9]].any() and (np.abs(z) <= short.bound_coordinates(23)).all() and z[0].any()
    edges = Batch(np.stack([BOUNDS.lower - 1, BOUNDS.upper + 1e9]))
    assert (np.abs(short.quantise_features(edges, 23)).max(axis=0) == short.bound_coordinates(23)).all()


def test_a_mixed_row_is_its_own_to_the_bit():
    X, y = rows()
    matrix = np.random.default_rng(1).normal(size=(4, 4))
    matrix[0, 0], matrix[1, 0] = 1 - 2.0**-40, 1 / 3  # rounds up to the next power of two
    mixed = Mixed(Scaled.from_bounds(BOUNDS, True), matrix)
    whole = mixed(Batch(X, y))
    np.testing.assert_array_equal(mixed(Batch(np.asfortranarray(X), y)), whole)
    for i in range(len(X)):
        np.testing.assert_array_equal(mixed(Batch(X[i : i + 1], y[i : i + 1]))[0], whole[i])
    good = ~find_missing(Batch(X, y))
    np.testing.assert_allclose(whole[good], Scaled.from_bounds(BOUNDS, True)(Batch(X, y))[good] @ matrix, atol=1e-5)
    assert (mixed.matrix / mixed.unit == np.rint(mixed.matrix / mixed.unit)).all()


def test_a_line_is_its_own_to_the_bit():
    X, y = rows()
    line = LinearForm(Scaled.from_bounds(BOUNDS, True), (0.1, -0.2, 0.3, 0.7))
    whole = line(Batch(X, y))
    np.testing.assert_array_equal([line(Batch(X[i : i + 1], y[i : i + 1]))[0] for i in range(len(X))], whole)


def test_products_about_a_line_are_those_of_weighted_residuals():
    X, y = rows(200)
    theta, radius, clip = (0.2, -0.3, 0.1, 0.4), 1.2, 0.5
    scaled = Scaled.from_bounds(BOUNDS, True)
    query = BoundedSum(
        scaled,
        lambda batch: BOUNDS.scale_target(batch.y),
        norm=radius * clip,
        left_norm=radius,
        joint=True,
        about=theta,
    )
    total = query(Batch(X, y)) * 2.0 ** query.exponent((4, 1))
    good = ~find_missing(Batch(X, y))
    z, y = scaled(Batch(X, y))[good], BOUNDS.scale_target(y)[good]
    weight = np.minimum(1, radius / np.linalg.norm(z, axis=1))
    expected = (z * weight[:, None]).T @ np.clip(weight * (y - z @ theta), -clip, clip)
    np.testing.assert_allclose(total, expected, atol=1e-3)
    for other in ({"joint": False}, {"order": 1}, {"right": None}):
        with pytest.raises(ValueError, match="about"):
            BoundedSum(**({"left": scaled, "right": scaled, "joint": True, "about": theta} | other))


@pytest.mark.parametrize("clip", [0.5, 1.0, 2.5])
def test_the_clipped_square_of_a_normal(clip):
    exact = quad(lambda r: min(r * r, clip**2) * norm.pdf(r, scale=0.8), -12, 12, points=[-clip, clip])[0]
    assert ebssp._mean_clipped_square(0.8, clip) == pytest.approx(exact, rel=1e-6)


def test_more_noise_clips_harder():
    settings = [ebssp.ClipSetting(rho) for rho in np.logspace(-5, 1, 20)]
    for name in ("row_length", "target_clip", "residual_clip"):
        values = [getattr(setting, name) for setting in settings]
        assert values == sorted(values, reverse=True) and values[0] > values[-1] > 0
    assert ebssp.weigh_target(10.0, 10) > ebssp.weigh_target(1e-5, 10)


def test_a_net_on_moments_is_scikit_learns_on_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X @ [1.0, 0.0, -0.5, 0.0] + rng.normal(size=300)
    ours = penalised.solve_elastic_net(X.T @ X / 300, X.T @ y / 300, 0.1, 0.1, 0.7)
    theirs = linear_model.ElasticNet(alpha=0.1, l1_ratio=0.7, fit_intercept=False, tol=1e-10).fit(X, y).coef_
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def powers(**changed):
    settings = {"weights": (1.0, 0.5, 2.0, 0.25)} | changed
    bounds = Bounds([-1.0, 0.0], [1.0, 4.0], target=(-2, 2))
    return MomentSums(Scaled.from_bounds(bounds, False), lambda rows: bounds.scale_target(rows.y), **settings)


def test_powers_are_weighted_sums_and_squares():
    X = np.array([[0.5, 1.0], [5.0, 3.0], [np.nan, 1.0], [0.1, 1.0], [0.2, np.inf]])
    y = np.array([1.0, 4.0, 1.0, np.nan, 0.0])
    query = powers()
    total = query(Batch(X, y)) * 2.0 ** query.exponent((2, 1))
    x, t = np.array([[0.5, -0.5], [1.0, 0.5]]), np.array([0.5, 1.0])
    expected = [*x.sum(axis=0), *(x**2).sum(axis=0) / 2, 2 * t.sum(), (t**2).sum() / 4]
    np.testing.assert_allclose(total, expected, atol=1e-4)


def test_the_sensitivity_of_powers_is_that_of_the_farthest_rows():
    query = powers()
    corners = [np.array([[a, b]]) for a in (-1.0, 0.0, 1.0) for b in (0.0, 2.0, 4.0)]
    images = [query(Batch(x, np.array([t]))).astype(float) for x in corners for t in (-2.0, 0.0, 2.0)]
    alone = max(np.linalg.norm(image) for image in images)
    apart = max(np.linalg.norm(a - b) for a in images for b in images)
    assert alone == pytest.approx(float(query.sensitivity((2, 1), "add-remove")), rel=1e-9)
    assert apart <= float(query.sensitivity((2, 1), "replace-one")) <= 1.2 * apart


def test_powers_refuse_other_weights_and_images():
    for wrong in ({"weights": (1.0, 0.3, 1.0, 1.0)}, {"weights": (1.0, -1.0, 1.0, 1.0)}, {"bits": 20}):
        with pytest.raises(ValueError, match=r"[Pp]owers"):
            powers(**wrong)
