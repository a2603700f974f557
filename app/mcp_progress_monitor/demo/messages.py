"""JSON-RPC message shapes and error codes, built and never parsed here.

Sources: JSON-RPC 2.0 sections 4 and 5; MCP revision 2026-07-28, `schema.json`, for the reserved
codes -32020 to -32022.
"""

import json
from typing import Any, Final

JsonObject = dict[str, Any]
RequestId = str | int

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
"""Handshake era only; the per-request era answers `INVALID_PARAMS` instead."""
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_NEEDED: Final = -32042
"""Revision 2025-11-25: the call can be served once the user has been to some address."""
REQUEST_CANCELLED: Final = -32800
"""Outside the range JSON-RPC reserves; the number language servers use for the same news."""


class RpcError(Exception):
    """Ends a request with a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Keep what the reply will carry; `data` of None is left out of it."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def body(self) -> JsonObject:
        """Return the `error` member of the reply."""
        body: JsonObject = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


def result_reply(request_id: RequestId | None, result: JsonObject) -> JsonObject:
    """Return the reply that ends a request well."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_reply(request_id: RequestId | None, error: RpcError) -> JsonObject:
    """Return the reply that refuses a request; a None id stands for one that was unreadable."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error.body()}


def request(request_id: RequestId, method: str, params: object) -> JsonObject:
    """Return a request of ours to the client; `params` may be of any type, None for no member."""
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: object) -> JsonObject:
    """Return a notification; `params` may be of any type, for the tools that break the rules."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progress_notification(params: object) -> JsonObject:
    """Return a progress notification around `params`, right or wrong."""
    return notification("notifications/progress", params)


def text_result(*texts: str, is_error: bool = False) -> JsonObject:
    """Return a tool's result with one text block for each of `texts`."""
    result: JsonObject = {"content": [{"type": "text", "text": text} for text in texts]}
    if is_error:
        result["isError"] = True
    return result


def encode(message: object) -> bytes:
    r"""Return `message` as one compact line of UTF-8, its newline included.

    Text with a lone surrogate (a client may send the escape `\ud800`, and we echo tokens) cannot
    be written as UTF-8; such a message is escaped to ASCII as a whole.
    """
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"
