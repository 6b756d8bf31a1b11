"""Addresses of servers: where a connection would go, and whether it must be encrypted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LOCAL = ("localhost", "127.0.0.1", "::1")
WEAK = ("disable", "allow", "prefer")


def here(host: str | None, query: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether the driver will look for the server on this machine alone; a service may be anywhere."""
    if "service" in query or environment.get("PGSERVICE"):
        return False
    named = query.get("host", host) or environment.get("PGHOST") or ()
    exact = query.get("hostaddr") or environment.get("PGHOSTADDR") or ()
    places = [place for given in (named, exact) for place in _listed(given)]
    return all(place in LOCAL or place.startswith(("/", "@")) for place in places)  # none: a socket of this machine


def _listed(given: str | Sequence[str]) -> list[str]:
    several = [given] if isinstance(given, str) else given
    return [place.strip().strip("[]") for one in several for place in one.split(",") if place.strip()]


def tls(local: bool, asked: Any) -> str:
    """The `sslmode` of a connection: encrypted, unless the server is on this machine.

    >>> tls(True, None), tls(False, None), tls(False, "verify-full")
    ('prefer', 'require', 'verify-full')
    """
    if asked is None:
        return "prefer" if local else "require"
    if asked in WEAK and not local:
        raise ValueError("A vault on another machine needs TLS. Hint: sslmode=verify-full in the address.")
    return str(asked)
