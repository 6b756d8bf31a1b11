"""Evaluation (CL12): exact for those who hold the rows, paid for those who publish."""

import itertools
import sys

import matplotlib
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from discreet import Bounds, Budget, BudgetExceeded, Ledger, NotPrivateWarning
from discreet import evaluate as ev
from discreet.accounting import epsilon as epsilon_at
from discreet.audit import audit
from discreet.checks.specimens import Spy
from discreet.engines.memory import Memory
from discreet.evaluate import paid, scores
from discreet.evaluate.ratio import estimate_share
from discreet.events import Gaussian, Laplace, Pure
from discreet.models import LinearRegression
from discreet.models.selection import PrivateSearchCV
from discreet.models.shared.classifier import LinearClassifier

from .lazy import pd
from .sabotage import acquit, catch

matplotlib.use("Agg")

SURE = 1 - 1e-6
BUDGETS = [(1.0, 0.0), (1.0, 1e-6)]
PAID = [ev.private_accuracy, ev.private_confusion, ev.private_scores, ev.private_auc, ev.private_calibration]
paid_for = pytest.mark.parametrize("function", PAID, ids=lambda f: f.__name__)


class Known(LinearClassifier):
    """A linear classifier that is given and not learnt, of this library's kind: quick to ask."""

    def __init__(self, epsilon=1.0, delta=1e-6, *, weights=(2.0, 0.0), neighbours="add-remove", unit=None, n=None,
                 bounds=None, classes=None, ledger=None, random_state=None):  # fmt: skip
        self.epsilon, self.delta, self.weights, self.neighbours = epsilon, delta, weights, neighbours
        self.unit, self.n, self.bounds, self.classes = unit, n, bounds, classes
        self.ledger, self.random_state = ledger, random_state

    def _fit(self, task):
        task.deal(1)
        self.coef_, self.intercept_ = np.array([self.weights]), np.zeros(1)


def known(weights=(2.0, 0.0)):
    return Known(weights=weights, bounds=Bounds([-4.0] * 2, [4.0] * 2, classes=("no", "yes"))).fit([[0, 0]], ["no"])


MODEL = known()


def population(n, rng, slope=2.0):
    """Rows whose class has the probability that MODEL predicts, if the slope is 2."""
    X = np.clip(rng.normal(size=(n, 2)), -4, 4)
    return X, np.where(rng.uniform(size=n) < expit(slope * X[:, 0]), "yes", "no")


def rows(n=2000, seed=0):
    return population(n, np.random.default_rng(seed))


# exact ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (False, True)], ids=str)
def test_two_columns_of_probabilities_are_as_good_as_one(labels):
    rng = np.random.default_rng(3)
    p = rng.random(200)
    y = np.array(labels)[(rng.random(200) < p).astype(int)]
    two = np.column_stack([1 - p, p])
    assert np.array_equal(ev.roc(y, two).tpr, ev.roc(y, p).tpr) and ev.roc(y, two).auc == ev.auc(y, two) == ev.auc(y, p)
    assert np.array_equal(ev.calibration(y, two).observed, ev.calibration(y, p).observed)
    first, last = {"positive": labels[0]}, {"positive": labels[1]}  # each has a column of its own
    assert ev.roc(y, two, **first).auc == ev.auc(y, two, **first) == ev.auc(y, 1 - p, **first) > 0.5
    assert ev.calibration(y, two, **first).error == ev.calibration(y, 1 - p, **first).error
    nobody = np.repeat(labels[:1], 200)
    assert np.array_equal(ev.calibration(nobody, two, **last).predicted, ev.calibration(y, p).predicted)
    for odd in (two[:, :1], np.column_stack([two, p])):
        with pytest.raises(ValueError, match="two columns"):
            ev.roc(y, odd)


@pytest.mark.catalogue("CL12")
def test_exact_figures_are_scikit_learns():
    X, y = rows()
    p, said = MODEL.predict_proba(X)[:, 1], MODEL.predict(X)
    curve = ev.roc(y, p)
    assert curve.auc == ev.auc(y, p) == pytest.approx(roc_auc_score(y == "yes", p), abs=1e-12)
    assert (np.diff(curve.fpr) >= 0).all() and curve.tpr[-1] == 1
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(curve.auc, abs=1e-9)
    table = ev.confusion(y, said)
    assert table.classes == ("no", "yes") and np.array_equal(table.counts, confusion_matrix(y, said))
    assert table.accuracy == pytest.approx(accuracy_score(y, said))
    assert table.recall[1] == pytest.approx(np.mean(said[y == "yes"] == "yes"))
    assert table.precision[0] == pytest.approx(np.mean(y[said == "no"] == "no"))
    right = ev.calibration(y, p, bins=5)
    assert right.counts.sum() == 2000 and np.abs(right.predicted - right.observed).max() < 0.1 and right.error < 0.05
    assert ev.calibration(y, 1 - p, bins=5).error > 0.3


