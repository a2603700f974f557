"""The rules that are checked, with their sources: data, and nothing else.

The ids are those of the project's table of rules: PROG progress, CAN cancelling, TSK tasks, MRT
multi-round-trip requests, SUB subscriptions, EVT events, LOG log messages, RES results, JR
JSON-RPC, RSM the resume draft, OUT output schemas, HDR headers, CLI the client, DRIFT changed
definitions, DEP deprecated features, END the end of a process, SCHEMA the official JSON schemas,
EXPECT what the user of `check` expects, TOUR what its tour leaves out. `tests/unit/findings` checks
that each is complete; `advice` says for each id what was due and how to fix it.
"""

from __future__ import annotations

from typing import Final

from mcp_progress_monitor.findings.finding import Level, Rule, Source

_ERROR, _WARNING, _NOTE = Level.ERROR, Level.WARNING, Level.NOTE

_A, _B, _C, _D, _E = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
ALL: Final = (_A, _B, _C, _D, _E)
_HANDSHAKE: Final = (_A, _B, _C, _D)
_CORE_TASKS: Final = (_D,)
_PER_REQUEST: Final = (_E,)
_TASKS: Final = (_D, _E)

_PROGRESS: Final = Source(_D, "Basic, Utilities, Progress")
_CANCELLATION: Final = Source(_D, "Basic, Utilities, Cancellation")
_TASK: Final = Source(_D, "Basic, Utilities, Tasks")
_TASK_EXTENSION: Final = Source(_E, "Extensions, Tasks")
_STDIO: Final = Source(_D, "Basic, Transports, stdio")
_JSON_RPC: Final = Source("JSON-RPC 2.0", "Request object, Response object")
_REPLIES: Final = Source(_D, "Basic, Messages, Responses")
_JSON: Final = Source("RFC 8259", "Objects, Numbers, Strings")
_HTTP: Final = Source(_E, "Streamable HTTP, Sending Messages to the Server")
_ROUNDS: Final = Source(_E, "Multi Round-Trip Requests")
_RESUME: Final = Source("Resume draft", "Resume tokens")
_OUTPUT: Final = Source(_D, "Server Features, Tools, Output Schema")
_HEADERS: Final = Source(_E, "Custom Headers from Tool Parameters")
_ROUTING: Final = Source(_E, "Streamable HTTP, Standard MCP Request Headers")
_CANCEL: Final = Source(_E, "Patterns, Cancellation")
_SUBSCRIPTIONS: Final = Source(_E, "Patterns, Subscriptions")
_EVENTS: Final = Source("SEP-3415", "Events Extension")
_LOGGING: Final = Source(_E, "Server Features, Logging, Per-request log level")
_DEPRECATED: Final = Source(_E, "Deprecated Features")
_CODES: Final = Source(_E, "Base Protocol, Error Codes")
_LIFECYCLE: Final = Source(_D, "Base Protocol, Lifecycle, Initialization")
_SHUTDOWN: Final = Source(_D, "Base Protocol, Lifecycle, Shutdown, stdio")
_TIMEOUTS: Final = Source(_D, "Base Protocol, Lifecycle, Timeouts")
_BATCHES: Final = Source(_C, "Key Changes")
_SCHEMAS: Final = Source("MCP JSON schema", "Definition of the message")
_TOOLS: Final = Source(_D, "Server Features, Tools")
_KNOWN_CLIENTS: Final = Source("Known clients", "Idle timeouts, November 2026")
_OPTIONS: Final = Source("mcp-progress-monitor check", "Options")


def _progress(id_: str, level: Level, text: str, kind: str = "", member: str = "") -> Rule:
    return Rule(id_, level, ALL, _PROGRESS, text, kind, member)


def _task(id_: str, level: Level, text: str, kind: str = "") -> Rule:
    return Rule(id_, level, _TASKS, _TASK, text, kind)


def _core_task(id_: str, text: str, kind: str = "") -> Rule:
    return Rule(id_, _ERROR, _CORE_TASKS, _TASK, text, kind)


def _per_request(id_: str, source: Source, text: str, kind: str = "") -> Rule:
    return Rule(id_, _ERROR, _PER_REQUEST, source, text, kind)


def _line(text: str, level: Level = _ERROR, source: Source = _STDIO) -> Rule:
    return Rule("JR-2", level, ALL, source, text)


def _envelope(text: str, id_: str = "JR-1") -> Rule:
    return Rule(id_, _ERROR, ALL, _JSON_RPC, text)


def _resume(id_: str, level: Level, text: str, kind: str = "") -> Rule:
    return Rule(id_, level, ALL, _RESUME, text, kind)


def _header(text: str) -> Rule:
    return Rule("HDR-1", _ERROR, _PER_REQUEST, _HEADERS, text)


