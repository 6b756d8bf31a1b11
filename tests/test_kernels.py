"""Kernel machines: public features, a private linear model of them."""

import pickle
import warnings
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from discreet import Bounds, Budget, Ledger, NotPrivateWarning
from discreet.accounting import epsilon
from discreet.checks import check_audit, check_stated_noise, estimator_checks, prepared
from discreet.checks.specimens import Mapped, Spy
from discreet.curator import Curator
from discreet.engines.memory import Memory
from discreet.events import Approximate, Pure, Repeated
from discreet.features import LandmarkFeatures, RandomFourierFeatures
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models import LinearRegression
from discreet.models.kernels import KernelRidge, KernelSVC
from discreet.models.kernels.pointwise import FarthestPoints, fitted, rounds_of
from discreet.models.sgd import SGDClassifier
from discreet.query import Batch, BoundedSum

from .sabotage import caught

BOUNDS = Bounds(-1, 1, target=(-2, 2))
SVM = SGDClassifier(loss="hinge")


def waves(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + rng.normal(0, 0.1, n)


def product(x, Z):
    """A kernel that is no function of x - z."""
    return ((1 + Z @ x / len(x)) / 2) ** 4


@pytest.mark.parametrize(("options", "width"), [({"n_components": 40}, 41), ({"landmarks": np.eye(2)}, 3)])
def test_the_penalty_follows_the_features_also_where_bounds_are_found(monkeypatch, options, width):
    """Given or not, they are so many: the rule for the penalty is of what is learnt from."""
    X, y = waves(2000)
    erm = import_module("discreet.models.erm.objective")
    seen, honest = [], erm.rule
    monkeypatch.setattr(erm, "rule", lambda *arguments: seen.append(arguments[-1]) or honest(*arguments))
    for bounds in (Bounds(-1, 1), None):
        KernelSVC(8.0, 1e-6, n=2000, bounds=bounds, classes=(False, True), **options).fit(X, y > 0)
    assert seen == [width, width]


# Regression ------------------------------------------------------------------------------------------


@pytest.mark.catalogue("CL7")
def test_a_curve_is_learnt_where_a_line_fails():
    X, y = waves()
    line = LinearRegression(1.0, 1e-6, bounds=BOUNDS).fit(X, y).score(X, y)
    curve = KernelRidge(1.0, 1e-6, bounds=BOUNDS).fit(X, y).score(X, y)
    assert curve > 0.9 > 0.5 > line


@pytest.mark.catalogue("CL8")
@pytest.mark.parametrize("kernel", ["polynomial", product])
def test_any_kernel_learns_through_landmarks(kernel):
    X, y = waves()
    model = KernelRidge(1.0, 1e-6, kernel=kernel, degree=4, bounds=BOUNDS).fit(X, y)
    assert isinstance(model.features_, LandmarkFeatures) and model.score(X, y) > 0.7


def test_landmarks_that_are_given_are_used():
    X, y = waves()
    points = np.random.default_rng(5).uniform(-1, 1, (30, 2))
    model = KernelRidge(1.0, landmarks=points, bounds=BOUNDS).fit(X, y)
    np.testing.assert_allclose(model.features_.image_.similarity.points, points, atol=1e-12)
    assert model.score(X, y) > 0.9 and model.linear_.n_features_in_ <= 30


def test_bounds_are_paid_for_if_not_given():
    X, y = waves()
    model = KernelRidge(3.0, 1e-6).fit(5 * X + 10, y)
    assert any("bounds were estimated" in note for note in model.release_.notes)
    assert (model.bounds_.lower < 6).all() and (model.bounds_.upper > 14).all() and model.bounds_.width == 2
    assert model.score(5 * X + 10, y) > 0.6


def test_no_noise_gives_the_ridge_regression_of_the_features():
    """With a huge ε predictions are those of least squares on the same features."""
    X, y = waves(5000)
    model = KernelRidge(1e7, 1e-6, n_components=20, bounds=BOUNDS).fit(X, y)
    Z = np.column_stack([np.ones(len(X)), model.features_.transform(X)])
    ordinary = Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    assert np.abs(model.predict(X) - ordinary).max() < 0.05


def test_intervals_of_predictions_cover():
    """A 90% interval holds at least 88% of 20,000 new targets; it is on the wide side where features are many."""
    X, y = waves()
    low, high = KernelRidge(2.0, bounds=BOUNDS).fit(X, y).predict_interval(*waves(seed=1)[:1], confidence=0.9).T
    inside = ((low <= waves(seed=1)[1]) & (waves(seed=1)[1] <= high)).mean()
    assert inside > 0.88 and (high - low).mean() < 3


@pytest.mark.parametrize("method", ["adassp", "output", "functional"])
def test_other_methods_of_the_linear_model(method):
    X, y = waves(2000)
    model = KernelRidge(1.0, method=method, n_components=10, bounds=BOUNDS).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.catalogue("CL8")
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_the_test_data_independent_learner_learns_with_enough_budget(delta):
    X, y = waves(50_000)
    options = {"kernel": "polynomial", "n_components": 30, "method": "pointwise", "bounds": BOUNDS, "n": 50_000}
    assert KernelRidge(100.0, delta, **options).fit(X, y).score(X, y) > 0.3


def test_picked_points_are_where_the_guess_is_far_off():
    """Without noise to speak of, the first pick is where the model is largest, and the guess comes to agree with it."""
    rng = np.random.default_rng(0)
    points = np.column_stack([np.ones(40), rng.uniform(-1, 1, (40, 2))]) / np.sqrt(3)
    theta = np.array([0.2, 0.9, -0.5])
    picked = np.empty((0, 3))
    for _ in range(5):
        gap = np.abs(points @ (theta - fitted(points, picked, 5.0)))
        picked = np.vstack([picked, [gap.argmax(), points[gap.argmax()] @ theta, 1e-6]])
    assert np.abs(points @ (theta - fitted(points, picked, 5.0))).max() < 1e-6


@pytest.mark.parametrize("event", [Pure(1.0), Approximate(1.0, 1e-6), Approximate(0.1, 1e-9)])
def test_rounds_cost_what_pays_for_them(event):
    choice, noise = rounds_of(event, 20)
    rounds = [Repeated(choice, 20), Repeated(noise, 20)]
    cost = epsilon(rounds, getattr(event, "delta", 0.0))
    assert 0.99 * event.epsilon < cost <= event.epsilon


def test_pure_epsilon():
    X, y = waves()
    model = KernelRidge(3.0, 0.0, n_components=15, gamma=2.0, bounds=BOUNDS).fit(X, y)
    assert model.release_.delta == 0 and model.score(X, y) > 0.3


# Classification --------------------------------------------------------------------------------------


@pytest.mark.catalogue("CL7")
@pytest.mark.parametrize(
    ("draw", "gamma", "bounds"),
    [
        (lambda n, s: make_circles(n, noise=0.1, factor=0.5, random_state=s), 1.5, Bounds(-1.5, 1.5, classes=(0, 1))),
        (lambda n, s: make_moons(n, noise=0.15, random_state=s), 4.0, Bounds([-1.5, -1], [2.5, 1.5], classes=(0, 1))),
    ],
)
def test_circles_and_moons_are_told_apart(draw, gamma, bounds):
    (X, y), (new, true) = draw(5000, 0), draw(5000, 1)
    line = clone(SVM).set_params(bounds=bounds).fit(X, y).score(new, true)
    model = KernelSVC(1.0, 1e-6, gamma=gamma, linear=SVM, bounds=bounds).fit(X, y)
    assert isinstance(model.features_, RandomFourierFeatures)
    assert 1 - model.score(new, true) < 0.5 * (1 - line) and model.score(new, true) > 0.95


@pytest.mark.catalogue("CL8")
@pytest.mark.parametrize("kernel", ["polynomial", product])
def test_circles_by_a_kernel_that_is_no_function_of_differences(kernel):
    X, y = make_circles(5000, noise=0.1, factor=0.5, random_state=0)
    bounds = Bounds(-1.5, 1.5, classes=(0, 1))
    model = KernelSVC(1.0, kernel=kernel, degree=2, n_components=50, linear=SVM, bounds=bounds).fit(X, y)
    assert model.score(X, y) > 0.9


def test_more_classes_and_labels_that_are_words():
    X, y = waves(6000)
    words = np.array(["low", "middle", "high"])[np.digitize(y, [-0.3, 0.3])]
    model = KernelSVC(3.0, linear=SVM, classes=["low", "middle", "high"], bounds=Bounds(-1, 1)).fit(X, words)
    assert model.classes_.tolist() == ["high", "low", "middle"] and model.score(X, words) > 0.8
    assert model.predict_proba(X[:5]).shape == (5, 3) and model.decision_function(X[:5]).shape == (5, 3)


def test_a_missing_value_counts_as_in_the_middle():
    X, y = make_circles(500, random_state=0)
    model = KernelSVC(5.0, linear=SVM, n_components=20, bounds=Bounds(-1, 3, classes=(0, 1))).fit(X, y)
    np.testing.assert_array_equal(
        model.decision_function([[np.nan, 0.0], [0.0, np.inf]]), model.decision_function([[1.0, 0.0], [0.0, 1.0]])
    )


def test_classes_and_bounds_nobody_stated_are_paid_for():
    X, y = make_circles(5000, noise=0.05, factor=0.5, random_state=0)
    model = KernelSVC(8.0, 1e-6, gamma=2.0, n_components=30, linear=SVM).fit(X, y)
    assert len(model.release_.notes) >= 2 and model.score(X, y) > 0.9
    assert model.release_.epsilon == 8.0


def test_wrong_options_charge_nothing():
    X, y = waves(100)
    ledger = Ledger(Budget(1.0, 1e-6))
    wrong = [
        KernelRidge(kernel="sigmoid", bounds=BOUNDS, ledger=ledger),
        KernelRidge(gamma=0.0, bounds=BOUNDS, ledger=ledger),
        KernelRidge(n_components=0, ledger=ledger),
        KernelRidge(landmarks=np.ones((4, 3)), ledger=ledger),
        KernelRidge(kernel="polynomial", degree=0, ledger=ledger),
        KernelRidge(method="magic", ledger=ledger),
        KernelRidge(seed=-1, ledger=ledger),
        KernelRidge(bounds=Bounds(-1, 1), ledger=ledger),
        KernelSVC(linear=LinearRegression(), classes=(0, 1), ledger=ledger),
        KernelSVC(linear=SVM, classes=(0, 0), ledger=ledger),
    ]
    for model in wrong:
        with pytest.raises((ValueError, TypeError)):
            model.fit(X, (y > 0).astype(int))
    assert not ledger.entries


# The contract ----------------------------------------------------------------------------------------


SMALL = {
    "ridge": KernelRidge(4.0, n_components=5),
    "landmarks": KernelRidge(4.0, kernel=product, n_components=6),
    "pointwise": KernelRidge(4.0, 0.0, n_components=5, method="pointwise"),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("check", [c for c in estimator_checks() if c not in (check_audit, check_stated_noise)])
def test_passes_the_checks(name, check):
    check(prepared(SMALL[name]))


LOTS = ("check_hostile_rows", "check_engines_agree")  # of queries on all rows in any order: lots are drawn row by row


@pytest.mark.parametrize(
    "check", [c for c in estimator_checks() if c not in (check_audit, check_stated_noise) and c.__name__ not in LOTS]
)
def test_a_classifier_passes_the_checks(check):
    check(prepared(KernelSVC(4.0, n_components=5, linear=SGDClassifier(loss="hinge", epochs=2))))


@pytest.mark.slow
def test_survives_an_audit():
    """False alarms: below 1e-6."""
    check_audit(prepared(SMALL["ridge"]), runs=150)


NONE_AND_ONE = (np.ones((0, 1)), np.ones(0)), (np.ones((1, 1)), np.ones(1))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "delta", "factor"), [("auto", 1e-6, 1 / 3), ("pointwise", 0.0, 1e-4)])
def test_too_little_noise_is_caught(method, delta, factor, monkeypatch):
    """By what is predicted where one row is, or is not. False alarms: below 1e-6; the seed is fixed.

    Twenty rounds of a fortieth of ε each hide nearly all of it: the noise of a round is tested below.
    """
    bounds = Bounds([-1.0], [1.0], target=(-1, 1))
    model = KernelRidge(8.0 if delta else 1.5, delta, n_components=3, method=method, n=1, bounds=bounds)

    def run(data):
        fitted = clone(model).fit(*data)
        if method == "auto":
            return fitted.release_
        there = fitted.features_.transform(np.ones((1, 1)))
        return replace(fitted.release_, parts=(), value=fitted.linear_.predict(there))

    caught(run, NONE_AND_ONE, 200, monkeypatch, factor)


