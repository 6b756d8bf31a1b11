"""Tables to try things on, made by a seeded generator: nobody is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds

HOSPITAL = Bounds(
    {"age": (0, 110), "bmi": (10, 60), "smoker": (0, 1), "visits": (0, 50), "blood_pressure": (70, 220)},
    target=(0, 60_000),
)
"""Public facts about the columns of `hospital`: from what they mean, not from the table."""


def hospital(n: int = 20_000, seed: int = 2026) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Invented patients: a dictionary of columns, and the yearly cost of each.

    >>> columns, cost = hospital(5)
    >>> list(columns), cost.shape
    (['age', 'bmi', 'smoker', 'visits', 'blood_pressure'], (5,))
    """
    rng = np.random.default_rng(seed)
    age = rng.gamma(9, 5.5, n).clip(0, 105)
    bmi = rng.normal(26.5, 4.5, n).clip(14, 55)
    smoker = (rng.random(n) < 0.21).astype(float)
    visits = rng.poisson(1 + age / 18 + 2 * smoker).astype(float)
    pressure = rng.normal(112 + 0.35 * age + 0.4 * (bmi - 26), 12, n).clip(80, 210)
    cost = 250 * age + 180 * (bmi - 20) + 9_000 * smoker + 700 * visits + 25 * (pressure - 120)
    cost = (cost + rng.gamma(1.5, 1_500, n)).clip(0)
    columns = {"age": age, "bmi": bmi, "smoker": smoker, "visits": visits, "blood_pressure": pressure}
    return columns, cost


__all__ = ["HOSPITAL", "hospital"]
