"""Learning from a stream: one charge for all rounds, private as a whole, and it learns."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from discreet import Bounds, Budget, BudgetExceeded, Ledger, LedgerError, NotPrivateWarning, checks
from discreet.accounting import epsilon, mu
from discreet.audit import audit
from discreet.checks import SURE
from discreet.checks.specimens import Spy
from discreet.engines.memory import Memory
from discreet.errors import ReadError
from discreet.events import Gaussian, Pure
from discreet.mechanisms import samplers
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.proofs import HERE, stale
from discreet.models.online import OnlineClassifier
from discreet.models.online.learners import Ftrl, Game, Giga, Igd
from discreet.models.online.row_gradients import Mistakes, Slopes
from discreet.models.online.running_sums import Past, Roots, RunningSum, Tree
from discreet.query import Batch, BoundedSum

# hardly any rows are what many of these ask for
pytestmark = [
    pytest.mark.catalogue("CL11"),
    pytest.mark.filterwarnings("ignore::discreet.errors.NoiseWarning"),
]

METHODS = ("ftrl", "tree", "igd", "giga")
BOUNDS = Bounds([-1.0] * 3, [1.0] * 3, classes=(0.0, 1.0))
SLOPE = np.array([3.0, -2.0, 0.0])


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, (rng.random(n) < expit(2 * X @ SLOPE + 0.5)).astype(float)


class Broken(Memory):
    """Rows that cannot be read."""

    def sum(self, query):
        raise OSError("row 3 holds 8675309")

    def encode_targets(self, classes):
        some = super().encode_targets(classes)
        some.__class__ = Broken
        return some

    def split_into_blocks(self, count, coins):
        return iter([self] * count)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("rounds", [0, 2])
def test_a_round_that_fails_leaves_the_model_as_it_was(call, rounds):
    """The stream goes on, and that round counts; what the engine said is not repeated, as it may hold values."""
    ledger = Ledger(Budget(9.0, 1e-6))
    model = played(OnlineClassifier(1.0, 1e-6, horizon=4, batch=400, bounds=BOUNDS, ledger=ledger), rounds)
    before = dict(vars(model))
    X, y = data(50)
    with pytest.raises(ReadError, match=r"Reading the rows failed \(OSError\)") as failed:
        getattr(model, call)(Broken(X, y, labels=True))
    assert "8675309" not in str(failed.value) and failed.value.__context__ is None
    after = dict(vars(model))
    assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)
    if call == "partial_fit" and rounds:
        assert "The round counts" in str(failed.value)
        assert played(model, 1).rounds_ == rounds + 2  # one of them in vain
    else:
        assert "charged anew" in str(failed.value) and "retrying" not in str(failed.value)
    if call == "fit" and rounds:
        assert played(model, 1).rounds_ == rounds + 1  # another stream failed, not this one
    assert len(ledger.entries) == (1 if not rounds or call == "partial_fit" else 2)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_nothing_of_a_call_stays_in_the_model(call):
    """All that a fit sets is a result, or the stream that goes on; classes of a call are those of its stream alone."""
    X, y = data(400)
    model = OnlineClassifier(1.0, 1e-6, horizon=4, batch=400, bounds=BOUNDS)
    before = set(vars(model))
    getattr(model, call)(X, y, **({"classes": np.unique(y)} if call == "partial_fit" else {}))
    assert {name for name in set(vars(model)) - before if not name.endswith("_")} == {"_stream"}


def played(model, rounds, rows=400):
    for t in range(rounds):
        model.partial_fit(*data(rows, t))
    return model


@pytest.fixture
def seeded(monkeypatch):
    """The same noise in every run of a test: what passes once passes always."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", Keystream.seeded(2028))


@pytest.fixture
def halved(monkeypatch, seeded):
    honest = samplers.unwrapped
    monkeypatch.setattr(
        "discreet.mechanisms.gaussian.unwrapped", lambda law, scale, *rest: honest(law, scale / 2, *rest)
    )


