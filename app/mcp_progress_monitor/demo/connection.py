"""What all calls of one client share."""

from dataclasses import dataclass, field
from pathlib import Path

from mcp_progress_monitor.demo.logs import LogLevel
from mcp_progress_monitor.demo.news import News
from mcp_progress_monitor.demo.questions import Questions
from mcp_progress_monitor.demo.rounds import Rounds
from mcp_progress_monitor.demo.wire import Wire


@dataclass(frozen=True, slots=True)
class Connection:
    """One client, and what is remembered of it."""

    wire: Wire
    questions: Questions
    news: News
    state_dir: Path
    rounds: Rounds = field(default_factory=Rounds)
    log_level: LogLevel = field(default_factory=LogLevel)
    extras: set[str] = field(default_factory=set)
    """The lists (`tools`, `resources`, `prompts`) that have one entry more just now."""
    counts: dict[str, int] = field(default_factory=dict)
    """How often each resource was updated, by address."""
