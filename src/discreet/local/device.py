"""Device: a person's side. It charges its budget, answers, and repeats the same report for the same survey.

A device keeps its own ledger and its reports in one SQLite file, or in memory. Charge and report are written in one
transaction before any report leaves: after a crash either both are stored, or neither is and nothing was sent. Two
processes that answer at once send the same report. Nothing here imports NumPy.

Whether a device answers depends on which surveys it has answered, never on a value.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from discreet.errors import BudgetExceeded, LedgerError, VersionError
from discreet.local.odds import write_epsilon
from discreet.local.randomise import Bits
from discreet.local.survey import Survey, read_survey

VERSION = 1

_SCHEMA = (
    "create table if not exists settings (version integer not null, budget text not null, secret blob not null)",
    "create table if not exists cells (survey text not null, place integer not null, cell text not null,"
    " last integer not null, primary key (survey, place))",
    "create table if not exists charges (number integer primary key, survey text not null, name text not null,"
    " epsilon text not null, total text not null)",
    "create table if not exists memos (survey text primary key, report text not null)",
    # charges, reports and cells are append-only
    "create trigger if not exists keep before delete on charges begin select raise(abort, 'append-only'); end",
    "create trigger if not exists fix before update on charges begin select raise(abort, 'append-only'); end",
    "create trigger if not exists keep_memos before delete on memos begin select raise(abort, 'append-only'); end",
    "create trigger if not exists keep_cells before delete on cells begin select raise(abort, 'append-only'); end",
    "create trigger if not exists fix_memos before update on memos begin select raise(abort, 'append-only'); end",
)


@dataclass(frozen=True)
class Report:
    """What leaves a device: the digest of the survey and a few whole numbers. It has no name, no time and no ε.

    >>> Report("sha256:0", (17,)).to_json()
    '{"r":[17],"survey":"sha256:0","v":1}'
    """

    survey: str
    numbers: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"v": VERSION, "survey": self.survey, "r": list(self.numbers)}

    def to_json(self) -> str:
        """The text that is sent; equal reports have equal texts."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))


