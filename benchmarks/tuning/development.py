"""Data sets to choose constants of classifiers by: none of them is in benchmarks/classification.py.

Published sets, whole or a few rows of them, and made ones. Each has rows for training (how many is part of the set's
name) and all others, at most 4,000, for testing. Features are within the minima and maxima of the published set,
categories are indicators; columns that tell the target, identifiers and categories of more than 20 kinds are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine

from discreet import Bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 4_000  # rows to test with

# file, target, which class counts as 1 (None: as they are; a number in (0, 1): above that quantile), training rows
PUBLISHED: tuple[tuple[str, str, object, tuple[int, ...]], ...] = (
    ("credit_default", "default_payment", None, (500, 10_000)),
    ("german_credit", "class", None, (700,)),
    ("compas_two_years", "two_year_recid", None, (300, 4_000)),
    ("spambase", "spam", None, (500, 3_000)),
    ("mushrooms", "class", None, (3_000,)),
    ("pima_diabetes", "outcome", None, (500,)),
    ("heart_cleveland", "num", 0, (200,)),
    ("diabetes_130_hospitals", "readmitted", "<30", (3_000,)),
    ("diabetes_130_hospitals", "readmitted", "NO", (10_000,)),
    ("lending_club", "loan_status", "Current", (2_000,)),
    ("teds_a_2020_sample", "sub1", 2, (5_000,)),
    ("covertype_sample", "cover_type", 2, (1_000, 20_000)),
    ("covertype_sample", "cover_type", None, (5_000,)),
    ("nursery", "class", None, (8_000,)),
    ("car_evaluation", "class", None, (1_200,)),
    ("kddcup99_10pct", "label", "normal.", (2_000,)),
    ("help_substance_use", "link", None, (350,)),
    ("raw_fertility", "diagnosis", None, (70,)),
    ("height_weight", "gender", None, (1_000,)),
    ("medical_insurance", "charges", 0.8, (1_000,)),
    ("cps_wages_2004", "earnings", 0.5, (10_000,)),
    ("uci_housing", "y", 0.5, (380,)),
    ("uci_concrete", "y", 0.8, (750,)),
    ("uci_wine", "y", 0.5, (1_200,)),
    ("uci_elevators", "y", 0.8, (200, 6_000)),
    ("uci_skillcraft", "y", 0.5, (2_500,)),
    ("uci_pol", "y", 0.5, (8_000,)),
    ("uci_forest", "y", 0.8, (380,)),
    ("uci_autos", "y", 0.5, (120,)),
    ("uci_protein", "y", 0.5, (20_000,)),
)
# those that a choice made by the others is checked by: what gains there and loses here was a matter of those sets
CONTROL: tuple[tuple[str, str, object, tuple[int, ...]], ...] = (
    ("bank_marketing_additional", "y", None, (500,)),
    ("uci_airfoil", "y", 0.5, (700,)),
    ("uci_bike", "y", 0.8, (600,)),
    ("uci_breastcancer", "y", 0.7, (150,)),
    ("uci_keggdirected", "y", 0.5, (1_000,)),
    ("uci_kin40k", "y", 0.5, (1_000,)),
    ("uci_machine", "y", 0.5, (150,)),
    ("raw_parkinsons", "total_updrs", 0.5, (1_000,)),
    ("uci_pendulum", "y", 0.8, (400,)),
    ("uci_pumadyn32nm", "y", 0.5, (1_000,)),
    ("uci_sml", "y", 0.5, (600,)),
    ("uci_solar", "y", 0.8, (700,)),
    ("uci_yacht", "y", 0.5, (200,)),
    ("pums_1000", "income", 0.6, (700,)),
    ("mimic3_demo_admissions", "hospital_expire_flag", None, (100,)),
    ("medpar", "los", 0.7, (1_000,)),
    ("adult_arx", "salary_class", None, (500, 2_000)),
    ("california_housing", "saleprice", 0.5, (400, 1_500)),
    ("song_small", "year", 0.5, (1_500,)),
    ("cluster_s1", "label", None, (2_000,)),
    ("raw_slice_head", "reference", 0.5, (500,)),
)
TELLING = {  # columns that tell the target, or identify rows
    "compas_two_years": ("id", "is_recid", "is_violent_recid", "start", "end", "event", "r_charge_degree"),
    "diabetes_130_hospitals": ("encounter_id", "patient_nbr"),
    "lending_club": ("balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees"),
    "teds_a_2020_sample": ("target_id",),
    "help_substance_use": ("id", "linkstatus", "dayslink"),
    "bank_marketing_additional": ("duration",),
    "mimic3_demo_admissions": ("row_id", "subject_id", "hadm_id", "deathtime", "discharge_location"),
}
CODES = {  # numbers that stand for categories
    "teds_a_2020_sample": ("educ", "employ", "livarag", "race", "ethnic", "priminc", "hlthins", "division", "region"),
    "diabetes_130_hospitals": ("admission_type_id", "admission_source_id"),
    "heart_cleveland": ("cp", "restecg", "slope"),
}
# rows, columns, share of the likelier class, how far apart the classes are (in deviations of a row's score)
MADE = (
    (80, 3, 0.8, 0.5),
    (80, 5, 0.6, 2.0),
    (200, 5, 0.8, 0.0),
    (200, 5, 0.8, 1.0),
    (200, 20, 0.6, 2.0),
    (400, 30, 0.6, 3.0),
    (500, 10, 0.8, 1.0),
    (500, 50, 0.5, 3.0),
    (1_000, 10, 0.8, 0.5),
    (1_000, 20, 0.6, 1.0),
    (2_000, 50, 0.8, 1.5),
    (5_000, 20, 0.6, 0.5),
    (5_000, 50, 0.9, 2.0),
)
# rows, columns, reach of the features within bounds of ±1, share of the likelier class: features that tell nothing
SILENT = (
    (800, 10, 1.0, 0.8),
    (800, 10, 0.5, 0.8),
    (800, 10, 0.2, 0.8),
    (800, 10, 1.0, 0.65),
    (400, 10, 1.0, 0.8),
    (400, 30, 1.0, 0.8),
    (800, 30, 1.0, 0.8),
    (1_500, 30, 1.0, 0.8),
    (1_500, 30, 1.0, 0.7),
    (3_000, 50, 1.0, 0.9),
)
SILENT_TOO = (
    (400, 10, 1.0, 0.7),
    (600, 20, 1.0, 0.75),
    (1_000, 5, 0.5, 0.6),
    (2_000, 30, 1.0, 0.65),
    (500, 8, 1.0, 0.9),
    (300, 4, 1.0, 0.8),
    (1_200, 60, 0.3, 0.75),
)


@dataclass(frozen=True)
class Development:
    """A data set: its name, rows, classes from 0 on, public bounds, and how many rows are for training."""

    name: str
    X: Floats
    y: Ints
    bounds: Bounds
    train: int

    def split(self, seed: int) -> tuple[Ints, Ints]:
        """Rows to train with, and to test with: drawn anew for each seed."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return order[: self.train], order[self.train : self.train + MOST]


