"""Signs in to the server of `tap --to URL --oauth` in the place of the clients.

Clients use the tap without a token and never see one. The token goes to the server's origin alone,
since clients choose only the path. The requests that get a token are this program's own: they are
not recorded.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Final, Self

import anyio
import httpx2

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.system_keyring import SystemKeyring
from mcp_progress_monitor.sessions.transport.base import SignIns, TransportResources
from mcp_progress_monitor.sessions.transport.http.client import (
    NO_RESPONSE,
    NoRouteError,
    is_token_refused,
    new_client,
)
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS
from mcp_progress_monitor.sessions.transport.http.errors import (
    UnreachableError,
    no_client,
    translated,
)
from mcp_progress_monitor.sessions.transport.http.oauth import auth_for
from mcp_progress_monitor.sessions.transport.http.oauth_callback import host_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.snapshots.definitions import HttpDefinition
    from mcp_progress_monitor.snapshots.servers import SignIn

    Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]

_CONNECT_S: Final = 15.0
_FIRST_S: Final = 10.0  # how long the server may take to answer the request that asks for sign-in
_LONGEST: Final = 500  # characters of a report
_NO_RESPONSE: Final = (*NO_RESPONSE, NoRouteError)
_AUTHORIZATION: Final = "Authorization"
_GRANT: Final = b"grant_type="  # in the form of a request for a token
_LATER: Final = "You are asked to sign in when a client connects, if the server requires it"


class TapSignIn:
    """The user's sign-in, shared by all connections of a tap: a token is refreshed once."""

    def __init__(
        self,
        auth: httpx2.Auth,
        client: httpx2.AsyncClient,
        server: HttpDefinition,
        report: Callable[[str], None],
    ) -> None:
        self._auth = auth
        self._client = client
        self._server = server
        self._report = report
        self._reported = ""

    @classmethod
    async def create(
        cls,
        server: HttpDefinition,
        folder: Path,
        report: Callable[[str], None],
        lines_of: Callable[[SignIn], Sequence[str]],
    ) -> Self:
        """Use the sign-ins saved in `folder`; `lines_of` says where the user has to sign in.

        `UserError` if this program cannot sign in here.
        """

        def show(name: str) -> None:
            found = sign_ins.of(name)
            for line in () if found is None else lines_of(found):
                report(line)

        sign_ins = SignIns(show)
        means = TransportResources(SystemKeyring(), sign_ins, folder)
        auth = await auth_for(server, means, server.name)
        if auth is None:
            raise AssertionError("a server without sign-in")
        client = new_client(httpx2.Timeout(_FIRST_S, connect=_CONNECT_S), server.address)
        return cls(auth, client, server, report)

    async def begin(self) -> None:
        """Sign in while the user is there, by a request without effects. `UserError` if it fails.

        A server that does not answer may be started later.
        """
        headers = {"Accept": EVENTS, "Accept-Encoding": "identity"}
        request = httpx2.Request("GET", self._server.resource, headers=headers)
        try:
            response = await self._answered(
                request, functools.partial(self._client.send, stream=True, auth=None)
            )
            await response.aclose()
        except _NO_RESPONSE as error:
            why = formatting.one_line(_reason(error, self._server.address), _LONGEST)
            self._report(f"The server did not respond: {why}. {_LATER}.")

    async def answered(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        """Send a client's request with a token, again with another one if the server rejects it.

        The token is left in the headers of `request`. `UserError` if there is none that the server
        accepts, which is reported to the user as well. Raises what `send` raises.
        """
        try:
            return await self._answered(request, send)
        except UserError as error:
            said = (error.details.as_line(), error.details.hint)
            text = formatting.one_line(". ".join(filter(None, said)), _LONGEST)
            if text != self._reported:  # clients try again and again
                self._reported = text
                self._report(text)
            raise

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _answered(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        await request.aread()  # it may be sent twice
        request.headers.pop(_AUTHORIZATION, None)
        async with contextlib.aclosing(self._auth.async_auth_flow(request)) as steps:
            outgoing = await anext(steps)
            while True:
                is_clients = outgoing is request
                # A refresh token is valid once: its successor is saved even if the client left.
                is_kept = not is_clients and _GRANT in outgoing.content
                with anyio.CancelScope(shield=is_kept):
                    response = await (send(request) if is_clients else self._asked(outgoing))
                    response.request = outgoing
                    try:
                        outgoing = await steps.asend(response)
                    except StopAsyncIteration:
                        break
                    except BaseException:
                        await response.aclose()
                        raise
        if is_token_refused(response):
            await response.aclose()
            raise UserError(_refused(response.status_code, self._server.address))
        return response

    async def _asked(self, request: httpx2.Request) -> httpx2.Response:
        """The response to a request that leads to a token; redirects are not followed."""
        try:
            return await self._client.send(request, stream=True, auth=None)
        except _NO_RESPONSE as error:
            raise no_response(error, str(request.url)) from error


def no_response(error: Exception, url: str) -> UserError:
    """An authorization server that cannot be reached, or ends the connection."""
    where = host_of(url)
    hint = "Check the network. The next request tries again."
    what = "Cannot sign in: the authorization server did not respond"
    return UserError(ErrorDetails(what, where, hint, _reason(error, where)))


def _reason(error: Exception, where: str) -> str:
    if isinstance(error, NoRouteError):
        return no_client(error.cause, where).as_line()
    failure = translated(error, where, _CONNECT_S)
    return failure.details.as_line() if isinstance(failure, UnreachableError) else failure.reason


def _refused(status: int, where: str) -> ErrorDetails:
    if status == 401:
        what = "The server rejects the token of a new sign-in"
    else:
        what = "The server requires rights that your sign-in does not have"
    hint = "Contact the server's operator, or sign in as another user."
    return ErrorDetails(what, where, hint, f"HTTP {status}")