# The text of a message
REPEATED_KEY: Final = _line(
    "duplicate key {key} in an object; the last value is used", _WARNING, _JSON
)
KEY_TWICE: Final = _line("duplicate key {key}; the last value is used", _WARNING, _JSON)
MORE_OF_THE_KIND: Final = _line("and more findings of this kind", _NOTE)
NO_NUMBER: Final = _line("{name} is not a JSON number", source=_JSON)
LONG_INTEGER: Final = _line("an integer of {digits:,} digits is too long to read", _WARNING)
BYTE_ORDER_MARK: Final = _line("byte order mark before the message")
INVALID_UTF8: Final = _line("invalid UTF-8 at byte {byte}; shown as \N{REPLACEMENT CHARACTER}")
HALF_SURROGATE: Final = _line(
    "unpaired surrogate; shown as \N{REPLACEMENT CHARACTER}", source=_JSON
)
CONTROL_CHARACTER: Final = _line(
    "unescaped control character in a string, at character {character:,}", source=_JSON
)
TOO_LARGE: Final = _line(
    "too large or too deeply nested to decode completely ({size:,} bytes)", _NOTE
)
MEMBERS_LEFT_OUT: Final = _line("{count:,} members beyond the first {most:,} are not shown", _NOTE)
BLANK_LINE: Final = _line("blank line")
NO_LINE_END: Final = _line("the stream ended without a line feed after this message", _WARNING)
CUT_LINE: Final = _line("the stream ended in the middle of this line ({reason})")
NOT_TEXT: Final = _line("not JSON; looks like binary data or UTF-16 ({reason})")
NOT_JSON: Final = _line("not JSON: {text} ({reason})")
LONG_NOT_JSON: Final = _line("not JSON")
LONG_LINE: Final = _line("line of {size}; lines are read up to {most}", _NOTE)

# Messages
EMPTY_BATCH: Final = _envelope("empty batch", "JR-3")
BATCH_IN_BATCH: Final = _envelope("nested batch", "JR-3")
NO_MESSAGE: Final = _envelope("{value} is not a message", "JR-2")
NO_KIND: Final = _envelope("has no method, result or error", "JR-2")
ID_TYPE: Final = _envelope("the id {id} is neither a string nor an integer")
ID_NO_INTEGER: Final = _envelope("the id {id} is not an integer")
ID_NULL: Final = _envelope("the id of a request is null")
ID_IN_USE: Final = _envelope("the id {id} is in use by the request of frame {frame}")
NOTIFICATION_ID: Final = Rule(
    "JR-1", _ERROR, ALL, Source(_D, "Basic, Notifications"), "a notification has the id {id}"
)
VERSION_MISSING: Final = _envelope('"jsonrpc" is missing', "JR-2")
VERSION_WRONG: Final = _envelope('"jsonrpc" is {value} instead of "2.0"', "JR-2")._replace(
    member="jsonrpc"
)
METHOD_TYPE: Final = _envelope("the method {method} is not a string", "JR-2")._replace(
    member="method"
)
PARAMS_TYPE: Final = _envelope("params is {value}, not an object", "JR-2")._replace(member="params")
META_TYPE: Final = _envelope('"_meta" is {value}, not an object', "JR-2")
REPLY_WITH_METHOD: Final = _envelope("reply with a method", "JR-2")
REPLY_WITHOUT_ID: Final = _envelope("reply without an id")
REPLY_ID_NULL: Final = _envelope("reply with a null id")
ERROR_WITHOUT_ID: Final = Rule(
    "JR-1", _WARNING, (_A, _B, _C), _REPLIES, "error reply without an id"
)
"""Since 2025-11-25 it is how a request is refused that could not be read."""
ERROR_ID_NULL: Final = Rule(
    "JR-1",
    _WARNING,
    ALL,
    _REPLIES,
    "error reply with a null id; in MCP an id is a string or an integer",
)
"""JSON-RPC 2.0 asks for null if the request could not be read, MCP's schemas forbid it."""
ERROR_ID_NULL_IN_BODY: Final = ERROR_ID_NULL._replace(
    level=_NOTE,
    source=Source(_D, "Basic, Transports, Streamable HTTP"),
    text="error reply with a null id; over HTTP it may have none",
)
REPLY_WITH_BOTH: Final = _envelope("reply with both a result and an error", "JR-2")
REPLY_TYPE: Final = _envelope("the {member} is {value}, not an object", "JR-2")
REPLY_TO_NOTHING: Final = _envelope("no pending request has the id {id}")
REPLY_TO_ALIKE: Final = _envelope("no pending request has the id {id}; {other}, {type}, is pending")
REPLY_UNKNOWN: Final = _envelope("Reply to an unknown request")
DUPLICATE_REPLY: Final = _envelope("Duplicate reply: the request was already answered")._replace(
    kind="duplicate-reply"
)
"""The first reply counts."""
DUPLICATE_RESULT: Final = _task(
    "JR-1", _ERROR, "Duplicate result: the task's result was already received", "duplicate-reply"
)
SERVER_ASKS: Final = Rule(
    "JR-4",
    _WARNING,
    _PER_REQUEST,
    _ROUNDS,
    "The server tried to send the client a request, which 2026-07-28 does not allow. Try the "
    "handshake era: select it in the server's settings, or pass --era handshake.",
    "no-questions",
)
"""A server of 2026-07-28 whose own question failed: its code asks as in the handshake era."""

