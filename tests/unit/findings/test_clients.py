"""Known clients and how long they wait: the most impatient are named first."""

import re

from mcp_progress_monitor.findings.clients import AS_OF, LIMITS, USUAL_S, that_give_up


def test_every_limit_is_dated_and_has_a_source() -> None:
    assert all(re.fullmatch(r"20\d\d-\d\d", each.seen) for each in LIMITS)
    assert max(each.seen for each in LIMITS) <= AS_OF
    assert all(each.source for each in LIMITS)
    assert [each.limit_s for each in LIMITS] == sorted(each.limit_s for each in LIMITS)


def test_silence_within_the_usual_limit_loses_no_client() -> None:
    assert that_give_up(USUAL_S, is_http=False) == ()
    assert that_give_up(1.0, is_http=True) == ()


def test_a_limit_of_one_transport_says_nothing_of_the_other() -> None:
    over_http = {each.client for each in that_give_up(301, is_http=True)}
    over_stdio = {each.client for each in that_give_up(301, is_http=False)}
    assert "Claude Code" in over_http
    assert "Claude Code" not in over_stdio
    assert "Claude Code" in {each.client for each in that_give_up(1801, is_http=False)}
