"""Irregular progress is shown to people: one line for each kind and job, however much there is."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.output.job_text import Violations
from tests.unit.cli.traffic import Traffic, tick

SAME = "The server returned the resume token that it had been given"


class Reports:
    """The lines printed about a traffic."""

    def __init__(self, numbers: dict[int, int] | None = None) -> None:
        self.traffic = Traffic()
        self.traffic.called("a", 7)
        self._irregularities = Violations(self.traffic.jobs, numbers)

    def of(self, *lines: bytes | dict[str, Any]) -> list[str]:
        """The lines about what the server wrote."""
        return list(self._irregularities.lines(self.traffic.received(*lines).changes))


def test_good_progress_is_not_reported_of() -> None:
    assert Reports().of(tick("a", 1, total=2), tick("a", 2, total=2, message="x")) == []


def test_each_kind_is_reported_once_in_the_text_of_its_first_case() -> None:
    reported = Reports()
    assert reported.of(tick("a", 5), tick("a", 3), tick("a", 2)) == [
        "burst: warning: Progress did not increase: 3 after 5"
    ]
    assert reported.of(tick("a", 1), tick("a", 9, total=8), tick("a", 10, total=7)) == [
        "burst: warning: Progress exceeds its total: 9 of 8",
        "burst: warning: Total changed: 7 after 8",
    ]
    assert reported.of(tick("a", "x")) == ['burst: warning: "progress" is "x", not a finite number']
    assert reported.of(tick("a", 0, total=0), tick("a", "y")) == [
        "burst: warning: Total is not positive: 0"
    ]


def test_each_job_is_reported_by_the_number_the_user_knows() -> None:
    reported = Reports({1: 30})
    reported.traffic.called("b", 8)
    assert reported.of(tick("b", 1), tick("a", 1), tick("b", 1), tick("a", 1)) == [
        "burst #30: warning: Progress did not increase: 1 after 1",
        "burst #2: warning: Progress did not increase: 1 after 1",
    ]


def test_progress_after_the_result_is_reported() -> None:
    reported = Reports()
    answer = {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert reported.of(answer, tick("a", 1), tick("a", 2)) == [
        "burst: warning: Progress received 0 ms after the job ended (Done)"
    ]


def test_progress_that_crosses_our_cancel_is_nobodys_fault() -> None:
    reported = Reports()
    reported.traffic.cancelled()
    assert reported.of(tick("a", 1)) == []


def reply(token: object, **members: Any) -> dict[str, Any]:
    """The reply to the first call, with a resume token."""
    result = {"content": [], "_meta": {"nextResumeToken": token}, **members}
    return {"jsonrpc": "2.0", "id": 7, "result": result}


@pytest.mark.parametrize("token", ["", 42, {"chunk": 1}])
def test_an_unusable_resume_token_is_reported(token: object) -> None:
    reported = Reports()
    assert reported.of(reply(token)) == [
        'burst: warning: "nextResumeToken" is not a non-empty string'
    ]
    assert reported.of(tick("other", 1))[0].startswith("warning: The progress token")


def test_a_resume_token_on_an_error_is_reported() -> None:
    assert Reports().of(reply("t", isError=True)) == [
        "burst: warning: Resume token received with an error; it is ignored"
    ]


def test_the_same_resume_token_is_reported_once() -> None:
    reported = Reports()
    assert reported.of(reply("t")) == []
    for request_id in (8, 9):
        reported.traffic.resumed("t", request_id)
        lines = reported.of(reply("t") | {"id": request_id})
        is_first = request_id == 8
        assert lines == ["burst: warning: " + SAME] * is_first


@pytest.mark.parametrize(
    ("token", "end"),
    [("x\x1b", r': "x\u001b"'), (7, ": 7"), (1.5, '"progressToken" is 1.5, not a string or an')],
)
def test_progress_of_nobody_is_reported_once(token: object, end: str) -> None:
    reported = Reports()
    (line,) = reported.of(tick(token, 1), tick("other", 1))
    assert line.startswith("warning: The progress token does not belong to any request")
    assert end in line
    assert reported.of(tick("third", 1)) == []


def test_a_line_is_short_and_harmless_whatever_the_server_wrote() -> None:
    (line,) = Reports().of(tick("a", "\x1b[2J\u202e" + "x" * 10_000))
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert len(line) < 300


def test_a_server_that_refuses_its_own_question_is_reported_with_advice() -> None:
    message = "Server-to-client requests are not available"
    content = [{"type": "text", "text": message}]
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"isError": True, "content": content}}
    (line,) = Reports().of(answer)
    assert line.startswith("burst: warning: ")
    assert "--era handshake" in line