SERVER_REQUEST: Final = _per_request(
    "JR-4", _ROUNDS, "the server sent the request {method}, which 2026-07-28 does not allow"
)
RESERVED_CODE: Final = _per_request(
    "JR-4", _CODES, "error code {code} is in the reserved range but not defined by MCP"
)
RETIRED_CODE: Final = RESERVED_CODE._replace(
    text="the error code {code} was retired; 2026-07-28 uses {instead} instead"
)
ID_REUSED: Final = Rule(
    "JR-1",
    _ERROR,
    _HANDSHAKE,
    _JSON_RPC,
    "the id {id} was already used by the request of frame {frame}",
)
BATCH: Final = Rule(
    "JR-3",
    _ERROR,
    (_C, _D, _E),
    _BATCHES,
    "a JSON-RPC batch of {count:,}, which only 2025-03-26 allows",
)
BATCH_EARLY: Final = BATCH._replace(level=_WARNING, revisions=(_A,))
"""2024-11-05 does not name batches; JSON-RPC 2.0 has them."""
ASKED_UNDECLARED: Final = Rule(
    "CAP-1",
    _ERROR,
    (_C, _D),
    Source(_D, "Basic, Lifecycle, Operation"),
    "{method} was sent, but the {side} did not declare {capability}",
)
"""The client cannot answer, and was right to say so."""
USED_UNDECLARED: Final = ASKED_UNDECLARED._replace(level=_WARNING, revisions=ALL)
"""Official SDKs send log messages and news of lists that their servers did not declare."""
BEFORE_INITIALIZE: Final = Rule(
    "JR-5",
    _WARNING,
    _HANDSHAKE,
    _LIFECYCLE,
    "the client sent {method} before the server answered initialize",
)
BEFORE_INITIALIZED: Final = BEFORE_INITIALIZE._replace(
    text="the server sent {method} before the client sent notifications/initialized"
)
NOT_INITIALIZED: Final = BEFORE_INITIALIZE._replace(
    text="the client sent {method} before notifications/initialized"
)

