"""Options: what a stochastic gradient descent was asked to do, checked; all of it public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from discreet.arguments import check_whole, is_number
from discreet.models.sgd.pure_passes import Batches
from discreet.models.sgd.schedule import Rate, Schedule

Noise = Literal["gaussian", "pure"]

RATE = 0.1  # of the rows in a lot
EPOCHS = {"gaussian": 10, "pure": 1}
FEWEST, MOST = 5, 50  # batches of a pass, where their number follows a rule
START = 0.2  # of an adaptive clip


@dataclass(frozen=True)
class DescentOptions:
    """The options of an estimator, checked; an estimator's words for them are in its own docstring."""

    noise: Noise
    lot: int | None
    rate: float | None
    epochs: float
    schedule: Schedule
    momentum: float
    norm: float
    adaptive: bool
    average: bool
    batch: Batches

    @classmethod
    def from_model(cls, model: Any) -> DescentOptions:
        """Those of this estimator; raises what is wrong with them."""
        name = type(model).__name__
        _refuse_unknown(name, "noise", model.noise, get_args(Noise))
        _refuse_unknown(name, "learning_rate", model.learning_rate, get_args(Rate))
        _refuse_unknown(name, "batch", model.batch, get_args(Batches))
        adaptive = model.clip == "adaptive"
        norm = START if adaptive else _check_number(name, "clip", model.clip, "> 0")
        epochs = EPOCHS[model.noise] if model.epochs is None else model.epochs
        default = model._steps[model.noise]
        eta0 = default[0] if model.eta0 is None else model.eta0
        momentum = default[1] if model.momentum is None else model.momentum
        options = cls(
            model.noise,
            None if model.lot is None else check_whole(name, "lot", model.lot),
            None if model.rate is None else _check_number(name, "rate", model.rate, "> 0", 1.0),
            _check_number(name, "epochs", epochs, "> 0"),
            Schedule(model.learning_rate, _check_number(name, "eta0", eta0, "> 0"), _check_alpha(name, model)),
            _check_number(name, "momentum", momentum, ">= 0", 1 - 1e-9),
            norm,
            adaptive,
            bool(model.average),
            model.batch,
        )
        options._refuse_conflicts(name)
        return options

    def _refuse_conflicts(self, name: str) -> None:
        if self.lot is not None and self.rate is not None:
            raise ValueError(
                f"{name} takes a `lot` or a `rate`, not both: the rate is the lot over the number of rows."
            )
        if self.noise == "gaussian":
            if self.batch != "constant":
                raise ValueError(f"`batch` is an option of noise='pure'. Got {self.batch!r} with 'gaussian'.")
            return
        if self.adaptive:
            raise ValueError("clip='adaptive' goes with noise='gaussian'. Hint: a number > 0.")
        if self.epochs != int(self.epochs):
            raise ValueError(f"With noise='pure' the `epochs` of {name} are whole passes. Got {self.epochs!r}.")

    def lot_share(self, n: int | None) -> float:
        """How much of the rows a step sees, given their number if it is public."""
        if self.rate is not None:
            return self.rate
        if self.lot is None:
            return RATE
        if n is None:
            raise ValueError(
                "A `lot` of so many rows needs their number, `n`, as a public fact. Hint: `rate`, the share of the "
                "rows in a lot, needs none."
            )
        return min(1.0, self.lot / max(1, n))

    def count_batches(self, rows: float, n: int | None, epsilon: float, coefficients: int) -> int:
        """How many batches a pass has: 1/rate, or by a rule of about how many rows there are.

        More batches are more steps, each with more noise; the rule was found on two data sets.
        """
        if self.rate is not None or self.lot is not None:
            return max(1, round(1 / self.lot_share(n)))
        return int(min(max(2 * math.sqrt(max(rows, 1.0) * epsilon / coefficients), FEWEST), MOST))


def _refuse_unknown(name: str, option: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"The `{option}` of {name} is one of {', '.join(map(repr, known))}. Got {value!r}.")


def _check_number(name: str, option: str, value: Any, rule: str, most: float = math.inf) -> float:
    if not is_number(value):
        raise TypeError(f"The `{option}` of {name} must be a number. Got {value!r}.")
    number = float(value)
    fits = number > 0 if rule == "> 0" else number >= 0
    if not (fits and math.isfinite(number) and number <= most):
        limit = "" if math.isinf(most) else f" and at most {most:g}"
        raise ValueError(f"The `{option}` of {name} must be {rule}{limit}. Got {value!r}.")
    return number


def _check_alpha(name: str, model: Any) -> float:
    return _check_number(name, "alpha", model.alpha, "> 0" if model.learning_rate == "inverse" else ">= 0")
