"""Data sets to choose constants of linear regression by, and rivals that the library does not offer.

The published sets are the twelve of benchmarks/linear.py, few of their rows, and others; the made ones are wide and
nearly collinear (rows of few common factors) or tell nothing. Each has rows for training (how many is part of the set's
name) and others, at most 2,000, for testing. Features and target are within the minima and maxima of the published set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discreet import Bounds
from discreet.accounting import noise_multiplier

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Predict = Callable[[Floats], Floats]

MOST = 2_000  # rows to test with
DELTA = 1e-6

# file, target, training rows
CHOOSE: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("uci_housing", "y", (450,)),
    ("uci_airfoil", "y", (1_350,)),
    ("uci_concrete", "y", (770,)),
    ("uci_wine", "y", (1_400,)),
    ("uci_skillcraft", "y", (3_000,)),
    ("uci_sml", "y", (3_700,)),
    ("uci_parkinsons", "y", (5_000,)),
    ("uci_pol", "y", (1_500, 8_000)),
    ("uci_elevators", "y", (770, 8_000)),
    ("uci_bike", "y", (1_000, 8_000)),
    ("uci_protein", "y", (8_000,)),
    ("uci_keggdirected", "y", (770, 8_000)),
    ("california_housing", "saleprice", (770, 8_000)),
    ("medical_insurance", "charges", (540, 1_000)),
    ("raw_slice_head", "reference", (600,)),
    ("song_small", "year", (4_000,)),
)
# those that a choice made by the others is checked by
CONTROL: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("uci_yacht", "y", (270,)),
    ("uci_solar", "y", (950,)),
    ("uci_servo", "y", (150,)),
    ("uci_pendulum", "y", (560,)),
    ("uci_forest", "y", (460,)),
    ("uci_machine", "y", (185,)),
    ("uci_autos", "y", (140,)),
    ("uci_concreteslump", "y", (90,)),
    ("uci_pumadyn32nm", "y", (7_000,)),
    ("uci_kin40k", "y", (8_000,)),
    ("uci_tamielectric", "y", (8_000,)),
    ("cps_wages_2004", "earnings", (8_000,)),
    ("height_weight", "weight", (500, 5_000)),
)
# rows, columns, common factors, share of a column's variance that is its own, noise of the target
FACTORS = (
    (2_300, 128, 6, 0.1, 0.6),
    (2_300, 128, 20, 0.02, 0.6),
    (770, 8, 2, 0.1, 0.5),
    (2_300, 32, 4, 0.02, 0.3),
)
FACTORS_TOO = (
    (3_000, 100, 10, 0.05, 0.8),
    (1_000, 20, 3, 0.3, 0.5),
    (1_000, 20, 3, 0.3, 5.0),
)
LEAST_KINDS, MOST_KINDS = 2, 20


@dataclass(frozen=True)
class Regression:
    """A data set: its name, rows, targets, public bounds, and how many rows are for training."""

    name: str
    X: Floats
    y: Floats
    bounds: Bounds
    train: int

    def split(self, seed: int) -> tuple[Ints, Ints]:
        """Rows to train with, and to test with: drawn anew for each seed."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return order[: self.train], order[self.train : self.train + MOST]

    def score(self, test: Ints, predicted: Floats) -> float:
        """R² against the mean of the test targets' population: that of all rows."""
        y = self.y[test]
        return float(1 - np.mean((y - predicted) ** 2) / np.mean((y - self.y.mean()) ** 2))


def collection(folder: Path) -> Iterator[Regression]:
    """All sets to choose by; those whose file is missing are left out."""
    yield from _published(folder, CHOOSE)
    for i, shape in enumerate(FACTORS):
        yield factors(i, *shape)


def control(folder: Path) -> Iterator[Regression]:
    """All sets to check a choice by."""
    yield from _published(folder, CONTROL)
    for i, shape in enumerate(FACTORS_TOO, 50):
        yield factors(i, *shape)


