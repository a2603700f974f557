"""The command line of the demo server, and the profiles that are sets of its options."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.demo.eras import ERAS

_LINGER_S: Final = 600.0
_DAY_S: Final = 86_400

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
    "unacknowledged": {"acknowledges": False},
}
"""Name of each profile and the options it sets; one given on the command line wins over it."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the server behaves as a whole. What single tools do wrong is up to their arguments."""

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
    acknowledges: bool = True
    state_dir: Path | None = None

    @property
    def versions(self) -> tuple[str, ...]:
        """The protocol revisions to serve, oldest first."""
        wanted = self.protocol_versions or ERAS["both"]
        return tuple(version for version in ERAS[self.era] if version in wanted)


def default_state_dir() -> Path:
    """Where work is kept that can be gone on with, unless `--state-dir` says otherwise."""
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    home = configured if configured.is_absolute() else Path.home() / ".local" / "state"
    return home / "mcp-progress-demo"


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Return the options of a command line, that of the process by default.

    Exits with code 2 and a message on stderr when they make no sense together.
    """
    parser = _parser()
    profile = parser.parse_known_args(arguments)[0].profile
    parser.set_defaults(**PROFILES[profile])
    given = vars(parser.parse_args(arguments))
    options = Options(**{name: _frozen(value) for name, value in given.items()})
    if not options.versions:
        names = ", ".join(options.protocol_versions)
        parser.error(f"--era {options.era} has no revision {names}")
    return options


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m app.demo",
        description="An MCP server on stdio that shows every way of reporting progress.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--profile", choices=PROFILES, default="polite", help="how to misbehave")
    _add_protocol_options(parser)
    _add_life_options(parser)
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
        help="want one argument more of every tool once one was called",
    )
    add("--no-tasks", dest="offers_tasks", action="store_false", help="know no tasks at all")
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
        help="never answer requests for this method; may be given several times",
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
    add("--ignore-eof", dest="ignores_eof", action="store_true", help="outlive a closed stdin")
    add("--ignore-sigterm", dest="ignores_sigterm", action="store_true", help="outlive a SIGTERM")
    add(
        "--linger",
        dest="linger_s",
        type=_seconds,
        metavar="S",
        help="how long to outlive a closed stdin (default: 600)",
    )
    add(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help="where resumable work and tasks are kept (default: a folder of the user's, no tasks)",
    )
    add("--exit-code", type=int, metavar="N", help="exit code of the profile exit (default: 3)")


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
