"""Classes that nobody stated: labels that many rows hold, found privately with a paid share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.budget import Budget, Share
from discreet.curator.curator import Curator
from discreet.curator.procedures import Inside
from discreet.engines import Rows
from discreet.events import Approximate, Event
from discreet.labels import ordered
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.threshold import select_keys

FOR_CLASSES = 0.1  # of the budget, where classes are not given
NOTE = (
    f"classes were found privately, with {FOR_CLASSES:.0%} of the budget; a class of few rows stays unseen. Hint: "
    "`classes=` is free"
)


@dataclass(frozen=True)
class FoundLabels(Inside):
    """The labels that many rows hold: noisy counts above a threshold."""

    name: str
    proof = "threshold"
    pays = (Approximate,)
    replayable = False  # how many labels are tried is not public

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The labels found; how many there are of each is not told."""
        assert isinstance(event, Approximate)
        epsilon, delta = event.epsilon, event.delta
        if budget.neighbours == "replace-one":  # a removal and an addition: (2ε, (1 + e^ε)δ)
            epsilon = min(epsilon / 2, 100.0)
            delta *= math.exp(-epsilon) / 2 * (1 - 1e-12)
        return ordered(select_keys(rows.count_labels(), epsilon, delta, rng)), None


def find_classes(curator: Curator, share: Share, note: Callable[[str], None]) -> tuple[Any, ...]:
    """The labels found, in order; raises where there are none."""
    found: tuple[Any, ...] = curator.run(FoundLabels("classes"), share).value
    note(NOTE)
    if not found:
        raise ValueError(
            "No class has rows enough to be found privately; the attempt has been charged. Hint: give `classes=`, the "
            "public list of them, which is free."
        )
    return found
