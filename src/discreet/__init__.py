"""discreet: private data science.

The one rule: a private answer is a clipped sum plus exact noise, paid for before the rows are read.

    import discreet as dc
    from discreet.models import LinearRegression
    from discreet.stats import mean
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    BudgetExceeded,
    DeltaWarning,
    DiscreetError,
    EngineError,
    LeakWarning,
    LedgerError,
    NoiseWarning,
    NotPrivateWarning,
    NotSupported,
    ReadError,
    VersionError,
)

if TYPE_CHECKING:
    from discreet import (
        accounting,
        anonymity,
        audit,
        checks,
        datasets,
        evaluate,
        events,
        features,
        local,
        models,
        plots,
        preprocessing,
        pseudonyms,
        stats,
    )
    from discreet.bounds import Bounds
    from discreet.budget import Budget
    from discreet.engines.spark import from_spark
    from discreet.engines.stream.sources import scan_csv, scan_parquet
    from discreet.ledger import Ledger
    from discreet.release import Release

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "Budget",
    "BudgetExceeded",
    "DeltaWarning",
    "DiscreetError",
    "EngineError",
    "LeakWarning",
    "Ledger",
    "LedgerError",
    "NoiseWarning",
    "NotPrivateWarning",
    "NotSupported",
    "ReadError",
    "Release",
    "VersionError",
    "accounting",
    "anonymity",
    "audit",
    "checks",
    "datasets",
    "evaluate",
    "events",
    "features",
    "from_spark",
    "local",
    "models",
    "plots",
    "preprocessing",
    "pseudonyms",
    "scan_csv",
    "scan_parquet",
    "stats",
]


HOMES = {
    "Bounds": "bounds",
    "Budget": "budget",
    "Ledger": "ledger",
    "Release": "release",
    "from_spark": "engines.spark",
    "scan_csv": "engines.stream.sources",
    "scan_parquet": "engines.stream.sources",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, when it is asked for: `discreet --help` needs none of it."""
    if name in HOMES:
        return getattr(import_module(f"discreet.{HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
