"""How wrong models are on a row: the image that a search adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Rows
from discreet.models.selection import row_predictions as alone
from discreet.query import Batch, BoundedSum, Exact

Floats = NDArray[np.float64]

CLIP = 0.25  # errors beyond this share of the target's range count as that: good models differ far below it


@dataclass(frozen=True, eq=False)
class Losses:
    """One number within [0, 1] per row and model.

    | task | a row's loss |
    | --- | --- |
    | classes are given | 1 if the model errs, 0 if it is right |
    | a range of the target is given | the squared error, in quarters of the range, at most 1 |
    | a missing feature or target, an unknown class | nothing at all: NaN for every model |

    A model that has no answer for a row has lost it: 1.
    """

    models: tuple[Any, ...]
    classes: tuple[Any, ...] | None = None
    target: tuple[float, float] | None = None

    def __call__(self, batch: Batch) -> Floats:
        """One column per model."""
        assert batch.y is not None
        columns = [self._of(model, batch) for model in self.models]
        bad = ~np.isfinite(batch.X).all(axis=1) | ~np.isfinite(batch.y)
        return np.where(bad[:, None], np.nan, np.column_stack(columns))

    def _of(self, model: Any, batch: Batch) -> Floats:
        if self.classes is not None:
            return np.asarray(alone.codes(model, batch.X, self.classes) != batch.y, np.float64)
        assert self.target is not None and batch.y is not None
        low, high = self.target
        with np.errstate(all="ignore"):
            error = np.clip(alone.numbers(model, batch.X), low, high) - np.clip(batch.y, low, high)
            return np.asarray(np.minimum(np.nan_to_num(np.square(error / (CLIP * (high - low))), nan=1.0), 1.0))

    def add_up(self, rows: Rows) -> tuple[Exact, Fraction]:
        """The exact total of each model, and how far one row can move any of them, in the same whole numbers."""
        rows = rows if self.classes is None else rows.encode_targets(self.classes)
        width = len(self.models)
        query = BoundedSum(self, norm=1.0, box=True, name="losses", fixed=(width, 1))
        with alone.silence():
            total = rows.sum(query)
        return total.reshape(width), Fraction(query.choose_lattices((width, 1))[0].limit)


def scored(estimator: Any) -> dict[str, Any]:
    """What losses are counted in, from the public facts of an estimator; an error if there are none."""
    bounds = estimator.bounds
    if estimator.has_labels:
        classes: Sequence[Any] | None = estimator.classes if estimator.classes is not None else None
        classes = classes if classes is not None else bounds.classes if bounds is not None else None
        if classes is None:
            raise ValueError("A search among classifiers needs `classes`, the public list of labels, to count errors.")
        return {"classes": tuple(classes)}
    if bounds is None or bounds.target is None:
        raise ValueError(
            "A search among regressors needs the public range of the target, to bound squared errors. "
            "Hint: bounds=Bounds(..., target=(low, high))."
        )
    return {"target": bounds.target}
