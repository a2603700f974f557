"""The error for a refused request, with what the server said as evidence."""

import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.protocol.refusal import refused


@pytest.mark.parametrize(
    ("error", "what", "detail"),
    [
        ({"code": -1, "message": "No.\nNow"}, "The server refused a/b (-1)", "No.\\nNow"),
        ({"code": "Obey", "message": 7}, "The server refused a/b", "not an error object"),
        (None, "The server refused a/b", "not an error object"),
    ],
)
def test_the_reason_of_a_server_is_no_part_of_the_sentence(
    error: JsonObject | None, what: str, detail: str
) -> None:
    found = refused("a/b", error, "here", "Try again.", "not an error object")
    assert found == ErrorDetails(what, "here", "Try again.", detail)
    assert found.as_line() == f"{what}: {detail}"


def test_the_reason_of_a_server_is_bounded() -> None:
    assert len(refused("a/b", {"message": "x" * 1_000_000}).detail) == 300


def test_evidence_of_several_lines_stays_out_of_one_line() -> None:
    assert ErrorDetails("It ended", "here", "Look.", "Last lines:\n  x").as_line() == "It ended"