# Progress
TOKEN_TYPE: Final = _progress(
    "PROG-1",
    _ERROR,
    "the progress token {token} is neither a string nor an integer",
    member="token",
)
TICK_TOKEN_TYPE: Final = _progress(
    "PROG-1", _ERROR, '"progressToken" is {token}, not a string or an integer', member="token"
)
TICK_TOKEN_MISSING: Final = _progress("PROG-1", _ERROR, '"progressToken" is missing')
TOKEN_INTEGRAL: Final = _progress(
    "PROG-1",
    _WARNING,
    "the progress token {token} is written with a fraction or an exponent",
    member="token",
)
"""1.0 is an integer for a JSON schema, and none for many parsers."""
TOKEN_ALIKE: Final = _progress(
    "PROG-2",
    _WARNING,
    "the progress token {token} differs only in its JSON type from that of frame {frame}",
    member="token",
)
TOKEN_IN_USE: Final = _progress(
    "PROG-2",
    _ERROR,
    "the progress token {token} is in use by the request of frame {frame}",
    "token-in-use",
    member="token",
)
NOT_INCREASING: Final = _progress(
    "PROG-3",
    _ERROR,
    "Progress did not increase: {progress:number} after {before:number}",
    "not-increasing",
    member="progress",
)
"""A tick's progress was equal to the one before, or below it."""
TOKEN_SHARED: Final = _progress(
    "PROG-2", _NOTE, "Progress of requests that share a progress token cannot be told apart"
)
"""What its ticks seem to break is due to the client."""
UNKNOWN_TOKEN: Final = _progress(
    "PROG-4", _ERROR, "The progress token does not belong to any request", member="token"
)
TICK_AFTER_CANCEL: Final = _progress(
    "PROG-5", _WARNING, "Progress received after the request was cancelled", "after-cancel"
)
TICK_LATE_AFTER_CANCEL: Final = TICK_AFTER_CANCEL._replace(
    text="Progress received {late:late}after the request was cancelled"
)
TICK_CROSSED: Final = TICK_AFTER_CANCEL._replace(
    level=_NOTE,
    text="Progress received {late:late}after the request was cancelled; it may have crossed the"
    " cancel",
)
"""What comes within a second may have been sent before the cancel arrived: no fault."""
TICK_AFTER_ATTEMPT: Final = _progress(
    "PROG-5", _ERROR, "Progress received for an attempt that had ended", "after-end"
)
TICK_AFTER_GIVING_UP: Final = _progress(
    "PROG-5", _NOTE, "Progress received after this client gave up the request"
)
TICK_AFTER_ANSWER: Final = _progress(
    "PROG-6", _ERROR, "Progress received after the request was answered"
)
TICK_AFTER_END: Final = _progress(
    "PROG-6", _ERROR, "Progress received {late:late}after the job ended ({state})", "after-end"
)
TICK_AFTER_CANCELLED_END: Final = TICK_AFTER_END._replace(
    id="PROG-5", level=_WARNING, kind="after-cancel"
)
TICK_AFTER_TIMEOUT: Final = TICK_AFTER_END._replace(id="PROG-5", level=_NOTE, kind="after-timeout")
"""A tick for a request that we had given up; no fault of the server's."""
TICK_IN_BATCH: Final = _progress(
    "PROG-6", _WARNING, "Progress received after the reply, in the same batch"
)
TICK_ELSEWHERE: Final = _progress(
    "PROG-6", _WARNING, "Progress received after the reply, in another HTTP response"
)
TICK_LATE_IN_BATCH: Final = _progress(
    "PROG-6",
    _WARNING,
    "Progress received {late:late}after the reply, in the same batch",
    "late-delivery",
)
TICK_LATE_ELSEWHERE: Final = _progress(
    "PROG-6",
    _WARNING,
    "Progress received {late:late}after the reply, in another HTTP response",
    "late-delivery",
)
NUMBER_TYPE: Final = _progress("PROG-7", _ERROR, '"{member}" is {value}, not a finite number')
PROGRESS_MISSING: Final = _progress("PROG-7", _ERROR, '"progress" is missing')
MESSAGE_TYPE: Final = Rule(
    "PROG-8",
    _WARNING,
    (_B, _C, _D, _E),
    _PROGRESS,
    '"message" is {value}, not a string',
    member="message",
)
MESSAGE_EMPTY: Final = MESSAGE_TYPE._replace(text='"message" is empty')
MESSAGE_CONTROL: Final = MESSAGE_TYPE._replace(text='"message" has the control character {char}')
MESSAGE_EARLY: Final = MESSAGE_TYPE._replace(
    level=_NOTE, revisions=(_A,), text='"message" is not readable text ({why})'
)
"""2024-11-05 has no progress messages: nothing is said of what one has to be."""
TICK_FLOOD: Final = _progress(
    "PROG-9", _WARNING, "More than {most} progress notifications for one token within a second"
)
ENDED_BELOW: Final = _progress(
    "PROG-10", _NOTE, "The request succeeded at {progress:number} of {total:number}"
)
TICK_AFTER_TASK: Final = _core_task(
    "PROG-12", "Progress received {late:late}after the task ended ({status})", "after-end"
)
CLIENT_TICK: Final = _per_request(
    "PROG-13",
    Source(_E, "Patterns, Progress"),
    "the client sent progress; in 2026-07-28 only servers do",
)
TOKEN_IN_QUESTION: Final = CLIENT_TICK._replace(
    text="the input request {key} has a progress token, for which no progress can be sent"
)
TOKEN_TYPE_CHANGED: Final = _progress(
    "PROG-16", _WARNING, "the progress token {given} came back as {token}", member="token"
)
NO_PROGRESS: Final = _progress(
    "PROG-17",
    _NOTE,
    "The request had a progress token and took {took:duration}, but no progress was sent",
)
SILENCE: Final = Rule(
    "PROG-18",
    _WARNING,
    ALL,
    _KNOWN_CLIENTS,
    "The server was silent for {silence:duration}; by default, {clients:list} would have given up",
)
TICKS_HELD_BACK: Final = _progress(
    "PROG-19",
    _NOTE,
    "All progress notifications came within {span:duration} of their reply, {took:duration} after"
    " the request",
)
ABOVE_TOTAL: Final = _progress(
    "PROG-10",
    _NOTE,
    "Progress exceeds its total: {progress:number} of {total:number}",
    "above-total",
    member="progress",
)
TOTAL_CHANGED: Final = _progress(
    "PROG-10",
    _NOTE,
    "Total changed: {total:or_missing} after {before:number}",
    "total-changed",
    member="total",
)
TOTAL_NOT_POSITIVE: Final = _progress(
    "PROG-10", _NOTE, "Total is not positive: {total:number}", "total-not-positive", member="total"
)
OTHER_TOKEN: Final = _core_task(
    "PROG-11", "the progress token differs from the one in the task's request", "task-token"
)
"""Progress that names its task, but not by its token."""
TICK_OF_TASK: Final = _per_request(
    "PROG-14", _TASK_EXTENSION, "Progress received after its request was answered", "task-progress"
)
"""Progress came after the reply that left the work to a task, or to a further request."""
OTHER_STREAM: Final = _per_request(
    "PROG-15", _HTTP, "sent on the response stream of a different request", "other-stream"
)

