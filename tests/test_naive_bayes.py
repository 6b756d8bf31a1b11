"""Naive Bayes: one release with the norm of a whole row, finite for whatever data, and sums that add up."""

import copy
import math

import numpy as np
import polars
import pytest

from discreet import Bounds, Budget, Ledger, accounting, checks
from discreet.checks import behaviour, replay
from discreet.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import BudgetExceeded, ReadError
from discreet.models import CategoricalNB, GaussianNB, LogisticRegression, MixedNB
from discreet.models.naive_bayes import categorical, gaussian
from discreet.models.naive_bayes.columns import Places, whole_edges
from discreet.models.shared.bins import codes_between, find_edges

from .lazy import pd

pytestmark = [
    pytest.mark.catalogue("CL6"),
    pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning", "ignore::discreet.NoiseWarning"),
]

CLASSES = ("ill", "well")
SPREAD = [GaussianNB(), CategoricalNB(), MixedNB(), MixedNB(numbers="gaussian")]


def table(n=4000, seed=0):
    """A number and two categories that depend on the class, and a number that does not."""
    rng = np.random.default_rng(seed)
    y = rng.choice(CLASSES, n)
    ill = y == "ill"
    columns = {
        "age": rng.normal(40, 8, n) + 15 * ill,
        "smokes": np.where(rng.random(n) < np.where(ill, 0.8, 0.3), "yes", "no"),
        "noise": rng.uniform(0, 1, n),
        "ward": rng.choice(["a", "b", "c"], n),
    }
    return pd.DataFrame(columns), y


LISTS = {"smokes": ["yes", "no"], "ward": ["a", "b", "c"]}
RANGES = Bounds({"age": (0, 100), "noise": (0, 1)}, classes=CLASSES)


def mixed(epsilon=5.0, delta=1e-6, **options):
    return MixedNB(epsilon, delta, **({"categories": LISTS, "bounds": RANGES, "random_state": 1} | options))


# Accuracy: what is learnt is what scikit-learn learns, but for the noise -----------------------------------


def test_moments_are_those_of_each_class():
    from sklearn.naive_bayes import GaussianNB as Ordinary

    rng = np.random.default_rng(1)
    y = rng.choice([0, 1, 2], 6000, p=[0.5, 0.3, 0.2])
    X = rng.normal(0, 1, (6000, 3)) + y[:, None] * [1.0, -1.0, 0.0]
    model = GaussianNB(1e4, 1e-6, bounds=Bounds(-8, 8, classes=(0, 1, 2)), random_state=0).fit(X, y)
    there = Ordinary().fit(X, y)
    assert np.allclose(model.theta_, there.theta_, atol=0.01) and np.allclose(model.var_, there.var_, atol=0.03)
    assert np.allclose(model.class_count_, there.class_count_, atol=1)
    assert (model.predict(X) == there.predict(X)).mean() > 0.995
    assert np.allclose(model.predict_proba(X), there.predict_proba(X), atol=0.03)


