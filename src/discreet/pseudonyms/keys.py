"""The master key at rest: sealed under a passphrase or a key file.

`wrap` gives a document of plain text that may be stored beside the data; `unwrap` gives the master key back.

| document | what happens |
| --- | --- |
| wrong passphrase or key file | `WrongKey`; so too if the salt or the cost was changed |
| cost below 2^17, r below 8 (a file made weak on purpose) or above 1 GiB (a file made to exhaust memory) | `Tampered` |
| any other field changed, missing or added | `Tampered` |
| a form this version does not know | `VersionError` |

The wrapping key comes with a check value from the same derivation. AES-GCM alone commits to no key: one ciphertext can
be made to open under many passphrases, which lets an attacker try them in bundles (Len, Grubbs, Ristenpart 2021).
"""

from __future__ import annotations

import hmac
import json
import os
import unicodedata
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from discreet.errors import VersionError
from discreet.pseudonyms.errors import Tampered, VaultError, WrongKey
from discreet.pseudonyms.keyfile import KeyFile
from discreet.pseudonyms.master import SIZE, Master, Secret
from discreet.pseudonyms.netstrings import encoded

__all__ = ["KeyFile", "Master", "Passphrase", "unwrap", "wrap"]

FORM = 1
COST, BLOCK, LANES = 2**17, 8, 1  # scrypt's N, r and p: 128 MiB, and the floor on opening
MEMORY = 2**30  # the ceiling on opening: 128 N r bytes
MOST_LANES = 4
SHORTEST = 8  # characters of a new passphrase (NIST SP 800-63B, section 5.1.1)
LENGTHS = {"salt": 16, "nonce": 12, "check": 32, "sealed": SIZE + 16}
COSTS = ("n", "r", "p")


class Passphrase(Secret):
    """A passphrase, in normal form C (RFC 8265, OpaqueString), so that two keyboards type the same.

    >>> Passphrase("correct horse battery")
    <Passphrase>
    """

    __slots__ = ()

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text:
            raise ValueError("The `passphrase` must be text that is not empty.")
        super().__init__(encoded(unicodedata.normalize("NFC", text)))


def wrap(master: Master, secret: Passphrase | KeyFile) -> dict[str, Any]:
    """The master key sealed with AES-256-GCM, as a document that JSON can hold; new salt and nonce each time."""
    if isinstance(secret, Passphrase) and len(secret._content().decode()) < SHORTEST:
        raise ValueError(f"The `passphrase` must have at least {SHORTEST} characters. Hint: five random words.")
    header: dict[str, Any] = {"form": FORM, "kind": _kind(secret), "salt": os.urandom(16).hex()}
    if isinstance(secret, Passphrase):
        header |= {"n": COST, "r": BLOCK, "p": LANES}
    key, check = _derived(header, secret)
    header |= {"nonce": os.urandom(12).hex(), "check": check.hex()}
    sealed = AESGCM(key).encrypt(bytes.fromhex(header["nonce"]), master._content(), _associated(header))
    return header | {"sealed": sealed.hex()}


def unwrap(document: Mapping[str, Any], secret: Passphrase | KeyFile) -> Master:
    """The master key of a document; see the table above for what is refused."""
    header = _checked(document)
    if header["kind"] != _kind(secret):
        raise WrongKey(f"This vault opens with a {header['kind']}. Got a {_kind(secret)}.")
    key, check = _derived(header, secret)
    if not hmac.compare_digest(check, bytes.fromhex(header["check"])):
        raise WrongKey(f"The {header['kind']} does not open this vault. Nothing was written.")
    sealed = bytes.fromhex(header.pop("sealed"))
    try:
        return Master(AESGCM(key).decrypt(bytes.fromhex(header["nonce"]), sealed, _associated(header)))
    except InvalidTag:
        raise Tampered("The wrapped key fails its check: the stored document was changed.") from None


def _kind(secret: Passphrase | KeyFile) -> str:
    if not isinstance(secret, (Passphrase, KeyFile)):
        raise TypeError("The secret of a vault must be a Passphrase or a KeyFile.")
    return "passphrase" if isinstance(secret, Passphrase) else "key file"


def _derived(header: Mapping[str, Any], secret: Passphrase | KeyFile) -> tuple[bytes, bytes]:
    salt, content = bytes.fromhex(header["salt"]), secret._content()
    if header["kind"] == "passphrase":
        try:
            both = Scrypt(salt, 2 * SIZE, header["n"], header["r"], header["p"]).derive(content)
        except MemoryError:
            raise VaultError(
                f"Opening a vault needs {header['n'] * header['r'] >> 13} MiB of memory for a while."
            ) from None
    else:
        both = HKDF(SHA256(), 2 * SIZE, salt=salt, info=b"discreet vault, key file, form 1").derive(content)
    return both[:SIZE], both[SIZE:]


def _associated(header: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(header), sort_keys=True, separators=(",", ":")).encode()


def _checked(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document if every field has its one form; before anything is computed from it."""
    form, kind = document.get("form"), document.get("kind")
    if type(form) is int and form > FORM:
        raise VersionError("The vault was made by a newer version of discreet. Hint: upgrade discreet.")
    costs = COSTS if kind == "passphrase" else ()
    fits = (
        (type(form), form) == (int, FORM)
        and kind in ("passphrase", "key file")
        and set(document) == {"form", "kind", *costs, *LENGTHS}
        and all(_is_hex(document[name], length) for name, length in LENGTHS.items())
        and (not costs or _affordable(*(document[name] for name in costs)))
    )
    if not fits:
        raise Tampered("The wrapped key does not read as one, or its cost is out of bounds.")
    return dict(document)


def _is_hex(value: Any, length: int) -> bool:
    return type(value) is str and len(value) == 2 * length and set(value) <= set("0123456789abcdef")


def _affordable(n: Any, r: Any, p: Any) -> bool:
    """Whether scrypt's parameters are whole numbers between the floor and the ceiling."""
    if not (type(n) is type(r) is type(p) is int):
        return False
    return n >= COST and n & (n - 1) == 0 and r >= BLOCK and 1 <= p <= MOST_LANES and 128 * n * r <= MEMORY
