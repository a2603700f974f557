"""Reads what `--json` wrote, and holds each event against its model."""

from __future__ import annotations

import json
from typing import Any

from mcp_progress_monitor.cli.output.event_models import EVENT


def read_events(text: str) -> list[dict[str, Any]]:
    """The events as objects; fails for one that its published schema does not describe."""
    lines = text.splitlines()
    for line in lines:
        event = EVENT.validate_json(line)
        assert not event.model_extra, f"not in its model: {event.model_extra}"
    return [json.loads(line) for line in lines]
