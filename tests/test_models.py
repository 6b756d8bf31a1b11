"""Private estimators: scikit-learn's contract, and what privacy changes of it."""

import copy
import pickle
import warnings

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csc_matrix, csr_array
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LinearRegression as Ordinary
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from discreet import (
    Bounds,
    Budget,
    BudgetExceeded,
    DeltaWarning,
    LeakWarning,
    Ledger,
    LedgerError,
    NoiseWarning,
    NotPrivateWarning,
    NotSupported,
)
from discreet.accounting import epsilon, mu
from discreet.checks import private_estimators
from discreet.datasets import HOSPITAL, hospital
from discreet.engines.memory import Memory
from discreet.errors import DiscreetWarning
from discreet.models import (
    KernelSVC,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    OnlineClassifier,
    PrivateSearchCV,
    Ridge,
    SGDClassifier,
)
from discreet.preprocessing import BoundsScaler, OneHotEncoder

from .lazy import pd

BOUNDS = Bounds(-1, 1, target=(-4, 4))
TWO = Bounds(-1, 1, classes=(0, 1))
SLOPE = np.array([1.0, -2.0, 0.5])


def data(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ SLOPE + 0.3 + rng.normal(0, 0.1, n)


# What scikit-learn demands and privacy forbids. Everything else passes.
OWN = {
    "OnlineClassifier": {"check_fit_score_takes_y": "a stream that was fitted has used up its rounds"},
}
EXCUSES = {
    "check_estimators_empty_data_messages": "no rows get a private answer: an error would tell that there are none",
    "check_dtype_object": "objects are refused by type: whether all of them are numbers is a fact about the rows",
    "check_supervised_y_no_nan": "a bad target contributes zero: an error would tell that there is one",
}


OF_CLASSIFIERS = {
    "check_classifiers_regression_target": "whether labels are whole numbers is a fact about the rows",
    "check_fit2d_1sample": "a single row is too few to find its class: the error must not tell of one row",
}


@pytest.mark.parametrize("name", private_estimators())
@pytest.mark.slow
def test_scikit_learns_own_checks(name, monkeypatch):
    estimator = clone(private_estimators()[name]).set_params(epsilon=1e6, bounds=Bounds(-10, 10, target=(-300, 300)))
    if "draws" in estimator.get_params():
        estimator.set_params(draws=60, chains=1)  # what is checked does not depend on how many there are
        monkeypatch.setattr("discreet.models.linear.hamiltonian.WINDOWS", (20, 30))  # nor on how well they have mixed
    excuses = EXCUSES | (OF_CLASSIFIERS if is_classifier(estimator) else {}) | OWN.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=excuses, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed, failed
    needless = {result["check_name"] for result in results if result["status"] == "passed"} & set(excuses)
    assert not needless, f"excused but passing: {needless}"
    assert sum(result["status"] == "passed" for result in results) > 30


@pytest.mark.catalogue("LR2")
def test_learns_the_slope():
    X, y = data(100_000)
    model = LinearRegression(1.0, 1e-6, bounds=BOUNDS).fit(X, y)
    assert np.abs(model.coef_ - SLOPE).max() < 0.1 and abs(model.intercept_ - 0.3) < 0.05
    assert model.score(X, y) > 0.98


@pytest.mark.catalogue("LR2")
def test_comes_close_to_ordinary_regression_on_the_hospital():
    columns, cost = hospital(30_000)
    frame = pd.DataFrame(columns)
    ceiling = Ordinary().fit(frame, cost).score(frame, cost)
    score = LinearRegression(3.0, 1e-6, bounds=HOSPITAL).fit(frame, cost).score(frame, cost)
    assert ceiling - 0.1 < score < ceiling


def test_units_of_the_data_do_not_matter():
    """The same fit in other units gives the same predictions, up to rounding to the grid."""
    X, y = data()
    scale, shift = np.array([10.0, 0.01, 3.0]), np.array([5.0, -2.0, 100.0])
    other = Bounds(shift - scale, shift + scale, target=(-40, 40))
    with pytest.warns(NotPrivateWarning):
        one = LinearRegression(bounds=BOUNDS, random_state=1).fit(X, y)
    with pytest.warns(NotPrivateWarning):
        two = LinearRegression(bounds=other, random_state=1).fit(X * scale + shift, 10 * y)
    np.testing.assert_allclose(10 * one.predict(X), two.predict(X * scale + shift), rtol=1e-4, atol=1e-4)


def test_frames_give_the_same_fit_as_arrays():
    X, y = data(500)
    bounds = Bounds({"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)}, target=(-4, 4))
    frame = pd.DataFrame(X, columns=list("abc"))
    forms = [(X, y, BOUNDS), (frame, y, bounds), (frame[["c", "a", "b"]], pd.Series(y), bounds)]
    forms += [(pl.DataFrame(frame), pl.Series(y), bounds), (X.tolist(), y.tolist(), BOUNDS)]
    forms += [(X.astype(np.float32), y, BOUNDS), (np.asfortranarray(X), y, BOUNDS)]
    scores = []
    for table, target, public in forms:
        with pytest.warns(NotPrivateWarning):
            model = LinearRegression(10.0, bounds=public, random_state=3).fit(table, target)
        scores.append(model.intercept_)
    assert scores[0] == scores[1] == scores[3] == scores[4] == scores[6]
    np.testing.assert_allclose(scores, scores[0], atol=0.3)


def test_a_column_as_target_is_taken_with_a_warning():
    X, y = data(100)
    with pytest.warns(DataConversionWarning):
        LinearRegression(bounds=BOUNDS).fit(X, y[:, None])


def test_columns_that_do_not_match():
    X, y = data(50)
    frame = pd.DataFrame(X, columns=list("abc"))
    ledger = Ledger(Budget(1, 1e-6))
    with pytest.raises(ValueError, match="no bounds for"):
        LinearRegression(bounds=Bounds({"a": (0, 1)}, target=(0, 1)), ledger=ledger).fit(frame, y)
    with pytest.raises(TypeError, match=r"not numbers: \['b'\]. Hint"):
        LinearRegression(bounds=BOUNDS, ledger=ledger).fit(frame.assign(b="x"), y)
    with pytest.raises(TypeError, match=r"not numbers: \['b'\]"):
        LinearRegression(bounds=BOUNDS, ledger=ledger).fit(pl.DataFrame(frame.assign(b="x").to_dict("list")), y)
    with pytest.raises(TypeError, match="its name as y"):
        LinearRegression(bounds=BOUNDS, ledger=ledger).fit(pl.DataFrame(frame).lazy(), y)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"epsilon": 0}, ValueError, "epsilon"),
        ({"epsilon": -1}, ValueError, "Got -1"),
        ({"epsilon": None}, TypeError, "epsilon"),
        ({"delta": 1}, ValueError, "delta"),
        ({"delta": 0, "method": "adassp"}, ValueError, "needs delta > 0"),
        ({"neighbours": "any"}, ValueError, "neighbours"),
        ({"unit": "patient"}, ValueError, "no column 'patient'"),
        ({"n": -3}, ValueError, "`n`"),
        ({"bounds": (0, 1)}, TypeError, "discreet.Bounds"),
        ({"bounds": Bounds(0, 1)}, ValueError, "target"),
        ({"bounds": Bounds([0, 0], [1, 1], target=(0, 1))}, ValueError, "2 features"),
        ({"method": "magic"}, ValueError, "method"),
        ({"ledger": 3}, TypeError, "Ledger"),
    ],
)
def test_bad_parameters_charge_nothing(options, error, says):
    ledger = Ledger(Budget(1, 1e-6))
    model = LinearRegression(**({"bounds": BOUNDS, "ledger": ledger} | options))
    with pytest.raises(error, match=says):
        model.fit(*data(20))
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("X", "y", "error", "says"),
    [
        (np.zeros(5), np.zeros(5), ValueError, "2D"),
        (np.zeros((5, 3)), np.zeros(4), ValueError, "different numbers of rows"),
        (np.zeros((5, 3)), np.zeros((5, 2)), ValueError, "1d array"),
        (np.zeros((5, 3)), None, ValueError, "requires y"),
        (np.zeros((5, 0)), np.zeros(5), ValueError, "0 feature"),
        (np.zeros((5, 3), complex), np.zeros(5), ValueError, "Complex"),
        (np.full((5, 3), "secret"), np.zeros(5), TypeError, "not of numbers"),
        (np.full((5, 3), "secret", dtype=object), np.zeros(5), TypeError, "not of numbers"),
        (np.ma.masked_array(np.zeros((5, 3))), np.zeros(5), TypeError, "Masked"),
        (np.zeros((5, 3)), np.ma.masked_array(np.zeros(5)), TypeError, "Masked"),
        (np.zeros((5, 3)), np.ma.masked_array(np.zeros((5, 1))), TypeError, "Masked"),
        (pd.DataFrame([["secret", 1.0]], columns=["a", "a"]), np.zeros(1), ValueError, "Twice"),
        ([[1, 2], [3]], np.zeros(2), ValueError, "equal length"),
    ],
)
def test_bad_data_charge_nothing_and_show_nothing(X, y, error, says):
    ledger = Ledger(Budget(1, 1e-6))
    with pytest.raises(error, match=says) as caught:
        LinearRegression(bounds=BOUNDS, ledger=ledger).fit(X, y)
    assert ledger.entries == () and "secret" not in str(caught.value)


