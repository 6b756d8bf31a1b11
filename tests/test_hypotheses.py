"""The generic learner: a choice among hypotheses, exact, private, and as good as its formula says."""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from discreet import Bounds, Budget, BudgetExceeded, Ledger
from discreet.checks.specimens import Spy
from discreet.engines.memory import Memory
from discreet.events import Choice
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.proofs import HERE, stale
from discreet.models.hypotheses import Answers, HypothesisClass
from discreet.models.hypotheses.families import Conjunction, Stump, conjunctions, stumps
from discreet.query import Batch

from .sabotage import acquit, catch, stream

# hardly any rows are what many of these ask for
pytestmark = [
    pytest.mark.catalogue("CL14"),
    pytest.mark.filterwarnings("ignore::discreet.errors.NoiseWarning"),
]

BOUNDS = Bounds([0.0] * 3, [1.0] * 3, classes=("no", "yes"))


def data(n=2000, seed=0):
    X = np.random.default_rng(seed).uniform(0, 1, (n, 3))
    return X, np.where(X[:, 1] > 0.5, "yes", "no")


def always(label):
    return lambda X: np.repeat(label, len(X))


@pytest.fixture
def seeded(monkeypatch):
    """The same noise in every run of a test: what passes once passes always."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", stream(2029))


def test_the_proof_is_of_this_code():
    assert stale(HERE / "hypotheses.md") == []


def test_learns_a_stump(seeded):
    X, y = data()
    model = HypothesisClass(epsilon=1.0, bounds=BOUNDS).fit(X, y)
    assert isinstance(model.hypothesis_, Stump) and model.hypothesis_.feature == 1
    assert model.score(X, y) > 0.95 and set(model.predict(X)) == {"no", "yes"}


def test_learns_a_conjunction(seeded):
    X, _ = data(4000)
    y = np.where((X[:, 0] > 0.5) & (X[:, 2] <= 0.5), "yes", "no")
    model = HypothesisClass("conjunctions", 0.5, bounds=BOUNDS).fit(X, y)
    assert model.score(X, y) == 1.0
    assert isinstance(model.hypothesis_, Conjunction) and {j for j, _, _ in model.hypothesis_.literals} == {0, 2}


def test_learns_among_classifiers_and_functions_without_bounds(seeded):
    X, y = data(600)
    public = data(500, 9)
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(*public) for depth in (1, 2)]
    listed = [always("no"), always("yes"), *trees]
    model = HypothesisClass(listed, 1.0, classes=("no", "yes")).fit(X, y)
    assert model.index_ >= 2 and model.hypothesis_ in trees and model.score(X, y) > 0.9
    quick = HypothesisClass(listed, 1.0, classes=("no", "yes"), rowwise=False).fit(X, y)
    assert quick.index_ >= 2


@pytest.mark.parametrize(("neighbours", "rate"), [("add-remove", 1.0), ("replace-one", 0.5)])
def test_the_law_is_exact(neighbours, rate, seeded):
    """P(i) ∝ e^(c·right), c = ε, or ε/2 for replace-one; 800 draws, 5.5 deviations: false alarms below 1e-6."""
    X, y = np.zeros((3, 1)), np.array(["a", "a", "b"])
    model = HypothesisClass([always("a"), always("b")], 1.0, classes=("a", "b"), neighbours=neighbours)
    hits = sum(model.fit(X, y).index_ == 0 for _ in range(800))
    p = math.exp(2 * rate) / (math.exp(2 * rate) + math.exp(rate))
    assert abs(hits - 800 * p) < 5.5 * math.sqrt(800 * p * (1 - p))


def test_losses_of_ones_own(seeded):
    """A false alarm costs a tenth of a miss; it is asked about pairs of classes alone."""
    asked = set()

    def loss(said, true):
        asked.add((said, true))
        return 0.0 if said == true else 0.1 if said == "yes" else 1.0

    X, y = np.zeros((300, 1)), np.repeat(["no", "yes", "yes"], 100)
    y[:150] = "no"
    model = HypothesisClass([always("no"), always("yes")], 1.0, classes=("no", "yes"), loss=loss).fit(X, y)
    assert model.predict(X[:1])[0] == "yes" and asked == {(a, b) for a in ("no", "yes") for b in ("no", "yes")}
    y[:250] = "no"  # 250 of 300 are "no", yet "yes" costs 25 and "no" 50
    assert model.fit(X, y).predict(X[:1])[0] == "yes"


def test_it_is_pure_and_charged_once_before_reading():
    ledger = Ledger(Budget(1.0))
    model = HypothesisClass(epsilon=1.0, delta=0.0, bounds=BOUNDS, ledger=ledger).fit(*data(50))
    assert model.release_.event == ledger.entries[0].event == Choice(1.0)
    assert [part.name for part in model.release_.parts] == ["hypothesis"] and ledger.remaining == 0
    spy = Spy(Memory(*data(50), labels=True), lambda: None)
    with pytest.raises(BudgetExceeded):
        model.fit(spy)
    assert not spy.queries


def at_rows(odd):
    """Does as it should for made-up rows, which are zero without bounds, and else as the other."""
    return lambda X: odd(X) if X.any() else np.repeat("no", len(X))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x: int(x[0] > x[1]), r"hypotheses\[1\] must return one label for each row .* it raises IndexError"),
        (lambda x: "yes", r"hypotheses\[1\] must .* has shape \(\), not \(1,\)"),
        (lambda X: ["yes"], r"hypotheses\[1\] must .* has shape \(1,\), not \(2,\)"),
        (DecisionTreeClassifier(), r"hypotheses\[1\] must .* it raises NotFittedError"),
    ],
    ids=["a row", "one label", "of the first row", "not fitted"],
)
@pytest.mark.parametrize("rowwise", [True, False])
@pytest.mark.parametrize("options", [{"bounds": BOUNDS}, {"classes": ("no", "yes")}, {}], ids=str)
def test_a_hypothesis_that_answers_no_table_is_refused_unpaid(wrong, says, rowwise, options):
    ledger = Ledger(Budget(1.0, 1e-6))
    spy = Spy(Memory(*data(9), labels=True), lambda: None)
    with pytest.raises(ValueError, match=says):
        HypothesisClass([always("yes"), wrong], rowwise=rowwise, ledger=ledger, **options).fit(spy)
    assert ledger.entries == () and not spy.queries


def test_made_up_rows_are_in_the_middle_of_the_bounds(seeded):
    seen = []

    def nosy(X):
        seen.append(X.tolist())
        return np.repeat("yes", len(X))

    HypothesisClass([nosy], bounds=Bounds([0, 2], [1, 4], classes=("no", "yes"))).fit(
        np.zeros((0, 2)), np.zeros(0, str)
    )
    assert seen == [[[0.5, 3.0]], [[0.5, 3.0]] * 2]


def test_a_hypothesis_that_misbehaves_is_wrong_and_tells_nothing(seeded):
    def raises(X):
        raise ValueError(f"secret {X[0, 0]}")

    def warns(X):
        warnings.warn(f"secret {X[0, 0]}", UserWarning, stacklevel=1)
        return np.repeat("no", len(X))

    def changes(X):
        X[:] = 7
        return np.repeat("no", len(X))

    strange = [lambda X: None, lambda X: [["yes"]], lambda X: [{}], lambda X: "yes", lambda X: np.array(1.0)]
    odd = [at_rows(one) for one in [raises, warns, changes, *strange]]
    listed = [*odd, always("maybe"), always("yes")]
    X, _ = data(60)
    before, y = X.copy(), np.repeat("yes", 60)
    for rowwise in (True, False):
        model = HypothesisClass(listed, 5.0, classes=("no", "yes"), rowwise=rowwise).fit(X, y)
        assert model.index_ == len(listed) - 1
    assert np.array_equal(X, before)


def test_answers_depend_on_the_row_alone():
    """A hypothesis that compares a row with the mean of its block gets one row at a time."""
    X, y = data(40)
    batch = Batch(X, (y == "yes").astype(float))
    nosy = Answers((lambda X: np.where(X[:, 1] > X[:, 1].mean(), "yes", "no"),), ("no", "yes"), BOUNDS, True)
    alone = np.concatenate([nosy(Batch(X[i : i + 1], batch.y[i : i + 1])) for i in range(40)])
    assert np.array_equal(nosy(batch), alone)
    blocks = Answers(nosy.hypotheses, nosy.labels, BOUNDS, False)
    assert not np.array_equal(blocks(batch), alone)  # what `rowwise=False` vouches for


def test_bad_rows_count_for_nothing():
    X = np.array([[np.nan, 0, 0], [0, np.inf, 0], [0.2, 0.2, 0.2], [0.9, 0.9, 0.9]])
    cells = Answers((Stump(0, 0.5, "no", "yes"),), ("no", "yes"), BOUNDS, True)(Batch(X, np.array([0, 0, 1.0, np.nan])))
    assert cells.ravel().tolist() == [-1, -1, 1, -1]
    for n in (0, 1):
        assert HypothesisClass(bounds=BOUNDS).fit(*data(n)).predict(data(5)[0]).shape == (5,)


def test_families():
    assert len(stumps(BOUNDS, ("a", "b", "c"), thresholds=4)) == 3 + 3 * 4 * 6
    assert len(conjunctions(BOUNDS, ("a", "b"), literals=1)) == 2 * (1 + 3 * 2)
    X = np.array([[0.5, 0, 0], [0.50001, 0, 0]])
    assert Stump(0, 0.5, "a", "b").places(X, ["a", "b"]).tolist() == [0, 1]
    assert Conjunction(((0, 0.5, True), (1, 0.5, False)), "b", "a").places(X, ["a", "b"]).tolist() == [0, 1]


def test_three_classes_and_pickle(seeded):
    X, _ = data(3000)
    y = np.where(X[:, 0] > 0.5, "c", "a")
    model = HypothesisClass(bounds=Bounds(0, 1), classes=("a", "b", "c")).fit(X, y)
    assert model.score(X, y) > 0.9 and model.decision_function(X).shape == (3000, 3)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_enough_rows_are_enough(neighbours, seeded):
    """With probability 95% each by the formula, which is generous: all of 40 come within alpha."""
    model = HypothesisClass(epsilon=0.5, bounds=BOUNDS, neighbours=neighbours)
    n = model.enough_rows(0.1, 0.05)
    assert model.enough_rows(0.05) > 2 * n > n / 2 > 100
    best = 0.5 / 17  # of the nearest threshold, 0.5 ± 0.5/17
    wrong = []
    for seed in range(40):
        chosen = model.fit(*data(n, seed)).hypothesis_
        on_one = chosen.feature == 1 and (chosen.low, chosen.high) == ("no", "yes")
        wrong.append(abs(chosen.threshold - 0.5) if on_one else 0.5)
    assert max(wrong) <= best + 0.1
    solved = HypothesisClass([len] * 10, 1.0).enough_rows(0.1)
    excess = math.log(2 * 10 / 0.05) / solved + 2 * math.sqrt(math.log(2 * 11 / 0.05) / 2 / solved)
    assert 0.0995 < excess <= 0.1
    with pytest.raises(ValueError, match="bounds"):
        HypothesisClass().enough_rows(0.1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"hypotheses": "magic"}, "hypotheses"),
        ({"hypotheses": []}, "hypotheses"),
        ({"hypotheses": [3]}, "predict"),
        ({"loss": "square"}, "loss"),
        ({"loss": lambda a, b: 2.0}, "within 0 and 1"),
        ({"epsilon": 0}, "epsilon"),
        ({"bounds": None, "delta": 0.0}, "classes"),
    ],
)
def test_bad_parameters_charge_nothing(options, says):
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(ValueError, match=says):
        HypothesisClass(**({"bounds": BOUNDS, "ledger": ledger} | options)).fit(*data(9))
    assert ledger.entries == ()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.slow
@pytest.mark.audit
def test_audit_of_worst_case_neighbours(neighbours, seeded, monkeypatch):
    """One row that one hypothesis gets right and the other wrong; a choice four times as sharp is caught.

    A sound choice fails with probability below 1e-6.
    """
    model = HypothesisClass([always("a"), always("b")], 1.0, classes=("a", "b"), neighbours=neighbours)
    row = np.zeros((1, 1))
    other = (row, np.array(["b"])) if neighbours == "replace-one" else (row[:0], np.array(["b"])[:0])
    pair = other, (row, np.array(["a"]))
    with monkeypatch.context() as patch:
        patch.setattr(
            "discreet.models.hypotheses.finite_class.exponential", lambda s, e, *rest: exponential(s, 4 * e, *rest)
        )
        needed = catch(model, *pair, runs=1200)
    assert acquit(model, *pair, runs=needed).declared_epsilon == 1.0
