"""Fixed features: they learn nothing, a row's features are its own to the bit, and kernels are approximated."""

import pickle
import warnings

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csc_matrix, csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from discreet import Bounds
from discreet.engines.memory import Memory
from discreet.features import (
    FixedFeatures,
    LandmarkFeatures,
    OrientationHistograms,
    RandomFourierFeatures,
    RandomProjection,
)
from discreet.features.arithmetic import cosine, direction, halvings
from discreet.models import LinearRegression
from discreet.preprocessing import learns_from_data
from discreet.query import Batch, BoundedSum

from .lazy import pd

WIDTH = 16
BOUNDS = Bounds(-2, 2)


def squared(x, Z):
    """A kernel that is a function: a matrix product, whose bits depend on the layout."""
    return ((1 + Z @ x / len(x)) / 2) ** 2


MAPS = {
    "projection": RandomProjection(7, bounds=BOUNDS),
    "gaussian projection": RandomProjection(7, entries="gaussian", bounds=BOUNDS),
    "fourier": RandomFourierFeatures(9, bounds=BOUNDS),
    "laplacian": RandomFourierFeatures(9, kernel="laplacian", gamma=0.1, bounds=BOUNDS),
    "orientations": OrientationHistograms((4, 4), cell=2, orientations=5, bounds=BOUNDS),
    "landmarks": LandmarkFeatures("gaussian", 20, bounds=BOUNDS),
    "laplacian landmarks": LandmarkFeatures("laplacian", 20, bounds=BOUNDS),
    "polynomial": LandmarkFeatures("polynomial", 20, bounds=BOUNDS),
    "function": LandmarkFeatures(squared, 20, bounds=BOUNDS),
}


@pytest.fixture(params=MAPS)
def features(request):
    return clone(MAPS[request.param])


def rows(n=300, seed=0, width=WIDTH):
    X = np.random.default_rng(seed).uniform(-2.5, 2.5, (n, width))
    X[3, 1], X[7, 0], X[9, -1] = np.nan, np.inf, -np.inf
    return X


# A row's features are its own ------------------------------------------------------------------------


@pytest.mark.catalogue("UN5")
def test_a_row_has_the_same_bits_whatever_its_neighbours(features):
    X = rows()
    whole = features.fit(X).transform(X)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(features.transform(X[order]), whole[order])
    np.testing.assert_array_equal(features.transform(np.asfortranarray(X)), whole)
    np.testing.assert_array_equal(features.transform(np.repeat(X, 2, axis=1)[:, ::2]), whole)
    for i in range(0, 40):
        np.testing.assert_array_equal(features.transform(X[i : i + 1])[0], whole[i])
        np.testing.assert_array_equal(features.transform(X[i : i + 3])[0], whole[i])


def test_blocks_make_no_difference(features):
    X = rows()
    whole = features.fit(X).transform(X)
    query = BoundedSum(lambda batch: batch.X, norm=2.0)
    totals = [Memory(X, block=block).map(features.image_).sum(query) for block in (None, 1, 7, 300)]
    assert all(np.array_equal(total, totals[0]) for total in totals)
    np.testing.assert_array_equal(query(Batch(whole)), totals[0])


def test_long_tables_are_made_in_blocks(features):
    """More rows than one block of the engine holds, with an image that refuses a large batch."""
    X = np.random.default_rng(0).uniform(-2, 2, (20_000, WIDTH))
    if callable(getattr(features, "kernel", None)):
        X = X[:17_000]
    image = features.fit(X).image_

    def narrow(batch):
        assert len(batch) <= (1 << 18) // WIDTH
        return image(batch)

    made = Memory(X).map(narrow).read_features()
    np.testing.assert_array_equal(made[-3:], features.transform(X[-3:]))


def test_types_and_containers_agree(features):
    X = rows().astype(np.float32).astype(np.float64)
    whole = features.fit(X).transform(X)
    names = [f"c{i}" for i in range(WIDTH)]
    for form in (X.astype(np.float32), X.tolist(), csr_array(np.nan_to_num(X)), csc_matrix(np.nan_to_num(X))):
        made = features.transform(form)
        good = np.isfinite(X).all(axis=1)
        np.testing.assert_array_equal(made[good], whole[good])
        assert made.dtype == np.float64
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        np.testing.assert_array_equal(clone(features).fit(frame).transform(frame), whole)


def test_bad_rows_are_missing_throughout(features):
    X = rows()
    Z = features.fit(X).transform(X)
    bad = ~np.isfinite(X).all(axis=1)
    assert bad.sum() == 3 and np.isnan(Z[bad]).all() and np.isfinite(Z[~bad]).all()


