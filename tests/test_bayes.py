"""Bayesian regression from noised moments: the sampler is exact, and its intervals cover what they say."""

import copy
import pickle

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import Bounds, NotPrivateWarning, checks
from discreet.models.linear.bayes import BayesianLinearRegression
from discreet.models.linear.hamiltonian import effective_size, split_rhat
from discreet.models.linear.noisy_moments import MomentDensity
from discreet.models.linear.posterior_draws import Noisy, Prior, sample_posterior

pytestmark = pytest.mark.catalogue("LR5")

BOUNDS = Bounds(-1, 1, target=(-1, 1))
PRIOR = Prior()


def spread(wide, std, intercept=True, public=False):
    """Deviations of symmetric noise; without an intercept the sums themselves are not measured."""
    out = np.where(np.eye(wide, dtype=bool), std, std / np.sqrt(2))
    if not intercept:
        out[0, 1:] = out[1:, 0] = np.inf
    if public:
        out[0, 0] = 0.0
    return out


def noise(std, size, radial, rng):
    wide = len(std)
    draws = np.tril(rng.normal(size=(size, wide, wide)))
    if radial:  # a direction, uniform in the Frobenius norm, times a gamma radius: each entry of variance (k + 1)
        k = wide * (wide + 1) // 2
        length = np.sqrt((draws**2).sum(axis=(1, 2), keepdims=True))
        draws = draws / length * rng.gamma(k, size=(size, 1, 1)) / np.sqrt(k + 1)
    draws = (draws + np.tril(draws, -1).swapaxes(1, 2)) * np.where(std < np.inf, std, 0.0)
    return draws


def simulated(size, n, std, rng, intercept=True, radial=False, public=False):
    """Moments of one feature, and the coefficients behind them, all drawn from the model's own prior."""
    mean, deviation = 0.5 * rng.normal(size=size), np.abs(0.5 * rng.normal(size=size))
    if intercept:
        A = n * np.array([[np.ones(size), mean], [mean, mean**2 + deviation**2]]).transpose(2, 0, 1)
    else:
        A = n * (deviation**2)[:, None, None]
    p = A.shape[-1]
    lam, lam0 = rng.gamma(PRIOR.a, size=size) / PRIOR.b, rng.gamma(PRIOR.a0, size=size) / PRIOR.b0
    beta = rng.normal(size=(size, p)) / np.sqrt(lam0)[:, None]
    error = np.linalg.cholesky(A) @ rng.normal(size=(size, p, 1)) / np.sqrt(lam)[:, None, None]
    b = A @ beta[..., None] + error
    rss = rng.chisquare(n - p, size) / lam
    matrix = np.zeros((size, 3, 3))
    matrix[:, -1 - p : -1, -1 - p : -1] = A
    matrix[:, -1 - p : -1, -1], matrix[:, -1, -1 - p : -1] = b[..., 0], b[..., 0]
    matrix[:, -1, -1] = (b * np.linalg.solve(A, b)).sum(axis=(1, 2)) + rss
    matrix[:, 0, 0] = n
    std = spread(3, std, intercept, public)
    return Noisy(matrix + noise(std, size, radial, rng), std, radial), beta


def together(parts):
    """Problems of several settings as one batch."""
    return Noisy(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("matrix", "std")))


def scale(epsilon):
    """The noise of Σ v v', ‖v‖² <= 3, at δ = 1e-6 (multipliers of the exact Gaussian calibration, rounded)."""
    return 3 * {0.1: 36.3, 1.0: 4.22, 3.0: 1.59}[epsilon]


def shares(posterior, beta):
    """Of each true slope, the share of draws below it: uniform if the posterior is right."""
    draws = posterior.coefficients[..., -1].reshape(len(beta), -1)
    return (draws < beta[:, -1:]).mean(axis=1)


SETTINGS = [(n, epsilon) for n in (100, 1000) for epsilon in (0.1, 1.0, 3.0)]


