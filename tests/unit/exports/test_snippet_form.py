"""A call is copied in the form that another program takes, without the server's secrets."""

import ast
import json
import shlex

import pytest

from mcp_progress_monitor.exports.snippet import as_command_line, as_curl, as_message, as_program
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

_LOCAL = StdioDefinition(
    name="db",
    command="./my server",
    args=("--api-key", "s3cret", "--fast"),
    env={"TOKEN": "s3cret"},
    cwd="/data",
)
_WEB = HttpDefinition(
    name="web", url="https://me:s3cret@host/mcp", headers={"X-Key": "s3cret"}, era="handshake"
)
_CALL = "tools/call", {"name": "export", "arguments": {"rows": 1, "to": "it's"}}
_SCHEMA = {"properties": {"to": {"type": "string", "x-mcp-header": "To"}}}


def test_a_command_line_starts_the_same_server_and_calls_the_tool() -> None:
    text = shlex.split(as_command_line(_LOCAL, *_CALL))
    assert text[:3] == ["mcp-progress-monitor", "call", "export"]
    assert json.loads(text[text.index("--args") + 1]) == {"rows": 1, "to": "it's"}
    assert text[text.index("--env") + 1] == "TOKEN=${env:TOKEN}"
    assert text[text.index("--cwd") + 1] == "/data"
    assert text[text.index("--") + 1 :][:2] == ["./my server", "--api-key"]
    assert text[-1] == "--fast"


def test_a_command_line_reaches_the_same_url() -> None:
    params = {"name": "ask", "arguments": {"topic": "a b"}}
    text = shlex.split(as_command_line(_WEB, "prompts/get", params))
    assert text[:5] == ["mcp-progress-monitor", "prompt", "ask", "--arg", "topic=a b"]
    assert text[text.index("--header") + 1] == "X-Key: ${env:HEADER_X_KEY}"
    assert text[text.index("--era") + 1] == "handshake"


@pytest.mark.parametrize("server", [_LOCAL, _WEB], ids=["stdio", "http"])
def test_no_secret_of_the_server_is_copied(server: StdioDefinition | HttpDefinition) -> None:
    texts = [
        as_command_line(server, *_CALL),
        as_program(server, *_CALL),
        as_curl(server, "2026-07-28", *_CALL, {}) or "",
        as_curl(server, "2025-11-25", *_CALL, {}) or "",
    ]
    assert not any("s3cret" in text for text in texts)


def test_a_program_is_python_with_the_same_arguments() -> None:
    code = as_program(_WEB, "resources/read", {"uri": "file:///a"})
    ast.parse(code)
    assert "await client.read_resource('file:///a')" in code
    assert "arguments = {'rows': 1, 'to': \"it's\"}" in as_program(_LOCAL, *_CALL)


def test_curl_repeats_in_headers_what_2026_07_28_wants() -> None:
    text = as_curl(_WEB, "2026-07-28", *_CALL, _SCHEMA)
    assert text is not None
    message = shlex.split(text)
    headers = [message[place + 1] for place, word in enumerate(message) if word == "--header"]
    assert "Mcp-Method: tools/call" in headers
    assert "Mcp-Name: export" in headers
    assert "X-Key: $HEADER_X_KEY" in headers
    body = json.loads(message[-1])
    assert body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


@pytest.mark.parametrize(
    "server", [_LOCAL, _WEB.model_copy(update={"transport": "sse"})], ids=["stdio", "sse"]
)
def test_curl_is_not_for_servers_that_it_cannot_call(
    server: StdioDefinition | HttpDefinition,
) -> None:
    assert as_curl(server, None, *_CALL, {}) is None


def test_a_message_is_one_line_of_json() -> None:
    text = as_message(*_CALL)
    assert "\n" not in text
    message = json.loads(text)
    assert message["params"]["arguments"] == {"rows": 1, "to": "it's"}
    assert message["params"]["_meta"] == {"progressToken": 1}
