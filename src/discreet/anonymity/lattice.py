"""All full-domain generalisations of a table, ordered by "coarser in no column"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Node = tuple[int, ...]
Bools = npt.NDArray[np.bool_]
LARGEST = 10_000_000  # nodes for which tags are kept


class Lattice:
    """One bit for each node: is it known to fail?

    Examples
    --------
    >>> lattice = Lattice((2, 3))
    >>> lattice.fail((0, 1))
    >>> [node for node in lattice if not lattice.failed[node]]
    [(0, 2), (1, 0), (1, 1), (1, 2)]
    """

    def __init__(self, heights: tuple[int, ...]) -> None:
        self.heights = heights
        self.failed: Bools = np.zeros(heights, dtype=bool)

    @property
    def top(self) -> Node:
        """The coarsest node."""
        return tuple(h - 1 for h in self.heights)

    def __iter__(self) -> Iterator[Node]:
        return iter(np.ndindex(*self.heights))

    def fail(self, node: Node) -> None:
        """A node fails, and so does every node below it."""
        self.failed[tuple(slice(level + 1) for level in node)] = True

    def ranked(self) -> list[Node]:
        """All nodes, the coarsest first."""
        depth = np.indices(self.heights).sum(axis=0).ravel()
        return [self.at(int(place)) for place in np.argsort(-depth, kind="stable")]

    def at(self, place: int) -> Node:
        """The node at a place of the flattened lattice."""
        node = []
        for height in reversed(self.heights):
            place, level = divmod(place, height)
            node.append(level)
        return tuple(reversed(node))


def below(node: Node) -> list[Node]:
    """The nodes one step finer.

    >>> below((1, 0, 2))
    [(0, 0, 2), (1, 0, 1)]
    """
    return [(*node[:c], level - 1, *node[c + 1 :]) for c, level in enumerate(node) if level]


def size(heights: tuple[int, ...]) -> int:
    """The number of nodes."""
    count = 1
    for height in heights:
        count *= height
    return count


def minimal(good: Bools) -> list[Node]:
    """The nodes that are good while none one step below them is.

    >>> minimal(np.array([[False, True], [True, True]]))
    [(0, 1), (1, 0)]
    """
    lowest = good.copy()
    for axis in range(good.ndim):
        upper = [slice(None)] * good.ndim
        lower = [slice(None)] * good.ndim
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        lowest[tuple(upper)] &= ~good[tuple(lower)]
    return [tuple(int(level) for level in node) for node in np.argwhere(lowest)]