# Cancelling
CANCEL_ID_TYPE: Final = Rule(
    "CAN-1",
    _ERROR,
    ALL,
    _CANCELLATION,
    '"requestId" is {value}, not a string or an integer',
    member="requestId",
)
CANCEL_REASON_TYPE: Final = CANCEL_ID_TYPE._replace(text='"reason" is {value}, not a string')
CANCEL_UNKNOWN: Final = CANCEL_ID_TYPE._replace(text="Cancelled an unknown request")
CANCEL_TWICE: Final = CANCEL_ID_TYPE._replace(text="The request was already cancelled")
CANCEL_AFTER_GIVING_UP: Final = CANCEL_ID_TYPE._replace(
    text="Cancelled after this client had given up the request", level=_NOTE
)
CANCEL_TOO_LATE: Final = CANCEL_ID_TYPE._replace(
    text="Cancelled after the request was answered", level=_WARNING, kind="cancel-too-late"
)
CANCEL_OF_INITIALIZE: Final = Rule(
    "CAN-2", _ERROR, _HANDSHAKE, _CANCELLATION, "Cancelled initialize"
)
CANCEL_BY_SERVER: Final = _per_request(
    "CAN-4", _CANCEL, "The server cancelled {what}; it may only end a subscription"
)
CANCEL_OF_TASK: Final = Rule(
    "CAN-6",
    _ERROR,
    _TASKS,
    _CANCELLATION,
    "Cancelled the request of a task by notifications/cancelled instead of tasks/cancel",
    "cancel-too-late",
)
REPLY_AFTER_CANCEL: Final = Rule(
    "CAN-3", _WARNING, ALL, _CANCELLATION, "Result received after the request was cancelled"
)
"""Every revision says SHOULD NOT, and a receiver MAY ignore a cancel. For stdio, 2026-07-28 says
MUST NOT elsewhere, but nothing shows that the server had read the cancel when it replied."""
REPLY_CROSSED: Final = REPLY_AFTER_CANCEL._replace(
    level=_NOTE,
    text="Result received {late:late}after the request was cancelled; it may have crossed the"
    " cancel",
)
REPLY_AFTER_GIVING_UP: Final = REPLY_AFTER_CANCEL._replace(
    text="Reply received after this client gave up the request", level=_NOTE
)
LATE_REPLY: Final = REPLY_AFTER_CANCEL._replace(
    text="Reply received {late:duration} after the job ended ({state})", kind="late-result"
)
"""A reply to a request that was cancelled or given up; it is kept."""
RESULT_IGNORES_CANCEL: Final = REPLY_AFTER_CANCEL._replace(text="{reason}", kind="late-result")

