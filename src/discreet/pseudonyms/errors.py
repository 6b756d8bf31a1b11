"""How a vault says no.

    DiscreetError
    └── VaultError              base of all errors of a vault
        ├── WrongKey            the passphrase or key file does not open this vault
        ├── Tampered            a stored field or a token fails its check
        ├── UnknownName         a purpose, partner, table, field or identity that was not declared
        ├── Unparsable          values that do not read as their field says; counts per column, never values
        ├── MissingIdentifiers  a column, or the values of a column, that identities need and do not get
        └── TooIdentifying      the columns that remain single people out

    DiscreetWarning
    ├── LinkWarning             what is shared may still be joined through other columns
    ├── RowsWarning             rows were left out, or have a pseudonym of their own
    └── StrangersWarning        a table holds people whom the vault does not know, since it was restored without them

No message, and no attribute of an error, holds an identifier, a key or a passphrase. Names of purposes, partners,
tables, columns and fields are not personal and may be shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import DiscreetError, DiscreetWarning


class VaultError(DiscreetError):
    """Base of all errors of a vault."""


class WrongKey(VaultError):
    """The passphrase or the key file does not open this vault. Nothing was written."""


class Tampered(VaultError):
    """A stored field or a token fails its check: it was changed, cut or made by somebody else."""


class UnknownName(VaultError, LookupError):
    """A purpose, partner, table, field or identity that the vault does not know."""


class Unparsable(VaultError, ValueError):
    """Values that do not read as their field says.

    Parameters
    ----------
    counts : how many values of each column do not parse.

    >>> print(Unparsable({"ssn": 2, "born": 1}))
    Values that do not parse as declared: 2 in `ssn`, 1 in `born`.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        found = ", ".join(f"{count} in `{column}`" for column, count in self.counts.items() if count)
        super().__init__(f"Values that do not parse as declared: {found}.")

    def __reduce__(self) -> tuple[type[Unparsable], tuple[dict[str, int]]]:
        """Through its counts, so that it survives a worker process."""
        return type(self), (self.counts,)


class MissingIdentifiers(VaultError, ValueError):
    """Columns are missing, or rows hold no identity that the vault could use."""


class TooIdentifying(VaultError, ValueError):
    """The columns that remain in a table single people out."""


class LinkWarning(DiscreetWarning):
    """A shared table may still be joined with others through the columns that remain."""


class RowsWarning(DiscreetWarning):
    """Rows of nobody, or of people who were erased, were left out of a table or got one-off pseudonyms."""


class StrangersWarning(DiscreetWarning):
    """A table holds people whom the vault was restored without: rows of those who were erased cannot be told."""
