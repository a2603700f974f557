"""A connection to play messages on, and the JSON values that hypothesis makes up."""

import json
from typing import Any

from hypothesis import strategies as st

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import Fact
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


class Wire:
    """Both ends of one connection: what is sent and received comes out as facts."""

    def __init__(self) -> None:
        self.framer = Framer("server#1", FrameNumbers())
        self.conversation = Conversation("server#1")

    def frames(self, *lines: bytes | dict[str, Any] | list[Any]) -> list[Frame]:
        """Frames of what the server writes."""
        return self.framer.received([as_bytes(line) for line in lines], 1000.0, 1.0)

    def receive(self, *lines: bytes | dict[str, Any] | list[Any]) -> list[Fact]:
        """The facts of what the server writes."""
        return list(self.conversation.read(self.frames(*lines)))

    def send(self, message: bytes | dict[str, Any]) -> Fact:
        """The one fact of what we write."""
        (fact,) = self.conversation.read([self.framer.sent(as_bytes(message), 1000.0, 1.0)])
        return fact

    def event(self, name: str, **fields: object) -> list[Fact]:
        """The facts of an event of the connection."""
        return list(self.conversation.read([self.framer.event(name, 1000.0, 1.0, **fields)]))


def as_bytes(message: object) -> bytes:
    """A message as JSON, unless it is bytes already."""
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def request(identity: object, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def call(identity: object, token: object) -> dict[str, Any]:
    """A tool call with a progress token."""
    return request(identity, name="tool", _meta={"progressToken": token})


def result(identity: object, **members: Any) -> dict[str, Any]:
    """A reply."""
    return {"jsonrpc": "2.0", "id": identity, "result": members}


def error(identity: object, code: int = -32603, **members: Any) -> dict[str, Any]:
    """An error reply."""
    failure = {"code": code, "message": "no", **members}
    return {"jsonrpc": "2.0", "id": identity, "error": failure}


def notification(method: str, **params: Any) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progress(token: object, value: object, **params: Any) -> dict[str, Any]:
    """A progress notification."""
    return notification("notifications/progress", progressToken=token, progress=value, **params)