def test_the_proof_is_of_this_code():
    assert stale(HERE / "online.md") == []


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("method", METHODS)
def test_learns_from_a_stream(method, loss, seeded):
    model = played(OnlineClassifier(2.0, method=method, loss=loss, horizon=24, batch=400, bounds=BOUNDS), 24)
    X, y = data(4000, 99)
    best = ((2 * X @ SLOPE + 0.5 > 0) == y).mean()
    assert model.score(X, y) > best - (0.03 if method in ("ftrl", "tree") else 0.08)
    assert model.iterates_.shape == (25, 1, 4) and model.rounds_ == 24


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_learns_from_a_table_with_text_classes_and_units(neighbours, seeded):
    X, y = data(8000)
    bounds = Bounds({"a": (0, 10), "b": (90, 110), "c": (-1e-3, 1e-3)}, classes=("no", "yes"))
    table = np.column_stack([5 + 5 * X[:, 0], 100 + 10 * X[:, 1], 1e-3 * X[:, 2]])
    model = OnlineClassifier(1.0, bounds=bounds, neighbours=neighbours).fit(table, np.where(y > 0, "yes", "no"))
    assert (model.predict(table) == np.where(2 * X @ SLOPE + 0.5 > 0, "yes", "no")).mean() > 0.9
    assert np.sign(model.coef_[0, :2]).tolist() == [1, -1]


def test_three_classes(seeded):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (20_000, 2))
    y = np.array(["x", "y", "z"])[np.argmax(X @ [[1, -1, 0], [0.6, 0.6, -1]], axis=1)]
    model = OnlineClassifier(2.0, bounds=Bounds(-1, 1), classes=("x", "y", "z")).fit(X, y)
    assert model.score(X, y) > 0.85 and model.coef_.shape == (3, 2)


@pytest.mark.parametrize("method", METHODS)
def test_the_whole_stream_is_one_charge_of_the_whole_budget(method):
    ledger = Ledger(Budget(1.0, 1e-6))
    model = OnlineClassifier(1.0, 1e-6, method=method, horizon=5, batch=50, bounds=BOUNDS, ledger=ledger)
    for t in range(5):
        model.partial_fit(*data(50, t))
        (entry,) = ledger.entries
        assert entry.event == model.release_.event == Gaussian(entry.event.noise_multiplier)
    assert entry.event.noise_multiplier == pytest.approx(1 / mu(1.0, 1e-6), rel=1e-6)
    assert 0.999 < epsilon(entry.event, 1e-6) <= 1
    (part,) = model.release_.parts
    assert len(part.value) == (sum(Tree(5).weights(t).shape[0] for t in range(1, 6)) if method == "tree" else 5)


@pytest.mark.parametrize("method", METHODS)
def test_after_the_last_round_no_row_is_read(method):
    ledger = Ledger(Budget(9.0, 1e-6))
    model = played(OnlineClassifier(method=method, horizon=3, batch=9, bounds=BOUNDS, ledger=ledger), 3, 9)
    before, entries = model.iterates_, ledger.entries
    spy = Spy(Memory(*data(5), labels=True), lambda: None)
    with pytest.raises(BudgetExceeded, match="All 3 rounds"):
        model.partial_fit(spy)
    assert not spy.queries and ledger.entries == entries and model.iterates_ is before
    with pytest.raises(BudgetExceeded, match="rounds"):
        OnlineClassifier(horizon=3, bounds=BOUNDS).fit(*data(50)).partial_fit(*data(5))
    model.fit(*data(50))
    assert len(ledger.entries) == 2


def test_the_charge_comes_before_the_first_row():
    ledger = Ledger(Budget(1.0, 1e-6))
    model = OnlineClassifier(horizon=3, bounds=BOUNDS, ledger=ledger)
    spy = Spy(Memory(*data(30), labels=True), lambda: len(ledger.entries))
    model.partial_fit(spy).partial_fit(spy)
    assert spy.watched and set(spy.watched) == {1}
    poor = OnlineClassifier(horizon=3, bounds=BOUNDS, ledger=Ledger(Budget(0.5, 1e-6)))
    spy = Spy(Memory(*data(30), labels=True), lambda: None)
    with pytest.raises(BudgetExceeded):
        poor.partial_fit(spy)
    assert not spy.queries
    with pytest.raises(NotFittedError):
        poor.predict(data(3)[0])


def test_a_refused_round_is_not_a_round():
    model = OnlineClassifier(horizon=3, batch=9, bounds=BOUNDS).partial_fit(*data(9))
    X, y = data(9)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(Memory(X[:, :2], y, labels=True))
    with pytest.raises(ValueError, match="requires y"):
        model.partial_fit(X)
    assert model.rounds_ == 1 and model.partial_fit(X, y).rounds_ == 2


