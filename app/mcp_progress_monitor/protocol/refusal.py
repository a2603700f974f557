"""The error for a request that a server refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.lenient_json import shown

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

_LONGEST: Final = 300


def refused(
    method: str, error: JsonObject | None, where: str = "", hint: str = "", reason: str = ""
) -> ErrorDetails:
    """Say that the server refused a request; its reason is the detail, or `reason` without one."""
    given = error or {}
    message, code = given.get("message"), given.get("code")
    said = message if isinstance(message, str) and message else reason
    number = f" ({shown(code)})" if isinstance(code, int) else ""
    what = f"The server refused {method}{number}"
    return ErrorDetails(what, where, hint, one_line(said, _LONGEST))
