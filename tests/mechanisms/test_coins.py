"""Coins by place: whoever looks finds the same, and they are fair."""

import math
from itertools import pairwise

import numpy as np
import pytest

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream


def coins(seed=1):
    return Coins.draw_key(Keystream.seeded(seed))


@pytest.mark.parametrize("rate", [0.0, 2.0**-20, 0.1, 0.5, 1 - 2.0**-40, 1.0])
def test_a_place_has_one_coin_whoever_looks(rate):
    some, cuts = coins(), [0, 1, 7, 8, 9, 100, 1000, 1001, 5000]
    whole, words = some.look_up_heads(0, 5000, rate), some.look_up_words(0, 5000)
    pairs = list(pairwise(cuts))
    assert np.array_equal(np.concatenate([some.look_up_heads(a, b, rate) for a, b in pairs]), whole)
    assert np.array_equal(np.concatenate([some.look_up_words(a, b) for a, b in pairs]), words)
    again = coins()
    assert np.array_equal(again.look_up_heads(10, 20, rate), whole[10:20])
    assert len(some.look_up_heads(3, 3, rate)) == 0


def test_a_rate_counts_with_all_its_bits():
    """Ties in the first 16 bits are settled by 48 more."""

    class Fixed(Coins):
        def _read_stream(self, kind, start, stop):
            assert (start, stop) == (0, 8)
            return np.array([0x7FFF, 0x8000, 0x8000, 0x8001], "<u2").view(np.uint8)

        def _encrypt_places(self, kind, places):
            assert places.tolist() == [1, 2]
            return np.array([low - (1 << 16), low], np.uint64)

    low = 1 << 50  # 2^-30 of 2^64, before 16 bits that are not looked at
    assert Fixed(bytes(32)).look_up_heads(0, 4, 0.5 + 2.0**-30).tolist() == [True, True, False, False]


def test_coins_are_fair_and_independent_of_each_other():
    """False alarms: |z| > 6 for each of five means, below 1e-8 together."""
    n = 1 << 18
    one, other = coins(1), coins(2)
    a, b = one.look_up_heads(0, n, 0.3), other.look_up_heads(0, n, 0.3)
    units = np.zeros((n, 15), np.uint8)
    units[:, :8] = np.arange(n, dtype=np.uint64)[:, None].view(np.uint8)
    c = one.look_up_unit_words(units) < np.uint64(int(0.3 * 2.0**64))
    for heads, rate in ((a, 0.3), (b, 0.3), (c, 0.3), (a & b, 0.09), (a & c, 0.09)):
        assert abs(heads.mean() - rate) < 6 * math.sqrt(rate * (1 - rate) / n)


def test_far_places_and_other_keys():
    some = coins()
    far = 1 << 60  # as of the millionth partition of a cluster
    assert np.array_equal(some.look_up_words(far, far + 10)[3:], some.look_up_words(far + 3, far + 10))
    assert not np.array_equal(some.look_up_words(0, 10), coins(2).look_up_words(0, 10))
    assert not np.array_equal(some.look_up_words(0, 10), some.look_up_words(far, far + 10))
