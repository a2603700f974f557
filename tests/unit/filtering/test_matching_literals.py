"""What every match of a pattern has in it: never wrong, and found where it can be."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.filtering.matching import required
from tests.unit.filtering.logs import Log

_PARTS = st.sampled_from(
    ["ab", "c", "(?:ab|c)", "(bc)", "(ab)?", "(bc)+", "a*", "b{2}", "b{0,1}", "[ab]c", ".", "|ab"]
)


@given(st.lists(_PARTS, max_size=6).map("".join), st.text("abc", max_size=10))
def test_what_matches_has_it(pattern: str, text: str) -> None:
    if regex.search(pattern, text):
        assert required(pattern) in text.encode()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("checksum mism.*", b"checksum mism"),
        (r"\d+ rows? (copied|moved)", b" row"),
        ("(time(d )?out)+", b"time"),
        ("(?:über)", "über".encode()),
        ("a|bcd", b""),
        ("x", b""),
        ("(?i)error", b""),
        ("(?:error){e<=1}", b""),
        ("(?=abc)", b""),
        (r"\p{Lu}abc", b""),
        ("(abc", b""),
        ("ab\ud800", b""),
    ],
)
def test_it_is_reported_where_it_is_sure(pattern: str, found: bytes) -> None:
    assert required(pattern) == found


def test_messages_without_it_are_not_searched_and_others_are() -> None:
    log = Log()
    log.receive(b"the checksum mismatch of \xff", b"checksum", b"a mismatch")
    assert log.found('text matches "checksum mis[a-z]+ of"') == [0]
    search = log.search('text matches "(a|aa)+checksum$"')
    assert search.run(1.0) == []
    assert search.timed_out == 0
