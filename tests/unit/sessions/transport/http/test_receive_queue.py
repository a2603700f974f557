"""The line between who reads responses and who publishes them."""

import json
from collections.abc import Iterable

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameRun
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.http_events import BodyRebuilder
from mcp_progress_monitor.protocol.sse import SseEvent, SseTooLargeError
from mcp_progress_monitor.sessions.transport.http.receive_queue import EventStream, ReceiveQueue


def inbound() -> ReceiveQueue:
    return ReceiveQueue(Framer("t#1", FrameNumbers()), Clock())


async def taken(line: ReceiveQueue, count: int = 1) -> list[list[Frame]]:
    found: list[list[Frame]] = []
    for _ in range(count):
        found += [list(frames) for frames in await line.next() if frames]
    return found


def raws(lists: Iterable[list[Frame]]) -> list[bytes]:
    return [frame.raw for frames in lists for frame in frames]


async def test_frames_are_numbered_when_they_are_taken() -> None:
    line = inbound()
    line.record_event("one")
    line.put(line.body(1, b'{"a":1}', (5e9, 6e9)))
    line.record_event("two")
    lists = await taken(line, 3)
    assert [frames[0].number for frames in lists] == [1, 2, 3, 4]
    assert all(len({frame.channel for frame in frames}) == 1 for frames in lists)
    assert (lists[2][0].when, lists[2][0].at) == (5e9, 6e9)


async def test_time_does_not_go_back_from_frame_to_frame() -> None:
    line = inbound()
    line.record_event("http_request")
    stream = EventStream(line, 7)
    stream.add(b"data: 1\n\n")
    line.put(line.body(1, b'{"a":1}', line.stamp()))
    sent = line.framer.sent(b"{}", 8e9, 9e9)
    frames = [frame for part in await taken(line, 3) for frame in part]
    assert len(frames) == 5
    assert {(frame.when, frame.at) for frame in frames} == {(sent.when, sent.at)}
    line.put(line.body(2, b'{"a":1}', (8.5e9, 9.5e9)))
    assert {frame.at for part in await taken(line) for frame in part} == {9.5e9}
    line.record_event("http_ended")
    assert [frame.at for part in await taken(line) for frame in part] == [9.5e9]


async def test_chunks_that_came_meanwhile_are_framed_together() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    for n in range(3):
        stream.add(b"data: %d\n\n" % n)
    reported, messages = await taken(line)
    assert reported[0].channel is Channel.EVENT
    assert raws([messages]) == [b"0", b"1", b"2"]
    assert stream.count == 3
    stream.add(b"data: 3\n\n")
    assert raws(await taken(line)) == [b"3"]  # all around it was reported before


async def test_what_is_mostly_ends_of_line_is_parsed_in_small_portions() -> None:
    line = inbound()
    stream = EventStream(line, 1)
    stream.add(b"id\n\n" * 8192)
    reported = [json.loads(raw) for raw in raws(await taken(line))]
    parts = ["".join(entry["raw"] for entry in event["events"]) for event in reported]
    assert "".join(parts) == "id\n\n" * 8192
    assert [len(part) for part in parts] == [4096] * 8


async def test_a_stream_of_comments_yields_to_other_tasks() -> None:
    line = inbound()
    stream = EventStream(line, 1)
    stream.add(b"event: x\n" + b":\n" * 65000)
    assert list(await line.next()) == [[]] * 32


async def test_many_messages_come_in_runs() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    stream.add(b"data: {}\n\ndata: x\n\n" * 999 + b"data: {}\n\n" + b'data: {"a":\ndata: 1}\n\n')
    _reported, *slices = await line.next()
    assert [len(frames) for frames in slices] == [1024, 976]
    assert {type(frames) for frames in slices} == {FrameRun}


async def test_the_elements_of_batches_come_in_slices_as_well() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    stream.add(b"data: [" + b",".join([b"{}"] * 600) + b"]\n\n")
    stream.add(b"data: [" + b",".join([b"{}"] * 600) + b"]\n\n")
    _reported, *slices = await taken(line)
    assert sum(map(len, slices)) == 1202
    assert max(map(len, slices)) <= 768


