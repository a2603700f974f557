"""A client of a recording gets what the server sent then, with its own ids and tokens."""

import json
import math
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from mcp_progress_monitor.imports.convert import as_recording
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.serving import session
from mcp_progress_monitor.serving.exchanges import RecordedServer
from mcp_progress_monitor.serving.lines import RecordedMessage, messages_in
from mcp_progress_monitor.serving.session import ServedClient, ServeOptions
from tests.taps import HandTap
from tests.unit.imports.imported import SAMPLES, Imported
from tests.unit.serving.recordings import answer, call, cancelled, indexed, log, notification, tick

AT_ONCE = ServeOptions(math.inf)


def line(message: Any) -> list[RecordedMessage | None]:
    return messages_in(json.dumps(message).encode())


class Sent:
    """Everything that a client was sent, and the lines for the user."""

    def __init__(self) -> None:
        self.raws: list[bytes] = []
        self.first = anyio.Event()
        self.errors: list[bytes] = []
        self.odd: list[str] = []

    async def send(self, raw: bytes) -> None:
        self.raws.append(raw)
        self.first.set()

    def stderr(self, raw: bytes) -> None:
        self.errors.append(raw)

    def report(self, line: str, *, is_odd: bool = False) -> None:
        if is_odd:
            self.odd.append(line)

    @property
    def messages(self) -> list[Any]:
        return [json.loads(raw) for raw in self.raws]


async def played(path: Path, *lines: Any, options: ServeOptions = AT_ONCE) -> Sent:
    """Collect the answers to a client that sends each message after the previous reply."""
    sent = Sent()
    server = await indexed(path)
    async with anyio.create_task_group() as tasks:
        client = ServedClient(server, options, tasks, sent.report)
        for line in lines:
            raw = line if isinstance(line, bytes) else json.dumps(line).encode()
            for playing in await client.take(messages_in(raw), sent):
                with anyio.fail_after(10):
                    await playing.replied.wait()
    return sent


async def test_ids_and_tokens_are_the_clients_own(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(tick("a", 1)), tap.received(answer(1)))
    sent = await played(tap.path, call("x", token="mine"))  # type: ignore[arg-type]
    assert sent.messages == [tick("mine", 1), answer("x")]
    assert sent.odd == []


async def test_other_bytes_stay_exactly_as_recorded(tmp_path: Path) -> None:
    reply = b'{ "result" : {"n": 1.50e3, "t": "\\u00e9"}, "id":1 , "jsonrpc":"2.0"}'
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.line(Channel.RECEIVED, reply))
    sent = await played(tap.path, call(77))
    assert sent.raws == [reply.replace(b'"id":1', b'"id":77')]


async def test_progress_is_not_sent_to_a_client_that_asks_for_none(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(tick("a", 1)), tap.received(answer(1)))
    assert (await played(tap.path, call(2))).messages == [answer(2)]


async def test_answers_come_at_the_recorded_pace(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1), 0.3))
    began = anyio.current_time()
    await played(tap.path, call(1), options=ServeOptions(1.0))
    assert anyio.current_time() - began >= 0.3
    began = anyio.current_time()
    await played(tap.path, call(1), options=ServeOptions(100.0))
    assert anyio.current_time() - began < 0.25


async def test_a_request_that_was_not_recorded_gets_the_closest_answer(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, city="Oslo")), tap.received(answer(1, text="Oslo")))
    sent = await played(tap.path, call(5, city="Oslo!"))
    assert sent.messages == [answer(5, text="Oslo")]
    assert "not recorded; answered as" in sent.odd[0]


async def test_a_strict_recording_names_the_closest_request_in_an_error(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, city="Oslo")), tap.received(answer(1)))
    options = ServeOptions(math.inf, is_strict=True)
    (reply,) = (await played(tap.path, call(5, city="Oslo!"), options=options)).messages
    assert reply["id"] == 5
    assert '"city": "Oslo"' in reply["error"]["message"]


async def test_an_unknown_tool_is_an_error_that_names_those_recorded(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    other = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}}
    (reply,) = (await played(tap.path, other)).messages
    assert reply["error"]["code"] == -32601
    assert "export" in reply["error"]["message"]


