"""Do the columns that remain single people out? Counted by people, not by rows."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity import risk
from discreet.pseudonyms.errors import TooIdentifying
from discreet.pseudonyms.naming import Named

NOTHING = "Nothing was shared. Hint: leave columns out, or make them coarser with discreet.anonymity."
PACK = 1 << 20  # rows kept before repeated ones are thrown away


class Crowd:
    """People and what the quasi-identifiers say of them, gathered piece by piece.

    All rows of a person carry the same pseudonym, so what others may know of the person is the *set* of their rows: two
    visits in two towns can single somebody out where each town alone does not. Two people look alike if their sets of
    quasi-identifiers are the same; a missing value is a value like others. How many rows a person has is not looked at.

    Where rows are of several people, say a patient and a doctor, what others may know of somebody is what all rows say
    in which they are the one, and in which they are the other. With whom they are in a row is not looked at.

    A row with a one-off pseudonym may be of anybody, also of somebody who has other rows. So it makes no crowd larger;
    but its own values must be those of k people.

    Rows are kept as 64-bit hashes with a random seed: two different sets pass for one with probability n²/2^65.

    Parameters
    ----------
    quasi_identifiers : the columns that others may know.
    """

    def __init__(self, quasi_identifiers: Sequence[str]) -> None:
        self._names = list(quasi_identifiers)
        self._seed = secrets.randbits(64)
        self._rows: list[pl.DataFrame] = []
        self._waiting = 0
        self._loose: set[int] = set()  # what one-off rows say

    def add(
        self, rest: pl.DataFrame, words: pl.Series, own: npt.NDArray[np.bool_] | None = None, role: int = 0
    ) -> None:
        """Rows without identifiers, their pseudonyms, which of these are one-off, and which person of a row it is."""
        seed = (self._seed + role) % 2**64  # the same values say something else of a doctor than of a patient
        what = rest.select(self._names).hash_rows(seed=seed) if self._names else pl.repeat(role, len(words), eager=True)
        found = pl.DataFrame({"who": words.hash(seed=self._seed), "what": what.cast(pl.UInt64)})
        if own is not None:
            self._loose.update(found["what"].filter(pl.Series(own)).unique().to_list())
            found = found.filter(pl.Series(~own))
        self._rows.append(found.unique())
        self._waiting += self._rows[-1].height
        if self._waiting > PACK and self._waiting > self._rows[0].height:
            self._pack()

    def watch(self, rest: pl.DataFrame, named: Sequence[Named]) -> None:
        """Rows without identifiers as they were named; those that are kept count, once for each person of them."""
        for role, one in enumerate(named):
            if one.kept is None:
                self.add(rest, one.words, one.own, role)
                continue
            kept = pl.Series(one.kept)
            own = None if one.own is None else one.own[one.kept]
            self.add(rest.filter(kept), one.words.filter(kept), own, role)

    def _pack(self) -> pl.DataFrame:
        whole = (
            pl.concat(self._rows).unique() if self._rows else pl.DataFrame(schema={"who": pl.UInt64, "what": pl.UInt64})
        )
        self._rows, self._waiting = [whole], 0
        return whole

    def below(self, k: int) -> tuple[int, int]:
        """How many people look like fewer than k, themselves included; and how many there are."""
        people = self._pack().sort("who", "what").group_by("who").agg(pl.col("what").implode().hash(self._seed).first())
        if not people.height:
            return 0, 0
        found = risk(people, ["what"])
        return round(found.below(k) * people.height), people.height

    def loose(self, k: int) -> int:
        """How many different one-off rows hold what fewer than k people hold, and nothing else."""
        sets = self._pack().group_by("who").agg(pl.col("what").first(), pl.len().alias("rows"))
        sizes = sets.filter(pl.col("rows") == 1)["what"].value_counts()
        enough = set(sizes.filter(pl.col("count") >= k)["what"].to_list())
        return len(self._loose - enough)

    def check(self, k: int) -> None:
        """Refuse a table in which somebody looks like fewer than k people."""
        refuse(k, self._names, *self.below(k), self.loose(k))


def refuse(k: int, names: Sequence[str], alone: int, people: int, loose: int) -> None:
    """Refuse a table by its numbers: people who look like fewer than k, all people, one-off rows that are too rare."""
    if alone:
        raise TooIdentifying(
            f"{alone:,} of {people:,} people look like fewer than {k} by {', '.join(map(repr, names))}. {NOTHING}"
        )
    if loose:
        raise TooIdentifying(f"{loose:,} rows with one-off pseudonyms hold what fewer than {k} people hold. {NOTHING}")


def chosen(quasi_identifiers: Sequence[str] | None, remaining: Sequence[str]) -> list[str]:
    """The quasi-identifiers: all columns that remain, unless some are named."""
    if quasi_identifiers is None:
        return list(remaining)
    chosen = [str(name) for name in quasi_identifiers]
    unknown = [name for name in chosen if name not in remaining]
    if unknown:
        raise ValueError(
            f"The `quasi_identifiers` must be columns that remain. Got {unknown}; {len(remaining)} columns remain."
        )
    return chosen
