"""OAuth: signing in and out at a server's authorization server. The SDK is imported late."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import resolved
from mcp_progress_monitor.secrets.token_store import TokenStore
from mcp_progress_monitor.sessions.transport.http.oauth_callback import HOST, PATH, REGISTERED_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx2

    from mcp_progress_monitor.sessions.transport.base import TransportResources
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition


_INSTALL: Final = (
    'Install the extra "oauth" in this program\'s environment: '
    'pip install "mcp-progress-monitor[oauth]", or, if you used pipx, '
    "pipx inject mcp-progress-monitor mcp. Then connect again."
)


async def auth_for(
    definition: HttpDefinition, means: TransportResources, server: str
) -> httpx2.Auth | None:
    """The authentication of a connection to `server`; None if its headers provide it.

    The user is asked to sign in (see `TransportResources.sign_ins`) if the server requires it and
    no saved token is accepted. Failures are a `UserError` from the request.

    Raises:
        UserError: the client's secret is a reference that cannot be read, or the SDK is
            missing.
    """
    if definition.auth != "oauth":
        return None
    given = {"secret": definition.oauth.client_secret or ""}
    secret = (await resolved(given, means.keyring, server, asked=means.asked))["secret"]
    with needs_sdk(server):
        from mcp_progress_monitor.sessions.transport.http.oauth_flow import (
            OAuthClientIdentity,
            SignInAuth,
        )

    oauth = definition.oauth
    port = REGISTERED_PORT if oauth.client_id else 0
    client = OAuthClientIdentity(oauth.client_id, secret or None, oauth.scope, port)
    store = TokenStore(means.folder, means.sign_ins.kept)
    return SignInAuth(
        definition.resource, client, store, key_of(definition), means.sign_ins, server
    )


@contextlib.contextmanager
def needs_sdk(server: str) -> Iterator[None]:
    """Import modules that use the SDK, late: it is an extra, and takes half a second.

    `UserError` if it is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        what = "Signing in needs the MCP SDK, which is not installed"
        raise UserError(ErrorDetails(what, server, _INSTALL)) from error


def key_of(definition: HttpDefinition) -> str:
    """The key of a server's tokens: a digest, since URLs may contain secrets."""
    what = [definition.resource, definition.oauth.client_id]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def client_metadata(url: str) -> dict[str, Any]:
    """The client ID metadata document that a user may host at `url`, to use that as client ID.

    Source: draft-ietf-oauth-client-id-metadata-document, 2025-11-25 "Authorization".
    """
    return {
        "client_id": url,
        "client_name": "MCP Progress Monitor",
        "software_id": "mcp-progress-monitor",
        "redirect_uris": [f"http://{HOST}:{REGISTERED_PORT}{PATH}"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }


def sign_out(definition: HttpDefinition, folder: Path | None) -> bool:
    """Delete the tokens of a server and our registration there; whether there were any.

    An open connection keeps its own. The authorization server is not notified. `UserError` if the
    file cannot be changed.
    """
    return TokenStore(folder, {}).forget(key_of(definition))
