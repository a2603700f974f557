"""Questions and answers as text."""

import pytest

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.wording.questions import (
    about,
    answer_text,
    head,
    message_of,
    phase_of,
    request_text,
    result_text,
)
from tests.job_stand_ins import answer, job
from tests.question_stand_ins import drawn, form, page, said, sampling

pytestmark = pytest.mark.usefixtures("qapp")


def test_a_question_is_its_message_on_one_line() -> None:
    assert head(form(params={"message": "One\ntwo \u202ethree"})) == "One\\ntwo \\u202ethree"


def test_a_model_is_asked_what_was_said_last() -> None:
    assert head(sampling(said("First"), said("Last"))) == "Last"


def test_an_image_is_not_reported_as_its_bytes() -> None:
    picture = {"role": "user", "content": drawn(4, 4)}
    assert head(sampling(picture)) == "asks for a model response"


def test_without_a_message_the_kind_is_reported() -> None:
    assert head(form(params={})) == "asks you to fill in a form"
    assert head(page("https://a.example", params={"mode": "url"})) == "asks you to open a web page"
    assert request_text("roots/list", {}) == "asks which folders it may use"
    assert request_text("x/unknown", {}) == "x/unknown"


def test_who_asks_for_what_since_when_and_how_far() -> None:
    text = about(form(), "export", 114.0, "Awaiting input")
    assert text.startswith("demo · export · since ")
    assert text.endswith("(14 s ago) · Awaiting input")


def test_the_phase_is_what_the_server_was_reported_last() -> None:
    child = job(sender=Side.SERVER, message="Validating")
    assert phase_of(form(), child) == "Validating"
    assert phase_of(form(), job(message="Step 3")) == "Awaiting input"
    assert phase_of(sampling(), None) == "Awaiting approval"


def test_a_long_message_is_cut_and_keeps_its_lines() -> None:
    shown = message_of(form(message="a\nb\u202e" + "c" * 30_000))
    assert shown.startswith("a\nb\\u202ec")
    assert len(shown) < 20_100


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"action": "accept", "content": {"name": "Ada"}}, 'accepted: name="Ada"'),
        ({"action": "accept"}, "accepted"),
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "cancelled"),
        ({"roots": [{"uri": "file:///srv"}]}, "file:///srv"),
        ({"roots": []}, "no folders"),
        ({"role": "assistant", "content": {"type": "text", "text": "42"}, "model": "m"}, "m: 42"),
        ([1], "[1]"),
    ],
)
def test_an_answer_as_text(result: object, message: str) -> None:
    assert result_text(result) == message


def test_a_refusal_is_reported_with_its_own_message() -> None:
    assert answer_text(answer(error={"code": -1, "message": "User said\nno"})) == (
        "refused: User said\\nno"
    )
    assert answer_text(None) == ""
