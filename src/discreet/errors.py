"""Every way discreet says no.

    DiscreetError
    ├── BudgetExceeded      a charge would spend more than the ledger allows; nothing was spent
    ├── LedgerError         the ledger cannot be used this way (another budget, another process ...)
    ├── NotSupported        never possible, or not yet; the message says which
    ├── ReadError           rows could not be read after a charge; the message says how to go on
    ├── EngineError         what an engine says of files and columns, never of values
    └── VersionError        stored by a version of discreet this one does not know

    DiscreetWarning
    ├── NotPrivateWarning   the result carries no guarantee (a seeded run)
    ├── LeakWarning         something fitted on the data outside the budget precedes a private step
    ├── DeltaWarning        delta is not far below 1/n
    └── NoiseWarning        there are too few rows for the budget

Bad arguments raise `ValueError` or `TypeError`, as everywhere in Python. No message ever holds a row's value.
"""

from __future__ import annotations

import sys

_OURS = ("discreet", "sklearn", "joblib")  # packages whose lines a warning does not point at


class DiscreetError(Exception):
    """Base of all errors of this library."""


class BudgetExceeded(DiscreetError):
    """A charge would spend more than the ledger allows. Nothing was charged."""


class LedgerError(DiscreetError):
    """The ledger cannot be used this way."""


class NotSupported(DiscreetError, ValueError):
    """What was asked for is never possible, or not yet; the message says which."""


class ReadError(DiscreetError):
    """Reading the rows failed after the charge. It stays charged; nothing was released; a retry can use it."""


class EngineError(DiscreetError):
    """An engine cannot read. Its message names files and columns, never a value, so it may be shown."""


class VersionError(DiscreetError, ValueError):
    """A document written by a version of discreet that this one does not know."""


class DiscreetWarning(UserWarning):
    """Base of all warnings of this library."""


class NotPrivateWarning(DiscreetWarning):
    """The result carries no guarantee."""


class LeakWarning(DiscreetWarning):
    """Something learnt from the data without paying flows into a private step."""


class DeltaWarning(DiscreetWarning):
    """Delta is not far below one over the number of people."""


class NoiseWarning(DiscreetWarning):
    """There are too few rows for the budget: what is learnt is mostly noise."""


def outside() -> int:
    """The `stacklevel` of the line that called into discreet, itself or by scikit-learn, as seen from the caller."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    return level
