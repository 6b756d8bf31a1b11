"""How many rows of a table were what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
PERSON, MISSING, BAD, SUPPRESSED, NOBODY = range(5)  # what a row is; of nobody where a null stays a null


@dataclass(frozen=True)
class Faults:
    """What is wrong with the rows of a table that is refused.

    Parameters
    ----------
    bad : for each column, how many values do not parse.
    empty : rows without a whole identity, all of whose values parse.
    closed, rows : pseudonyms that do not open, and all that were read.
    """

    bad: Mapping[str, int] = field(default_factory=dict)
    empty: int = 0
    closed: int = 0
    rows: int = 0

    def __add__(self, other: Faults) -> Faults:
        bad = dict(Counter(self.bad) + Counter(other.bad))
        return Faults(bad, self.empty + other.empty, self.closed + other.closed, self.rows + other.rows)


@dataclass(frozen=True)
class Totals:
    """How many rows of a table were what.

    Parameters
    ----------
    rows : rows that are in the result.
    left_out, one_offs : rows that are not, and rows with a pseudonym of their own.
    missing, suppressed : rows without a whole identity, and rows of people who were erased.
    bad : for each column, how many values do not parse.
    """

    rows: int = 0
    left_out: int = 0
    one_offs: int = 0
    missing: int = 0
    suppressed: int = 0
    bad: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, what: npt.NDArray[np.uint8], left: Bools, own: Bools, counts: Numbers, bad: Mapping[str, int]
    ) -> Totals:
        """Of one piece: for each of its distinct rows what it is, whether it is left out, and how often it is there."""
        return cls(
            rows=int(counts[~left].sum()),
            left_out=int(counts[left].sum()),
            one_offs=int(counts[own].sum()),
            missing=int(counts[what == MISSING].sum()),
            suppressed=int(counts[what == SUPPRESSED].sum()),
            bad=bad,
        )

    def details(self) -> dict[str, Any]:
        """What is worth a note in the register."""
        found: dict[str, Any] = {
            "rows left out": self.left_out,
            "one-off pseudonyms": self.one_offs,
            "rows without identity": self.missing,
            "rows of erased people": self.suppressed,
            "values that do not parse": dict(self.bad),
        }
        return {name: count for name, count in found.items() if count}

    def remark(self) -> str | None:
        """What whoever asked for the table should know; None if every row is of somebody."""
        if not self.left_out + self.one_offs:
            return None
        unread = self.left_out + self.one_offs - self.missing - self.suppressed
        causes = {
            "without a whole identity": self.missing,
            "with a value that does not parse": unread,
            "of people who were erased": self.suppressed,
        }
        why = ", ".join(f"{count:,} {what}" for what, count in causes.items() if count)
        return f"{self.left_out:,} rows were left out, {self.one_offs:,} have one-off pseudonyms: {why}."

    def __add__(self, other: Totals) -> Totals:
        names = ("rows", "left_out", "one_offs", "missing", "suppressed")
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Totals(**sums, bad=dict(Counter(self.bad) + Counter(other.bad)))