async def test_a_ping_is_answered_though_it_was_not_recorded(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    assert (await played(tap.path, ping)).messages == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


async def test_a_question_waits_for_the_clients_answer(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {}}
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(asked), tap.sent(answer(1, action="accept")))
    tap.write(tap.received(answer(1)))
    sent, server = Sent(), await indexed(tap.path)
    async with anyio.create_task_group() as tasks:
        client = ServedClient(server, AT_ONCE, tasks, sent.report)
        (playing,) = await client.take(line(call(9)), sent)
        await sent.first.wait()
        await anyio.sleep(0.02)
        assert sent.messages == [asked]
        await client.take(line(answer(1, action="decline")), sent)
        await playing.replied.wait()
    assert sent.messages[1] == answer(9)


async def test_a_cancel_that_was_recorded_is_followed_by_what_followed_it(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(log("begun")), tap.sent(cancelled(1), 60))
    tap.write(tap.received(answer(1, stopped=True)))
    sent, server = Sent(), await indexed(tap.path)
    async with anyio.create_task_group() as tasks:
        client = ServedClient(server, ServeOptions(1.0), tasks, sent.report)
        (playing,) = await client.take(line(call(9)), sent)
        await sent.first.wait()
        await client.take(line(cancelled(9)), sent)
        with anyio.fail_after(10):
            await playing.replied.wait()
    assert sent.messages == [log("begun"), answer(9, stopped=True)]


async def test_a_recorded_cancel_waits_for_the_clients(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(log("begun")), tap.sent(cancelled(1)), tap.closed())
    sent, server = Sent(), await indexed(tap.path)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            client = ServedClient(server, AT_ONCE, tasks, sent.report)
            await client.take(line(call(9)), sent)
            await sent.first.wait()
            await anyio.sleep(0.05)
            await client.take(line(cancelled(9)), sent)
    assert sent.messages == [log("begun")]


async def test_a_client_that_does_not_cancel_where_the_recorded_did_gets_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_CANCEL_S", 0.05)
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.sent(cancelled(1)), tap.closed())
    (refused,) = (await played(tap.path, call(9))).messages
    assert "cancelled this request here" in refused["error"]["message"]


async def test_what_followed_the_handshake_waits_for_its_end(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.handshake(), tap.received(notification("notifications/tools/list_changed")))
    sent, server = Sent(), await indexed(tap.path)
    initialize = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            client = ServedClient(server, AT_ONCE, tasks, sent.report)
            (playing,) = await client.take(line(initialize), sent)
            await playing.replied.wait()
            await anyio.sleep(0.05)
            assert [each["id"] for each in sent.messages] == [7]
            ended = notification("notifications/initialized")
            await client.take(line(ended), sent)
    assert sent.messages[1]["method"] == "notifications/tools/list_changed"


async def test_the_last_progress_comes_before_its_reply_at_any_speed(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(tick("a", 1)), tap.received(answer(1)))
    sent, server = Sent(), await indexed(tap.path)
    async with anyio.create_task_group() as tasks:
        client = ServedClient(server, AT_ONCE, tasks, sent.report)
        await client.take(line(call(9, token="b")), sent)
        await sent.first.wait()
        await checkpoint()
        assert sent.messages == [tick("b", 1)]  # a read of this moment finds no reply
    assert sent.messages == [tick("b", 1), answer(9)]


async def test_a_cancel_that_was_not_recorded_ends_the_request_silently(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1), 60))
    sent, server = Sent(), await indexed(tap.path)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            client = ServedClient(server, ServeOptions(1.0), tasks, sent.report)
            await client.take(line(call(9)), sent)
            await client.take(line(cancelled(9)), sent)
    assert sent.raws == []


async def test_a_request_without_a_recorded_reply_says_so(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(tick("a", 1)), tap.closed())
    *_, last = (await played(tap.path, call(2))).messages
    assert "no reply" in last["error"]["message"]


