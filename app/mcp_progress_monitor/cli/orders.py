"""The options of each command: what click reads, its help, and the field that has the value.

Loaded by `--help`. Contradictions are usage errors; nothing is resolved.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mcp_progress_monitor.catalogue.clients import FORMS, KNOWN
from mcp_progress_monitor.cli.declared_options import Order, argument, option
from mcp_progress_monitor.cli.options import (
    A_PATH,
    RenamedOption,
    SavedId,
    Seconds,
    name_values,
    saved_ids,
)
from mcp_progress_monitor.snapshots.limits import (
    LOG_LEVELS,
    LONGEST_LIMIT_S,
    OTHER_IDLE_S,
    TOOL_IDLE_S,
    LogLevel,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.engine.call import AutoResume
    from mcp_progress_monitor.findings.finding import Level


def _file_or_standard(
    _ctx: click.Context, _param: click.Parameter, file: Path | None
) -> Path | None:
    """None, which means standard output, for a dash."""
    return None if file == Path("-") else file


OUTPUT: Final = option(
    "-o",
    "--output",
    type=A_PATH,
    callback=_file_or_standard,
    metavar="FILE",
    help="Write to FILE instead of standard output (-).",
)


REPORT_FORMS: Final = ("text", "json", "sarif", "junit", "markdown", "github")


def _report_files(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, Path], ...]:
    """Split every `FORMAT=FILE`."""
    pairs = [value.partition("=") for value in values]
    for text, (form, _, file) in zip(values, pairs, strict=True):
        if form not in REPORT_FORMS or not file:
            known = ", ".join(REPORT_FORMS)
            message = f"{text!r} is not FORMAT=FILE with one of the formats {known}."
            raise click.BadParameter(message, ctx, param)
    return tuple((form, Path(file)) for form, _, file in pairs)


def _idle_timeout(idle_s: float) -> Any:
    return option(
        "--idle-timeout",
        type=Seconds(min=0, max=LONGEST_LIMIT_S),
        metavar="SECONDS",
        help=f"Time out after this long without a message for the request (default {idle_s:g},"
        " or idle_timeout_s of the server in --config; 0 disables the limit).",
    )


_OTEL: Final = option(
    "--otel",
    is_flag=True,
    help="Send telemetry to an OpenTelemetry collector while jobs run, as the OTEL_… variables say"
    " (default http://localhost:4318).",
)


class ListOrder(Order):
    """The options of a command that lists something."""

    as_json: bool = option("--json", is_flag=True, help="Write one JSON document.")


class WindowOrder(Order):
    """The options of a command that opens a window; times in seconds."""

    screenshot: Path | None = option(
        "--screenshot",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Save a screenshot of the window to FILE (PNG) and quit.",
    )
    after: float | None = option(
        "--screenshot-delay",
        "--after",
        cls=RenamedOption,
        type=Seconds(min=0),
        metavar="SECONDS",
        help="Wait this long before taking the screenshot (default 5).",
    )

    @property
    def after_s(self) -> float:
        return 5.0 if self.after is None else self.after

    def check(self) -> None:
        if self.after is not None and self.screenshot is None:
            raise click.UsageError("--screenshot-delay needs --screenshot FILE.")


class _StartMode(Order):
    is_safe: bool = option(
        "--safe-mode",
        is_flag=True,
        help="Open the window without connecting servers or watching other clients, with the"
        " default layout. Use it if the window does not open normally.",
    )
    resets_layout: bool = option("--reset-layout", is_flag=True, help="Reset the window's layout.")
    otel: bool = _OTEL


class ProgramOrder(WindowOrder, _StartMode):
    """The options of the program without a command."""


_SPEED: Final = click.Choice(("1", "10", "100", "max"))


class OpenOrder(WindowOrder):
    """The options of `open`."""

    file: Path = argument(type=A_PATH)
    speed: str = option(
        "--speed",
        type=_SPEED,
        default="max",
        help="Replay at the original speed, 10 or 100 times faster, or show everything at once"
        " (max, the default).",
    )
    filter_text: str = option(
        "--filter", metavar="TEXT", default="", help="Filter the Traffic pane by this expression."
    )
    follow: bool = option(
        "--follow", is_flag=True, help="Follow FILE as it grows; - reads standard input."
    )

    @property
    def times_faster(self) -> float | None:
        """The replay speed relative to the original; None for everything at once."""
        return None if self.speed == "max" else float(self.speed)

    @property
    def is_stdin(self) -> bool:
        return str(self.file) == "-"

    def check(self) -> None:
        super().check()
        if self.is_stdin and not self.follow:
            raise click.UsageError("Standard input is only read with --follow.")


class WatchOrder(Order):
    """The options of `watch`."""

    file: Path | None = argument(type=A_PATH, required=False)
    otel: bool = _OTEL
    as_json: bool = option("--json", is_flag=True, help="Write one JSON event per line.")
    otlp: str | None = option(
        "--otlp",
        metavar="ADDRESS",
        help="Listen on ADDRESS, such as 127.0.0.1:4318, and record the MCP calls in what clients "
        "and servers send there by OpenTelemetry (OTLP over HTTP).",
    )


class StreamOrder(Order):
    """The options of `tap stream`."""

    folder: Path | None = argument(metavar="[DIR]", type=A_PATH, required=False)
    reads_marks: bool = option(
        "--marks",
        is_flag=True,
        help="Read from standard input what the reader already has, and leave it out: lines #from"
        " and #now of an earlier stream, up to an empty line.",
    )


class ServeOrder(Order):
    """The options of `serve`."""

    file: Path = argument(type=A_PATH)
    server: str | None = option(
        "--server",
        metavar="NAME",
        help="Serve this server of the recording (default: the first one in it).",
    )
    port: int | None = option(
        "--http",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Serve over HTTP on this port of this machine, 0 for any, instead of on standard input"
        " and output.",
    )
    speed: str = option(
        "--speed",
        type=_SPEED,
        default="1",
        help="Answer at the recorded pace (1, the default), 10 or 100 times faster, or at once"
        " (max).",
    )
    is_strict: bool = option(
        "--strict",
        is_flag=True,
        help="Answer requests with other parameters than recorded with an error, instead of with"
        " the closest recorded answer.",
    )
    script: str | None = option(
        "--script",
        metavar="FILE",
        help="Change messages by the rules in FILE, one per line: delay, drop, duplicate, corrupt,"
        " cut, kill. See tap --help.",
    )
    seed: int | None = option(
        "--seed",
        type=click.IntRange(0),
        metavar="N",
        help="With --script: seed the random numbers, to repeat a run.",
    )
    allows_redacted: bool = option(
        "--allow-redacted", is_flag=True, help="Send answers even if secrets in them were redacted."
    )

    def check(self) -> None:
        if self.seed is not None and self.script is None:
            raise click.UsageError("--seed needs --script FILE.")


class WaitOrder(Order):
    """The options of every command that waits for jobs.

    `server_log` is the level of log messages to ask the server for.
    """

    auto_resume: bool = option(
        "--auto-resume",
        is_flag=True,
        help="Resume immediately, for as long as the server returns resume tokens.",
    )
    resume_limit: int | None = option(
        "--resume-limit",
        type=click.IntRange(1, 1_000_000),
        metavar="N",
        help="Stop --auto-resume after N attempts (default 100).",
    )
    answer: Path | None = option(
        "--answers",
        "--answer",
        cls=RenamedOption,
        type=A_PATH,
        metavar="FILE",
        help="Answer the server's questions from this JSON file (see: call --help). Questions it"
        " does not answer follow the server's rules from the window. Remaining questions are asked"
        " on the terminal, or declined without a terminal or with --json.",
    )
    server_log: LogLevel | None = option(
        "--server-log",
        type=click.Choice(LOG_LEVELS, case_sensitive=False),
        metavar="LEVEL",
        help="Request log messages of LEVEL and above from the server, and show them: "
        f"{', '.join(LOG_LEVELS)}. (--log-level sets what this program logs.)",
    )
    otel: bool = _OTEL
    as_json: bool = option("--json", is_flag=True, help="Write one JSON event per line.")

    def check(self) -> None:
        if self.resume_limit is not None and not self.auto_resume:
            raise click.UsageError("--resume-limit needs --auto-resume.")

    @property
    def automatic(self) -> AutoResume | None:
        """The settings of automatic resuming; None without `--auto-resume`."""
        from mcp_progress_monitor.engine.call import AutoResume

        if not self.auto_resume:
            return None
        return AutoResume() if self.resume_limit is None else AutoResume(limit=self.resume_limit)


class RequestOrder(WaitOrder):
    """The options of every command that makes requests and waits for them.

    Times in seconds; 0 means no limit, None that of the server or the usual one.
    """

    token: str | None = option(
        "--token", metavar="TEXT", help="Use this string as the progress token."
    )
    int_token: int | None = option(
        "--int-token", type=int, metavar="N", help="Use this integer as the progress token."
    )
    no_token: bool = option("--no-token", is_flag=True, help="Do not send a progress token.")
    idle_timeout: float | None = _idle_timeout(OTHER_IDLE_S)
    total_timeout: float | None = option(
        "--total-timeout",
        type=Seconds(min=0, max=LONGEST_LIMIT_S),
        metavar="SECONDS",
        help="Time out this long after the start (default 0, no limit, or total_timeout_s of"
        " the server in --config).",
    )

    def check(self) -> None:
        super().check()
        chosen = [self.token is not None, self.int_token is not None, self.no_token]
        if sum(chosen) > 1:
            raise click.UsageError("Use only one of --token, --int-token and --no-token.")
        _check_texts(vars(self).values())


class _CallMode(Order):
    """The options of `call` that come last in its help."""

    as_task: bool = option(
        "--task",
        is_flag=True,
        help="Run the call as a task. Fails if the tool does not support tasks. Tools that require"
        " tasks always run as one.",
    )
    repeat: int = option(
        "--repeat",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Make N concurrent calls.",
    )
    is_unlisted: bool = option(
        "--unlisted",
        is_flag=True,
        help="Call TOOL even if the server does not list it. Arguments are not validated; a VALUE"
        " that is not JSON is sent as a string.",
    )
    no_validate: bool = option(
        "--no-validate",
        is_flag=True,
        help="Send the arguments even if they violate the tool's schema.",
    )


class CallOrder(RequestOrder, _CallMode):
    """The options of `call`: `pairs` are the `--arg`s, `document` the text of `--args`."""

    tool: str = argument()
    pairs: tuple[tuple[str, str], ...] = option(
        "--arg",
        callback=name_values,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set an argument, converted to the type in the tool's schema. VALUE may be JSON."
        " Repeatable.",
    )
    document: str | None = option(
        "--args",
        metavar="JSON|@FILE",
        help="Set all arguments from a JSON object or a file that contains one. --arg adds to"
        " them.",
    )
    idle_timeout: float | None = _idle_timeout(TOOL_IDLE_S)

    def check(self) -> None:
        super().check()
        if self.repeat > 1 and (self.token is not None or self.int_token is not None):
            raise click.UsageError(
                "--repeat cannot be used with --token or --int-token: concurrent calls need"
                " different tokens, which are generated without these options."
            )
        _check_pairs(self.pairs, "To pass a list, use {name}='[1, 2]'.")


class ReadOrder(RequestOrder):
    """The options of `read`."""

    uri: str = argument()
    output: Path | None = OUTPUT


class PromptOrder(RequestOrder):
    """The options of `prompt`; `pairs` are the `--arg`s."""

    name: str = argument()
    pairs: tuple[tuple[str, str], ...] = option(
        "--arg",
        callback=name_values,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set an argument of the prompt. Values are always strings. Repeatable.",
    )

    def check(self) -> None:
        super().check()
        _check_pairs(self.pairs, "A prompt argument has a single value.")


class RawOrder(RequestOrder):
    """The options of `request`; `params` is the text of `--params`."""

    method: str = argument()
    params: str | None = option(
        "--params",
        metavar="JSON|@FILE",
        help="Set the parameters from a JSON object or from a file that contains one.",
    )


class FollowOrder(RequestOrder):
    """The options of `tasks follow`: requests without a progress token."""

    task: str = argument(metavar="TASK_ID")
    token = int_token = resume_limit = None
    no_token = True
    auto_resume = False
    idle_timeout: float | None = _idle_timeout(TOOL_IDLE_S)


class TaskOrder(FollowOrder):
    """The options of `tasks get` and `tasks cancel`."""

    idle_timeout: float | None = _idle_timeout(OTHER_IDLE_S)
    answer = server_log = None
    otel = False


class ResumeOrder(WaitOrder):
    """The options of `resume`; `ids` name saved jobs."""

    ids: tuple[SavedId, ...] = argument(metavar="[ID]...", nargs=-1, callback=saved_ids)
    is_list: bool = option(
        "--list", is_flag=True, help="List the saved jobs and their IDs (the default without IDs)."
    )
    auto_resume: bool = option(
        "--auto-resume",
        is_flag=True,
        help="Keep resuming for as long as the server returns resume tokens.",
    )
    as_json: bool = option(
        "--json",
        is_flag=True,
        help="Write one JSON event per line; with --list, one JSON document.",
    )

    def check(self) -> None:
        if self.is_list and (self.ids or self.auto_resume or self.answer):
            raise click.UsageError("--list cannot be used with IDs, --auto-resume or --answers.")
        super().check()


class CheckOrder(Order):
    """The options of `check`, of recordings or of a server that is called."""

    files: tuple[Path, ...] = argument(metavar="[FILE]...", nargs=-1, type=A_PATH)
    form: str = option(
        "--format",
        type=click.Choice(REPORT_FORMS),
        default="text",
        help="Write text (the default), JSON, SARIF 2.1.0 for code hosts, JUnit XML for CI"
        " servers, Markdown with tables of findings and jobs, or annotations for GitHub.",
    )
    reports: tuple[tuple[str, Path], ...] = option(
        "--report",
        callback=_report_files,
        metavar="FORMAT=FILE",
        multiple=True,
        help="Also write the report in this format to a file. Repeatable.",
    )
    source: Path | None = option(
        "--source",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Read the server's code in this folder (Python, TypeScript, JavaScript or Go) to"
        " report findings at the definition of their tool. Nothing of it is run.",
    )
    fail_on: str = option(
        "--fail-on",
        type=click.Choice(("error", "warning", "note", "never")),
        default="error",
        help="Exit with code 7 if there are new findings of this level or above (default error).",
    )
    where: str = option(
        "--filter",
        "--where",
        cls=RenamedOption,
        metavar="FILTER",
        default="",
        help="Report only findings about messages that match the filter.",
    )
    baseline: Path | None = option(
        "--baseline",
        type=A_PATH,
        metavar="FILE",
        help="Fail only on findings that are not in this earlier report (--format json), and report"
        " tools whose definition differs from it.",
    )
    max_duration: float | None = option(
        "--max-duration",
        type=Seconds(min=0, min_open=True),
        metavar="SECONDS",
        help="Report client requests that took longer than this.",
    )
    expect: tuple[str, ...] = option(
        "--expect",
        metavar="FILTER",
        multiple=True,
        help="Report an error if no message matches the filter. Repeatable.",
    )
    tools: tuple[str, ...] = option(
        "--tool",
        metavar="NAME",
        multiple=True,
        help="Also call this tool when checking a server. By default, only tools marked as"
        " read-only are called. Repeatable.",
    )
    all_tools: bool = option(
        "--all-tools",
        is_flag=True,
        help="Call all tools when checking a server, with made-up arguments. Those marked as"
        " destructive are called only by --tool.",
    )
    document: str | None = option(
        "--args",
        metavar="JSON|@FILE",
        help="Arguments for the called tools, as {NAME: {ARGUMENT: VALUE}}. Other arguments are"
        " generated from the tools' schemas.",
    )
    output: Path | None = OUTPUT
    notes: tuple[str, ...] = ()  # remarks on the session, such as calls that failed
    is_tour: bool = False  # the recording is that of a tour

    @property
    def fails_from(self) -> Level | None:
        """The lowest level of findings that fail the run; None for `never`."""
        from mcp_progress_monitor.findings.finding import Level

        return None if self.fail_on == "never" else Level(self.fail_on)


class ImportOrder(Order):
    """The options of `servers import`."""

    file: Path | None = argument(required=False, type=A_PATH)
    names: tuple[str, ...] = argument(nargs=-1)
    client: str | None = option(
        "--client",
        type=click.Choice([client.key for client in FORMS]),
        help="Read the file in this client's format (default: detected).",
    )
    is_dry_run: bool = option(
        "--dry-run", is_flag=True, help="Show the servers without saving them."
    )
    takes_all: bool = option("--all", is_flag=True, help="Import all new and changed servers.")
    answers: tuple[tuple[str, str], ...] = option(
        "--input",
        callback=name_values,
        metavar="ID=VALUE",
        multiple=True,
        help="Set an input that the file asks for. Repeatable. Default: ask on the terminal.",
    )
    workspace: Path | None = option(
        "--workspace",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Use this folder for ${workspaceFolder}.",
    )
    with_secrets: bool = option("--with-secrets", is_flag=True, help="Save secrets as plain text.")
    asks_secrets: bool = option(
        "--ask-secrets",
        is_flag=True,
        help="Save no secrets: ask for them at each connection, and keep them in memory.",
    )


class ServersExportOrder(Order):
    """The options of `servers export`; without `names`, all servers."""

    names: tuple[str, ...] = argument(nargs=-1)
    to: str = option(
        "--client",
        "--to",
        cls=RenamedOption,
        type=click.Choice([client.key for client in FORMS]),
        default="common",
        help="Write the format of this client (default: common, which most clients read).",
    )
    with_secrets: bool = option("--with-secrets", is_flag=True, help="Write the values of secrets.")
    output: Path | None = OUTPUT


class TapSessionOrder(Order):
    """The options of `tap` itself."""

    name: str | None = option(
        "--name",
        metavar="NAME",
        help="Show the server under this name (default: the name of the command's file).",
    )
    client: str | None = option(
        "--client", metavar="NAME", help="Show the client under this name until it sends its own."
    )
    to: str | None = option(
        "--to",
        metavar="URL",
        help="Forward requests to the server at URL (Streamable HTTP or HTTP+SSE).",
    )
    listen: str | None = option(
        "--listen",
        metavar="HOST:PORT",
        help="With --to: listen on this local address. By default, the port is derived from URL and"
        " stays the same.",
    )
    script: str | None = option(
        "--script",
        metavar="FILE",
        help="Change messages by the rules in FILE, one per line: delay, drop, duplicate, reorder,"
        " corrupt, cut, kill, close. For testing; the recording is marked.",
    )
    seed: int | None = option(
        "--seed",
        type=click.IntRange(0),
        metavar="N",
        help="With --script: seed the random numbers, to repeat a run.",
    )
    requests_progress: bool = option(
        "--request-progress",
        is_flag=True,
        help="Add a progress token to requests that have none, without forwarding the notifications"
        " to the client. For clients that do not ask for progress; the recording is marked.",
    )
    signs_in: bool = option(
        "--oauth",
        is_flag=True,
        help="With --to: sign in with the browser if the server requires it, and add the token to"
        " the requests of all clients.",
    )
    oauth_client_id: str | None = option(
        "--oauth-client-id",
        metavar="ID",
        help="With --to: use this OAuth client ID. Default: that of the saved server with this URL,"
        " else register dynamically. Implies --oauth.",
    )
    rewrites_auth: bool = option(
        "--rewrite-auth",
        is_flag=True,
        help="With --to: let clients sign in through the tap, as if it were the server, and record"
        " that without secrets.",
    )

    @property
    def needs_sign_in(self) -> bool:
        return self.signs_in or self.oauth_client_id is not None


_ALLOW_ACTIONS: Final = option(
    "--allow-actions",
    is_flag=True,
    help="Let the agent call tools, resume jobs and check servers, on servers that you approved."
    " You are asked before each action, in the agent's client.",
)


class AgentsOrder(Order):
    """The options of `mcp` itself."""

    servers: tuple[str, ...] = option(
        "--server",
        metavar="NAME",
        multiple=True,
        help="Let the agent read this server only, by its name in the recordings. Repeatable.",
    )
    acts: bool = _ALLOW_ACTIONS
    prints_skill: bool = option(
        "--skill", is_flag=True, help="Print instructions for agents (SKILL.md) and exit."
    )


class AgentInstallOrder(Order):
    """The options of `mcp install`; `client` is a client's key."""

    client: str = argument(metavar="CLIENT", type=click.Choice([client.key for client in KNOWN]))
    names: tuple[str, ...] = argument(metavar="[SERVER]...", nargs=-1)
    takes_all: bool = option("--all", is_flag=True, help="Let it read all servers.")
    acts: bool = _ALLOW_ACTIONS
    is_dry_run: bool = option(
        "--dry-run", is_flag=True, help="Show what would change without changing anything."
    )


class TapsOrder(Order):
    """The options of `tap install` and `tap remove`; `client` is a client's key."""

    client: str | None = argument(
        required=False, metavar="[CLIENT]", type=click.Choice([client.key for client in KNOWN])
    )
    names: tuple[str, ...] = argument(metavar="[SERVER]...", nargs=-1)
    takes_all: bool = option(
        "--all", is_flag=True, help="Choose all servers of the client, or of every client."
    )
    is_dry_run: bool = option(
        "--dry-run", is_flag=True, help="Show what would change without changing anything."
    )
    requests_progress: bool = option(
        "--request-progress",
        is_flag=True,
        help="Let the tap add a progress token to requests that have none, for clients that do not"
        " ask. See tap --help.",
    )


class TapRemoveOrder(TapsOrder):
    """The options of `tap remove`."""

    requests_progress = False


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