def test_counts_are_those_of_each_class():
    from sklearn.naive_bayes import CategoricalNB as Ordinary

    rng = np.random.default_rng(1)
    y = rng.choice([0, 1], 5000)
    X = np.column_stack([rng.integers(0, 3 + y), rng.integers(0, 2, 5000)])
    bounds = Bounds([0, 0], [3, 1], classes=(0, 1))
    model = CategoricalNB(1e4, 1e-6, bounds=bounds, random_state=0).fit(X, y)
    there = Ordinary(alpha=1e-9).fit(X, y)
    for mine, theirs, m in zip(model.feature_log_prob_, there.feature_log_prob_, (4, 2), strict=True):
        assert np.allclose(np.exp(mine[:, :m]), np.exp(theirs), atol=2e-3)
    listed = CategoricalNB(1e4, 1e-6, categories=[range(4), range(2)], classes=(0, 1), random_state=0).fit(X, y)
    assert (listed.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("numbers", ["histogram", "gaussian"])
def test_frames_of_numbers_and_text(numbers, delta):
    X, y = table()
    model = mixed(2.0, delta, numbers=numbers).fit(X, y)
    assert model.score(X, y) > 0.83
    assert (model.predict(polars.from_pandas(X)) == model.predict(X)).all()
    again = mixed(2.0, delta, numbers=numbers).fit(polars.from_pandas(X).lazy().with_columns(y=polars.Series(y)), "y")
    assert (again.predict(X) == model.predict(X)).all()  # the same to the bit, wherever the rows lie


def test_bins_hold_about_as_many_rows_each_and_a_full_value_has_its_own():
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(20_000) < 0.9, 0.0, rng.uniform(0, 64, 20_000))
    X = np.column_stack([rng.exponential(8.0, 20_000), gains])
    budget = Budget(50.0, 1e-6)
    from discreet.budget import counts

    (share,) = budget.split(counts(1))
    curator = Curator(Memory(X), Ledger(budget))
    even, skewed = find_edges(curator, share, Bounds([0, 0], [64, 64]), [0, 1], 8)
    held = np.bincount(codes_between(X[:, 0], even)) / len(X)
    assert len(even) == 7 and held.max() < 0.2 and held.min() > 0.06
    assert len(skewed) == 7 and skewed[0] == 1.0 and skewed[-1] > 50  # the others share what is left


def test_a_price_of_bins_is_within_the_plan():
    """All that is measured is one entry, whose exact cost is the budget."""
    X, y = table(300)
    for delta in (1e-6, 0.0):
        ledger = Ledger(Budget(1.0, delta))
        model = mixed(1.0, delta, ledger=ledger, random_state=None).fit(X, y)
        (entry,) = ledger.entries
        assert 0.99 < accounting.epsilon(entry.event, delta) <= 1.0
        assert [part.name for part in model.release_.parts] == ["bins", "values by class"]


# The norm is that of a whole row ---------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_fifty_equal_features_are_paid_for_and_a_budget_for_each_is_caught(delta, monkeypatch):
    """What a row moves in all answers, divided by the noise: declared for the joint norm, not for one of a feature."""
    for kind in (GaussianNB, CategoricalNB):
        bounds = Bounds([-1.0] * 50, [1.0] * 50, classes=("a", "b"))
        model = kind(1.0, delta, bounds=bounds)
        checks.check_replayed_loss(copy.deepcopy(model))
        name = "sum_by_class" if kind is GaussianNB else "count_by_class"
        owner = gaussian.Moments if kind is GaussianNB else categorical.Cells
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, unpaid(getattr(owner, name)))
            with pytest.raises(AssertionError, match="was lost where 1 was declared"):
                checks.check_replayed_loss(copy.deepcopy(model))


def unpaid(honest):
    """The same sum, whose sensitivity is said to be that of one feature."""

    def twin(self, *arguments):
        query = honest(self, *arguments)
        said = type(query).sensitivity
        vars_ = {name: getattr(query, name) for name in query.__dataclass_fields__}
        kind = type("Twin", (type(query),), {"sensitivity": lambda q, *asked: said(q, *asked) / 7})
        return kind(**vars_)

    return twin


def test_the_norm_is_the_longest_that_an_image_has():
    rng = np.random.default_rng(0)
    z = np.vstack([rng.uniform(-1, 1, (2000, 4)), np.sign(rng.normal(size=(200, 4)))])
    image = gaussian.Moments(Bounds([-1.0] * 4, [1.0] * 4))
    from discreet.query import Batch

    found = image(Batch(z))
    for order in (1, 2):
        longest = np.linalg.norm(found, order, axis=1).max()
        assert longest <= image.norm(order) * (1 + 1e-12) and longest > image.norm(order) * (1 - 1e-12)


