"""The sum of many privacy losses, with a certificate.

Composition convolves loss distributions. An FFT does that with a rounding error of about 1e-16 of the *largest* mass,
which swamps a δ of 1e-12. So the masses are first tilted by e^(λ l), with λ such that the tilted sum lies where the
answer is (Chernoff's saddle point): the same rounding error is then small relative to the masses that matter. What
remains is bounded explicitly and added:

- rounding of the transforms, their powers and the sums (`_rounding`, `growth`, `shift`);
- the tail beyond the window, by Chernoff's inequality (`rest`). What wraps around *into* the window only adds.

Proofs: `mechanisms/proofs/accounting.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.pairs import LARGEST, Floats, GridTooLarge, Pair

UNIT = 2.0**-53
_APART = -3.0  # a largest mass of at least e^-3 in the sum is taken out before the transform
_OUTSIDE = 16.0  # a window leaves out about e^-16 of what counts


@dataclass(frozen=True)
class Total:
    """The sum of independent losses: each pair so many times."""

    parts: Sequence[tuple[Pair, int]]

    @property
    def step(self) -> float:
        """The distance between grid points, the same for all parts."""
        return self.parts[0][0].step

    @cached_property
    def logs(self) -> list[Floats]:
        """Logarithms of the masses of each part."""
        with np.errstate(divide="ignore"):
            return [np.log(pair.masses) for pair, _ in self.parts]

    @cached_property
    def losses(self) -> list[Floats]:
        """Losses of the grid points of each part."""
        return [pair.losses for pair, _ in self.parts]

    @property
    def above(self) -> float:
        """The probability that some loss is infinite."""
        if any(pair.above >= 1 for pair, _ in self.parts):
            return 1.0
        kept = math.fsum(times * math.log1p(-pair.above) for pair, times in self.parts)
        return -math.expm1(kept * (1 + 1e-12))

    def tilted(self, part: int, tilt: float) -> tuple[float, Floats]:
        """The logarithm of Σ p e^(λ l) over one part, and its masses tilted and scaled to sum to one."""
        exponents = self.logs[part] + tilt * self.losses[part]
        largest = float(exponents.max())
        masses = np.exp(exponents - largest)
        total = float(masses.sum())
        return largest + math.log(total), masses / total

    def cumulant(self, tilt: float) -> float:
        """K(λ) = log Σ p e^(λ l) of the sum."""
        return math.fsum(n * self.tilted(i, tilt)[0] for i, (_, n) in enumerate(self.parts))

    def moments(self, tilt: float) -> tuple[float, float]:
        """The mean and the standard deviation of the tilted sum."""
        mean = variance = 0.0
        for i, (_, times) in enumerate(self.parts):
            masses = self.tilted(i, tilt)[1]
            middle = _dot(masses, self.losses[i])
            mean += times * middle
            variance += times * _dot(masses, (self.losses[i] - middle) ** 2)
        return mean, math.sqrt(variance)


def _dot(a: Floats, b: Floats) -> float:
    return float((a * b).sum())  # `a @ b` would start threads, which costs more than it saves


@dataclass(frozen=True)
class Window:
    """Upper bounds on the masses of the sum at the losses (first + i) × step, and on all that lies above them."""

    step: float
    first: int
    masses: Floats
    rest: float
    shift: float

    @cached_property
    def _gaps(self) -> Floats:
        gaps: Floats = -np.expm1(-self.step * np.arange(1, len(self.masses) + 1))
        return gaps

    def at(self, index: int) -> float:
        """An upper bound on δ at the loss of one grid point: Σ (1 − e^(ε − l)) p(l) over l > ε."""
        masses = self.masses[index + 1 :]
        return min(1.0, self.rest + _dot(masses, self._gaps[: len(masses)]))

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ at ε; between grid points δ is convex in e^ε, so the chord bounds it."""
        position = (epsilon - self.shift) / self.step - self.first
        index = math.floor(position)
        if index < 0:
            return 1.0
        if index + 1 >= len(self.masses):
            return self.rest
        over = math.expm1((position - index - 1) * self.step) / math.expm1(-self.step)
        return max(self.rest, over * self.at(index) + (1 - over) * self.at(index + 1)) * (1 + 1e-12)

    def epsilon(self, delta: float) -> float:
        """An upper bound on the smallest ε ≥ 0 with this δ; infinite if it is not in the window."""
        good, bad = len(self.masses) - 1, max(-1, -self.first - 1)
        if self.at(good) > delta:
            return math.inf
        while good - bad > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.at(middle) <= delta else (good, middle)
        return max(0.0, self._between(bad, good, delta)) * (1 + 1e-12)

    def _between(self, bad: int, good: int, delta: float) -> float:
        """Where the chord between two neighbouring grid points crosses δ."""
        end = (self.first + good) * self.step
        if bad < 0 or self.first + bad < 0:
            return end + self.shift
        low, high = self.at(good), self.at(bad)
        share = (delta - low) / (high - low) * (1 - 1e-9)
        return end + math.log1p(share * math.expm1(-self.step)) + self.shift


