"""Hints: what the library advises in Python, in words of the command line."""

from __future__ import annotations

import re

MEND = "mend its encoding or the row, then ask again, which costs again."
ONE_OFF = "gives each a pseudonym of its own"
SAID = {  # what marks a hint about Python, and what to say instead; the first that fits
    "OneHotEncoder(": 'in privacy.toml, kind = "category" and the list of its values.',
    "open the ledger with delta": "a ledger of its own, with delta = 1e-6 under [budget].",
    "open the ledger with": "another model, or another ledger, made in Python.",
    "cache=None": "leave --cache out.",
    "`ceiling` of your own": "more rows, or fewer columns.",
    # anonymise
    "sensitive=[": "--sensitive NAME.",
    "hierarchy.encode(": "each value of the column must be in its hierarchy; --missing NAME where cells are empty.",
    "with_missing(": "--missing NAME, the category that they shall be.",
    "missing='unknown'": "--missing NAME, the category that they shall be.",
    "method='optimal'": "--method optimal.",
    "give it as `person`": "give it as --person alone.",
    # vault
    'mapping {"column"': "--identifiers COLUMN=FIELD where names differ, such as patient=ssn.",
    "identifiers=[": "--identifiers A,B.",
    "rows of two people are": "--identifiers ssn --column patient --identifiers doctor_ssn=ssn --column doctor.",
    "column=[": "--column NAME for each of these columns, in one call.",
    "identities={": "--identity NAME=FIELDS.",
    "vault.add_purpose(": "discreet vault purpose VAULT NAME declares one.",
    "vault.add_partner(": "discreet vault partner VAULT NAME declares one.",
    'links="derived"': "discreet vault create --links derived.",
    "Vault.create(": "discreet vault create makes one.",
    "Vault.open(": "another name.",
    "vault.worker_file(": "discreet vault worker-file writes it.",
    "vault.backup(": "the anchor that `backup` printed, if nothing happened since.",
    "vault.replay(": "then vault.replay(...) in Python.",
    "vault.verify(": "discreet vault verify.",
    "vault.erase": "discreet vault erase forgets somebody.",
    "vault.retire": "discreet vault retire, when the table is gone.",
    "vault.find": "discreet vault find.",
    "erasures_from=": "--erasures-from FILE, or --anchor LINE.",
    "entry=...": "--entry NUMBER.",
    "list(Ground)": "--ground b, for example.",
    'missing="skip"': f"--missing skip leaves them out, --missing one-off {ONE_OFF}.",
    "Dialect(encoding=": "--encoding NAME, such as latin-1.",
    "Dialect(quote=": "see to that line, or save the file anew.",
    "overwrite=True": "--force, or another name.",
    "keep=": "name them as identifiers, leave them out, or --keep NAME.",
    "column=...": "rename the column; of unshare and reseal, --column NAME.",
}


UNREAD = re.compile(
    r"Reading the rows failed(?:: (?P<why>.*?)\.?| \((?P<what>\w+)\)\.) The plan of (?P<plan>.*?)(?: \(.*)? had "
)


def unread(message: str) -> str:
    """What a failure to read cost, and what to do, in two sentences.

    >>> unread("Reading the rows failed: 'x' is damaged. The plan of ε = 1 (add-remove one row) had been charged.")[:72]
    "'x' is damaged. ε = 1 was charged before reading and stays charged: mend"
    """
    found = UNREAD.match(message)
    if found is None:
        return spoken(message)
    why = found["why"] or f"The rows cannot be read ({found['what']})"
    return f"{why}. {found['plan']} was charged before reading and stays charged: {MEND}"


def spoken(message: str) -> str:
    """A message of the library with a hint for the command line, where its own is about Python.

    >>> spoken("There is no vault at 'x'. Hint: Vault.create(...).")
    "There is no vault at 'x'. Hint: discreet vault create makes one."
    """
    sentence, hint, rest = message.partition(" Hint: ")
    for sign, instead in SAID.items():
        if hint and sign in rest:
            return f"{sentence} Hint: {instead}"
    return message