def test_noise_of_moments_is_for_the_joint_norm():
    X, y = np.zeros((50, 10)), np.repeat(CLASSES, 25)
    release = GaussianNB(1.0, 1e-6, bounds=Bounds(-1, 1, classes=CLASSES), random_state=0).fit(X, y).release_
    multiplier = accounting.noise_multiplier(1.0, 1e-6)
    assert release.parts[0].std == pytest.approx(multiplier * math.sqrt(1 + 1.25 * 10), rel=1e-3)


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_cells_and_moments_are_one_release_with_the_norm_of_both(delta):
    """Two categories and two numbers: √(2 + 1 + 2·5/4) for Gaussian noise, 2 + 1 + 2·3/2 for Laplace noise."""
    X, y = table(100)
    release = mixed(1.0, delta, numbers="gaussian").fit(X, y).release_
    scale = accounting.noise_multiplier(1.0, delta) * math.sqrt(5.5) if delta else math.sqrt(2) * 6.0
    assert [part.name for part in release.parts] == ["values by class", "moments by class"]
    assert all(part.std == pytest.approx(scale, rel=2e-3) for part in release.parts)


# Whatever the data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("model", SPREAD, ids=repr)
def test_probabilities_are_finite_for_no_rows_and_for_a_class_without_any(model, epsilon, delta):
    bounds = Bounds([-1.0] * 3, [1.0] * 3, classes=("a", "b", "c"))
    far = np.array([[0.0, 0.0, 0.0], [np.nan] * 3, [1e308, -1e308, 5e-324], [np.inf, -np.inf, 1.0]])
    for n in (0, 1, 60):
        X, y = np.zeros((n, 3)), np.array(["a"] * n, dtype=object)
        made = copy.deepcopy(model).set_params(epsilon=epsilon, delta=delta, bounds=bounds, random_state=n).fit(X, y)
        found = made.predict_proba(far)
        assert np.isfinite(found).all() and np.allclose(found.sum(axis=1), 1)
        assert np.isfinite(made.predict_joint_log_proba(far)).all()
        assert np.allclose(found[1], np.exp(made.class_log_prior_))  # nothing is known of this row


def test_values_that_are_not_listed_say_nothing_and_the_others_of_their_row_count():
    X, y = table(600)
    odd = X.assign(ward="elsewhere")
    model = mixed(1e6, numbers="gaussian").fit(odd, y)
    smokes, there = model.feature_log_prob_[0], mixed(1e6).fit(X, y).feature_log_prob_[1]
    assert np.allclose(np.exp(smokes[:, :2]), np.exp(there[:, :2]), atol=0.01)
    known = X.iloc[:3].copy()
    assert np.allclose(model.predict_proba(known), model.predict_proba(known.assign(ward=None)), atol=0.02)


def test_rows_to_predict_for_are_like_those_of_the_fit():
    X, y = table(100)
    model = mixed(categories=[None, ["yes", "no"], None, ["a", "b", "c"]], bounds=Bounds(0, 100, classes=CLASSES))
    model.fit(X.to_numpy(object), y)
    with pytest.raises(ValueError, match="X has 3 features, but MixedNB is expecting 4"):
        model.predict(X.to_numpy(object)[:, :3])
    with pytest.raises(ValueError, match="feature names"):
        mixed().fit(X, y).predict(X[["smokes", "age", "noise", "ward"]])


