"""privacy.toml: what is public about a table, and what may be spent on it. It lies next to the data.

[data]
path = "visits.csv"
unit = "patient"            # a column, or "row": who is protected
max_rows_per_unit = 4       # optional: read at most so many rows of each
n = 20000                   # optional: about how many units there are, if that is public; delta is checked by it
public = false              # true: the rows are public, and `frontier --public` may use them

[columns.age]
kind = "number"             # clipped to low and high
low = 0
high = 120
whole = true                # optional: whole numbers alone, and so are its quartiles

[columns.ward]
kind = "category"           # any other value counts as missing
values = ["north", "south"]

[columns.name]
kind = "skip"               # never read

[budget]
epsilon = 2.0               # of everything that is ever asked of these data
delta = 1e-7
neighbours = "add-remove"

[ledger]                    # optional: the account that adds up what is spent
path = "visits.ledger"
data = "visits"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.arguments import check_whole
from discreet.budget import refuse_delta, warn_of_delta
from discreet.cli.columns import KINDS, Column

if TYPE_CHECKING:
    from discreet.bounds import Bounds
    from discreet.budget import Budget
    from discreet.ledger import Ledger

NAME = "privacy.toml"
KEYS: dict[str, tuple[str, ...]] = {
    "": ("data", "columns", "budget", "ledger"),
    "data": ("path", "unit", "max_rows_per_unit", "n", "public"),
    "budget": ("epsilon", "delta", "neighbours"),
    "ledger": ("path", "data"),
    "columns": ("kind", "low", "high", "whole", "values"),
}


@dataclass(frozen=True)
class Facts:
    """All of a privacy.toml; `home` is its folder, to which its paths are relative."""

    home: Path
    columns: Mapping[str, Column]
    epsilon: float
    delta: float = 0.0
    neighbours: str = "add-remove"
    path: str | None = None
    unit: str = "row"
    max_rows_per_unit: int | None = None
    n: int | None = None
    ledger_path: str | None = None
    data_name: str | None = None
    public: bool = False
    file: str = field(default=NAME, compare=False)

    def __post_init__(self) -> None:
        _ = self.budget  # raises for what is no budget
        refuse_delta("The `delta` of [budget]", self.delta, self.unit)
        warn_of_delta("The `delta` of [budget]", self.delta, self.n, self.unit)
        if not isinstance(self.public, bool):
            raise ValueError(f"The `public` of [data] must be true or false. Got {self.public!r}.")
        if not self.columns:
            raise ValueError("There are no columns in it. Hint: one table [columns.NAME] for each.")
        for name, least in (("max_rows_per_unit", 1), ("n", 1)):
            value = getattr(self, name)
            if value is not None:
                check_whole("[data]", name, value, least)
        if self.unit != "row" and self.unit not in self.columns:
            raise ValueError(f"The unit {self.unit!r} is none of the columns.{_meant(self.unit, self.columns)}")
        if self.unit == "row" and self.max_rows_per_unit is not None:
            raise ValueError("`max_rows_per_unit` of [data] needs a `unit`: rows by themselves have no others.")

    def delta_of(self, given: float | None) -> float:
        """The δ of an answer: the one given by --delta, or that of the budget."""
        if given is None:
            return self.delta
        refuse_delta("The --delta", given, self.unit)
        warn_of_delta("The --delta", given, self.n, self.unit)
        if self.ledger_path is not None and given > self.delta:
            raise ValueError(
                f"The --delta, {given:g}, is more than the δ of the whole account, {self.delta:g}: no answer may be "
                f"weaker than all of them together. Nothing was charged. Hint: leave --delta out, or {self.delta:g} at "
                "most."
            )
        return given

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        from discreet.budget import Budget

        return Budget.derive(self.epsilon, self.delta, self.neighbours, self.unit)  # type: ignore[arg-type]

    @property
    def numbers(self) -> tuple[Column, ...]:
        """The columns of numbers, but for the unit."""
        return tuple(one for one in self.columns.values() if one.kind == "number" and one.name != self.unit)

    @property
    def categories(self) -> tuple[Column, ...]:
        """The columns of categories, but for the unit."""
        return tuple(one for one in self.columns.values() if one.kind == "category" and one.name != self.unit)

    @property
    def used(self) -> tuple[Column, ...]:
        """Numbers and categories, in the order of the file."""
        return tuple(one for one in self.columns.values() if one.kind != "skip" and one.name != self.unit)

    def column(self, name: str, option: str = "--target") -> Column:
        """The column of this name; where there is none, or it is skipped, what to do."""
        if name not in self.columns:
            raise ValueError(
                f"There is no column {name!r} in {self.file} ({option}).{_meant(name, self.columns)} "
                f"There are: {list(self.columns)}."
            )
        found = self.columns[name]
        if found.kind == "skip" or name == self.unit:
            why = "says who a row belongs to" if name == self.unit else f'is of kind "skip" in {self.file}'
            raise ValueError(f"The column {name!r} {why}: it cannot be used for {option}.")
        return found

    @property
    def ledger(self) -> Path | None:
        """The file of the account, if one is named."""
        return None if self.ledger_path is None else self.home / self.ledger_path

    def bounds(self, columns: tuple[Column, ...]) -> Bounds:
        """Bounds of these columns of numbers."""
        from discreet.bounds import Bounds

        return Bounds({one.name: (one.low, one.high) for one in columns})  # type: ignore[misc]

    def account(self) -> Ledger | None:
        """The ledger, made if it is not there yet; None if none is named."""
        if self.ledger_path is None:
            return None
        from discreet.errors import LedgerError
        from discreet.ledger import Ledger

        try:
            return Ledger.open(self.home / self.ledger_path, self.budget, data=self.data_name)
        except LedgerError as error:
            if "was opened with" not in str(error):
                raise
            raise LedgerError(
                f"{error} Hint: an account keeps its terms; write them into {self.file} as they were, or name a new "
                "ledger, if whoever answers for the data agrees to a second budget."
            ) from None


def beside(data: str | Path) -> Path:
    """Where the facts about a data file are."""
    path = Path(data)
    return (path if path.is_dir() else path.parent) / NAME


def read(path: str | Path) -> Facts:
    """The facts in a file, strictly checked; errors name the file, the table and the key."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(
            f"There is no {str(path)!r}: bounds, categories and budget are not known. Hint: `discreet init DATA` "
            "writes it, and asks for each."
        )
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is no UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        # the rest may quote what the file holds; before Python 3.14 the line is nowhere but in this text
        place = re.search(r"line \d+", str(error))
        raise ValueError(f"{path.name} is no TOML{f': see {place[0]}' if place else ''}.") from None
    try:
        return _facts(document, path)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from None


