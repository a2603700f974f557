"""Advice for each rule, as data: what was due, since when, how sure it is, how to fix it.

The words are ours. `since` is the first revision that asks for it. Examples are calls of the
official SDKs, compared with the sources of Python 2.3 and TypeScript 2.4. What only their first
major versions have, as tasks, says "SDK 1" and was compared with Python 1.30 and TypeScript 1.32.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from mcp_progress_monitor.findings.rules import RULES


class Certainty(enum.StrEnum):
    """Certainty that a finding is a fault."""

    CERTAIN = "certain"  # the messages themselves prove it
    LIKELY = "likely"
    """Messages that crossed on their way, or something that was not recorded, may explain it."""
    HINT = "hint"  # nothing is violated; users of the server are better off without it


class Needs(enum.Flag):
    """The content that a session must have for a rule to be tried on it."""

    MESSAGE = enum.auto()
    TOKEN = enum.auto()
    PROGRESS = enum.auto()
    CALL = enum.auto()
    CANCEL = enum.auto()
    TASK = enum.auto()
    ERROR = enum.auto()
    INPUT = enum.auto()
    LISTEN = enum.auto()
    LOG = enum.auto()
    RESUME = enum.auto()
    EVENTS = enum.auto()
    TOOLS = enum.auto()
    HTTP = enum.auto()
    END = enum.auto()
    WATCHED = enum.auto()
    OUTPUT = enum.auto()
    EXPECTATION = enum.auto()
    TOUR = enum.auto()


class Advice(NamedTuple):
    """The parts of a rule besides its texts.

    `due` is what should have been there, `fix` one sentence on how to get it; `python` and
    `typescript` are example calls. `needs` is what has to happen for the rule to be tried.
    """

    title: str
    due: str
    since: str
    certainty: Certainty
    needs: Needs
    fix: str
    python: str
    typescript: str


_SURE, _LIKELY, _HINT = Certainty.CERTAIN, Certainty.LIKELY, Certainty.HINT
_A, _B, _D, _E = "2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28"
_RESUME_DRAFT, _OURS = "resume draft", "this program"

_PY_REPORT = "await ctx.report_progress(done, total, message)"
_PY_LOW = "  # low-level server: ctx.session.report_progress"
_TS_REPORT = (
    'await ctx.mcpReq.notify({method: "notifications/progress", params: '
    "{progressToken: ctx.mcpReq._meta.progressToken, progress: done, total}})"
)
_TS_SDK_1 = "  // SDK 1: extra.sendNotification, extra._meta"
_PY_CALL = "await session.call_tool(name, arguments, progress_callback=on_progress)"
_TS_CALL = (
    "await client.callTool(params, {onprogress, resetTimeoutOnProgress: true, timeout})"
    "  // SDK 1: callTool(params, undefined, {…})"
)
_PY_TASK = "return await ctx.experimental.run_task(work)  # SDK 1"
_TS_TASK = "await extra.taskStore.storeTaskResult(taskId, 'completed', result)"
_PY_ASK = "answer: Annotated[Answer, Resolve(ask)]  # an argument; ask returns Elicit(text, Answer)"
_TS_ASK = (
    "return inputRequired({inputRequests: {key: inputRequired.elicit({message, requestedSchema})}})"
)
_PY_REFUSE = "raise MCPError(INVALID_PARAMS, {})"
_TS_REFUSE = "throw new ProtocolError(ProtocolErrorCode.InvalidParams, {})"
_PY_REFUSE_TASK = "raise McpError(ErrorData(code=INVALID_PARAMS, message={}))  # SDK 1"
_TS_REFUSE_TASK = "throw new McpError(ErrorCode.InvalidParams, {})  // SDK 1"
_PY_STDOUT = 'import sys; print("…", file=sys.stderr); logging.basicConfig(stream=sys.stderr)'
_TS_STDOUT = 'console.error("…") instead of console.log("…")'

ADVICE: Final[dict[str, Advice]] = {
    "PROG-1": Advice(
        "Progress token type",
        "A progress token is a string or an integer.",
        _A, _SURE, Needs.TOKEN,
        "Pass the token on as received; on the client's side, let the SDK generate it.",
        _PY_REPORT + _PY_LOW, _TS_REPORT + _TS_SDK_1,
    ),
    "PROG-2": Advice(
        "Progress token used twice",
        "A token is unique among all pending requests.",
        _A, _SURE, Needs.TOKEN,
        "Let the SDK choose the token instead of setting _meta.progressToken by hand.",
        _PY_CALL, _TS_CALL,
    ),
    "PROG-3": Advice(
        "Progress does not increase",
        "Each notification has a greater progress than the one before.",
        _A, _SURE, Needs.PROGRESS,
        "Report only when the value has grown; do not round it to equal steps. In the handshake "
        "era, version 2.4 of the TypeScript SDK runs a handler that returned inputRequired again, "
        "with the same token: keep the last value in requestState, and go on from there.",
        "if done > reported: reported = done; " + _PY_REPORT + "  # 0 at first" + _PY_LOW,
        "if (done > reported) { reported = done; " + _TS_REPORT + " }  // 0 at first" + _TS_SDK_1,
    ),
    "PROG-4": Advice(
        "Progress for an unknown token",
        "Progress uses the token of a request in this session.",
        _A, _SURE, Needs.PROGRESS,
        "Use the token of the request being handled; without one, send no progress.",
        _PY_REPORT + "  # does nothing without a token",
        "if (ctx.mcpReq._meta?.progressToken !== undefined) " + _TS_REPORT + _TS_SDK_1,
    ),
    "PROG-5": Advice(
        "Progress for an abandoned request",
        "Progress refers to a pending request.",
        _A, _LIKELY, Needs.PROGRESS,
        "Stop the work when its request is cancelled. If it does stop, the messages only crossed.",
        "await anyio.lowlevel.checkpoint()  # raises when the request is cancelled",
        "if (ctx.mcpReq.signal.aborted) return;  // SDK 1: extra.signal",
    ),
    "PROG-6": Advice(
        "Progress after the reply",
        "No progress is sent after the reply.",
        _A, _SURE, Needs.PROGRESS,
        "Await every progress notification before returning the result.",
        _PY_REPORT + "  # awaited, not started as a task",
        _TS_REPORT + "  // awaited",
    ),
    "PROG-7": Advice(
        "Progress is not a number",
        "progress is present; progress and total are finite numbers.",
        _A, _SURE, Needs.PROGRESS,
        "Report numbers, and omit an unknown total.",
        "await ctx.report_progress(done)  # no total", _TS_REPORT,
    ),
    "PROG-8": Advice(
        "Progress message is not readable",
        "message is human-readable: a non-empty string without control characters.",
        _B, _SURE, Needs.PROGRESS,
        "Omit an empty message, and remove terminal colours.",
        "await ctx.report_progress(done, total, re.sub(r'\\x1b\\[[0-9;]*m', '', message) or None)",
        "const plain = message.replace(/\\x1b\\[[0-9;]*m/g, ''); "
        "params: {progressToken, progress: done, ...(plain && {message: plain})}",
    ),
    "PROG-9": Advice(
        "Too many progress notifications",
        "Both sides limit the rate; no display needs 50 notifications a second.",
        _A, _SURE, Needs.PROGRESS,
        "Report at most ten times a second.",
        "if time.monotonic() - last > 0.1: last = time.monotonic(); " + _PY_REPORT,
        "if (performance.now() - last > 100) { last = performance.now(); " + _TS_REPORT + " }",
    ),
    "PROG-10": Advice(
        "Inconsistent progress and total",
        "Progress ends at its total, which is positive and does not change.",
        _A, _HINT, Needs.PROGRESS,
        "Determine the total in advance, and report completion.",
        "await ctx.report_progress(total, total)",
        "params: {progressToken, progress: total, total}",
    ),
    "PROG-11": Advice(
        "Task progress with another token",
        "A task uses the token of its original request until it ends.",
        _D, _SURE, Needs.TASK,
        "Report a task's progress with the token of the request that created it.",
        _PY_REPORT + _PY_LOW, _TS_REPORT + _TS_SDK_1,
    ),
    "PROG-12": Advice(
        "Progress after a task's end",
        "No progress is sent once a task is completed, failed or cancelled.",
        _D, _SURE, Needs.TASK,
        "Send the last progress before the task's status changes.",
        _PY_REPORT + "; await task.complete(result)  # SDK 1", _TS_TASK + "  // SDK 1",
    ),
    "PROG-13": Advice(
        "Progress in the wrong direction",
        "In 2026-07-28 only servers send progress.",
        _E, _SURE, Needs.PROGRESS,
        "Remove progress tokens from input requests, and send no progress from the client.",
        _PY_ASK, _TS_ASK,
    ),
    "PROG-14": Advice(
        "Progress for a task of the extension",
        "Tasks of the extension report progress by statusMessage in tasks/get.",
        _E, _SURE, Needs.TASK,
        "Set the task's status message instead of sending progress.",
        "{'status': 'working', 'statusMessage': '3 of 10', …}  # the result of tasks/get",
        "{status: 'working', statusMessage: '3 of 10', …}  // the result of tasks/get",
    ),
    "PROG-15": Advice(
        "Progress on another request's stream",
        "The response stream of a request carries only messages related to it.",
        _E, _SURE, Needs.PROGRESS | Needs.HTTP,
        "Send notifications through the context of their request.",
        _PY_REPORT + _PY_LOW, _TS_REPORT + _TS_SDK_1,
    ),
    "PROG-16": Advice(
        "Progress token changed its type",
        "The token is returned unchanged: 7 as 7, not as \"7\".",
        _A, _SURE, Needs.PROGRESS,
        "Keep the token as a JSON value, without str() or Number(), or let the SDK send progress.",
        _PY_REPORT + _PY_LOW,
        "const token: string | number = ctx.mcpReq._meta.progressToken",
    ),
    "PROG-17": Advice(
        "No progress for a long call",
        "A call of more than 10 s with a progress token reports progress.",
        _A, _HINT, Needs.TOKEN | Needs.CALL,
        "Report progress at least every few seconds.",
        _PY_REPORT + _PY_LOW, _TS_REPORT + _TS_SDK_1,
    ),
    "PROG-18": Advice(
        "Silence longer than client timeouts",
        "A pending call is never silent for longer than known clients wait.",
        _A, _HINT, Needs.CALL,
        "Report progress at least every 30 s, even if it is only estimated.",
        _PY_REPORT + _PY_LOW, _TS_REPORT + _TS_SDK_1,
    ),
    "PROG-19": Advice(
        "Progress held back until the reply",
        "Progress is sent while the work goes on.",
        _A, _HINT, Needs.PROGRESS | Needs.CALL,
        "Look for a bridge, proxy or framework between client and server that buffers a response "
        "until it is complete, and let it pass on each event; or report while the work goes on.",
        _PY_REPORT + _PY_LOW, _TS_REPORT + _TS_SDK_1,
    ),
    "CAN-1": Advice(
        "Cancel of an unknown request",
        "A cancel refers to a pending request of its sender.",
        _A, _LIKELY, Needs.CANCEL,
        "Cancel the call through the SDK instead of sending the notification.",
        "with anyio.move_on_after(limit): " + _PY_CALL,
        "controller.abort()  // with {signal: controller.signal} given to callTool",
    ),
    "CAN-2": Advice(
        "Cancel of initialize",
        "initialize is not cancelled; the connection is closed instead.",
        _A, _SURE, Needs.CANCEL,
        "Close the transport when initialize takes too long.",
        "with anyio.fail_after(limit): await session.initialize()",
        "await transport.close()",
    ),
    "CAN-3": Advice(
        "Sent after a cancel",
        "Nothing more should be sent for a cancelled request.",
        _A, _LIKELY, Needs.CANCEL,
        "Return without a result when the request is cancelled.",
        "await anyio.lowlevel.checkpoint()  # raises when the request is cancelled",
        "ctx.mcpReq.signal.addEventListener('abort', stop)  // SDK 1: extra.signal",
    ),
    "CAN-4": Advice(
        "Cancel by the server",
        "A server may cancel only subscriptions of the client.",
        _E, _SURE, Needs.CANCEL,
        "Answer the request with an error instead.",
        "raise MCPError(INTERNAL_ERROR, 'Stopped')",
        "throw new ProtocolError(ProtocolErrorCode.InternalError, 'Stopped')",
    ),
    "CAN-6": Advice(
        "Task cancelled like a request",
        "A task is cancelled by tasks/cancel.",
        _D, _SURE, Needs.TASK | Needs.CANCEL,
        "Cancel a task by its id.",
        "await session.experimental.cancel_task(task_id)  # SDK 1",
        "await client.experimental.tasks.cancelTask(taskId)  // SDK 1",
    ),
    "TSK-1": Advice(
        "Task without agreement",
        "A task is created only if server, tool and request allow it.",
        _D, _SURE, Needs.TASK | Needs.CALL,
        "Check the server's capability and the tool's taskSupport first.",
        "tool.execution.task_support  # SDK 1: taskSupport", "tool.execution?.taskSupport",
    ),
    "TSK-2": Advice(
        "Task-only tool called without a task",
        "A tool with taskSupport required answers a plain call with -32601.",
        _D, _SURE, Needs.CALL | Needs.TOOLS,
        "Raise the error for a call without a task.",
        "ctx.experimental.validate_task_mode(TASK_REQUIRED)  # SDK 1",
        "throw new McpError(ErrorCode.MethodNotFound, 'Task required')  // SDK 1",
    ),
    "TSK-3": Advice(
        "Reply without the task",
        "An accepted task request is answered with a task.",
        _D, _SURE, Needs.TASK | Needs.CALL,
        "Return the task, and keep the result for tasks/result.",
        _PY_TASK, "return {task: await extra.taskStore.createTask({ttl})}  // SDK 1",
    ),
    "TSK-4": Advice(
        "New task's id or status",
        "A task has a unique id and starts in the status working.",
        _D, _SURE, Needs.TASK,
        "Let the SDK's task store create the task.",
        _PY_TASK, "await extra.taskStore.createTask({ttl})  // SDK 1",
    ),
    "TSK-5": Advice(
        "Task status out of order",
        "completed, failed and cancelled are final.",
        _D, _SURE, Needs.TASK,
        "Change the status only while it is working or input_required.",
        "if not is_terminal(task.task.status): await task.complete(result)  # SDK 1",
        "if (!isTerminal(task.status)) " + _TS_TASK + "  // SDK 1",
    ),
    "TSK-6": Advice(
        "Task members",
        "A task has ISO 8601 times and a time to live; its times do not go back.",
        _D, _SURE, Needs.TASK,
        "Return the task from the SDK's store unchanged.",
        "return await store.get_task(task_id)  # SDK 1",
        "return await extra.taskStore.getTask(taskId)  // SDK 1",
    ),
    "TSK-8": Advice(
        "tasks/result of a task",
        "tasks/result waits for the task's end, and its reply names the task.",
        _D, _SURE, Needs.TASK,
        "Use the SDK's tasks/result handler instead of your own.",
        "server.experimental.enable_tasks()  # SDK 1", "new McpServer(info, {taskStore})  // SDK 1",
    ),
    "TSK-10": Advice(
        "Cancel of a finished task",
        "tasks/cancel of a finished task is answered with -32602.",
        _D, _SURE, Needs.TASK | Needs.CANCEL,
        "Refuse to cancel a task that is completed, failed or cancelled.",
        _PY_REFUSE_TASK.format("'Task has finished'"),
        _TS_REFUSE_TASK.format("'Task has finished'"),
    ),
    "TSK-11": Advice(
        "Unknown task",
        "A request about an unknown task is answered with -32602.",
        _D, _LIKELY, Needs.TASK,
        "Answer an unknown task id with invalid params.",
        _PY_REFUSE_TASK.format("'Unknown task'"), _TS_REFUSE_TASK.format("'Unknown task'"),
    ),
    "TSK-13": Advice(
        "Task that the client cannot follow",
        "A server creates a task only for tools/call of a client that declared the extension.",
        _E, _SURE, Needs.TASK | Needs.CALL,
        "Check for io.modelcontextprotocol/tasks among the request's capabilities first.",
        "offered = ctx.client_capabilities and ctx.client_capabilities.extensions or {}",
        "server.server.getClientCapabilities()?.extensions",
    ),
    "TSK-14": Advice(
        "New task cannot be found",
        "tasks/get works as soon as the task has been returned.",
        _E, _SURE, Needs.TASK,
        "Store the task before its request is answered.",
        "tasks[task_id] = task; return task", "tasks.set(taskId, task); return task;",
    ),
    "TSK-15": Advice(
        "Task's result and status",
        "A completed task has a result, a failed one an error, a running one neither.",
        _D, _SURE, Needs.TASK,
        "Set status and result in one step.",
        "await task.complete(result)  # SDK 1", _TS_TASK + "  // SDK 1",
    ),
    "TSK-16": Advice(
        "Key of an input request reused",
        "A key identifies one question for the lifetime of its task.",
        _E, _SURE, Needs.TASK | Needs.INPUT,
        "Number the keys.",
        "key = f'question-{next(counter)}'", "const key = `question-${counter++}`",
    ),
    "MRT-1": Advice(
        "Input request that is not allowed",
        "input_required answers only tools/call, prompts/get and resources/read, asks only what "
        "the client declared, and is continued by the same request with its state.",
        _E, _SURE, Needs.INPUT,
        "Check the request's client capabilities before asking.",
        _PY_ASK,
        "if (server.server.getClientCapabilities()?.elicitation) " + _TS_ASK,
    ),
    "SUB-1": Advice(
        "Notifications of a subscription",
        "A subscription is acknowledged first; then only requested kinds are sent, each with the "
        "subscription's id.",
        _E, _SURE, Needs.LISTEN,
        "Publish changes through the SDK instead of sending notifications by hand.",
        "await ctx.notify_tools_changed()", "server.sendToolListChanged()",
    ),
    "EVT-1": Advice(
        "Event without a stream",
        "Notifications of an event stream carry the id of its events/stream request.",
        _E, _SURE, Needs.EVENTS,
        "Add the id of the request as the subscription id to _meta of each notification.",
        "params['_meta'] = {'io.modelcontextprotocol/subscriptionId': ctx.request_id}",
        "params._meta = {'io.modelcontextprotocol/subscriptionId': ctx.mcpReq.id}",
    ),
    "EVT-2": Advice(
        "Event after the end of its stream",
        "Nothing follows the reply to events/stream, and only the reply follows "
        "notifications/events/terminated.",
        _E, _SURE, Needs.EVENTS,
        "Stop the source of the events before the handler returns.",
        "async with source.listen() as events: …  # ends with the handler",
        "try { … } finally { source.close() }",
    ),
    "EVT-3": Advice(
        "Events of a server without the extension",
        "Requests of the events extension go only to servers that declare it.",
        _E, _SURE, Needs.EVENTS,
        "Look for io.modelcontextprotocol/events in the server's capabilities first.",
        "'io.modelcontextprotocol/events' in (capabilities.extensions or {})",
        "'io.modelcontextprotocol/events' in (client.getServerCapabilities()?.extensions ?? {})",
    ),
    "EVT-4": Advice(
        "Webhook that is not allowed",
        "Webhooks have https URLs, and end unless the client asked for ttlMs null.",
        _E, _SURE, Needs.EVENTS,
        "Refuse other URLs with -32602; return a time in refreshBefore.",
        _PY_REFUSE.format("'delivery.url is not https'"),
        _TS_REFUSE.format("'delivery.url is not https'"),
    ),
    "RES-1": Advice(
        "Type of a result",
        "resultType is complete, input_required or, with the extension, task.",
        _E, _SURE, Needs.MESSAGE,
        "Return results through the SDK, which adds the type.",
        "return CallToolResult(content=content)", "return {content}",
    ),
    "JR-1": Advice(
        "Ids of requests and replies",
        "Ids are strings or integers and are not reused; each request gets one reply.",
        _A, _SURE, Needs.MESSAGE,
        "Leave ids and replies to the SDK.",
        "return result  # once", "return result;  // once",
    ),
    "JR-2": Advice(
        "Output that is not a message",
        "Each line is one valid JSON-RPC message in UTF-8; nothing else is written to stdout.",
        _A, _SURE, Needs.MESSAGE,
        "Write only protocol messages to stdout; send log output to stderr.",
        _PY_STDOUT, _TS_STDOUT,
    ),
    "JR-3": Advice(
        "Batch of messages",
        "Messages are sent one by one; only 2025-03-26 has batches.",
        _A, _SURE, Needs.MESSAGE,
        "Send each message separately.",
        "for message in messages: await stream.send(message)",
        "for (const message of messages) await transport.send(message)",
    ),
    "JR-4": Advice(
        "Requests and error codes of 2026-07-28",
        "Servers send no requests, and only error codes that are defined or not reserved.",
        _E, _SURE, Needs.MESSAGE,
        "Ask with input_required, and use error codes outside -32768 to -32000.",
        _PY_ASK, _TS_ASK,
    ),
    "JR-5": Advice(
        "Order of the handshake",
        "initialize comes first, then notifications/initialized; before that, only ping is "
        "allowed.",
        _A, _LIKELY, Needs.MESSAGE,
        "Await initialize before the first request.",
        "await session.initialize()", "await client.connect(transport)",
    ),
    "CAP-1": Advice(
        "Undeclared capability",
        "Only declared capabilities are used.",
        _A, _SURE, Needs.MESSAGE,
        "Declare the capability when the session begins, or ask for what the other side declares.",
        "ctx.session.check_client_capability(ClientCapabilities(roots=RootsCapability()))",
        "server.getClientCapabilities()?.roots",
    ),
    "LOG-1": Advice(
        "Unrequested log message",
        "Log messages are sent only for requests that set io.modelcontextprotocol/logLevel.",
        _E, _SURE, Needs.LOG,
        "Log through the request's context, which knows the level.",
        "await ctx.info('…')", "await ctx.mcpReq.log('info', '…')",
    ),
    "RSM-1": Advice(
        "Resume token with an error",
        "An operation that ends in an error returns no resume token.",
        _RESUME_DRAFT, _SURE, Needs.RESUME,
        "Add nextResumeToken to results only.",
        "return CallToolResult(content=content, _meta={'nextResumeToken': token})",
        "return {content, _meta: {nextResumeToken: token}}",
    ),
    "RSM-2": Advice(
        "Resumed request changed",
        "A resumed request differs from the original only in its token.",
        _RESUME_DRAFT, _SURE, Needs.RESUME,
        "Keep the whole request and add the token to its _meta.",
        "await session.call_tool(name, arguments, meta={'resumeToken': token})",
        "await client.callTool({name, arguments: args, _meta: {resumeToken: token}})",
    ),
    "RSM-3": Advice(
        "Resume token reused",
        "A token is used by one attempt at a time, and not after its operation has completed.",
        _RESUME_DRAFT, _SURE, Needs.RESUME,
        "Discard a token after a reply without a new one.",
        "if token is None: store.delete(operation)", "if (!token) store.delete(operation)",
    ),
    "RSM-4": Advice(
        "Refusal of a resume token",
        "An invalid token is refused with -32602.",
        _RESUME_DRAFT, _LIKELY, Needs.RESUME,
        "Answer an unknown token with invalid params.",
        _PY_REFUSE.format("'Unknown resume token'"), _TS_REFUSE.format("'Unknown resume token'"),
    ),
    "RSM-5": Advice(
        "Form of a resume token",
        "A resume token is a non-empty, opaque string in _meta.",
        _RESUME_DRAFT, _LIKELY, Needs.RESUME,
        "Use an opaque random token; store the state on the server.",
        "token = secrets.token_urlsafe()", "const token = crypto.randomUUID()",
    ),
    "RSM-6": Advice(
        "Endless resuming",
        "Each attempt makes progress and returns a new token.",
        _RESUME_DRAFT, _HINT, Needs.RESUME,
        "Return a token only after progress since the last one.",
        "token = secrets.token_urlsafe()", "const token = crypto.randomUUID()",
    ),
    "OUT-1": Advice(
        "Result against the output schema",
        "structuredContent fits the tool's outputSchema.",
        "2025-06-18", _SURE, Needs.OUTPUT,
        "Return values of the types in outputSchema, or correct outputSchema.",
        'return {"count": 3}  # for "count": {"type": "integer"}, not "3"',
        'return {structuredContent: {count: 3}, content}  // for count: {type: "integer"}, not "3"',
    ),
    "HDR-1": Advice(
        "Headers of 2026-07-28",
        "MCP-Protocol-Version, Mcp-Method and Mcp-Name match the message, and x-mcp-header marks "
        "only arguments that can be headers.",
        _E, _SURE, Needs.HTTP | Needs.TOOLS,
        "Let the SDK's transport set the headers of each request.",
        "streamable_http_client(url)", "new StreamableHTTPClientTransport(new URL(url))",
    ),
    "HDR-2": Advice(
        "Headers of a session over HTTP",
        "A client accepts both JSON and event streams, and sends MCP-Protocol-Version with the "
        "agreed revision after initialize (since 2025-06-18).",
        _B, _SURE, Needs.HTTP | Needs.MESSAGE,
        "Let the SDK's transport set the headers of each request.",
        "streamable_http_client(url)", "new StreamableHTTPClientTransport(new URL(url))",
    ),
    "CLI-1": Advice(
        "The client never asks for progress",
        "A client that shows progress sends a token.",
        _A, _HINT, Needs.WATCHED | Needs.CALL,
        "Pass a callback for progress.",
        _PY_CALL, _TS_CALL,
    ),
    "CLI-2": Advice(
        "The client gives up silently",
        "A client that stops waiting cancels the request.",
        _A, _LIKELY, Needs.WATCHED | Needs.CALL,
        "Cancel the call through the SDK, which notifies the server.",
        "with anyio.move_on_after(limit): " + _PY_CALL, "controller.abort()",
    ),
    "CLI-3": Advice(
        "The client times out despite progress",
        "Progress shows that work continues, and resets the idle timeout.",
        _A, _LIKELY, Needs.WATCHED | Needs.PROGRESS,
        "Let progress reset the timeout.",
        "await session.call_tool(name, arguments, read_timeout_seconds=3600)  # for the whole call",
        _TS_CALL,
    ),
    "CLI-4": Advice(
        "The client discards a late result",
        "The client waits long enough: a result that is just too late is lost.",
        _A, _HINT, Needs.WATCHED | Needs.CANCEL,
        "Choose a longer timeout for this tool.",
        "await session.call_tool(name, arguments, read_timeout_seconds=3600)  # for the whole call",
        _TS_CALL,
    ),
    "DRIFT-1": Advice(
        "A tool's definition changed",
        "Approved definitions do not change, or notifications/tools/list_changed announces it.",
        _A, _LIKELY, Needs.TOOLS,
        "Review the change before using the tool again; announce changes.",
        "await ctx.session.send_tool_list_changed()", "server.sendToolListChanged()",
    ),
    "DEP-1": Advice(
        "Deprecated feature",
        "New code does not use features that 2026-07-28 deprecates.",
        _E, _SURE, Needs.MESSAGE,
        "Follow the migration path that the specification names. Clients stop asking for it: no "
        "logLevel in requests, and Streamable HTTP first.",
        "mcp.run(transport='streamable-http')  # log messages: logging.getLogger(__name__)",
        "new StreamableHTTPServerTransport(options)  // log messages: console.error('…')",
    ),
    "END-1": Advice(
        "The server does not exit",
        "A server exits soon after its input is closed, and leaves no processes.",
        _A, _LIKELY, Needs.END,
        "Return from the main loop at the end of input, and end child processes and threads "
        "there; on a busy machine, check again first.",
        "mcp.run()  # with the clean-up in the lifespan", "process.stdin.on('end', shutDown)",
    ),
    "SCHEMA-1": Advice(
        "Message against the official schema",
        "Each message fits the JSON schema of the agreed revision.",
        _A, _SURE, Needs.MESSAGE,
        "Build the message with the SDK's types.",
        "CallToolResult(content=[TextContent(type='text', text=text)])",
        "return {content: [{type: 'text', text}]} satisfies CallToolResult",
    ),
    "EXPECT-1": Advice(
        "Expected message",
        "At least one message matches each --expect.",
        _OURS, _SURE, Needs.EXPECTATION,
        "Make the session send such a message, or correct the filter.",
        "", "",
    ),
    "EXPECT-2": Advice(
        "Longest duration",
        "No request takes longer than --max-duration.",
        _OURS, _SURE, Needs.EXPECTATION,
        "Make the tool faster, or let it return a task.",
        "", "",
    ),
    "TOUR-1": Advice(
        "Tools that were not called",
        "The tour calls every tool, with arguments that its schema accepts.",
        _OURS, _HINT, Needs.TOUR,
        "Mark tools that change nothing as read-only. Call the others with --all-tools, or by name "
        "with --tool; pass arguments with --args.",
        "@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))",
        "server.registerTool(name, {annotations: {readOnlyHint: true}}, run)",
    ),
}  # fmt: skip
"""By the id of the rule, in the order of the reference."""

REVISIONS_OF: Final[dict[str, frozenset[str]]] = {
    id_: frozenset(revision for rule in RULES if rule.id == id_ for revision in rule.revisions)
    for id_ in ADVICE
}
"""In which revisions each rule applies."""
