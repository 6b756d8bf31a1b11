"""The best parameters of designs for a number, computed by the collector before anything is asked.

`best_table` is the mechanism of least variance among those with unbiased outputs on a grid. It is a linear program,
solved in floats and rounded to whole numbers; the guarantee of these is checked exactly.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.lines import _FAR, OUTPUTS, HybridDesign, LaplaceDesign, TableDesign, WindowDesign
from discreet.local.odds import ONE, odds_of

Floats = NDArray[np.float64]

_TOTAL = 1 << 44  # the sum of a row
_STRICT = 1e-7  # the program stays below e^ε by this fraction, so that rounding cannot exceed it
_LEVELS = 129  # the number of levels of windows, and the most of Laplace noise


@lru_cache(maxsize=64)
def best_table(epsilon: Fraction) -> TableDesign:
    """The table of least worst-case variance, with 9 levels up to ε = 3 and 17 above.

    >>> round(best_table(Fraction(2)).variance(), 2)
    0.87
    """
    size = 9 if epsilon <= 3 else 17
    rate = np.exp(float(epsilon))
    edge = (rate + 1) / (rate - 1)
    tried = [(stretch, solve_table(rate * (1 - _STRICT), size, edge * stretch)) for stretch in (1.1, 1.3, 1.6)]
    outputs, table, _ = min((found for _, found in tried if found is not None), key=lambda found: float(found[2]))
    return round_table(outputs, table, odds_of(epsilon))


def solve_table(rate: float, size: int, edge: float) -> tuple[Floats, Floats, float] | None:
    """Outputs, probabilities of each level and the worst variance, by a linear program; None if it has no solution."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, eye_array, kron, vstack

    cells = 41 if size == 9 else 65
    x = np.linspace(-1, 1, size)
    y = np.rint(np.linspace(-edge, edge, cells) * OUTPUTS) / OUTPUTS
    # unknowns: the probabilities, the worst variance, and the least probability of each column
    each, least = size * cells, eye_array(cells)
    ends = [(i, i) for i in range(size)] + [(i, i + 1) for i in range(size - 1)]
    middle = coo_matrix(np.array([[(k == i) / 2 + (k == j) / 2 for k in range(size)] for i, j in ends]))
    worst = kron(middle, y[None] ** 2)
    ones, columns = np.ones((size, 1)), coo_matrix((each, 1))
    upper = _stack_columns(eye_array(each), columns, -rate * kron(ones, least))
    lower = _stack_columns(-eye_array(each), columns, kron(ones, least))
    variance = _stack_columns(worst, coo_matrix(-np.ones((len(ends), 1))), coo_matrix((len(ends), cells)))
    levels = eye_array(size)
    sums, means = kron(levels, np.ones((1, cells))), kron(levels, y[None])
    empty = coo_matrix((2 * size, 1 + cells))
    cost = np.zeros(each + 1 + cells)
    cost[each] = 1
    found = linprog(
        cost,
        A_ub=vstack([upper, lower, variance]).tocsr(),
        b_ub=np.concatenate([np.zeros(2 * each), [((x[i] + x[j]) / 2) ** 2 for i, j in ends]]),
        A_eq=_stack_columns(vstack([sums, means]), empty).tocsr(),
        b_eq=np.concatenate([np.ones(size), x]),
        bounds=(0, None),
        method="highs",
    )
    return (y, found.x[:each].reshape(size, cells), float(found.fun)) if found.status == 0 else None


def _stack_columns(*parts: Any) -> Any:
    from scipy.sparse import hstack

    return hstack(parts)


def round_table(outputs: Floats, table: Floats, odds: int) -> TableDesign:
    """The table in whole numbers with one sum per row; the difference is added to the column of the largest numbers."""
    kept = table.max(0) > 1e-9
    outputs, table = outputs[kept], table[:, kept]
    whole = np.rint(table * float(_TOTAL)).astype(np.int64)
    largest = int(table.min(0).argmax())
    whole[:, largest] += _TOTAL - whole.sum(1)
    columns = tuple(int(y) for y in np.rint(outputs * OUTPUTS))
    made = TableDesign(len(whole), odds, columns, tuple(tuple(int(x) for x in row) for row in whole))
    if made.ratio > Fraction(odds, ONE):
        raise ValueError("The rounded table exceeds its ε.")
    return made


def best_window(epsilon: Fraction) -> WindowDesign:
    """The window of least worst-case variance: the piecewise mechanism on a grid."""
    odds = odds_of(epsilon)
    widths = range(1, 6 * _LEVELS)
    worst = [max(window_variances(width, odds, (0, _LEVELS // 2))) for width in widths]
    return WindowDesign(_LEVELS, odds, widths[int(np.argmin(worst))])


def best_hybrid(epsilon: Fraction) -> HybridDesign:
    """The mixture of a window and one bit with the least worst-case variance."""
    odds, found = odds_of(epsilon), []
    bit = ((odds + ONE) / (odds - ONE)) ** 2
    shares = np.linspace(0, 1, 129)
    for width in range(1, 6 * _LEVELS, 2):
        end, middle = window_variances(width, odds, (0, _LEVELS // 2))
        worst = np.maximum(shares * end + (1 - shares) * (bit - 1), shares * middle + (1 - shares) * bit)
        found.append((float(worst.min()), width, int(worst.argmin())))
    _, width, share = min(found)
    return HybridDesign(_LEVELS, odds, width, share * ONE // 128)


def window_variances(width: int, odds: int, levels: tuple[int, ...]) -> list[float]:
    """The variance of a window's output at some levels."""
    design = WindowDesign(_LEVELS, odds, width)
    near, far = float(design.inside) / width, float(1 - design.inside) / (_LEVELS - 1)
    places = np.arange(design.report_count)
    found = []
    slope = (near - far) * width * (_LEVELS - 1) / 2
    for level in levels:
        law = np.where((places >= level) & (places < level + width), near, far)
        found.append(float(law @ places**2 - (law @ places) ** 2) / slope**2)
    return found


def best_laplace(epsilon: Fraction) -> LaplaceDesign:
    """Discrete Laplace noise whose steps over the whole range add up to ε."""
    steps = min(_LEVELS - 1, max(2, int(32 * epsilon)))  # about 32 steps per scale, so rounding adds next to nothing
    odds = odds_of(epsilon / steps)
    return LaplaceDesign(steps + 1, odds, min(1 << 20, int(_FAR * steps / float(epsilon)) + 1))