@pytest.mark.parametrize("text", ["(removed)", "Bearer (hidden, 12 characters)"])
async def test_answers_without_their_secrets_are_refused(tmp_path: Path, text: str) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1, key=text)))
    (refused,) = (await played(tap.path, call(1))).messages
    assert "--allow-redacted" in refused["error"]["message"]
    options = ServeOptions(math.inf, allows_redacted=True)
    assert (await played(tap.path, call(1), options=options)).messages == [answer(1, key=text)]


async def test_a_recording_without_an_opening_is_served_with_a_minimal_one(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    params = {"protocolVersion": "2025-06-18"}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    sent = await played(tap.path, opening)
    assert sent.messages[0]["result"]["protocolVersion"] == "2025-06-18"
    assert "no handshake" in sent.odd[0]


async def test_a_client_of_another_revision_gets_the_recorded_one(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.handshake())
    params = {"protocolVersion": "2024-11-05"}
    opening = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params}
    sent = await played(tap.path, opening, notification("notifications/initialized"))
    assert sent.messages[0]["result"]["protocolVersion"] == "2025-11-25"
    assert sent.odd == ["initialize: asked for 2024-11-05, recorded is 2025-11-25"]


async def test_requests_that_name_their_revision_need_no_opening(tmp_path: Path) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    info = {"io.modelcontextprotocol/serverInfo": {"name": "db", "version": "3"}}
    recorded = call(1)
    recorded["params"]["_meta"] = meta
    tap = HandTap(tmp_path)
    tap.write(tap.sent(recorded), tap.received(answer(1, _meta=info)))
    discover = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}}
    sent = await played(tap.path, discover, {**discover, "method": "initialize"})
    made, refused = sent.messages
    assert made["result"]["supportedVersions"] == ["2026-07-28"]
    assert (made["result"]["_meta"], made["result"]["capabilities"]) == (info, {"tools": {}})
    assert refused["error"]["code"] == -32601


async def test_lines_that_are_no_messages_get_an_error(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    sent = await played(tap.path, b"garbage", b"[]", b"7", call(1))
    assert [message.get("error", {}).get("code") for message in sent.messages] == [
        *[-32700] * 3,
        None,
    ]


async def test_many_requests_are_played_at_once(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    for number in range(50):
        tap.write(tap.sent(call(number, n=number)))
    for number in range(50):
        tap.write(tap.received(answer(number, n=number), 0.002))
    batch = [call(100 + number, n=number) for number in range(50)]
    sent = await played(tap.path, batch, options=ServeOptions(1.0))
    assert [(each["id"], each["result"]["n"]) for each in sent.messages] == [
        (100 + number, number) for number in range(50)
    ]


async def test_a_task_sends_its_progress_after_the_reply(tmp_path: Path) -> None:
    created = answer(1, task={"taskId": "t", "status": "working"})
    status = notification("notifications/tasks/status", taskId="t", status="completed")
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(created), tap.received(tick("a", 1)))
    tap.write(tap.received(status))
    sent = await played(tap.path, call(2, token="b"))
    assert sent.messages == [{**created, "id": 2}, tick("b", 1), status]


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("chrome-137.har", "Bodies of responses, which are not in the file (1)"),
        ("mcpsnoop-0.9.jsonl", "Messages that were dropped because they arrived too fast (1)"),
        ("mcp-rec-0.1.jsonl", "The server's standard error"),
        ("claude-desktop-2025-10.log", "The exit codes of servers"),
    ],
)
async def test_files_of_other_programs_are_served_as_far_as_they_go(
    name: str, missing: str
) -> None:
    lines = [line for line in Imported(SAMPLES / name).lines() if line[0].endswith("#1")]
    asked = [raw for _, mark, raw in lines if mark == ">"]
    with as_recording(SAMPLES / name) as path:
        sent = await played(path, *asked)
        await session.index(RecordedServer(path), sent.report)
    answers = [raw for raw in sent.raws if b"has no reply to this request" not in raw]
    assert sorted(answers) == sorted(raw for _, mark, raw in lines if mark == "<")
    assert len(sent.raws) - len(answers) == (name == "chrome-137.har")
    assert missing in sent.odd[0]
