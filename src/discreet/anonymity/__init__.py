"""Tables in which nobody stands alone: generalisation of columns, and the risk that is left.

Nothing here adds noise, and nothing here is a private release: a table that meets a criterion can still tell a lot to
somebody who knows more than the quasi-identifiers. See `docs` for what anonymity does not give.
"""

from discreet.anonymity import losses
from discreet.anonymity.alone import Alone, UniqueWarning
from discreet.anonymity.anonymise import anonymise
from discreet.anonymity.attacks import Linkage, background_attack, homogeneity_attack, linkage_attack
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
from discreet.anonymity.people import MissingPerson
from discreet.anonymity.result import Anonymised
from discreet.anonymity.risk import Risk, risk

__all__ = [
    "Alone",
    "Anonymised",
    "DeltaPresence",
    "DistinctL",
    "EntropyL",
    "Hierarchy",
    "HierarchyError",
    "Infeasible",
    "KAnonymity",
    "KMap",
    "Linkage",
    "MissingPerson",
    "RecursiveCL",
    "Risk",
    "TCloseness",
    "UniqueWarning",
    "anonymise",
    "background_attack",
    "homogeneity_attack",
    "linkage_attack",
    "losses",
    "minimal_generalisations",
    "risk",
]
