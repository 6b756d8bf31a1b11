"""What single columns and pairs of columns rule out before any node is looked at.

Leaving columns out merges classes, so if one or two columns alone fail a monotone criterion at some levels, every node
at or below those levels fails (the subset property of LeFevre et al. 2005). Tables of one or two columns are small.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.anonymity.checker import Checker, meets
from discreet.anonymity.groups import Groups
from discreet.anonymity.lattice import Lattice

Ints = npt.NDArray[np.int64]
Node = tuple[int, ...]
DENSE = 100_000  # cells of a table of two columns


def rule_out(checker: Checker, lattice: Lattice) -> Node:
    """Tag what fails, and return for each column the least level that can pass."""
    floor = [0] * len(lattice.heights)
    if not checker.by_rows:  # nothing that few columns could decide
        return tuple(floor)
    for column in range(len(floor)):
        counts = np.bincount(checker.rollup.columns[column], weights=checker.sizes).astype(np.float64)
        while floor[column] < lattice.heights[column] - 1 and fails(
            checker, up(checker, counts, column, floor[column])
        ):
            fail(lattice, {column: floor[column]})
            floor[column] += 1
    if any(floor):  # else pairs seldom fail either
        for first, second in combinations(range(len(floor)), 2):
            pair(checker, lattice, floor, first, second)
    return tuple(floor)


def pair(checker: Checker, lattice: Lattice, floor: list[int], first: int, second: int) -> None:
    a, b = checker.rollup.columns[first], checker.rollup.columns[second]
    wide, narrow = checker.rollup.widths[first], checker.rollup.widths[second]
    if wide * narrow > DENSE:
        return
    flat = np.bincount(a * narrow + b, weights=checker.sizes, minlength=wide * narrow).astype(np.float64)
    counts = flat.reshape(wide, narrow)
    for high in range(lattice.heights[first] - 1, floor[first] - 1, -1):
        rows = up(checker, counts, first, high)
        for low in range(lattice.heights[second] - 1, floor[second] - 1, -1):
            node = known(lattice, {first: high, second: low})
            if not lattice.failed[node] and fails(checker, up(checker, rows.T, second, low)):
                fail(lattice, {first: high, second: low})


def up(checker: Checker, counts: npt.NDArray[np.float64], column: int, level: int) -> npt.NDArray[np.float64]:
    """Counts whose first axis is a column, at a level of that column."""
    step = checker.rollup.steps[column][level][: len(counts)]
    total = np.zeros((int(step.max()) + 1, *counts.shape[1:]))
    np.add.at(total, step, counts)
    return total


def fails(checker: Checker, counts: npt.NDArray[np.float64]) -> bool:
    sizes = counts[counts > 0].astype(np.int64)
    groups = Groups(sizes, checker.rows)
    return checker.over(groups, meets(checker.by_rows, groups))


def known(lattice: Lattice, levels: dict[int, int]) -> Node:
    return tuple(levels.get(c, top) for c, top in enumerate(lattice.top))


def fail(lattice: Lattice, levels: dict[int, int]) -> None:
    """Fails whatever the other columns are."""
    lattice.fail(known(lattice, levels))
