"""W3C trace context: the `traceparent` in `_meta` (SEP-414), read strictly and written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.protocol.messages import META, TRACEPARENT

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORM: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_INVALID: Final = "ff"
_FIRST: Final = "00"
_SAMPLED: Final = 1
_LONGEST: Final = 512


class TraceContext(NamedTuple):
    """A span: the trace that it belongs to, and its own id; never 0."""

    trace_id: int
    span_id: int
    flags: int = _SAMPLED

    @property
    def traceparent(self) -> str:
        return f"{_FIRST}-{self.trace_id:032x}-{self.span_id:016x}-{self.flags:02x}"


def parse_traceparent(value: object) -> TraceContext | None:
    """The context that a `traceparent` names; None if it is invalid.

    A future version may have more fields; those of version 00 are read (W3C, 3.2.4).
    """
    found = _FORM.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST else None
    if found is None or found[1] == _INVALID or (found[1] == _FIRST and found[5] is not None):
        return None
    context = TraceContext(int(found[2], 16), int(found[3], 16), int(found[4], 16) & _SAMPLED)
    return context if context.trace_id and context.span_id else None


def traceparent_of(params: Mapping[str, Any]) -> str | None:
    """The valid `traceparent` in the `_meta` of a request's parameters; None without one."""
    meta = params.get(META)
    value = meta.get(TRACEPARENT) if isinstance(meta, dict) else None
    return value if isinstance(value, str) and parse_traceparent(value) is not None else None