def test_empty_and_bad_rounds_are_rounds():
    model = OnlineClassifier(horizon=6, batch=3, bounds=BOUNDS)
    X, y = data(3)
    rounds = [(X[:0], y[:0]), (X * np.nan, y), (X * 1e300, y), (X * np.inf, y), (X, y * np.nan), (X, y + 7)]
    for t, (table, target) in enumerate(rounds):
        model.partial_fit(table, target)
        assert model.rounds_ == t + 1 and np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    assert np.isfinite(model.release_.parts[0].value).all()


def test_copies_share_the_stream_and_pickles_leave_it_behind():
    model = OnlineClassifier(horizon=2, batch=9, bounds=BOUNDS).partial_fit(*data(9))
    twin = copy.deepcopy(model)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data(20)[0]), model.predict(data(20)[0]))
    with pytest.raises(LedgerError, match="pickled"):
        again.partial_fit(*data(9))
    twin.partial_fit(*data(9))
    with pytest.raises(BudgetExceeded):
        model.partial_fit(*data(9))
    for thing in (model._stream, model._stream._past):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(thing)


def test_a_stream_keeps_no_rows():
    X, y = data(9)
    model = OnlineClassifier(horizon=4, batch=9, bounds=BOUNDS).partial_fit(X, y)
    kept = model._stream.curator._rows
    assert kept.count_replace_one() == 0 and not model._stream.curator._totals
    played(model, 3, 9)
    assert len(model._stream._past) == 0  # with the last round the exact sums go too


def test_the_exact_sums_go_with_the_last_round_even_if_it_fails():
    model = played(OnlineClassifier(horizon=3, batch=9, bounds=BOUNDS), 2, 9)
    assert len(model._stream._past) == 2
    with pytest.raises(ReadError):
        model.partial_fit(Broken(*data(9), labels=True))
    assert len(model._stream._past) == 0


def test_a_round_that_fails_after_mistakes_were_counted_shows_none_of_them():
    """As the error says: nothing of that round was released, then or later."""

    class Late(Broken):
        asked = 0

        def sum(self, query):
            Late.asked += 1
            if Late.asked > 1:
                raise OSError("gone")
            return Memory.sum(self, query)

        def encode_targets(self, classes):
            some = super().encode_targets(classes)
            some.__class__ = Late
            return some

    model = played(OnlineClassifier(horizon=4, batch=9, watch=0.2, bounds=BOUNDS), 1, 9)
    with pytest.raises(ReadError, match="nothing of this round was released"):
        model.partial_fit(Late(*data(9), labels=True))
    assert Late.asked == 2 and len(model._stream._seen) == 1
    played(model, 1, 9)
    gradients, counts = model.release_.parts
    assert len(counts.value) == len(gradients.value) == 2


def test_what_nobody_stated_is_paid_for_in_the_first_round(seeded):
    X, y = data(4000)
    model = OnlineClassifier(5.0, horizon=2).partial_fit(10 * X, np.where(y > 0, "b", "a"))
    names = [part.name for part in model.release_.parts]
    assert names == ["octaves", "ranges", "classes", "count", "gradients"]
    assert epsilon(model.release_.event, 1e-6) <= 5 and model.classes_.tolist() == ["a", "b"]
    model.partial_fit(10 * X, np.where(y > 0, "b", "a"))
    assert [part.name for part in model.release_.parts] == names and model.score(10 * X, np.where(y, "b", "a")) > 0.7
    told = OnlineClassifier(horizon=2, bounds=Bounds(-1, 1)).partial_fit(X, y, classes=[0.0, 1.0])
    assert [part.name for part in told.release_.parts] == ["count", "gradients"]


