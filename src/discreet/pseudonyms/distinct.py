"""Distinct rows first: what is costly is done once for each person, not once for each row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

Codes = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


def distinct(frame: pl.DataFrame) -> tuple[pl.DataFrame, Codes]:
    """The distinct rows of a frame, and for each row which of them it is.

    Rows are told apart by a fast 64-bit hash and then compared: where two different ones share a hash, as happens with
    probability n²/2^65, they are told apart by their values after all. Nulls are equal to each other, and so are NaNs.

    Examples
    --------
    >>> rows, codes = distinct(pl.DataFrame({"a": ["x", "y", "x", None, None]}))
    >>> rows[codes]["a"].to_list(), len(rows)
    (['x', 'y', 'x', None, None], 3)
    """
    if frame.height == 0 or frame.width == 0:
        return frame, np.zeros(frame.height, np.uint32)
    codes, firsts = _coded(frame.hash_rows(seed=1).to_numpy())
    found = frame[firsts]
    again = found[codes]
    if all(frame[name].eq_missing(again[name]).all() for name in frame.columns):
        return found, codes
    return _compared(frame)


def _coded(hashes: npt.NDArray[np.uint64]) -> tuple[Codes, npt.NDArray[np.int64]]:
    """For each hash which of the distinct ones it is, and for each of those a row that has it.

    Hashes are sorted together with their rows, which take the place of their low bits: one sort of plain numbers. Where
    two hashes differ in low bits alone, they are ranked instead.
    """
    low = np.uint64(max(1, (len(hashes) - 1).bit_length()))
    rows = np.arange(len(hashes), dtype=np.uint64)
    packed = np.sort(hashes >> low << low | rows)
    order = (packed & ((np.uint64(1) << low) - np.uint64(1))).astype(np.int64)
    whole, cut = hashes[order], packed >> low
    fresh = np.append(True, cut[1:] != cut[:-1])
    if (fresh[1:] != (whole[1:] != whole[:-1])).any():
        ranks = pl.Series(hashes).rank("dense").to_numpy().astype(np.uint32) - np.uint32(1)
        return ranks, np.unique(ranks, return_index=True)[1]
    codes = np.empty(len(hashes), np.uint32)
    codes[order] = np.cumsum(fresh, dtype=np.uint32) - np.uint32(1)
    return codes, order[fresh]


def _compared(frame: pl.DataFrame) -> tuple[pl.DataFrame, Codes]:
    """The same by comparing values."""
    name = "_" + "_".join(frame.columns)  # no column is called so
    groups = frame.with_row_index(name).group_by(frame.columns, maintain_order=True).agg(pl.col(name))
    sizes = groups[name].list.len().to_numpy()
    codes = np.empty(frame.height, np.uint32)
    codes[groups[name].explode().to_numpy()] = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    return groups.drop(name), codes


def distinct_bytes(rows: Bytes) -> tuple[Bytes, Codes]:
    """The same for rows of 16 bytes, (n, 16).

    >>> found, codes = distinct_bytes(np.zeros((3, 16), np.uint8))
    >>> len(found), codes.tolist()
    (1, [0, 0, 0])
    """
    words = np.ascontiguousarray(rows).view(np.uint64)
    found, codes = distinct(pl.DataFrame({"a": words[:, 0], "b": words[:, 1]}))
    pairs = np.column_stack([found["a"].to_numpy(), found["b"].to_numpy()])
    return np.ascontiguousarray(pairs).view(np.uint8), codes