def test_sparse_rows_are_as_dense_ones():
    X, y = data(300)
    X[::3, 1] = 0
    fits = []
    for table in (X, csr_array(X), csc_matrix(X)):
        with pytest.warns(NotPrivateWarning):
            fits.append(LinearRegression(bounds=BOUNDS, random_state=1).fit(table, y))
    assert len({model.predict(csr_array(X)).tobytes() for model in fits}) == 1
    with pytest.raises(ValueError, match="Complex"):
        LinearRegression(bounds=BOUNDS).fit(csr_array(X).astype(complex), y)


def test_weights_are_refused_clearly():
    X, y = data(20)
    with pytest.raises(NotSupported, match="sample_weight"):
        LinearRegression(bounds=BOUNDS).fit(X, y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match="unexpected"):
        LinearRegression(bounds=BOUNDS).fit(X, y, weight=1)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_data_give_a_private_answer(n):
    X, y = data(n)
    model = LinearRegression(bounds=BOUNDS).fit(X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_)


@pytest.mark.parametrize("strange", ["constant", "collinear", "nan", "inf", "huge", "bool", "int", "missing"])
def test_strange_columns_give_finite_coefficients(strange):
    X, y = data(300)
    table = {
        "constant": X * [1, 0, 1],
        "collinear": X[:, [0, 0, 0]],
        "nan": np.where(X > 0.9, np.nan, X),
        "inf": np.where(X > 0.9, np.inf, X),
        "huge": X * 1e300,
        "bool": X > 0,
        "int": (10 * X).astype(int),
        "missing": pd.DataFrame(np.where(X > 0.9, np.nan, X).round()).astype("Int64"),
    }[strange]
    model = LinearRegression(bounds=BOUNDS).fit(table, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_)