def test_features_stay_within_their_public_bounds(features):
    X = np.vstack([rows()[10:], np.full((1, WIDTH), 1e308), np.full((1, WIDTH), -1e308), np.zeros((1, WIDTH))])
    Z = features.fit(X).transform(X)
    bounds = features.out_bounds
    assert (bounds.lower <= Z.min(axis=0)).all() and (bounds.upper >= Z.max(axis=0)).all()
    assert (np.ptp(Z, axis=0) > 0.1 * (bounds.upper - bounds.lower)).all()  # and they are not idle


# scikit-learn's contract -----------------------------------------------------------------------------


EXCUSES = {
    "check_estimators_empty_data_messages": "no rows are mapped to no rows",
    "check_estimators_nan_inf": "what is missing stays missing",
    "check_dtype_object": "objects are refused by type: whether all of them are numbers is a fact about the rows",
}


@pytest.mark.parametrize("name", [name for name in MAPS if name != "orientations"])
def test_scikit_learns_own_checks(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(clone(MAPS[name]), expected_failed_checks=EXCUSES, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed, failed
    assert sum(result["status"] == "passed" for result in results) > 25


def test_pickles_clones_and_names(features):
    X = rows()
    with pytest.raises(NotFittedError):
        features.transform(X)
    Z = features.fit(X).transform(X)
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(X), Z)
    np.testing.assert_array_equal(clone(features).fit(X[:0]).transform(X), Z)  # nothing is learnt from rows
    names = features.get_feature_names_out()
    assert len(names) == Z.shape[1] and names[0].endswith("0") and len(set(names)) == len(names)
    with pytest.raises(ValueError, match="expecting 16 features"):
        features.transform(X[:, :4])


def test_a_private_pipeline_has_nothing_to_warn_of(features):
    """Warnings are errors here: a LeakWarning would fail."""
    X, y = rows(2000)[:, :], np.random.default_rng(0).uniform(-1, 1, 2000)
    features.set_params(bounds=Bounds([-2.0] * WIDTH, [2.0] * WIDTH, target=(-1, 1)))
    assert isinstance(features, FixedFeatures) and not learns_from_data(features)
    pipeline = make_pipeline(features, LinearRegression(bounds=features.out_bounds)).fit(X, y)
    assert np.isfinite(pipeline.predict(X[10:20])).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (RandomProjection(0), "n_components"),
        (RandomProjection(entries="cauchy"), "entries"),
        (RandomProjection(seed=None), "public"),
        (RandomProjection(bounds=(0, 1)), "Bounds"),
        (RandomFourierFeatures(kernel="sigmoid"), "kernel"),
        (RandomFourierFeatures(kernel="rbf"), "Got 'rbf'. Hint: 'gaussian' is scikit-learn's 'rbf'"),
        (RandomFourierFeatures(kernel="poly"), "Got 'poly'. Hint: LandmarkFeatures has 'polynomial'"),
        (RandomFourierFeatures(kernel=[]), "`kernel` is one of 'gaussian', 'laplacian'"),
        (LandmarkFeatures("poly"), "Got 'poly'. Hint: 'polynomial' is scikit-learn's 'poly'"),
        (RandomFourierFeatures(gamma=-1.0), "gamma"),
        (OrientationHistograms((4, 4), cell=3), "divide"),
        (OrientationHistograms((5, 5), cell=5), "25 pixels"),
        (OrientationHistograms(16), "height"),
        (LandmarkFeatures("sigmoid"), "kernel"),
        (LandmarkFeatures(landmarks=np.ones((3, 2))), "16 columns"),
        (LandmarkFeatures(landmarks=np.full((3, 16), np.nan)), "finite"),
        (LandmarkFeatures(lambda x, Z: 1.0), "one number per landmark"),
    ],
)
def test_wrong_options_are_refused(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong.fit(rows())


def test_bounds_before_fit_need_the_number_of_columns():
    for wide in (RandomProjection(4), LandmarkFeatures(n_components=10)):
        with pytest.raises(ValueError, match="fit"):
            _ = wide.out_bounds
        known = clone(wide).set_params(bounds=Bounds([0, 0], [1, 1], target=(3, 4))).out_bounds
        fitted = clone(wide).set_params(bounds=Bounds(0, 1, target=(3, 4))).fit(np.ones((1, 2))).out_bounds
        assert known == fitted and known.target == (3, 4)


# Kernels and distances -------------------------------------------------------------------------------


def test_arithmetic_agrees_with_the_library():
    t = np.random.default_rng(0).normal(0, 100, 10_000)
    np.testing.assert_allclose(cosine(t.copy()), np.cos(2 * np.pi * t), atol=1e-10)
    np.testing.assert_allclose(halvings(np.abs(t)), 2.0 ** -np.abs(t), rtol=1e-14)
    x, y = np.random.default_rng(1).normal(size=(2, 10_000))
    away = np.abs(direction(x, y) - np.arctan2(y, x) % np.pi / np.pi)
    assert np.minimum(away, 1 - away).max() < 1e-5
    assert direction(np.zeros(1), np.zeros(1))[0] == 0 and direction(np.array([-1.0]), np.zeros(1))[0] == 0


def exact_kernel(kernel, x, gamma):
    return np.exp(-gamma * cdist(x, x, "sqeuclidean" if kernel == "gaussian" else "cityblock"))


@pytest.mark.catalogue("CL7")
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_inner_products_are_the_kernel_up_to_one_over_root_d(kernel):
    """Each entry is a mean of D terms within [-2, 2] whose mean is the kernel: its root mean square error is at most
    √(2/D). Averaged over 4950 pairs (which share frequencies: at least D independent terms) it stays within half and
    1.5 of what it typically is, 0.6/√D; the seed is fixed.
    """
    x = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    pairs = np.triu_indices(100, 1)
    errors = {}
    for size in (64, 256, 1024, 4096):
        made = [RandomFourierFeatures(size, kernel=kernel, gamma=0.5, seed=s).fit_transform(x) for s in range(5)]
        gap = [(z @ z.T - exact_kernel(kernel, x, 0.5))[pairs] for z in made]
        errors[size] = np.sqrt(np.mean(np.square(gap)))
        assert 0.3 < errors[size] * np.sqrt(size) < np.sqrt(2)
    assert 0.5 < errors[4096] * 8 / errors[64] < 2


def test_gamma_is_in_scaled_units():
    x = np.random.default_rng(0).uniform(0, 1, (20, 2))
    one = RandomFourierFeatures(50, gamma=1.0, bounds=Bounds(0, 1)).fit_transform(x)
    two = RandomFourierFeatures(50, gamma=1.0, bounds=Bounds([0, 0], [100, 1000])).fit_transform(x * [100, 1000])
    np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.catalogue("CL8")
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "polynomial"])
def test_landmarks_project_the_kernel(kernel):
    """Features have length <= √k(x, x) <= 1, and their inner products come closer to the kernel with more landmarks."""
    x = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    true = ((1 + x @ x.T / 2) / 2) ** 3 if kernel == "polynomial" else exact_kernel(kernel, x, 0.5)
    gaps = []
    for size in (5, 20, 200):
        z = LandmarkFeatures(kernel, size, gamma=0.5, seed=1).fit_transform(x)
        assert (np.linalg.norm(z, axis=1) <= np.sqrt(np.diag(true)) + 1e-4).all()
        gaps.append(np.abs(z @ z.T - true).max())
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < (0.2 if kernel == "laplacian" else 0.06)  # it has a kink


