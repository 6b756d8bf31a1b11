"""Inside: the few private answers that are not a sum plus noise, each a small class with a proof of its own.

A minimiser, a draw from a posterior, a median of blocks: they need exact sums before there is any noise, so they run
inside the curator, after the charge, and only what they return leaves (or, where their proof says so, parts of it as
they come). A procedure is admitted by name: the first line of its proof under `mechanisms/proofs/` must list its class,
stamped with the source the proof was written for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from discreet.budget import Budget
from discreet.engines import Rows
from discreet.errors import NotSupported
from discreet.events import Event
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.proofs import HERE, proved


class Inside(ABC):
    """A procedure on exact sums whose answer is private by a proof of its own.

    Subclasses are frozen dataclasses of public numbers and of queries that `Curator.expect` has seen.

    Attributes
    ----------
    name : what its release is called.
    proof : the file under `mechanisms/proofs/`, without its ending.
    pays : the events it knows how to run under.
    replayable : whether it adds noise to, or chooses by, what follows from the rows and its earlier answers alone. The
        replay audit (`discreet.checks`) then sees its privacy loss; the others are attacked as a whole.

    by_units : whether it sees all rows of a unit, and proves what one unit may change. Others see one row of each unit
        where rows of a unit share what one row may add.

    Notes
    -----
    That of the event it is run under; `run` returns a value and its standard deviation (None where that would tell
    something about rows). Whatever the rows: the same shapes, finite numbers, no exception of its own.
    """

    name: str
    proof: ClassVar[str]
    pays: ClassVar[tuple[type[Event], ...]]
    replayable: ClassVar[bool] = True
    by_units: ClassVar[bool] = False

    def check(self, event: Event) -> None:
        """Raise, before anything is charged, if there is no proof, or none for such an event."""
        cls = type(self)
        package, _, path = f"{cls.__module__}.{cls.__qualname__}".partition(".")
        if package != "discreet" or path not in proved(HERE / f"{self.proof}.md"):
            raise NotSupported(f"{cls.__name__} has no proof: only proved procedures see exact sums.")
        if not isinstance(event, self.pays):
            wanted = " or ".join(kind.__name__ for kind in self.pays)
            raise ValueError(f"{cls.__name__} runs under {wanted}. Got {type(event).__name__}.")

    @abstractmethod
    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The answer, private as the event says, and its standard deviation."""
