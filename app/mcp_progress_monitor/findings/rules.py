"""The rules that are checked, with their sources: data, and nothing else.

The ids are those of the project's table of rules: PROG progress, CAN cancelling, TSK tasks, MRT
multi-round-trip requests, RES results, JR JSON-RPC, RSM the resume draft, OUT output schemas, HDR
headers from parameters. `tests/unit/findings` checks that each is complete.
"""

from __future__ import annotations

from typing import Final

from mcp_progress_monitor.findings.finding import Level, Rule, Source

_ERROR, _WARNING, _NOTE = Level.ERROR, Level.WARNING, Level.NOTE

_A, _B, _C, _D, _E = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
ALL: Final = (_A, _B, _C, _D, _E)
_CORE_TASKS: Final = (_D,)
_PER_REQUEST: Final = (_E,)
_TASKS: Final = (_D, _E)

_PROGRESS: Final = Source(_D, "Basic, Utilities, Progress")
_CANCELLATION: Final = Source(_D, "Basic, Utilities, Cancellation")
_TASK: Final = Source(_D, "Basic, Utilities, Tasks")
_TASK_EXTENSION: Final = Source(_E, "Extensions, Tasks")
_STDIO: Final = Source(_D, "Basic, Transports, stdio")
_JSON_RPC: Final = Source("JSON-RPC 2.0", "Request object, Response object")
_JSON: Final = Source("RFC 8259", "Objects, Numbers, Strings")
_HTTP: Final = Source(_E, "Streamable HTTP, Sending Messages to the Server")
_ROUNDS: Final = Source(_E, "Multi Round-Trip Requests")
_RESUME: Final = Source("Resume draft", "Resume tokens")
_OUTPUT: Final = Source(_D, "Server Features, Tools, Output Schema")
_HEADERS: Final = Source(_E, "Custom Headers from Tool Parameters")


def _progress(id_: str, level: Level, text: str, kind: str = "") -> Rule:
    return Rule(id_, level, ALL, _PROGRESS, text, kind)


def _task(id_: str, level: Level, text: str, kind: str = "") -> Rule:
    return Rule(id_, level, _TASKS, _TASK, text, kind)


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
    "unpaired surrogate; shown as \N{REPLACEMENT CHARACTER}",
    source=_JSON,
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
NOT_JSON: Final = _line("not JSON ({reason})")
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
VERSION_MISSING: Final = _envelope('"jsonrpc" is missing', "JR-2")
VERSION_WRONG: Final = _envelope('"jsonrpc" is {value} instead of "2.0"', "JR-2")
METHOD_TYPE: Final = _envelope("the method {method} is not a string", "JR-2")
PARAMS_TYPE: Final = _envelope("params is {value}, not an object", "JR-2")
META_TYPE: Final = _envelope('"_meta" is {value}, not an object', "JR-2")
REPLY_WITH_METHOD: Final = _envelope("reply with a method", "JR-2")
REPLY_WITHOUT_ID: Final = _envelope("reply without an id")
REPLY_ID_NULL: Final = _envelope("reply with a null id")
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
    _ERROR,
    _PER_REQUEST,
    _ROUNDS,
    "The server sent a request to the client, which 2026-07-28 does not allow. Try the "
    "handshake era: select it in the server's settings, or pass --era handshake.",
    "no-questions",
)
"""A server of 2026-07-28 whose own question failed: its code asks as in the handshake era."""