def test_landmarks_of_a_polynomial_are_exact_with_few_columns():
    x = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    z = LandmarkFeatures(squared, 200).fit_transform(x)
    assert z.shape[1] == 6  # 1, x, y, x², xy, y²
    np.testing.assert_allclose(z @ z.T, ((1 + x @ x.T / 2) / 2) ** 2, atol=1e-4)


def test_a_kernel_that_is_none_is_still_bounded():
    x = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    for bad in (lambda a, Z: 100 * np.sin(Z @ a * 50), lambda a, Z: np.zeros(len(Z)), lambda a, Z: -np.ones(len(Z))):
        z = LandmarkFeatures(bad, 30).fit_transform(x)
        assert np.isfinite(z).all() and np.abs(z).max() <= 1


def test_a_kernel_that_raises_at_a_row_tells_nothing():
    def touchy(a, Z):
        if a[0] > 0.9:
            raise RuntimeError(f"row {a}")
        return squared(a, Z)

    x = np.array([[0.95, 0.0], [0.1, 0.2]])
    z = LandmarkFeatures(touchy, landmarks=[[0.0, 0.0], [0.5, 0.5]]).fit_transform(x)
    assert np.isnan(z[0]).all() and np.isfinite(z[1]).all()


@pytest.mark.catalogue("UN5")
@pytest.mark.parametrize("entries", ["signs", "gaussian"])
def test_projection_keeps_distances(entries):
    """‖R'(x - z)‖²/‖x - z‖² has mean 1 and, to k dimensions, deviation at most √(2/k): over 190 pairs, mostly
    independent, beyond 6 of them with probability below 1e-6.
    """
    x = np.random.default_rng(0).uniform(-1, 1, (20, 400))
    z = RandomProjection(100, entries=entries).fit_transform(x)
    pairs = np.triu_indices(20, 1)
    ratio = cdist(z, z, "sqeuclidean")[pairs] / cdist(x, x, "sqeuclidean")[pairs]
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(2 / 100)
    assert abs(np.sqrt(np.mean(ratio)) - 1) < 0.1


