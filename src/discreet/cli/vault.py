"""`discreet vault`: pseudonyms, and the rights of the people behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import console, custody, moves, rights, secrets, upkeep
from discreet.cli.counts import silent
from discreet.cli.manual import Verb, family
from discreet.cli.moves import Data, Delimiter, Encoding, Name, Out, Purpose, Suppressed
from discreet.cli.options import Force, Json, listed, option, pairs
from discreet.cli.secrets import KeyFilePath, PassphraseFile, Place, Who, day, opened

if TYPE_CHECKING:
    from discreet.pseudonyms.runs import Run

app = family(
    "Pseudonyms: a vault that can answer, forget and account.",
    "discreet vault create clinic.vault --field ssn=digits:9 --identity ssn=ssn",
    "discreet vault purpose clinic.vault research",
    "discreet vault pseudonymise clinic.vault visits.csv -o research.csv \\",
    "    --identifiers ssn --purpose research",
    "discreet vault find clinic.vault",
)


Identifiers = Annotated[
    list[str],
    option(
        "--identifiers",
        metavar="COLUMNS",
        help="Columns: ssn,name,born; or column=field where names differ. Again for each person of a row.",
    ),
]
PersonColumn = Annotated[
    list[str] | None,
    option("--column", metavar="NAME", help="The column of pseudonyms; one for each --identifiers, in order."),
]
Retention = Annotated[
    str | None, option("--retention", metavar="DAY", help="The last day to keep it, YYYY-MM-DD, or a number of days.")
]
Missing = Annotated[str, typer.Option("--missing", help="Rows without identity: refuse, skip or one-off.")]
Unparsable = Annotated[str, typer.Option("--unparsable", help="Values that do not parse: refuse, skip or one-off.")]
Keep = Annotated[
    str | None, option("--keep", metavar="COLUMNS", help="Columns that may stay though they are called like fields.")
]
OneWay = Annotated[bool, option("--one-way", help="Pseudonyms that nothing reverses, nor moves to new keys.")]


@app.command(cls=Verb)
def create(
    place: Place,
    field: Annotated[list[str], option("--field", metavar="NAME=KIND", help="A field: ssn=digits:9, name=text.")],
    identity: Annotated[
        list[str], option("--identity", metavar="NAME=FIELDS", help="What names a person: who=name,born. In order.")
    ],
    links: Annotated[str, typer.Option("--links", help="stored, or derived for Spark.")] = "stored",
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Make a new vault.

    For example:

        discreet vault create clinic.vault --field ssn=digits:9 \
            --field name=text --field born=date --identity ssn=ssn \
            --identity person=name,born
        discreet vault create clinic.vault --field ssn=digits:9 \
            --identity ssn=ssn --key-file clinic.key
    """
    from discreet.pseudonyms.vault import Vault

    fields = pairs(field, "--field")
    identities = {name: listed(text) for name, text in pairs(identity, "--identity").items()}
    chosen: Any = links
    secrets.check_place(place)
    secrets.check_free(place)
    opening = secrets.opening(passphrase_file, key_file, new=True)
    with Vault.create(place, fields=fields, identities=identities, links=chosen, who=who, **opening) as vault:
        console.answer({"vault": vault.name, "links": links, "anchor": str(vault.anchor())}, json)
        console.say(f"A new vault with {links} links. Whoever loses what opens it has lost it.", json=json)


