"""Progress that we send: every phase, increasing, seldom enough, and none where none is due."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.sessions.questions.questions import AnswerPhase, AnswerProgress

ALL = list(AnswerPhase)


def _course(kind: str, phases: list[AnswerPhase], token: Any = 1) -> list[tuple[Any, Any, Any]]:
    line = AnswerProgress(token, kind)
    found = [line.enter(phase, float(at)) for at, phase in enumerate(phases)]
    return [(p["progress"], p["total"], p["message"]) for p in found if p is not None]


@pytest.mark.requirement("FR-7")
def test_sampling_tells_of_each_of_its_phases() -> None:
    assert _course("sampling", ALL) == [
        (1, 3, "Awaiting approval"),
        (2, 3, "Processing"),
        (3, 3, "Done"),
    ]


@pytest.mark.requirement("FR-8")
@pytest.mark.parametrize("kind", ["form", "url"])
def test_elicitation_tells_of_each_of_its_phases(kind: str) -> None:
    assert _course(kind, ALL) == [
        (1, 4, "Displaying form"),
        (2, 4, "Awaiting input"),
        (3, 4, "Validating"),
        (4, 4, "Done"),
    ]


@pytest.mark.parametrize("token", [0, "", "t", 7])
def test_any_token_of_a_right_type_is_reported_under(token: Any) -> None:
    params = AnswerProgress(token, "form").enter(AnswerPhase.SHOWING, 0.0)
    assert params is not None
    assert params["progressToken"] == token


@pytest.mark.parametrize("token", [None, True, 1.5, [], {}])
def test_nothing_is_reported_without_a_token_that_may_be_one(token: Any) -> None:
    assert _course("form", ALL, token) == []


def test_the_roots_have_no_phases() -> None:
    assert _course("roots", ALL) == []


def test_nothing_is_reported_after_the_reply() -> None:
    line = AnswerProgress("t", "form")
    line.end()
    assert line.enter(AnswerPhase.DONE, 0.0) is None


def test_an_answer_that_does_not_fit_leads_back_with_a_larger_value() -> None:
    course = _course(
        "form", [*ALL[:3], AnswerPhase.WAITING, AnswerPhase.CHECKING, AnswerPhase.DONE]
    )
    assert course[2:] == [
        (3, 4, "Validating"),
        (3.5, 4, "Awaiting input"),
        (3.75, 4, "Validating"),
        (4, 4, "Done"),
    ]


@given(
    st.lists(st.tuples(st.sampled_from(ALL), st.floats(0.0, 0.3)), max_size=200),
    st.sampled_from(["sampling", "form", "url"]),
)
def test_values_increase_below_a_known_total_at_most_ten_a_second(
    steps: list[tuple[AnswerPhase, float]], kind: str
) -> None:
    line = AnswerProgress("t", kind)
    at, sent = 0.0, []
    for phase, pause_s in steps:
        at += pause_s
        params = line.enter(phase, at)
        if params is not None:
            sent.append((at, params))
    values = [params["progress"] for _, params in sent]
    assert values == sorted(set(values))
    assert all(
        0 < value <= params["total"] for value, (_, params) in zip(values, sent, strict=True)
    )
    assert all(params["message"] != "Done" for _, params in sent[:-1])
    assert all(later - first >= 1 for (first, _), (later, _) in zip(sent, sent[10:], strict=False))


@given(st.lists(st.sampled_from(ALL[:3]), max_size=60))
def test_the_end_is_reported_however_much_was_reported_before(steps: list[AnswerPhase]) -> None:
    line = AnswerProgress("t", "form")
    for phase in steps:
        line.enter(phase, 0.0)
    params = line.enter(AnswerPhase.DONE, 0.0)
    assert params is not None
    assert (params["progress"], params["message"]) == (4, "Done")
