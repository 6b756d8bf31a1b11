"""What is asked of a table, checked before anything of it is read."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import outside
from discreet.pseudonyms.entries import day, words
from discreet.pseudonyms.errors import RowsWarning
from discreet.pseudonyms.keyring import checked
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.naming import Policy
from discreet.pseudonyms.roles import COLUMN
from discreet.pseudonyms.runs import Run
from discreet.pseudonyms.totals import Totals

Retention = str | datetime.date | int | None
Recorded = Callable[[Run], None]


@dataclass(frozen=True)
class Request:
    """What is asked of a table; `pseudonymise` and `share` say what each part means."""

    purpose: str
    partner: str | None = None
    name: str | None = None
    out: str | os.PathLike[str] | None = None
    policy: Policy = field(default_factory=Policy)
    column: str = COLUMN
    one_way: bool = False
    who: str | None = None
    retention: Retention = None
    dialect: Dialect | None = None
    progress: bool | None = None
    worker_file: str | os.PathLike[str] | None = None
    keep: Sequence[str] = ()
    overwrite: bool = False
    recorded: Recorded | None = None

    def __post_init__(self) -> None:
        if isinstance(self.keep, str):
            raise TypeError(f'The `keep` must be a list of columns. Hint: keep=["{self.keep}"].')

    @property
    def act(self) -> str:
        """The word for it in the register."""
        return "pseudonymise" if self.partner is None else "share"

    def check(self) -> None:
        """Refuse what the register would refuse, while nobody is taken in yet."""
        words(self.who, "who")
        day(self.retention)
        if (name := called(self)) is not None:
            checked(name, "table")


def called(request: Request) -> str | None:
    """The name of a table in the register; None for one that the register makes up."""
    if request.name is not None or request.out is None:
        return request.name
    return Path(request.out).name.partition(".")[0] or None


def warn(totals: Totals) -> None:
    """Warn of rows that are of nobody, before the table is recorded: who makes errors of warnings gets no table."""
    if remark := totals.remark():
        warnings.warn(remark, RowsWarning, stacklevel=outside())


def tell(request: Request, run: Run) -> None:
    """Hand over the record."""
    if request.recorded is not None:
        request.recorded(run)
