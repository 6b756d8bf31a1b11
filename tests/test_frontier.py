"""The frontier, its cache, its words, and rows simulated from public facts."""

import json
import math
from inspect import isabstract

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression as Plain
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.pipeline import make_pipeline

from discreet import Bounds, Budget, Ledger, models
from discreet.evaluate import Frontier, ceiling, error_curve, frontier, simulate
from discreet.evaluate import runner as running
from discreet.evaluate.bands import make_band
from discreet.evaluate.cache import describe_model, digest_tables
from discreet.evaluate.candidates import name_estimators, prepare_rows
from discreet.evaluate.frontier import Run
from discreet.evaluate.nested_parameters import find_epsilon_name
from discreet.models import LinearRegression, LogisticRegression, Ridge
from discreet.preprocessing import BoundsScaler

from .lazy import pd

BOUNDS = Bounds(-1, 1, target=(-2, 2))
DATA = simulate("regression", bounds=BOUNDS, d=2, n=500, expected=0.8, random_state=3)
QUICK = {"epsilons": [0.3, 30.0], "ns": [100, 400], "repeats": 3}


def fast(**parameters):
    return LinearRegression(method="adassp", bounds=BOUNDS, **parameters)


def scores(result):
    return [run.score for run in result.runs]


@pytest.fixture(scope="module")
def result():
    return frontier({"adassp": fast()}, *DATA, **QUICK)


@pytest.mark.catalogue("CO7")
def test_between_floor_and_ceiling(result):
    """Much ε comes near the ceiling, little ε is well below it; one tidy row per fit."""
    frame = result.frame()
    assert frame.columns == ["estimator", "kind", "epsilon", "n", "repeat", "score"]
    assert len(frame) == 3 * 2 * (2 + 1 + 1) == len(result.runs)
    assert result.kept("adassp", 30.0) > 0.95 > 0.5 > result.kept("adassp", 0.3)
    top, bottom = result.at("scikit-learn LinearRegression"), result.at("mean")
    assert bottom.median < result.at("adassp", 30.0).median < top.median + 1e-3 and top.median > 0.7
    assert frame.filter(pl.col("kind") != "private")["epsilon"].null_count() == 12
    assert result.needed(0.9) == {"adassp": 30.0} and result.needed(1.01) == {"adassp": None}


def test_summary_is_the_frame_summed_up(result):
    table = result.summary()
    assert len(table) == 2 * (2 + 1 + 1)
    one = table.row(by_predicate=(pl.col("epsilon") == 0.3) & (pl.col("n") == 100), named=True)
    here = [run.score for run in result.runs if (run.epsilon, run.n) == (0.3, 100)]
    assert one["median"] == np.median(here) and one["low"] == pytest.approx(np.quantile(here, 0.1))
    assert one["kept"] == result.kept("adassp", 0.3, 100)
    assert table.filter(pl.col("kind") == "ceiling")["kept"].null_count() == 2


def test_the_ceiling_and_the_floor_are_what_they_say(result):
    """Recomputed by hand for one repeat: same split, scikit-learn's model, the mean of the training rows."""
    rows = running.StudyRows(DATA.X, DATA.y, DATA.X, 100)
    train, test = rows.split_rows(0, 1, 400)
    model = Plain().fit(DATA.X[train], DATA.y[train])
    found = {run.kind: run.score for run in result.runs if run.repeat == 1 and run.n == 400}
    assert found["ceiling"] == pytest.approx(model.score(DATA.X[test], DATA.y[test]), abs=1e-12)
    assert -0.1 < found["floor"] <= 0


@pytest.mark.slow
def test_the_scores_do_not_depend_on_the_number_of_processes(tmp_path, result):
    """Slow to start: each process imports scikit-learn. What processes store is found again."""
    assert scores(frontier({"adassp": fast()}, *DATA, **QUICK, n_jobs=2, cache=tmp_path)) == scores(result)
    assert len(list(tmp_path.iterdir())) == len(result.runs)


def test_the_seed_repeats_it(result):
    assert scores(frontier({"adassp": fast()}, *DATA, **QUICK)) == scores(result)
    assert scores(frontier({"adassp": fast()}, *DATA, **QUICK, random_state=1)) != scores(result)


