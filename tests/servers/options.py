"""The command-line options of the test server, and the profiles that preset them."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mcp_progress_monitor.demo.eras import ERAS

_LINGER_S: Final = 600.0
_DAY_S: Final = 86_400
_LAST_PORT: Final = 65_535
_FIRST_ERROR: Final = 400
_LAST_ERROR: Final = 599

_EXAMPLES: Final = """\
examples:
  python -m tests.servers
      on stdio, both eras
  python -m tests.servers --http 8123
      at http://127.0.0.1:8123/mcp
  python -m tests.servers --http 8123 --resumable --break-after 5 --retry 500
      cuts each call once; it continues with Last-Event-ID
  python -m tests.servers --http 8123 --resumable --state-dir STATE
      continues calls after it was killed and restarted
  python -m tests.servers --http 8123 --reply batch
      sends all progress together with the result
  python -m tests.servers --http 8123 --bearer secret
      requires the header "Authorization: Bearer secret"
  python -m tests.servers --http 8123 --oauth --token-lifetime 30
      requires a sign-in, and soon another token
  python -m tests.servers --http 8123 --fail 503 --fail-times 2 --retry-after 1
      is overloaded twice
  python -m tests.servers --http 8123 --sse
      at http://127.0.0.1:8123/sse, the transport of 2024-11-05
