"""Every estimator and statistic there is passes every check; broken twins do not."""

import copy
from itertools import product

import numpy as np
import pytest

from discreet import Bounds, Budget, checks
from discreet.audit import audit
from discreet.budget import radial
from discreet.checks import (
    Asked,
    check_private_estimator,
    estimator_checks,
    private_estimators,
    private_statistics,
    statistic_checks,
)
from discreet.checks.behaviour import most_telling
from discreet.curator import Curator
from discreet.curator import estimated_classes as classes
from discreet.curator.estimated_classes import FoundLabels
from discreet.engines.memory import Memory
from discreet.events import Approximate, Choice, Gaussian, Laplace, Pure
from discreet.ledger import Ledger
from discreet.mechanisms import keystream
from discreet.mechanisms.choose import exponential, permute_and_flip, report_noisy_max
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.laplace import add_discrete_laplace, add_laplace
from discreet.mechanisms.norm import add_norm
from discreet.mechanisms.points import exponential_on_grid
from discreet.mechanisms.threshold import AboveThreshold, select_keys
from discreet.models import LinearRegression
from discreet.query import BoundedSum

from .sabotage import acquit, catch, caught, stream, weaken
from .variants import CHECKS, PAIRS, STATISTIC_PAIRS, STATISTIC_VARIANTS, VARIANTS, blocks, gaussian

pytestmark = pytest.mark.slow

ESTIMATORS, STATISTICS = private_estimators(), private_statistics()


def generous(estimator):
    return estimator.set_params(epsilon=8.0)


# what is audited by itself below, beside a twin whose noise is halved
UNAUDITED = [check for check in estimator_checks() if check is not checks.check_audit]
OF_STATISTICS = [check for check in statistic_checks() if check.__name__ != "check_audit"]


@pytest.mark.parametrize("check", UNAUDITED, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name, check):
    check(generous(checks.prepared(ESTIMATORS[name])))


@pytest.mark.parametrize(("name", "check"), PAIRS)
def test_variants(name, check):
    CHECKS[check](checks.prepared(VARIANTS[name][0]))


@pytest.mark.parametrize("check", OF_STATISTICS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_pure(name, check):
    check(STATISTICS[name])


PURE_ONLY = ("iqr", "mad", "median", "quantile")  # choices among points
GAUSSIAN = [name for name in STATISTICS if name not in PURE_ONLY]


@pytest.mark.parametrize(
    "check", [check for check in UNAUDITED if check is not checks.check_contract], ids=lambda check: check.__name__
)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_statistics_gaussian(name, check):
    check(gaussian(STATISTICS[name]))


@pytest.mark.parametrize(("name", "check"), STATISTIC_PAIRS)
def test_variants_of_statistics(name, check):
    CHECKS[check](copy.deepcopy(STATISTIC_VARIANTS[name][0]))


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 8.0, 50.0])
def test_whole_noise_that_is_often_zero_passes_too(epsilon, monkeypatch):
    """With noise that no name fixes: `check_seeded` fails by chance in fewer than 1 of 10^8 tries."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", Keystream())
    for name in ("count", "histogram"):
        for check in (checks.check_seeded, checks.check_stated_noise):
            check(Asked(STATISTICS[name], epsilon=epsilon, delta=1e-6))


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 8.0])
def test_checks_notice_that_there_is_no_noise(epsilon, monkeypatch):
    monkeypatch.setattr("discreet.curator.total_noise.perturbed", lambda total, *rest: total)
    with pytest.raises(AssertionError, match="same noise"):
        checks.check_seeded(Asked(STATISTICS["count"], epsilon=epsilon))
    with pytest.raises(AssertionError, match=r"0\.00 times what is stated"):
        checks.check_stated_noise(Asked(STATISTICS["count"], epsilon=epsilon))


def test_the_registry_finds_everything():
    assert {"LinearRegression"} <= set(ESTIMATORS)
    found = "count covariance histogram iqr mad mean median quantile sum trimmed_mean variance winsorized_mean"
    assert set(STATISTICS) == set(found.split())


@pytest.fixture
def seeded(monkeypatch):
    """The same noise in every run of a test: what is caught once is caught always."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", stream(2027))


# in their worst case one row against none is far from what noise is calibrated to; twins are caught in their own tests
ELSEWHERE = {
    "HypothesisClass": "test_hypotheses.py",  # it chooses, and adds no noise
    "KernelRidge": "test_kernels.py",
    "KernelSVC": "test_erm.py",
    "LinearSVC": "test_svm.py",
    "OnlineClassifier": "test_online.py",
    "SGDClassifier": "test_sgd.py",
    "SGDRegressor": "test_sgd.py",
}


