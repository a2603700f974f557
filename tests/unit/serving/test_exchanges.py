"""The exchanges of a recording: found by method and parameters, followed to their ends."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.serving.exchanges import RecordedServer, Step, StepKind
from tests.taps import HandTap
from tests.unit.serving.recordings import answer, call, cancelled, indexed, log, notification, tick


async def steps_of(
    path: Path, arguments: dict[str, Any] | None = None, turn: int = 0
) -> list[Step]:
    """The steps of a recorded call of `export`, without pauses."""
    server = await indexed(path)
    found = await server.find("tools/call", {"name": "export", "arguments": arguments or {}}, turn)
    assert found.exchange is not None
    return [step for step in server.steps(found.exchange) if step is not None]


def kinds(steps: list[Step]) -> list[StepKind]:
    return [step.kind for step in steps]


async def test_equal_requests_are_answered_in_the_recorded_order(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    for number in range(3):
        tap.write(tap.sent(call(number, n=number % 2)), tap.received(answer(number)))
    server = await indexed(tap.path)
    params = {"name": "export", "arguments": {"n": 0}, "_meta": {"progressToken": "other"}}
    places = [(await server.find("tools/call", params, turn)).exchange for turn in range(3)]
    assert [place and place.id for place in places] == [0, 2, 2]


async def test_progress_and_reply_follow_at_their_distances(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(tick("a", 1), 0.5))
    tap.write(tap.received(tick("b", 9)), tap.received(answer(1), 0.25))
    steps = await steps_of(tap.path)
    assert kinds(steps) == [StepKind.TICK, StepKind.REPLY]
    assert [step.after_s for step in steps] == pytest.approx([0.5, 0.75], abs=1e-3)


async def test_log_messages_belong_to_the_newest_open_request(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, n=1)), tap.received(log("first")), tap.sent(call(2, n=2)))
    tap.write(tap.received(log("second")), tap.received(answer(2)), tap.received(log("third")))
    tap.write(tap.received(answer(1)))
    first, second = await steps_of(tap.path, {"n": 1}), await steps_of(tap.path, {"n": 2})
    assert [b"first" in step.raw or b"third" in step.raw for step in first] == [True, True, False]
    assert [b"second" in step.raw for step in second] == [True, False]


async def test_what_follows_the_reply_belongs_to_the_request_before_the_next(
    tmp_path: Path,
) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1)), tap.received(log("late")))
    tap.write(tap.sent(call(2, n=2)), tap.received(log("of the next")), tap.received(answer(2)))
    steps = await steps_of(tap.path)
    assert kinds(steps) == [StepKind.REPLY, StepKind.SENT]


async def test_a_question_is_followed_by_its_answer(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(asked), tap.sent(answer("q")))
    tap.write(tap.received(answer(1)))
    assert kinds(await steps_of(tap.path)) == [StepKind.ASKED, StepKind.ANSWERED, StepKind.REPLY]


async def test_a_task_is_followed_beyond_its_reply(tmp_path: Path) -> None:
    created = answer(1, task={"taskId": "t-1", "status": "working"})
    status = notification("notifications/tasks/status", taskId="t-1", status="completed")
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(created), tap.sent(call(2, n=2)))
    tap.write(tap.received(tick("a", 1)), tap.received(status), tap.received(log("other")))
    steps = await steps_of(tap.path)
    assert kinds(steps) == [StepKind.REPLY, StepKind.TICK, StepKind.SENT]


def of_task(status: str) -> dict[str, Any]:
    return notification("notifications/tasks/status", taskId="t-1", status=status)


async def test_what_a_task_says_before_the_reply_that_names_it_is_its_own(tmp_path: Path) -> None:
    created = answer(1, task={"taskId": "t-1", "status": "working"})
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(of_task("working")), tap.received(created))
    tap.write(tap.sent(call(2, n=2)), tap.received(of_task("failed")), tap.received(answer(2)))
    own, other = await steps_of(tap.path), await steps_of(tap.path, {"n": 2})
    assert kinds(own) == [StepKind.SENT, StepKind.REPLY, StepKind.SENT]
    assert kinds(other) == [StepKind.REPLY]


async def test_what_a_task_says_follows_no_request_about_it(tmp_path: Path) -> None:
    created = answer(1, task={"taskId": "t-1", "status": "working"})
    poll = {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": "t-1"}}
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(created), tap.sent(poll))
    tap.write(tap.received(answer(2, taskId="t-1", status="working")))
    tap.write(tap.received(of_task("completed")))
    server = await indexed(tap.path)
    found = (await server.find("tasks/get", {"taskId": "t-1"}, 0)).exchange
    assert found is not None
    assert kinds([step for step in server.steps(found) if step]) == [StepKind.REPLY]
    assert kinds(await steps_of(tap.path)) == [StepKind.REPLY, StepKind.SENT]


async def test_a_recorded_cancel_is_a_step(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.sent(cancelled(1)), tap.received(answer(1)))
    assert kinds(await steps_of(tap.path)) == [StepKind.CANCELLED, StepKind.REPLY]


async def test_batches_are_taken_to_pieces(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent([call(1), call(2, n=2)]))  # type: ignore[arg-type]  # a batch
    tap.write(tap.received([answer(2), answer(1)]))  # type: ignore[arg-type]
    assert kinds(await steps_of(tap.path)) == [StepKind.REPLY]
    assert kinds(await steps_of(tap.path, {"n": 2})) == [StepKind.REPLY]


async def test_the_closest_request_is_found_by_its_parameters(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    for number, city in enumerate(("Oslo", "Bergen", "Tromsø")):
        tap.write(tap.sent(call(number, city=city, limit=5)), tap.received(answer(number)))
    server = await indexed(tap.path)
    found = await server.find(
        "tools/call", {"name": "export", "arguments": {"city": "Bergem", "limit": 5}}, 0
    )
    assert found.exchange is None
    assert found.closest is not None
    assert found.closest.id == 1
    assert (await server.find("tools/call", {"name": "unknown"}, 0)).closest is None


async def test_an_opening_is_chosen_by_its_revision(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    for number, revision in enumerate(("2025-06-18", "2025-11-25")):
        opening = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {}}
        tap.write(tap.sent(opening), tap.received(answer(number, protocolVersion=revision)))
    server = await indexed(tap.path)
    old, other = [await server.opening("initialize", each) for each in ("2025-06-18", "2024-11-05")]
    assert old is not None
    assert other is not None
    assert (old.id, other.id) == (0, 1)


async def test_only_one_server_of_a_recording_is_served(tmp_path: Path) -> None:
    tap = HandTap(tmp_path, "first")
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    tap.name = "second"
    tap.write(tap.sent(call(2)), tap.received(answer(2)))
    server = await indexed(tap.path)
    assert (server.name, server.others, server.count) == ("first", {"second"}, 1)
    (line,) = server.unserved
    assert "second" in line
    assert "--server" in line
    other = await indexed(tap.path, "second")
    assert (other.count, other.unserved) == (1, [])


@pytest.mark.parametrize("content", [b"", b"nonsense\n"])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mcprec"
    path.write_bytes(content)
    with pytest.raises(UserError):
        RecordedServer(path)


async def test_a_damaged_recording_is_served_as_far_as_it_goes(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), b"\x00\xffno line\n", tap.received(answer(1)), b"2026-11")
    assert kinds(await steps_of(tap.path)) == [StepKind.REPLY]


async def test_requests_beyond_a_full_disk_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect: Any = sqlite3.connect

    def full(*arguments: Any, **options: Any) -> Any:
        database = connect(*arguments, **options)
        database.execute("PRAGMA max_page_count = 9")
        return database

    monkeypatch.setattr(sqlite3, "connect", full)
    tap = HandTap(tmp_path)
    for number in range(500):
        tap.write(tap.sent(call(number, row=number)), tap.received(answer(number)))
    server = await indexed(tap.path)
    assert 50 < server.count < 500
    assert server.count + server.left_out == 500
    (line,) = server.unserved
    assert line.startswith(f"{server.left_out:,} requests after the first {server.count:,} are not")
    last = await server.find("tools/call", call(1, row=server.count - 1)["params"], 0)
    assert last.exchange is not None


async def test_ids_and_names_of_any_kind_are_found(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    ids: list[Any] = ["1", 1, 1.5, 10**30, "ä"]
    for identity in ids:
        message = call(0, city=repr(identity)) | {"id": identity}
        message["params"]["name"] = f"export {identity!r}"
        tap.write(tap.sent(message), tap.received(answer(identity)))
    server = await indexed(tap.path)
    for identity in ids:
        params = {"name": f"export {identity!r}", "arguments": {"city": repr(identity)}}
        found = (await server.find("tools/call", params, 7)).exchange
        assert found is not None
        assert (found.id, found.name, found.is_answered) == (identity, params["name"], True)
        assert server.request_of(found).params == params
    assert server.names == sorted(f"export {each!r}" for each in ids)