def window(total: Total, tilt: float, strong: float, target: float) -> Window:
    """The sum of the losses around a δ of `target`; `strong` is the tilt that gives the best Chernoff bound."""
    mean, spread = total.moments(tilt)
    cumulant, unit = total.cumulant(tilt), max(spread, total.step)
    ratio = max(2.0, 1.5 * strong / tilt)
    upward = [tilt * ratio ** (k / 6) for k in range(7)] + [tilt + k / unit for k in (0.5, 1.0, 2.0, 4.0, 6.0)]
    downward = [tilt / 2, 0.0, -1.0, -3.0] + [tilt - k / unit for k in (4.0, 6.0, 8.0)]
    higher = [(at, total.cumulant(at)) for at in upward]
    lower = [(at, total.cumulant(at)) for at in downward]
    high = min((there - math.log(target) + _OUTSIDE) / at for at, there in higher)
    low = max((there - cumulant + _OUTSIDE) / (at - tilt) for at, there in lower)
    # tilted mass above `wraps` must not come round to the losses above the mean, where it would count
    wraps = min((there - cumulant + _OUTSIDE) / (at - tilt) for at, there in higher[1:])
    first, size = _extent(total, low, max(high, low + wraps - mean))
    if size > LARGEST:
        raise GridTooLarge
    losses = total.step * np.arange(first, first + size, dtype=np.float64)
    top, growth = float(losses[-1]), _growth(total, tilt, cumulant, size)
    beyond = min(math.exp(min(0.0, there - at * top)) for at, there in higher)
    beyond = beyond if first + size <= _ends(total)[1] else 0.0
    masses = _convolution(total, tilt, first, size) * np.exp(np.minimum(cumulant - tilt * losses, 200.0)) * growth
    shift = math.fsum(times * pair.blur for pair, times in total.parts) + 4 * UNIT * (abs(top) + abs(low))
    return Window(total.step, first, masses, total.above + beyond * growth, shift)


def _ends(total: Total) -> tuple[int, int]:
    """The lowest and the highest grid point the sum can reach."""
    lowest = sum(times * pair.first for pair, times in total.parts)
    highest = sum(times * (pair.first + len(pair.masses) - 1) for pair, times in total.parts)
    return lowest, highest


def _extent(total: Total, low: float, high: float) -> tuple[int, int]:
    """First grid point and number of grid points, a power of two, for losses from low to high."""
    lowest, highest = _ends(total)
    first = max(lowest, math.floor(low / total.step) - 1)
    last = min(highest, math.ceil(high / total.step) + 1)
    return first, 2 ** max(4, (last - first).bit_length())


def _growth(total: Total, tilt: float, cumulant: float, size: int) -> float:
    """A factor that covers the relative rounding of masses, tilting, untilting and the final sums."""
    exponent = 8 * UNIT * (abs(cumulant) + 800 + size)
    for i, (pair, times) in enumerate(total.parts):
        finite = total.logs[i][np.isfinite(total.logs[i])]
        reach = abs(tilt) * float(np.abs(total.losses[i]).max()) + float(np.abs(finite).max())
        exponent += times * (pair.error + 8 * UNIT * (reach + len(finite).bit_length() + 4))
    return math.exp(min(exponent, 700.0))


# The transform -------------------------------------------------------------------------------------


