"""Progress for clients that do not ask: only requests without a token change, and only there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tap import progress
from mcp_progress_monitor.tap.progress import LineChange, ProgressRequests, from_client, from_server

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}


def raw(message: Any, **how: Any) -> bytes:
    return json.dumps(message, **how).encode()


def notes() -> tuple[list[bytes], Any]:
    found: list[bytes] = []
    return found, found.append


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": "a"},
        {"_meta": {}},
        {"name": "a", "_meta": {"x": 1}, "arguments": {"_meta": 1, "params": {}}},
        {"arguments": {"t": 'a"{}[]\\', "params": [1, 2]}},
    ],
)
@pytest.mark.parametrize(
    "how", [{}, {"separators": (",", ":")}, {"indent": None, "sort_keys": True}]
)
def test_a_token_is_added_and_nothing_else(
    method: str, params: dict[str, Any], how: dict[str, Any]
) -> None:
    requests = ProgressRequests()
    message = {**CALL, "method": method, "params": params}
    changed = requests.with_token(raw(message, **how))
    assert changed is not None
    found = json.loads(changed)
    token = found["params"]["_meta"].pop("progressToken")
    assert token == f"{requests.prefix}1"
    if "_meta" not in params:
        del found["params"]["_meta"]
    assert found == message


@pytest.mark.parametrize(
    "line",
    [
        raw({**CALL, "params": {"_meta": {"progressToken": 1}}}),
        raw({**CALL, "params": {"_meta": {"progressToken": None}}}),
        raw({**CALL, "params": {"_meta": {"progressT\\u006fken": 1}}}).replace(b"\\\\", b"\\"),
        raw({**CALL, "params": {"_meta": 7}}),
        raw({**CALL, "params": [1]}),
        raw({**CALL, "params": None}),
        raw({**CALL, "method": "tools/list"}),
        raw({**CALL, "id": None}),
        raw([CALL]),
        raw({"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/call"}}),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"b"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{},"_meta":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"',
        b'{"method":' + b"[" * 100_000,
        b"",
        b"{}",
        b"\x00\xff",
    ],
)
def test_other_lines_pass_byte_for_byte(line: bytes) -> None:
    found, note = notes()
    assert ProgressRequests().with_token(line) is None
    change = from_client(ProgressRequests(), note)
    assert change.feed(line + b"\r\n") == (line + b"\r\n", line + b"\r\n")
    assert found == []


def test_both_forms_of_a_request_are_recorded() -> None:
    found, note = notes()
    change = from_client(ProgressRequests(), note)
    recorded, passed = change.feed(raw(CALL) + b"\n")
    assert recorded == passed
    event = json.loads(found[0])
    assert event["event"] == "changed"
    assert event["sent"].encode() == raw(CALL)


def test_progress_for_our_tokens_is_recorded_and_kept_back() -> None:
    requests = ProgressRequests()
    change = from_server(requests)
    params = {"progressToken": f"{requests.prefix}1", "progress": 1}
    ours = raw({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + b"\n"
    theirs = ours.replace(requests.prefix.encode(), b"x")
    reply = raw({"jsonrpc": "2.0", "id": 1, "result": {"token": params["progressToken"]}}) + b"\n"
    assert change.feed(ours + theirs + reply + ours) == (
        ours + theirs + reply + ours,
        theirs + reply,
    )


@pytest.mark.parametrize(
    ("line", "is_ours"),
    [
        ('{"jsonrpc":"2.0",$:{"progressToken":"@1"}}', True),
        (
            '{"jsonrpc": "2.0", $: {"progress": 1.5, "message": "Größe {", "progressToken": "@2"}}',
            True,
        ),
        ('{$:{"progressToken":"@1","progress":-1,"total":null},"jsonrpc":"2.0"}\r', True),
        ('{$:{"progressToken":"@1","message":"\\u00e9"}}', True),
        ('{$:{"progressToken":"@1","more":{"a":[]}}}', True),
        ('{"method":"notifications/message","params":{"progressToken":"@1"}}', False),
        ('{"method":"x","params":{"method":"notifications/progress","progressToken":"@1"}}', False),
        ('{$:{"progressToken":"@1","progressToken":"b"}}', False),
        ('{$:{"progressToken":"b","message":"@1"}}', False),
        ('{$:{"progressToken":"@1","progress":01}}', False),
        ('{$:{"progressToken":"@1","message":"\udcff"}}', False),
        ('{$:{"progressToken":"@1"}', False),
        ('[{$:{"progressToken":"@1"}}]', False),
    ],
)
def test_floods_are_judged_as_single_lines_are(line: str, is_ours: bool) -> None:
    requests = ProgressRequests()
    line = line.replace("$", '"method":"notifications/progress","params"')
    one = line.replace("@", requests.prefix).encode(errors="surrogateescape") + b"\n"
    assert requests.is_kept_back(one) is is_ours
    lines = b"{}\n" + 2 * one + b"{}\n"
    assert from_server(requests).feed(lines) == (lines, b"{}\n{}\n" if is_ours else lines)


def test_a_token_that_looks_like_ours_is_the_clients() -> None:
    requests, other = ProgressRequests(), ProgressRequests()
    params = {"progressToken": f"{other.prefix}1", "progress": 1}
    line = raw({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    assert not requests.is_kept_back(line)


def test_a_line_that_is_too_long_passes_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LONGEST", 10)
    _, note = notes()
    change = from_client(ProgressRequests(), note)
    assert change.feed(b"{" + b"a" * 9) == (b"", b"")
    assert change.feed(b"a" * 5) == (b"{" + b"a" * 14,) * 2
    assert change.feed(b"bc\n{}\nrest") == (b"bc\n{}\n",) * 2
    assert change.end() == b"rest"


@given(st.lists(st.binary(max_size=30), max_size=8), st.integers(1, 7))
def test_bytes_that_need_no_change_stay_whole_however_they_are_cut(
    lines: list[bytes], size: int
) -> None:
    whole = b"\n".join(lines)
    for change in (from_client(ProgressRequests(), _ignore), from_server(ProgressRequests())):
        assert _through(change, whole, size) == whole


@given(st.integers(1, 50), st.integers(1, 4))
def test_requests_are_changed_however_they_are_cut(size: int, count: int) -> None:
    requests = ProgressRequests()
    whole = (raw(CALL) + b"\n") * count
    found = _through(from_client(requests, _ignore), whole, size)
    tokens = [json.loads(line)["params"]["_meta"]["progressToken"] for line in found.splitlines()]
    assert tokens == [f"{requests.prefix}{number}" for number in range(1, count + 1)]


def _ignore(_line: bytes) -> None:
    """Note nothing."""


def _through(change: LineChange, whole: bytes, size: int) -> bytes:
    pieces = [change.feed(whole[at : at + size])[1] for at in range(0, len(whole), size)]
    return b"".join(pieces) + change.end()