def test_a_fit_does_not_depend_on_its_neighbours(result):
    """Other ε, other n and other estimators leave a score as it is; sets of rows are nested, tests apart from them."""
    more = frontier({"b": Ridge(bounds=BOUNDS), "adassp": fast()}, *DATA, epsilons=[30.0, 100.0], ns=[400], repeats=4)
    mine = {(r.estimator, r.epsilon, r.n, r.repeat): r.score for r in result.runs}
    both = {(r.estimator, r.epsilon, r.n, r.repeat): r.score for r in more.runs}
    shared = mine.keys() & both.keys()
    assert len(shared) == 9 and all(mine[key] == both[key] for key in shared)
    rows = running.StudyRows(DATA.X, DATA.y, DATA.X, 100)
    (small, test), (large, again) = rows.split_rows(0, 0, 50), rows.split_rows(0, 0, 400)
    assert set(small) < set(large) and np.array_equal(test, again) and not set(test) & set(large)


def test_it_says_that_it_is_not_private(result):
    assert "NOT private" in str(result) and "public, or simulated" in str(result) and "NOT PRIVATE" in repr(result)


def test_error_curve_runs_on_the_same_fits(result):
    """The same seed, split and noise: its errors are those behind the frontier's R²."""
    curve = error_curve(fast(), *DATA, epsilons=[0.3, 30.0], sizes=[100, 400], repeats=3, seed=0, test_share=0.2)
    r2 = {(run.epsilon, run.n, run.repeat): run.score for run in result.runs if run.kind == "private"}
    for epsilon, size, repeat, error in curve.runs:
        _, test = running.StudyRows(DATA.X, DATA.y, DATA.X, 100).split_rows(0, repeat, size)
        assert 1 - error**2 / np.var(DATA.y[test]) == pytest.approx(r2[epsilon, size, repeat], abs=1e-9)


# the cache --------------------------------------------------------------------------------------------


def counted(monkeypatch):
    calls = []
    real = running._score_job
    monkeypatch.setattr(running, "_score_job", lambda *args: calls.append(args[0]) or real(*args))
    return calls


def test_a_stopped_study_goes_on(tmp_path, monkeypatch, result):
    calls = counted(monkeypatch)

    def stop(done, total):
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        frontier({"adassp": fast()}, *DATA, **QUICK, cache=tmp_path, progress=stop)
    assert len(calls) == len(list(tmp_path.iterdir())) == 10
    seen = []
    again = frontier({"adassp": fast()}, *DATA, **QUICK, cache=tmp_path, progress=lambda *how: seen.append(how))
    assert scores(again) == scores(result) and len(calls) == 24
    assert seen[0] == (10, 24) and seen[-1] == (24, 24)
    calls.clear()
    assert scores(frontier({"adassp": fast()}, *DATA, **QUICK, cache=tmp_path)) == scores(result) and not calls


