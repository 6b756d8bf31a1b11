"""Roles: the people that a row is of, each with columns that say who it is, and a column for the pseudonym.

Most rows are of one person. A visit has a patient and a doctor: two roles, and two people. All are named in one call,
so that no table is recorded in which one of them is still in clear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLUMN = "pseudonym"  # where rows are of one person, and nothing else is said

Columns = Sequence[str] | Mapping[str, str]
Identifiers = Columns | Mapping[str, Columns]


@dataclass(frozen=True)
class Role:
    """One of the people of a row.

    Parameters
    ----------
    column : the name of the column of pseudonyms, which stands where the first identifier stood.
    identifiers : the columns that say who it is, and the fields that they are of.
    """

    column: str
    identifiers: Mapping[str, str]


def read_roles(identifiers: Identifiers, column: str = COLUMN) -> tuple[Role, ...]:
    """The roles that identifiers describe: one, or one for each name of a mapping of names to identifiers.

    >>> read_roles(["ssn"])
    (Role(column='pseudonym', identifiers={'ssn': 'ssn'}),)
    >>> [role.column for role in read_roles({"patient": ["ssn"], "doctor": {"signed by": "ssn"}})]
    ['patient', 'doctor']
    """
    if not isinstance(identifiers, Mapping) or all(isinstance(field, str) for field in identifiers.values()):
        return (Role(column, read_columns(identifiers)),)
    if column != COLUMN:
        raise ValueError(
            "The `column` is for rows of one person. Hint: of several, the `identifiers` name each person's column."
        )
    roles = tuple(Role(str(name), read_columns(columns)) for name, columns in identifiers.items())
    _check_apart(roles)
    return roles


def read_columns(columns: object) -> dict[str, str]:
    """Columns and the fields that they are of: a list names columns like fields."""
    if isinstance(columns, str):
        raise TypeError(f'The `identifiers` must be a list or a mapping. Hint: identifiers=["{columns}"].')
    if isinstance(columns, Mapping):
        found = {str(name): field for name, field in columns.items()}
    elif isinstance(columns, Sequence):
        found = {str(name): str(name) for name in columns}
    else:
        raise TypeError("The `identifiers` must be a list or a mapping.")
    if len(found) != len(columns):
        raise ValueError("The `identifiers` must name each column once.")
    if not found:
        raise ValueError("The `identifiers` must name at least one column.")
    if len(set(found.values())) != len(found):
        raise ValueError(
            "The `identifiers` must map each column to a field of its own: two columns share one. "
            'Hint: rows of two people are {"patient": ["ssn"], "doctor": {"signed by": "ssn"}}.'
        )
    return found


def _check_apart(roles: Sequence[Role]) -> None:
    """Refuse roles that share a column, or of which one would take the place of another's identifier."""
    named = [name for role in roles for name in role.identifiers]
    if len(set(named)) != len(named):
        raise ValueError("The `identifiers` must name each column once, whoever it is of.")
    if any(role.column in named and role.column not in role.identifiers for role in roles):
        raise ValueError("The name of a column of pseudonyms must not be that of an identifier of somebody else.")


def moved_roles(column: str | Sequence[str]) -> tuple[Role, ...]:
    """The roles of a table with pseudonyms: one for each column of them."""
    columns = [column] if isinstance(column, str) else list(column)
    if not columns or len(set(columns)) != len(columns):
        raise ValueError("The `column` must name each column of pseudonyms once.")
    return tuple(Role(name, {name: name}) for name in columns)


def all_identifiers(roles: Sequence[Role]) -> dict[str, str]:
    """The columns of everybody, and their fields."""
    return {name: field for role in roles for name, field in role.identifiers.items()}
