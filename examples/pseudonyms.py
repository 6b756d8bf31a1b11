"""Pseudonyms for a clinic's visits: pseudonymise, share with two partners, find, erase, account.

    python examples/pseudonyms.py

It takes a few seconds, most of them to open the vault, by design. The people are invented.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

from discreet.pseudonyms import RowsWarning, TooIdentifying, Vault

WHO = ["ssn", "name", "born"]
FIRST, LAST = ["Ada", "Bo", "Cy", "Dee", "Eve", "Flo"], ["Ash", "Birk", "Clay", "Dorn", "Elm"]


def visits(rows: int = 1000, people: int = 300, seed: int = 7) -> pl.DataFrame:
    """Invented visits; the same person is written in several ways."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, people, rows)
    hyphens, capitals = rng.random(rows) < 0.5, rng.random(rows) < 0.3
    names = [f"{FIRST[i % 6]} {LAST[i % 5]} {i}" for i in who]
    return pl.DataFrame(
        {
            "ssn": [
                f"{i:03d}-00-{7000 + i}" if h else f"{i:03d}00{7000 + i}" for i, h in zip(who, hyphens, strict=True)
            ],
            "name": [name.upper() if loud else name for name, loud in zip(names, capitals, strict=True)],
            "born": [f"19{40 + i % 50}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in who],
            "ward": np.array(["north", "south", "west"])[who % 3],
            "cost": rng.gamma(2, 200, rows).round(2),
        }
    )


def main() -> None:
    """Tell the story."""
    say = Console(width=120, highlight=False).print
    table = visits()
    with (
        tempfile.TemporaryDirectory() as place,
        Vault.create(
            Path(place) / "clinic.vault",
            passphrase="five random words are good",
            fields={"ssn": "digits:9", "name": "text", "born": "date"},
            identities={"ssn": ["ssn"], "name and birth": ["name", "born"]},
        ) as vault,
    ):
        vault.add_purpose("research", basis="Article 9(2)(j)", retention="2031-12-31")
        for partner in ("university", "laboratory"):
            vault.add_partner(partner)

        mine = vault.pseudonymise(table, WHO, "research", name="visits")
        say(f"{table['ssn'].n_unique()} spellings of numbers are {mine['pseudonym'].n_unique()} people.")
        say(mine.head(3))

        try:
            vault.share(table, WHO, "university", "research", require_k=5)
        except TooIdentifying as refused:
            say(f"\n[bold]Refused:[/] {refused}\n")
        wards = table.select(*WHO, "ward")
        first, second = (
            vault.share(wards, WHO, partner, "research", name=f"for the {partner}", require_k=5)
            for partner in ("university", "laboratory")
        )
        common = set(first["pseudonym"]) & set(second["pseudonym"])
        say(f"Two partners have {first.height} rows each, and {len(common)} pseudonyms in common.")

        person = vault.find({"ssn": table["ssn"][0]})
        say(f"The person of the first row is in: {', '.join(person.tables)}.\n")
        say(str(vault.erase(person, reason="asked by letter")), markup=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsWarning)  # rows of the person are left out, as they should
            left = vault.pseudonymise(table, WHO, "research", name="visits again")
        say(f"\nThe same table now has {left.height} of {table.height} rows.")

        for entry in vault.register.entries():
            say(f"{entry.number:3} {entry.act:13} {entry.table or '':20} {', '.join(entry.recipients)}")
        say(f"\n{vault.verify(vault.anchor())}.")


if __name__ == "__main__":
    main()