# Tasks
TASK_IN_DRAFT: Final = _task(
    "TSK-3", _WARNING, 'the task is in "_meta" as {name}, as in a draft, instead of in "task"'
)
NO_TASK: Final = _task("TSK-3", _ERROR, "the reply contains no task")
ANOTHER_TASK: Final = _task("TSK-3", _ERROR, "the reply is about the task {id}, not {asked}")
ANSWERED_AT_ONCE: Final = _task(
    "TSK-3",
    _ERROR,
    "The server replied directly instead of creating the requested task",
    "task-plain",
)
TASK_UNASKED: Final = _task(
    "TSK-1",
    _ERROR,
    "The server created a task for a request that did not ask for one",
    "task-plain",
)
TASK_ID_EMPTY: Final = _task("TSK-4", _ERROR, '"taskId" is empty')
TASK_ID_IN_USE: Final = _task(
    "TSK-4", _ERROR, "the task id {id} is already used by the request of frame {frame}"
)
NEW_TASK_STATUS: Final = _task(
    "TSK-4", _ERROR, "a new task has the status {status} instead of working"
)
TASK_UNKNOWN: Final = _task(
    "TSK-11", _WARNING, "no request on this connection is about the task {id}"
)
TASK_STATUS_TYPE: Final = _task("TSK-5", _ERROR, '"{member}" is {value}, not a task status')
TASK_STATUS_MISSING: Final = _task("TSK-5", _ERROR, '"{member}" is missing')
TASK_TEXT_TYPE: Final = _task("TSK-6", _ERROR, '"{member}" is {value}, not a string')
TASK_TIME_TYPE: Final = _task("TSK-6", _ERROR, '"{member}" is {value}, not an ISO 8601 time')
TASK_SPAN_TYPE: Final = _task(
    "TSK-6", _ERROR, '"{member}" is {value}, not a number of milliseconds'
)
TASK_MEMBER_MISSING: Final = _task("TSK-6", _ERROR, '"{member}" is missing')
STATUS_AFTER_FINAL: Final = _task(
    "TSK-5", _ERROR, "The task changed from {before}, which is final, to {status}", "task-status"
)
STATUS_AFTER_END: Final = _task(
    "TSK-5", _WARNING, "The task changed to {status} after the job ended ({state})", "task-status"
)
STATUS_OF_CANCEL: Final = _task(
    "TSK-5", _ERROR, "The reply to cancelling the task has the status {status}", "task-status"
)
RESULT_NAMES_NO_TASK: Final = _task(
    "TSK-8", _ERROR, 'the result\'s "_meta" names no task instead of {asked}'
)
RESULT_NAMES_ANOTHER: Final = _task(
    "TSK-8", _ERROR, 'the result\'s "_meta" names the task {id} instead of {asked}'
)
RESULT_NAMES_AS_DRAFT: Final = _task(
    "TSK-8", _WARNING, 'the result\'s "_meta" names its task as {name}, as in a draft'
)
RESULT_TOO_EARLY: Final = _task(
    "TSK-15", _ERROR, "Result received while the task is {status}", "task-result"
)
RESULT_MISSING: Final = _task(
    "TSK-15", _ERROR, "The task is {status}, but its {member} is missing", "task-result"
)
RESULT_IS_ERROR: Final = _task(
    "TSK-15", _ERROR, "The task is completed, but its result is an error", "task-result"
)
LATE_RESULT: Final = _task(
    "TSK-15", _NOTE, "Task result received after the job ended ({state})", "late-result"
)
TASK_REFUSED: Final = _task("TSK-11", _WARNING, "{method} was refused: {reason}", "task-refused")
CANCEL_OF_FINISHED: Final = _task(
    "TSK-10", _NOTE, "Cancelled after the task had finished", "cancel-too-late"
)
KEY_REUSED: Final = _per_request(
    "TSK-16",
    _TASK_EXTENSION,
    "the key {key} was already used for another question",
    "irregular-task",
)
TASK_NOT_OFFERED: Final = _core_task(
    "TSK-1", "The client requested a task, but the server does not offer tasks for tool calls"
)
TASK_FORBIDDEN: Final = TASK_NOT_OFFERED._replace(
    text="The client requested a task, but the tool {tool} cannot run as one"
)
TASK_ONLY: Final = _core_task(
    "TSK-2", "The tool {tool} only runs as a task, but a plain call was answered with {answer}"
)
NEW_FLAT_STATUS: Final = Rule(
    "TSK-4",
    _WARNING,
    _PER_REQUEST,
    _TASK_EXTENSION,
    "a new task has the status {status} instead of working",
)
UPDATED_BACK: Final = _task("TSK-6", _NOTE, '"lastUpdatedAt" went back from {before} to {moment}')
RESULT_BEFORE_END: Final = _core_task(
    "TSK-8", "tasks/result was answered, but the task was still {status} afterwards"
)
FINISHED_CANCELLED: Final = _core_task(
    "TSK-10",
    "tasks/cancel of a finished task was answered with {answer} instead of the error -32602",
)
UNKNOWN_TASK: Final = _core_task(
    "TSK-11", "{method} about an unknown task was answered with the error {code} instead of -32602"
)
TASK_UNDECLARED: Final = _per_request(
    "TSK-13",
    _TASK_EXTENSION,
    "The server created a task, but the client did not declare the tasks extension",
)
TASK_OF_OTHER: Final = TASK_UNDECLARED._replace(
    text="The server created a task for {method}; only tools/call can become one"
)
TASK_NOT_FOUND: Final = _per_request(
    "TSK-14",
    _TASK_EXTENSION,
    "The first tasks/get of a new task was answered with the error {code}",
)