def _convolution(total: Total, tilt: float, first: int, size: int) -> Floats:
    """Upper bounds on the masses of the tilted sum, modulo `size`, from index `first` on.

    Each part is its largest mass a, at loss 0 after a shift, and the others: f̂ = a (1 + z). The product of all is
    A e^L with A = Π a^T and L = Σ T log(1 + z). Where A is not small the mass A itself is taken out,
    and only A (e^L − 1) is transformed back, so that rounding is relative to what the other masses do.
    """
    shifts, peaks = _peaks(total, tilt)
    peak = math.fsum(times * math.log(a) for a, (_, times) in zip(peaks, total.parts, strict=True))
    apart = peak > _APART
    power = np.zeros(size // 2 + 1, dtype=np.complex128)
    doubt, ceiling = np.full(len(power), 8 * UNIT * (1 + abs(peak))), np.zeros(len(power))
    for i, (pair, times) in enumerate(total.parts):
        others = total.tilted(i, tilt)[1].copy()
        others[shifts[i] - pair.first] = 0.0
        places = np.arange(pair.first - shifts[i], pair.first - shifts[i] + len(others)) % size
        transform, error = _transform(np.bincount(places, others, size).astype(np.float64))
        _multiply(transform / peaks[i], error / peaks[i], times, power, doubt, ceiling, len(total.parts))
    spectrum = np.expm1(power) if apart else np.exp(power + peak)
    scale = math.exp(peak) if apart else 1.0
    lift = 0.0 if apart else peak
    circle = np.fft.irfft(spectrum, size)
    circle[0] += 1.0 if apart else 0.0
    circle = np.maximum(circle, 0.0) + _rounding(spectrum, power.real + lift, doubt, ceiling + lift, size)
    start = first - sum(times * shift for shift, (_, times) in zip(shifts, total.parts, strict=True))
    return np.roll(circle, -(start % size)) * scale


def _peaks(total: Total, tilt: float) -> tuple[list[int], list[float]]:
    """Where the largest tilted mass of each part is, and how large."""
    tilted = [total.tilted(i, tilt)[1] for i in range(len(total.parts))]
    at = [int(masses.argmax()) for masses in tilted]
    shifts = [pair.first + k for k, (pair, _) in zip(at, total.parts, strict=True)]
    return shifts, [float(masses[k]) for k, masses in zip(at, tilted, strict=True)]


def _multiply(
    z: NDArray[np.complex128],
    error: float,
    times: int,
    power: NDArray[np.complex128],
    doubt: Floats,
    ceiling: Floats,
    parts: int,
) -> None:
    """Add `times` log(1 + z) to `power`, its possible error to `doubt`, and a bound on its real part to `ceiling`."""
    logs = _log1p(z)
    modulus = np.abs(1 + z)
    unit = (8 + parts) * UNIT
    with np.errstate(divide="ignore", invalid="ignore"):
        doubt += times * ((error + unit * np.abs(z)) / modulus + unit * np.abs(logs))
        ceiling += times * np.log(modulus + error + unit * (1 + np.abs(z)))
        power += times * logs


def _log1p(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Logarithm of 1 + z, with all its digits where z is small."""
    with np.errstate(divide="ignore"):
        small = np.log1p(2 * z.real + z.real**2 + z.imag**2) / 2
        real = np.where(np.abs(z) < 0.25, small, np.log(np.abs(1 + z)))
    return real + 1j * np.arctan2(z.imag, 1 + z.real)


def _transform(masses: Floats) -> tuple[NDArray[np.complex128], float]:
    """The transform, and how far any of its values can be from the exact one."""
    size = len(masses)
    return np.fft.rfft(masses), _transform_error(size) * float(masses.sum())


def _transform_error(size: int) -> float:
    """The error of any value of a transform of this length, relative to the sum of the moduli of its terms."""
    return 8 * UNIT * math.log2(size)


def _rounding(spectrum: NDArray[np.complex128], logs: Floats, doubt: Floats, ceiling: Floats, size: int) -> float:
    """How far any mass of the computed circle can be from the exact one."""
    small = np.exp(np.minimum(logs, 4.0)) * np.expm1(np.minimum(np.nan_to_num(doubt, nan=1.0), 1.0))
    large = 2 * np.exp(np.minimum(ceiling, 4.0))
    modulus = np.abs(spectrum)
    powers = 2 * float((np.where(doubt < 1, small, large) + 8 * UNIT * modulus).sum()) / size
    inverse = _transform_error(size) * 2 * float(modulus.sum()) / size
    return (powers + inverse) * (1 + 1e-9)
