"""A client that answers questions, and an oracle that looks at every message of the server.

The official types (`mcp_types`) say what each message must look like. They have none for the tasks
extension of 2026-07-28, whose shapes are written down here from its specification.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import mcp_types
import mcp_types.methods as official
from mcp_types import jsonrpc

from mcp_progress_monitor.demo.eras import TASKS_EXTENSION
from tests.unit.demo.client import PER_REQUEST, Client, Message, Played, Sink

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYTHING: Message = {
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "extensions": {TASKS_EXTENSION: {}},
}
CORE = "2025-11-25"

_BARE: Message = {
    "type": "object",
    "required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
    "properties": {
        "taskId": {"type": "string", "minLength": 1},
        "status": {"enum": ["working", "input_required", "completed", "failed", "cancelled"]},
        "statusMessage": {"type": "string"},
        "createdAt": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
        "lastUpdatedAt": {"type": "string", "pattern": "Z$"},
        "ttlMs": {"type": ["integer", "null"], "minimum": 0},
        "pollIntervalMs": {"type": "integer", "minimum": 0},
    },
}
_NEEDS = {"input_required": "inputRequests", "failed": "error", "completed": "result"}
_ACKNOWLEDGEMENT = {"required": ["resultType"], "properties": {"resultType": {"const": "complete"}}}


class Answering(Sink):
    """Stands for stdout, and hands each request of the server's to who answers it."""

    def __init__(self, answer: Callable[[Message], None]) -> None:
        super().__init__()
        self._answer = answer

    def write(self, data: memoryview, /) -> int:
        size = super().write(data)
        for line in bytes(data).splitlines():
            message = json.loads(line)
            if isinstance(message, dict) and "method" in message and "id" in message:
                self._answer(message)
        return size


