"""`tap --to URL --script`: each action on what passes, seen by both sides and by the recording."""

import json
import time
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.tap.script import ScriptError, read_rules, refuse_over_http
from tests.patience import until
from tests.unit.tap_http.tapped import (
    END,
    STREAM,
    Peer,
    chunk,
    client,
    event,
    reply,
    request,
    response,
    rpc,
    server,
    tapped,
)

CALL = rpc("tools/call", 7, name="work", _meta={"progressToken": 7})
INITIALIZED = rpc("notifications/initialized")


def tick(progress: int) -> bytes:
    return rpc("notifications/progress", progressToken=7, progress=progress)


class Served:
    """A server that answers each request alike, and remembers what came."""

    def __init__(self, answer: bytes) -> None:
        self.seen: list[bytes] = []
        self._answer = answer

    async def __call__(self, peer: Peer) -> None:
        while True:
            self.seen.append((await peer.message()).partition(b"\r\n\r\n")[2])
            await peer.write(self._answer)


def streamed(*messages: bytes) -> bytes:
    events = b"".join(event(each, str(n)) for n, each in enumerate(messages))
    return STREAM + chunk(b": begun\n\n" + events) + END


def messages_in(stream: bytes) -> list[bytes]:
    """The data of the events of a stream, without its chunks' limits."""
    return [
        line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: ")
    ]


async def exchanged(
    folder: Path, script: str, answer: bytes, end: bytes
) -> tuple[bytes, Served, list[dict[str, object]]]:
    """What a client got for a call up to `end`, the server, and the events about changes."""
    serve = Served(answer)
    async with (
        server(serve) as url,
        tapped(url, folder, script=script) as tap,
        client(tap.port) as peer,
    ):
        await peer.write(request(tap.port, CALL))
        got = await peer.until(end) if end else await peer.message()
    return got, serve, [each for each in tap.events if each["event"] == "changed"]