def test_predictions_keep_to_the_target_and_pass_missing_values_on():
    X, y = data(500)
    model = LinearRegression(bounds=BOUNDS).fit(X, y)
    predicted = model.predict(np.array([[1e9, -1e9, 1e9], [np.nan, 0, 0]]))
    assert -4 <= predicted[0] <= 4 and np.isnan(predicted[1])
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_the_receipt_says_what_was_paid():
    model = LinearRegression(1.0, 1e-6, bounds=BOUNDS, ledger=Ledger(Budget(1, 1e-6), data="claims"))
    receipt = model.fit(*data()).release_.details()
    for word in ("LinearRegression", "ε = 1, δ = 1e-06", "add-remove one row", "claims", "X'X", "squared residuals"):
        assert word in receipt
    assert "NOT PRIVATE" not in receipt
    assert 0.999 < epsilon(model.release_.event, 1e-6) <= 1


def test_joint_calibration_is_exact():
    """Three Gaussian releases are one: the multipliers are √3/μ (7.32 at ε = 1, δ = 1e-6; Wang's are 11.85)."""
    model = LinearRegression(1.0, 1e-6, bounds=BOUNDS, method="adassp").fit(*data(10))
    multipliers = [part.event.noise_multiplier for part in model.release_.parts]
    assert multipliers == pytest.approx([np.sqrt(3) / mu(1.0, 1e-6)] * 3, rel=1e-6)
    assert multipliers[0] == pytest.approx(7.32, abs=0.005)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_both_relations(neighbours):
    model = LinearRegression(bounds=BOUNDS, delta=1e-7, neighbours=neighbours).fit(*data(50_000))
    assert model.release_.neighbours == neighbours and model.score(*data(1000, seed=5)) > 0.9
    with pytest.raises(LedgerError, match="do not add up"):
        model.set_params(ledger=Ledger(Budget(9, 1e-6, "replace-one" if neighbours == "add-remove" else "add-remove")))
        model.fit(*data(10))