class Host(Client):
    """Answers the server's questions as `answers` says, and reports a phase for each token.

    `answers` maps a method to a result, an error (an object with `code`), None for silence, or a
    function from the parameters to one of these.
    """

    def __init__(
        self, version: str = CORE, answers: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self.answers = {**GOOD_ANSWERS, **(answers or {})}
        self.asked: list[Message] = []
        self.listener: int | None = None
        self._methods: dict[object, str] = {}
        super().__init__(version, **{"capabilities": EVERYTHING, **options})

    def message(self, method: str, params: Message | None = None, token: object = None) -> Message:
        message = super().message(method, params, token)
        self._methods[message["id"]] = method
        return message

    def _make_sink(self) -> Sink:
        return Answering(self._answer)

    def _answer(self, question: Message) -> None:
        self.asked.append(question)
        params = question.get("params", {})
        token = params.get("_meta", {}).get("progressToken") if isinstance(params, dict) else None
        if token is not None:
            tick = {"progressToken": token, "progress": 1, "total": 2, "message": "Asking"}
            self.notify("notifications/progress", tick)
        answer = self.answer_to(question["method"], params)
        if answer is not None:
            kind = "error" if "code" in answer else "result"
            reply = {"jsonrpc": "2.0", "id": question["id"], kind: answer}
            self.server.receive(json.dumps(reply).encode())

    def notify(self, method: str, params: Message | None = None) -> None:
        """Send a notification; unlike the parent's, without waiting, since we may be in a call."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.server.receive(json.dumps(message).encode())

    def answer_to(self, method: str, params: Message) -> Message | None:
        """Return the answer to one question."""
        answer = self.answers.get(method)
        answered: Message | None = answer(params) if callable(answer) else answer
        return answered

    def answered(self, asked: Message) -> Message:
        """Return the answers to all of `inputRequests`."""
        return {
            key: self.answer_to(request["method"], request.get("params", {}))
            for key, request in asked.items()
        }

    def call_to_end(self, tool: str, /, **arguments: object) -> Played:
        """Call a tool; where it is answered with questions, call it again with the answers."""
        played = self.call(tool, "a", **arguments)
        while played.replies[-1].get("result", {}).get("resultType") == "input_required":
            result = played.replies[-1]["result"]
            again: Message = {"name": tool, "arguments": arguments}
            if "inputRequests" in result:
                again["inputResponses"] = self.answered(result["inputRequests"])
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            played = self.request("tools/call", again, "a")
        return played

    def listen(self, **wanted: object) -> int:
        """Open a subscription, wait until it is acknowledged, and return its id."""
        self.listener = self.begin("subscriptions/listen", {"notifications": wanted})
        self.sink.wait_for(lambda written: b"subscriptions/acknowledged" in written)
        return self.listener

    def line(self, line: bytes) -> Played:
        """Send one line; while a subscription is open, wait for its reply alone."""
        if self.listener is None:
            return super().line(line)
        start = len(self.sink.written)
        self.server.receive(line)
        if (request_id := json.loads(line).get("id")) is not None:
            marks = [f'"id":{request_id},"{kind}"'.encode() for kind in ("result", "error")]
            self.sink.wait_for(lambda written: any(mark in written for mark in marks))
        return Played(self.sink.written[start:])

    def begin_task(self, tool: str, /, ttl: int | None = None, **arguments: object) -> Message:
        """Call a tool as a task and return the task as it began."""
        params: Message = {"name": tool, "arguments": arguments}
        if self.version != PER_REQUEST:
            params["task"] = {} if ttl is None else {"ttl": ttl}
        result = _first_reply(self.request("tools/call", params, "a"))["result"]
        began: Message = result.get("task", result)
        return began

    def task(self, task_id: str, method: str = "tasks/get", **params: object) -> Message:
        """Make a request about a task and return the whole reply."""
        return _first_reply(self.request(method, {"taskId": task_id, **params}))

    def wait_for_task(self, task_id: str, *statuses: str) -> Message:
        """Poll a task until it has one of these states."""
        while True:
            result: Message = self.task(task_id)["result"]
            if result["status"] in statuses:
                return result
            self.pause()

    def pause(self) -> None:
        """Let the server work for a moment."""
        self.sink.pause(0.01)

    def sent(self, method: str) -> list[Message]:
        """Return the parameters of all notifications of that method."""
        messages = map(json.loads, self.sink.written.splitlines())
        return [message["params"] for message in messages if message.get("method") == method]

    def check_all(self) -> int:
        """See that every message of the server is as its revision wants it; return how many."""
        messages = [json.loads(line) for line in self.sink.written.splitlines()]
        for message in messages:
            self._check(message)
        return len(messages)

    def _check(self, message: Message) -> None:
        jsonrpc.jsonrpc_message_adapter.validate_python(message)
        if "method" in message:
            _check_sent(message["method"], self.version, message)
        elif "result" in message:
            _check_result(self._methods[message["id"]], self.version, message["result"])


def _first_reply(played: Played) -> Message:
    """Leave out what tasks write at the same time."""
    reply: Message = played.replies[0]
    return reply


def _check_sent(method: str, version: str, message: Message) -> None:
    if method == "notifications/tasks":
        assert version == PER_REQUEST
        _check_detailed(message["params"])
    elif method == "notifications/tasks/status":
        assert version == CORE
        mcp_types.TaskStatusNotification.model_validate(message)
    else:
        known = official.SERVER_REQUESTS if "id" in message else official.SERVER_NOTIFICATIONS
        known[method, version].model_validate(message)


def _check_result(method: str, version: str, result: Message) -> None:
    if version == PER_REQUEST:
        _check_extension_result(method, result)
    elif method.startswith("tasks/"):
        _CORE_RESULTS[method].model_validate(result)
    elif "task" in result:
        mcp_types.CreateTaskResult.model_validate(result)
    else:
        official.validate_server_result(method, version, result)


_CORE_RESULTS: dict[str, Any] = {
    "tasks/get": mcp_types.GetTaskResult,
    "tasks/list": mcp_types.ListTasksResult,
    "tasks/cancel": mcp_types.CancelTaskResult,
    "tasks/result": mcp_types.CallToolResult,
}


def _check_extension_result(method: str, result: Message) -> None:
    if method == "tasks/get":
        assert result["resultType"] == "complete"
        _check_detailed(result)
    elif method.startswith("tasks/"):
        jsonschema.validate(result, _ACKNOWLEDGEMENT)
        assert set(result) == {"resultType", "_meta"}
    elif result["resultType"] == "task":
        jsonschema.validate(result, _BARE)
        assert not set(result) & set(_NEEDS.values())
    else:
        official.validate_server_result(method, PER_REQUEST, result)


def _check_detailed(task: Message) -> None:
    jsonschema.validate(task, _BARE)
    needed = _NEEDS.get(task["status"])
    assert {name for name in _NEEDS.values() if name in task} == ({needed} if needed else set())


def _filled(params: Message) -> Message:
    """Fill in a form with what fits its fields, or agree to visit an address."""
    if params.get("mode") == "url":
        return {"action": "accept"}
    properties = params["requestedSchema"]["properties"]
    return {
        "action": "accept",
        "content": {name: _fitting(properties[name]) for name in properties},
    }


def _fitting(schema: Message) -> Any:
    if "default" in schema:
        return schema["default"]
    if "oneOf" in schema:
        return schema["oneOf"][0]["const"]
    fitting: dict[str, Any] = {
        "string": _FORMATS.get(schema.get("format", ""), "Ann"),
        "integer": 7,
        "array": [],
    }
    return schema["enum"][0] if "enum" in schema else fitting[schema["type"]]


_FORMATS = {"email": "ann@example.com", "date": "2000-02-29", "date-time": "2026-11-20T10:00:00Z"}

GOOD_ANSWERS: dict[str, Any] = {
    "elicitation/create": _filled,
    "sampling/createMessage": {
        "role": "assistant",
        "model": "test-model",
        "content": {"type": "text", "text": "Hello"},
        "stopReason": "endTurn",
    },
    "roots/list": {"roots": [{"uri": "file:///tmp", "name": "tmp"}]},
}
