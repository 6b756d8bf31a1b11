"""Sorted records of fixed width: arrays of bytes that compare by their leading eight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]  # (n, width)
Prefixes = npt.NDArray[np.uint64]


def prefixes(records: Bytes) -> Prefixes:
    """The leading eight bytes of each record as a number, so that they compare like the bytes."""
    return np.ascontiguousarray(records[:, :8]).view(">u8").ravel().astype(np.uint64)


def in_order(keys: Bytes) -> tuple[npt.NDArray[np.intp], Prefixes]:
    """The order of the keys by all their bytes, and their prefixes in that order."""
    heads = prefixes(keys)
    order = np.argsort(heads, kind="stable")
    heads = heads[order]
    if keys.shape[1] > 8 and (heads[1:] == heads[:-1]).any():
        order = np.lexsort(keys.T[::-1])
        heads = prefixes(keys)[order]
    return order, heads


def matched(records: Bytes, keys: Bytes) -> npt.NDArray[np.intp]:
    """The place of each key among sorted records, or -1."""
    heads = prefixes(records)
    place = np.searchsorted(heads, prefixes(keys))
    place[place == len(heads)] = 0
    if not len(records):
        return np.full(len(keys), -1)
    equal = (records[place, : keys.shape[1]] == keys).all(axis=1)
    alike = np.flatnonzero(heads[1:] == heads[:-1])
    if (records[alike, : keys.shape[1]] != records[alike + 1, : keys.shape[1]]).any():
        # equal prefixes of different keys, 2^-64 per pair: look at each by itself
        firsts = {record.tobytes(): at for at, record in reversed(list(enumerate(records[:, : keys.shape[1]])))}
        return np.array([firsts.get(key.tobytes(), -1) for key in keys], dtype=np.intp)
    return np.where(equal, place, -1)


def among(keys: Bytes, others: Bytes) -> npt.NDArray[np.bool_]:
    """Which keys are among others, which are sorted."""
    found: npt.NDArray[np.bool_] = matched(others, keys) >= 0
    return found
