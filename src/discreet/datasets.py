"""Tables to try things on, made by a seeded generator: nobody is in them.

    python -m discreet.datasets

writes hospital.csv, 20,000 invented patients, and privacy.toml, what is public about them.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds

_RANGES = {"age": (0, 110), "bmi": (10, 60), "smoker": (0, 1), "visits": (0, 50), "blood_pressure": (70, 220)}
_COSTS = (0, 60_000)
HOSPITAL = Bounds(_RANGES, target=_COSTS)
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


def save(folder: str | Path = ".", n: int = 20_000, seed: int = 2026) -> tuple[Path, Path]:
    """Write `hospital` as hospital.csv, in whole units, and what is public about it as privacy.toml; where they are.

    A file that is there already is an error: neither a table nor its facts are replaced.
    """
    table, facts = Path(folder) / "hospital.csv", Path(folder) / "privacy.toml"
    for path in (table, facts):
        if path.exists():
            raise FileExistsError(f"{path} is there already. Nothing was written.")
    columns, cost = hospital(n, seed)
    rows = np.column_stack([*columns.values(), cost])
    with facts.open("x", encoding="utf-8") as file:
        file.write(_facts(n))
    with table.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*columns, "cost"])
        writer.writerows([f"{value:.0f}" for value in row] for row in rows)
    return table, facts


def _facts(n: int) -> str:
    """A privacy.toml from the public bounds, with a δ of at most 1/(100 n)."""
    delta = min(1e-6, 10.0 ** math.floor(math.log10(0.01 / n)))
    columns = (
        f'[columns."{name}"]\nkind = "category"\nvalues = [0, 1]\n'
        if (low, high) == (0, 1)
        else f'[columns."{name}"]\nkind = "number"\nlow = {low:.1f}\nhigh = {high:.1f}\nwhole = true\n'
        for name, (low, high) in {**_RANGES, "cost": _COSTS}.items()
    )
    return "\n".join(
        [
            "# What is public about hospital.csv, and what may be spent on it.\n",
            f'[data]\npath = "hospital.csv"\nunit = "row"\nn = {n}\n',
            *columns,
            f'[budget]\nepsilon = 3.0\ndelta = {delta:.0e}\nneighbours = "add-remove"\n',
            '[ledger]\npath = "hospital.ledger"\ndata = "hospital"\n',
        ]
    )


__all__ = ["HOSPITAL", "hospital", "save"]


if __name__ == "__main__":
    try:
        for written in save():
            print(f"Written: {written}")
    except OSError as error:
        sys.exit(str(error))
