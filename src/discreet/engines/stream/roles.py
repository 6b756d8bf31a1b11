"""Roles: which columns of a source are features, target and unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from discreet.engines.arrow import ReadBuffer, classify_type, find_arrow_label_type, read_matrix, read_objects
from discreet.engines.stream.source import Source
from discreet.engines.tables import ArrayTable, check_names, check_numeric


@dataclass(frozen=True)
class Roles:
    """What each column is for; `numeric` if features are numbers, else they are taken as they are."""

    source: Source
    features: tuple[str, ...]
    target: str | None = None
    unit: str | None = None
    numeric: bool = True

    @classmethod
    def from_names(cls, source: Source, target: str | None, columns: Sequence[str] | None) -> Roles:
        """Roles by names; without `columns`, all but the target are features."""
        if not source.schema.names:
            raise ValueError(f"{source.name} has no columns.")
        refuse_single_text(columns)
        check_names(source.schema.names if columns is None else columns)  # no name twice
        for name in (target, *(columns or ())):
            _check_column(source, name)
        if target is not None and classify_type(source.schema.field(target).type) == "other":
            raise TypeError(f"The target {target!r} is neither numbers nor text: {source.schema.field(target).type}.")
        names = source.schema.names if columns is None else columns
        return cls(source, tuple(name for name in names if name != target), target)

    def assign_units(self, unit: str) -> Roles:
        """With this column for the unit, which is no feature then."""
        _check_column(self.source, unit)
        of = self.source.schema.field(unit).type
        if unit == self.target or classify_type(of) == "other" or pa.types.is_decimal(of):
            raise TypeError(f"The unit {unit!r} must be a column of its own, of numbers or text. It is of type {of}.")
        return replace(self, unit=unit, features=tuple(name for name in self.features if name != unit))

    def expect_types(self, numeric: bool, labels: bool) -> Roles:
        """For a use of the rows: features of any type if not `numeric`, targets of any with `labels`."""
        if self.has_text_target and not labels:
            of = self.source.schema.field(self.target).type
            raise TypeError(f"The target {self.target!r} is of type {of}, not of numbers.")
        return replace(self, numeric=numeric or all(fine for _, fine in self._list_kinds()))

    @property
    def has_text_target(self) -> bool:
        """Whether the target is text."""
        return self.target is not None and classify_type(self.source.schema.field(self.target).type) == "text"

    def restore_label_types(self, counts: Mapping[Any, int]) -> dict[Any, int]:
        """Counts by label, each label of the type that the target's column is of."""
        made = None if self.target is None else find_arrow_label_type(self.source.schema.field(self.target).type)
        return {label if made is None else made(label): count for label, count in counts.items()}

    def _list_kinds(self) -> list[tuple[str, bool]]:
        return [
            (name, classify_type(self.source.schema.field(name).type) in ("number", "nothing"))
            for name in self.features
        ]

    def list_columns(self, features: bool) -> tuple[list[str], list[str]]:
        """The columns to read, with features or without: as numbers, and as they are."""
        numbers = list(self.features) if features and self.numeric else []
        labels = list(self.features) if features and not self.numeric else []
        if self.target is not None:
            (labels if self.has_text_target else numbers).append(self.target)
        return numbers, labels if self.unit is None else [*labels, self.unit]

    def read_table(self, batch: pa.RecordBatch, room: ReadBuffer) -> ArrayTable:
        """The features of some rows; a `TypeError` names those that are no numbers, whatever rows hold."""
        if self.numeric:
            check_numeric(self._list_kinds())
            return ArrayTable(read_matrix(batch, self.features, room), self.features)
        return ArrayTable(read_objects(batch, self.features), self.features, numeric=False)


def refuse_single_text(columns: Sequence[str] | None) -> None:
    """Raise if columns are one text: its letters would be taken for the names."""
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names, not a text. Hint: columns=[{columns!r}].")


def _check_column(source: Source, name: str | None) -> None:
    if name is not None and name not in source.schema.names:
        raise ValueError(f"There is no column {name!r} in {source.name}. There are: {source.schema.names}.")