def test_what_is_wrong_is_refused_before_anything_is_charged():
    X, y = table(50)
    ledger = Ledger(Budget(100.0, 1e-3))
    wrong = [
        (mixed(categories={"smoke": ["yes"]}), X, "`categories` of MixedNB are of columns \\['smoke'\\]"),
        (mixed(categories={"smokes": ["yes", "yes"]}), X, "1 to 4096 distinct values"),
        (mixed(categories=[["yes"]]), X, "one list, or None, for each of 4 columns"),
        (mixed(numbers="normal"), X, "'histogram' or 'gaussian'. Got 'normal'"),
        (mixed(n_bins=1), X, "`n_bins` of MixedNB must be a whole number from 2 to 64. Got 1"),
        (mixed(edges=[[1.0]]), X, "`edges` of MixedNB must be one list, or None, for each of 4 columns"),
        (mixed(edges=[[1.0, 0.0], None, None, None]), X, "increasing lists"),
        (mixed(bounds=Bounds({"age": (0, 1)}, classes=CLASSES)), X, "no bounds for \\['noise'\\]"),
    ]
    for model, rows, text in wrong:
        with pytest.raises((ValueError, TypeError), match=text):
            model.set_params(ledger=ledger, random_state=None).fit(rows, y)
    with pytest.raises(TypeError, match="OneHotEncoder"):
        MixedNB(bounds=RANGES, ledger=ledger).fit(X, y)
    assert ledger.entries == ()


# More rows, and other sites --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [GaussianNB(), CategoricalNB(), MixedNB(), MixedNB(numbers="gaussian")], ids=repr)
def test_parts_of_the_rows_add_up_to_all_of_them(model):
    """Without noise to speak of, three calls and three sites say what all rows at once do; each call is charged."""
    rng = np.random.default_rng(0)
    y = rng.choice(CLASSES, 900)
    X = np.rint(rng.normal(0, 1, (900, 2)) + (y == "ill")[:, None])
    ledger = Ledger(Budget(1e9, 1e-3, "add-remove"))
    model = copy.deepcopy(model).set_params(
        epsilon=1e6, bounds=Bounds([-4.0] * 2, [5.0] * 2, classes=CLASSES), random_state=1
    )
    if isinstance(model, MixedNB) and model.numbers == "histogram":
        model.set_params(edges=[np.arange(-3.5, 5.0).tolist()] * 2)
    whole, parts = copy.deepcopy(model).fit(X, y), copy.deepcopy(model).set_params(ledger=ledger)
    sites = []
    for i in range(3):
        some = slice(300 * i, 300 * i + 300)
        parts.partial_fit(X[some], y[some])
        sites.append(copy.deepcopy(model).fit(X[some], y[some]).statistics_)
    assert len(ledger.entries) == 3 and len(parts.statistics_.releases) == 3
    options = {"numbers": model.numbers} if isinstance(model, MixedNB) else {}
    added = type(model).from_statistics(sites[0] + sites[1] + sites[2], **options)
    for one in (parts, added):
        assert np.allclose(one.class_count_, whole.class_count_, atol=0.1)
        assert np.allclose(one.predict_proba(X), whole.predict_proba(X), atol=1e-3)
    assert parts.statistics_.stds[0] == pytest.approx(math.sqrt(3) * whole.statistics_.stds[0])


def test_later_calls_use_what_the_first_found():
    """Bounds, classes and bins are found once; what they are depends on no row of a later call."""
    X, y = table(6000)
    X = X[["age", "noise"]].to_numpy()
    model = MixedNB(4.0, 1e-6, random_state=3)
    model.partial_fit(X[:3000], y[:3000])
    edges, bounds = model.edges_, model.bounds_
    assert [part.name for part in model.release_.parts] == ["octaves", "ranges", "classes", "bins", "values by class"]
    model.partial_fit(X[3000:] * 100, y[3000:])
    assert model.edges_ == edges and model.bounds_ == bounds
    assert [part.name for part in model.release_.parts] == ["values by class"]


def test_a_part_that_is_not_paid_for_changes_nothing():
    X, y = table(400)
    ledger = Ledger(Budget(1.0, 1e-6))
    model = mixed(1.0, ledger=ledger, random_state=None).partial_fit(X[:200], y[:200])
    before = copy.deepcopy(vars(model))
    with pytest.raises(BudgetExceeded):
        model.partial_fit(X[200:], y[200:])
    assert vars(model).keys() == before.keys() and np.array_equal(model.class_count_, before["class_count_"])
    assert len(model.statistics_.releases) == 1


