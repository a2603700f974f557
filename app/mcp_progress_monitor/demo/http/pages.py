"""Small answers that are no MCP: addresses, forms and redirects of the authorization server."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_progress_monitor.demo.http.handler import Handler, json_of

_NO_STORE: Final = {"Cache-Control": "no-store"}


def base_of(handler: Handler) -> str:
    """Return the address of this server, as the client calls it."""
    scheme = "https" if hasattr(handler.connection, "do_handshake") else "http"
    host, port = handler.connection.getsockname()[:2]
    return f"{scheme}://{handler.headers.get('Host', f'{host}:{port}')}"


def query_of(handler: Handler) -> dict[str, str]:
    """Return the parameters of the address, the last of each name."""
    return _fields(urlsplit(handler.path).query)


def form_of(handler: Handler) -> dict[str, str]:
    """Return the fields of a form that was sent."""
    return _fields(handler.body().decode("utf-8", "replace"))


def object_of(handler: Handler) -> dict[str, Any] | None:
    """Return the JSON object that was sent, None if it is something else."""
    try:
        value = json_of(handler.body())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def tell(handler: Handler, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
    """Answer in JSON that nobody may keep."""
    handler.reply_json(status, value, _NO_STORE)


def refuse(handler: Handler, error: str, words: str) -> None:
    """Answer with an error as OAuth has them."""
    tell(handler, {"error": error, "error_description": words}, HTTPStatus.BAD_REQUEST)


def send_to(handler: Handler, address: str, **parameters: str | None) -> None:
    """Redirect to an address with more parameters; those that are None are left out."""
    joint = "&" if urlsplit(address).query else "?"
    given = {name: value for name, value in parameters.items() if value is not None}
    where = {"Location": f"{address}{joint}{urlencode(given)}"}
    handler.reply(HTTPStatus.FOUND, headers={**where, **_NO_STORE})


def _fields(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text).items()}
