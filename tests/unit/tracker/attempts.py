"""Short ways to tell of attempts: a call that becomes resumable, and one that goes on with it."""

from typing import Any

from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.tracker.story import Story

PARAMS: dict[str, Any] = {"name": "export", "arguments": {"rows": 3}}
_FIRST = "t1"


def saving() -> Story:
    """A story whose tokens have to be saved before jobs are shown as resumable."""
    return Story(Tracker(saves=True))


def resumable(story: Story, newest: str = _FIRST, **options: Any) -> int:
    """A call that was answered with a token; its request."""
    request = story.call(**options)
    story.tick(request, 40, 100, "first half")
    story.now += 1
    story.reply(request, token=newest)
    return request


def resumed(story: Story, newest: str = _FIRST, **options: Any) -> int:
    """A further attempt; its request."""
    story.now += 100
    return story.call(resume=newest, params={**PARAMS, "_meta": {"resumeToken": newest}}, **options)