async def test_events_are_dropped_duplicated_cut_and_corrupted(tmp_path: Path) -> None:
    script = """
        drop server 1st progress
        duplicate server 2nd progress
        cut server 3rd progress
        corrupt server result of tools/call
    """
    # A message that is dropped does not meet the rules below.
    answer = streamed(*map(tick, range(5)), reply(7))
    got, _, changed = await exchanged(tmp_path, script, answer, END)
    first, second, third, fourth, fifth, result = messages_in(got)
    assert (first, second, third) == (tick(1), tick(2), tick(2))
    assert fourth == tick(3)[: len(tick(3)) // 2]
    assert fifth == tick(4)
    assert len(result) == len(reply(7))
    assert result.count(b"\x1a") == 1
    assert b": begun\n\n" in got
    assert [each["actions"] for each in changed] == [["drop"], ["duplicate"], ["cut"], ["corrupt"]]
    assert [each["passed"] for each in changed] == [0, 2, 1, 1]
    assert changed[3]["sent"] == reply(7).decode()


async def test_the_recording_has_what_was_passed_on_and_says_so(tmp_path: Path) -> None:
    serve = Served(streamed(tick(1), tick(2), reply(7)))
    script = "drop server 1st progress"
    async with (
        server(serve) as url,
        tapped(url, tmp_path, script=script) as tap,
        client(tap.port) as peer,
    ):
        await peer.write(request(tap.port, CALL))
        await peer.until(END)
    assert [json.dumps(message).encode() for _, _, message in tap.messages] == [
        CALL,
        tick(2),
        reply(7),
    ]
    reported = tap.event("script")
    assert (reported["name"], reported["seed"], reported["rules"]) == (
        "faults.txt",
        1,
        ["1: " + script],
    )
    assert tap.played().errors[0].what == "Changed by the script faults.txt"
    assert tap.tap.change_text == "The script faults.txt changes this session (1 rule, --seed 1)"


async def test_a_delayed_event_holds_up_those_behind_it_and_not_twice(tmp_path: Path) -> None:
    began = time.monotonic()
    answer = streamed(*map(tick, range(6)), reply(7))
    got, _, changed = await exchanged(tmp_path, "delay 300ms server progress", answer, END)
    took_s = time.monotonic() - began
    assert messages_in(got) == [*map(tick, range(6)), reply(7)]
    assert 0.3 <= took_s < 6 * 0.3
    assert {each["delay_s"] for each in changed} == {0.3}


async def test_a_body_is_cut_to_half_of_its_length(tmp_path: Path) -> None:
    answer = response(reply(7, text="x" * 50))
    got, _, (changed,) = await exchanged(tmp_path, "cut server results", answer, b"")
    head, _, body = got.partition(b"\r\n\r\n")
    assert reply(7, text="x" * 50).startswith(body)
    assert f"content-length: {len(body)}".encode() in head.lower()
    assert changed["sent"] == reply(7, text="x" * 50).decode()


async def test_a_body_cannot_come_twice_and_the_recording_says_so(tmp_path: Path) -> None:
    answer = response(reply(7))
    got, _, (changed,) = await exchanged(tmp_path, "duplicate server results", answer, b"")
    assert got.endswith(b"\r\n\r\n" + reply(7))
    assert changed["passed"] == 1
    assert changed["not_done"] == "duplicate: not applicable, the body is not an event stream"


async def test_a_request_reaches_the_server_as_the_script_leaves_it(tmp_path: Path) -> None:
    answer = response(reply(7))
    _, serve, (changed,) = await exchanged(tmp_path, "cut client tools/call", answer, b"")
    assert serve.seen == [CALL[: len(CALL) // 2]]
    assert (changed["from"], changed["message"], changed["sent"]) == ("client", 1, CALL.decode())


async def test_what_a_script_does_not_mean_passes_as_it_is(tmp_path: Path) -> None:
    answer = response(reply(7), "X-One: 1")
    got, serve, changed = await exchanged(tmp_path, "drop server errors", answer, b"")
    assert got.lower() == answer.lower()
    assert (serve.seen, changed) == ([CALL], [])


async def test_a_notification_that_is_dropped_was_accepted_for_its_sender(tmp_path: Path) -> None:
    serve = Served(response(reply(7)))
    async with (
        server(serve) as url,
        tapped(url, tmp_path, script="drop client notifications") as tap,
        client(tap.port) as peer,
    ):
        await peer.write(request(tap.port, INITIALIZED))
        accepted = await peer.message()
        await peer.write(request(tap.port, CALL))
        await peer.message()
    assert accepted.startswith(b"HTTP/1.1 202 Accepted\r\n")
    assert serve.seen == [CALL]
    assert tap.event("changed")["sent"] == INITIALIZED.decode()


@pytest.mark.parametrize("script", ["drop client requests", "drop server results"])
async def test_the_sender_of_a_call_that_gets_lost_waits(script: str, tmp_path: Path) -> None:
    serve = Served(response(reply(7)))
    async with server(serve) as url, tapped(url, tmp_path, script=script) as tap:
        async with client(tap.port) as peer:
            await peer.write(request(tap.port, CALL))
            with anyio.move_on_after(0.2) as waited:
                await peer.message()
        assert waited.cancelled_caught
        await until(
            lambda: tap.recording.exists() and b'"http_ended"' in tap.recording.read_bytes()
        )
    assert tap.event("changed")["passed"] == 0
    assert tap.event("http_ended")["reason"] == "closed by the client"
    assert serve.seen == ([] if "client" in script else [CALL])


async def test_replies_are_to_the_requests_of_their_own_exchange(tmp_path: Path) -> None:
    """Clients count from the same number: a result is of the method that was asked for there."""
    serve = Served(response(reply(7)))
    listed = rpc("tools/list", 7)
    async with (
        server(serve) as url,
        tapped(url, tmp_path, script="cut server result of tools/call") as tap,
        client(tap.port) as peer,
        client(tap.port) as other,
    ):
        await peer.write(request(tap.port, CALL))
        cut = await peer.message()
        await other.write(request(tap.port, listed))
        whole = await other.message()
    assert cut.endswith(b"\r\n\r\n" + reply(7)[: len(reply(7)) // 2])
    assert whole.endswith(b"\r\n\r\n" + reply(7))


async def test_a_stream_that_breaks_off_breaks_off_for_the_client(tmp_path: Path) -> None:
    async def serve(peer: Peer) -> None:
        await peer.message()
        await peer.write(STREAM + chunk(event(tick(1)) + b"data: ha"))

    async with (
        server(serve) as url,
        tapped(url, tmp_path, script="duplicate server progress") as tap,
        client(tap.port) as peer,
    ):
        await peer.write(request(tap.port, CALL))
        rest = await peer.rest()
    assert messages_in(rest) == [tick(1), tick(1)]
    assert not rest.endswith(END)
    assert tap.event("http_ended")["reason"].startswith("broken")


async def test_an_event_of_several_lines_keeps_its_id_and_its_name(tmp_path: Path) -> None:
    data = b'{"jsonrpc":"2.0",\n"method":"notifications/x","params":{"long":"text"}}'
    lines = b"".join(b"data: %b\n" % line for line in data.split(b"\n"))
    answer = STREAM + chunk(b"event: message\n" + lines + b"id: 9\n\n") + END
    got, _, (changed,) = await exchanged(tmp_path, "cut server notifications", answer, END)
    first, second = data[: len(data) // 2].split(b"\n")
    assert b"id: 9\nevent: message\ndata: %b\ndata: %b\n\n" % (first, second) in got
    assert changed["sent"] == data.decode()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("kill server after 3s", "no process of ours"),
        ("close stdout after 3 progress", "no standard streams"),
        ("reorder server 2 messages", "keeps its order"),
        ("delay 1s server alone", "keeps its order"),
        ("duplicate client requests", "one response"),
    ],
)
def test_rules_without_a_meaning_over_http_are_refused_with_what_to_try(
    line: str, what: str
) -> None:
    with pytest.raises(ScriptError, match=what) as refused:
        refuse_over_http(read_rules(f"drop server progress\n{line}"))
    assert refused.value.line == 2
    assert refused.value.hint
    _, _, example = refused.value.hint.partition(": ")
    if example and not example.startswith("calls"):
        refuse_over_http(read_rules(example))