"""

PROFILES: Final[dict[str, dict[str, Any]]] = {
    "polite": {},
    "silent": {},
    "exit": {},
    "rubbish": {},
    "wrong-version": {"era": "handshake", "answered_version": "3000-01-01"},
    "old-and-silent": {"era": "handshake", "ignored_methods": ("server/discover",)},
    "stubborn": {"ignores_eof": True, "ignores_sigterm": True},
    "slow-start": {"start_delay_s": 5.0},
    "slow-shutdown": {"shutdown_delay_s": 3.0},
    "changing-tools": {"changes_tools": True},
    "no-tasks": {"offers_tasks": False},
    "events": {"offers_events": True},
    "unacknowledged": {"acknowledges": False},
}
"""The options that each profile presets; those on the command line take precedence."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the whole server. The faults of single tools depend on their arguments."""

    profile: str = "polite"
    era: str = "both"
    protocol_versions: tuple[str, ...] = ()
    answered_version: str | None = None
    page_size: int = 0
    ignored_methods: tuple[str, ...] = ()
    start_delay_s: float = 0.0
    shutdown_delay_s: float = 0.0
    ignores_eof: bool = False
    ignores_sigterm: bool = False
    linger_s: float = _LINGER_S
    exit_code: int = 3
    changes_tools: bool = False
    offers_tasks: bool = True
    offers_events: bool = False
    acknowledges: bool = True
    state_dir: Path | None = None
    http: int | None = None
    sse: bool = False
    reply: str = "sse"
    late_batch: bool = False
    is_resumable: bool = False
    break_after: int = 0
    retry_ms: int | None = None
    bearer: str | None = None
    oauth: bool = False
    oauth_denies: bool = False
    token_lifetime_s: float = 3_600.0
    fail: int = 0
    fail_after: int = 0
    fail_times: int = 1
    retry_after_s: float | None = None
    redirect: str | None = None
    endless: str | None = None
    huge: int = 0
    tls: tuple[Path, ...] = ()
    no_mcp: bool = False

    @property
    def versions(self) -> tuple[str, ...]:
        """The protocol revisions to serve, oldest first."""
        wanted = self.protocol_versions or ERAS["both"]
        return tuple(version for version in ERAS[self.era] if version in wanted)


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Return the options of a command line, by default that of the process.

    Exits with code 2 and a message on stderr if they contradict each other.
    """
    parser = _parser()
    profile = parser.parse_known_args(arguments)[0].profile
    parser.set_defaults(**PROFILES[profile])
    given = vars(parser.parse_args(arguments))
    options = Options(**{name: _frozen(value) for name, value in given.items()})
    if options.sse and options.http is None:
        options = replace(options, http=0)
    if options.late_batch:
        options = replace(options, reply="batch")
    if not options.versions:
        names = ", ".join(options.protocol_versions)
        parser.error(f"--era {options.era} has no revision {names}")
    return options


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers",
        description="An MCP server with every way of reporting progress, on stdio or HTTP.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--profile", choices=PROFILES, default="polite", help="preset options")
    _add_protocol_options(parser)
    _add_life_options(parser)
    _add_http_options(parser.add_argument_group("over HTTP"))
    _add_fault_options(parser.add_argument_group("faults over HTTP"))
    _add_access_options(parser.add_argument_group("access control over HTTP"))
    return parser


def _add_protocol_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--era", choices=ERAS, help="which revisions to serve (default: both)")
    add(
        "--protocol-version",
        dest="protocol_versions",
        metavar="V",
        action="append",
        choices=ERAS["both"],
        help="serve only this revision; may be given several times",
    )
    add("--page-size", type=_count, metavar="N", help="list N tools or tasks at a time")
    add(
        "--change-tools",
        dest="changes_tools",
        action="store_true",
        help="after the first call, require another argument for every tool",
    )
    add("--no-tasks", dest="offers_tasks", action="store_false", help="do not support tasks")
    add(
        "--no-acknowledgement",
        dest="acknowledges",
        action="store_false",
        help="never acknowledge a subscriptions/listen",
    )
    add(
        "--ignore-method",
        dest="ignored_methods",
        metavar="NAME",
        action="append",
        help="never reply to requests for this method; may be given several times",
    )


def _add_life_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--start-delay", dest="start_delay_s", type=_seconds, metavar="S", help="start late")
    add(
        "--shutdown-delay",
        dest="shutdown_delay_s",
        type=_seconds,
        metavar="S",
        help="take S seconds to end when stdin is closed",
    )
    add("--ignore-eof", dest="ignores_eof", action="store_true", help="keep running at EOF")
    add("--ignore-sigterm", dest="ignores_sigterm", action="store_true", help="ignore SIGTERM")
    add(
        "--linger",
        dest="linger_s",
        type=_seconds,
        metavar="S",
        help="how long to keep running after EOF (default: 600)",
    )
    add(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help="where to save resumable work and tasks (default: a user folder, without tasks)",
    )
    add("--exit-code", type=int, metavar="N", help="exit code of the profile exit (default: 3)")


def _add_http_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--http",
        type=_port,
        nargs="?",
        const=0,
        metavar="PORT",
        help="serve Streamable HTTP on this port of 127.0.0.1 (default: any free port); "
        "the URL is printed to stderr",
    )
    add("--sse", action="store_true", help="serve the older HTTP+SSE transport of 2024-11-05")
    add(
        "--reply",
        choices=("sse", "json", "batch"),
        help="reply with an event stream (default), one JSON value, or a JSON array of all "
        "progress and the result",
    )
    add(
        "--late-batch",
        action="store_true",
        help="reply in batches, and hold some progress back for the next reply",
    )
    add(
        "--resumable",
        dest="is_resumable",
        action="store_true",
        help="number events, and replay missed ones to a GET with Last-Event-ID; with --state-dir "
        "sessions, events and running calls of progress tools outlive the process",
    )
    add("--retry", dest="retry_ms", type=_count, metavar="MS", help="the retry time of streams")
    add(
        "--tls",
        type=Path,
        nargs=2,
        metavar=("CERT", "KEY"),
        help="serve https with these PEM files",
    )


def _add_fault_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--break-after",
        type=_count,
        metavar="N",
        help="cut the connection of each call after N events, once",
    )
    add("--fail", type=_status, metavar="STATUS", help="reply with this status, e.g. 503 or 429")
    add("--fail-after", type=_count, metavar="N", help="serve N requests before")
    add("--fail-times", type=_count, metavar="N", help="how often; 0 for always (default: 1)")
    add("--retry-after", dest="retry_after_s", type=_seconds, metavar="S", help="when to retry")
    add("--redirect", metavar="URL", help="redirect everything to this address")
    add(
        "--endless",
        nargs="?",
        const="comments",
        choices=("comments", "event"),
        help="reply to calls with endless comments, or with one endless event",
    )
    add("--huge", type=_count, metavar="BYTES", help="reply to calls with one event of this size")
    add("--no-mcp", action="store_true", help="serve a web page for every request")


def _add_access_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--bearer", metavar="TOKEN", help="require this token in the header Authorization")
    add("--oauth", action="store_true", help="require a token of the built-in OAuth server")
    add("--oauth-deny", dest="oauth_denies", action="store_true", help="deny all sign-ins")
    add(
        "--token-lifetime",
        dest="token_lifetime_s",
        type=_seconds,
        metavar="S",
        help="the lifetime of its tokens (default: 3600)",
    )


def _port(text: str) -> int:
    value = _count(text)
    if value > _LAST_PORT:
        raise ValueError(text)
    return value


def _status(text: str) -> int:
    value = int(text)
    if not _FIRST_ERROR <= value <= _LAST_ERROR:
        raise ValueError(text)
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value <= _DAY_S:
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value
