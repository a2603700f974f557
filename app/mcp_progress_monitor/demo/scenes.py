"""The calls that `--demo` starts, as plain data, so that a front end needs no server code.

Chosen so that a screenshot after five seconds shows a finished job, a failed one, one that violates
a rule, bars of different speeds, and some without a total; the longest run some minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class DemoCall:
    """One `tools/call` to start: the tool's name and its arguments."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


DEMO_CALLS: Final[tuple[DemoCall, ...]] = (
    DemoCall("phases"),
    DemoCall("download", {"megabytes": 1_400, "megabytes_per_s": 5.5}),
    DemoCall("worker", {"name": "Indexer", "items": 240, "items_per_s": 12, "unit": "documents"}),
    DemoCall("worker", {"name": "Thumbnails", "items": 40, "items_per_s": 12, "unit": "pictures"}),
    DemoCall("worker", {"name": "Archivist", "items": 300, "items_per_s": 2.5, "unit": "boxes"}),
    DemoCall("unknown_total", {"steps": 900, "interval_s": 0.2}),
    DemoCall("fraction", {"steps": 60, "interval_s": 0.4}),
    DemoCall("stall", {"before": 12, "silence_s": 45, "after": 20, "interval_s": 0.2}),
    DemoCall("error_result", {"at_tick": 7, "steps": 12, "interval_s": 0.4}),
    DemoCall("decreasing", {"steps": 240, "every": 9, "interval_s": 0.35}),
)
"""Ten calls to start together."""
