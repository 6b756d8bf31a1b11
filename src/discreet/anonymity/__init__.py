"""Tables in which nobody stands alone: generalisation of columns, and the risk that is left.

Nothing here adds noise, and nothing here is a private release: a table that meets a criterion can still tell a lot to
somebody who knows more than the quasi-identifiers. See `docs` for what anonymity does not give.
"""

from discreet.anonymity import losses
from discreet.anonymity.anonymise import anonymise
from discreet.anonymity.criteria import (
    DeltaPresence,
    DistinctL,
    EntropyL,
    KAnonymity,
    KMap,
    RecursiveCL,
    TCloseness,
)
from discreet.anonymity.hierarchies import Hierarchy, HierarchyError
from discreet.anonymity.incognito import minimal_generalisations
from discreet.anonymity.infeasible import Infeasible
from discreet.anonymity.result import Anonymised

__all__ = [
    "Anonymised",
    "DeltaPresence",
    "DistinctL",
    "EntropyL",
    "Hierarchy",
    "HierarchyError",
    "Infeasible",
    "KAnonymity",
    "KMap",
    "RecursiveCL",
    "TCloseness",
    "anonymise",
    "losses",
    "minimal_generalisations",
]
