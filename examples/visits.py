"""People, not rows: a patient with forty visits is protected with all forty of them.

    python examples/visits.py

It takes a second. The rows are invented.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import discreet as dc
from discreet.stats import count, mean


def visits(people: int = 8_000, seed: int = 0) -> pd.DataFrame:
    """A row for each visit; the ill come more often, and stay longer."""
    rng = np.random.default_rng(seed)
    ill = rng.gamma(2.0, 0.5, people)
    patient = np.repeat(np.arange(people), rng.poisson(2 * ill) + 1)
    days = np.clip(1 + 2 * ill[patient] + rng.gamma(1.0, 1.0, len(patient)), 1, 14)
    return pd.DataFrame({"patient": patient, "days": days})


def main() -> None:
    """The same question, with a promise to rows and with one to people."""
    table = visits()
    most = table.patient.value_counts().max()
    print(f"{len(table):,} visits of {table.patient.nunique():,} patients, up to {most} of one.\n")

    by_row = mean(table.days, (1, 14), epsilon=0.5)
    print(f"mean stay of a visit    {by_row.value:.2f} days   {by_row.budget}")
    print(f"  to that patient this is worth {dc.Budget(0.5).group(int(most))}")

    ledger = dc.Ledger(dc.Budget(1.0, unit="patient"), data="visits")
    person = {"unit": "patient", "ledger": ledger}
    people = mean(table[["days", "patient"]], (1, 14), epsilon=0.5, **person)
    print(f"mean stay of a patient  {people.value:.2f} days   {people.budget}")
    number = count(table[["days", "patient"]], epsilon=0.5, **person)
    print(f"patients                {number.value:,.0f}        {number.budget}\n")
    print(ledger)


if __name__ == "__main__":
    main()