@pytest.mark.audit
@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - set(ELSEWHERE)))
def test_audits_of_estimators(name, monkeypatch):
    caught(most_telling(generous(checks.prepared(ESTIMATORS[name]))), (), 2400, monkeypatch, 1 / 2)


@pytest.mark.audit
@pytest.mark.parametrize("name", ELSEWHERE)
def test_audits_of_other_estimators(name):
    """Their twins need no more runs in the tests that are named."""
    acquit(most_telling(generous(checks.prepared(ESTIMATORS[name]))), runs=600)


@pytest.mark.audit
def test_an_audit_of_the_pure_line(monkeypatch):
    """A tenth of the noise: half of it, or a quarter, is not caught in a minute and a half.

    The noise has one length for a whole matrix, and most of what a row moves is hidden in its direction.
    """
    caught(most_telling(checks.prepared(LinearRegression(1.0, 0.0))), (), 4800, monkeypatch, 1 / 10)


CUT = {"trimmed_mean", "winsorized_mean"}  # where depends on the noise: their twins are caught in test_trimmed.py


@pytest.mark.audit
@pytest.mark.parametrize("name", sorted(set(GAUSSIAN) - CUT))
def test_audits_of_gaussian_statistics(name, monkeypatch):
    caught(most_telling(gaussian(STATISTICS[name])), (), 2400, monkeypatch, 1 / 2)


@pytest.mark.audit
@pytest.mark.parametrize("name", ["count", "histogram", "mean", "sum"])
def test_audits_of_pure_statistics(name, monkeypatch):
    caught(most_telling(Asked(STATISTICS[name])), (), 4800, monkeypatch, 1 / 2)


@pytest.mark.audit
@pytest.mark.parametrize(
    "name", ["covariance", "iqr", "mad", "median", "quantile", "trimmed_mean", "variance", "winsorized_mean"]
)
def test_audits_of_other_statistics(name):
    """Vectors of Laplace noise hide half of its loss from a few thousand runs; choices have a twin below."""
    acquit(most_telling(Asked(STATISTICS[name])), runs=1500)