@pytest.mark.catalogue("CL12")
def test_several_classes():
    y = np.array([0, 1, 2, 2])
    table = ev.confusion(y, [0, 2, 2, 2], classes=[0, 1, 2, 3])
    assert table.counts.shape == (4, 4) and table.accuracy == 0.75 and np.isnan(table.recall[3])
    assert ev.auc(y, np.eye(3)[y]) == 1.0
    with pytest.raises(ValueError, match="Two classes"):
        ev.roc(y, y)
    assert ev.roc(y, y, positive=2).auc == 1.0
    assert np.isnan(ev.confusion([], [], classes=[0, 1]).accuracy)


@pytest.mark.catalogue("CL12")
def test_everything_can_be_drawn():
    X, y = rows(300)
    p = MODEL.predict_proba(X)[:, 1]
    table = ev.private_scores(MODEL, X, y, bins=8)
    for thing in (ev.roc(y, p), ev.confusion(y, MODEL.predict(X)), ev.calibration(y, p), ev.roc_of(table)):
        ax = thing.plot()
        assert ax.get_xlabel() and ax.get_ylabel()
        assert thing.plot(ax) is ax
    assert ev.calibration_of(table).plot().collections
    answer = ev.private_confusion(MODEL, X, y)
    assert ev.Confusion(answer.axes[0], answer.value).plot().images


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="Hint: pip install matplotlib"):
        ev.confusion([0, 1], [0, 1]).plot()


