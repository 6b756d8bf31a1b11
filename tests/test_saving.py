"""Models as JSON: they come back to the bit, without code, without NaN; other files are refused."""

import json
import os
import warnings

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.checks.specimens import ordinary, private_estimators
from discreet.documents import dump, to_form
from discreet.documents import load as read
from discreet.models import LinearRegression, LogisticRegression, PrivateSearchCV, Ridge
from discreet.models.saving import VERSION, load, load_saved, save
from discreet.models.shared.encoder import Encoder
from discreet.query import Batch

ESTIMATORS = private_estimators()


def fitted(estimator):
    if hasattr(estimator, "draws"):
        estimator.set_params(draws=100, chains=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.set_params(random_state=1).fit(*ordinary(estimator, 500))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_comes_back_to_the_bit(name, tmp_path):
    model = fitted(ESTIMATORS[name])
    save(model, tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    back = load(tmp_path / "model.json")
    X, _ = ordinary(model, 300)
    X[0] = np.nan
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            one, two = getattr(model, method)(X), getattr(back, method)(X)
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(one, two)
    assert str(back.release_) == str(model.release_) and type(back) is type(model)
    assert dump(back) == dump(model.set_params(random_state=None))
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_search_comes_back(tmp_path):
    inner = Ridge(bounds=dc.Bounds([-1] * 3, [1] * 3, target=(-1, 1)))
    X, y = ordinary(inner, 500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateSearchCV(inner, {"alpha": [0.1, 1.0]}, epsilon=2.0, delta=1e-6, random_state=1).fit(X, y)
    save(model, tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict(X), model.predict(X))


def test_a_model_travels_without_its_account(tmp_path):
    ledger = dc.Ledger(dc.Budget(1.0, 1e-6), data="visits")
    model = LinearRegression(1.0, 1e-6, bounds=dc.Bounds(0, 1, target=(0, 1)), ledger=ledger)
    model.fit(np.ones((50, 2)), np.ones(50))
    save(model, tmp_path / "model.json")
    with pytest.raises(dc.LedgerError, match="without its ledger of visits"):
        load(tmp_path / "model.json").fit(np.ones((50, 2)), np.ones(50))


def test_names_of_people_stay_behind(tmp_path):
    people = pl.Series("person", [f"CANARY{i}" for i in range(50)])
    model = LinearRegression(1.0, 1e-6, bounds=dc.Bounds(0, 1, target=(0, 1)), unit=people)
    save(model.fit(np.ones((50, 2)), np.ones(50)), tmp_path / "model.json")
    assert "CANARY" not in (tmp_path / "model.json").read_text()


def test_an_encoder_goes_with_it(tmp_path):
    encoder = Encoder(("age", "ward"), (None, ("n", "s", "w")))
    X = encoder(Batch(np.array([[20, "n"], [40, "s"], [60, "?"]] * 50, dtype=object)))
    assert X.shape == (150, 3) and np.isnan(X[2, 1:]).all() and X[1].tolist() == [40, 1, 0]
    bounds = encoder.make_bounds({"age": (0, 100)}, classes=("a", "b"))
    assert bounds.columns == ("age", "ward=s", "ward=w") and bounds.upper.tolist() == [100, 1, 1]
    model = LogisticRegression(1.0, 1e-6, bounds=dc.Bounds(bounds.lower, bounds.upper, classes=("a", "b")))
    save(model.fit(X, np.resize(["a", "b"], 150)), tmp_path / "model.json", encoder, "ill")
    back = load_saved(tmp_path / "model.json")
    assert back.encoder == encoder and back.target == "ill" and back.columns == ("age", "ward")


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "model.json"
    save(fitted(ESTIMATORS["Ridge"]), path)
    return json.loads(path.read_text())


def broken(document, path, **changes):
    path.write_text(json.dumps(document | changes))
    with pytest.raises(dc.VersionError) as error:
        load(path)
    return str(error.value)


def test_other_documents_are_refused(document, tmp_path):
    path = tmp_path / "other.json"
    assert "version 1" in broken(document, path, version=VERSION + 1)
    assert "does not have" in broken(document, path, **{"class": "Forest"})
    assert "does not have" in broken(document, path, **{"class": "Bounds"})
    assert "does not have" in broken(document, path, **{"class": None})
    assert "does not hold the model" in broken(document, path, **{"class": "Lasso"})
    assert "no model of discreet" in broken(document, path, discreet="release")
    assert "damaged" in broken(document, path, state={"object": ["os", "system", {}]})
    assert "damaged" in broken(document, path, state={"object": ["discreet.models.linear", "np", {}]})
    assert "damaged" in broken(document, path, state={"object": ["stats.mean", {}]})
    assert "damaged" in broken(document, path, state={"object": ["os.system", {}]})
    assert "damaged" in broken(document, path, state={"code": "print(1)"})
    assert "damaged" in broken(document, path, state={"array": ["|O", [1], "C", True, ""]})
    assert "damaged" in broken(document, path, encoder={"tuple": []})
    odd = document["state"]["object"]
    assert "damaged" in broken(document, path, state={"object": [odd[0], {"__class__": 1}]})
    for text in ("", "not JSON", "[" * 100_000, "[]", "3"):
        path.write_text(text)
        with pytest.raises(dc.VersionError):
            load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(dc.VersionError, match="not JSON"):
        load(path)


def test_nan_is_no_json(document, tmp_path):
    path = tmp_path / "nan.json"
    path.write_text(json.dumps(document | {"target": float("nan")}))
    with pytest.raises(dc.VersionError, match="not JSON"):
        load(path)


def state(document):
    return document["state"]["object"][1]


def test_a_model_that_does_not_predict_is_damaged(document, tmp_path):
    path = tmp_path / "odd.json"
    good = dict(state(document))
    width = int(opened_width(document))
    for name, odd in (
        ("coef_", to_form(np.full(width, np.nan))),
        ("coef_", to_form(np.zeros(width + 1))),
        ("coef_", "text"),
        ("coef_", to_form(np.array(["a"] * width))),
        ("intercept_", {"float": "nan"}),
        ("intercept_", None),
        ("n_features_in_", width + 1),
    ):
        state(document).clear()
        state(document).update(good | {name: odd})
        assert "damaged" in broken(document, path), (name, odd)
    state(document).clear()
    state(document).update(good)
    path.write_text(json.dumps(document))
    load(path)
    assert "damaged" in broken(document, path, encoder=to_form(Encoder(("a",), (None,))))


def opened_width(document):
    return document["state"]["object"][1]["n_features_in_"]


def test_seeds_stay_behind(tmp_path):
    model = ESTIMATORS["Ridge"].set_params(random_state=481516)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(model.fit(*ordinary(model, 500)), tmp_path / "model.json")
    assert "481516" not in (tmp_path / "model.json").read_text()
    assert not load(tmp_path / "model.json").release_.private


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="is not fitted"):
        save(LinearRegression(), tmp_path / "model.json")
    with pytest.raises(ValueError, match="no estimator"):
        save(object(), tmp_path / "model.json")
    path = tmp_path / "model.json"
    path.write_text("old")
    with pytest.raises(ValueError):
        save(LinearRegression(), path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["model.json"]


def test_documents_are_strict_json():
    value = {"a": [float("nan"), float("inf"), -float("inf"), -0.0], "b": np.array([np.nan])}
    text = dump(value)
    json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    back = read(text)
    assert repr(back["a"]) == repr(value["a"]) and np.isnan(back["b"]).all()
    with pytest.raises(ValueError, match="not known"):
        read('{"code": 1}')
