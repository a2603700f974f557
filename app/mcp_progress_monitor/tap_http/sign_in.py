"""Servers that ask to sign in with OAuth, which a reverse proxy cannot pass on: how they show."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.tap_http.addresses import TapAddresses

WELL_KNOWN: Final = "/.well-known/"
_PROTECTED: Final = "/.well-known/oauth-protected-resource"
_METADATA: Final = re.compile(r'resource[_]metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE)
_BEARER: Final = re.compile(r"\bBearer\b", re.IGNORECASE)
WAY_OUT: Final = (
    "Connect the client directly and record with a browser or an HTTP debugger: this program "
    "opens the HAR file. Or give the client a token in a header."
)


class SignInRefusal(NamedTuple):
    """Why a client cannot sign in through the tap: as the recording and the user are told."""

    why: str
    resource: str | None = None
    resource_metadata: str | None = None

    @property
    def text(self) -> str:
        return f"{self.why} {WAY_OUT}"


def of_response(
    status: int, request: Mapping[str, str], headers: Mapping[str, str], addresses: TapAddresses
) -> SignInRefusal | None:
    """What a refusal says (RFC 9728 5.1; RFC 6750 3); None if it is none, or a token was wrong.

    Header names are in lower case.
    """
    challenge = headers.get("www-authenticate", "")
    if status != 401 or not _BEARER.search(challenge):
        return None
    found = _METADATA.search(challenge)
    if found is None and "authorization" in request:
        return None
    metadata = None if found is None else found[1] or found[2]
    why = (
        f"{addresses.shown} requires sign-in with OAuth. Clients sign in for the URL that they "
        f"use, and the server's tokens are not for {addresses.own}."
    )
    return SignInRefusal(why, None, metadata)


def of_metadata(target: str, body: bytes, addresses: TapAddresses) -> SignInRefusal | None:
    """What a server's description of itself says (RFC 9728 3.3) when it is read through the tap."""
    if not target.startswith(_PROTECTED):
        return None
    try:
        resource = json.loads(body)["resource"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(resource, str) or resource.rstrip("/") in {
        addresses.own.rstrip("/"),
        addresses.origin,
    }:
        return None
    why = (
        f"The server's OAuth metadata is for {resource!r}. Clients compare that with the URL "
        f"that they use, {addresses.own}, and refuse to sign in."
    )
    return SignInRefusal(why, resource)