def test_grid_search_and_cross_validation_share_one_ledger():
    X, y = data(600)
    ledger = Ledger(Budget(100.0, 1e-5))
    model = LinearRegression(bounds=BOUNDS, ledger=ledger)
    cross_val_predict(model, X, y, cv=3)
    assert len(ledger.entries) == 3
    with pytest.warns(
        LeakWarning, match=r"GridSearchCV \(its scores\) .* NOT private. Hint: PrivateSearchCV"
    ) as caught:
        GridSearchCV(model, {"epsilon": [0.5, 1.0]}, cv=2).fit(X, y)
    assert not any("BoundsScaler" in str(one.message) for one in caught)
    assert len(ledger.entries) == 3 + 2 * 2 + 1


def test_copies_of_a_fitted_model_share_its_ledger():
    X, y = data(50)
    ledger = Ledger(Budget(100.0, 1e-5))
    model = LinearRegression(bounds=BOUNDS, ledger=ledger).fit(X, y)
    assert copy.copy(model).ledger is ledger and copy.deepcopy(model).ledger is ledger
    np.testing.assert_array_equal(copy.deepcopy(model).coef_, model.coef_)


def test_workers_cannot_copy_a_ledger_in_memory(tmp_path):
    X, y = data(100)
    model = LinearRegression(bounds=BOUNDS, ledger=Ledger(Budget(100.0, 1e-5)))
    with pytest.raises(pickle.PicklingError, match="durable"):
        pickle.dumps(model)
    durable = Ledger.open(tmp_path / "ledger.db", Budget(100.0, 1e-5))
    pickle.loads(pickle.dumps(model.set_params(ledger=durable))).fit(X, y)
    assert len(durable.entries) == 1


def test_an_unpickled_model_does_not_spend_outside_its_account():
    X, y = data(100)
    ledger = Ledger(Budget(100.0, 1e-5))
    model = LinearRegression(bounds=BOUNDS, ledger=ledger).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for other in (again, clone(again), pickle.loads(pickle.dumps(again))):
        with pytest.raises(LedgerError, match="set_params"):
            other.fit(X, y)
    again.set_params(ledger=ledger).fit(X, y)
    assert len(ledger.entries) == 2


def test_an_exhausted_ledger_refuses():
    ledger = Ledger(Budget(1.0, 1e-6))
    model = LinearRegression(bounds=BOUNDS, ledger=ledger).fit(*data(100))
    with pytest.raises(BudgetExceeded, match="LinearRegression"):
        model.fit(*data(100))