async def test_a_stream_that_fills_up_is_read_no_further_until_it_was_taken() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    assert not stream.add(b"data: x\n\n")
    assert stream.add(b"data: " + b"y" * 300_000)
    async with anyio.create_task_group() as tasks:
        waiting = anyio.Event()

        async def wait() -> None:
            await stream.room()
            waiting.set()

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert not waiting.is_set()
        await taken(line)
        with anyio.fail_after(2):
            await waiting.wait()


async def test_what_a_stream_ended_within_is_reported_and_no_message() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    stream.add(b"data: whole\n\ndata: ha")
    stream.end()
    _reported, messages, rest = await taken(line)
    assert raws([messages]) == [b"whole"]
    assert b'"raw":"data: ha","is_complete":false' in rest[0].raw


async def test_a_stream_that_ends_while_its_bytes_are_framed_loses_none_of_them() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    stream.add(b"data: a\n\n")
    slices = await line.next()
    next(slices)
    stream.add(b"data: b\n\ndata: ")
    stream.add(b"half")
    stream.end()
    assert raws(list(map(list, slices))) == [b"a"]
    messages, rest = await taken(line)
    assert raws([messages]) == [b"b"]
    assert b'"raw":"data: half","is_complete":false' in rest[0].raw


async def test_a_flood_with_ids_is_reported_by_one_entry_for_all() -> None:
    line = inbound()
    stream = EventStream(line, 7)
    stream.add(b"id: 0\ndata: 0\n\n")
    await taken(line)
    stream.add(b"".join(b"id: %d\ndata: %d\n\n" % (n, n) for n in range(1, 201)))
    reported, *messages = await taken(line)
    entry = json.loads(reported[0].raw)["events"]
    assert [(each["before"], len(each["ids"]), each["count"]) for each in entry] == [
        ("id: ", 200, 200)
    ]
    assert raws(messages) == [b"%d" % n for n in range(1, 201)]
    assert (stream.count, stream.last_event_id) == (201, "200")


async def test_ids_and_pauses_are_remembered_and_other_events_handed_on() -> None:
    others: list[SseEvent] = []
    line = inbound()
    stream = EventStream(line, 7, others.append)
    stream.add(b"id: 4\nretry: 30\ndata:\n\nevent: endpoint\ndata: /m\n\n")
    await taken(line)
    assert (stream.last_event_id, stream.retry_ms, stream.count) == ("4", 30, 0)
    assert [event.name for event in others] == ["", "endpoint"]


async def test_a_message_that_is_too_large_ends_a_stream() -> None:
    line = inbound()
    stream = EventStream(line, 7, most=10)
    stream.add(b"data: ok\n\ndata: much too long for this\n\n")
    assert raws((await taken(line))[1:]) == [b"ok"]
    assert stream.add(b"more")
    with pytest.raises(SseTooLargeError):
        await stream.room()


async def test_passing_waits_until_all_before_was_taken() -> None:
    line = inbound()
    line.record_event("one")
    async with anyio.create_task_group() as tasks:
        passed = anyio.Event()

        async def wait() -> None:
            await line.passed()
            passed.set()

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await taken(line)
        await anyio.wait_all_tasks_blocked()
        assert not passed.is_set()
        await taken(line)
        with anyio.fail_after(2):
            await passed.wait()


async def test_nothing_comes_after_the_end() -> None:
    line = inbound()
    line.put(None)
    line.record_event("late")
    for _ in range(2):
        with pytest.raises(anyio.EndOfStream):
            await line.next()


async def test_a_long_event_is_reported_in_frames_of_bounded_size_and_comes_back_whole() -> None:
    line, bodies, found = inbound(), BodyRebuilder(), b""
    stream = EventStream(line, 7)
    content = b": " + b"c" * 300_000 + b"\ndata: {" + b"\ndata: 1," * 90_000 + b"\ndata: 2}\n\n"
    stream.add(content)
    slices = list(await line.next())
    for frame in [frame for frames in slices for frame in frames]:
        if frame.channel is Channel.EVENT:
            assert len(frame.raw) < 256 * 1024
            parts = bodies.bodies_of(json.loads(frame.raw))
        else:
            assert frame.raw.startswith(b"{\n1,\n")
            parts = bodies.message(frame.raw)
        found += b"".join(part for _, part in parts)
    assert found == content
    assert len(slices) > len(content) // (64 * 1024)