def test_pure_epsilon_and_replace_one():
    model = played(OnlineClassifier(1.0, 0.0, method="giga", horizon=3, batch=9, bounds=BOUNDS), 3, 9)
    assert model.release_.event == Pure(1.0)
    with pytest.raises(ValueError, match="delta > 0"):
        OnlineClassifier(1.0, 0.0, bounds=BOUNDS).fit(*data(9))
    for method in METHODS:
        stds = [
            played(OnlineClassifier(method=method, horizon=2, batch=9, bounds=BOUNDS, neighbours=kind), 2, 9)
            .release_.parts[0]
            .std
            for kind in ("add-remove", "replace-one")
        ]
        assert stds[1] == pytest.approx(2 * stds[0], rel=1e-6)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "magic"}, "method"),
        ({"loss": "square"}, "loss"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"batch": 0}, "batch"),
        ({"alpha": -1}, "alpha"),
        ({"eta": 1.0, "method": "igd"}, "eta"),
        ({"radius": None}, "radius"),
        ({"clip": np.inf}, "clip"),
        ({"watch": 0.95}, "watch"),
    ],
)
def test_bad_parameters_charge_nothing(options, says):
    ledger = Ledger(Budget(1.0, 1e-6))
    for start in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=says):
            getattr(OnlineClassifier(**({"bounds": BOUNDS, "ledger": ledger} | options)), start)(*data(9))
    assert ledger.entries == ()


# the strategies of running sums


@pytest.mark.parametrize("horizon", [1, 2, 7, 16, 100])
@pytest.mark.parametrize("strategy", [Tree, Roots])
def test_prefix_sums_follow_from_what_is_measured(strategy, horizon):
    plan, past, answers = strategy(horizon), Past(), []
    totals = np.random.default_rng(horizon).integers(-(2**40), 2**40, (horizon, 2, 1))
    columns = np.zeros(horizon, dtype=object)
    for t in range(1, horizon + 1):
        past.add(totals[t - 1])
        weights = plan.weights(t)
        columns[t - weights.shape[1] : t] += (weights.astype(object) ** 2).sum(axis=0)
        answers.append(past.weighted(weights).astype(np.float64) * 2.0**-plan.bits)
        np.testing.assert_allclose(plan.prefix(answers), totals[:t].sum(axis=0), rtol=1e-9, atol=2**12)
    assert columns.max() <= plan.squares  # how much one round weighs in all
    assert plan.squares <= columns.max() * (1 if strategy is Roots else 1 + np.log2(horizon))


def test_weighted_sums_do_not_overflow():
    past, weights = Past(), Roots(4).weights(2)
    past.add(np.array([2**62, -(2**62)]))
    past.add(np.array([2**62, 3]))
    assert past.weighted(weights).tolist() == [[2**62 * int(weights.sum()), 3 * 2**12 - 2**62 * int(weights[0, 0])]]


def test_roots_are_better_than_a_tree_than_fresh_noise():
    """The noise of the last prefix sum, in that of one round: (ln T + 3.35)/π against log T against √T."""
    for horizon in (64, 1000):
        roots, tree = ([plan.price(t) for t in range(1, horizon + 1)] for plan in (Roots(horizon), Tree(horizon)))
        assert roots[-1] == pytest.approx((np.log(horizon) + 3.35) / np.pi, rel=0.02)
        assert np.mean(roots) < 0.65 * np.mean(tree) < 0.65 * np.mean(np.sqrt(np.arange(horizon)))


@pytest.mark.parametrize("strategy", [Tree, Roots])
def test_the_noise_of_prefix_sums_is_as_stated(strategy):
    """Seeded; with 2400 draws of each, a deviation is known within 1.5%: 10% off is more than 6 of them."""
    plan, event, budget, rng = strategy(6), Gaussian(2.0), Budget(1.0, 1e-6), Keystream.seeded(5)
    query = BoundedSum(lambda rows: rows.X, norm=3.0, bits=16)
    rows, ends = Memory(np.zeros((0, 8))), []
    for _ in range(300):
        past, answers = Past(), []
        for _ in range(6):
            answers.append(RunningSum("s", query, (8, 1), plan, past).run(rows, event, budget, rng)[0])
        ends.append([plan.prefix(answers[:t]) for t in range(1, 7)])
    observed = np.sqrt(np.mean(np.square(ends), axis=(0, 2)))
    np.testing.assert_allclose(observed, [2.0 * 3.0 * plan.price(t) for t in range(1, 7)], rtol=0.1)