def _facts(document: dict[str, Any], path: Path) -> Facts:
    _known("", document)
    parts = {name: _table(name, document.get(name, {})) for name in KEYS[""]}
    for name in ("data", "budget", "ledger"):
        _known(name, parts[name])
    if "epsilon" not in parts["budget"]:
        raise ValueError("There is no `epsilon` in [budget]: how much may be spent in all. Hint: epsilon = 2.0.")
    if parts["ledger"] and not isinstance(parts["ledger"].get("path"), str):
        raise ValueError('There is no `path` in [ledger]. Hint: path = "data.ledger".')
    for table, key in (("data", "path"), ("data", "unit"), ("ledger", "data")):
        if not isinstance(parts[table].get(key, ""), str):
            raise ValueError(f"The `{key}` of [{table}] must be text.")
    columns = {name: _column(name, _table(f"columns.{name}", one)) for name, one in parts["columns"].items()}
    ledger = parts["ledger"]
    return Facts(
        path.parent,
        columns,
        **parts["budget"],
        **parts["data"],
        ledger_path=ledger.get("path"),
        data_name=ledger.get("data"),
        file=path.name,
    )


def _column(name: str, content: dict[str, Any]) -> Column:
    _known("columns", content, f"columns.{name}")
    if "kind" not in content:
        raise ValueError(f"There is no `kind` in [columns.{name}]. Hint: one of {list(KINDS)}.")
    values = content.get("values", [])
    if not isinstance(values, list):
        raise ValueError(f"The `values` of [columns.{name}] must be a list.")
    ends = content.get("low"), content.get("high")
    return Column(name, content["kind"], *ends, tuple(values), content.get("whole", False))


def _table(name: str, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"`{name}` must be a table, [{name}].")
    return content


def _known(table: str, content: Mapping[str, Any], shown: str | None = None) -> None:
    for key in content:
        if key not in KEYS[table]:
            where = f" in [{shown or table}]" if table else ""
            raise ValueError(f"There is no key {key!r}{where}.{_meant(key, KEYS[table])}")


def _meant(name: str, known: Any) -> str:
    from difflib import get_close_matches

    near = get_close_matches(str(name), [str(one) for one in known], 1)
    return f" Did you mean {near[0]!r}?" if near else ""
