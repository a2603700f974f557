"""The options of commands that make requests: tokens, limits of time, resuming, answers, logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcp_progress_monitor.cli.options import Seconds
from mcp_progress_monitor.sessions.limits import LONGEST_LIMIT_S, OTHER_IDLE_S
from mcp_progress_monitor.sessions.log_levels import LOG_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

_AUTO_RESUME = click.option(
    "--auto-resume",
    is_flag=True,
    help="Resume at once, and again, for as long as the server hands out tokens.",
)
resume_limit = click.option(
    "--resume-limit",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="With --auto-resume: stop after N automatic attempts (default 100).",
)
answer = click.option(
    "--answer",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answer the server's questions from this JSON file (see: call --help). What it does not"
    " answer goes by the rules set for the server in the window; what those leave open is asked on"
    " a terminal, and declined without one or with --json.",
)
server_log = click.option(
    "--server-log",
    type=click.Choice(LOG_LEVELS, case_sensitive=False),
    metavar="LEVEL",
    help="Ask the server for its log messages from LEVEL on, and show them: "
    f"{', '.join(LOG_LEVELS)}. (--log-level is about this program.)",
)
json_events = click.option("--json", "as_json", is_flag=True, help="Write one JSON event per line.")
_TOKENS = (
    click.option("--token", metavar="TEXT", help="Send this text as the progress token."),
    click.option("--int-token", type=int, metavar="N", help="Send this integer as progress token."),
    click.option("--no-token", is_flag=True, help="Send no progress token."),
)


def limits(idle_s: float) -> Callable[[Any], Any]:
    """Add the two limits of time; `idle_s` is the usual idle limit."""
    return _all(
        click.option(
            "--idle-timeout",
            type=Seconds(min=0, max=LONGEST_LIMIT_S),
            metavar="S",
            help=f"Give up after S seconds without a message that belongs to it (default"
            f" {idle_s:g}, or idle_timeout_s of the server in --config; 0 never does).",
        ),
        click.option(
            "--total-timeout",
            type=Seconds(min=0, max=LONGEST_LIMIT_S),
            metavar="S",
            help="Give up S seconds after the start (default 0: never, or total_timeout_s of the"
            " server in --config).",
        ),
    )


def request_options(idle_s: float = OTHER_IDLE_S) -> Callable[[Any], Any]:
    """Add what every command has that makes requests: the fields of `RequestOrder`."""
    return _all(
        *_TOKENS, limits(idle_s), _AUTO_RESUME, resume_limit, answer, server_log, json_events
    )


def _all(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
