"""Ids of spans are chosen at random, or the same each time."""

from mcp_progress_monitor.protocol.trace_context import TraceContext
from mcp_progress_monitor.telemetry.span_ids import SpanIds


def test_a_recordings_spans_have_the_same_ids_each_time() -> None:
    parent = TraceContext(1, 2, 0)
    assert SpanIds("a").span("1", parent) == SpanIds("a").span("1", parent)
    assert SpanIds("a").span("1") != SpanIds("b").span("1")
    assert SpanIds().span("1") != SpanIds().span("1")
    assert SpanIds().span("1", parent)[::2] == (1, 0)
