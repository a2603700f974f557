"""`traceparent` is read as W3C says."""

import pytest

from mcp_progress_monitor.protocol.trace_context import (
    TraceContext,
    parse_traceparent,
    traceparent_of,
)

_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_VALID = f"00-{_TRACE}-{_SPAN}-01"


def test_a_valid_context_is_read_and_written_again() -> None:
    context = parse_traceparent(_VALID)
    assert context == TraceContext(int(_TRACE, 16), int(_SPAN, 16), 1)
    assert context.traceparent == _VALID


def test_the_first_fields_of_a_future_version_are_read() -> None:
    context = parse_traceparent(f"cc-{_TRACE}-{_SPAN}-03-what-comes")
    assert context is not None
    assert context.traceparent == _VALID


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "",
        f"ff-{_TRACE}-{_SPAN}-01",
        f"00-{_TRACE}-{_SPAN}-01-more",
        f"00-{_TRACE}-{_SPAN}-01\n",
        f"00-{_TRACE.upper()}-{_SPAN}-01",
        f"00-{'0' * 32}-{_SPAN}-01",
        f"00-{_TRACE}-{'0' * 16}-01",
        f"00-{_TRACE[1:]}-{_SPAN}-01",
        f"cc-{_TRACE}-{_SPAN}-01.more",
        f"cc-{_TRACE}-{_SPAN}-01-{'a' * 100_000}",
    ],
)
def test_an_invalid_context_is_ignored(value: object) -> None:
    assert parse_traceparent(value) is None
    assert traceparent_of({"_meta": {"traceparent": value}}) is None
    assert traceparent_of({"_meta": value}) is None