def test_running_sums_keep_to_their_terms():
    query, rows = BoundedSum(lambda rows: rows.X, norm=1.0), Memory(np.ones((1, 1)))
    past, rng, budget = Past(), Keystream.seeded(1), Budget(1.0, 1e-6)

    def run(strategy=Roots(2), noise=1.0, query=query):  # noqa: B008
        return RunningSum("s", query, (1, 1), strategy, past).run(rows, Gaussian(noise), budget, rng)

    run()
    for other in ({"strategy": Tree(2)}, {"noise": 2.0}, {"query": BoundedSum(lambda rows: rows.X, norm=2.0)}):
        with pytest.raises(LedgerError, match="one strategy"):
            run(**other)
    run()
    with pytest.raises(LedgerError, match="as many rounds"):
        run()


# audits


def row_in_round(method, place, horizon=3, **options):
    """A stream of empty rounds, or one with the worst row in one of them; the best attack on all that was published.

    The row moves every measured sum along one direction, by its weight in that sum: their sum with these weights is the
    likelihood ratio.
    """
    X, y = np.ones((1, 1)), np.array([1.0])
    bounds = Bounds([-1.0], [1.0], classes=(0.0, 1.0))
    if method in ("igd", "giga"):
        weights = np.eye(horizon)[place]
    else:
        plan = (Roots if method == "ftrl" else Tree)(horizon)
        rows = [np.pad(plan.weights(t), ((0, 0), (horizon, horizon - t)))[:, -horizon:] for t in range(1, horizon + 1)]
        weights = np.concatenate(rows)[:, place]

    def run(there):
        model = OnlineClassifier(
            8.0, method=method, loss="hinge", horizon=horizon, batch=1, bounds=bounds, radius=1e-3, **options
        )
        for t in range(horizon):
            model.partial_fit(*((X, y) if there and t == place else (X[:0], y[:0])))
        return -weights @ model.release_.parts[0].value.sum(axis=(1, 2))

    return run


def attacked(method, place=0, runs=300, **options):
    penalty = {"alpha": 5.0} if method in ("igd", "giga") else {}
    run = row_in_round(method, place, **penalty, **options)
    return audit(run, False, True, event=Gaussian(1 / mu(8.0, 1e-6)), runs=runs, confidence=SURE)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "place"), [("ftrl", 0), ("ftrl", 1), ("tree", 0), ("giga", 1), ("igd", 0)])
def test_audit_of_the_whole_stream(method, place, seeded):
    """A sound stream fails with probability below 1e-6, and the attack is not idle: it proves a fifth of it."""
    result = attacked(method, place)
    assert not result.violated and result.mu > result.declared_mu / 5, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ftrl", "giga"])
def test_halved_noise_is_caught(method, halved):
    assert attacked(method, runs=300).violated


@pytest.mark.slow
def test_forgetting_that_a_round_is_measured_again_is_caught(monkeypatch, seeded):
    """Noise for one measurement, where a round enters all later ones: a tree of 8 rounds has four lengths."""
    monkeypatch.setattr("discreet.models.online.running_sums.root_above", lambda squared: Fraction(1))
    assert attacked("tree", horizon=8, runs=300).violated


def test_blocks_of_any_size_give_the_same_stream():
    X, y = data(300)
    fits = []
    for block in (None, 7):
        with pytest.warns(NotPrivateWarning):
            fits.append(OnlineClassifier(bounds=BOUNDS, random_state=4).fit(Memory(X, y, labels=True, block=block)))
    np.testing.assert_array_equal(fits[0].iterates_, fits[1].iterates_)
    checks.check_hostile_rows(OnlineClassifier(8.0, method="igd", bounds=BOUNDS, horizon=2))


