"""Limits as they are typed."""

import pytest

from mcp_progress_monitor.gui.common.typed_input import JsonInputError, limit_text, read_limit
from mcp_progress_monitor.snapshots.limits import LONGEST_LIMIT_S, USUAL, LimitChoice


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("", USUAL),
        ("  ", USUAL),
        ("0", None),
        ("0.0", None),
        ("-0", None),
        ("off", None),
        (" OFF ", None),
        ("90", 90.0),
        (" 2.5 ", 2.5),
        ("1e3", 1000.0),
        ("90 s", 90.0),
        ("30 min", 1800.0),
        ("5m", 300.0),
        ("1.5 H", 5400.0),
        ("0 s", None),
        ("86400000", LONGEST_LIMIT_S),
    ],
)
def test_a_limit_is_seconds_off_or_the_usual_one(text: str, limit: LimitChoice) -> None:
    assert read_limit(text) == limit


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1800, "30 min"), (60, "1 min"), (90, "90 s"), (7200, "2 h"), (2.5, "2.5 s"), (0, "0")],
)
def test_a_limit_is_written_as_it_is_read(seconds: float, text: str) -> None:
    assert limit_text(seconds) == text
    assert read_limit(text) == (seconds or None)


@pytest.mark.parametrize(
    "text", ["-1", "-0.1", "NaN", "Infinity", "1e300", "86400001", "9" * 400, "true", "soon", "1 2"]
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(JsonInputError):
        read_limit(text)
