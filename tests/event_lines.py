"""Reads what `--json` wrote, and holds each event against its model."""

import json
import re
from typing import Any

from mcp_progress_monitor.cli.output.event_models import EVENT

_HALF = re.compile(r"\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]..", re.IGNORECASE)


def read_events(text: str) -> list[dict[str, Any]]:
    """The events as objects; fails for one that its published schema does not describe."""
    lines = text.splitlines()
    for line in lines:
        # A server may send half of a surrogate pair, which pydantic's parser refuses.
        event = EVENT.validate_json(_HALF.sub("?", line))
        assert not event.model_extra, f"not in its model: {event.model_extra}"
    return [json.loads(line) for line in lines]
