"""Three hospitals that may not pool rows pool private moments instead, and a few public rows join in.

    python examples/sites.py

It takes a second. The rows are invented.
"""

from __future__ import annotations

import numpy as np

from discreet.datasets import HOSPITAL, hospital
from discreet.models import LinearRegression, Statistics


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Invented patients as an array, and their costs."""
    columns, cost = hospital(n, seed)
    return np.column_stack(list(columns.values())), cost


def main() -> None:
    """Release at each site, add up, solve; what leaves a site is one private document."""
    unseen = rows(5_000, seed=99)
    letters = []
    for site in range(3):
        released = Statistics.release(*rows(1_000, seed=site), epsilon=0.3, delta=1e-6, bounds=HOSPITAL)
        alone = LinearRegression.from_statistics(released).score(*unseen)
        print(f"site {site + 1} alone, ε = 0.3:  R² {alone:.3f}")
        letters.append(released.to_json())

    together = sum((Statistics.from_json(text) for text in letters[1:]), Statistics.from_json(letters[0]))
    print(f"all three together:    R² {LinearRegression.from_statistics(together).score(*unseen):.3f}")
    together += Statistics.public(*rows(50, seed=50), bounds=HOSPITAL)
    model = LinearRegression.from_statistics(together)
    print(f"and 50 public rows:    R² {model.score(*unseen):.3f}    {together}")
    print(f"who is at all three sites has {model.release_.budget}, who is at one has ε = 0.3")


if __name__ == "__main__":
    main()
