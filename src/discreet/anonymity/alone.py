"""Who stands alone by columns that are published as they are.

The criteria speak of the quasi-identifiers. A kept column is published beside them, unchanged and unlisted: a number of
a row, a time or an exact measurement in it tells rows apart that the quasi-identifiers do not, and whoever knows it for
a person has found the row.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.subsets import count_alone_in
from discreet.errors import DiscreetWarning, outside

Ints = npt.NDArray[np.int64]


class UniqueWarning(DiscreetWarning):
    """Columns that are kept as they are single people out in a table whose quasi-identifiers do not."""


@dataclass(frozen=True)
class Alone:
    """The share of the published rows (of the people, if they are known) that nobody else looks like.

    Parameters
    ----------
    kept : to somebody who knows the published quasi-identifiers and the kept columns.
    published : to somebody who knows every published value, the sensitive ones too.
    """

    kept: float = 0.0
    published: float = 0.0


def count_alone(
    table: pl.DataFrame, quasi_identifiers: Sequence[str], keep: Sequence[str], people: Ints | None = None
) -> Alone:
    """Count, in a table to be published, who is alone by the columns that are known and by all of them."""
    known = [*quasi_identifiers, *keep]
    return Alone(*(count_alone_in(_keys(table.select(names)), people) for names in (known, table.columns)))


def _keys(frame: pl.DataFrame) -> Ints:
    """Equal numbers for equal rows; unequal ones get the same number with probability n²/2^65."""
    return frame.hash_rows(seed=secrets.randbits(64)).to_numpy().view(np.int64)


def warn_alone(alone: Alone, keep: Sequence[str], *, by_people: bool) -> None:
    """Warn if kept columns single somebody out.

    Sensitive columns cause no warning: that nobody knows them of a person is what k, l and t suppose, and many are
    unique by nature, such as an exact cost. Of a kept column nothing is supposed.
    """
    if not keep or not alone.kept:
        return
    unit = "people" if by_people else "rows"
    warnings.warn(
        f"By the quasi-identifiers and the kept columns {', '.join(map(repr, keep))} together, {alone.kept:.2%} of the "
        f"{unit} stand alone: whoever knows these columns of a person finds the row. Hint: leave them out of `keep`, "
        "or make them quasi-identifiers.",
        UniqueWarning,
        stacklevel=outside(),
    )