def collection(folder: Path) -> Iterator[Development]:
    """All sets to choose by; those whose file is missing are left out."""
    yield from _published(folder, PUBLISHED)
    for i, (rows, width, share, apart) in enumerate(MADE):
        yield made(i, rows, width, share, apart)
    for i, shape in enumerate(SILENT):
        yield silent(i, *shape)


def control(folder: Path) -> Iterator[Development]:
    """All sets to check a choice by."""
    yield from _published(folder, CONTROL)
    for load, train in ((load_wine, 130), (load_iris, 110)):
        table = load()
        bounds = Bounds(table.data.min(axis=0), table.data.max(axis=0), classes=range(3))
        yield Development(f"{load.__name__[5:]} {train}", table.data, table.target, bounds, train)
    for i, shape in enumerate(SILENT_TOO, 77):
        yield silent(i, *shape)


def _published(folder: Path, chosen: Iterable[tuple[str, str, object, tuple[int, ...]]]) -> Iterator[Development]:
    for file, target, positive, sizes in chosen:
        if (folder / f"{file}.parquet").exists():
            table = pd.read_parquet(folder / f"{file}.parquet").drop(columns=list(TELLING.get(file, ())))
            for train in sizes:
                yield published(table, file, target, positive, train)


def published(table: pd.DataFrame, file: str, target: str, positive: object, train: int) -> Development:
    """A published set; at most as many of its rows as are needed."""
    table = table.loc[:, table.isna().sum() < len(table) / 10].dropna()
    table = table.sample(min(len(table), 2 * train + MOST), random_state=0)
    values = table.pop(target)
    if positive is None:
        y = pd.factorize(values, sort=True)[0]
    elif isinstance(positive, float):
        y = (values > values.quantile(positive)).to_numpy(np.int64)
    else:
        y = (values == positive).to_numpy(np.int64)
    columns, low, high = [], [], []
    for name in table:
        column = table[name]
        if column.dtype.kind in "iuf" and column.nunique() > 2 and name not in CODES.get(file, ()):
            columns.append(column.to_numpy(float)[:, None])
            ends = float(column.min()), float(column.max())
        elif 1 < column.nunique() <= 20:
            columns.append(pd.get_dummies(column).to_numpy(float))
            ends = 0.0, 1.0
        else:
            continue
        low += [ends[0]] * columns[-1].shape[1]
        high += [ends[1]] * columns[-1].shape[1]
    bounds = Bounds(low, high, classes=range(int(y.max()) + 1))
    return Development(f"{file} {positive} {train}", np.hstack(columns), np.asarray(y, np.int64), bounds, train)