@pytest.mark.slow
def test_the_posterior_is_the_posterior():
    """Truth drawn from the prior lies in 90% intervals 90% of the time, and anywhere in the posterior alike.

    900 independent slopes, with Gaussian noise and n private in six settings, without an intercept and with the noise
    of the norm mechanism: coverage strays beyond 85-95% with probability below 1e-6 (a binomial at 90%, 5 standard
    deviations away), and so do the 10 bins of the shares (chi-square). Of the 100 or more of one setting, 72% or fewer
    are covered with probability below 1e-6. The seed is fixed: what passes once passes always.
    """
    rng = np.random.default_rng(0)
    parts, betas = zip(*(simulated(117, n, scale(epsilon), rng) for n, epsilon in SETTINGS), strict=True)
    found = [
        *np.split(shares(sample_posterior([together(parts)], draws=300, chains=2, seed=0), np.concatenate(betas)), 6)
    ]
    for i, options in enumerate(({"intercept": False}, {"radial": True})):
        part, beta = simulated(100, 100, scale(1.0), rng, **options)
        drawn = sample_posterior([part], intercept=i == 1, draws=300, chains=2, seed=0)
        found.append(shares(drawn, beta))
    assert min(((one > 0.05) & (one < 0.95)).mean() for one in found) > 0.72
    found = np.concatenate(found)
    assert len(found) > 900 and 0.85 < ((found > 0.05) & (found < 0.95)).mean() < 0.95
    counts, fair = np.histogram(found, 10, (0, 1))[0], len(found) / 10
    assert ((counts - fair) ** 2 / fair).sum() < chi2.isf(1e-6, 9)


@pytest.mark.parametrize(("n", "epsilon"), [(100, 1.0), (1000, 3.0)])
def test_noise_taken_for_none_covers_far_less(n, epsilon):
    """What the test above would see of the naive posterior: far below 85% (here below 60%)."""
    part, beta = simulated(300, n, scale(epsilon), np.random.default_rng(5))
    values, vectors = np.linalg.eigh(part.matrix)
    naive = (vectors * np.maximum(values, 1e-9)[:, None]) @ vectors.swapaxes(1, 2)
    naive[:, 0, 0] = np.maximum(naive[:, 0, 0], 1)
    found = shares(sample_posterior([Noisy(naive, np.zeros((3, 3)))], draws=800, seed=1), beta)
    assert ((found > 0.05) & (found < 0.95)).mean() < 0.6


