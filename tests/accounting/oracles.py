"""Exact (ε, δ) curves in high precision, none of them by the methods of the library."""

import mpmath

mpmath.mp.dps = 30


def normal_tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def gaussian(mu, epsilon):
    with mpmath.workdps(120):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        x = epsilon / mu - mu / 2
        return normal_tail(x) - mpmath.exp(epsilon) * normal_tail(x + mu)


def responses(each, times, epsilon):
    """Randomised response, `times` over: a binomial sum."""
    each, epsilon = mpmath.mpf(each), mpmath.mpf(epsilon)
    p, q = 1 / (1 + mpmath.exp(-each)), 1 / (1 + mpmath.exp(each))
    losses = ((j, (2 * j - times) * each) for j in range(times + 1))
    return sum(
        mpmath.binomial(times, j) * p**j * q ** (times - j) * (1 - mpmath.exp(epsilon - loss))
        for j, loss in losses
        if loss > epsilon
    )


def laplace(each, epsilon):
    """One Laplace mechanism with ε = `each`, at any real ε."""
    each, epsilon = mpmath.mpf(each), mpmath.mpf(epsilon)
    if epsilon >= each:
        return mpmath.mpf(0)
    return 1 - mpmath.exp((epsilon - each) / 2 if epsilon >= -each else epsilon)


def two_laplaces(each, epsilon):
    """The δ of the second, averaged over the loss of the first."""
    each, epsilon = mpmath.mpf(each), mpmath.mpf(epsilon)
    ends = laplace(each, epsilon - each) / 2 + mpmath.exp(-each) / 2 * laplace(each, epsilon + each)
    breaks = sorted({-each, each, *(x for x in (epsilon - each, epsilon + each) if -each < x < each)})
    return ends + mpmath.quad(lambda l: mpmath.exp((l - each) / 2) / 4 * laplace(each, epsilon - l), breaks)


def laplaces_and_gaussian(each, times, mu, epsilon, shift=3):
    """By the inversion integral of the moment generating function, along Re λ = `shift`."""
    each, mu, epsilon = mpmath.mpf(each), mpmath.mpf(mu), mpmath.mpf(epsilon)

    def integrand(t):
        z = mpmath.mpc(shift, t)
        half = z + mpmath.mpf(1) / 2
        one = (mpmath.exp(z * each) + mpmath.exp(-each - z * each)) / 2
        one += mpmath.exp(-each / 2) * mpmath.sinh(half * each) / half / 2
        moment = one**times * mpmath.exp(z * (z + 1) * mu * mu / 2)
        return (moment * mpmath.exp(-z * epsilon) / (z * (z + 1))).real

    end = 16 / (mu * mpmath.sqrt(1 + times * each**2 / mu**2 / 4))
    return mpmath.quad(integrand, mpmath.linspace(0, end, 60)) / mpmath.pi


def sampled_gaussian(rate, mu, epsilon):
    """One Gaussian on a Poisson sample, a unit removed, at any real ε."""
    q, mu, epsilon = mpmath.mpf(rate), mpmath.mpf(mu), mpmath.mpf(epsilon)
    odds = (mpmath.exp(epsilon) - 1 + q) / q
    if odds <= 0:
        return 1 - mpmath.exp(epsilon)
    x = mpmath.log(odds) / mu
    return q * normal_tail(x - mu / 2) - (mpmath.exp(epsilon) - 1 + q) * normal_tail(x + mu / 2)


def two_sampled_gaussians(rate, mu, epsilon):
    q, mu, epsilon = mpmath.mpf(rate), mpmath.mpf(mu), mpmath.mpf(epsilon)

    def integrand(x):
        density = (1 - q) * mpmath.npdf(x) + q * mpmath.npdf(x, mu, 1)
        loss = mpmath.log1p(q * mpmath.expm1(mu * x - mu * mu / 2))
        return density * sampled_gaussian(q, mu, epsilon - loss)

    return mpmath.quad(integrand, mpmath.linspace(-12, 14 + mu, 40))
