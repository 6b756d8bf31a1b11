"""Reference laws and the tests of fit that the sampler tests share. Every test here alarms at p < 1e-8."""

from __future__ import annotations

import numpy as np
from scipy import stats

ALARM = 1e-8


def pmf(law: str, scale: float, x: np.ndarray) -> np.ndarray:
    if law == "rounded_normal":
        return stats.norm.cdf((x + 0.5) / scale) - stats.norm.cdf((x - 0.5) / scale)
    if law == "rounded_laplace":
        return stats.laplace.cdf((x + 0.5) / scale) - stats.laplace.cdf((x - 0.5) / scale)
    reach = np.arange(-int(60 * scale) - 20, int(60 * scale) + 21)
    power = 1 if law == "discrete_laplace" else 2
    weight = lambda t: np.exp(-(np.abs(t / scale) ** power) / power)  # noqa: E731
    return weight(x) / weight(reach).sum()


def fit(draws: np.ndarray, law: str, scale: float) -> float:
    """The p-value of a chi-square test of whole draws against the law, rare values pooled."""
    reach = int(np.ceil(40 * scale)) + 3
    x = np.arange(-reach, reach + 1)
    return chi_square(np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1), pmf(law, scale, x))


def chi_square(seen: np.ndarray, probability: np.ndarray) -> float:
    expected = seen.sum() * probability
    common = expected >= 25
    rest = max(expected[~common].sum(), seen.sum() - expected[common].sum(), 0)
    seen_, expected_ = list(seen[common]), list(expected[common])
    if rest >= 5:
        seen_.append(seen[~common].sum())
        expected_.append(rest)
    elif seen[~common].sum() > 60:  # Poisson of mean < 5: beyond 60 with probability < 1e-40
        return 0.0
    if len(seen_) < 2:
        return 1.0
    scaled = np.array(expected_) * sum(seen_) / sum(expected_)
    return float(stats.chisquare(seen_, scaled).pvalue)
