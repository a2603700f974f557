"""The names of OpenTelemetry that we send: those of MCP's conventions, and our own.

The conventions are semantic-conventions-genai v0.1.0 (status: Development). The constants of the
packages are marked deprecated, because the conventions moved, so they are spelled here.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "mcp_progress_monitor"

# Attributes of the conventions
EVENT_NAME: Final = "event.name"  # also an attribute: receivers drop the field
METHOD: Final = "mcp.method.name"
RESOURCE_URI: Final = "mcp.resource.uri"
PROTOCOL_VERSION: Final = "mcp.protocol.version"
OPERATION: Final = "gen_ai.operation.name"
EXECUTE_TOOL: Final = "execute_tool"
TOOL_NAME: Final = "gen_ai.tool.name"
PROMPT_NAME: Final = "gen_ai.prompt.name"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
REQUEST_ID: Final = "jsonrpc.request.id"
STATUS_CODE: Final = "rpc.response.status_code"
ERROR_TYPE: Final = "error.type"
TOOL_ERROR: Final = "tool_error"
TRANSPORT: Final = "network.transport"

# Attributes of our own
ROLE: Final = "mcp_monitor.role"
SERVER: Final = "mcp_monitor.server"
CLIENT: Final = "mcp_monitor.client"
JOB: Final = "mcp_monitor.job.id"
STATE: Final = "mcp_monitor.job.state"
MESSAGE: Final = "mcp_monitor.job.message"
PROGRESS: Final = "mcp_monitor.job.progress"
TOTAL: Final = "mcp_monitor.job.total"
RATIO: Final = "mcp_monitor.job.progress_ratio"
ELAPSED: Final = "mcp_monitor.job.elapsed"
SILENT: Final = "mcp_monitor.job.since_last_tick"
TIME_LEFT: Final = "mcp_monitor.job.eta"
TICKS: Final = "mcp_monitor.job.ticks"
ATTEMPT: Final = "mcp_monitor.job.attempt"
TASK: Final = "mcp_monitor.task.id"
DIRECTION: Final = "mcp_monitor.direction"
KIND: Final = "mcp_monitor.kind"
RULE: Final = "mcp_monitor.rule"
REASON: Final = "mcp_monitor.reason"

# Values of ROLE
OWN: Final = "client"
WATCHED: Final = "tap"
RECORDED: Final = "recording"

# Log events
STARTED: Final = "mcp.job.started"
PROGRESSED: Final = "mcp.job.progress"
SILENCE: Final = "mcp.job.silent"
STALLED: Final = "mcp.job.stalled"
QUESTION: Final = "mcp.job.question"
RESUMABLE: Final = "mcp.job.resumable"
LATE_RESULT: Final = "mcp.job.late_result"
FINISHED: Final = "mcp.job.finished"

# Metrics
DURATION: Final = "mcp.client.operation.duration"
WATCHED_DURATION: Final = "mcp_monitor.watched.operation.duration"
ACTIVE: Final = "mcp_monitor.jobs.active"
MESSAGES: Final = "mcp_monitor.messages"
FINDINGS: Final = "mcp_monitor.findings"
DROPPED: Final = "mcp_monitor.telemetry.dropped"

BUCKETS: Final = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0),
    *(300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 86_400.0),
)
"""Bounds of durations in seconds, to a day: the conventions name none any more."""

CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that opts in to arguments and results."""
