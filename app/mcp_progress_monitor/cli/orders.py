"""The options of each command as typed, checked for contradictions but not resolved.

Loaded when one of these commands runs. The classes are neither comparable nor frozen: generating
those methods would take two thirds of the time to load this module.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.cli.options import DELAY_ALONE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcp_progress_monitor.cli.options import SavedId
    from mcp_progress_monitor.engine.call import AutoResume
    from mcp_progress_monitor.snapshots.limits import LogLevel


@dataclasses.dataclass(kw_only=True, eq=False)
class WaitOrder:
    """The options of every command that waits for jobs, as typed.

    `server_log` is the level of log messages to ask the server for. A usage error for options that
    contradict each other, here and below.
    """

    auto_resume: bool = False
    resume_limit: int | None = None
    answer: Path | None = None
    server_log: LogLevel | None = None
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.resume_limit is not None and not self.auto_resume:
            raise click.UsageError("--resume-limit needs --auto-resume.")

    @property
    def automatic(self) -> AutoResume | None:
        """The settings of automatic resuming; None without `--auto-resume`."""
        from mcp_progress_monitor.engine.call import AutoResume

        if not self.auto_resume:
            return None
        return AutoResume() if self.resume_limit is None else AutoResume(limit=self.resume_limit)


@dataclasses.dataclass(kw_only=True, eq=False)
class RequestOrder(WaitOrder):
    """The options of every command that makes requests and waits for them, as typed.

    Times in seconds; 0 means no limit, None that of the server or the usual one.
    """

    token: str | None = None
    int_token: int | None = None
    no_token: bool = False
    idle_timeout: float | None = None
    total_timeout: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = [self.token is not None, self.int_token is not None, self.no_token]
        if sum(chosen) > 1:
            raise click.UsageError("Use only one of --token, --int-token and --no-token.")
        _check_texts(vars(self).values())


@dataclasses.dataclass(kw_only=True, eq=False)
class CallOrder(RequestOrder):
    """The options of one `call` command, as typed.

    `pairs` are the `--arg NAME=VALUE`s, `document` the text of `--args`. With `is_unlisted` the
    tool need not be in the server's list; with `no_validate` its schema may be broken.
    """

    tool: str
    pairs: tuple[tuple[str, str], ...] = ()
    document: str | None = None
    as_task: bool = False
    repeat: int = 1
    is_unlisted: bool = False
    no_validate: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeat > 1 and (self.token is not None or self.int_token is not None):
            raise click.UsageError(
                "--repeat cannot be used with --token or --int-token: concurrent calls need"
                " different tokens, which are generated without these options."
            )
        _check_pairs(self.pairs, "To pass a list, use {name}='[1, 2]'.")


@dataclasses.dataclass(kw_only=True, eq=False)
class ReadOrder(RequestOrder):
    """The options of one `read` command, as typed; `output` is the file to write to."""

    uri: str
    output: Path | None = None


@dataclasses.dataclass(kw_only=True, eq=False)
class PromptOrder(RequestOrder):
    """The options of one `prompt` command, as typed; `pairs` are the `--arg NAME=VALUE`s."""

    name: str
    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_pairs(self.pairs, "A prompt argument has a single value.")


@dataclasses.dataclass(kw_only=True, eq=False)
class RawOrder(RequestOrder):
    """The options of one `request` command, as typed; `params` is the text of `--params`."""

    method: str
    params: str | None = None


@dataclasses.dataclass(kw_only=True, eq=False)
class TaskOrder(RequestOrder):
    """The options of a command about one task of a server, as typed."""

    task: str


@dataclasses.dataclass(kw_only=True, eq=False)
class ResumeOrder(WaitOrder):
    """The options of one `resume` command, as typed; `ids` name saved jobs."""

    ids: tuple[SavedId, ...] = ()
    is_list: bool = False

    def __post_init__(self) -> None:
        if self.is_list and (self.ids or self.auto_resume or self.answer):
            raise click.UsageError("--list cannot be used with IDs, --auto-resume or --answers.")
        super().__post_init__()


@dataclasses.dataclass(eq=False)
class OpenOrder:
    """The options of one `open` command, as typed; times in seconds."""

    file: Path
    speed: str = "max"
    filter_text: str = ""
    follow: bool = False
    screenshot: Path | None = None
    after: float | None = None

    @property
    def times_faster(self) -> float | None:
        """The replay speed relative to the original; None for everything at once."""
        return None if self.speed == "max" else float(self.speed)

    @property
    def after_s(self) -> float:
        return 5.0 if self.after is None else self.after

    def __post_init__(self) -> None:
        if self.after is not None and self.screenshot is None:
            raise click.UsageError(DELAY_ALONE)
        if self.is_stdin and not self.follow:
            raise click.UsageError("Standard input is only read with --follow.")

    @property
    def is_stdin(self) -> bool:
        return str(self.file) == "-"


def _check_texts(values: Iterable[object]) -> None:
    """Refuse bytes that are not UTF-8, which Python reads as halves of surrogate pairs."""
    for value in values:
        if isinstance(value, tuple):
            _check_texts(value)
        elif isinstance(value, str) and not value.startswith("@"):  # the name of a file
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise click.UsageError(f"{value!a} is not valid UTF-8.") from error


def _check_pairs(pairs: tuple[tuple[str, str], ...], advice: str) -> None:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"--arg {name} is repeated. {advice.format(name=name)}")
