"""What the SDK's OAuth client remembers, kept whole: tokens, their end, where to renew them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ValidationError

from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

    from mcp_progress_monitor.sessions.http.token_store import TokenStore

_log = logging.getLogger(__name__)


class Record(BaseModel):
    """One sign-in. The SDK alone would keep tokens and client.

    After a restart it would then neither know when a token ends nor where it is renewed: it would
    send our renewal token to the wrong place. `server` is for who reads the file.
    """

    server: str
    tokens: OAuthToken | None = None
    expires_at: float | None = None
    client: OAuthClientInformationFull | None = None
    issuer: str | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None


class Storage:
    """The SDK's `TokenStorage` over our store, for one server.

    `registered` is a client that was registered by hand: it is never replaced by one that
    registers itself.
    """

    def __init__(
        self,
        store: TokenStore,
        key: str,
        server: str,
        registered: OAuthClientInformationFull | None,
    ) -> None:
        self.context: OAuthContext
        """The SDK's state, to be set before anything else is called."""
        self._store = store
        self._key = key
        self._server = server
        self._registered = registered
        self._record = Record(server=server)

    async def look(self) -> None:
        """Take up what is kept, where it is another token than the one that we have.

        Other connections and programs renew it as well, which may end ours.
        """
        record = await self._read()
        context = self.context
        if record.tokens is None or record.tokens == context.current_tokens:
            return
        self._record = record
        context.current_tokens = record.tokens
        context.token_expiry_time = record.expires_at
        context.client_info = await self.get_client_info()
        context.auth_server_url = record.issuer
        context.oauth_metadata = record.metadata
        context.protected_resource_metadata = record.resource

    async def drop(self, tokens: OAuthToken) -> None:
        """Forget tokens that are of no use any more, unless others have newer ones."""
        record = await self._read()
        if record.tokens == tokens:
            self._record = record.model_copy(update={"tokens": None, "expires_at": None})
            await self._write()

    async def forget_client(self) -> None:
        """Forget a registration that the authorization server knows no more."""
        self.context.client_info = None
        self._record = self._record.model_copy(update={"client": None})
        await self._write()

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens as they were read."""
        return self._record.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, and what belongs to them."""
        await self._keep(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Who we are there: registered by hand, or what was kept."""
        if self._registered is None:
            return self._record.client
        # Tied to where it was used first: a server cannot lead the secret elsewhere later.
        return self._registered.model_copy(update={"issuer": self._bound_to()})

    async def known_client(
        self, now: OAuthClientInformationFull | None
    ) -> OAuthClientInformationFull | None:
        """Who we are at the next sign-in; `now` is what the SDK holds."""
        return now if self._registered is None else await self.get_client_info()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration that was made."""
        if self._registered is not None:
            what = "The server names another authorization server than the client id was used with"
            hint = "If that is right, sign out (the command: servers sign-out), and sign in again."
            raise ProblemError(Problem(what, self._server, hint, str(self.context.auth_server_url)))
        self._record = self._record.model_copy(update={"client": client_info})
        await self._keep(self.context.current_tokens)

    def _bound_to(self) -> str | None:
        metadata = self._record.metadata
        return None if metadata is None else str(metadata.issuer)

    async def _keep(self, tokens: OAuthToken | None) -> None:
        context = self.context
        self._record = Record(
            server=self._server,
            tokens=tokens,
            expires_at=context.token_expiry_time if tokens else None,
            client=None if self._registered is not None else context.client_info,
            issuer=context.auth_server_url,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
        )
        await self._write()

    async def _read(self) -> Record:
        found: dict[str, Any] | None = await anyio.to_thread.run_sync(self._store.get, self._key)
        if found is None:
            return Record(server=self._server)
        try:
            return Record.model_validate(found)
        except ValidationError:
            # Not told with what it holds: those are secrets.
            _log.info("What is kept of the sign-in at %s is not understood: left out", self._server)
            return Record(server=self._server)

    async def _write(self) -> None:
        """Keep the record; where that fails it holds while the connection lasts."""
        fields = self._record.model_dump(mode="json", exclude_none=True)
        try:
            await anyio.to_thread.run_sync(self._store.put, self._key, fields)
        except ProblemError as error:
            _log.warning("%s", error.problem.as_text())
