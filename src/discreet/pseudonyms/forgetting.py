"""Forgetting: what erasures and restores delete of a person, wherever it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.runs import runs
from discreet.pseudonyms.suppression import WIDTH
from discreet.pseudonyms.versions import kinds as all_kinds
from discreet.pseudonyms.versions import name_of

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


@dataclass(frozen=True, repr=False)
class Forgotten:
    """What was deleted.

    Attributes
    ----------
    cut : whether there was a link.
    tags : all tags and ids of the person, for the suppression list.
    known_by : what stands for the sharpest identity of theirs.
    uncovered : identities of which no tag of theirs is known.
    """

    cut: bool
    tags: Bytes
    known_by: bytes
    uncovered: tuple[str, ...]


def forget(vault: Vault, tags: Bytes, kinds: Sequence[str] = ()) -> Forgotten:
    """Delete links and uses of whoever has these tags, inside a transaction.

    Parameters
    ----------
    tags, kinds : by which the person was found, and what they are; kinds may be missing.
    """
    every, ids, cut = tags, tags, False
    labels = set(kinds)
    if vault.links == "stored":
        known = [vault.people.known(tag) for tag in tags]
        found = {one.id.tobytes(): one.id for one in known if one.id is not None and not one.shared}
        labels = {kind for kind, one in zip(kinds, known, strict=False) if not one.shared}
        ids = every_id(vault, list(found.values()))
        labels |= {label for id in found.values() for label in _labels(vault, id)}
        own = np.array([not one.shared for one in known], bool)
        parts = [vault.people.remove(id, tags[own]) for id in found.values()] or [tags[own]]
        every, cut = np.unique(np.concatenate([*parts, ids]), axis=0), bool(len(ids))
    for run in runs(vault) if len(ids) else ():
        if run.located:
            vault.uses.remove(run.uid, ids)
    return Forgotten(cut, every, *_covering(vault, labels))


def _labels(vault: Vault, id: Bytes) -> set[str]:
    """The kinds of identities that a person is known by."""
    names = {vault.people.kind(label): label for label in all_kinds(vault.schemas())}
    return {names[kind] for kind in vault.people.known_as(id).values() if kind in names}


def _covering(vault: Vault, labels: set[str]) -> tuple[bytes, tuple[str, ...]]:
    """What stands for the sharpest of some kinds of identities; and the identities of now that are not among them."""
    known = all_kinds(vault.schemas())
    fields = [one.fields for one in known.values() if one.label in labels]
    names = [name_of(one.label) for one in known.values() if not one.age and one.fields not in fields]
    return vault.people.kind(fields[0]) if fields else bytes(WIDTH), tuple(names)


def every_id(vault: Vault, ids: list[Bytes]) -> Bytes:
    """Ids with the former ones, each once."""
    parts = [vault.people.every_id(id) for id in ids]
    return np.unique(np.concatenate(parts), axis=0) if parts else np.zeros((0, 16), np.uint8)