# Progress
TOKEN_TYPE: Final = _progress(
    "PROG-1", _ERROR, "the progress token {token} is neither a string nor an integer"
)
TICK_TOKEN_TYPE: Final = _progress(
    "PROG-1", _ERROR, '"progressToken" is {token}, not a string or an integer'
)
TICK_TOKEN_MISSING: Final = _progress("PROG-1", _ERROR, '"progressToken" is missing')
TOKEN_IN_USE: Final = _progress(
    "PROG-2",
    _ERROR,
    "the progress token {token} is in use by the request of frame {frame}",
    "token-in-use",
)
NOT_INCREASING: Final = _progress(
    "PROG-3",
    _ERROR,
    "Progress did not increase: {progress:number} after {before:number}",
    "not-increasing",
)
"""A tick's progress was equal to the one before, or below it."""
UNKNOWN_TOKEN: Final = _progress(
    "PROG-4", _ERROR, "The progress token does not belong to any request"
)
TICK_AFTER_CANCEL: Final = _progress(
    "PROG-5", _WARNING, "Progress received after the request was cancelled", "after-cancel"
)
TICK_LATE_AFTER_CANCEL: Final = TICK_AFTER_CANCEL._replace(
    text="Progress received {late:late}after the request was cancelled"
)
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
    "PROG-8", _WARNING, (_B, _C, _D, _E), _PROGRESS, '"message" is {value}, not a string'
)
ABOVE_TOTAL: Final = _progress(
    "PROG-10",
    _NOTE,
    "Progress exceeds its total: {progress:number} of {total:number}",
    "above-total",
)
TOTAL_CHANGED: Final = _progress(
    "PROG-10",
    _NOTE,
    "Total changed: {total:or_missing} after {before:number}",
    "total-changed",
)
TOTAL_NOT_POSITIVE: Final = _progress(
    "PROG-10", _NOTE, "Total is not positive: {total:number}", "total-not-positive"
)
OTHER_TOKEN: Final = Rule(
    "PROG-11",
    _ERROR,
    _CORE_TASKS,
    _TASK,
    "the progress token differs from the one in the task's request",
    "task-token",
)
"""Progress that names its task, but not by its token."""
TICK_OF_TASK: Final = Rule(
    "PROG-14",
    _ERROR,
    _PER_REQUEST,
    _TASK_EXTENSION,
    "Progress received after its request was answered",
    "task-progress",
)
"""Progress came after the reply that left the work to a task, or to a further request."""
OTHER_STREAM: Final = Rule(
    "PROG-15",
    _ERROR,
    _PER_REQUEST,
    _HTTP,
    "received in the response to another request",
    "other-stream",
)

# Cancelling
CANCEL_ID_TYPE: Final = Rule(
    "CAN-1",
    _ERROR,
    ALL,
    _CANCELLATION,
    '"requestId" is {value}, not a string or an integer',
)
CANCEL_REASON_TYPE: Final = CANCEL_ID_TYPE._replace(text='"reason" is {value}, not a string')
CANCEL_UNKNOWN: Final = CANCEL_ID_TYPE._replace(text="Cancelled an unknown request")
CANCEL_TWICE: Final = CANCEL_ID_TYPE._replace(text="The request was already cancelled")
CANCEL_AFTER_GIVING_UP: Final = CANCEL_ID_TYPE._replace(
    text="Cancelled after this client had given up the request", level=_NOTE
)
CANCEL_TOO_LATE: Final = CANCEL_ID_TYPE._replace(
    text="Cancelled after the request was answered",
    level=_WARNING,
    kind="cancel-too-late",
)
REPLY_AFTER_CANCEL: Final = Rule(
    "CAN-3", _WARNING, ALL, _CANCELLATION, "Result received after the request was cancelled"
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
    "TSK-3",
    _WARNING,
    'the task is in "_meta" as {name}, as in a draft, instead of in "task"',
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
KEY_REUSED: Final = Rule(
    "TSK-16",
    _ERROR,
    _PER_REQUEST,
    _TASK_EXTENSION,
    "the key {key} was already used for another question",
    "irregular-task",
)

# Rounds and results
NOTHING_REQUIRED: Final = Rule(
    "MRT-1",
    _ERROR,
    _PER_REQUEST,
    _ROUNDS,
    "The reply requires input, but contains neither input requests nor a state",
    "irregular-reply",
)
ROUND_CHANGED: Final = Rule(
    "MRT-1",
    _ERROR,
    _PER_REQUEST,
    _ROUNDS,
    "The request was sent again, but {changes:and}",
    "changed-request",
)
UNFINISHED: Final = Rule("RES-1", _WARNING, _PER_REQUEST, _ROUNDS, "{words}", "unfinished-result")
"""A result of another type than complete: it does not end the work."""
OUTPUT: Final = Rule(
    "OUT-1",
    _ERROR,
    (_C, _D, _E),
    _OUTPUT,
    "The result violates the tool's output schema: {words}",
    "output-schema",
)
OUTPUT_UNCHECKED: Final = OUTPUT._replace(
    level=_NOTE,
    text="The result was not fully validated against the tool's output schema: {words}",
    kind="output-unchecked",
)
OUTPUT_WORDS: Final = OUTPUT._replace(text="{words}")
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
    "RSM-3",
    _ERROR,
    "The resume token is in use by the request of frame {frame}",
    "resumed-twice",
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
SAME_TOKEN: Final = _resume(
    "RSM-6", _NOTE, "The server returned the resume token that it had been given", "same-token"
)

RULES: Final = tuple(rule for rule in globals().values() if isinstance(rule, Rule))
"""Every rule of this module."""
