"""What replies and other ends make of a job, in whose words."""

import pytest

from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    RequestAnswered,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.tracker import endings
from mcp_progress_monitor.tracker.snapshot import Failure, JobState
from tests.unit.tracker.story import Story


def test_a_tools_own_error_is_a_failure_in_its_own_text_and_breaks_no_rule(story: Story) -> None:
    request = story.call()
    blocks = [
        {"type": "text", "text": "disk full"},
        {"type": "image"},
        "?",
        {"text": "on /dev/sda"},
    ]
    story.reply(request, {"isError": True, "content": blocks})
    job = story.job(request)
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert (job.failure.where, job.failure.message) == ("server", "disk full\non /dev/sda")
    assert story.marks(request) == {}


def test_a_tools_error_without_a_text_still_says_something(story: Story) -> None:
    request = story.call()
    story.reply(request, {"isError": True, "content": None})
    failure = story.job(request).failure
    assert failure is not None
    assert failure.message == "The tool reported an error without a message"


REFUSALS = [
    "Server-to-client requests are not available",
    "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.",
    "This transport context has no back-channel for server-initiated requests.",
]


@pytest.mark.parametrize("expected", REFUSALS)
def test_a_server_that_refuses_its_own_question_is_advised_of_the_older_era(
    story: Story, expected: str
) -> None:
    by_tool, by_error = story.call(), story.call()
    story.reply(by_tool, {"isError": True, "content": [{"type": "text", "text": expected}]})
    story.reply(by_error, error={"code": -32603, "message": expected})
    for request in (by_tool, by_error):
        job = story.job(request)
        assert job.state is JobState.FAILED
        assert job.failure is not None
        assert job.failure.message == expected
        (mark,) = job.marks
        assert mark.key == "no-questions"
        assert "--era handshake" in mark.text


@pytest.mark.parametrize("flag", [False, "true", 1, None])
def test_only_a_true_is_error_fails_a_job(story: Story, flag: object) -> None:
    request = story.call()
    story.reply(request, {"isError": flag})
    assert story.job(request).state is JobState.DONE


def test_a_json_rpc_error_is_failed_with_code_and_data(story: Story) -> None:
    request = story.call()
    story.reply(request, error={"code": -32602, "message": "unknown tool", "data": {"n": 1}})
    job = story.job(request)
    assert job.state is JobState.FAILED
    assert job.failure == Failure("server", "unknown tool", -32602, {"n": 1})


@pytest.mark.parametrize("error", [{}, {"message": 5, "code": True}, {"message": "", "code": "x"}])
def test_a_malformed_error_fails_the_job_without_inventing_a_code(
    story: Story, error: dict[str, object]
) -> None:
    request = story.call()
    story.reply(request, error=error)
    assert story.job(request).failure == Failure("server", "Error without a message")


def test_a_result_of_another_type_is_not_taken_for_success(story: Story) -> None:
    request = story.call()
    story.reply(request, {"resultType": "partial", "content": []})
    job = story.job(request)
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert "partial" in job.failure.message
    assert story.marks(request) == {"unfinished-result": 1}


def test_long_words_are_bounded(story: Story) -> None:
    request = story.call()
    story.reply(request, {"isError": True, "content": [{"type": "text", "text": "x" * 10_000}] * 3})
    failure = story.job(request).failure
    assert failure is not None
    assert len(failure.message) == endings.TEXT_LIMIT


def test_an_error_that_we_answered_is_our_own() -> None:
    answer = RequestAnswered(
        1, "s#1", 0.0, 0.0, Side.CLIENT, 1, 1, RequestStanding.ACTIVE, None,
        {"message": "declined"}, None, 9, (),
    )  # fmt: skip
    failure = endings.of_answer(answer).failure
    assert failure is not None
    assert (failure.where, failure.message) == ("local", "declined")


@pytest.mark.parametrize(
    ("reason", "exit_code", "text"),
    [
        ("killed", -9, "The connection ended before the reply: killed (exit code -9)"),
        ("", 0, "The connection ended before the reply (exit code 0)"),
        (
            "closed by this client",
            None,
            "The connection ended before the reply: closed by this client",
        ),
    ],
)
def test_a_lost_job_says_all_that_is_known(reason: str, exit_code: int | None, text: str) -> None:
    ending = endings.of_close(ConnectionClosed(1, "s#1", 0.0, 0.0, reason, exit_code))
    assert ending.state is JobState.LOST
    assert ending.failure is not None
    assert ending.failure.message == text


def test_a_lost_job_says_what_comes_next_where_that_is_known() -> None:
    outlook = "Reconnecting in 1 s"
    closed = ConnectionClosed(1, "s#1", 0.0, 0.0, "killed", None, outlook=outlook)
    ending = endings.of_close(closed)
    assert ending.failure is not None
    assert ending.failure.message == (
        "The connection ended before the reply: killed. Reconnecting in 1 s"
    )
    assert ending.failure.lasting == "The connection ended before the reply: killed"


def test_a_job_whose_server_the_user_disconnected_is_lost_and_nothing_went_wrong() -> None:
    reason = "You disconnected the server"
    closed = ConnectionClosed(1, "s#1", 0.0, 0.0, reason, 0, is_wanted=True)
    ending = endings.of_close(closed)
    assert ending.state is JobState.LOST
    text = "You disconnected the server; the reply had not arrived"
    assert ending.failure == Failure("local", text, is_wanted=True)


def test_a_cancel_without_a_reason_still_says_something() -> None:
    failure = endings.of_cancel(None, None).failure
    assert failure is not None
    assert failure.message == "Cancelled"