@app.command(cls=Verb)
def purpose(
    place: Place,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the purpose.", show_default=False)],
    retention: Retention = None,
    basis: Annotated[str | None, option("--basis", help="The legal basis, for the register.")] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Declare a purpose.

    For example:

        discreet vault purpose clinic.vault research-2026 \
            --basis "Article 9(2)(j)" --retention 2031-12-31
    """
    with opened(place, passphrase_file, key_file) as vault:
        vault.add_purpose(name, retention=day(retention), basis=basis, who=who)
        console.answer({"purposes": vault.purposes}, json)
        console.say(f"Declared: the purpose {name!r}.", json=json)


@app.command(cls=Verb)
def partner(
    place: Place,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the partner.", show_default=False)],
    contact: Annotated[str | None, option("--contact", help="Whom to write to.")] = None,
    revoke: Annotated[bool, option("--revoke", help="Share nothing new with this partner any more.")] = False,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    json: Json = False,
) -> None:
    r"""Declare a partner, or revoke one.

    For example:

        discreet vault partner clinic.vault university-x \
            --contact office@university-x.example
        discreet vault partner clinic.vault university-x --revoke
    """
    with opened(place, passphrase_file, key_file) as vault:
        if revoke:
            vault.revoke(name, who=who)
        else:
            vault.add_partner(name, contact=contact, who=who)
        console.answer({"partners": vault.partners}, json)
        console.say(f"{'Revoked' if revoke else 'Declared'}: the partner {name!r}.", json=json)


@app.command(cls=Verb)
def pseudonymise(
    place: Place,
    data: Data,
    output: Out,
    identifiers: Identifiers,
    purpose: Purpose,
    column: PersonColumn = None,
    name: Name = None,
    missing: Missing = "refuse",
    unparsable: Unparsable = "refuse",
    suppressed: Suppressed = "drop",
    keep: Keep = None,
    one_way: OneWay = False,
    retention: Retention = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Put one pseudonym for each person in place of the identifiers.

    For example:

        discreet vault pseudonymise clinic.vault visits.csv -o research.csv \
            --identifiers ssn,name,born --purpose research-2026
        discreet vault pseudonymise clinic.vault visits.csv -o research.csv \
            --identifiers ssn --column patient \
            --identifiers doctor_ssn=ssn --column doctor \
            --purpose research-2026
    """
    safe = secrets.kept(place, passphrase_file, key_file, data)
    out = console.writing(output, force=force, inputs=safe, secret=True)
    made: list[Run] = []
    options: dict[str, Any] = {"missing": missing, "unparsable": unparsable, "suppressed": suppressed}
    options["keep"] = listed(keep)
    with opened(place, passphrase_file, key_file) as vault, silent():
        vault.pseudonymise(
            data, _people(identifiers, column), purpose, out=out.path, name=name, retention=day(retention), who=who,
            dialect=moves.dialect(delimiter, encoding), progress=False if json else None, one_way=one_way,
            overwrite=force, recorded=made.append, **options,
        )  # fmt: skip
        moves.receipt(vault, out.path, made, json)


@app.command(cls=Verb)
def share(
    place: Place,
    data: Data,
    output: Out,
    identifiers: Identifiers,
    purpose: Purpose,
    partner: Annotated[str, option("--partner", help="For whom, as declared.")],
    require_k: Annotated[int | None, option("--require-k", help="Refuse if somebody looks like fewer people.")] = None,
    quasi_identifiers: Annotated[
        str | None, option("--quasi-identifiers", metavar="COLUMNS", help="What others may know; all if left out.")
    ] = None,
    column: PersonColumn = None,
    name: Name = None,
    missing: Missing = "refuse",
    unparsable: Unparsable = "refuse",
    suppressed: Suppressed = "drop",
    keep: Keep = None,
    one_way: OneWay = False,
    retention: Retention = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFilePath = None,
    who: Who = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Make a table for a partner: pseudonyms of its own, rows in random order.

    For example:

        discreet vault share clinic.vault visits.csv -o for-x.csv \
            --identifiers ssn,name,born --purpose research-2026 \
            --partner university-x --require-k 5
    """
    safe = secrets.kept(place, passphrase_file, key_file, data)
    out = console.writing(output, force=force, inputs=safe, secret=True)
    made: list[Run] = []
    options: dict[str, Any] = {"missing": missing, "unparsable": unparsable, "suppressed": suppressed}
    options["keep"] = listed(keep)
    known = None if quasi_identifiers is None else listed(quasi_identifiers)
    with opened(place, passphrase_file, key_file) as vault, silent():
        vault.share(
            data, _people(identifiers, column), partner, purpose, out=out.path, require_k=require_k,
            quasi_identifiers=known, name=name, retention=day(retention), who=who,
            dialect=moves.dialect(delimiter, encoding), progress=False if json else None, one_way=one_way,
            overwrite=force, recorded=made.append, **options,
        )  # fmt: skip
        moves.receipt(vault, out.path, made, json)


def _people(identifiers: list[str], columns: list[str] | None) -> dict[str, dict[str, str]]:
    """The identifiers of each person of a row, by the name of the column of their pseudonyms."""
    names = columns or (["pseudonym"] if len(identifiers) == 1 else [])
    if len(names) != len(identifiers) or len(set(names)) != len(names):
        raise typer.BadParameter(
            "name a column of pseudonyms for each person: one --column for each --identifiers.", param_hint="--column"
        )
    return {name: _mapping(text) for name, text in zip(names, identifiers, strict=True)}


def _mapping(text: str) -> dict[str, str]:
    """Columns and fields: "ssn,Name of patient=name"."""
    found = [(column.strip(), (field if equals else column).strip()) for column, equals, field in
             (part.partition("=") for part in listed(text))]  # fmt: skip
    if len(dict(found)) != len(found):
        raise typer.BadParameter("each column once.", param_hint="--identifiers")
    return dict(found)


for verb in (
    moves.unshare, moves.reseal, moves.worker_file, upkeep.fields, upkeep.used, upkeep.correct,
    rights.find, rights.erase, rights.refuse, rights.purge, upkeep.prune, upkeep.erasures,
    custody.register, custody.retire, custody.rotate, custody.verify, custody.backup, custody.restore,
):  # fmt: skip
    app.command(cls=Verb)(verb)
