"""Tables and models that come to their end, and models that depend on tables.

A table that its holder deleted is not forgotten while something depends on it: an erasure must still be able to name
the model that was fitted on it, and the recipient who has it.

| the table | after `retire` |
| --- | --- |
| nothing depends on it | the vault forgets who was in it |
| a model was fitted on it | who was in it stays known until `retire_model` |
| somebody received it | who was in it stays known, and it can be overdue, until `retire(..., recipients=True)` |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.pseudonyms.entries import Entry, now, words
from discreet.pseudonyms.errors import UnknownName, VaultError
from discreet.pseudonyms.keyring import checked
from discreet.pseudonyms.runs import Run, document, runs

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


@dataclass(frozen=True)
class Retired:
    """What was forgotten.

    Attributes
    ----------
    entries : of the register, one for each table or model.
    kept : tables of which it stays known who was in them, since a model or a recipient depends on them.
    cleaned : whether no old byte is left in the log; otherwise `vault.tidy()` later, or it is a server's to forget.
    """

    entries: tuple[Entry, ...]
    kept: tuple[str, ...]
    cleaned: bool


def retire(
    vault: Vault, table: str, *, entry: int | None = None, recipients: bool = False, who: str | None = None
) -> Retired:
    """Note that a table was deleted by its holder.

    Parameters
    ----------
    table : its name.
    entry : its number in the register, where several tables have the name; all of them go, unless given. Tables of
        different purposes or partners are never taken together.
    recipients : whether those who received it have deleted it too.
    """
    entries, kept = [], []
    with vault.database.transaction():
        for run in _chosen(vault, table, entry):
            reasons = _needed(vault, run, recipients)
            details: dict[str, Any] = {"uid": run.uid, **({"kept for": reasons} if reasons else {})}
            change = _end(vault, replace(run, retired=run.retired or now()), bool(reasons), recipients)
            kept += [run.table] if reasons else []
            content = {"purpose": run.purpose, "table": run.table, "partner": run.partner, "details": details}
            entries.append(vault.register.append("retire", who=words(who, "who"), changes=(change,), **content))
    return Retired(tuple(entries), tuple(dict.fromkeys(kept)), vault.database.tidy())


def _chosen(vault: Vault, table: str, entry: int | None) -> list[Run]:
    found = [run for run in runs(vault, table) if entry in (None, run.entry)]
    if not found:
        raise UnknownName(f"There is no table {table!r} of entry {entry!r}.")
    if len({(run.purpose, run.partner) for run in found}) > 1:
        listed = "; ".join(f"entry {run.entry}: {run.purpose!r}, {run.partner or 'the holder'!r}" for run in found)
        raise VaultError(f"Tables of several purposes or partners are called {table!r}: {listed}. Hint: entry=...")
    return found


def _needed(vault: Vault, run: Run, gone: bool) -> list[str]:
    """What depends on a table."""
    models = [f"model {name}" for name, one in vault.settings.all("model").items() if run.uid in one["tables"]]
    return models + ([] if gone else [f"recipient {name}" for name in run.recipients])


def _end(vault: Vault, run: Run, stay: bool, gone: bool) -> Any:
    if stay:
        return vault.settings.put("table", run.uid, document(replace(run, recipients=() if gone else run.recipients)))
    if run.located:  # otherwise nobody is stored under it
        vault.uses.drop(run.uid)
    return vault.settings.remove("table", run.uid)


def used(vault: Vault, table: str, *, model: str, who: str | None = None) -> Entry:
    """Note that a model was fitted on a table, so that an erasure can name it."""
    checked(model, "model")
    with vault.database.transaction():
        uids = [run.uid for run in runs(vault, table)]
        before = (vault.settings.get("model", model) or {"tables": []})["tables"]
        change = vault.settings.put("model", model, {"tables": sorted({*before, *uids})})
        return vault.register.append(
            "model", who=words(who, "who"), table=table, details={"model": model}, changes=(change,)
        )


def retire_model(vault: Vault, model: str, *, who: str | None = None) -> Retired:
    """Note that a model was deleted; retired tables that nothing else depends on are forgotten with it."""
    with vault.database.transaction():
        if vault.settings.get("model", checked(model, "model")) is None:
            raise UnknownName(
                f"There is no model {model!r}. Known: {', '.join(vault.settings.all('model')) or 'none'}."
            )
        changes = [vault.settings.remove("model", model)]
        waiting = [run for run in runs(vault) if run.retired is not None]
        kept = [run for run in waiting if _needed(vault, run, False)]
        changes += [_end(vault, run, False, False) for run in waiting if run not in kept]
        entry = vault.register.append(
            "retire model", who=words(who, "who"), details={"model": model}, changes=tuple(changes)
        )
    return Retired((entry,), tuple(dict.fromkeys(run.table for run in kept)), vault.database.tidy())
