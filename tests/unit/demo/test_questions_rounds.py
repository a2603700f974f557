"""A call that is made again must be the same, with the very state that was sent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.demo.client import PER_REQUEST, Message, Played
from tests.unit.demo.host import Host


class Asked:
    """A call that was answered with a question."""

    def __init__(self) -> None:
        self.host = Host(PER_REQUEST)
        self.params: Message = {"name": "ask_form", "arguments": {}}
        self.result = self.host.request("tools/call", self.params).result
        self.answers = self.host.answered(self.result["inputRequests"])

    def again(self, **changed: Any) -> Played:
        """Make the call again, with some parameters changed; None leaves one out."""
        state = self.result["requestState"]
        params = {**self.params, "inputResponses": self.answers, "requestState": state, **changed}
        kept = {name: value for name, value in params.items() if value is not None}
        return self.host.request("tools/call", kept)


def test_the_same_call_with_its_state_and_answers_is_done() -> None:
    assert Asked().again().result["resultType"] == "complete"


@pytest.mark.parametrize("change", [str.upper, lambda state: state + " ", "é".join])
def test_a_changed_state_is_refused(change: Any) -> None:
    asked = Asked()
    error = asked.again(requestState=change(asked.result["requestState"])).error
    assert error["code"] == -32602
    assert "differs from the one sent" in error["message"]


@pytest.mark.parametrize("state", [None, 42, {}, [], True])
def test_a_missing_state_or_one_of_a_wrong_type_is_refused(state: object) -> None:
    error = Asked().again(requestState=state).error
    assert error["code"] == -32602
    assert "requestState" in error["message"]


@pytest.mark.parametrize(
    "changed", [{"arguments": {"message": "x"}}, {"name": "ask_roots"}, {"arguments": None}]
)
def test_another_call_with_that_state_is_refused(changed: Message) -> None:
    error = Asked().again(**changed).error
    assert error["code"] == -32602
    assert "first request" in error["message"]


@pytest.mark.parametrize("responses", [[], "yes", {"form": "yes"}])
def test_answers_of_a_wrong_type_are_refused(responses: object) -> None:
    assert Asked().again(inputResponses=responses).error["code"] == -32602


def test_without_any_answer_all_is_asked_again() -> None:
    assert len(Asked().again(inputResponses=None).result["inputRequests"]) == 1


def test_answers_to_nothing_are_dropped() -> None:
    asked = Asked()
    asked.answers["nobody-asked"] = {"action": "accept"}
    assert "nobody" not in str(asked.again().result)


def test_a_state_is_good_for_a_second_try() -> None:
    asked = Asked()
    assert asked.again().result == asked.again().result


def test_states_are_for_their_era_alone() -> None:
    host = Host("2025-11-25")
    params = {"name": "fraction", "arguments": {"steps": 1, "interval_s": 0}, "requestState": "x"}
    assert host.request("tools/call", params).result["content"]
