"""What is asked of servers about tasks, judged by the official SDK's own types."""

from typing import Any

import mcp_types
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.messages import CAPABILITIES_KEY, TASKS_EXTENSION
from mcp_progress_monitor.protocol.tasks import (
    TaskAugmentation,
    TaskOffer,
    TaskWay,
    lacks_extension,
    params_with_task,
    with_extension,
)

CALL = {"name": "t", "arguments": {"a": 1}}
CORE = TaskOffer.of(
    "2025-11-25", {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
)
BARE = TaskOffer.of("2025-11-25", {"tools": {}})
EXTENDED = TaskOffer.of("2026-07-28", {"extensions": {TASKS_EXTENSION: {}}})
PLAIN = TaskOffer.of("2026-07-28", {"tools": {}})
STAMPS = eras.stamps(
    "2026-07-28", ClientIdentity({"name": "us"}, {}, with_extension({"sampling": {}}))
)


def params(
    request: TaskAugmentation,
    offer: TaskOffer,
    support: str | None = None,
    method: str = "tools/call",
) -> dict[str, Any]:
    stamps = STAMPS if offer.way is TaskWay.EXTENSION else {}
    return params_with_task(method, CALL, request, offer, support, stamps)


def test_what_a_server_offers_is_read_from_its_capabilities() -> None:
    assert (CORE.way, CORE.has_calls, CORE.has_list, CORE.has_cancel) == (
        TaskWay.CORE, True, True, True,
    )  # fmt: skip
    assert (BARE.has_calls, BARE.has_list, BARE.has_cancel) == (False, False, False)
    assert (EXTENDED.has_calls, EXTENDED.has_list, EXTENDED.has_cancel) == (True, False, True)
    assert not PLAIN.has_calls


@pytest.mark.parametrize("capabilities", [{"tasks": 7}, {"tasks": {"requests": []}}, {"tasks": {}}])
def test_capabilities_of_a_wrong_shape_offer_nothing(capabilities: dict[str, Any]) -> None:
    assert not TaskOffer.of("2025-11-25", capabilities).has_calls


def test_a_required_task_is_asked_for_without_a_choice_and_an_optional_one_is_not() -> None:
    assert params(TaskAugmentation(), CORE, "required") == {**CALL, "task": {}}
    assert params(TaskAugmentation(), CORE, "optional") == CALL
    assert params(TaskAugmentation(), CORE, "forbidden") == CALL
    assert params(TaskAugmentation(), BARE, "required") == CALL


def test_a_chosen_task_is_asked_for_with_its_time_to_live() -> None:
    sent = params(TaskAugmentation(as_task=True, ttl_ms=60_000.0), CORE, "optional")
    assert sent == {**CALL, "task": {"ttl": 60_000}}
    assert type(sent["task"]["ttl"]) is int
    assert params(TaskAugmentation(as_task=True), CORE, None) == {**CALL, "task": {}}


def test_a_plain_call_is_made_plainly_whatever_the_tool_demands() -> None:
    assert params(TaskAugmentation(as_task=False), CORE, "required") == CALL


@pytest.mark.parametrize(
    ("offer", "support", "method", "text"),
    [
        (BARE, "optional", "tools/call", "The server does not support tasks for tool calls"),
        (PLAIN, None, "tools/call", "The server does not support tasks for tool calls"),
        (CORE, "forbidden", "tools/call", "The tool cannot run as a task"),
        (CORE, None, "resources/read", "resources/read cannot run as a task"),
    ],
)
def test_what_cannot_be_a_task_is_refused_with_a_message(
    offer: TaskOffer, support: str | None, method: str, text: str
) -> None:
    with pytest.raises(UserError, match=text):
        params(TaskAugmentation(as_task=True), offer, support, method)


@pytest.mark.parametrize("ttl_ms", [0, -1, float("nan"), float("inf"), 2.0**60])
def test_a_time_to_live_that_cannot_be_is_refused(ttl_ms: float) -> None:
    with pytest.raises(UserError, match="Invalid task lifetime"):
        params(TaskAugmentation(as_task=True, ttl_ms=ttl_ms), CORE, "optional")


def test_in_the_extension_nothing_is_asked_and_the_server_decides() -> None:
    assert params(TaskAugmentation(), EXTENDED) == CALL
    assert params(TaskAugmentation(as_task=True, ttl_ms=5), EXTENDED) == CALL


def test_a_call_that_is_not_to_be_a_task_goes_out_without_the_extension() -> None:
    sent = params(TaskAugmentation(as_task=False), EXTENDED)
    assert sent == {**CALL, "_meta": {CAPABILITIES_KEY: {"sampling": {}}}}
    assert (
        params_with_task("tools/call", CALL, TaskAugmentation(as_task=False), EXTENDED, None, {})
        == CALL
    )


def test_a_request_that_went_out_without_the_extension_is_known_by_its_metadata() -> None:
    plain = params(TaskAugmentation(as_task=False), EXTENDED)["_meta"]
    assert lacks_extension({**STAMPS, **plain}, STAMPS)
    assert not lacks_extension(STAMPS, STAMPS)
    assert not lacks_extension({}, STAMPS)
    assert not lacks_extension({**STAMPS, **plain}, {})


def test_the_official_types_read_what_is_asked_as_it_is_meant() -> None:
    augmented = mcp_types.CallToolRequestParams.model_validate(
        params(TaskAugmentation(as_task=True, ttl_ms=60_000), CORE)
    )
    assert augmented.task == mcp_types.TaskMetadata(ttl=60_000)
    declared = mcp_types.ClientCapabilities.model_validate(with_extension({"sampling": {}}))
    assert declared.extensions == {TASKS_EXTENSION: {}}
