"""When nothing meets the request: which criterion fails, and what could be met instead."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.anonymity.checker import Checker
from discreet.anonymity.criteria import KAnonymity
from discreet.anonymity.request import Request
from discreet.errors import DiscreetError

Node = tuple[int, ...]


class Infeasible(DiscreetError, ValueError):
    """No generalisation of the table meets the request; the message says what could be met instead."""


def refusal(request: Request, checker: Checker, nearest: Node) -> Infeasible:
    """Names the criteria that fail at the node where fewest rows do, and the nearest request that can be met."""
    groups = checker.groups(nearest)
    lost = {str(c): int(groups.sizes[~c.check(groups)].sum()) for c in request.criteria}
    every = np.logical_and.reduce([c.check(groups) for c in request.criteria])
    total, rows = int(groups.sizes[~every].sum()), request.encoded.n
    if total <= request.limit:
        return Infeasible(
            "The rows published as `*` fail the criteria at every node. Hint: suppressed='remove', or a larger share."
        )
    failing = ", ".join(f"{name} for {count / rows:.2%} of the rows" for name, count in lost.items() if count)
    hints = [f"suppress={np.ceil(total / rows * 1e4) / 1e4:.4f}"] if total < rows else []
    ks = [c.k for c in request.criteria if isinstance(c, KAnonymity)]
    if ks and lost[str(KAnonymity(max(ks)))] > request.limit:
        hints.insert(0, f"k={largest(groups.sizes, request.limit)}")
    return Infeasible(
        f"No generalisation meets the request with at most {request.suppress:.2%} of the rows suppressed. At the node "
        f"where fewest rows fail, these do: {failing}. Nearest that can be met: {' or '.join(hints) or 'none'}."
    )


def largest(sizes: npt.NDArray[np.int64], limit: int) -> int:
    """The largest k for which the classes below k have at most `limit` rows.

    >>> largest(np.array([2, 3, 10]), 2), largest(np.array([2, 3, 10]), 5)
    (3, 10)
    """
    ranked = np.sort(sizes)
    return int(ranked[np.searchsorted(np.cumsum(ranked), limit, side="right")])
