"""The privacy loss of an output, and how it is distributed (CO5)."""

import numpy as np
import pytest

from discreet.accounting.loss import loss_distribution, privacy_loss
from discreet.events import Composed, Gaussian, Laplace, Pure, Repeated

pytestmark = pytest.mark.catalogue("CO5")


def test_the_loss_of_laplace_noise_is_bounded_and_that_of_gaussian_noise_is_not():
    outputs = np.linspace(-50, 50, 1001)
    assert np.abs(privacy_loss(Laplace(2.0), outputs)).max() == 0.5
    assert privacy_loss(Gaussian(2.0), -50.0) > 10
    with pytest.raises(TypeError, match="Gaussian and Laplace"):
        privacy_loss(Pure(1.0), 0.0)


def test_losses_of_simulated_outputs_follow_the_distribution():
    """Kolmogorov-Smirnov with 200,000 seeded draws: a distance above 0.007 has probability below 1e-8."""
    rng = np.random.default_rng(0)
    for event, noise in ((Gaussian(1.5), rng.normal(0, 1.5, 200_000)), (Laplace(0.7), rng.laplace(0, 0.7, 200_000))):
        simulated, exact = np.sort(privacy_loss(event, noise)), loss_distribution(event)
        for epsilon in np.linspace(-1.3, 1.3, 27):
            share = 1 - np.searchsorted(simulated, epsilon + 1e-3, side="right") / len(simulated)
            assert exact.beyond(epsilon) >= share - 0.007
            share = 1 - np.searchsorted(simulated, epsilon - 1e-3, side="left") / len(simulated)
            assert exact.beyond(epsilon) <= share + 0.007


def test_composed_losses_add_up():
    one, ten = loss_distribution(Gaussian(4.0)), loss_distribution(Repeated(Gaussian(4.0), 10))
    assert ten.mean == pytest.approx(10 * one.mean, rel=1e-2)
    both = loss_distribution(Composed((Gaussian(4.0), Laplace(3.0))))
    assert both.probabilities.sum() + both.unbounded == pytest.approx(1.0, abs=1e-6)
    assert both.mean == pytest.approx(one.mean + loss_distribution(Laplace(3.0)).mean, rel=1e-2)