def _published(folder: Path, chosen: Iterable[tuple[str, str, tuple[int, ...]]]) -> Iterator[Regression]:
    for file, target, sizes in chosen:
        if (folder / f"{file}.parquet").exists():
            table = pd.read_parquet(folder / f"{file}.parquet").dropna()
            y = table.pop(target).to_numpy(float)
            X = np.column_stack([_numbers(table[name]) for name in table])
            X = X[:, X.std(axis=0) > 0]
            bounds = Bounds(X.min(axis=0), X.max(axis=0), target=(y.min(), y.max()))
            for train in sizes:
                yield Regression(f"{file} {train} x {X.shape[1]}", X, y, bounds, train)


def _numbers(column: pd.Series) -> Floats:
    """A column as numbers: categories as indicators, but for the first of them."""
    if column.dtype.kind in "iufb":
        return column.to_numpy(float)[:, None]
    return pd.get_dummies(column, drop_first=True).to_numpy(float)


def factors(seed: int, rows: int, width: int, common: int, own: float, noise: float) -> Regression:
    """Nearly collinear columns: few common factors, which the target depends on, and a little of their own."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(common, width)) / math.sqrt(common)
    hidden = rng.normal(size=(rows + MOST, common))
    X = math.sqrt(1 - own) * hidden @ loadings + math.sqrt(own) * rng.normal(size=(rows + MOST, width))
    y = hidden @ rng.normal(size=common) / math.sqrt(common) + noise * rng.normal(size=rows + MOST)
    bounds = Bounds(X.min(axis=0), X.max(axis=0), target=(y.min(), y.max()))
    return Regression(f"factors {rows} x {width} of {common}", X, y, bounds, rows)


def private_mean(table: Regression, train: Ints, epsilon: float, rng: np.random.Generator) -> Predict:
    """The mean of the target by the whole budget; the number of rows is public."""
    middle, half = table.bounds.target_scale
    total = table.bounds.scale_target(table.y[train]).sum() + rng.normal() * noise_multiplier(epsilon, DELTA)
    return lambda X: np.full(len(X), middle + half * float(np.clip(total / len(train), -1, 1)))


def standardised_adassp(table: Regression, train: Ints, epsilon: float, rng: np.random.Generator) -> Predict:
    """AdaSSP after private standardisation: 15% of μ² for means and squares; rows scaled as a whole, eigenvalues
    floored at 1.2 times the noise's norm, targets clipped at 2.5 deviations. The number of rows is public."""
    sigma, bounds, n = noise_multiplier(epsilon, DELTA), table.bounds, len(train)
    both = np.column_stack([bounds.scale(table.X), bounds.scale_target(table.y)])
    d = both.shape[1]
    std = sigma * math.sqrt(2 * d / 0.15) / n
    rows = both[train]
    mean = np.clip(rows.mean(axis=0) + std * rng.normal(size=d), -1, 1)
    squares = (rows**2).mean(axis=0) + std * rng.normal(size=d)
    spread = np.sqrt(np.maximum(squares - mean**2, max(3 * std, 1e-6)))

    z = (rows - mean) / spread
    t, v, radius = np.clip(z[:, -1], -2.5, 2.5), np.column_stack([np.ones(n), z[:, :-1]]), 1.1 * math.sqrt(d)
    weight = np.minimum(1, radius / np.sqrt((v**2).sum(axis=1)))
    v, t, each = v * weight[:, None], t * weight, sigma * math.sqrt(2 / 0.85)
    noise = np.triu(rng.normal(size=(d, d)))
    noise = np.where(np.eye(d) > 0, noise, (noise + noise.T) / math.sqrt(2))
    values, vectors = np.linalg.eigh(v.T @ v + each * radius**2 * noise)
    values = np.maximum(values, 1.2 * each * radius**2 * math.sqrt(2 * d))
    products = v.T @ t + each * 2.5 * radius * rng.normal(size=d)
    theta = vectors @ ((vectors.T @ products) / values)
    middle, half = bounds.target_scale

    def predict(X: Floats) -> Floats:
        scaled = theta[0] + ((bounds.scale(X) - mean[:-1]) / spread[:-1]) @ theta[1:]
        return np.asarray(middle + half * np.clip(mean[-1] + spread[-1] * scaled, -1, 1))

    return predict
