"""Following a task: looks, results, questions, cancels, and servers that behave badly."""

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.messages import is_terminal
from mcp_progress_monitor.protocol.tasks import TaskOffer
from mcp_progress_monitor.sessions.tasks import TaskFate
from tests.unit.sessions.task_play import (
    ANSWER,
    CORE,
    EXTENDED,
    TaskServer,
    end_of,
    followed,
    of_extension,
)


async def test_a_task_of_the_handshake_era_is_looked_at_then_its_result_fetched_once() -> None:
    server = TaskServer(CORE, ["working", "working", "completed"], result=ANSWER)
    end = await end_of(server)
    assert (end.fate, end.status, end.result) == (TaskFate.ENDED, "completed", ANSWER)
    assert b'"result"' in end.raw
    assert b"done" in end.raw
    assert server.count("tasks/get") == 3
    assert server.count("tasks/result") == 1
    assert all(m["params"]["taskId"] == "T" for m in server.sent)


async def test_a_task_of_the_extension_has_its_result_in_the_last_look() -> None:
    done = of_extension("completed", result=ANSWER, resultType="complete")
    server = TaskServer(EXTENDED, ["working", done])
    end = await end_of(server)
    assert (end.fate, end.result, end.error) == (TaskFate.ENDED, ANSWER, None)
    assert b"done" in end.raw
    assert server.count("tasks/result") == 0


async def test_a_huge_result_of_the_extension_is_read_whole() -> None:
    text = "x" * 2_000_000
    server = TaskServer(EXTENDED, [of_extension("completed", result={"content": [], "text": text})])
    end = await end_of(server)
    assert end.result == {"content": [], "text": text}


async def test_a_failed_task_gives_its_error_in_both_forms() -> None:
    failed = of_extension("failed", error={"code": -32603, "message": "broken"})
    server = TaskServer(EXTENDED, [failed])
    end = await end_of(server)
    assert end.error == {"code": -32603, "message": "broken"}
    server = TaskServer(CORE, ["failed"], result=-32603)
    end = await end_of(server)
    assert end.error is not None
    assert end.error["code"] == -32603
    assert server.count("tasks/result") == 1


async def test_a_cancelled_task_has_no_result_to_fetch() -> None:
    server = TaskServer(CORE, ["cancelled"])
    end = await end_of(server)
    assert (end.fate, end.status, end.raw) == (TaskFate.ENDED, "cancelled", b"")
    assert server.count("tasks/result") == 0


@pytest.mark.parametrize("offer", [CORE, EXTENDED])
async def test_a_notification_brings_the_next_look_forward(offer: TaskOffer) -> None:
    slow = {"pollInterval": 300_000, "pollIntervalMs": 300_000}
    server = TaskServer(offer, [of_extension("completed", result=ANSWER)], result=ANSWER)
    async with followed(server, view=slow) as play:
        await anyio.lowlevel.checkpoint()
        server.tell("completed", result=ANSWER)
        end = await play.end()
    assert end.result == ANSWER


async def test_a_notification_of_another_task_is_of_no_concern() -> None:
    server = TaskServer(CORE, ["working"], cancel="cancelled")
    async with followed(server) as play:
        server.tell("completed", taskId="another")
        await server.until_count(3)
        assert play.run.end is None
        play.run.cancel()
        await play.end()


async def test_a_failed_look_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.tasks._MOST_DOUBLINGS", 0)
    server = TaskServer(CORE, [-32603, -32000, "completed"], result=ANSWER)
    end = await end_of(server)
    assert end.result == ANSWER


async def test_a_look_that_is_not_answered_is_given_up_and_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.tasks._LIMIT_S", 0.05)
    server = TaskServer(CORE, [None, "completed"], result=ANSWER)
    end = await end_of(server)
    assert end.result == ANSWER
    assert "notifications/cancelled" in server.methods


async def test_a_reply_about_another_task_tells_nothing() -> None:
    other = {**of_extension("completed"), "taskId": "another"}
    server = TaskServer(CORE, [other, "completed"], result=ANSWER)
    end = await end_of(server)
    assert end.result == ANSWER
    assert server.count("tasks/get") == 2


