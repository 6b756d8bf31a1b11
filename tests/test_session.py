"""The one entrance: what a run costs before there are rows, whether it is sums only, and who adds the noise."""

import warnings

import numpy as np
import pytest

from discreet import Bounds, Budget, Ledger, NotSupported, checks, stats
from discreet.accounting import epsilon
from discreet.budget import choice, inside, radial
from discreet.checks.specimens import ordinary
from discreet.curator import Curator
from discreet.curator.session import price_of
from discreet.curator.task import Task
from discreet.curator.total_noise import Adder
from discreet.engines.memory import Memory
from discreet.models import HypothesisClass, LinearRegression, LinearSVC, LogisticRegression, PrivateSearchCV, Ridge
from discreet.query import BoundedSum
from discreet.query.lipschitz import smallest_eigenvalue

LINE, CLASSES = Bounds(-1, 1, target=(-1, 1)), Bounds(-1, 1, classes=("a", "b"))
ESTIMATORS = checks.private_estimators()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_price_is_what_a_fit_is_charged(name):
    model = checks.prepared(ESTIMATORS[name])
    ledger = Ledger(Budget(1.0, 1e-5))
    price = price_of(model.set_params(ledger=ledger).fit, 3, target="class" if hasattr(model, "classes") else "number")
    assert ledger.entries == () and not hasattr(model, "release_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*ordinary(model, 40))
    assert price.event == ledger.entries[0].event and price.budget.epsilon == model.epsilon
    assert price.epsilon <= 1 + 1e-9 and (price.epsilon > 0.99 or price.budget.pure)


def test_statistics_have_a_price_too():
    price = price_of(lambda rows: stats.mean(rows, epsilon=0.5, bounds=(0, 1)), 1, target=None)
    assert price.epsilon == 0.5 and price.sums_only
    assert not price_of(lambda rows: stats.median(rows, epsilon=0.5, bounds=(0, 1)), 1, target=None).sums_only
    with pytest.raises(ValueError, match="charges nothing"):
        price_of(lambda rows: None, 3)


@pytest.mark.parametrize(
    ("model", "target", "sums"),
    [
        (LinearRegression(bounds=LINE), "number", True),
        (LinearRegression(), "number", True),  # bounds are found by noisy histograms
        (Ridge(bounds=LINE), "number", True),
        (LinearRegression(bounds=LINE, method="adassp"), "number", False),  # a function of X'X
        (LinearRegression(bounds=LINE, method="output"), "number", False),
        (LogisticRegression(bounds=CLASSES, method="gradient"), "class", True),
        (LogisticRegression(bounds=CLASSES), "class", True),
        (LogisticRegression(bounds=Bounds(-1, 1), method="gradient"), "class", False),  # classes are looked for
        (LinearSVC(bounds=CLASSES), "class", False),
        (HypothesisClass(bounds=CLASSES), "class", False),
        (PrivateSearchCV(Ridge(bounds=LINE), {"alpha": [1.0, 2.0]}), "number", False),
    ],
    ids=str,
)
def test_a_plan_knows_whether_it_is_sums_only(model, target, sums):
    assert price_of(model.fit, 3, target=target).sums_only is sums


def test_what_is_no_sum_is_refused_on_a_share_for_sums():
    """So a plan that says that it is sums only cannot turn out to be more."""
    budget = Budget(1.0, 1e-6)
    assert budget.split(1, radial(2))[0].plan.sums_only
    assert not budget.split(1, inside(radial(2)))[0].plan.sums_only and not budget.split(choice(1))[0].plan.sums_only
    curator = Curator(Memory(np.ones((5, 2))), Ledger(budget))
    x = BoundedSum(lambda rows: rows.X / 2, lambda rows: rows.X / 2)
    with pytest.raises(
        ValueError, match=r"A share for a sum does not buy a function of a total\. Hint: budget\.inside"
    ):
        curator.measure(x, budget.whole(), then=smallest_eigenvalue)
    assert curator.ledger.entries == ()


class SumsOnly(Adder):
    """As a federation would have it: sums alone, and noise twice as large."""

    def check(self, plan):
        if not plan.sums_only:
            raise NotSupported("Sums only.")

    def times_std(self):
        return 2.0


class Rows(Memory):
    adder = SumsOnly()


def test_rows_may_bring_what_adds_the_noise():
    model = LinearRegression(bounds=LINE, method="ssp")  # whose sums do not depend on each other
    X, y = ordinary(checks.prepared(LinearRegression()), 50)
    ledger = Ledger(Budget(1.0, 1e-6))
    search = PrivateSearchCV(Ridge(bounds=LINE), {"alpha": [1.0, 2.0]}, ledger=ledger)
    for refused in (LinearRegression(bounds=LINE, method="adassp", ledger=ledger), search):
        with pytest.raises(NotSupported, match="Sums only"):
            refused.fit(Rows(X, y))
    assert ledger.entries == ()  # before anything was charged
    one, two = model.fit(Rows(X, y)).release_, model.fit(Memory(X, y)).release_
    assert len(one.parts) >= 2
    for mine, theirs in zip(one.parts, two.parts, strict=True):
        assert np.allclose(mine.std, 2 * np.asarray(theirs.std))


def test_a_task_pays_for_what_nobody_stated():
    budget = Budget(8.0, 1e-6)
    rng = np.random.default_rng(0)
    rows = Memory(rng.uniform(0, 4, (4000, 2)), rng.choice(["no", "yes"], 4000), labels=True)
    task = Task(Curator(rows, Ledger(budget)), budget, target="class")
    assert not task.stated
    bounds, shares = task.deal(1, 2)
    assert bounds.classes == ("no", "yes") and (bounds.lower < 0.5).all() and (bounds.upper > 3.5).all()
    assert len(shares) == 2 and len(task.notes) == 2
    (entry,) = task.curator.ledger.entries
    assert 0.99 * 8 < epsilon(entry.event, 1e-6) <= 8
    assert task.receipt("fit").notes == tuple(task.notes)