def test_damaged_files_are_computed_again(tmp_path, monkeypatch, result):
    """Torn, empty, altered, of another key, no JSON at all."""
    frontier({"adassp": fast()}, *DATA, **QUICK, cache=tmp_path)
    files = sorted(tmp_path.iterdir())
    whole = json.loads(files[0].read_text())
    files[0].write_text(files[0].read_text()[:20])
    files[1].write_text("")
    files[2].write_text(json.dumps(whole | {"score": (0.5).hex()}))
    files[3].write_text(files[4].read_text())
    files[5].write_bytes(b"\xff\x00")
    files[6].write_text("[1]")
    calls = counted(monkeypatch)
    assert scores(frontier({"adassp": fast()}, *DATA, **QUICK, cache=tmp_path)) == scores(result)
    assert len(calls) == 6 and all(path.suffix == ".json" for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"estimators": {"adassp": fast(n=500)}},
        {"X": np.where(np.arange(1000).reshape(500, 2) == 77, 0.25, DATA.X)},
        {"y": DATA.y[::-1].copy()},
        {"random_state": 1},
        {"test": 0.15},
        {"score": "neg_mean_absolute_error"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_anything_else_is_another_key(tmp_path, monkeypatch, change):
    study = {"estimators": {"adassp": fast()}, "X": DATA.X, "y": DATA.y, "epsilons": [1.0], "ns": [50], "repeats": 1}
    frontier(**study, cache=tmp_path)
    calls = counted(monkeypatch)
    frontier(**(study | change), cache=tmp_path)
    private = [job for job in calls if job.epsilon is not None]
    assert len(private) == 1 and len(calls) == (1 if "estimators" in change else 3)


def test_the_code_is_part_of_the_key(tmp_path, monkeypatch):
    study = {"epsilons": [1.0], "ns": [50], "repeats": 1, "cache": tmp_path}
    frontier(fast(), *DATA, **study)
    monkeypatch.setattr("discreet.evaluate.cache.digest_code", lambda: "another version")
    calls = counted(monkeypatch)
    frontier(fast(), *DATA, **study)
    assert len(calls) == 3


class Home(Ridge):
    """Its file is this one, which the key holds a digest of."""


def test_what_has_no_stable_form_is_refused_with_a_cache(tmp_path):
    assert describe_model(Home()) != describe_model(Ridge()) and len(describe_model(Home())[0]) == 2
    for bad in ({"score": lambda model, X, y: 0.0}, {"estimators": models.KernelRidge(kernel=lambda x, z: x @ z)}):
        study = {"estimators": fast(), "X": DATA.X, "y": DATA.y} | bad
        with pytest.raises(ValueError, match=r"cache cannot .*Hint"):
            frontier(**study, epsilons=[1.0], ns=[50], repeats=1, cache=tmp_path)
    assert (
        digest_tables(np.array([1, 2]))
        != digest_tables(np.array([1.0, 2.0]))
        != digest_tables(np.array([[1.0], [2.0]]))
    )
    assert digest_tables(np.array(["a", None], object)) != digest_tables(np.array(["a", "b"], object))


# what is given ----------------------------------------------------------------------------------------


def test_names_and_forms():
    assert list(name_estimators(Ridge, 1e-5)) == ["Ridge"] and name_estimators(Ridge, 1e-5)["Ridge"].delta == 1e-5
    assert name_estimators([Ridge(delta=0.0)], 1e-5)["Ridge"].delta == 0.0
    assert list(name_estimators([Ridge(), Ridge()], 1e-6)) == ["Ridge 1", "Ridge 2"]
    assert list(name_estimators({"a": Ridge, "b": Ridge()}, 1e-6)) == ["a", "b"]
    assert find_epsilon_name(make_pipeline(BoundsScaler(BOUNDS), Ridge())) == "ridge__epsilon"
    assert find_epsilon_name(models.PrivateSearchCV(Ridge())) == "epsilon"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"estimators": fast(ledger=Ledger(Budget(1.0, 1e-6)))}, "charges nothing"),
        ({"estimators": {"u": fast(unit=np.arange(500))}}, "name of a column"),
        ({"estimators": []}, "no estimators"),
        ({"estimators": Plain()}, "one `epsilon`. LinearRegression has none"),
        ({"estimators": [fast(), LogisticRegression()]}, "one frontier for each"),
        ({"epsilons": [0.0, 1.0]}, "`epsilons`"),
        ({"epsilons": []}, "`epsilons`"),
        ({"ns": [401]}, "within the 400 rows"),
        ({"ns": [0]}, "`ns`"),
        ({"repeats": 0}, "`repeats`"),
        ({"random_state": None}, "`random_state`"),
        ({"test": 1}, "`test`"),
        ({"score": "beauty"}, "`score`.*'beauty'"),
        ({"y": DATA.y[:-1]}, "as many rows"),
    ],
)
def test_what_is_refused(bad, says):
    with pytest.raises(ValueError, match=says):
        frontier(**({"estimators": fast(), "X": DATA.X, "y": DATA.y} | bad))


def test_no_value_is_shown():
    """Text among numbers, one class alone for scikit-learn: what is raised names neither."""
    X = np.where(np.arange(1000).reshape(500, 2) == 7, "CANARY", DATA.X.astype(object))
    with pytest.raises((ValueError, TypeError)) as caught:
        frontier(fast(), X, DATA.y, epsilons=[1.0], ns=[400], repeats=1)
    assert "CANARY" not in str(caught.value) + str(caught.value.__cause__)
    y = np.where(np.arange(500) == 0, "rare", "CANARY")
    classes = LogisticRegression(bounds=Bounds(-1, 1, classes=["rare", "CANARY"]))
    with pytest.raises(ValueError, match="failed on 3 rows") as caught:
        frontier(classes, DATA.X, y, epsilons=[1.0], ns=[3], repeats=1)
    assert "CANARY" not in str(caught.value) and caught.value.__cause__ is None and caught.value.__suppress_context__


