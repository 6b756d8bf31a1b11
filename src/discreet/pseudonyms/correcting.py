"""Correction (GDPR Article 16): an identity that a vault took for somebody's, and that is not.

One wrong row is enough: a name under the number of somebody else makes the name *shared*, and of no use to its owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import NotSupported
from discreet.pseudonyms.entries import Entry, words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.persons import Person
from discreet.pseudonyms.rights import find_person, tags_of

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


def correct(
    vault: Vault, person: Person | Mapping[str, Any], wrong: Mapping[str, Any], *, who: str | None = None
) -> Entry:
    """Take off an identity that is not this person's; on disk when this returns.

    Parameters
    ----------
    person : from `find`, by another identity, or its fields and values.
    wrong : the fields and values of the identity, as for `find`, and of no other one.
    who : for the register, which notes the correction and nobody.

    | the identity | then |
    | --- | --- |
    | is not the person's, or the only one | `VaultError`; the last one goes with `erase` |
    | was shared, and one other person has it | it is that person's alone again, and leads to them |
    | was shared by more people | it stays so |

    Tables stay as they are: rows that were made under the wrong identity are the holder's to correct. A restore from an
    older backup brings the wrong identity back. With derived links nothing is stored: `NotSupported`.
    """
    person = find_person(vault, person)
    if vault.links == "derived":
        raise NotSupported("With derived links a vault stores no identity that could be wrong.")
    name, (_, tags) = words(who, "who"), tags_of(vault, wrong)
    with vault.database.transaction():
        known = [vault.people.known(tag) for tag in person._tags]
        own = {one.id.tobytes(): one.id for one in known if one.id is not None and not one.shared}
        if len(own) != 1:
            raise VaultError("The person is not known by one id. Hint: find by one identity that is right.")
        (id,) = own.values()
        if not vault.people.take_off(id, tags):
            raise VaultError("The identity is not this person's, or the only one. Hint: vault.erase forgets somebody.")
        entry = vault.register.append("correct", who=name, rows=1)
    vault.database.tidy()
    return entry
