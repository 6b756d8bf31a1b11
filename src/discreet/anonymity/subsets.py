"""Which few columns single people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.anonymity.encode import pack

Ints = npt.NDArray[np.int64]
EFFORT = 200_000_000  # rows looked at, over all sets of columns


@dataclass(frozen=True)
class Identifying:
    """A set of columns under which the share `unique` of the rows is alone in its class."""

    columns: tuple[str, ...]
    unique: float


def identifying(
    columns: Sequence[str], codes: Sequence[Ints], above: float, largest: int = 4, effort: int = EFFORT
) -> tuple[list[Identifying], bool]:
    """The smallest sets of columns, of at most `largest`, under which more than the share `above` of rows is unique.

    More columns only single out more rows, so no set that contains one already found is looked at. The second result
    is False if the work was cut short.

    >>> codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1])]
    >>> identifying(["a", "b", "c"], codes, above=0.5)[0]
    [Identifying(columns=('a', 'b'), unique=1.0)]
    """
    widths = [int(code.max()) + 1 if len(code) else 1 for code in codes]
    rows = max(len(codes[0]), 1) if codes else 1
    found: list[tuple[tuple[int, ...], float]] = []
    for size in range(1, min(largest, len(columns)) + 1):
        for places in combinations(range(len(columns)), size):
            if any(set(smaller) <= set(places) for smaller, _ in found):
                continue
            if effort < rows:
                return _named(columns, found), False
            effort -= rows
            share = unique(pack([codes[p] for p in places], [widths[p] for p in places]))
            if share > above:
                found.append((places, share))
    return _named(columns, found), True


def unique(keys: Ints) -> float:
    """The share of entries that occur once."""
    if not len(keys):
        return 0.0
    ranked = np.sort(keys)
    fresh = np.r_[True, ranked[1:] != ranked[:-1], True]
    return float((fresh[1:] & fresh[:-1]).sum() / len(keys))


def _named(columns: Sequence[str], found: list[tuple[tuple[int, ...], float]]) -> list[Identifying]:
    ranked = sorted(found, key=lambda one: (len(one[0]), -one[1]))
    return [Identifying(tuple(columns[p] for p in places), share) for places, share in ranked]