FEW = {"epsilon": 0.1, "delta": 0.001, "n": 20, "bounds": TWO, "random_state": 0}


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: LogisticRegression(**FEW).fit(X, y),
        lambda X, y: KernelSVC(n_components=2, **FEW).fit(X, y),
        lambda X, y: OnlineClassifier(horizon=1, **FEW).partial_fit(X, y),
        lambda X, y: make_pipeline(StandardScaler(), LinearSVC(**FEW)).fit(X, y),
        lambda X, y: cross_val_predict(SGDClassifier(epochs=1, **FEW), X, y, cv=2),
    ],
    ids=["classifier", "kernel", "stream", "pipeline", "cross-validation"],
)
def test_warnings_point_at_the_line_that_fits(fit):
    X, y = data(20)
    with pytest.warns(DiscreetWarning) as caught:
        fit(X, (y > 0).astype(int))
    ours = [one for one in caught if issubclass(one.category, DiscreetWarning)]
    assert {one.category for one in ours} >= {NoiseWarning, DeltaWarning, NotPrivateWarning}
    assert {one.filename for one in ours} == {__file__}


def test_scores_that_nobody_paid_for_warn():
    X, y = data(600)
    half = X[:300]
    model = LinearRegression(bounds=BOUNDS).fit(half, y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X[300:], y[300:])
        LinearRegression(bounds=BOUNDS).fit(X.tolist(), y).score(X, y)  # a list is not known again
    with pytest.warns(LeakWarning, match=r"This score of LinearRegression .* Hint: score rows that were kept apart"):
        model.score(X[:200], y[:200])  # a view of the same memory
    frame = pd.DataFrame(X)
    fitted = LinearRegression(bounds=BOUNDS).fit(frame, y)
    with pytest.warns(LeakWarning, match="This score"):
        fitted.score(frame, y)
    with pytest.warns(LeakWarning, match=r"cross_validate \(its scores\) .* Hint: score public rows"):
        cross_val_score(LinearRegression(bounds=BOUNDS), X, y, cv=2)
    with pytest.warns(LeakWarning, match="learning_curve"):
        learning_curve(LinearRegression(bounds=BOUNDS), X, y, cv=2, train_sizes=[0.5])
    search = PrivateSearchCV(LinearRegression(bounds=BOUNDS), {"clip": [None, 2.0]}, strategy="public", public=(X, y))
    with pytest.warns(LeakWarning, match="This score of PrivateSearchCV"):
        search.fit(X, y).score(X, y)


def test_pipelines_with_free_steps_are_quiet_and_others_warn():
    X, y = data(500)
    public = Bounds(-1, 1)
    free = make_pipeline(BoundsScaler(public), PolynomialFeatures(2), LinearRegression(bounds=BOUNDS))
    free.fit(X, y).predict(X)
    inner = ColumnTransformer([("scale", BoundsScaler(public), [0, 1]), ("rest", "passthrough", [2])])
    make_pipeline(inner, LinearRegression(bounds=BOUNDS)).fit(X, y)
    with pytest.warns(LeakWarning, match="standardscaler .* NOT private. Hint: BoundsScaler") as caught:
        make_pipeline(StandardScaler(), LinearRegression(bounds=BOUNDS)).fit(X, y)
    assert not any("PrivateSearchCV" in str(one.message) for one in caught)
    both = make_pipeline(StandardScaler(), LinearRegression(bounds=BOUNDS))
    with pytest.warns(LeakWarning, match="Hint: PrivateSearchCV .*, and BoundsScaler"):
        GridSearchCV(both, {"linearregression__epsilon": [0.5, 1.0]}, cv=2).fit(X, y)
    leaky = ColumnTransformer([("scale", StandardScaler(), [0, 1])])
    with pytest.warns(LeakWarning, match="columntransformer"):
        make_pipeline(leaky, LinearRegression(bounds=BOUNDS)).fit(X, y)
    with pytest.warns(LeakWarning, match="standardscaler"):
        make_pipeline(StandardScaler(), make_pipeline(BoundsScaler(public), LinearRegression(bounds=BOUNDS))).fit(X, y)
    with pytest.warns(LeakWarning, match="functiontransformer"):
        make_pipeline(FunctionTransformer(lambda A: A - A.mean()), LinearRegression(bounds=BOUNDS)).fit(X, y)
    with pytest.warns(LeakWarning, match="target"):
        TransformedTargetRegressor(LinearRegression(bounds=BOUNDS), transformer=StandardScaler()).fit(X, y)
    make_pipeline(FunctionTransformer(np.tanh), LinearRegression(bounds=BOUNDS)).fit(X, y)
    rest = ColumnTransformer([("first", "passthrough", [0])], remainder=StandardScaler())
    with pytest.warns(LeakWarning, match="columntransformer"):
        make_pipeline(rest, LinearRegression(bounds=BOUNDS)).fit(X, y)
    with pytest.warns(LeakWarning, match="target"):
        shifted = {"func": lambda v: v - v.mean(), "inverse_func": lambda v: v, "check_inverse": False}
        TransformedTargetRegressor(LinearRegression(bounds=BOUNDS), **shifted).fit(X, y)


