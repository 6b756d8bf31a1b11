"""Keystreams: fair, never shared, never copied."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.keystream import Keystream, default

pytestmark = pytest.mark.catalogue("ME10")


def test_a_seed_repeats_and_seeds_differ():
    first, again, other = Keystream.seeded(7), Keystream.seeded(7), Keystream.seeded(8)
    draws = [(s.u64(3).tolist(), s.bits(70), s.u16(2).tolist(), s.u8(5).tolist()) for s in (first, again, other)]
    assert draws[0] == draws[1] != draws[2]


def test_only_unseeded_streams_are_secure():
    assert Keystream().secure and default().secure and not Keystream.seeded(1).secure


def test_secure_streams_differ():
    assert Keystream().bits(256) != Keystream().bits(256)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_cannot_be_duplicated(duplicate):
    with pytest.raises(TypeError, match="cannot be copied"):
        duplicate(Keystream())


@pytest.mark.parametrize("seed", [1.5, "1", True, None])
def test_seeds_are_whole_numbers(seed):
    with pytest.raises(TypeError, match="whole number"):
        Keystream.seeded(seed)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of forks once there are threads
def test_a_child_process_has_noise_of_its_own():
    stream = Keystream()
    stream.word()  # fill the buffer, which the child must not inherit
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"%d %d" % (stream.bits(128), default().bits(128)))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = [int(part) for part in os.read(reader, 1000).split()]
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 2
    assert theirs[0] != stream.bits(128) and theirs[1] != default().bits(128)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_under_a_held_lock_does_not_hang():
    stream = Keystream()
    stream._lock.acquire()
    child = os.fork()
    if child == 0:
        stream.u64(1)
        os._exit(0)
    stream._lock.release()
    assert os.waitpid(child, 0)[1] == 0


def test_threads_share_no_word():
    stream, drawn = Keystream.seeded(3), [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda d=d: d.extend(stream.word() for _ in range(5000))) for d in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = [word for part in drawn for word in part]
    assert len(set(words)) == len(words) == 20_000


def test_bytes_are_uniform():
    seen = np.bincount(Keystream.seeded(1).u8(1 << 20), minlength=256)
    assert stats.chisquare(seen).pvalue > 1e-8


@pytest.mark.parametrize("k", [0, 1, 63, 64, 65, 200])
def test_bits_fill_their_range(k):
    stream = Keystream.seeded(k)
    draws = [stream.bits(k) for _ in range(200)]
    assert all(0 <= d < 1 << k for d in draws)
    assert k == 0 or max(draws) >= 1 << (k - 1)  # false alarm 2^-200


def test_large_requests():
    assert Keystream.seeded(1).u64(300_000).shape == (300_000,)
    assert Keystream.seeded(1).u64(0).shape == (0,)
