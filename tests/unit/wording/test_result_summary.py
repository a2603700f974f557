"""A result in one line."""

from typing import Any

import pytest

from mcp_progress_monitor.wording.result_summary import result_summary

IMAGE = {"type": "image", "data": "A" * 137_336, "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"tools": [{}] * 319}, "319 tools"),
        ({"tools": [{}], "nextCursor": "p2"}, "1 tool and more"),
        ({"resourceTemplates": []}, "0 resource templates"),
        ({"messages": [{}, {}], "description": "x"}, "2 messages"),
        ({"content": [IMAGE]}, "image 103.0 kB"),
        ({"content": [{"type": "text", "text": "a\nb"}, IMAGE]}, "a\\nb, image 103.0 kB"),
        ({"content": [{"type": "audio", "data": "AAAA"}]}, "audio 3 B"),
        ({"content": [{"type": "text", "text": "No disk"}], "isError": True}, "isError: No disk"),
        ({"content": [{"type": "resource_link", "uri": "file:///a"}]}, "link file:///a"),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x:", "blob": "AAAA"}}]},
            "data 3 B",
        ),
        (
            {"contents": [{"uri": "x:", "blob": "AAAA", "mimeType": "image/png"}, {"text": "b"}]},
            "image 3 B, b",
        ),
        ({"content": [{"type": "text", "text": "t"}] * 6}, "t, t, t, t, 2 more"),
        ({"content": {"type": "text", "text": "one"}, "model": "m"}, "one"),
        ({"content": [7, {"type": "new"}]}, '7, {"type": "new"}'),
        (
            {"protocolVersion": "2025-06-18", "serverInfo": {"name": "shop", "version": "1.2"}},
            "shop 1.2 2025-06-18",
        ),
        ({"content": [], "structuredContent": {"a": 1}}, ""),
        ({"tools": 7}, ""),
        ({}, ""),
    ],
)
def test_a_result_is_summed_up(result: dict[str, Any], text: str) -> None:
    assert result_summary(result, 400) == text