@pytest.mark.catalogue("CL12")
def test_error_against_rows_and_epsilon():
    """More rows and more ε mean less error; a seed repeats all of it, and no warning escapes."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (1200, 2))
    y = X @ [1.0, -1.0] + rng.normal(0, 0.1, 1200)
    bounds = Bounds(-1, 1, target=(-2, 2))
    study = {"epsilons": [0.3, 30.0], "sizes": [60, 900], "repeats": 6, "seed": 4}
    curve = ev.error_curve(LinearRegression(bounds=bounds), X, y, **study)
    again = ev.error_curve(lambda epsilon: LinearRegression(epsilon, bounds=bounds), X, y, **study)
    assert np.array_equal(curve.runs, again.runs) and len(curve.runs) == 24
    at = {(row["epsilon"], row["size"]): row for row in curve.table()}
    assert at[30.0, 900]["median"] < at[0.3, 900]["median"] and at[30.0, 900]["median"] < at[30.0, 60]["median"]
    assert all(row["low"] <= row["median"] <= row["high"] for row in curve.table())
    assert len(curve.plot().lines) == 2 and curve.plot(against="epsilon").get_xlabel() == "ε"
    other = ev.error_curve(LinearRegression(bounds=bounds), X, y, **(study | {"seed": 5}))
    assert not np.array_equal(curve.runs["error"], other.runs["error"])


def test_error_of_classifiers_and_of_what_is_not_private():
    X, y = rows(400)
    curve = ev.error_curve(lambda _: LogisticRegression(), X, y, epsilons=[np.inf], sizes=[100], repeats=2)
    assert curve.measure == "share of wrong classes" and 0.1 < curve.table()[0]["mean"] < 0.4
    for bad in ({"sizes": [400]}, {"sizes": [0]}, {"repeats": 0}, {"test_share": 0.0}):
        with pytest.raises(ValueError):
            ev.error_curve(lambda _: MODEL, X, y, **({"epsilons": [1.0], "sizes": [10]} | bad))


# paid -------------------------------------------------------------------------------------------------


@pytest.mark.catalogue("CL12")
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_paid_figures_are_close(budget, neighbours):
    """20,000 rows at ε = 1: within what the noise explains (seed fixed)."""
    X, y = rows(20_000)
    p, options = MODEL.predict_proba(X)[:, 1], {"neighbours": neighbours, "random_state": 3}
    with pytest.warns(NotPrivateWarning):
        accuracy = ev.private_accuracy(MODEL, X, y, *budget, **options)
        table = ev.private_confusion(MODEL, X, y, *budget, **options)
        auc = ev.private_auc(MODEL, X, y, *budget, **options)
        calibration = ev.private_calibration(MODEL, X, y, *budget, **options)
    assert accuracy.value == pytest.approx(np.mean(MODEL.predict(X) == y), abs=6 * accuracy.std) and accuracy.std < 1e-3
    assert accuracy.interval[0] < accuracy.value < accuracy.interval[1]
    np.testing.assert_allclose(table.value, confusion_matrix(y, MODEL.predict(X)), atol=6 * table.std)
    assert table.axes == (("no", "yes"), ("no", "yes"))
    assert auc.value == pytest.approx(roc_auc_score(y == "yes", p), abs=6 * auc.std + 2e-3)
    exact = ev.calibration(y, p, bins=10)
    np.testing.assert_allclose(calibration.value, exact.observed, atol=0.05)
    assert (calibration.interval[0] <= calibration.value).all() and len(calibration.axes[0]) == 11


@paid_for
@pytest.mark.parametrize("budget", BUDGETS)
def test_each_spends_what_it_says_before_it_reads(function, budget):
    ledger = Ledger(Budget(*budget))
    spy = Spy(Memory(*rows(60), labels=True), lambda: len(ledger.entries))
    answer = function(MODEL, spy, None, *budget, ledger=ledger)
    (entry,) = ledger.entries
    assert spy.watched == [1] and entry.event == answer.event
    assert 0.99 < epsilon_at(entry.event, budget[1]) <= 1.0 and (answer.epsilon, answer.delta) == budget
    with pytest.raises(BudgetExceeded):
        function(MODEL, spy, None, *budget, ledger=ledger)
    assert spy.watched == [1] and len(ledger.entries) == 1


@paid_for
def test_each_is_blind_to_the_rows(function):
    """Empty, single, strange rows: the same event and shapes, finite numbers, and no value in what leaves."""
    X, y = rows(50)
    canary = X.copy()
    canary[3, 0] = 8_675_309.125
    odd = np.array([*y[:48], "maybe", None], dtype=object)
    seen = []
    for data in ((X[:0], y[:0]), (X[:1], y[:1]), (np.full_like(X, 1e308), y), (X * np.nan, y), (canary, y), (X, odd)):
        answer = function(MODEL, *data)
        seen.append((answer.event, np.shape(answer.value), np.shape(answer.interval), answer.axes))
        assert np.isfinite(np.asarray(answer.value)).all()
        assert "8675309" not in repr(answer) + str(answer) + answer.to_json()
    assert all(one == seen[0] for one in seen)


@paid_for
def test_arguments_that_are_refused(function):
    X, y = rows(20)
    ledger = Ledger(Budget(1.0))
    wide, frame = np.zeros((20, 3)), pd.DataFrame(X, columns=["a", "b"])
    named = LogisticRegression().fit(frame, y)
    with pytest.raises(ValueError):
        function(MODEL, wide, y, ledger=ledger)
    with pytest.raises(ValueError, match="requires y"):
        function(MODEL, X, ledger=ledger)
    with pytest.raises(ValueError, match="columns"):
        function(named, frame[["b", "a"]], y, ledger=ledger)
    with pytest.raises(ValueError, match="needs `classes`"):
        function(type("Bare", (), {"predict": None, "predict_proba": None})(), X, y, ledger=ledger)
    with pytest.raises(TypeError, match="unexpected"):
        function(MODEL, X, y, ledger=ledger, colour=1)
    if function not in (ev.private_accuracy, ev.private_confusion):
        for bins in (1, [0.0, 0.5], [0.0, 0.5, 0.4, 1.0]):
            with pytest.raises(ValueError, match="bins"):
                function(MODEL, X, y, ledger=ledger, bins=bins)
        with pytest.raises(ValueError, match="two classes"):
            function(MODEL, X, y, ledger=ledger, classes=["no", "yes", "maybe"])
    assert ledger.entries == ()
    assert function(named, frame, y).epsilon == 1.0


def test_bad_rows_count_for_nothing_and_wrong_ones_as_wrong():
    X = np.array([[1.0, 0], [1, 0], [np.nan, 0], [np.inf, 0], [1, 0], [-1, 0]])
    y = np.array(["yes", "no", "yes", "yes", "maybe", "no"], dtype=object)
    accuracy = ev.private_accuracy(MODEL, X, y, epsilon=1e5)
    assert accuracy.value == pytest.approx(2 / 3, abs=1e-3)
    table = ev.private_confusion(MODEL, X, y, epsilon=1e5)
    np.testing.assert_allclose(table.value, [[1, 1], [0, 1]], atol=1e-2)
    np.testing.assert_allclose(ev.private_scores(MODEL, X, y, epsilon=1e5, bins=2).value, table.value, atol=1e-2)


def test_models_from_elsewhere_and_searches():
    X, y = rows(300)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    table = ev.private_confusion(tree, X, y, epsilon=1e5)
    np.testing.assert_allclose(table.value, confusion_matrix(y, tree.predict(X)), atol=1e-2)
    estimator = Known(bounds=MODEL.bounds)
    search = PrivateSearchCV(estimator, {"weights": [(2.0, 0.0), (-2.0, 0.0)]}, epsilon=20.0).fit(X, y)
    answer = ev.private_accuracy(search, X, y, epsilon=1e5)
    assert answer.value == pytest.approx(search.score(X, y), abs=1e-3) and search.best_index_ == 0


def test_a_public_number_of_rows_halves_the_variance():
    X, y = rows(500)
    assert ev.private_accuracy(MODEL, X, y, n=500).std == pytest.approx(ev.private_accuracy(MODEL, X, y).std, rel=0.35)
    with_n = estimate_share(400.0, 100.0, 3.0, Laplace(1.0), 0.95, n=500)
    without = estimate_share(400.0, 100.0, 3.0, Laplace(1.0), 0.95)
    assert with_n[0] == without[0] == 0.8
    assert with_n[1] == pytest.approx(3 / np.sqrt(2) / 500) and without[1] == pytest.approx(
        3 * np.hypot(0.8, 0.2) / 500
    )


@pytest.mark.parametrize(("neighbours", "sabotage"), [("add-remove", 1.0), ("add-remove", 0.25), ("replace-one", 1.0)])
def test_audit_of_accuracy(neighbours, sabotage, monkeypatch):
    """One row more, or another: what the noisy counts give away stays below ε = 1; a quarter of the noise is caught.

    False alarm below 1e-6: the audit's own confidence.
    """
    from discreet.curator import total_noise as noise

    true = noise.add_laplace
    monkeypatch.setattr(
        noise, "add_laplace", lambda total, step, event, rng: true(total, step, Laplace(sabotage * event.scale), rng)
    )
    X = np.array([[1.0, 0.0], [1.0, 0.0]])
    one = Memory(
        X[:1] if neighbours == "add-remove" else X, ["yes", "no"][: 1 + (neighbours != "add-remove")], labels=True
    )
    two = Memory(X, ["yes", "yes"], labels=True)
    seen, seeds = [], itertools.count()

    def run(data):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                paid, "estimate_share", lambda right, wrong, *rest: seen.append((right, wrong)) or (0.5, 0.0, (0, 1))
            )
            with pytest.warns(NotPrivateWarning):
                ev.private_accuracy(MODEL, data, epsilon=1.0, neighbours=neighbours, random_state=next(seeds))
        return np.array(seen.pop())

    found = audit(run, one, two, event=Laplace(1.0), runs=450, confidence=SURE)
    assert found.violated is (sabotage < 1), str(found)


@pytest.mark.audit
def test_audit_of_confusion(monkeypatch):
    """A row that is there or not shows in one cell, for ε = 1; noise of half the scale is caught (alarms as above)."""
    from discreet.curator import total_noise as noise

    true = noise.add_discrete_laplace
    none, one = (Memory(np.ones((n, 2)), ["yes"] * n, labels=True) for n in (0, 1))
    seeds = itertools.count()

    def run(data):
        with pytest.warns(NotPrivateWarning):
            return ev.private_confusion(MODEL, data, epsilon=1.0, random_state=next(seeds)).value.ravel()

    with monkeypatch.context() as patch:
        patch.setattr(noise, "add_discrete_laplace", lambda total, step, _, rng: true(total, step, Pure(2.0), rng))
        needed = catch(run, none, one, event=Pure(1.0), runs=4800)
    acquit(run, none, one, event=Pure(1.0), runs=needed)


# intervals ---------------------------------------------------------------------------------------------


def covered(hits, runs, nominal=0.93):
    """Whether so many hits are believable of an interval that covers 93% (false alarm below 1e-6)."""
    return hits >= binom.ppf(1e-6, runs, nominal)


def truth():
    x = np.clip(np.random.default_rng(0).normal(size=400_000), -4, 4)
    p = expit(2 * x)
    order = np.argsort(x)
    negative = (1 - p)[order]
    below = np.cumsum(negative) - negative / 2
    return float(np.maximum(p, 1 - p).mean()), float((p[order] * below).sum() / (p.sum() * negative.sum()))


ACCURACY, AUC = truth()


@pytest.mark.parametrize(
    ("delta", "n", "epsilon", "public"),
    [(d, 40, 0.5, d > 0) for d in (0.0, 1e-6)] + [(d, 400, 0.2, d == 0) for d in (0.0, 1e-6)]
    + [(1e-6, 2000, 1.0, False), (1e-6, 2000, 1.0, True)],
)  # fmt: skip
def test_intervals_of_accuracy_cover(delta, n, epsilon, public):
    """150 draws of rows and noise: 95% intervals cover the population's accuracy at least 93% of the time.

    False alarm below 1e-6 for an interval that covers 93%. Counts are drawn directly: rows are Bernoulli.
    """
    rng = np.random.default_rng(n)
    event = Gaussian(4.0 / epsilon) if delta else Laplace(1 / epsilon)
    std = 4.0 / epsilon if delta else np.sqrt(2) / epsilon
    hits = wide = 0
    for _ in range(150):
        right = rng.binomial(n, ACCURACY)
        noise = rng.normal(0, std, 2) if delta else rng.laplace(0, 1 / epsilon, 2)
        p, _, (low, high) = estimate_share(
            right + noise[0], n - right + noise[1], std, event, 0.95, n if public else None
        )
        hits += low <= ACCURACY <= high
        wide += high - low
        assert 0 <= low <= p <= high <= 1
    assert covered(hits, 150)
    assert n < 2000 or wide / 150 < 0.08


def test_a_share_at_the_edge_is_covered_too():
    """Accuracy 0.995 of 300 rows: 150 runs, false alarm below 1e-6."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(150):
        right = rng.binomial(300, 0.995)
        noise = rng.laplace(0, 1.0, 2)
        _, _, (low, high) = estimate_share(right + noise[0], 300 - right + noise[1], np.sqrt(2), Laplace(1.0), 0.95)
        hits += low <= 0.995 <= high
    assert covered(hits, 150)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon", "delta"), [(300, 1.0, 0.0), (2000, 0.5, 1e-6), (5000, 4.0, 0.0)])