def test_free_transformers_learn_nothing():
    table = pd.DataFrame({"city": ["a", "b", "zzz"], "sex": ["m", "f", "m"]})
    encoder = OneHotEncoder({"sex": ["f", "m"], "city": ["a", "b", "c"]})
    np.testing.assert_array_equal(encoder.fit_transform(table), [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1]])
    assert encoder.get_feature_names_out().tolist() == ["city_a", "city_b", "city_c", "sex_f", "sex_m"]
    assert "zzz" not in repr(vars(encoder))
    odd = pd.DataFrame({"city": ["a", pd.NA, "c"], "sex": ["m", None, "f"]})
    assert encoder.transform(odd).sum(axis=1).tolist() == [2, 0, 2]
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(table[["sex", "city"]])
    with pytest.raises(ValueError, match="columns"):
        OneHotEncoder({"sex": ["f"]}).fit(table)
    with pytest.raises(ValueError, match="one list per column"):
        OneHotEncoder([["a"]]).fit(table)
    with pytest.raises(TypeError, match=r"discreet\.Bounds"):
        BoundsScaler((0, 1)).fit([[1.0]])


def test_delta_far_from_small_is_warned_of():
    with pytest.warns(DeltaWarning, match=r"1/n"):
        LinearRegression(delta=1e-3, n=10_000, bounds=BOUNDS).fit(*data(100))


@pytest.mark.parametrize("n", [5_000, 50_000])
def test_bounds_not_given_are_paid_for_and_work_on_heavy_tails_and_mixed_units(n):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.lognormal(10, 1, n), rng.normal(2000, 15, n), rng.standard_t(3, n) * 1e-3, rng.integers(0, 2, n)]
    )
    X[0] = [1e12, 1e9, 1e9, 1e9]
    signal = np.minimum(X[:, 0] / 2e5, 1) + (X[:, 1] - 2000) / 30 + X[:, 3]
    y = 1e4 * (signal + rng.normal(0, 0.3, n))
    with pytest.warns(NotPrivateWarning):
        model = LinearRegression(3.0, 1e-6, random_state=1).fit(X, y)
    assert "estimated privately" in str(model.release_)
    assert epsilon(model.release_.event, 1e-6) <= 3.0
    assert model.bounds_.upper[0] < 1e8 and model.bounds_.upper[2] < 1 and model.bounds_.lower[1] > 1000
    assert model.score(X[1:], y[1:]) > (0.5 if n > 10_000 else 0.2)


def test_errors_of_prediction_show_no_value():
    X, y = data(50)
    model = LinearRegression(bounds=BOUNDS).fit(X, y)
    for call in (model.predict, BoundsScaler(Bounds(-1, 1)).fit(X).transform):
        with pytest.raises(TypeError) as caught:
            call(np.array([["secret-value", "1", "2"]], dtype=object))
        assert "secret" not in str(caught.value)


def test_dates_are_not_numbers():
    X = np.array([["2020-01-01"]] * 5, dtype="datetime64[D]")
    with pytest.raises(TypeError, match="dates"):
        LinearRegression(bounds=Bounds(-1, 1, target=(0, 1))).fit(X, np.zeros(5))


