"""Content: a digest of what rows hold, by which a retrying ledger tells whether they are those of an earlier run.

It is as secret as the rows: whoever knows all of a table but one row could test guesses of that row with it. It leaves
an engine only into the key of a run, under a secret of the ledger (`discreet.ledger.retrying`).
"""

from __future__ import annotations

import hashlib
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from numpy.typing import NDArray

from discreet.labels import canonical


class Content:
    """SHA-256 of facts and arrays, one after the other.

    >>> import numpy as np
    >>> one, two = Content("x"), Content("x")
    >>> one.add(np.array([1, "a", None], dtype=object))
    >>> two.add(np.array([1, "b", None], dtype=object))
    >>> one.digest() == two.digest()
    False
    """

    def __init__(self, *facts: Any) -> None:
        self._hash = hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass"))

    def add(self, values: NDArray[Any]) -> None:
        """More values: numbers by their bits, objects by a form that is the same for the same object, whoever holds it.

        It raises nothing, whatever values there are: rows are read here before anything is charged.
        """
        if values.dtype.hasobject:
            for value in values.ravel():
                form = _describe_value(value)
                self._hash.update(len(form).to_bytes(8, "big") + form)
        else:
            self._hash.update(values.tobytes())

    def digest(self) -> str:
        """The digest of all that was added."""
        return self._hash.hexdigest()


def _describe_value(value: Any) -> bytes:
    """What can be told of an object: of a text or number all, else what kind it is (no statistic reads more of it)."""
    kind, form, told = type(value).__name__, canonical(value), ""
    try:
        if isinstance(form, int):
            told = f"{form:x}"  # of any length
        elif form is not None or isinstance(value, (bytes, date, UUID, Decimal)):
            told = repr(value if form is None else form)
    except Exception:  # a class of somebody else's: it tells nothing of itself
        told = ""
    return f"{kind} {told}".encode("utf-8", "surrogatepass")
