"""Padding: never below the truth, and (ε, δ) by exact enumeration."""

import numpy as np
import pytest

from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.padding import pad_count, padding_margin


def law(f, epsilon, size, margin, top=4000):
    """P(f + max(0, margin + G)) for the outcomes 0 … top."""
    g = np.arange(-top, top + 1)
    mass = np.exp(-np.abs(g) * epsilon / size)
    out = np.zeros(top + 1)
    places = f + np.maximum(0, margin + g)
    kept = places <= top
    np.add.at(out, places[kept], mass[kept] / mass.sum())
    return out


def lost(one, two, epsilon):
    """The least δ at this ε, either way."""
    return max(np.maximum(a - np.exp(epsilon) * b, 0).sum() for a, b in ((one, two), (two, one)))


@pytest.mark.catalogue("ME9")
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_the_margin_is_the_least_that_keeps_the_promise(epsilon, size):
    delta = 1e-3
    margin = padding_margin(epsilon, delta, size)
    for shift in range(1, size + 1):
        one, two = (law(f, epsilon, size, margin) for f in (100, 100 + shift))
        assert lost(one, two, epsilon) <= delta + 1e-12
    less = lost(*(law(f, epsilon, size, margin - 1) for f in (100, 100 + size)), epsilon)
    assert less > 0.3 * delta  # some of what is cut off may also come from the other side
    if size > 1:  # a margin that forgets by how much counts may differ
        short = padding_margin(epsilon / size, delta)
        assert short < margin and lost(*(law(f, epsilon, size, short) for f in (100, 100 + size)), epsilon) > delta


def test_draws_are_never_below_the_truth_and_follow_the_law():
    rng = Keystream.seeded(4)
    drawn = np.array([pad_count(50, 1.0, 0.05, 2, rng) for _ in range(5000)])
    wanted = law(50, 1.0, 2, padding_margin(1.0, 0.05, 2))
    assert drawn.min() >= 50
    cells = np.flatnonzero(wanted * 5000 > 20)
    seen = np.bincount(drawn, minlength=len(wanted))[cells]
    assert ((seen - 5000 * wanted[cells]) ** 2 / (5000 * wanted[cells])).sum() < 80  # of some 20 cells: below 1e-6


@pytest.mark.parametrize(("epsilon", "delta", "size"), [(0, 0.1, 1), (1, 0, 1), (1, 1.0, 1), (1, 0.1, 0)])
def test_bad_arguments(epsilon, delta, size):
    with pytest.raises(ValueError, match="pad_count"):
        padding_margin(epsilon, delta, size)
    with pytest.raises(TypeError, match="count"):
        pad_count(1.5, 1.0, 0.1)