def farthest(points):
    """One round of the pointwise method at ε = 2, in a small ball: there a row moves the model by nearly the bound."""

    def run(data):
        budget = Budget(2.0)
        curator = Curator(Memory(*data), Ledger(budget))
        xx, _ = curator.expect(BoundedSum(lambda rows: rows.X, lambda rows: rows.X, norm=1))
        xy, _ = curator.expect(BoundedSum(lambda rows: rows.X, lambda rows: rows.y, norm=1))
        return curator.run(FarthestPoints("points", xx, xy, 40.0, 0.05, points, 1), budget.whole("radial"))

    return run


# two rows, by which the first of two points is farther, against those and one more, by which it is the second
TURNS = np.array([[0.7, 0.7], [0.7, -0.7], [-0.7, 0.7]]), np.array([1.0, 0.5, 1.0])
FIRST_AND_SECOND = tuple(part[:2] for part in TURNS), TURNS
HERE = np.array([[1.0, 0.0]])


@pytest.mark.slow
@pytest.mark.catalogue("CL8")
@pytest.mark.parametrize(
    ("points", "pair", "kind", "factor"),
    [
        (HERE, ((HERE[:0], np.ones(0)), (HERE, np.ones(1))), "laplace", 1 / 6),
        (np.eye(2), FIRST_AND_SECOND, "choice", 1 / 15),
        (np.eye(2), FIRST_AND_SECOND, "choice", 1e-3),
    ],
    ids=["values", "choices", "choices without chance"],
)
def test_too_little_noise_in_a_round_of_the_pointwise_method_is_caught(points, pair, kind, factor, monkeypatch):
    """In the value of a point, and in the choice of one: each has half of ε. False alarms: below 1e-6; a fixed seed."""
    caught(farthest(points), pair, 800, monkeypatch, factor, kind)