# Rounds and results
NOTHING_REQUIRED: Final = _per_request(
    "MRT-1",
    _ROUNDS,
    "The reply requires input, but contains neither input requests nor a state",
    "irregular-reply",
)
ROUND_CHANGED: Final = _per_request(
    "MRT-1", _ROUNDS, "The request was sent again, but {changes:and}", "changed-request"
)
INPUT_FOR_OTHER: Final = NOTHING_REQUIRED._replace(
    text="{method} was answered with input_required, which only tools/call, prompts/get and "
    "resources/read may be",
    kind="",
)
INPUT_UNDECLARED: Final = NOTHING_REQUIRED._replace(
    text="The input request {key} is {method}, which the client did not declare", kind=""
)
RESULT_TYPE: Final = Rule(
    "RES-1", _ERROR, _PER_REQUEST, _ROUNDS, '"resultType" is {value}, which is not defined'
)
UNFINISHED: Final = Rule("RES-1", _WARNING, _PER_REQUEST, _ROUNDS, "{text}", "unfinished-result")
"""A result of another type than complete: it does not end the work."""
OUTPUT: Final = Rule(
    "OUT-1",
    _ERROR,
    (_C, _D, _E),
    _OUTPUT,
    "The result violates the tool's output schema: {text}",
    "output-schema",
)
OUTPUT_UNCHECKED: Final = OUTPUT._replace(
    level=_NOTE,
    text="The result was not fully validated against the tool's output schema: {text}",
    kind="output-unchecked",
)
OUTPUT_TEXT: Final = OUTPUT._replace(text="{text}")
"""What breaks the schema alone, where it is said next to the event that tells it."""

# Headers from parameters
HEADER_OF_NOTHING: Final = _header('"x-mcp-header" on the schema itself does not name an argument')
HEADER_BELOW: Final = _header(
    '"x-mcp-header" of "{place}" is inside "{keyword}", where it does not name an argument'
)
HEADER_NAME: Final = _header('"x-mcp-header" of "{place}" is {name}, not a valid header name')
HEADER_TYPE: Final = _header(
    '"x-mcp-header" of "{place}" is on a value that is not a string, integer or boolean'
)
HEADER_TWICE: Final = _header('"x-mcp-header" uses {name} twice')

HEADER_MARK: Final = _header("The tool {tool} cannot be called over HTTP: {text}")
HEADER_MISMATCH: Final = _per_request(
    "HDR-1", _ROUTING, "The header {name} is {value}, but the message says {body}"
)
HEADER_MISSING: Final = HEADER_MISMATCH._replace(text="The header {name} is missing")
ACCEPT_LACKS: Final = Rule(
    "HDR-2",
    _ERROR,
    (_B, _C, _D),
    Source(_D, "Basic, Transports, Streamable HTTP"),
    "The header Accept is {value}, without {types:and}",
)
NO_VERSION_HEADER: Final = ACCEPT_LACKS._replace(
    revisions=(_C, _D),
    source=Source(_D, "Basic, Transports, Protocol Version Header"),
    text="The header MCP-Protocol-Version is missing",
)
OTHER_VERSION_HEADER: Final = NO_VERSION_HEADER._replace(
    level=_WARNING, text="The header MCP-Protocol-Version is {value}, but {revision} was agreed on"
)

# Subscriptions and log messages
NOT_ACKNOWLEDGED: Final = _per_request(
    "SUB-1", _SUBSCRIPTIONS, "{method} was sent on a subscription before it was acknowledged"
)
NOT_SUBSCRIBED: Final = NOT_ACKNOWLEDGED._replace(
    text="{method} was sent, but its subscription did not ask for it"
)
NO_SUBSCRIPTION: Final = NOT_ACKNOWLEDGED._replace(
    text="{method} does not name an open subscription ({id})"
)
NO_STREAM: Final = _per_request(
    "EVT-1", _EVENTS, "{method} does not name a stream that was opened ({id})"
)
STREAM_ENDED: Final = _per_request(
    "EVT-2", _EVENTS, "{method} was sent after its stream had ended in message {frame:,}"
)
EVENTS_UNDECLARED: Final = _per_request(
    "EVT-3", _EVENTS, "{method} was sent, but the server did not declare {extension}"
)
WEBHOOK_NOT_SECURE: Final = _per_request(
    "EVT-4", _EVENTS, "a webhook without https was accepted: {url}"
)
WEBHOOK_ENDLESS: Final = _per_request(
    "EVT-4", _EVENTS, "a webhook was granted without an end, but its ttlMs was not null"
)
LOG_UNASKED: Final = _per_request(
    "LOG-1", _LOGGING, "The server sent a log message, but no request asked for any"
)
LOG_LATE: Final = LOG_UNASKED._replace(
    level=_WARNING,
    text="The server sent a log message after all requests that asked for any had ended",
)