# losses, regret and mistakes


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_the_implicit_slope_is_that_of_the_implicit_step(loss):
    """One row in one dimension: the step found by a general minimiser is the step made of the slope."""
    value = (lambda m: np.logaddexp(0, -m)) if loss == "log" else (lambda m: max(0.0, 1 - m))
    for w, x, side, eta, alpha in [(0.3, 0.8, 1, 2.0, 0.1), (-1.0, 1.0, 1, 0.5, 1.0), (2.0, -0.7, 0, 9.0, 0.01)]:
        batch, s = Batch(np.array([[x]]), np.array([float(side)])), 2 * side - 1
        (slope,) = Slopes(lambda rows: rows.X, np.array([[w]]), loss, (eta, alpha))(batch)[0]

        def objective(v, w=w, x=x, s=s, eta=eta, alpha=alpha):
            return (v - w) ** 2 / 2 + eta * (value(s * x * v) + alpha / 2 * v**2)

        found = minimize_scalar(objective, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10}).x
        assert (w - eta * slope * x) / (1 + eta * alpha) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_regret_stays_below_its_bound(method, seeded):
    """Of expectations; the regret of one run is far below, so that a bound without its noise or its gradients fails."""
    penalty = {"alpha": 0.05} if method in ("igd", "giga") else {}
    model = played(OnlineClassifier(1.0, method=method, horizon=20, batch=50, bounds=BOUNDS, **penalty), 20, 50)
    X, y = (np.concatenate(parts) for parts in zip(*(data(50, t) for t in range(20)), strict=True))
    rounds = np.repeat(np.arange(20), 50)
    regret = model.regret_not_private(X, y, rounds)
    assert 0 < regret < model.regret_bound_
    with pytest.raises(ValueError, match="rounds"):
        model.regret_not_private(X, y, rounds + 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [None, 0.5])
def test_no_bound_exceeds_what_any_points_can_regret(method, alpha):
    """Rows of length 1.5 in a ball of radius 2: nobody can regret more than 1.5·4 a row."""
    options = {"method": method, "alpha": alpha, "horizon": 20, "batch": 50, "radius": 2.0, "clip": 1.5}
    loose = played(OnlineClassifier(1e-3, bounds=BOUNDS, **options), 3, 50)
    assert loose._stream.learner.bound(3) > 3 * 6.0
    assert loose.regret_bound_ == pytest.approx(3 * 50 * 6.0, rel=1e-12)


@pytest.mark.parametrize("learner", [Giga, Igd])
def test_the_regret_is_of_the_losses_without_the_penalty(learner):
    """Half of 200 rounds in a ball of radius 1: the best point pays α/2 for the penalty in each of them."""
    made = learner(Game(200, 1.0, 1.0, 1.0, 4, 0.01), 0.1)
    assert made.regret(100) == pytest.approx(made.bound(100) + 100 * 0.1 / 2) and made.regret(1) == 2.0


def test_bounds_in_numbers():
    """Worked by hand: T = 2, L = B = 1, α = 1, η = 1, so G = 2; D ν² = 4."""
    game = Game(2, 1.0, 1.0, 1.0, 4, 1.0)
    assert Giga(game, 1.0).bound(2) == pytest.approx((4 + 4) / 2 * 1.5)
    assert Igd(game, 1.0).bound(2) == pytest.approx(0.5 + 4 / 2 * 1.5 + 4 / 2 * (1 / 2 + 1 / 3))
    leader = Ftrl(game, 1.0, Tree(2), 1.0)
    assert leader.bound(2) == pytest.approx(0.5 + 4 / 2 * (1 / 2 + 1 / 3) + 2 * 2 * np.sqrt(2) / 2)


def test_mistakes_are_counted_before_they_are_learnt_from(seeded):
    model = OnlineClassifier(4.0, horizon=20, batch=400, bounds=BOUNDS, watch=0.1)
    truth = []
    for t in range(20):
        X, y = data(400, t)
        if t:
            w = model.iterates_[-1][0]
            truth.append(((X @ w[1:] + w[0] > 0) != y).mean())
        else:
            truth.append((y != 0).mean())
        model.partial_fit(X, y)
    assert abs(model.mistakes_ - np.mean(truth)) < 5 * model.mistakes_std_ < 0.1
    assert epsilon(model.release_.event, 1e-6) <= 4
    assert [np.shape(part.value) for part in model.release_.parts] == [(20, 1, 4), (20, 2)]
    three = Mistakes(lambda rows: rows.X, np.eye(3))(Batch(np.eye(3), np.array([0.0, 2.0, np.nan])))
    assert three[:, 1].tolist() == [0, 1, 1]


@pytest.mark.parametrize("method", ["ftrl", "tree", "igd", "giga"])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-6])
def test_hardly_any_budget_gives_a_finite_model(method, epsilon):
    """Noise too long for the grid of the gradients is drawn on a coarser one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    bounds = Bounds(-1, 1, classes=(0, 1))
    model = OnlineClassifier(epsilon, 1e-9, method=method, bounds=bounds).fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(model.coef_).all() and model.release_.epsilon <= epsilon
