"""The names of MCP on the wire: methods, the keys of `_meta`, and the paths of task ids.

The only module that spells them: all code that reads, sends, shows or filters messages imports them
from here. `tests/architecture` checks that.
"""

from __future__ import annotations

import enum
from typing import Final, Literal, TypeAlias

# Requests of the client
INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
PING: Final = "ping"
LIST_TOOLS: Final = "tools/list"
CALL_TOOL: Final = "tools/call"
LIST_RESOURCES: Final = "resources/list"
LIST_TEMPLATES: Final = "resources/templates/list"
READ_RESOURCE: Final = "resources/read"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
LIST_PROMPTS: Final = "prompts/list"
GET_PROMPT: Final = "prompts/get"
CALLS: Final = frozenset({CALL_TOOL, READ_RESOURCE, GET_PROMPT})
"""What users call; a server may answer these alone by asking for input."""
COMPLETE: Final = "completion/complete"
SET_LOG_LEVEL: Final = "logging/setLevel"
LISTEN: Final = "subscriptions/listen"
GET_TASK: Final = "tasks/get"
TASK_RESULT: Final = "tasks/result"
CANCEL_TASK: Final = "tasks/cancel"
UPDATE_TASK: Final = "tasks/update"
LIST_TASKS: Final = "tasks/list"
OF_EVENTS: Final = "events/"  # the prefix of the methods of the events extension
LIST_EVENTS: Final = "events/list"
POLL_EVENTS: Final = "events/poll"
STREAM_EVENTS: Final = "events/stream"
SUBSCRIBE_EVENTS: Final = "events/subscribe"
UNSUBSCRIBE_EVENTS: Final = "events/unsubscribe"
LIST_SKILLS: Final = "skills/list"
GET_SKILL: Final = "skills/get"
STREAMS: Final = frozenset({LISTEN, STREAM_EVENTS})
"""Requests that stay open until one side ends them: silence means nothing."""
OF_TASKS: Final = "tasks/"  # the prefix of the methods about tasks

# Requests of the server, or what a reply of 2026-07-28 requires
CREATE_MESSAGE: Final = "sampling/createMessage"
ELICIT: Final = "elicitation/create"
LIST_ROOTS: Final = "roots/list"

# Notifications
INITIALIZED: Final = "notifications/initialized"
ProgressMethod: TypeAlias = Literal["notifications/progress"]
OF_NOTIFICATIONS: Final = "notifications/"
PROGRESS: Final[ProgressMethod] = "notifications/progress"
CANCELLED: Final = "notifications/cancelled"
LOG_MESSAGE: Final = "notifications/message"
RESOURCE_UPDATED: Final = "notifications/resources/updated"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"
ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"
TASK_STATUS: Final = "notifications/tasks/status"  # a task's state, in 2025-11-25
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
"""A subscription of 2026-07-28 has begun."""
TASK_CHANGED: Final = "notifications/tasks"
"""A task's state, in the tasks extension of 2026-07-28."""

EVENT: Final = "notifications/events/event"  # something happened: one event of a stream
STREAM_ACTIVE: Final = "notifications/events/active"
STREAM_ERROR: Final = "notifications/events/error"
STREAM_HEARTBEAT: Final = "notifications/events/heartbeat"
STREAM_TERMINATED: Final = "notifications/events/terminated"
OF_STREAMS: Final = frozenset(
    {EVENT, STREAM_ACTIVE, STREAM_ERROR, STREAM_HEARTBEAT, STREAM_TERMINATED}
)
"""Notifications that belong to an `events/stream`, which they name by `SUBSCRIPTION_KEY`."""
PARTIAL_RESULT: Final = "notifications/tools/partial_result"  # an open draft: SEP-2998
PARTS: Final = OF_STREAMS | {PARTIAL_RESULT}
"""Notifications with a part of the outcome of a request that is still open."""

STATUS_METHODS: Final = frozenset({TASK_STATUS, TASK_CHANGED})
"""Notifications of a task's state, of either era."""


def list_changed(capability: str) -> str:
    """The notification that the list of a capability (`tools`, …) has changed."""
    return f"notifications/{capability}/list_changed"


NOTIFICATIONS: Final = frozenset(
    {
        INITIALIZED,
        PROGRESS,
        CANCELLED,
        LOG_MESSAGE,
        RESOURCE_UPDATED,
        ROOTS_CHANGED,
        ELICITATION_COMPLETE,
        ACKNOWLEDGED,
        *(list_changed(capability) for capability in ("tools", "resources", "prompts")),
    }
    | STATUS_METHODS
    | PARTS
)
"""The notifications that MCP defines."""

# Members of parameters and results
META: Final = "_meta"
PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105 - a member's name
RESUME_TOKEN: Final = "resumeToken"  # noqa: S105 - idem
NEXT_RESUME_TOKEN: Final = "nextResumeToken"  # noqa: S105 - idem
PARTIAL_TOKEN: Final = "partialResultToken"  # noqa: S105 - idem
CONTENT: Final = "content"  # also of progress: an open draft, SEP-2632
TASK_ID: Final = "taskId"
TASK_IDS: Final = "taskIds"
NEXT_CURSOR: Final = "nextCursor"
ECHOED: Final = frozenset(
    {
        "id",
        "requestId",
        NEXT_CURSOR,
        PROGRESS_TOKEN,
        RESUME_TOKEN,
        NEXT_RESUME_TOKEN,
        PARTIAL_TOKEN,
        TASK_ID,
    }
)
"""Members whose values are sent back exactly as they came."""

# Keys of `_meta`, and the name of an extension
TRACEPARENT: Final = "traceparent"  # SEP-414: the W3C trace context
RESERVED: Final = "io.modelcontextprotocol/"  # the prefix of the keys that MCP reserves
VERSION_KEY: Final = f"{RESERVED}protocolVersion"
CAPABILITIES_KEY: Final = f"{RESERVED}clientCapabilities"
CLIENT_KEY: Final = f"{RESERVED}clientInfo"
LOG_LEVEL_KEY: Final = f"{RESERVED}logLevel"
SERVER_KEY: Final = f"{RESERVED}serverInfo"
RELATED_TASK: Final = f"{RESERVED}related-task"
"""The key under which a message names the task that it belongs to."""
SUBSCRIPTION_KEY: Final = f"{RESERVED}subscriptionId"
"""The key under which a notification names the subscription that it was sent on."""
TASKS_EXTENSION: Final = f"{RESERVED}tasks"
"""The extension's name, as both sides declare it in 2026-07-28."""

EVENTS_EXTENSION: Final = f"{RESERVED}events"
SKILLS_EXTENSION: Final = f"{RESERVED}skills"

TOKEN_PATHS: Final = (("params", PROGRESS_TOKEN), ("params", META, PROGRESS_TOKEN))
"""The paths of a progress token: in a notification, and in a request."""
TASK_PATHS: Final = (
    ("params", TASK_ID),
    ("params", META, RELATED_TASK, TASK_ID),
    ("result", "task", TASK_ID),
    ("result", TASK_ID),
    ("result", META, RELATED_TASK, TASK_ID),
)
"""The paths of the task id in messages about a task."""


class TaskStatus(enum.StrEnum):
    """The statuses of a task."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL: Final = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})


def is_terminal(status: object) -> bool:
    return isinstance(status, str) and status in _TERMINAL
