"""The extensions for events and skills, as the test server's profile `events` serves them."""

import datetime
import itertools
from collections.abc import Callable
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, JsonObject, RpcError, notification

EXTENSIONS: Final[JsonObject] = {
    "io.modelcontextprotocol/events": {},
    "io.modelcontextprotocol/skills": {},
}
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_NOT_FOUND: Final = -32011
_OBJECT: Final = {"type": "object"}
_TYPES: Final[dict[str, JsonObject]] = {
    name: {
        "name": name,
        "description": described,
        "delivery": ["poll", "push", "webhook"],
        "inputSchema": {
            **_OBJECT,
            "properties": {
                "every_ms": {"type": "integer", "description": "The time between events"},
                "count": {"type": "integer", "description": "End after so many; 0 is endless"},
            },
        },
        "payloadSchema": {**_OBJECT, "properties": {"build": {"type": "integer"}}},
    }
    for name, described in (
        ("build.finished", "A build has finished"),
        ("incident.created", "An incident was <b>reported</b>"),
    )
}
_SKILLS: Final[dict[str, JsonObject]] = {
    f"skill://{name}/SKILL.md": {
        "uri": f"skill://{name}/SKILL.md",
        "frontmatter": {"name": name, "description": described, "license": "MIT"},
        "resources": "dynamic",
    }
    for name, described in (
        ("refunds", "Decide about a refund, <b>step by step</b>"),
        ("release", "Make a release"),
    )
}


def methods() -> dict[str, Callable[[Call], JsonObject | None]]:
    return {
        "events/list": lambda _call: {"events": list(_TYPES.values())},
        "events/poll": _poll,
        "events/stream": _stream,
        "events/subscribe": _subscribe,
        "events/unsubscribe": lambda call: _unsubscribe(call),
        "skills/list": lambda _call: {"skills": list(_SKILLS.values())},
        "skills/get": _skill,
    }


def _name(call: Call) -> str:
    name = call.params.get("name")
    if not isinstance(name, str) or name not in _TYPES:
        raise RpcError(_NOT_FOUND, f"No event type {name}")
    return name


def _event(name: str, number: int) -> JsonObject:
    at = datetime.datetime.now(datetime.UTC).isoformat()
    data = {"build": number, "state": "passed"}
    return {"eventId": f"evt-{number}", "name": name, "timestamp": at, "data": data}


def _poll(call: Call) -> JsonObject:
    found = [] if call.params.get("cursor") is None else [_event(_name(call), 1)]
    known = {"cursor": "c-1", "truncated": False, "hasMore": False, "nextPollMs": 1000}
    return {"events": found, **known}


def _stream(call: Call) -> JsonObject:
    name, arguments = _name(call), call.params.get("arguments") or {}
    every_s, most = arguments.get("every_ms", 200) / 1000, arguments.get("count", 0)
    _tell(call, "active", {"cursor": "c-0", "truncated": False})
    for number in itertools.count(1):
        if most and number > most:
            break
        call.sleep(every_s)
        if number % 5 == 0:
            _tell(call, "heartbeat", {"cursor": f"c-{number}"})
        _tell(call, "event", {**_event(name, number), "cursor": f"c-{number}"})
    return {}


def _tell(call: Call, what: str, params: JsonObject) -> None:
    whole = {**params, "_meta": {SUBSCRIPTION: call.id}}
    call.wire.send(notification(f"notifications/events/{what}", whole))


def _subscribe(call: Call) -> JsonObject:
    _name(call)
    delivery = call.params.get("delivery")
    if not isinstance(delivery, dict) or not str(delivery.get("url")).startswith("https://"):
        raise RpcError(INVALID_PARAMS, "delivery.url must be an https address")
    return {"id": "sub-1", "refreshBefore": None, "cursor": "c-0", "truncated": False}


def _unsubscribe(call: Call) -> JsonObject:
    _name(call)
    return {}


def _skill(call: Call) -> JsonObject:
    uri = call.params.get("uri")
    if not isinstance(uri, str) or uri not in _SKILLS:
        raise RpcError(INVALID_PARAMS, f"No skill {uri}")
    return {"skill": _SKILLS[uri]}
