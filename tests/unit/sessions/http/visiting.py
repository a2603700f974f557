"""Connections to a protected server, and the error that a request to it meets."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import NoKeyring
from mcp_progress_monitor.sessions.transport.base import TransportResources
from mcp_progress_monitor.sessions.transport.http.oauth import auth_for
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient
from tests.unit.sessions.http.authorization import SERVER, Browser, Site


class Visit:
    """A connection to the protected server."""

    def __init__(
        self, site: Site, browser: Browser, folder: Path | None, oauth: OAuthClient
    ) -> None:
        self.site = site
        self.browser = browser
        self.means = TransportResources(NoKeyring(), browser.sign_ins, folder, older=set())
        self.definition = HttpDefinition(name="remote", url=SERVER, auth="oauth", oauth=oauth)

    @contextlib.asynccontextmanager
    async def client(self, name: str = "remote") -> AsyncIterator[httpx2.AsyncClient]:
        auth = await auth_for(self.definition, self.means, name)
        transport = httpx2.MockTransport(self.site.handle)
        async with httpx2.AsyncClient(transport=transport, auth=auth) as client:
            yield client


@contextlib.asynccontextmanager
async def visiting(
    folder: Path | None = None,
    *,
    opens: bool = True,
    site: Site | None = None,
    oauth: OAuthClient | None = None,
) -> AsyncIterator[Visit]:
    site = site or Site()
    browser = Browser(site, opens=opens)
    async with anyio.create_task_group() as group:
        if opens:
            group.start_soon(browser.run)
        try:
            yield Visit(site, browser, folder, oauth or OAuthClient())
        finally:
            group.cancel_scope.cancel()
            browser.close()


async def error_of(client: httpx2.AsyncClient) -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        await client.post(SERVER, content=b"x")
    return caught.value.details