@pytest.mark.audit
def test_the_shipped_check_catches_half_the_noise(monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", stream(2026))
    checks.check_audit(gaussian(STATISTICS["sum"]), runs=600)
    weaken(monkeypatch, 1 / 2)
    with pytest.raises(AssertionError, match="BROKEN"):
        checks.check_audit(gaussian(STATISTICS["sum"]))


@pytest.mark.parametrize("name", sorted(set(GAUSSIAN) - CUT))
def test_halved_noise_is_caught_by_the_stated_deviation(name, monkeypatch):
    """Where a vector of Laplace noise hides half of its loss from a few thousand runs, its deviation still shows it."""
    weaken(monkeypatch, 1 / 2)
    for asked in (Asked(STATISTICS[name]), gaussian(STATISTICS[name], 1.0)):
        with pytest.raises(AssertionError, match="times what is stated"):
            checks.check_stated_noise(asked)


@pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")
def test_a_median_is_a_quantile():
    """To the bit, in value and in cost, by each method: what is checked and audited of one is so of both."""
    asked = [({}, 20), ({"method": "ptr", "delta": 1e-6}, 2), ({"method": "smooth"}, 2), ({"method": "histogram"}, 2)]
    tables = np.repeat([-1.0, 0.0, 1.0], [4, 2, 4]), np.repeat([-1.0, 0.0, 1.0], [4, 2, 5]), np.zeros(0)
    for rows, (options, seeds) in product(tables, asked):
        for seed in range(seeds):
            one, two = (
                STATISTICS[name](rows, epsilon=0.5, random_state=seed, **options) for name in ("quantile", "median")
            )
            assert (one.value, one.interval, one.event) == (two.value, two.interval, two.event)


@pytest.mark.audit
def test_quantiles_where_one_row_moves_scores_both_ways(seeded, monkeypatch):
    """A row at the top makes points below the median worse and those above it better: the worst case of a choice."""
    rows = np.repeat([-1.0, 0.1234567, 1.0], [4, 1, 4])
    pair = rows, np.append(rows, 1.0)

    def run(x):
        return STATISTICS["quantile"](x, epsilon=0.5, confidence=None)

    with monkeypatch.context() as patch:
        patch.setattr(
            "discreet.stats.quantile_exponential.exponential_on_grid",
            lambda pieces, grid, e, *rest: exponential_on_grid(pieces, grid, 8 * e, *rest),
        )
        needed = catch(run, *pair, runs=4800)
    acquit(run, *pair, runs=needed)


def test_a_skipped_clip_is_caught(monkeypatch):
    monkeypatch.setattr("discreet.query.grid.compute_norms", lambda z, order: np.zeros(z.shape[1]))
    monkeypatch.setattr(Bounds, "scale", lambda self, X: (X - self.centre) / self.half)
    with pytest.raises(AssertionError):
        checks.check_hostile_rows(generous(checks.prepared(LinearRegression())))


def test_questions_and_models_that_follow_from_rows_are_caught():
    class Branching(LinearRegression):
        adapts = True  # questions may follow from answers, but not from rows

        def _fit(self, task):
            few = int(task.curator._rows.sum(BoundedSum(lambda rows: np.ones(len(rows))))) < 2
            self.method = "ssp" if few else "adassp"
            super()._fit(task)

    class Peeking(LinearRegression):
        def _fit(self, task):
            super()._fit(task)
            self.coef_ = self.coef_ + 1e-9 * float(task.curator._rows.sum(BoundedSum(lambda rows: np.ones(len(rows)))))

    class Telling(LinearRegression):
        def _fit(self, task):
            super()._fit(task)
            task.note(f"{int(task.curator._rows.sum(BoundedSum(lambda rows: np.ones(len(rows)))))} in all")

    class Narrowing(LinearRegression):
        def _fit(self, task):
            super()._fit(task)
            by = 1e-9 * float(task.curator._rows.sum(BoundedSum(lambda rows: np.ones(len(rows)))))
            self.bounds_ = Bounds(self.bounds_.lower - by, self.bounds_.upper, self.bounds_.target)

    for cheat, says in (
        (Branching, "questions are asked"),
        (Peeking, "the model depends on the rows"),
        (Telling, "the model depends on the rows"),
        (Narrowing, "the model depends on the rows"),
    ):
        with pytest.raises(AssertionError, match=says):
            checks.check_replay(checks.prepared(cheat(4.0, 1e-6)))
    checks.check_replay(checks.prepared(LinearRegression(4.0, 1e-6)))


def test_an_unpaid_look_is_caught():
    class Peeking(LinearRegression):
        def _fit(self, task):
            self.n_ = int(task.curator._rows.sum(BoundedSum(lambda rows: np.ones(len(rows)))))
            super()._fit(task)

    with pytest.raises(AssertionError, match="before the charge"):
        check_private_estimator(Peeking(epsilon=4.0))

    def hasty(rows, **options):
        rows.read_arrays()
        return blocks("mean")(rows, **options)

    with pytest.raises(AssertionError, match="before the charge"):
        checks.check_charges_before_reading(Asked(hasty))


# every mechanism, audited by itself: integers that differ by the sensitivity

EPSILON = 2.0
BASE, NEXT = np.zeros(3, dtype=np.int64), np.array([1000, 0, 0])
PURE = {
    "laplace": lambda total: add_laplace(total, 1000, Laplace(1 / EPSILON)),
    "discrete": lambda total: add_discrete_laplace(total, 1000, Pure(EPSILON)),
    "counts": lambda total: add_discrete_laplace(total // 1000, 1, Pure(EPSILON)),
    "norm": lambda total: add_norm(total, 1000, EPSILON),
    "above threshold": lambda total: AboveThreshold(500, EPSILON, 1000).ask(int(total[0])),
}


DECLARED = dict.fromkeys(PURE, Laplace(1 / EPSILON)) | dict.fromkeys(("discrete", "counts"), Pure(EPSILON))


BROKEN = {
    "laplace": lambda total: add_laplace(total, 1000, Laplace(0.5 / EPSILON)),
    "discrete": lambda total: add_discrete_laplace(total, 1000, Pure(2 * EPSILON)),
    "counts": lambda total: add_discrete_laplace(total // 1000, 1, Pure(2 * EPSILON)),
    "norm": lambda total: add_norm(total, 500, EPSILON),
    "above threshold": lambda total: AboveThreshold(500, 12 * EPSILON, 1000).ask(int(total[0])),
}


@pytest.mark.audit
@pytest.mark.parametrize("name", PURE)
def test_pure_mechanisms_and_twins_with_halved_noise(name, seeded):
    """The threshold's twin has a twelfth of it."""
    needed = catch(BROKEN[name], BASE, NEXT, event=DECLARED[name], runs=9600)
    acquit(PURE[name], BASE, NEXT, event=DECLARED[name], runs=needed)


CHOICES = {"exponential": exponential, "permute-and-flip": permute_and_flip, "noisy max": report_noisy_max}
EVEN, ONE_UP = np.zeros(50, dtype=np.int64), np.array([1] + [-1] * 49)  # one candidate gains what all others lose


@pytest.mark.audit
@pytest.mark.parametrize("name", CHOICES)
def test_choices_and_twins_twice_as_sharp(name, seeded):
    choose, event = CHOICES[name], Choice(EPSILON)
    needed = catch(lambda s: choose(s, 2 * EPSILON, 1), EVEN, ONE_UP, event=event, runs=4800)
    acquit(lambda s: choose(s, EPSILON, 1), EVEN, ONE_UP, event=event, runs=needed)


@pytest.mark.audit
def test_the_gaussian_mechanism_is_audited_in_mu(seeded):
    event = Gaussian(0.8)
    needed = catch(lambda total: add_gaussian(total, 500, event), BASE, NEXT, event=event, runs=2400)
    sound = acquit(lambda total: add_gaussian(total, 1000, event), BASE, NEXT, event=event, runs=max(1200, needed))
    assert sound.mu > 0.5 * sound.declared_mu


@pytest.mark.audit
def test_unknown_keys(seeded):
    """A key that one person alone holds; the twin shows it far more often than δ."""

    def keys(delta):
        return lambda counts: [select_keys(counts, EPSILON, delta).get(key, -50) for key in ("common", "rare")]

    options = {"event": Approximate(EPSILON, 1e-3), "delta": 1e-3}
    needed = catch(keys(0.4), {"common": 20}, {"common": 20, "rare": 1}, runs=4800, **options)
    for other in ({"common": 21}, {"common": 20, "rare": 1}):
        sound = acquit(keys(1e-3), {"common": 20}, other, runs=needed, **options)
        assert sound.declared_epsilon == pytest.approx(EPSILON)


@pytest.mark.audit
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_found_labels(seeded, monkeypatch, neighbours):
    """The labels of a table, where one row alone has a label, or shares it; the twin shows it far more often than δ."""
    event, budget = Approximate(EPSILON, 1e-3), Budget(EPSILON, 1e-3, neighbours)

    def rows(*labels):
        y = np.array(["common"] * 20 + list(labels), dtype=object)
        return Memory(np.zeros((len(y), 1)), y, labels=True)

    def found(rows):
        labels, _ = FoundLabels("classes").run(rows, event, budget, keystream.default())
        return ["common" in labels, "rare" in labels]

    pairs = [(rows("common"), rows("rare")), (rows("rare", "rare"), rows("rare", "common"))]
    if neighbours == "add-remove":
        pairs = [(rows(), rows("common")), (rows(), rows("rare")), (rows("rare"), rows("rare", "rare"))]
    options = {"event": event, "delta": 1e-3}
    with monkeypatch.context() as patch:
        patch.setattr(classes, "select_keys", lambda counts, epsilon, delta, rng: select_keys(counts, 1, 0.4, rng))
        needed = catch(found, rows("common"), rows("rare"), runs=4800, **options)
    for pair in pairs:
        sound = acquit(found, *pair, runs=needed, **options)
        assert sound.declared_epsilon == pytest.approx(EPSILON)


def test_a_number_without_noise_is_caught_among_noisy_ones():
    """Whatever else is released beside it; the seed is fixed."""
    rng = np.random.default_rng(3)
    for noise in (rng.normal, rng.laplace):
        result = audit(lambda plain, noise=noise: [*noise(size=5), plain], 0.0, 1.0, event=Gaussian(1.0), runs=100)
        assert result.violated and result.epsilon > 2


@pytest.mark.audit
def test_replace_one_is_audited_too(monkeypatch):
    model = generous(checks.prepared(LinearRegression(method="ssp", neighbours="replace-one")))
    sound = caught(model, (), 2400, monkeypatch, 1 / 2)
    assert sound.mu > 0.1 * sound.declared_mu


@pytest.mark.audit
@pytest.mark.catalogue("ME4")
def test_radial_shares_buy_gamma_radius_noise_under_pure_epsilon(monkeypatch):
    def ask(rows):
        curator = Curator(Memory(rows), Ledger(Budget(EPSILON)))
        query = BoundedSum(lambda batch: batch.X, norm=1.0)
        return curator.measure(query, Budget(EPSILON).split(radial(1))[0])

    sound = caught(ask, (np.zeros((0, 2)), np.array([[1.0, 0.0]])), 9600, monkeypatch, 1 / 2)
    assert sound.epsilon > 0.4 * EPSILON
