"""Who may come in: those with the one bearer token, or with one of the authorization server."""

import hmac
from http import HTTPStatus
from typing import Final

from mcp_progress_monitor.demo.http.handler import Handler
from mcp_progress_monitor.demo.http.oauth import AuthorizationServer
from mcp_progress_monitor.demo.http.pages import base_of
from mcp_progress_monitor.demo.options import Options

_SCHEME: Final = "bearer "


class Gate:
    """Looks at the header Authorization of each request."""

    def __init__(self, options: Options, issuer: AuthorizationServer | None) -> None:
        """Want what the options say; tokens of `issuer`, if there is one, are good as well."""
        self._bearer = options.bearer
        self._issuer = issuer
        self._is_open = options.bearer is None and issuer is None

    def admits(self, handler: Handler) -> bool:
        """Tell whether the request may pass; one that may not is answered."""
        given = handler.headers.get("Authorization", "")
        token = given[len(_SCHEME) :].strip() if given.lower().startswith(_SCHEME) else None
        if self._is_open or (token is not None and self._is_good(token)):
            return True
        self._refuse(handler, is_wrong=token is not None)
        return False

    def _is_good(self, token: str) -> bool:
        if self._bearer is not None and hmac.compare_digest(token.encode(), self._bearer.encode()):
            return True
        return self._issuer is not None and self._issuer.knows(token)

    def _refuse(self, handler: Handler, *, is_wrong: bool) -> None:
        words = ['realm="demo"']
        if is_wrong:
            words += ['error="invalid_token"', 'error_description="Unknown or expired token"']
        if self._issuer is not None:
            address = f"{base_of(handler)}/.well-known/oauth-protected-resource/mcp"
            words += [f'resource_metadata="{address}"', 'scope="demo"']
        if handler.headers.get("Content-Length"):
            handler.body()
        body = b'{"error":"invalid_token"}' if is_wrong else b'{"error":"unauthorized"}'
        headers = {"WWW-Authenticate": f"Bearer {', '.join(words)}"}
        handler.reply(HTTPStatus.UNAUTHORIZED, body, headers=headers)