async def test_a_task_that_its_server_forgot_is_lost_with_a_message() -> None:
    server = TaskServer(CORE, ["working", -32602])
    end = await end_of(server)
    assert end.fate is TaskFate.UNKNOWN
    assert end.text == "The server no longer knows the task: no such thing"


async def test_a_task_whose_time_is_over_is_lost_with_a_message() -> None:
    server = TaskServer(EXTENDED, [-32602])
    end = await end_of(server, began_s_ago=61)
    over = "The task's time to live, 1 min 0 s, has expired"
    assert end.text == f"{over}, and the server has discarded it: no such thing"


async def test_an_expired_task_whose_server_answers_nothing_is_lost() -> None:
    server = TaskServer(CORE, [-32603])
    end = await end_of(server, began_s_ago=61)
    assert end.fate is TaskFate.UNKNOWN
    assert "has expired, and the server does not report its status" in end.text


async def test_an_expired_task_that_its_server_still_works_on_is_followed_on() -> None:
    server = TaskServer(CORE, ["working", "working", "completed"], result=ANSWER)
    end = await end_of(server, began_s_ago=61)
    assert end.result == ANSWER


async def test_the_end_of_the_time_to_live_brings_a_look_forward() -> None:
    slow = {"pollInterval": 300_000}
    server = TaskServer(CORE, [-32602])
    end = await end_of(server, began_s_ago=59.7, view=slow)
    assert "has expired, and the server has discarded it" in end.text


async def test_a_server_that_cannot_be_asked_how_a_task_is_still_gives_its_result() -> None:
    server = TaskServer(CORE, [-32601], result=ANSWER)
    end = await end_of(server)
    assert end.result == ANSWER
    server = TaskServer(EXTENDED, [-32601])
    end = await end_of(server)
    assert end.text == "The server created a task, but does not support tasks/get"


async def test_a_result_that_is_refused_is_asked_for_again_then_told_as_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.tasks._MOST_DOUBLINGS", 0)
    server = TaskServer(CORE, ["completed"], result=-32603)
    end = await end_of(server)
    assert end.fate is TaskFate.NO_RESULT
    assert end.text == "The task has finished, but its result is not available: no such thing"
    assert server.count("tasks/result") == 3
    server = TaskServer(CORE, ["completed"], result=-32602)
    await end_of(server)
    assert server.count("tasks/result") == 1


# Input


async def test_while_input_is_required_the_result_is_waited_for_and_asked_for_once() -> None:
    server = TaskServer(CORE, ["input_required", "input_required", "input_required", "working"])
    async with followed(server) as play:
        request = await server.until_sent("tasks/result")
        await server.until_count(5)
        server.states = ["completed"]
        server.say({"jsonrpc": "2.0", "id": request["id"], "result": ANSWER})
        end = await play.end()
    assert end.result == ANSWER
    assert server.count("tasks/result") == 1


async def test_a_result_before_the_end_is_kept_till_then() -> None:
    server = TaskServer(CORE, ["input_required", "working", "completed"], result=ANSWER)
    end = await end_of(server)
    assert (end.status, end.result) == ("completed", ANSWER)
    assert server.count("tasks/result") == 1


async def test_a_server_that_refuses_to_wait_is_asked_for_the_result_at_the_end() -> None:
    refusals = [-32602, -32602, -32602]

    def refuse(_message: object) -> Any:
        return refusals.pop() if refusals else ANSWER

    states = ["input_required"] * 8 + ["completed"]
    server = TaskServer(CORE, states, result=refuse)
    end = await end_of(server)
    assert end.result == ANSWER
    assert server.count("tasks/result") == 4


async def test_a_cancel_is_sent_once_and_its_reply_may_be_the_end() -> None:
    server = TaskServer(CORE, ["working"], cancel="cancelled")
    async with followed(server) as play:
        play.run.cancel()
        play.run.cancel()
        end = await play.end()
    assert (end.fate, end.status) == (TaskFate.ENDED, "cancelled")
    assert server.count("tasks/cancel") == 1
    assert "notifications/cancelled" not in server.methods


async def test_a_cooperative_task_is_followed_after_its_cancel_was_taken() -> None:
    done = of_extension("completed", result=ANSWER)
    server = TaskServer(EXTENDED, ["working", "working", "working", done], cancel={})
    async with followed(server) as play:
        play.run.cancel()
        end = await play.end()
    assert (end.status, end.result) == ("completed", ANSWER)