def made(seed: int, rows: int, width: int, share: float, apart: float) -> Development:
    """Correlated normal features, of which a third tell the class."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(width, width)) / np.sqrt(width) + np.eye(width)
    X = rng.normal(size=(rows + MOST, width)) @ mix
    slope = np.where(np.arange(width) % 3 == 0, rng.normal(size=width), 0.0)
    score = X @ slope / max(float(np.std(X @ slope)), 1e-9) * apart + rng.logistic(size=len(X))
    y = (score > np.quantile(score, share)).astype(np.int64)
    bounds = Bounds(-8, 8, classes=(0, 1)).matched(width)
    return Development(f"made {rows} x {width} {share} {apart}", X, y, bounds, rows)


def silent(seed: int, rows: int, width: int, reach: float, *shares: float) -> Development:
    """Uniform features that tell nothing of the class; the shares of all classes but the last."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-reach, reach, (rows + MOST, width))
    y = np.searchsorted(np.cumsum(shares), rng.random(rows + MOST)).astype(np.int64)
    bounds = Bounds(-1, 1, classes=range(len(shares) + 1)).matched(width)
    return Development(f"silent {rows} x {width} {reach} {' '.join(map(str, shares))}", X, y, bounds, rows)


def one_hot(seed: int, rows: int, columns: int, kinds: int, share: float, apart: float) -> Development:
    """Categories as indicators, common kinds and rare ones."""
    rng = np.random.default_rng(seed)
    often = 1 / np.arange(1, kinds + 1) ** 1.3
    drawn = rng.choice(kinds, size=(rows + MOST, columns), p=often / often.sum())
    score = rng.normal(size=(columns, kinds))[np.arange(columns), drawn].sum(axis=1)
    score = (score - score.mean()) / score.std() * apart + rng.logistic(size=len(drawn))
    X = np.concatenate([np.eye(kinds)[drawn[:, column]] for column in range(columns)], axis=1)
    bounds = Bounds(0, 1, classes=(0, 1)).matched(X.shape[1])
    y = (score > np.quantile(score, share)).astype(np.int64)
    return Development(f"one-hot {rows} x {X.shape[1]} {share} {apart}", X, y, bounds, rows)


def large(folder: Path) -> Iterator[Development]:
    """The sets of `collection` and `control` with 1,000 rows or more to train with; and some that are larger, rare."""
    for table in (*collection(folder), *control(folder)):
        if table.train >= 1_000:
            yield table
    yield made(50, 40_000, 20, 0.94, 2.0)
    for seed, shape in enumerate(((40_000, 8, 15, 0.8, 3.5), (10_000, 8, 15, 0.8, 3.5), (5_600, 6, 8, 0.73, 1.5)), 60):
        yield one_hot(seed, *shape)
