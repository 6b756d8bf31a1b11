"""What is lost by publishing a node: smaller is better.

A loss that can bound a node from below without counting its classes (`lower`) lets the search pass most of them by;
one that cannot (`lower` is None) makes it look at every node that is not known to fail.

| loss | lower bound |
| --- | --- |
| NCP, Entropy | mean over columns and rows, before suppression: a suppressed row costs 1, no less than it did |
| Discernibility, AverageClassSize, Custom | none |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.anonymity.groups import Groups
from discreet.anonymity.hierarchies import Hierarchy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Node = tuple[int, ...]


class Loss(Protocol):
    """A number for a node and its classes."""

    def of(self, node: Node, groups: Groups) -> float:
        """The loss of a node whose classes are known."""
        ...

    def lower(self) -> Floats | None:
        """For every node of the lattice a number its loss cannot be below, or None."""
        ...


class Cells:
    """Mean over all cells of a cost that depends on the column and the group published; a suppressed row costs 1.

    Parameters
    ----------
    codes, sizes : the distinct tuples and how many rows have them.
    costs : costs[column][level] gives the cost, in [0, 1], for each value of the domain.
    """

    def __init__(self, codes: Ints, sizes: Ints, costs: Sequence[Sequence[Floats]]) -> None:
        self.columns = [np.ascontiguousarray(codes[:, c]) for c in range(codes.shape[1])]
        self.costs, self.rows = costs, int(sizes.sum())
        counts = [np.bincount(c, weights=sizes, minlength=len(l[0])) for c, l in zip(self.columns, costs, strict=True)]
        means = [[float(n @ cost) for cost in levels] for n, levels in zip(counts, costs, strict=True)]
        self.means = [np.array(m) / (max(self.rows, 1) * len(self.columns)) for m in means]

    def lower(self) -> Floats:
        """The mean cost of every node if nothing were suppressed."""
        total: Floats = np.zeros(())
        for mean in self.means:
            total = np.add.outer(total, mean)
        return total

    def of(self, node: Node, groups: Groups) -> float:
        """The mean without suppression, and for suppressed rows what is missing to 1."""
        plain = 0.0
        for mean, level in zip(self.means, node, strict=True):  # summed as in `lower`, so that the two agree to the bit
            plain += float(mean[level])
        if groups.kept is None or groups.kept.all():
            return plain
        assert groups.example is not None
        lost = ~groups.kept
        return float(plain + groups.sizes[lost] @ (1 - self.rowwise(node, groups.example[lost])) / self.rows)

    def rowwise(self, node: Node, entries: Ints) -> Floats:
        """The cost of single entries."""
        cost = np.zeros(len(entries))
        for column, levels, level in zip(self.columns, self.costs, node, strict=True):
            cost += levels[level][column[entries]]
        return cost / len(self.columns)


def ncp(codes: Ints, sizes: Ints, hierarchies: Sequence[Hierarchy]) -> Cells:
    """Normalised certainty penalty: mean over cells of (leaves − 1)/(domain − 1). Xu et al., KDD 2006."""
    return Cells(codes, sizes, [[h.ncp(level) for level in range(h.height)] for h in hierarchies])


def entropy(codes: Ints, sizes: Ints, hierarchies: Sequence[Hierarchy]) -> Cells:
    """Mean over cells of the entropy of the column's values within the published group, over log(domain).

    After de Waal & Willenborg 1999: what a reader does not know of a value once its group is published.
    """
    costs = []
    for c, h in enumerate(hierarchies):
        counts = np.bincount(codes[:, c], weights=sizes, minlength=len(h.domain)).astype(np.float64)
        costs.append([uncertainty(counts, h.codes[level]) for level in range(h.height)])
    return Cells(codes, sizes, costs)


def uncertainty(counts: Floats, groups: Ints) -> Floats:
    """For each value the entropy of its group, relative to that of a uniform column."""
    totals = np.bincount(groups, weights=counts)[groups]
    share = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    terms = -share * np.log(share, out=np.zeros_like(share), where=share > 0)
    found: Floats = np.bincount(groups, weights=terms)[groups] / max(np.log(len(counts)), 1e-300)
    return np.minimum(found, 1.0)


@dataclass(frozen=True)
class Discernibility:
    """Σ over classes of size², and n for each suppressed row. Bayardo & Agrawal, ICDE 2005."""

    def of(self, node: Node, groups: Groups) -> float:
        """The number of pairs of rows that cannot be told apart."""
        return float((groups.sizes[groups.published].astype(float) ** 2).sum() + groups.suppressed * groups.rows)

    def lower(self) -> None:
        """None."""


@dataclass(frozen=True)
class AverageClassSize:
    """Published rows over classes over k; 1 at best. LeFevre et al., ICDE 2006."""

    k: int = 1

    def of(self, node: Node, groups: Groups) -> float:
        """The mean size of a published class, in k."""
        classes = int(groups.published.sum())
        return (groups.rows - groups.suppressed) / classes / self.k if classes else float("inf")

    def lower(self) -> None:
        """None."""


@dataclass(frozen=True)
class Custom:
    """A user's own function of the node and its groups."""

    function: Callable[[Node, Groups], float]

    def of(self, node: Node, groups: Groups) -> float:
        """What the function says; NaN, which is neither less nor more than anything, is refused."""
        found = float(self.function(node, groups))
        if np.isnan(found):
            raise ValueError("The loss function returned NaN. Hint: return float('inf') for what shall not be chosen.")
        return found

    def lower(self) -> None:
        """None."""


NAMES = ("ncp", "entropy", "discernibility", "average")


def named(name: str, codes: Ints, sizes: Ints, hierarchies: Sequence[Hierarchy], k: int = 1) -> Loss:
    """One of the losses with a name."""
    if name == "ncp":
        return ncp(codes, sizes, hierarchies)
    if name == "entropy":
        return entropy(codes, sizes, hierarchies)
    if name == "discernibility":
        return Discernibility()
    if name == "average":
        return AverageClassSize(k)
    raise ValueError(f"`loss` must be one of {', '.join(NAMES)}, or a function of node and groups. Got {name!r}.")
