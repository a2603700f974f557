"""Legacy HTTP+SSE (2024-11-05): one stream for all server messages, and an endpoint for posts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import httpx2

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.secrets import shown_url
from mcp_progress_monitor.sessions.transport.http import errors
from mcp_progress_monitor.sessions.transport.http.client import HttpRequest, is_same_origin
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS
from mcp_progress_monitor.sessions.transport.http.errors import (
    BrokenError,
    HttpRefusedError,
    UnreachableError,
)
from mcp_progress_monitor.sessions.transport.http.streams import read_rest, read_stream

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.sse import SseEvent
    from mcp_progress_monitor.sessions.transport.http.endpoint import HttpEndpoint

_SHOWN: Final = 200


class LegacySseStream:
    """The stream of one connection, and the endpoint for messages."""

    def __init__(self, site: HttpEndpoint, *, is_trial: bool = False) -> None:
        """Begin unconnected; `site` posts to the endpoint that the stream names.

        In a trial, a server without such a stream is not an error.
        """
        self.is_found = False  # whether the server has named the endpoint
        self._site = site
        self._is_trial = is_trial
        self._scope = anyio.CancelScope()
        self._endpoint = anyio.Event()

    async def reached(self) -> None:
        """Wait until the server has named the endpoint, or the connection has failed."""
        await self._endpoint.wait()

    def stop(self) -> None:
        self._scope.cancel()

    async def run(self) -> None:
        """Read the stream to its end, which ends the connection."""
        with self._scope:
            await self._run()

    async def _run(self) -> None:
        site = self._site
        headers = site.headers(EVENTS)
        request = HttpRequest("GET", site.definition.url, headers, "listen")
        try:
            async with site.wire.exchange(request) as reply:
                if reply.answer.status != 200 or reply.answer.kind != EVENTS:
                    self._fail(_no_stream(await read_rest(site, reply), site.address))
                    return
                ending = await read_stream(site, reply, self._on_other)
        except UnreachableError as error:
            self._fail(error.details)
        except BrokenError as error:
            self._fail(_ended(error.reason, site.address))
        except HttpRefusedError as error:
            self._fail(error.loss.details)
        else:
            self._fail(_ended(ending.reason, site.address))

    def _fail(self, error: ErrorDetails) -> None:
        if self.is_found or not self._is_trial:
            self._site.fail(error)
        self._endpoint.set()

    def _on_other(self, event: SseEvent) -> None:
        """Set the endpoint; the first one counts."""
        if event.name != "endpoint" or not event.is_complete or self._endpoint.is_set():
            return
        told = (event.data or b"").decode(errors="replace").strip()
        here = httpx2.URL(self._site.definition.url)
        try:
            there = here.join(told)
        except httpx2.InvalidURL:
            there = None
        if there is None:
            self._fail(_no_place(told, shown_url(str(here))))
            return
        if not is_same_origin(here, there):
            self._fail(_elsewhere(told, shown_url(str(here))))
            return
        self._site.url = str(there.copy_with(userinfo=here.userinfo))
        self.is_found = True
        self._endpoint.set()


def _no_stream(answer: errors.HttpAnswer, where: str) -> ErrorDetails:
    if answer.status >= 300:
        error = errors.refused(answer, where).details
    else:
        error = errors.no_message(answer, where).details
    if answer.status in {400, 404, 405, 406}:
        hint = "Servers from 2024-11-05 are often at /sse. Newer ones need the transport http."
        return error._replace(hint=hint)
    return error


def _ended(reason: str, where: str) -> ErrorDetails:
    what = f"The server's event stream ended: {reason}"
    return ErrorDetails(what, where, "Reconnect. This transport cannot resume a stream.")


def _no_place(told: str, where: str) -> ErrorDetails:
    to = formatting.one_line(shown_url(told), _SHOWN)
    what = f"The server asks for messages at {to}, which is not a valid URL"
    return ErrorDetails(what, where, "The server has a bug: check its log.")


def _elsewhere(told: str, where: str) -> ErrorDetails:
    to = formatting.one_line(shown_url(told), _SHOWN)
    what = f"The server asks for messages at {to}, which is another origin"
    hint = "This could be an attack and was refused. Connect to that URL directly if you trust it."
    return ErrorDetails(what, where, hint)
