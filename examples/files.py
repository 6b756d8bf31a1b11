"""Files larger than memory: the same call, the same answer to the bit.

    python examples/files.py

It takes a second or two. The rows are invented, and written to a folder that is removed at the end.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc
from discreet.datasets import HOSPITAL, hospital
from discreet.models import LinearRegression
from discreet.stats import histogram


def write(folder: Path, months: int = 6) -> pd.DataFrame:
    """One Parquet file for each month; all of their rows."""
    tables = []
    for month in range(months):
        columns, cost = hospital(20_000, seed=month)
        tables.append(pd.DataFrame({**columns, "cost": cost}))
        tables[-1].to_parquet(folder / f"claims-{month + 1:02d}.parquet")
    return pd.concat(tables)


def main() -> None:
    """Fit on the files and on the same rows in memory."""
    with tempfile.TemporaryDirectory() as name:
        rows = write(Path(name))
        claims = dc.scan_parquet(f"{name}/claims-*.parquet", target="cost")
        print(claims)
        model = LinearRegression(epsilon=1.0, bounds=HOSPITAL).fit(claims)
        print(model.summary())

        ages = dc.scan_parquet(f"{name}/claims-*.parquet", columns=["age"])
        answer = histogram(ages, bins=5, bounds=(0, 100), epsilon=0.5)
        print("\nages by twenties:", ", ".join(f"{value:,.0f}" for value in answer.value))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.NotPrivateWarning)  # the same noise for both, to compare them
            seeded = LinearRegression(epsilon=1.0, bounds=HOSPITAL, random_state=7)
            streamed = seeded.fit(claims).coef_
            in_memory = seeded.fit(rows.drop(columns="cost"), rows["cost"]).coef_
        print("same bits from files and from memory, with the same seed:", bool(np.all(streamed == in_memory)))


if __name__ == "__main__":
    main()