def moments(n, d, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = X @ np.linspace(-0.4, 0.4, d) + 0.1 + noise * rng.normal(size=n)
    v = np.column_stack([np.ones(n), X, y])
    return v.T @ v


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("radial", [True, False])
def test_the_gradient_is_that_of_the_density(intercept, radial):
    private = Noisy(moments(60, 3)[None], spread(5, 4.0), radial)
    other = Noisy(moments(40, 3, 1)[None], spread(5, 9.0, public=True))
    density = MomentDensity([private, other], moments(20, 3, 2)[None], intercept, PRIOR)
    rng = np.random.default_rng(0)
    at = density.find_start()[:, None] + 0.2 * rng.normal(size=(1, 4, density.find_start().shape[1]))
    slope, step = density(at)[1], 1e-5
    differences = [(density(at + h)[0] - density(at - h)[0]) / (2 * step) for h in step * np.eye(at.shape[-1])]
    assert np.allclose(np.stack(differences, axis=-1), slope, rtol=1e-5, atol=1e-4)


def test_exact_moments_give_the_textbook_posterior():
    """With precisions all but fixed by their priors it is N((λA + λ0)⁻¹λb, (λA + λ0)⁻¹): 6 standard errors of 8000."""
    S = moments(50, 2)
    prior = Prior(a0=3e8, b0=1e8, a=2e9, b=1e8)
    draws = sample_posterior([Noisy(S, np.zeros((4, 4)))], prior=prior, draws=8000, seed=0).coefficients.reshape(-1, 3)
    covariance = np.linalg.inv(20 * S[:3, :3] + 3 * np.eye(3))
    assert np.allclose(draws.mean(0), covariance @ (20 * S[:3, 3]), atol=6 * np.sqrt(covariance.max() / 8000))
    assert np.allclose(draws.std(0) / np.sqrt(np.diag(covariance)), 1, atol=6 / np.sqrt(2 * 8000))


def test_hardly_any_noise_is_none():
    """Two samplers that share no code agree: the walk with tiny noise, and Gibbs with none."""
    S = moments(400, 2)
    walk, gibbs = (sample_posterior([Noisy(S, spread(4, std))], draws=4000, seed=0) for std in (1e-3, 0.0))
    one, other = walk.coefficients.reshape(-1, 3), gibbs.coefficients.reshape(-1, 3)
    error = other.std(0) / np.sqrt(np.minimum(walk.size, gibbs.size))
    assert (np.abs(one.mean(0) - other.mean(0)) < 6 * error).all()
    assert np.allclose(one.std(0) / other.std(0), 1, atol=0.1)
    assert np.isclose(walk.precision.mean() / gibbs.precision.mean(), 1, atol=0.02)


def test_public_rows_are_not_drowned_by_private_noise():
    public, private = Noisy(moments(200, 2), np.zeros((4, 4))), Noisy(moments(200, 2, 1), spread(4, 1e4))
    near = Noisy(moments(200, 2, 1), spread(4, 1.0))
    alone, with_noise, with_more = (
        sample_posterior(parts, seed=0).coefficients.reshape(-1, 3).std(0)
        for parts in ([public], [public, private], [public, near])
    )
    assert np.allclose(with_noise / alone, 1, atol=0.15)
    assert (with_more < 0.9 * alone).all()
    assert np.isclose((public + private).std[1, 1], 1e4) and not (public + public).std.any()


@pytest.mark.parametrize(
    ("matrix", "std"), [(np.eye(2), 1.0), (np.full((3, 3), np.nan), 1.0), (np.eye(3), -1.0), (np.ones((3, 4)), 1.0)]
)
def test_bad_statistics_are_refused(matrix, std):
    with pytest.raises(ValueError, match="Noisy must be"):
        Noisy(matrix, std)


def test_diagnostics_tell_chains_apart():
    rng = np.random.default_rng(0)
    trace = rng.normal(size=(4, 1000, 1))
    assert split_rhat(trace) < 1.01 and 3000 < effective_size(trace) < 5000
    assert split_rhat(trace + np.arange(4)[:, None, None]) > 1.5
    assert effective_size(np.cumsum(trace, axis=1)) < 50


def data(n=2000, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, X @ np.linspace(0.2, 0.5, d) + 0.1 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("options", [{}, {"n": 2000}, {"fit_intercept": False}, {"delta": 0.0}])
def test_it_learns_and_says_how_well(options):
    """The slopes' posterior deviations are about 0.03 at most: 0.25 is off by 8 of them."""
    X, y = data()
    y = y if options.get("fit_intercept", True) else y - 0.1
    model = BayesianLinearRegression(3.0, **({"delta": 1e-6} | options), bounds=BOUNDS, draws=1000).fit(X, y)
    ends = model.coef_interval(1 - 1e-6)
    assert (np.abs(model.coef_ - [0.2, 0.5]) < 0.25).all() and model.posterior_.shape == (1000, 3)
    assert ends.shape == (2, 2) and (ends[:, 0] < model.coef_).all() and (model.coef_ < ends[:, 1]).all()
    assert (model.diagnostics_["rhat"] < 1.2).all() and model.diagnostics_["ess"].min() > 50
    assert "R-hat" in model.summary() and "too narrow" not in model.summary()
    assert (model.intercept_ == 0) == (not model.fit_intercept)


def test_predictions():
    X, y = data()
    model = BayesianLinearRegression(3.0, bounds=BOUNDS, draws=1000).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    low, high = model.predict_interval(X).T
    inside = ((low < y) & (y < high)).mean()
    assert np.array_equal(mean, model.predict(X)) and 0.8 < inside <= 1 and (std > 0.03).all()
    assert (low >= -1).all() and (high <= 1).all() and (low < mean).all() and (mean < high).all()
    assert np.isnan(model.predict_interval(np.array([[np.nan, 0.0]]))).all()


@pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")
def test_seeds_copies_and_laziness():
    X, y = data(300)
    with pytest.warns(NotPrivateWarning):
        model = BayesianLinearRegression(1.0, bounds=BOUNDS, draws=200, random_state=3).fit(X, y)
    assert "posterior" not in vars(model._drawn)  # fitting only measures
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    again = BayesianLinearRegression(1.0, bounds=BOUNDS, draws=200, random_state=3).fit(X, y)
    assert all(np.array_equal(model.posterior_, one.posterior_) for one in (*copies, again))
    private = [BayesianLinearRegression(1.0, bounds=BOUNDS, draws=200).fit(X, y) for _ in range(2)]
    assert not np.array_equal(private[0].posterior_, private[1].posterior_)


def test_the_naive_posterior_says_so():
    X, y = data()
    naive = BayesianLinearRegression(1.0, bounds=BOUNDS, posterior="naive-overconfident").fit(X, y)
    aware = sample_posterior([naive.moments_], seed=0).coefficients
    assert "too narrow" in naive.summary() and "too narrow" in str(naive.release_)
    assert naive.posterior_[:, 1].std() < 0.5 * aware[..., 1].std()


@pytest.mark.parametrize(
    "options",
    [
        {"a": 0.0},
        {"b0": -1},
        {"posterior": "naive"},
        {"draws": 3},
        {"draws": 2.5},
        {"draws": True},
        {"chains": 0},
        {"chains": True},
        {"epsilon": -1},
    ],
)
def test_bad_arguments_cost_nothing(options):
    X, y = data(20)
    with pytest.raises(ValueError, match=r"must be|is 'noise-aware'"):
        BayesianLinearRegression(**({"bounds": BOUNDS} | options)).fit(X, y)


@pytest.mark.parametrize("options", [{"fit_intercept": False}, {"delta": 0.0, "fit_intercept": False}, {"delta": 0.0}])
def test_other_plans_pass_the_checks(options):
    for check in (
        checks.check_spends_what_it_declares,
        checks.check_blind_to_the_data,
        checks.check_hostile_rows,
        checks.check_bad_rows_add_nothing,
        checks.check_engines_agree,
        checks.check_charges_before_reading,
    ):
        check(checks.prepared(BayesianLinearRegression(4.0, **options)))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_next_to_no_rows(n):
    X, y = data(n)
    model = BayesianLinearRegression(1.0, bounds=BOUNDS, draws=400).fit(X, y)
    assert np.isfinite(model.posterior_).all() and (np.ptp(model.coef_interval(), axis=1) > 0.3).all()


@pytest.mark.parametrize("n", [0, 5, 20])
def test_the_naive_posterior_is_there_for_hardly_any_rows(n):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, n)
    for seed in (-1, 2):
        model = BayesianLinearRegression(
            bounds=Bounds(-1, 1, target=(-1, 1)), posterior="naive-overconfident", draws=64, random_state=seed
        )
        with pytest.warns(NotPrivateWarning):
            model.fit(X, y)
        assert np.isfinite(model.coef_).all()


def test_missing_values_with_a_public_number_of_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 1))
    y = 0.5 + 0.1 * X[:, 0]
    X[::2] = np.nan
    model = BayesianLinearRegression(
        3.0, neighbours="replace-one", bounds=Bounds(-1, 1, target=(0, 1)), draws=400, random_state=0
    )
    with pytest.warns(NotPrivateWarning):
        model.fit(X, y)
    assert model.intercept_ == pytest.approx(0.5, abs=0.05) and model.bounds_.target == (0, 1)