class Device:
    """Answers surveys for one person, within a budget of their own.

    Parameters
    ----------
    path : a file on the device; None to keep everything in memory, for as long as the object lives.
    budget : the total ε of all surveys that this person answers: a number, or a `Budget` without δ. There is no
        default. A file keeps the budget that it was made with.

    Notes
    -----
    The guarantee: whatever surveys are answered, all reports together are `Pure` with the sum of their ε, which never
    exceeds the budget, under replace-one of this person's answers. Surveys may be chosen after seeing reports, because
    pure costs add up under adaptive composition.

    | | |
    | --- | --- |
    | the same survey again | the same report, at no cost, whatever the value is now |
    | a lasting survey again | a new report of the value's permanent response, or of the last one that was paid for |
    | a survey that does not fit into the budget | `BudgetExceeded`; nothing is charged |
    | a value that the question does not list | the question's `other` value, or a value drawn uniformly |
    | a crash, kill -9, two processes | charged once, with one report |

    Examples
    --------
    >>> device = Device(budget=1.5)
    >>> survey = Survey.choice("browser", ["A", "B", "C"], epsilon=1)
    >>> device.answer(survey, "B") == device.answer(survey, "C")
    True
    >>> device.answer(Survey.choice("colour", ["red", "blue"], epsilon=1), "red")
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: This survey costs ε = 1, and of the budget of 1.5 only 0.5 is left.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, budget: Any) -> None:
        self._budget = read_budget(budget)
        self._path = None if path is None else str(Path(path).resolve())
        self._lock, self._process = threading.RLock(), os.getpid()
        self._memory = (
            sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False) if path is None else None
        )
        if self._path is not None:
            if not os.path.isdir(os.path.dirname(self._path)):
                raise LedgerError(f"There is no folder {os.path.dirname(self._path)!r} for the device.")
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        with self._begin_transaction() as connection:
            self._open_file(connection)

    def _open_file(self, connection: sqlite3.Connection) -> None:
        for statement in _SCHEMA:
            connection.execute(statement)
        stored = connection.execute("select version, budget from settings").fetchone()
        if stored is None:
            settings = (VERSION, write_epsilon(self._budget), os.urandom(32))
            connection.execute("insert into settings values (?, ?, ?)", settings)
        elif stored[0] != VERSION:
            raise VersionError(f"This discreet reads devices of version {VERSION}. Got {stored[0]!r}.")
        elif Fraction(stored[1]) != self._budget:
            raise LedgerError(
                f"This device was made with a budget of {stored[1]}. Got {write_epsilon(self._budget)}. "
                "A budget cannot be raised by opening it again."
            )

    @property
    def budget(self) -> float:
        """The total ε that all surveys may cost."""
        return float(self._budget)

    @property
    def spent(self) -> float:
        """The ε that has been charged."""
        with self._begin_transaction() as connection:
            return float(_read_spent(connection))

    @property
    def left(self) -> float:
        """The ε that remains."""
        with self._begin_transaction() as connection:
            return float(self._budget - _read_spent(connection))

    def answer(self, survey: Survey | str | dict[str, Any], value: Any) -> Report:
        """A report of the value; the same as before if this survey was answered before.

        Parameters
        ----------
        survey : the survey or its JSON. Its privacy guarantee is checked before it is answered.
        value : this person's answer.
        """
        survey = read_survey(survey)
        if survey.design.lasting:
            with self._begin_transaction() as connection:
                return self._answer_lasting(connection, survey, value)
        with self._open_connection() as connection:
            known = _recall_report(connection, survey)
        if known is not None:
            return known
        with self._begin_transaction() as connection:
            known = _recall_report(connection, survey)  # another process may have been faster
            return self._answer_first(connection, survey, value) if known is None else known

    def _answer_first(self, connection: sqlite3.Connection, survey: Survey, value: Any) -> Report:
        self._charge_survey(connection, survey)
        # BOUND + PRIVATISE: the value becomes a whole number, and a report of it is drawn
        bits = Bits()
        numbers = survey.design.answer(survey.question.encode_answer(value, bits), bits)
        connection.execute("insert into memos values (?, ?)", (survey.digest, json.dumps(numbers)))
        return Report(survey.digest, numbers)

    def _answer_lasting(self, connection: sqlite3.Connection, survey: Survey, value: Any) -> Report:
        """A new report of the permanent response to the value's cell, or to the last cell if this one is not paid."""
        design, kept = survey.design, _read_cells(connection, survey)
        if not kept:
            self._charge_survey(connection, survey)
        settled = design.draw_setup(self._make_keyed_bits(connection, survey, "device"))
        cell = json.dumps(design.find_cell(survey.question.encode_answer(value, Bits()), settled))
        if cell not in kept and len(kept) < design.cells:
            kept.append(cell)
            place = (survey.digest, len(kept), cell)
            connection.execute("insert into cells (survey, place, cell, last) values (?, ?, ?, 1)", place)
        paid = cell if cell in kept else _read_last(connection, survey)
        if len(kept) > 1:
            connection.execute("update cells set last = (cell = ?) where survey = ?", (paid, survey.digest))
        response = design.draw_response(json.loads(paid), settled, self._make_keyed_bits(connection, survey, paid))
        return Report(survey.digest, design.draw_report(response, settled, Bits()))

    def _make_keyed_bits(self, connection: sqlite3.Connection, survey: Survey, what: str) -> Bits:
        """Pseudo-random bits from the device's secret, the survey and the cell: the same each time for a cell."""
        secret = connection.execute("select secret from settings").fetchone()[0]
        name, numbers = f"{survey.digest}\0{what}".encode(), count()

        def read_bytes(size: int) -> bytes:
            blocks = (hmac.digest(secret, name + next(numbers).to_bytes(8, "big"), "sha256") for _ in range(size // 32))
            return b"".join(blocks)

        return Bits(read_bytes)

    def _charge_survey(self, connection: sqlite3.Connection, survey: Survey) -> None:
        spent = _read_spent(connection)
        left = self._budget - spent
        if survey.lifetime > left:
            raise BudgetExceeded(
                f"This survey costs ε = {write_epsilon(survey.lifetime)}, and of the budget of "
                f"{write_epsilon(self._budget)} only {write_epsilon(left)} is left."
            )
        connection.execute(
            "insert into charges (survey, name, epsilon, total) values (?, ?, ?, ?)",
            (survey.digest, survey.name, write_epsilon(survey.lifetime), str(spent + survey.lifetime)),
        )

    @contextmanager
    def _begin_transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection while no other process writes; committed to disk at the end, and rolled back after an error."""
        with self._open_connection() as connection:
            connection.execute("begin immediate")
            try:
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    @contextmanager
    def _open_connection(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            if os.getpid() != self._process:
                raise LedgerError("This device in memory belongs to the process that made it. Hint: give it a file.")
            with self._lock:
                yield self._memory
            return
        try:
            connection = sqlite3.connect(str(self._path), timeout=60, isolation_level=None)
            try:
                connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = full")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise LedgerError(f"The device at {self._path!r} cannot be used: {error}.") from error

    def __repr__(self) -> str:
        return f"<Device of ε = {write_epsilon(self._budget)}, {'in memory' if self._path is None else 'in a file'}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A Device cannot be copied or pickled: two copies would spend one budget twice.")


def _read_spent(connection: sqlite3.Connection) -> Fraction:
    last = connection.execute("select total from charges order by number desc limit 1").fetchone()
    return Fraction(last[0]) if last else Fraction(0)


def _read_cells(connection: sqlite3.Connection, survey: Survey) -> list[str]:
    found = connection.execute("select cell from cells where survey = ? order by place", (survey.digest,))
    return [cell for (cell,) in found]


def _read_last(connection: sqlite3.Connection, survey: Survey) -> str:
    found = connection.execute("select cell from cells where survey = ? and last = 1", (survey.digest,))
    return str(found.fetchone()[0])


def _recall_report(connection: sqlite3.Connection, survey: Survey) -> Report | None:
    known = connection.execute("select report from memos where survey = ?", (survey.digest,)).fetchone()
    return None if known is None else Report(survey.digest, tuple(json.loads(known[0])))


def read_budget(budget: Any) -> Fraction:
    """The ε of a budget, as an exact fraction of its decimal.

    >>> read_budget(4), read_budget(0.3)
    (Fraction(4, 1), Fraction(3, 10))
    """
    number = getattr(budget, "epsilon", budget)
    real = isinstance(number, (int, float, Fraction)) and not isinstance(number, bool)
    if not real or not 0 < number < float("inf"):
        raise ValueError(f"The `budget` of a device must be a finite number > 0. Got {number!r}.")
    if getattr(budget, "delta", 0):
        raise ValueError("The `budget` of a device has no delta: its guarantee is pure.")
    return number if isinstance(number, Fraction) else Fraction(str(number))