async def test_a_refused_cancel_may_be_tried_again() -> None:
    replies: list[Any] = [-32603, "cancelled"]
    server = TaskServer(CORE, ["working"], cancel=lambda _message: replies.pop(0))
    async with followed(server) as play:
        play.run.cancel()
        await server.until_sent("tasks/cancel")
        await server.until_count(5)
        assert play.run.end is None
        play.run.cancel()
        await play.end()
    assert server.count("tasks/cancel") == 2


async def test_giving_up_cancels_the_task_and_stops_polling_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.tasks._AFTERMATH_S", 0.2)
    server = TaskServer(EXTENDED, ["working"], cancel={})
    async with followed(server) as play:
        play.run.give_up("Timed out")
        end = await play.end()
    assert (end.fate, end.text) == (TaskFate.GIVEN_UP, "Timed out")
    assert server.count("tasks/cancel") == 1


async def test_disconnecting_does_not_cancel_a_task() -> None:
    server = TaskServer(CORE, ["working"], cancel="cancelled")
    async with followed(server) as play:
        play.run.is_left = True
        play.run.give_up("Cancelled by the caller")
        await server.until_count(3)
    assert server.count("tasks/cancel") == 0
    assert play.run.end is not None
    assert play.run.end.fate is TaskFate.DISCONNECTED


# Connections


async def test_a_cancel_that_was_confirmed_right_before_following_stops_is_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.tasks.SHORTEST_S", 60.0)
    server = TaskServer(CORE, cancel="cancelled")
    async with followed(server) as play:
        await anyio.wait_all_tasks_blocked()
        server.tell("cancelled")
        await anyio.wait_all_tasks_blocked()
        play.run.stop("")
        end = await play.end()
    assert (end.fate, end.status) == (TaskFate.ENDED, "cancelled")


async def test_a_task_outlives_its_connection() -> None:
    server = TaskServer(EXTENDED, ["working"])
    async with followed(server) as play:
        await server.until_sent("tasks/get")
        server.end(1)
        end = await play.end()
    assert end.fate is TaskFate.DISCONNECTED
    assert end.fate.is_open


async def test_a_task_that_is_picked_up_is_looked_at_first() -> None:
    server = TaskServer(CORE, ["completed"], result=ANSWER)
    await end_of(server, is_known=False, view={"status": "input_required"})
    assert server.methods == ["tasks/get", "tasks/result"]


async def test_the_extension_is_listened_to_until_the_end() -> None:
    done = of_extension("completed", result=ANSWER)
    server = TaskServer(EXTENDED, ["working", done])
    async with followed(server) as play:
        await play.end()
        await server.until_sent("notifications/cancelled")
    listen = await server.until_sent("subscriptions/listen")
    assert listen["params"]["notifications"] == {"taskIds": ["T"]}
    ended = await server.until_sent("notifications/cancelled")
    assert ended["params"]["requestId"] == listen["id"]


STATES = st.sampled_from(
    ["working", "input_required", "completed", "failed", "cancelled", "paused", "", -32603, -32602]
)


@given(states=st.lists(STATES, max_size=5), last=st.sampled_from(["completed", "failed", -32602]))
def test_whatever_states_follow_each_other_a_run_ends_and_fetches_at_most_one_result(
    states: list[str | int], last: str | int
) -> None:
    async def follow() -> None:
        server = TaskServer(CORE, [*states, last], result=ANSWER)
        end = await end_of(server)
        assert end.fate in {TaskFate.ENDED, TaskFate.UNKNOWN}
        assert server.count("tasks/result") <= 1
        reported = [s for s in states if s == -32602 or (isinstance(s, str) and is_terminal(s))]
        assert (end.fate is TaskFate.UNKNOWN) == (([*reported, last])[0] == -32602)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SHORTEST_S": 0.0001, "_MOST_DOUBLINGS": 0}.items():
            patch.setattr(f"mcp_progress_monitor.sessions.tasks.{name}", value)
        patch.setattr("mcp_progress_monitor.sessions.tasks.SHORTEST_S", 0.0001)
        anyio.run(follow)