def test_classes_may_be_told_to_the_first_call():
    X, y = table(400)
    model = MixedNB(1.0, 0.0, categories=LISTS, bounds=Bounds({"age": (0, 100), "noise": (0, 1)}))
    model.partial_fit(X[:200], y[:200], classes=CLASSES).partial_fit(X[200:], y[200:], classes=CLASSES)
    assert model.classes_.tolist() == list(CLASSES)


def test_sums_of_other_models_are_not_added():
    X, y = table(200)
    one, two = mixed(1.0).fit(X, y), mixed(1.0, edges=[[50.0], None, [0.5], None]).fit(X, y)
    with pytest.raises(ValueError, match="agree on public ones"):
        one.statistics_ + two.statistics_


def test_a_fit_that_failed_is_run_again_unpaid():
    class Once(Memory):
        left = 1

        def _take_rows(self, rows):
            some = super()._take_rows(rows)
            some.__class__ = Once
            return some

        def sum(self, query):
            if self.left:
                Once.left = 0
                raise OSError
            return super().sum(query)

    rng = np.random.default_rng(0)
    account = Ledger(Budget(3.0, 1e-5))
    model = GaussianNB(1.0, 1e-6, bounds=Bounds(-1, 1, classes=CLASSES), ledger=account.retrying("monday"))
    rows = Once(rng.uniform(-1, 1, (50, 2)), rng.choice(CLASSES, 50), labels=True)
    with pytest.raises(ReadError, match="not charged a second time"):
        model.fit(rows)
    assert np.isfinite(model.fit(rows).theta_).all() and len(account.entries) == 1


# The checks, where mixed and pure, and on frames -----------------------------------------------------------

FEW = [
    behaviour.check_spends_what_it_declares,
    behaviour.check_blind_to_the_data,
    behaviour.check_charges_before_reading,
    behaviour.check_hostile_rows,
    behaviour.check_bad_rows_add_nothing,
    behaviour.check_engines_agree,
    replay.check_replay,
    replay.check_replayed_loss,
    behaviour.check_nothing_escapes,
]


@pytest.mark.parametrize("check", FEW, ids=lambda check: check.__name__)
def test_other_ways_pass_the_checks_too(check):
    for model in (
        GaussianNB(4.0, 0.0),
        CategoricalNB(4.0, 0.0),
        MixedNB(4.0, 0.0),
        MixedNB(4.0, 1e-6, numbers="gaussian"),
        MixedNB(4.0, 1e-6, neighbours="replace-one"),
    ):
        check(checks.prepared(model))


def test_places_are_of_each_row_alone():
    from discreet.query import Batch

    cells = np.array([["b", 1], ["?", "x"], [None, 2.5]], dtype=object)
    found = Places((("a", "b"), None))(Batch(cells))
    assert np.array_equal(found, [[1, 1], [np.nan, np.nan], [np.nan, 2.5]], equal_nan=True)
    assert whole_edges(0.2, 0.4) == () and whole_edges(-1, 1) == (-0.5, 0.5)


def test_regression_is_better_where_features_go_together():
    """What the page says: naive Bayes counts one thing twice."""
    rng = np.random.default_rng(0)
    common = rng.normal(0, 1, 5000)
    X = np.column_stack([common + rng.normal(0, 0.1, 5000) for _ in range(6)] + [rng.normal(0, 1, 5000)])
    y = np.where(common + 2 * X[:, -1] + rng.normal(0, 0.5, 5000) > 0, *CLASSES)
    scores = [
        model.set_params(bounds=Bounds(-4, 4, classes=CLASSES), random_state=0).fit(X, y).score(X, y)
        for model in (GaussianNB(), LogisticRegression())
    ]
    assert scores[1] > scores[0] + 0.05
