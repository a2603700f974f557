"""A session of a few messages, read and kept as live ones are, for the tests of Traffic."""

import json
from typing import Any

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.recording.timeline import Timeline
from tests.gui.traffic.frames import frame


class TrafficSession:
    """Messages said one by one; each call returns the place of its message."""

    def __init__(self) -> None:
        self._recorder = Recorder()
        self._conversations: dict[str, Conversation] = {}

    @property
    def timeline(self) -> Timeline:
        """What was said so far."""
        return self._recorder.timeline

    def said(
        self,
        message: dict[str, Any] | bytes,
        channel: Channel = Channel.RECEIVED,
        connection: str = "demo#1",
    ) -> int:
        """One message; a tenth of a second after the one before."""
        content = message if isinstance(message, bytes) else {"jsonrpc": "2.0"} | message
        one = frame(self.timeline.end + 1, content, channel, connection=connection)
        reader = self._conversations.setdefault(connection, Conversation(connection))
        self._recorder.take([one], reader.read([one]))
        return self.timeline.end - 1

    def called(self, identity: Any, token: Any = None, **params: Any) -> int:
        """A call of ours."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        params = {"name": "export", **params, **meta}
        message = {"id": identity, "method": "tools/call", "params": params}
        return self.said(message, Channel.SENT)

    def ticked(self, token: Any, progress: float = 1) -> int:
        """A tick of a call."""
        params = {"progressToken": token, "progress": progress}
        return self.said({"method": "notifications/progress", "params": params})

    def answered(self, identity: Any, **result: Any) -> int:
        """The reply to a call."""
        return self.said({"id": identity, "result": result})

    def logged(self, line: str) -> int:
        """A line of standard error."""
        return self.said(json.dumps(line).encode(), Channel.STDERR)