def test_projection_of_few_columns_is_a_plain_product():
    x = np.random.default_rng(0).uniform(0, 1, (20, 5))
    projection = RandomProjection(3, bounds=Bounds(0, 1)).fit(x)
    matrix = projection.image_.mixed.matrix
    np.testing.assert_allclose(np.abs(matrix), 1 / np.sqrt(3), rtol=1e-6)
    np.testing.assert_allclose(projection.transform(x), (2 * x - 1) @ matrix, atol=1e-6)


@pytest.mark.catalogue("UN5")
def test_fewer_dimensions_need_less_noise_and_lose_more():
    """200 columns of ten causes: at a small budget 20 random combinations of them predict, all 200 do not; without
    noise it is the other way round, and the fewer the worse.
    """
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(4000, 10))
    X = np.clip(causes @ rng.normal(size=(10, 200)) / 10 + rng.normal(0, 0.02, (4000, 200)), -1, 1)
    y = np.clip(causes[:, 0], -4, 4)
    bounds, score = Bounds([-1.0] * 200, [1.0] * 200, target=(-4, 4)), {}
    for size in (3, 20, None):
        made = None if size is None else RandomProjection(size, bounds=bounds)
        for epsilon in (0.15, 1e6):
            out = bounds if made is None else made.out_bounds
            pipeline = make_pipeline(made or "passthrough", LinearRegression(epsilon, bounds=out))
            score[size, epsilon] = pipeline.fit(X, y).score(X, y)
    assert score[20, 0.15] > 0.4 > score[None, 0.15]
    assert score[None, 1e6] > score[20, 1e6] - 0.02 > score[3, 1e6] + 0.2


# Images ----------------------------------------------------------------------------------------------


def test_orientations_make_digits_separable():
    """A linear classifier on histograms of 8 x 8 digits makes two thirds of the errors it makes on pixels, or less."""
    X, y = load_digits(return_X_y=True)
    train = np.random.default_rng(0).uniform(size=len(y)) < 0.6
    features = OrientationHistograms((8, 8), cell=2, bounds=Bounds(0, 16)).fit(X)
    Z = features.transform(X)
    raw = RidgeClassifier().fit(X[train], y[train]).score(X[~train], y[~train])
    made = RidgeClassifier(alpha=0.1).fit(Z[train], y[train]).score(Z[~train], y[~train])
    assert Z.shape[1] == 128 and 1 - made < 2 / 3 * (1 - raw)


def test_orientations_of_the_usual_size():
    X = np.random.default_rng(0).integers(0, 256, (5, 784)).astype(np.uint8)
    Z = OrientationHistograms(bounds=Bounds(0, 255)).fit_transform(X)
    assert Z.shape == (5, 392)
    np.testing.assert_allclose(Z, histograms(X / 255.0), atol=1e-4)


def histograms(X):
    """The same, straightforwardly."""
    images = X.reshape(-1, 28, 28)
    across, down = np.zeros_like(images), np.zeros_like(images)
    across[:, :, 1:-1], down[:, 1:-1] = images[:, :, 2:] - images[:, :, :-2], images[:, 2:] - images[:, :-2]
    bins = (np.arctan2(down, across) % np.pi) / np.pi * 8
    found = []
    for o in range(8):
        away = np.minimum(np.abs(bins - o), 8 - np.abs(bins - o))
        weighted = np.hypot(across, down) * np.maximum(0, 1 - away)
        found.append(weighted.reshape(-1, 7, 4, 7, 4).sum(axis=(2, 4)))
    cells = np.stack(found, axis=-1)
    return (cells / (np.linalg.norm(cells, axis=-1, keepdims=True) + 0.5)).reshape(len(X), -1)


def test_a_flat_image_has_no_direction():
    Z = OrientationHistograms((8, 8), cell=4).fit_transform(np.full((2, 64), 0.5))
    assert not Z.any()