def test_frames_and_missing_rows():
    """A frame with bounds by name gives what the array gives, whatever the order; incomplete rows count for nothing."""
    public = Bounds({"b": (-1, 1), "a": (-4, 4)}, target=(-2, 2))
    X = np.column_stack([4 * DATA.X[:, 0], DATA.X[:, 1]])
    study = {"epsilons": [1.0], "ns": [300], "repeats": 2}
    by_name = LinearRegression(method="adassp", bounds=public)
    by_place = LinearRegression(method="adassp", bounds=Bounds([-4, -1], [4, 1], target=(-2, 2)))
    expected = scores(frontier(by_place, X, DATA.y, **study))
    for frame in ({"a": X[:, 0], "b": X[:, 1]}, pl.DataFrame(X, ["a", "b"]), pd.DataFrame(X, columns=["a", "b"])):
        assert scores(frontier(by_name, frame, DATA.y, **study)) == expected
    more = np.vstack([X[:100], [[np.nan, 0.0]], X[100:], [[0.0, np.inf], [0.0, 0.0]]])
    y = np.concatenate([DATA.y[:100], [0.0], DATA.y[100:], [0.0, np.nan]])
    assert scores(frontier(by_place, more, y, **study)) == expected


def test_units_are_no_features_of_the_ceiling_and_nobody_is_in_training_and_test():
    """A column that names people serves the private fit and the split alone; a public n follows the number of rows."""
    frame = pl.DataFrame(DATA.X, ["a", "b"]).with_columns(who=pl.Series(np.arange(500) // 7 + 10**12))
    people = LinearRegression(bounds=Bounds({"a": (-1, 1), "b": (-1, 1)}, target=(-2, 2)), unit="who")
    found = frontier(people, frame, DATA.y, epsilons=[30.0], ns=[390], repeats=1)
    rows, _ = prepare_rows(frame, DATA.y, {"people": people}, 0.2)
    train, test = rows.split_rows(0, 0, 390)
    plain = Plain().fit(DATA.X[train], DATA.y[train]).score(DATA.X[test], DATA.y[test])
    assert found.at(found.ceilings["LinearRegression"]).median == pytest.approx(plain, abs=1e-12)
    assert found.kept("LinearRegression", 30.0) > 0.5
    for repeat in range(20):
        train, test = rows.split_rows(0, repeat, 390)
        assert len(test) == 100 and len(train) == 390 and not {*(train // 7)} & {*(test // 7)}
        assert rows.split_rows(0, repeat, 50)[0].tolist() == train[:50].tolist()
    with pytest.raises(ValueError, match="one `unit`"):
        both = [people, LinearRegression(bounds=people.bounds, unit="a")]
        frontier(both, frame, DATA.y, epsilons=[1.0], repeats=1)
    job = running.Job(fast(n=500), 1.0, 123, 0)
    assert (
        running._make_seeded_model(job, 0).n == 123
        and running._make_seeded_model(running.Job(fast(), 1.0, 9, 0), 0).n is None
    )


def test_pipelines_scores_and_ceilings_of_ones_own():
    piped = make_pipeline(BoundsScaler(Bounds(-1, 1)), fast())
    study = {"epsilons": [30.0], "ns": [400], "repeats": 2}
    found = frontier({"piped": piped}, *DATA, **study, ceiling={"piped": ceiling.make_floor(fast())})
    assert found.ceilings == {"piped": "scikit-learn DummyRegressor"} and math.isnan(found.kept("piped", 30.0))
    assert "nothing here that privacy could cost" in found.sentence()
    named_score = frontier(fast(), *DATA, **study, score="neg_mean_absolute_error")
    assert named_score.measure == "neg mean absolute error" and max(scores(named_score)) < 0
    own = frontier(fast(), *DATA, **study, score=lambda model, X, y: float(len(y)))
    assert own.measure == "score" and set(scores(own)) == {100.0}


FITTED = [n for n in models.__all__ if hasattr(getattr(models, n), "fit") and not isabstract(getattr(models, n))]


@pytest.mark.parametrize("name", FITTED)
def test_every_model_has_a_counterpart(name):
    cls = getattr(models, name)
    model = cls(models.Lasso(alpha=0.1)) if name == "PrivateSearchCV" else cls()
    above = ceiling.make_counterpart(model)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    classes = ceiling.is_classifier(model)
    assert ceiling.is_classifier(above) == classes
    y = X[:, 0] > 0 if classes else X[:, 0]
    share = above.fit(X, y).score(X, y)
    assert share > 0.9 or ceiling.label_of(above) in ("Lasso", "ElasticNet")
    assert "epsilon" not in ceiling.label_of(above) and not hasattr(above, "release_")


def test_penalties_are_those_of_the_private_model():
    assert ceiling.make_counterpart(models.Ridge(alpha=7.0, fit_intercept=False)).get_params()["alpha"] == 7.0
    assert not ceiling.make_counterpart(models.Ridge(alpha=7.0, fit_intercept=False)).fit_intercept
    net = ceiling.make_counterpart(models.ElasticNet(alpha=0.2, l1_ratio=0.3))
    assert (net.alpha, net.l1_ratio) == (0.2, 0.3)
    assert ceiling.label_of(ceiling.make_counterpart(models.SGDClassifier(loss="hinge"))) == "LinearSVC"
    kernel = ceiling.make_counterpart(models.KernelRidge(gamma=3.0, kernel="laplacian"))
    assert kernel.steps[1][1].gamma == 3.0 and kernel.steps[1][1].kernel == "laplacian"


def test_classes():
    data = simulate("classification", bounds=Bounds(0, 1, classes=["no", "yes"]), d=2, n=1000, expected=0.9)
    model = LogisticRegression(bounds=data.bounds)
    found = frontier({"logistic": model}, *data, epsilons=[30.0], ns=[800], repeats=2)
    assert found.measure == "accuracy" and found.floor == "majority class"
    assert found.ceilings == {"logistic": "scikit-learn LogisticRegression"}
    assert found.kept("logistic", 30.0) > 0.8 and "over the majority class" in found.sentence()


# in words ---------------------------------------------------------------------------------------------


def made(table, ceiling=0.8, floor=0.0, measure="R²"):
    """A frontier from medians: {estimator: {(ε, n): score}}."""
    ns = sorted({n for cells in table.values() for _, n in cells})
    runs = [Run(name, "private", e, n, 0, s) for name, cells in table.items() for (e, n), s in cells.items()]
    runs += [Run("top", "ceiling", None, n, 0, ceiling) for n in ns] + [
        Run("mean", "floor", None, n, 0, floor) for n in ns
    ]
    return Frontier(tuple(runs), dict.fromkeys(table, "top"), measure)


def test_the_sentence_reads_the_picture():
    linear = {
        (0.1, 500): -2.0,
        (0.3, 500): 0.2,
        (1.0, 500): 0.6,
        (0.1, 1000): -0.5,
        (0.3, 1000): 0.6,
        (1.0, 1000): 0.78,
    }
    other = {key: value - 0.1 for key, value in linear.items()}
    said = made({"other": other, "linear": linear}).sentence()
    assert said == (
        "With 1,000 rows, at ε = 1 linear keeps 98% of the ceiling's R² (0.78 of 0.80); other keeps 85%. "
        "From ε = 1 on it keeps 90% or more; at ε = 0.1 no more than a guess. "
        "At ε = 0.3 twice the rows would be worth about what twice the ε is, 0.1 of R²; "
        "500 rows instead of 1,000 cost 0.4."
    )


def test_the_sentence_at_the_ends():
    always = made({"m": {(0.1, 10): 0.75, (1.0, 10): 0.7999}}).sentence()
    assert "over 99%" in always and "Already at ε = 0.1, the least that was tried, it keeps 94%." in always
    never = made({"m": {(0.1, 10): -9.0, (1.0, 10): 0.4}}).sentence()
    assert "Even at ε = 1, the most that was tried, it keeps 50%." in never and "twice" not in never
    hopeless = made({"m": {(1.0, 10): -9.0}}).sentence()
    assert "keeps nothing of the ceiling's R²" in hopeless
    gap = made({"m": {(0.1, 10): 0.79, (0.3, 10): 0.1, (1.0, 10): 0.79}})
    assert gap.needed() == {"m": 1.0}  # from which on: one lucky smaller ε is not enough
    words = made({"m": {(1.0, 10): 0.85}}, ceiling=0.9, floor=0.6, measure="accuracy").sentence()
    assert "keeps 83% of what the ceiling gains over the mean (accuracy 0.85, between 0.60 and 0.90)" in words


def test_the_sentence_is_about_the_model_that_needs_least_even_if_another_is_a_hair_better_at_one():
    close = {"first": {(0.3, 10): 0.5, (1.0, 10): 0.781, (3.0, 10): 0.79}}
    close |= {"second": {(0.3, 10): 0.75, (1.0, 10): 0.78, (3.0, 10): 0.79}}
    said = made(close).sentence()
    assert "at ε = 1 second keeps 98%" in said and "Already at ε = 0.3, the least that was tried, it keeps 94%." in said
    tied = {"first": {(0.3, 10): 0.1, (1.0, 10): 0.781}, "second": {(0.3, 10): 0.5, (1.0, 10): 0.78}}
    assert "at ε = 1 second keeps" in made(tied).sentence()
    never = {"first": {(0.3, 10): -50.0, (1.0, 10): 0.6}, "second": {(0.3, 10): 0.0, (1.0, 10): 0.5}}
    assert "at ε = 1 first keeps" in made(never).sentence()


def test_bands():
    found = make_band(np.arange(11.0), (0.2, 0.8))
    assert found == (5.0, 5.0, 2.0, 8.0)


# simulated rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("expected", [0.1, 0.5, 0.9])
def test_regressions_are_as_good_as_expected(expected):
    """R² of least squares on 20,000 rows: its standard error is below 0.007, so five of them are 0.035."""
    data = simulate("regression", bounds=Bounds([0, -5], [1, 5], target=(0, 100)), n=20_000, expected=expected)
    assert abs(Plain().fit(*data).score(*data) - expected) < 0.035
    assert ((data.X >= [0, -5]) & (data.X <= [1, 5])).all() and data.y.min() >= 0 and data.y.max() <= 100


@pytest.mark.parametrize(("classes", "shares", "expected"), [(2, None, 0.7), (2, (0.9, 0.1), 0.95), (4, None, 0.8)])
def test_classes_are_as_good_as_expected(classes, shares, expected):
    """Accuracy of a logistic model on 20,000 rows, whose standard error is below 0.004; and the shares."""
    bounds = Bounds(0, 1, classes=[f"c{i}" for i in range(classes)])
    data = simulate("classification", bounds=bounds, d=3, n=20_000, expected=expected, shares=shares)
    X = (data.X - 0.5) * 6
    assert abs(PlainLogistic(C=100).fit(X, data.y).score(X, data.y) - expected) < 0.025
    found = np.array([(data.y == label).mean() for label in bounds.classes])
    assert np.abs(found - (shares or np.full(classes, 1 / classes))).max() < 0.025


def test_simulations_repeat_themselves_and_say_what_they_are():
    ask = {"bounds": Bounds({"a": (0, 1), "b": (0, 9)}, target=(0, 1)), "n": 50, "expected": 0.5}
    one, two, three = (simulate("regression", **ask, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.X, two.X) and np.array_equal(one.y, two.y) and not np.array_equal(one.X, three.X)
    assert "public facts alone" in str(one) and "Nobody is in them" in str(one) and len(one) == 50
    wards = simulate("regression", **ask, categories={"ward": ["x", "y"], "sex": 2})
    assert wards.columns == ("a", "b", "ward=x", "ward=y", "sex=0", "sex=1") == wards.bounds.columns
    assert (wards.X[:, 2:4].sum(axis=1) == 1).all() and wards.bounds.target == (0.0, 1.0)
    assert wards.frame("cost").columns == [*wards.columns, "cost"]
    fit = LinearRegression(epsilon=5.0, bounds=wards.bounds).fit(wards.frame().drop("target"), wards.y)
    assert fit.n_features_in_ == 6
    close = simulate("regression", **ask | {"n": 5000}, correlation=0.8, spread=0.1)
    assert 0.75 < np.corrcoef(close.X.T)[0, 1] < 0.85 and close.X[:, 0].std() == pytest.approx(0.05, rel=0.1)
    few = simulate("regression", bounds=Bounds(0, 1, target=(0, 1)), d=10, n=5000, expected=0.9, informative=0.1)
    assert (np.abs(Plain().fit(*few).coef_) > 0.05).sum() == 1


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"kind": "ranking"}, "`kind`"),
        ({"kind": "classification"}, "no classes"),
        ({"bounds": Bounds([0], [1])}, "nothing of the target"),
        ({"bounds": Bounds(0, 1, target=(0, 1))}, "number of columns must be known"),
        ({"d": 3}, "`d`"),
        ({"n": 1}, "`n`"),
        ({"expected": 1.0}, "`expected`"),
        ({"spread": 0.0}, "`spread`"),
        ({"correlation": 1.0}, "`correlation`"),
        ({"categories": {"a": ["one"]}}, "`categories` of 'a'"),
        ({"random_state": -1}, "`random_state`"),
    ],
)
def test_what_simulate_refuses(bad, says):
    ask = {"kind": "regression", "bounds": Bounds([0, 0], [1, 1], target=(0, 1)), "n": 10, "expected": 0.5}
    with pytest.raises(ValueError, match=says):
        simulate(**(ask | bad))
    with pytest.raises(ValueError, match="above the share"):
        simulate("classification", bounds=Bounds([0], [1], classes=[0, 1]), n=9, expected=0.6, shares=[0.7, 0.3])
