"""Task: what a private method is given, and nothing else."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.bounds import Bounds
from discreet.budget import Budget, Part, Share, approximate
from discreet.curator.curator import Curator
from discreet.curator.estimated_bounds import NOTE as BOUNDS_ESTIMATED
from discreet.curator.estimated_bounds import with_bounds
from discreet.curator.estimated_classes import FOR_CLASSES, find_classes
from discreet.curator.total_noise import deviation_of
from discreet.errors import NoiseWarning, outside
from discreet.release import Release

Settle = Callable[[Curator, Bounds], Bounds]
Callback = Callable[..., Any]


@dataclass(frozen=True)
class Task:
    """The right to ask, what may be spent, and what is public.

    Attributes
    ----------
    curator : answers `measure`, `choose`, `run` and `sample`.
    budget : what may be spent.
    bounds : public bounds, one pair per column; None where they are to be estimated.
    classes : public labels, in order; None where they are to be found, or where the target is none.
    n : the number of rows, where it is public.
    target : what has to be known of the target: nothing, its bounds, or its classes.
    settle : what the asker does with bounds once they are known: it keeps them, may map the rows, and returns bounds of
        what the method sees.
    features : how many features a method sees; as many as there are columns if None.
    intercept : whether a linear model has an intercept.
    rounds : in how many rounds the rows at hand are learnt from, by a method that learns in rounds.
    shows : makes of a callback one that marks the run as shown; None where nobody asks (`showing`).
    notes : remarks for the receipt, to which a method adds (`note`).
    """

    curator: Curator
    budget: Budget
    bounds: Bounds | None = None
    classes: tuple[Any, ...] | None = None
    n: int | None = None
    target: Literal["none", "number", "class"] = "none"
    settle: Settle | None = None
    features: int | None = None
    intercept: bool = True
    rounds: int = 1
    shows: Callable[[Callback], Callback] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def stated(self) -> bool:
        """Whether bounds and classes are public, so that nothing has to be paid for them."""
        return self.bounds is not None and (self.target != "class" or self.classes is not None)

    @property
    def width(self) -> int:
        """The number of coefficients of a linear model, the intercept among them."""
        return (self.curator.width if self.features is None else self.features) + self.intercept

    def deal(self, *parts: float | Part) -> tuple[Bounds, tuple[Share, ...]]:
        """Bounds, with the classes in them, and one share of the budget for each part of a plan; called once.

        What nobody stated is paid for first: bounds with a fifth of the budget, classes with a tenth. From then on a
        classifier's targets are places in the list of classes.
        """
        search = self.target == "class" and self.classes is None
        if search:
            total = sum(part.weight if isinstance(part, Part) else part for part in parts)
            parts = (approximate(total * FOR_CLASSES / (1 - FOR_CLASSES)), *parts)
        if self.bounds is not None:
            bounds, shares = self.bounds, self.budget.split(*parts)
        else:
            bounds, shares, remarks = with_bounds(self.curator, self.budget, parts, self.target == "number")
            self.note(BOUNDS_ESTIMATED, *remarks)
            for remark in remarks:
                warnings.warn(remark, NoiseWarning, stacklevel=outside())
        classes = self.classes
        if search:
            classes, shares = find_classes(self.curator, shares[0], self.note), shares[1:]
        if self.target == "class":
            assert classes is not None
            bounds = bounds.with_classes(classes)
        return (bounds if self.settle is None else self.settle(self.curator, bounds)), shares

    def noise(self, size: int, share: Share | None = None) -> float:
        """The deviation that a share, or the whole budget, gives each of `size` coordinates of a vector of norm 1."""
        return deviation_of(self.curator.buys(share or self.budget.whole("radial")), size) * self.exchange

    @property
    def exchange(self) -> float:
        """By how much an exchange of two rows moves a sum farther than one row: √2 where they are at a right angle."""
        return math.sqrt(2) if self.budget.neighbours == "replace-one" else 1.0

    def showing(self, callback: Callback | None) -> Callback | None:
        """The callback, which shows something of this run while it is under way; a method calls it by no other way."""
        return callback if callback is None or self.shows is None else self.shows(callback)

    def note(self, *remarks: str) -> None:
        """Add remarks to the receipt."""
        self.notes.extend(remarks)

    def receipt(self, name: str) -> Release:
        """All that was released, as one release; its event is all that was charged."""
        return self.curator.summary(name, self.budget, tuple(self.notes))