def test_rows_without_a_target_count_for_nothing():
    X, y = data(40_000)
    y[::2] = np.nan
    model = LinearRegression(10.0, bounds=BOUNDS).fit(X, y)
    assert np.abs(model.coef_ - SLOPE).max() < 0.2


def test_a_refused_first_fit_leaves_the_model_unfitted():
    X, y = data(20)
    ledger = Ledger(Budget(0.1, 1e-6))
    model = LinearRegression(bounds=BOUNDS, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_relation_is_checked_before_the_number_of_rows_is_looked_at():
    X, y = data(123)
    ledger = Ledger(Budget(1.0, 1e-4))
    with pytest.raises(LedgerError) as caught:
        LinearRegression(delta=1e-5, neighbours="replace-one", bounds=BOUNDS, ledger=ledger).fit(X, y)
    assert "123" not in str(caught.value)


def test_rows_behind_an_engine_must_bring_a_target():
    ledger = Ledger(Budget(1.0, 1e-6))
    for bounds in (None, BOUNDS):
        with pytest.raises(ValueError, match="no target"):
            LinearRegression(bounds=bounds, ledger=ledger).fit(Memory(data(20)[0]))
    assert ledger.entries == ()


def test_what_is_no_number_in_a_list_is_missing():
    X, y = data(4000)
    table = X.tolist()
    table[0][0], table[1][1], table[2][2] = "secret", None, 10**400
    model = LinearRegression(10.0, bounds=BOUNDS).fit(table, y.tolist())
    assert np.abs(model.coef_ - SLOPE).max() < 0.5


@pytest.mark.parametrize("row", [[0.1, [2.0], 0.3], [[1.0], [2.0], [3.0]], [[1.0, 2.0]] * 3, 7.0, None, "secret"])
def test_no_row_of_a_list_raises_by_what_is_in_it(row):
    """A cell that is itself a list is missing, and so is a row that is none, or a target: no error tells of it."""
    X, y = data(4000)
    for rows, targets in (([*X.tolist(), row], [*y.tolist(), [1.0, 2.0]]), ([row, *X.tolist()], [[], *y.tolist()])):
        if rows[0] is row and isinstance(row, list) and len(row) != 3:
            continue  # the first row says how wide the table is
        model = LinearRegression(10.0, bounds=BOUNDS).fit(rows, targets)
        assert np.abs(model.coef_ - SLOPE).max() < 0.5
    labels = ["a" if value > 0 else "b" for value in y]
    LogisticRegression(classes=["a", "b"], bounds=BOUNDS).fit([*X.tolist(), row], [*labels, ["a"]])
    with pytest.raises(ValueError, match="rows of equal length"):
        LinearRegression(bounds=BOUNDS).fit([*X.tolist(), [0.0]], [*y.tolist(), 0.0])


def test_delta_is_warned_of_where_n_is_public():
    X, y = data(100)
    with pytest.warns(DeltaWarning, match="1/n"):
        LinearRegression(delta=1e-3, neighbours="replace-one", bounds=BOUNDS).fit(X, y)


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: LinearRegression(neighbors="replace-one"), "neighbors.*Hint: `neighbours`"),
        (lambda: LinearRegression(bounds_X=(0, 1)), "bounds_X.*Hint: `bounds`; discreet.Bounds"),
        (lambda: LogisticRegression(C=1.0), "Hint: how strongly coefficients are shrunk"),
        (lambda: LogisticRegression(max_iter=100), "Hint: `rounds`"),
        (lambda: SGDClassifier(batch_size=100), "Hint: `lot`"),
        (lambda: LinearRegression(metod="ssp"), "Hint: `method`"),
        (lambda: LinearRegression(unheard_of=1), r"unexpected keyword argument 'unheard_of'\.$"),
        (lambda: PrivateSearchCV(LinearRegression(), {}, cv=5), "Hint: `strategy`"),
        (lambda: Ridge(1.0, 1e-6, 3.0), "Ridge: too many positional arguments"),
    ],
)
def test_names_of_other_libraries_are_hinted_at(make, hint):
    with pytest.raises(TypeError, match=hint):
        make()
