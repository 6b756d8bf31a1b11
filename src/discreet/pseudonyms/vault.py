"""The vault: who is behind which pseudonym, kept so that it can answer, forget and account."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NoReturn, get_args

from discreet.pseudonyms import (
    checking,
    correcting,
    declaring,
    noting,
    opening,
    pruning,
    purging,
    restoring,
    retiring,
    rights,
    runs,
    upgrading,
    versions,
    workers,
)
from discreet.pseudonyms import share as sharing
from discreet.pseudonyms import tables as making
from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.database import VERSION, Database
from discreet.pseudonyms.entries import Entry, words
from discreet.pseudonyms.entries import day as checked_day
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.fields import Field
from discreet.pseudonyms.hashing import tags
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.keyring import Keyring
from discreet.pseudonyms.keys import KeyFile, Passphrase, wrap
from discreet.pseudonyms.master import Master
from discreet.pseudonyms.matching import Tagged
from discreet.pseudonyms.messages import Messages
from discreet.pseudonyms.naming import Resolved
from discreet.pseudonyms.opening import Place
from discreet.pseudonyms.people import People, derived
from discreet.pseudonyms.register import Anchor, Register
from discreet.pseudonyms.settings import Settings
from discreet.pseudonyms.sums import Sums
from discreet.pseudonyms.suppression import Suppression
from discreet.pseudonyms.uses import Uses

Links = Literal["stored", "derived"]
Day = str | datetime.date | int | None


class Vault:
    """An open vault; made by `Vault.create` and `Vault.open`, closed by `close` or at the end of a `with`.

    Threads may share one; processes open one each. All changes of a call are on disk when it returns.

    | kind of links | a person's id is | erasure |
    | --- | --- | --- |
    | "stored" (default) | random, in a row under a keyed tag of the identity | deletes the row: the link is cut |
    | "derived" | a keyed hash of the identity, no row | refuses future use; the link can be computed again |

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> vault = Vault.create(os.path.join(folder, "clinic.vault"), passphrase="correct horse battery staple",
    ...                      fields={"ssn": "digits"}, identities={"ssn": ["ssn"]})
    >>> vault.add_purpose("research-2026", basis="Article 9(2)(j)", retention="2031-12-31")
    >>> print(vault.verify())
    consistent, completeness unproven
    >>> vault.find({"ssn": "123-45-6789"}).known
    False
    >>> vault.close()
    """

    def __init__(self, database: Database, master: Master, name: str) -> None:
        self.database = database
        self.name = name
        self._master = master
        self.settings = Settings(database, master.derive("settings"))
        self.people = People(database, master)
        self.uses = Uses(database, master)
        self.suppression = Suppression(database, master)
        self.register = Register(database, master.derive("register"), name, self.suppression.store.count)
        self.keyring = Keyring(self.settings, master)
        keys = master.derive("sums"), master.derive("sums", "seal")
        self.sums = Sums(database, *keys, lambda: str(self.register.anchor()))
        self._links: Links | None = None

    def __repr__(self) -> str:
        """Its name alone."""
        return f"<Vault {self.name}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse: a pickle would hold keys."""
        raise TypeError("A Vault cannot be pickled or copied. Hint: open it in each process.")

    @classmethod
    def create(
        cls,
        place: Place,
        *,
        fields: Mapping[str, Field | str],
        identities: Mapping[str, Sequence[str]],
        passphrase: str | Passphrase | None = None,
        key_file: Place | KeyFile | None = None,
        links: Links = "stored",
        who: str | None = None,
    ) -> Vault:
        """A new vault.

        Parameters
        ----------
        place : the path of a new file, or the address of a PostgreSQL database ("postgresql://...").
        fields : what identifiers are called and how they are read: {"ssn": "digits", "name": "text", "born": "date"}.
        identities : which fields name one person together, the sharpest first: {"ssn": ["ssn"], ...}.
        passphrase, key_file : one of them opens the vault. If it is lost, so is the vault.
        links : "stored" or "derived".
        who : whom the register names; by default the login name.
        """
        if links not in get_args(Links):
            raise ValueError(f"The `links` must be 'stored' or 'derived'. Got {links!r}.")
        schema, master, name = Schema(fields, identities), Master.random(), secrets.token_hex(8)
        wrapped = wrap(master, opening.secret(passphrase, key_file))

        def fill(database: Database) -> None:
            database.write("insert into header (document) values (?)", (opening.header(name, wrapped),))
            vault = cls(database, master, name)
            vault.sums.start()
            for store in (*vault.people.stores(), vault.suppression.store):
                store.create()
            changes = (
                vault.settings.put("state", "vault", {"vault": name, "version": VERSION, "links": links}),
                vault.settings.put("state", "erasures", {"count": 0}),
                vault.settings.put("schema", declaring.schema_name(schema), schema.document()),
            )
            vault.register.append("create", who=words(who, "who"), details={"links": links}, changes=changes)

        return cls(opening.create(place, fill), master, name)

    @classmethod
    def open(
        cls, place: Place, *, passphrase: str | Passphrase | None = None, key_file: Place | KeyFile | None = None
    ) -> Vault:
        """The vault at a path or an address; a wrong secret raises `WrongKey` and writes nothing."""
        return cls.opened(place, opening.secret(passphrase, key_file))

    @classmethod
    def opened(cls, place: Place, given: Passphrase | KeyFile, *, copy: bool = False) -> Vault:
        """The same with a secret that was read already; a copy made by `backup` is opened to be restored alone."""
        database = opening.connect(place)
        try:
            name, master = opening.unlock(database, given, copy)
            vault = cls(database, master, name)
            upgrading.upgraded(vault)
            database.recover()
        except BaseException:
            database.close()
            raise
        return vault

    def __enter__(self) -> Vault:
        """The vault itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the file and of the keys."""
        self.database.close()
        self._master.close()

    @property
    def links(self) -> Links:
        """How people get their ids: "stored" or "derived"."""
        if self._links is None:
            self._links = self.state()["links"]
        assert self._links is not None
        return self._links

    def state(self) -> dict[str, Any]:
        """Name, version and kind of links, as the header has them too."""
        with self.database.snapshot():  # another process may bring the vault up to date just now
            state, version = self.settings.get("state", "vault"), opening.read_header(self.database)["version"]
        if state is None or state["vault"] != self.name or state["version"] != version:
            raise Tampered("The vault does not go with its header. Hint: restore a backup.")
        return state

    @property
    def schema(self) -> Schema:
        """The fields and identities as they are now."""
        return self.schemas()[-1]

    def schemas(self) -> tuple[Schema, ...]:
        """All versions of fields and identities, oldest first."""
        found = tuple(Schema.from_document(document) for document in self.settings.all("schema").values())
        if not found:
            raise Tampered("The vault has lost its fields. Hint: restore a backup.")
        return found

    @property
    def purposes(self) -> tuple[str, ...]:
        """Names of purposes."""
        return tuple(self.settings.all("purpose"))

    @property
    def partners(self) -> tuple[str, ...]:
        """Names of partners, revoked ones too."""
        return tuple(self.settings.all("partner"))

    def rewrap(
        self,
        *,
        passphrase: str | Passphrase | None = None,
        key_file: Place | KeyFile | None = None,
        who: str | None = None,
    ) -> bool:
        """Another passphrase or key file. Backups from before still open with the old one.

        False if the old wrapped key may still be in the log of the file (`vault.tidy()` later) or on a server.
        """
        given = opening.secret(passphrase, key_file)
        with self.database.transaction():
            opening.rewrap(self.database, self._master, given)
            self.register.append("rewrap", who=words(who, "who"))
        return self.database.tidy()

    def over(self, database: Database) -> Vault:
        """The same vault in another state of its file."""
        return Vault(database, self._master, self.name)

    def _export_key(self) -> bytes:
        """The key of what is handed out sealed."""
        return self._master.derive("export", "erasures")

    def _hash_key(self) -> bytes:
        """The key of derived ids, for workers of this purpose; with stored links there is none."""
        if self.links != "derived":
            raise VaultError('Workers need derived links. Hint: Vault.create(..., links="derived").')
        return self._master.derive("hash")

    def mark(self) -> int:
        """How many people were erased: `runs.record` compares it with that from before the first row."""
        state = self.settings.get("state", "erasures")
        if state is None:
            raise Tampered("The vault has lost its count of erasures. Hint: restore a backup.")
        return int(state["count"])

    def tags(self, messages: Any) -> Bytes:
        """(n, 16): the tags by which people are known; with derived links these are the ids."""
        return tags(messages, self._master.derive("hash" if self.links == "derived" else "lookup"))

    def resolve(self, found: Messages) -> Resolved:
        """Who rows are of; new people get an id, on disk when this returns (stored links)."""
        schemas = self.schemas()
        tagged = [Tagged(one.kind, one.rows, self.tags(one.texts)) for one in versions.seen(schemas, found)]
        if self.links == "stored":
            return self.people.resolve(found.rows, tagged, self.suppression, versions.kinds(schemas))
        return derived(found.rows, tagged, self.suppression, self.people)

    def tidy(self) -> bool:
        """Remove deleted bytes from the log; False if other processes are reading, or a server decides."""
        return self.database.tidy()

    def anchor(self) -> Anchor:
        """The state of the register, to be kept elsewhere."""
        return self.register.anchor()

    def overdue(self, day: datetime.date | str | None = None) -> tuple[Entry, ...]:
        """Tables that should have been deleted by now."""
        return self.register.overdue(checked_day(day, "day"))

    # what is done with a vault: functions of its other files, whose first argument is the vault
    change_fields = declaring.change_fields
    add_purpose = declaring.add_purpose
    add_partner = declaring.add_partner
    revoke = declaring.revoke
    version = declaring.version
    token_keys = declaring.token_keys
    rotate = declaring.rotate
    pseudonymise = making.pseudonymise
    share = sharing.share
    unshare = sharing.unshare
    reseal = sharing.reseal
    worker_file = workers.worker_file
    record = runs.record
    tables = runs.runs
    used = retiring.used
    retire = retiring.retire
    retire_model = retiring.retire_model
    unfinished = noting.unfinished
    prune = pruning.prune
    find = rights.find
    export = rights.export
    erase = rights.erase
    refuse = rights.refuse
    correct = correcting.correct
    purge = purging.purge
    verify = checking.verify
    backup = restoring.backup
    replay = restoring.replay
    erasures = restoring.erasures

    @staticmethod
    def restore(
        place: str | os.PathLike[str],
        backup: str | os.PathLike[str],
        *,
        erasures_from: str | os.PathLike[str] | Anchor | None = None,
        anchor: Anchor | str | None = None,
        passphrase: str | Passphrase | None = None,
        key_file: Place | KeyFile | None = None,
        who: str | None = None,
    ) -> restoring.Restored:
        """Bring a backup to a new place, and erase again whoever was erased since; see `restoring.py`."""
        given = opening.secret(passphrase, key_file)
        return restoring.restored(place, backup, given, erasures_from, anchor=anchor, who=who)
