"""One of several events, decided by what ran before: read from earlier files, at no less than it costs."""

import pytest

from discreet import accounting
from discreet.accounting import curves
from discreet.accounting.leaves import ways_of
from discreet.budget import Budget
from discreet.errors import NotSupported
from discreet.events import Choice, Composed, Either, Event, Gaussian, Laplace, Pure, Repeated, Sampled, one_of
from discreet.ledger import currency

pytestmark = pytest.mark.catalogue("CO3")
WAYS = (Gaussian(4.0), Laplace(2.0))
PLAN = Composed((Gaussian(10.0), Either(WAYS)))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_delta_adds_over_the_ways(epsilon):
    each = [accounting.delta(Composed((Gaussian(10.0), way)), epsilon) for way in WAYS]
    assert max(each) < accounting.delta(PLAN, epsilon) == pytest.approx(sum(each))


def test_epsilon_is_that_of_the_dearest_way_at_its_part_of_delta():
    each = [accounting.epsilon(Composed((Gaussian(10.0), way)), 1e-6 / 2) for way in WAYS]
    assert accounting.epsilon(PLAN, 1e-6) == max(each)
    assert accounting.delta(PLAN, accounting.epsilon(PLAN, 1e-6)) <= 1e-6


def test_every_currency_takes_the_dearest_way():
    either = Either(WAYS)
    assert curves.mu(either) == max(map(curves.mu, WAYS))
    assert curves.renyi(either, 8) == max(curves.renyi(way, 8) for way in WAYS)
    assert currency.rho(either) == max(map(currency.rho, WAYS))
    pure = Either((Laplace(2.0), Composed((Pure(0.1), Pure(0.15)))))
    assert curves.pure(pure) == accounting.epsilon(pure, 0.0) == 0.5


def test_forks_of_many_plans_are_covered_by_gaussians():
    few, many = Repeated(Either(WAYS), 3), Repeated(Either(WAYS), 30)
    assert len(ways_of(few)) == 8 and len(ways_of(many)) == 1
    covering = Repeated(Gaussian(1 / curves.mu(Either(WAYS))), 30)
    assert accounting.epsilon(Repeated(Gaussian(4.0), 30), 1e-6) < accounting.epsilon(many, 1e-6)
    assert accounting.epsilon(many, 1e-6) <= accounting.epsilon(covering, 1e-6) * 1.001


def test_it_is_read_and_said_as_before():
    assert Event.from_dict(PLAN.to_dict()) == PLAN and "either" in str(Either(WAYS))
    grouped = one_of(Either(WAYS), 2)
    assert isinstance(grouped, Either) and curves.mu(grouped.events[0]) == pytest.approx(curves.mu(WAYS[0]) / 2)
    for ways in (
        WAYS[:1],
        (Gaussian(1.0), Sampled(0.1, Gaussian(1.0))),
        (Composed((Gaussian(1.0), Choice(1.0))), WAYS[0]),
    ):
        with pytest.raises(NotSupported, match="Either is of two events or more"):
            Either(ways)


def test_it_is_planned_no_more():
    assert "instead" not in vars(__import__("discreet.budget", fromlist=["budget"]))
    with pytest.raises(AttributeError):
        Budget(1.0).split(0.1, 0.9)[0].plan.fork  # noqa: B018
