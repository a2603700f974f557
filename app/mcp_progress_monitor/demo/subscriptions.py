"""Notifications that belong to no call: changed lists, updated resources, task states.

In the handshake era a client gets them all (of resources, those it subscribed to). In revision
2026-07-28 it sends `subscriptions/listen` with the notifications it wants; the request is
acknowledged, and every notification has its id (spec 2026-07-28, basic, patterns, subscriptions).
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from mcp_progress_monitor.demo.wire import (
    INVALID_PARAMS,
    JsonObject,
    RequestId,
    RpcError,
    Wire,
    notification,
)

SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"

LISTS: Final = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""Each list that may change, and its member in `subscriptions/listen`."""

_KINDS: Final = {
    **dict.fromkeys(LISTS.values(), bool),
    "resourceSubscriptions": list,
    "taskIds": list,
}


@dataclass(frozen=True, slots=True)
class _Listener:
    id: RequestId
    wanted: JsonObject
    owner: object

    def wants(self, kind: str, value: object) -> bool:
        """Whether it asked for this kind and, if that is a list, for this value."""
        wanted = self.wanted.get(kind, False)
        return value in wanted if isinstance(wanted, list) else bool(wanted)


class Subscriptions:
    """The subscriptions of one client."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._listeners: dict[tuple[object, RequestId], _Listener] = {}
        self._subscribed: set[str] = set()
        self._lock = threading.Lock()

    def subscribe(self, uri: object) -> None:
        self._subscribed.add(_uri(uri))

    def unsubscribe(self, uri: object) -> None:
        self._subscribed.discard(_uri(uri))

    def listen(
        self, listener_id: RequestId, wanted: object, task_ids: Iterable[str], owner: object = None
    ) -> None:
        """Acknowledge a `subscriptions/listen` and start to serve it; of tasks, only `task_ids`.

        Notifications are sent to its `owner`.

        Raises:
            RpcError: Its parameters are invalid.
        """
        honoured = _checked(wanted)
        if "taskIds" in honoured:
            known = set(task_ids)
            honoured["taskIds"] = [task for task in honoured["taskIds"] if task in known]
        listener = _Listener(listener_id, honoured, owner)
        with self._lock:
            self._acknowledge(listener)
            self._listeners[owner, listener_id] = listener

    def _acknowledge(self, listener: _Listener) -> None:
        params = _marked(listener, notifications=listener.wanted)
        method = "notifications/subscriptions/acknowledged"
        self._wire.send(notification(method, params), listener.owner)

    def stop(self, listener_id: RequestId, owner: object = None) -> None:
        with self._lock:
            del self._listeners[owner, listener_id]

    def notify(self, kind: str, value: object, method: str, make: Callable[[], JsonObject]) -> int:
        """Send a notification to each listener that wants it, and return their number."""
        with self._lock:
            listeners = [each for each in self._listeners.values() if each.wants(kind, value)]
            for listener in listeners:
                self._wire.send(notification(method, _marked(listener, **make())), listener.owner)
        return len(listeners)

    def has_subscribed(self, uri: str) -> bool:
        """Whether a client of the handshake era has subscribed to this resource."""
        return uri in self._subscribed


def _marked(listener: _Listener, **params: Any) -> JsonObject:
    return {**params, "_meta": {SUBSCRIPTION_ID: listener.id}}


def _checked(wanted: object) -> JsonObject:
    if not isinstance(wanted, dict):
        raise RpcError(INVALID_PARAMS, "subscriptions/listen needs an object notifications")
    known = {name: value for name, value in wanted.items() if name in _KINDS}
    for name, value in known.items():
        if not isinstance(value, _KINDS[name]):
            raise RpcError(INVALID_PARAMS, f"notifications.{name} has the wrong type")
    return known


def _uri(uri: object) -> str:
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "A subscription needs a string uri")
    return uri
