"""Exact coins and uniform choices in vectors, from the keystream, for `answer_many`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local.odds import ONE
from discreet.mechanisms.keystream import Keystream

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def throw_coins(rng: Keystream, n: int, top: int, total: int) -> Bools:
    """`n` coins of probability top/total, exactly: 16 bits decide nearly all of them, and further bits the rest.

    >>> throw_coins(Keystream.seeded(1), 3, 1, 1).tolist()
    [True, True, True]
    """
    first = (top << 16) // total
    words = rng.u16(n)
    heads: Bools = words < first
    ties = np.flatnonzero(words == first)
    if len(ties):
        rest = (top << 16) - first * total  # the probability of heads of the ties is rest/total
        second = (rest << 64) // total
        more = rng.u64(len(ties))
        heads[ties] = more < np.uint64(second)
        for i in np.flatnonzero(more == np.uint64(second)):
            heads[ties[i]] = _throw_last((rest << 64) - second * total, total, rng)
    return heads


def _throw_last(top: int, total: int, rng: Keystream) -> bool:
    length = (total - 1).bit_length()
    while (value := rng.bits(length)) >= total:
        pass
    return value < top


def draw_below(rng: Keystream, n: int, limit: int) -> Ints:
    """`n` whole numbers uniform on 0 .. limit-1, for limit < 2^31, exactly: multiplication and rejection (Lemire 2019).

    >>> draw_below(Keystream.seeded(1), 2, 1).tolist()
    [0, 0]
    """
    if limit == 1:
        return np.zeros(n, np.int64)
    product = _read_half_words(rng, n) * np.uint64(limit)
    uneven = np.uint64((1 << 32) % limit)
    bad = np.flatnonzero((product & _LOW) < uneven) if uneven else np.zeros(0, np.int64)
    while len(bad):
        product[bad] = _read_half_words(rng, len(bad)) * np.uint64(limit)
        bad = bad[(product[bad] & _LOW) < uneven]
    return (product >> np.uint64(32)).view(np.int64)


_LOW = np.uint64((1 << 32) - 1)


def _read_half_words(rng: Keystream, n: int) -> NDArray[np.uint64]:
    """`n` words of 32 bits."""
    return rng.u64(-(-n // 2)).view("<u4")[:n].astype(np.uint64)


def draw_below_large(rng: Keystream, n: int, limit: int) -> Ints:
    """`n` whole numbers uniform on 0 .. limit-1, for limit <= 2^62, exactly, by rejection.

    >>> int(draw_below_large(Keystream.seeded(1), 9, 1 << 50).max()) < 1 << 50
    True
    """
    shift = np.uint64(64 - max(1, (limit - 1).bit_length()))
    drawn = rng.u64(n) >> shift
    bad = np.flatnonzero(drawn >= limit)
    while len(bad):
        drawn[bad] = rng.u64(len(bad)) >> shift
        bad = bad[drawn[bad] >= limit]
    return drawn.view(np.int64)


def draw_weighted(rng: Keystream, n: int, weights: tuple[int, ...]) -> Ints:
    """`n` places, in proportion to whole weights of any size: one coin for each place, among those that remain.

    >>> draw_weighted(Keystream.seeded(1), 3, (0, 1, 0)).tolist()
    [1, 1, 1]
    """
    found, waiting, left = np.zeros(n, np.int64), np.arange(n), sum(weights)
    for place, weight in enumerate(weights):
        if weight and len(waiting):
            here = throw_coins(rng, len(waiting), weight, left)
            found[waiting[here]] = place
            waiting = waiting[~here]
        left -= weight
    return found


def choose_mask(rng: Keystream, n: int, size: int, count: int) -> Bools:
    """For each of `n` rows, `count` of `size` places chosen uniformly: Floyd's algorithm in all rows at once.

    >>> choose_mask(Keystream.seeded(1), 2, 5, 3).sum(1).tolist()
    [3, 3]
    """
    chosen, rows = np.zeros((n, size), bool), np.arange(n)
    for last in range(size - count, size):
        drawn = draw_below(rng, n, last + 1)
        chosen[rows, np.where(chosen[rows, drawn], last, drawn)] = True
    return chosen


def answer_direct_many(size: int, odds: int, values: Ints, rng: Keystream) -> Ints:
    """`randomise.answer_direct` for many values."""
    keep = throw_coins(rng, len(values), odds, odds + (size - 1) * ONE)
    others = draw_below(rng, len(values), size - 1)
    others += others >= values
    return np.where(keep, values, others)
