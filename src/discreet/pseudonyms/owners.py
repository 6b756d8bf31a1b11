"""Shared tags: identities that several people have, and whose they are.

A mark keeps its owners, so that it goes with the last of them. A value of very many people ("Unknown", 1900-01-01) is a
placeholder: of these it is only kept how many there are, or every new row would have to write all of them again.

| owners | what is stored under the tag |
| --- | --- |
| up to 64 | a record for each: their id |
| more | one record: eight zeros, and their number |

A placeholder stays one until its last owner is gone, and is on no list of erased people. An id begins with eight zeros
with probability 2^-64.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from discreet.pseudonyms.chunks import Bytes, Chunks

MOST = 64  # owners that are listed
ZEROS = bytes(8)
Pair = tuple[bytes, bytes]  # a tag and an owner


class Owners:
    """Whose shared tags are.

    Parameters
    ----------
    store : of tags and ids, several to a tag.
    """

    def __init__(self, store: Chunks) -> None:
        self._store = store

    def change(self, *, add: Iterable[Pair] = (), drop: Iterable[Pair] = ()) -> dict[bytes, int]:
        """Add and drop owners, inside a transaction; how many each of the tags has then. One without any is no more."""
        more, less = list(add), list(drop)
        tags = list(dict.fromkeys(tag for tag, _ in (*less, *more)))
        if not tags:
            return {}
        keys = _array(tags)
        listed, crowds = self._read(tags, keys)
        for tag, owner in less:
            if tag in crowds:
                crowds[tag] -= 1
            listed[tag].discard(owner)
        for tag, owner in more:
            if tag in crowds:
                crowds[tag] += 1
            else:
                listed[tag].add(owner)
        self._write(keys, listed, crowds)
        return {tag: crowds[tag] if tag in crowds else len(listed[tag]) for tag in tags}

    def placeholders(self, tags: Bytes) -> set[bytes]:
        """Which of the tags, (n, 16), are placeholders: they name nobody, also when the last owner is erased."""
        distinct = np.unique(tags, axis=0)
        return set(self._read([tag.tobytes() for tag in distinct], distinct)[1])

    def last(self, tag: Bytes) -> Bytes | None:
        """The one owner of a tag, (1, 16); None if there are more, or only their number is known."""
        found = self._store.all(tag)
        return found if len(found) == 1 and found[0].tobytes()[:8] != ZEROS else None

    def _read(self, tags: Sequence[bytes], keys: Bytes) -> tuple[defaultdict[bytes, set[bytes]], dict[bytes, int]]:
        listed: defaultdict[bytes, set[bytes]] = defaultdict(set)
        crowds: dict[bytes, int] = {}
        for place, value in zip(*self._store.every(keys), strict=True):
            content = value.tobytes()
            if content[:8] == ZEROS:
                crowds[tags[place]] = int.from_bytes(content[8:], "big")
            else:
                listed[tags[place]].add(content)
        return listed, crowds

    def _write(self, keys: Bytes, listed: dict[bytes, set[bytes]], crowds: dict[bytes, int]) -> None:
        for tag in [tag for tag, owners in listed.items() if len(owners) > MOST]:
            crowds[tag] = len(listed.pop(tag))
        records = [(tag, owner) for tag, owners in listed.items() for owner in sorted(owners)]
        records += [(tag, ZEROS + count.to_bytes(8, "big")) for tag, count in crowds.items() if count > 0]
        self._store.remove(keys)
        if records:
            self._store.put(_array([tag for tag, _ in records]), _array([value for _, value in records]))


def _array(rows: Sequence[bytes]) -> Bytes:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 16)
