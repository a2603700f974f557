"""Which job a resume token means, and whether its request was changed."""

from mcp_progress_monitor.findings import rules
from tests.unit.tracker.attempts import PARAMS, resumable
from tests.unit.tracker.story import Story


def test_a_resumed_request_that_differs_is_marked() -> None:
    story = Story()
    resumable(story)
    request = story.call(resume="t1", params={"name": "export", "arguments": {"rows": 4}})
    assert story.job(request).attempt_count == 2
    assert story.marks(request) == {rules.REQUEST_CHANGED.kind: 1}


def test_stamps_and_the_token_are_no_difference() -> None:
    story = Story()
    resumable(story)
    meta = {"resumeToken": "t1", "io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    request = story.call(resume="t1", params={**PARAMS, "_meta": meta})
    assert story.marks(request) == {}


def test_another_trace_is_no_difference_but_another_key_is() -> None:
    story = Story()
    trace = {"traceparent": "00-ab-cd-01", "tracestate": "a=1", "baggage": "b=2"}
    first = story.call(params={**PARAMS, "_meta": {"kept": 1, **trace}})
    story.reply(first, token="t1")
    other = {"traceparent": "00-ef-01-00", "kept": 1, "resumeToken": "t1"}
    again = story.call(resume="t1", params={**PARAMS, "_meta": other})
    assert story.marks(again) == {}
    story.reply(again, token="t2")
    changed = {**other, "kept": 2, "resumeToken": "t2"}
    last = story.call(resume="t2", params={**PARAMS, "_meta": changed})
    assert story.marks(last) == {rules.REQUEST_CHANGED.kind: 1}


def test_a_constant_token_of_many_jobs_finds_each_by_its_parameters() -> None:
    story = Story()
    others = [{"name": "export", "arguments": {"rows": rows}} for rows in (1, 2, 3)]
    for params in others:
        request = story.call(params=params)
        story.reply(request, token="t")
    request = story.call(resume="t", params={**others[1], "_meta": {"resumeToken": "t"}})
    assert story.job(request).id == 2
    unknown = story.call(resume="t", params={"name": "export", "arguments": {"rows": 9}})
    assert story.job(unknown).id == 4
