"""Calls end in the way their tool names. The crash has its test with the real process."""

from __future__ import annotations

import pytest

from tests.unit.demo.client import Client


def test_an_error_result_comes_after_its_ticks() -> None:
    played = Client().call("error_result", at_tick=2, steps=5, interval_s=0)
    assert played.values == [1, 2]
    assert played.result["isError"] is True


def test_an_rpc_error_carries_code_message_and_data() -> None:
    played = Client().call("rpc_error", code=-1, message="No", at_tick=1, interval_s=0)
    assert played.values == [1]
    assert (played.error["code"], played.error["message"]) == (-1, "No")
    assert played.error["data"]["tick"] == 1


def test_one_that_never_answers_waits_for_a_cancellation() -> None:
    client = Client()
    request_id = client.begin_call("never_answers", steps=1, interval_s=0)
    assert client.cancel(request_id).raw == b""


def test_two_replies_share_one_id() -> None:
    first, second = Client().call("reply_twice", steps=1, interval_s=0).replies
    assert first["id"] == second["id"]
    assert first["result"] != second["result"]


@pytest.mark.parametrize(
    ("id_is", "stray_id"), [("unknown", "no-such-request"), ("null", None), ("of_other_type", "2")]
)
def test_a_stray_reply_precedes_the_right_one(id_is: str, stray_id: str | None) -> None:
    stray, right = Client().call("stray_reply", id_is=id_is).replies
    assert stray["id"] == stray_id
    assert right["id"] == 2


def test_impossible_arguments_are_refused_by_their_own_schema() -> None:
    error = Client().call("impossible_arguments").error
    assert error["code"] == -32602
    assert error["data"]["path"] == "amount"
    assert "result" in Client().call("impossible_arguments", amount=5).reply
