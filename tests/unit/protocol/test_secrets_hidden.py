import copy

import pytest

from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.protocol.secrets import HIDDEN, shown_data, without_tokens

SECRET = "who-has-it-can-go-on"
TOKEN = {"nextResumeToken": SECRET}
REST = {"content": [{"type": "text", "text": "half"}], "a": 1}


@pytest.mark.parametrize(
    "result",
    [
        REST | {"_meta": TOKEN | {"note": "stays"}},
        REST | TOKEN,
        REST | TOKEN | {"_meta": TOKEN},
        {"code": -32603, "message": "no", "data": TOKEN | {"why": "stays"}},
        {"code": -32603, "message": "no", "data": {"_meta": TOKEN}},
        {"code": -32603, "message": "no", "_meta": TOKEN},
    ],
)
def test_a_token_is_hidden_wherever_a_server_may_put_it_and_all_else_stays(
    result: JsonObject,
) -> None:
    before = copy.deepcopy(result)
    shown = without_tokens(result)
    assert SECRET not in repr(shown)
    assert repr(shown) == repr(before).replace(SECRET, HIDDEN)
    assert result == before


@pytest.mark.parametrize("token", ["", None, 7, ["nested"], {"a": "token"}])
def test_what_is_no_usable_token_is_hidden_as_well(token: object) -> None:
    shown = without_tokens({"_meta": {"nextResumeToken": token}})
    assert shown == {"_meta": {"nextResumeToken": HIDDEN}}


def test_a_result_without_a_token_is_shown_as_it_is() -> None:
    result = REST | {"_meta": {"a": "b"}, "data": ["text"]}
    assert without_tokens(result) == result


def test_a_meta_that_is_no_object_is_left_alone() -> None:
    assert without_tokens({"_meta": "text"}) == {"_meta": "text"}


def test_the_data_of_an_error_is_shown_without_tokens_whatever_it_is() -> None:
    assert shown_data({"_meta": TOKEN, "a": 1}) == {"_meta": {"nextResumeToken": HIDDEN}, "a": 1}
    for data in (None, "text", [1, TOKEN], 7):
        assert shown_data(data) == data