# Clients
NEVER_A_TOKEN: Final = Rule(
    "CLI-1",
    _NOTE,
    ALL,
    _PROGRESS,
    "The client sent no progress token with any of its first {calls} tool calls",
)
GIVEN_UP_SILENTLY: Final = Rule(
    "CLI-2",
    _WARNING,
    ALL,
    _TIMEOUTS,
    "The client gave up the request after {after:duration} without notifications/cancelled",
)
TIMED_OUT_RISING: Final = Rule(
    "CLI-3",
    _WARNING,
    ALL,
    _TIMEOUTS,
    "The client timed out after {after:duration}, {since:duration} after the last progress",
)
RESULT_DISCARDED: Final = Rule(
    "CLI-4",
    _NOTE,
    ALL,
    _TIMEOUTS,
    "The result came {late:duration} after the client had timed out, and was lost",
)

# What a session shows of the server as a whole
TOOL_CHANGED: Final = Rule(
    "DRIFT-1", _WARNING, ALL, _TOOLS, "The definition of the tool {tool} changed: {parts:list}"
)
TOOL_CHANGE_ANNOUNCED: Final = TOOL_CHANGED._replace(
    level=_NOTE, text="The definition of the tool {tool} changed, as announced: {parts:list}"
)
TOOL_DRIFTED: Final = TOOL_CHANGED._replace(
    text="The definition of the tool {tool} is not that of the baseline"
)
TOOLS_CHANGED_SINCE: Final = TOOL_CHANGED._replace(
    level=_NOTE, text="Tool definitions changed since the last session: {changes}"
)
DEPRECATED: Final = Rule(
    "DEP-1", _NOTE, _PER_REQUEST, _DEPRECATED, "Deprecated: {feature}. Instead: {instead}."
)
DEPRECATED_TRANSPORT: Final = DEPRECATED._replace(revisions=ALL)
NOT_ENDED: Final = Rule(
    "END-1",
    _WARNING,
    ALL,
    _SHUTDOWN,
    "The server did not end within {limit:duration} after its input was closed",
)
PROCESSES_LEFT: Final = NOT_ENDED._replace(text="The server ended, but left processes behind")
SCHEMA: Final = Rule("SCHEMA-1", _ERROR, ALL, _SCHEMAS, "{name}: {text}")
NOT_EXPECTED: Final = Rule("EXPECT-1", _ERROR, ALL, _OPTIONS, "No message matches: {filter}")
TOO_LONG: Final = Rule(
    "EXPECT-2",
    _ERROR,
    ALL,
    _OPTIONS,
    "The request took {took:duration}, longer than {most:duration}",
)
NOT_CALLED: Final = Rule(
    "TOUR-1",
    _NOTE,
    ALL,
    _OPTIONS,
    "{count:,} of {total:,} tools were not called, so nothing was tested on them: {names}",
)
"""Of a tour of `check`: without it, a server on the SDKs' defaults would pass with no call."""

# Resuming
TOKEN_ON_ERROR: Final = _resume(
    "RSM-1", _ERROR, "Resume token received with an error; it is ignored", "token-on-error"
)
REQUEST_CHANGED: Final = _resume(
    "RSM-2",
    _ERROR,
    "The resumed request differs from the original in more than its token",
    "changed-request",
)
RESUMED_TWICE: Final = _resume(
    "RSM-3", _ERROR, "The resume token is in use by the request of frame {frame}", "resumed-twice"
)
NEXT_TOKEN_TYPE: Final = _resume(
    "RSM-5", _WARNING, '"nextResumeToken" is not a non-empty string', "resume-token"
)
NEXT_TOKEN_NULL: Final = NEXT_TOKEN_TYPE._replace(text='"nextResumeToken" is null')
NEXT_TOKEN_OUTSIDE: Final = NEXT_TOKEN_TYPE._replace(
    text='"nextResumeToken" is next to "_meta" instead of inside it'
)
TOKEN_NULL: Final = _resume("RSM-5", _WARNING, '"resumeToken" is null')
TOKEN_OUTSIDE: Final = _resume(
    "RSM-5", _WARNING, '"resumeToken" is next to "_meta" instead of inside it'
)
TOKEN_OF_TASK: Final = _resume(
    "RSM-5",
    _NOTE,
    "Resume token received with a task's result; it is shown but not used",
    "resume-token",
)
TOKEN_OF_COMPLETED: Final = _resume(
    "RSM-3", _ERROR, "The resume token belongs to an operation that was completed in frame {frame}"
)
REFUSED_CODE: Final = _resume(
    "RSM-4",
    _WARNING,
    "A resume token that this session did not return was answered with {code} instead of -32602",
)
TOKEN_READABLE: Final = _resume("RSM-5", _NOTE, "The resume token reads as {what}")
CHAIN_LONG: Final = _resume("RSM-6", _NOTE, "The operation was resumed more than {most:,} times")
SAME_TOKEN: Final = _resume(
    "RSM-6", _NOTE, "The server returned the resume token that it had been given", "same-token"
)

RULES: Final = tuple(rule for rule in globals().values() if isinstance(rule, Rule))
"""Every rule of this module."""
