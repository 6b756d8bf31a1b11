"""Who stands alone, or nearly so, by columns that are published as they are.

The criteria speak of the quasi-identifiers. A kept column is published beside them, unchanged and unlisted: a number of
a row, a time or an exact measurement in it tells rows apart that the quasi-identifiers do not, and whoever knows it for
a person has found the row. A column that parts a group of five in twos breaks the promise of k = 5 as well, though
nobody stands alone.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.subsets import size_groups
from discreet.anonymity.words import percent
from discreet.errors import DiscreetWarning, outside

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class UniqueWarning(DiscreetWarning):
    """Kept columns put people into smaller groups than were asked for, or single them out in the published table."""


@dataclass(frozen=True)
class Alone:
    """Which shares of the published rows (of the people, if they are known) few others look like, or nobody.

    Parameters
    ----------
    kept : stand alone to somebody who knows the published quasi-identifiers and the kept columns.
    published : stand alone to somebody who knows every published value, the sensitive ones too.
    below_k : are in groups of fewer than `k` to somebody who knows the quasi-identifiers and the kept columns.
    added_below_k : of these, those who are not by the quasi-identifiers by themselves.
    added_published : of `published`, those who would not stand alone if the kept columns were left out.
    k : the size of groups that was asked for, at least 2.
    """

    kept: float = 0.0
    published: float = 0.0
    below_k: float = 0.0
    added_below_k: float = 0.0
    added_published: float = 0.0
    k: int = 2

    @property
    def by_keep(self) -> bool:
        """Whether it is the kept columns by which somebody is in a group too small, or stands alone."""
        return self.added_below_k > 0 or self.added_published > 0


def count_alone(
    table: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    keep: Sequence[str],
    people: Ints | None = None,
    *,
    k: int = 2,
) -> Alone:
    """Count, in a table to be published, who is alone or among fewer than k, and how far the kept columns cause it."""
    k = max(k, 2)
    known = _sizes(table, [*quasi_identifiers, *keep], people)
    every = _sizes(table, table.columns, people)
    listed, others = known, every  # the same without the kept columns
    if keep:
        listed = _sizes(table, quasi_identifiers, people)
        others = _sizes(table, [name for name in table.columns if name not in keep], people)
    return Alone(
        kept=_share(known < 2),
        published=_share(every < 2),
        below_k=_share(known < k),
        added_below_k=_share((known < k) & (listed >= k)),
        added_published=_share((every < 2) & (others >= 2)),
        k=k,
    )


def _sizes(table: pl.DataFrame, names: Sequence[str], people: Ints | None) -> Ints:
    """For each row, or person, the size of the group that looks alike in the named columns.

    Unequal rows are taken for equal with probability n²/2^65.
    """
    keys = table.select(names).hash_rows(seed=secrets.randbits(64)).to_numpy().view(np.int64)
    return size_groups(keys, people)


def _share(those: Bools) -> float:
    return float(those.mean()) if len(those) else 0.0


def warn_alone(alone: Alone, keep: Sequence[str], *, by_people: bool) -> None:
    """Warn if kept columns put somebody into a group too small, or single somebody out.

    Sensitive columns by themselves cause no warning: that nobody knows them of a person is what k, l and t suppose, and
    many are unique by nature, such as an exact cost. Of a kept column nothing is supposed.
    """
    if not alone.by_keep:
        return
    unit, names = "people" if by_people else "rows", ", ".join(map(repr, keep))
    said = []
    if alone.added_below_k:
        said.append(
            f"By the quasi-identifiers and the kept columns {names} together, {describe_small(alone, unit)}: whoever "
            "knows these columns of a person finds the row, or one of a few."
        )
    if alone.added_published:
        said.append(
            f"By all published columns together, {percent(alone.published)} of the {unit} stand alone, "
            f"{percent(alone.added_published)} only because of the kept columns {names}."
        )
    warnings.warn(
        f"{' '.join(said)} Hint: leave columns out of `keep`, or make them quasi-identifiers.",
        UniqueWarning,
        stacklevel=outside(),
    )


def describe_small(alone: Alone, unit: str) -> str:
    """Who is in a group too small by quasi-identifiers and kept columns.

    >>> describe_small(Alone(kept=0.1, below_k=0.4, k=5), "rows")
    '10.0% of the rows stand alone and 40.0% are in groups of fewer than 5'
    >>> describe_small(Alone(below_k=0.4, k=5), "rows"), describe_small(Alone(kept=0.1, below_k=0.1), "people")
    ('40.0% of the rows are in groups of fewer than 5', '10.0% of the people stand alone')
    """
    whose = f" of the {unit}"
    single = f"{percent(alone.kept)}{whose} stand alone" if alone.kept else ""
    if single and alone.kept == alone.below_k:
        return single
    few = f"are in groups of fewer than {alone.k}"
    return f"{single} and {percent(alone.below_k)} {few}" if single else f"{percent(alone.below_k)}{whose} {few}"