def test_intervals_of_the_area_cover(n, epsilon, delta):
    """80 private answers on fresh rows: 95% intervals cover the population's AUC at least 90% of the time.

    False alarm below 1e-6 for an interval that covers 90%.
    """
    rng, hits, width = np.random.default_rng(n), 0, 0.0
    for _ in range(80):
        answer = ev.private_auc(MODEL, *population(n, rng), epsilon, delta)
        hits += answer.interval[0] - 0.002 <= AUC <= answer.interval[1] + 0.002
        width += answer.interval[1] - answer.interval[0]
    assert covered(hits, 80, 0.90), hits
    assert n < 5000 or width / 80 < 0.06


def test_an_area_of_hardly_any_rows_says_so():
    X, y = rows(30)
    with pytest.warns(NotPrivateWarning):
        answer = ev.private_auc(MODEL, X, y, epsilon=0.05, random_state=1)
        other = ev.private_auc(MODEL, X, np.repeat("yes", 30), epsilon=5.0, random_state=1)
    assert answer.interval == other.interval == (0.0, 1.0) and answer.value == 0.5


def test_one_histogram_serves_all():
    """AUC, ROC and calibration come from one charge."""
    X, y = rows(20_000)
    ledger = Ledger(Budget(1.0))
    table = ev.private_scores(MODEL, X, y, 1.0, ledger=ledger)
    curve, area, calibration = ev.roc_of(table), ev.auc_of(table), ev.calibration_of(table)
    assert len(ledger.entries) == 1
    assert curve.auc == area.value == pytest.approx(np.trapezoid(curve.tpr, curve.fpr), abs=5e-3)
    assert (np.diff(curve.fpr) >= 0).all() and (np.diff(curve.tpr) >= 0).all()
    assert calibration.error < 0.05
    assert area.event == table.event and area.parts == table.parts
    assert scores.auc_of(table).interval == area.interval  # post-processing repeats itself