def test_whatever_is_released_there_is_an_answer():
    """Moments that are noise of any size, or of columns that are the same: draws are finite."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 5, 5)) * np.array([1e-3, 1.0, 1e6, 1e150])[:, None, None]
    same = np.array([[100.0, 5, 5, 5, 20], *[[5, 30, 30, 30, 10]] * 3, [20, 10, 10, 10, 12]])
    matrices = np.stack([*(noise + noise.swapaxes(1, 2)), same, -same, np.zeros((5, 5))])
    std = np.array([1e-3, 1.0, 1e6, 1e150, 1e-3, 1.0, 1.0])[:, None, None] * np.ones((5, 5))
    found = sample_posterior([Noisy(matrices, std)], draws=32, chains=4, seed=0)
    assert np.isfinite(found.coefficients).all() and (found.precision > 0).all()


def test_a_sampler_that_breaks_gives_the_prior_and_says_so(monkeypatch):
    def broken(*arguments):
        raise np.linalg.LinAlgError("singular")

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 2))
    monkeypatch.setattr("discreet.models.linear.posterior_draws.draw_chains", broken)
    model = BayesianLinearRegression(1.0, bounds=Bounds(-1, 1, target=(-2, 2)), draws=400).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all() and np.isfinite(model.predict_interval(X)).all()
    assert "the posterior is the prior" in model.diagnostics_["note"] and "prior" in model.summary()


def test_no_rows_leave_the_prior_and_many_do_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5000, 2))
    notes = [
        BayesianLinearRegression(1.0, bounds=Bounds(-1, 1, target=(-2, 2)), draws=400).fit(X[:n], X[:n, 0]).diagnostics_
        for n in (0, 5000)
    ]
    assert "prior" in notes[0]["note"] and "prior" not in notes[1]["note"]
