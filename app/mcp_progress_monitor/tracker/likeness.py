"""Whether a resumed request is the first one again: only its resume token may differ.

Source: the resume draft, "Implementation Guidelines"; the per-request era's stamps and the trace
context, which are those of one request, do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.tracker.chain import without_resume_token

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestMade

_STAMPS: Final = "io.modelcontextprotocol/"
_TRACE: Final = frozenset({"traceparent", "tracestate", "baggage"})
"""The W3C trace context, whose keys the per-request era reserves in `_meta`."""


def differences(first: RequestMade, fact: RequestMade) -> str:
    """What of a resumed request is not as in the first one, in words; empty if all is."""
    if _comparable(first.params) == _comparable(fact.params):
        return ""
    return "The resumed request differs from the first one in more than its token"


def _comparable(params: JsonObject) -> bytes:
    """Parameters without what may differ: the resume token, stamps and the trace context."""
    kept = without_resume_token(params)
    meta = kept.get("_meta")
    if not isinstance(meta, dict):
        return canonical(kept)
    own = {name: value for name, value in meta.items() if not _is_of_one_request(name)}
    rest = {name: value for name, value in kept.items() if name != "_meta"}
    return canonical({**rest, "_meta": own} if own else rest)


def _is_of_one_request(name: str) -> bool:
    return name.startswith(_STAMPS) or name in _TRACE