@pytest.mark.slow
def test_scikit_learns_own_checks():
    from tests.test_models import EXCUSES

    estimator = KernelRidge(1e6, n_components=5, bounds=Bounds(-10, 10, target=(-300, 300)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=EXCUSES, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed, failed


def test_a_fitted_model_pickles_and_predicts_the_same():
    X, y = waves(500)
    ledger, bounds = Ledger(Budget(1.0, 1e-6)), Bounds(-1, 1, classes=(0, 1))
    for model in (KernelRidge(bounds=BOUNDS, ledger=ledger), KernelSVC(linear=SVM, bounds=bounds)):
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.set_params(epsilon=1.0).fit(X, (y > 0).astype(int))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert not hasattr(model.linear_, "_given") and "_mapped" not in vars(model.linear_)


def test_frames_keep_their_names():
    X, y = waves(500)
    frame = pd.DataFrame(X, columns=["a", "b"])
    bounds = Bounds({"b": (-1, 1), "a": (-1, 1)}, target=(-2, 2))
    with pytest.warns(NotPrivateWarning):
        one = KernelRidge(bounds=bounds, random_state=1).fit(frame, y)
    with pytest.warns(NotPrivateWarning):
        two = KernelRidge(bounds=BOUNDS, random_state=1).fit(X, y)
    np.testing.assert_array_equal(one.predict(frame), two.predict(X))
    assert one.feature_names_in_.tolist() == ["a", "b"]


# Rows.map --------------------------------------------------------------------------------------------


def test_mapped_rows_keep_targets_and_schema():
    X, y = waves(50)
    rows = Memory(X, y).map(lambda batch: batch.X[:, :1] * 2, columns=("double",))
    assert (rows.width, rows.columns) == (1, ("double",)) and rows.empty().X.shape == (0, 1)
    np.testing.assert_array_equal(rows.whole(), X[:, :1] * 2)
    np.testing.assert_array_equal(rows.targets(), y)
    both = rows.map(lambda batch: batch.X + 1)
    np.testing.assert_array_equal(both.whole(), X[:, :1] * 2 + 1)
    assert both.count_replace_one() == 50
    with pytest.raises(ValueError, match="name for each"):
        Memory(X).map(lambda batch: batch.X, columns=("only",))


def test_samples_and_codes_of_mapped_rows():
    X = np.arange(20.0).reshape(10, 2)
    rows = Memory(X, list("ab" * 5), labels=True).map(lambda batch: batch.X**2).coded(["a", "b"])
    assert rows.targets().tolist() == [0.0, 1.0] * 5

    mapped, plain = (some.sample(0.5, Coins.fresh(Keystream.seeded(1))) for some in (rows, Memory(X)))
    np.testing.assert_array_equal(mapped.whole(), plain.whole() ** 2)
    dealt = [some.blocks(3, Coins.fresh(Keystream.seeded(2))) for some in (rows, Memory(X))]
    blocks = zip(*dealt, strict=True)
    assert all(np.array_equal(one.whole(), other.whole() ** 2) for one, other in blocks)


def test_mapped_rows_read_the_table_block_by_block():
    X = np.random.default_rng(0).uniform(-1, 1, (50_000, 4))
    sizes = []

    def image(batch):
        sizes.append(len(batch))
        return np.tile(batch.X, (1, 25))

    Memory(X).map(image).sum(BoundedSum(lambda batch: batch.X, norm=10.0))
    assert max(sizes) <= (1 << 18) // 100 and sum(sizes) == len(X)


def test_a_spy_sees_questions_about_features_as_questions_about_rows():
    X, y = waves(30)
    spy = Spy(Memory(X, y), lambda: None)
    query = BoundedSum(lambda batch: batch.X, norm=10.0)
    total = spy.map(lambda batch: batch.X * 2).map(lambda batch: batch.X[:, :1]).sum(query)
    (seen,) = spy.queries
    assert isinstance(seen, Mapped) and seen.norm == 10.0 and seen.widths(Batch(X[:0])) == (1, 1)
    np.testing.assert_array_equal(seen(Batch(X)), total)
