"""The parameters of a chain's requests: as first sent, with a resume token, and from the start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.reading import Elided
from mcp_progress_monitor.tracker.chain import without_resume_token

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

_STAMPS = frozenset({eras.VERSION_KEY, eras.CAPABILITIES_KEY, eras.CLIENT_KEY, eras.LOG_LEVEL_KEY})
_OF_ONE_REQUEST = _STAMPS | {"progressToken"}


def first_sent(raw: bytes) -> JsonObject:
    """What every attempt of a chain sends, read from the bytes of one of its requests.

    That is all but the resume token and the stamps, which are made anew for each request; a
    progress token stays, in `_meta`.
    """
    params = json.loads(raw).get("params")
    return lasting(params if isinstance(params, dict) else {})


def lasting(params: JsonObject) -> JsonObject:
    """`params` without what belongs to one attempt alone."""
    return _without(without_resume_token(params), _STAMPS)


def resumed(params: JsonObject, token: str) -> JsonObject:
    """`params`, which are as first sent, with a resume token: nothing else may change."""
    meta = params.get("_meta", {})
    return {**params, "_meta": {**meta, "resumeToken": token}}


def from_the_start(params: JsonObject) -> JsonObject:
    """`params` for the whole request again: what belongs to one request alone is left out."""
    return _without(without_resume_token(params), _OF_ONE_REQUEST)


def progress_token(params: JsonObject) -> str | int | None:
    """The progress token that every attempt sends; None if there is none that may be sent."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None


def is_whole(value: Any) -> bool:
    """Whether nothing of a value was left undecoded, as happens to oversized messages."""
    if isinstance(value, dict):
        return all(map(is_whole, value.values()))
    if isinstance(value, Elided):
        return False
    return not isinstance(value, list) or all(map(is_whole, value))


def _without(params: JsonObject, names: frozenset[str]) -> JsonObject:
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return params
    kept = {name: value for name, value in meta.items() if name not in names}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": kept} if kept else rest
