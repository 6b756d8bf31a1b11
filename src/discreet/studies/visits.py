"""Visits of patients, several of some: the data of the study of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.studies.common import Floats, MissingData, make_seed, read_table

MOST = {
    "num_lab_procedures": 100.0,
    "num_procedures": 10.0,
    "num_medications": 60.0,
    "number_outpatient": 20.0,
    "number_emergency": 10.0,
    "number_inpatient": 10.0,
    "number_diagnoses": 10.0,
}
DAYS = (1.0, 14.0)


@dataclass(frozen=True)
class Visits:
    """Features, days in hospital, whether readmitted, and whose visit it was."""

    X: Floats
    days: Floats
    back: Floats
    patient: NDArray[np.int64]
    made_up: bool = False

    def take(self, some: Any) -> Visits:
        """Some of the visits."""
        return Visits(self.X[some], self.days[some], self.back[some], self.patient[some])

    @property
    def visits(self) -> NDArray[np.int64]:
        """How many visits the patient of each row has."""
        _, place, counts = np.unique(self.patient, return_inverse=True, return_counts=True)
        return np.asarray(counts[place])


def load_visits(quick: bool, data: str | None) -> Visits:
    """The study's visits; in a quick run without the file, invented ones."""
    try:
        found = read_table("diabetes_130_hospitals", data)
    except MissingData:
        if quick:
            return invent_visits()
        raise
    X = found.select(list(MOST)).to_numpy().astype(np.float64)
    back = (found["readmitted"].to_numpy() != "NO").astype(np.float64)
    return Visits(X, found["time_in_hospital"].to_numpy().astype(np.float64), back, found["patient_nbr"].to_numpy())


def invent_visits(people: int = 6000) -> Visits:
    """Patients of whom the ill come more often, stay longer and come back."""
    rng = np.random.default_rng(make_seed(12))
    ill = rng.gamma(2.0, 0.5, people)
    patient = np.repeat(np.arange(people), np.minimum(rng.geometric(1 / (1 + 0.4 * ill)), 40))
    ill = ill[patient]
    X = rng.poisson(np.outer(0.5 + ill, [20, 1, 8, 0.4, 0.2, 0.6, 4])).astype(np.float64)
    days = np.clip(np.rint(1 + 0.25 * X[:, 2] + 0.5 * X[:, 1] + rng.gamma(1.0, 1.0, len(ill))), *DAYS)
    back = (rng.random(len(ill)) < 1 / (1 + np.exp(1.5 - ill - 0.5 * X[:, 5]))).astype(np.float64)
    return Visits(X, days, back, patient, made_up=True)
