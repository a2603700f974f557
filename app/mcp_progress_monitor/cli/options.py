"""Options that commands share: which server, how to start it, where data lives, limits, tokens."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, NamedTuple, NoReturn, ParamSpec, TypeVar

import click

from mcp_progress_monitor.cli.common import CommonOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])

TRANSPORTS = ("http", "sse")
ERAS = ("auto", "handshake", "per-request")
PROGRAM_LOG_LEVELS = ("debug", "info", "warning", "error")


class SavedId(NamedTuple):
    """The ID of a saved job; resume chains and tasks are numbered separately."""

    number: int
    is_task: bool = False

    def __str__(self) -> str:
        return f"t{self.number}" if self.is_task else str(self.number)


def saved_ids(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[SavedId, ...]:
    """Parse IDs; a usage error for anything else."""
    return tuple(_saved_id(value, ctx, param) for value in values)


def _saved_id(value: str, ctx: click.Context, param: click.Parameter) -> SavedId:
    found = re.fullmatch(r"(t?)([1-9][0-9]{0,17})", value, re.ASCII | re.IGNORECASE)
    if found is None:
        message = f"{value!r} is not a job ID such as 3 or t3. To list jobs: resume --list"
        raise click.BadParameter(message, ctx, param)
    return SavedId(int(found[2]), bool(found[1]))


class Seconds(click.FloatRange):
    """A finite number of seconds, at least 0."""

    name = "number of seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Reject infinity and NaN."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


class RenamedOption(click.Option):
    """An option whose earlier names still work; its help shows only the first name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        names, self.opts = self.opts, self.opts[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def name_values(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Split every `NAME=VALUE` of an option. Values may be empty or contain equals signs."""
    pairs = tuple(value.partition("=") for value in values)
    for text, (name, sign, _) in zip(values, pairs, strict=True):
        if not name or not sign:
            message = f"{text!r} is not in the form NAME=VALUE, for example city=Oslo."
            raise click.BadParameter(message, ctx, param)
    return tuple((name, value) for name, _, value in pairs)


def headers(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Split every `NAME:VALUE` of an option, and strip both."""
    pairs = tuple(value.partition(":") for value in values)
    for number, (name, sign, _) in enumerate(pairs, 1):
        if not name.strip() or not sign:
            # Without the text: it may be a secret.
            message = (
                f"header {number} is not in the form NAME:VALUE, for example 'X-Tenant: acme'."
            )
            raise click.BadParameter(message, ctx, param)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


A_PATH: Final = click.Path(path_type=Path)  # each new one looks for translations of its name


def _shared(
    *names: str, cls: Callable[..., click.Option] = click.Option, **how: Any
) -> Callable[[C], C]:
    """As `click.option`, but all its commands have one object: making 400 takes 5 ms of a start."""
    option = cls(names, **how)
    return click.option(cls=lambda _names: option)  # type: ignore[arg-type]  # called, no more


_DATA_DIR = _shared(
    "--data-dir",
    # Commands that need it report if it cannot be read, with a hint.
    type=click.Path(file_okay=False, readable=False, path_type=Path),
    metavar="DIR",
    help="Store settings, logs, recordings and resume tokens in this folder.",
)
_CONFIG = _shared(
    "--config",
    type=A_PATH,
    metavar="FILE",
    help="Use the servers in the configuration file of any MCP client. You must approve each server"
    " before it runs.",
)
_LOG_LEVEL = _shared(
    "--log-level",
    type=click.Choice(PROGRAM_LOG_LEVELS, case_sensitive=False),
    help="Set how much this program logs to standard error (default warning). info and debug also"
    " show the server's standard error.",
)
_OPTIONS = (
    _shared("--demo", is_flag=True, help="Use the bundled demo server."),
    _shared("--url", metavar="URL", help="Connect to the server at this http or https URL."),
    _shared(
        "--header",
        callback=headers,
        metavar="NAME:VALUE",
        multiple=True,
        help="Send this header with every request to the URL. ${env:NAME} in the value is replaced"
        " by that environment variable. Repeatable.",
    ),
    _shared(
        "--oauth",
        is_flag=True,
        help="Sign in with the browser if the server at the URL requires it.",
    ),
    _shared(
        "--oauth-client-id",
        metavar="ID",
        help="Use this OAuth client ID, or the https URL of a client ID metadata document. Default:"
        " register dynamically. Implies --oauth.",
    ),
    _shared(
        "--transport",
        type=click.Choice(TRANSPORTS),
        help="Connect to the URL with Streamable HTTP (http, the default) or the legacy HTTP+SSE"
        " transport (sse).",
    ),
    _CONFIG,
    _shared(
        "--server",
        metavar="NAME",
        help="Use the saved server NAME or, with --config, the server NAME in that file.",
    ),
    _shared(
        "--cwd",
        type=click.Path(exists=True, file_okay=False, readable=False, path_type=Path),
        metavar="DIR",
        help="Start the server in this folder.",
    ),
    _shared(
        "--env",
        callback=name_values,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set an environment variable for the server. Repeatable.",
    ),
    _shared(
        "--era",
        type=click.Choice(ERAS),
        help="Open the session with initialize (handshake) or without (per-request, from revision"
        " 2026-07-28). The default, auto, asks the server.",
    ),
    _shared(
        "--connect-timeout",
        type=Seconds(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop connecting after this time (default: 15 for a URL, up to 60 for a command that"
        " is still starting).",
    ),
    _DATA_DIR,
    _shared(
        "--record",
        type=A_PATH,
        metavar="FILE",
        help="Record the session to this new file (default: a file in the data folder).",
    ),
    _LOG_LEVEL,
)


@dataclasses.dataclass(slots=True)
class Invocation:
    """One run of the program: the options before the command's name, and the start time.

    `started_at` is in the monotonic seconds of `time.monotonic`.
    """

    started_at: float = dataclasses.field(default_factory=time.monotonic)
    common: CommonOptions = dataclasses.field(default_factory=CommonOptions)


_HOW_TO_CHOOSE: Final = (
    'Choose the server with "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved '
    "server), --config FILE [--server NAME] or --demo."
)


class ServerCommand(click.Command):
    """A command after which a server's command may follow; its help leaves out `hides`."""

    def __init__(
        self, *args: Any, hides: Sequence[str] = (), needs_server: bool = True, **kwargs: Any
    ) -> None:
        """As in click; `hides` names options that the command rejects.

        With `needs_server`, the help says how to choose the server.
        """
        super().__init__(*args, **kwargs)
        if needs_server:
            self.help = f"{inspect.cleandoc(self.help or '')}\n\n{_HOW_TO_CHOOSE}"
        self.params = [_hidden(each) if each.name in hides else each for each in self.params]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Add the server's command, which `main` splits off before click parses the rest."""
        return [*super().collect_usage_pieces(ctx), "[-- SERVER_COMMAND [ARG]...]"]


def _hidden(param: click.Parameter) -> click.Parameter:
    hidden = copy.copy(param)
    vars(hidden)["hidden"] = True
    return hidden


class OwnCommand(click.Command):
    """A command without a server: for it, `--` only ends the options, as usual."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Restore the arguments after `--`, which `main` has split off."""
        invocation = ctx.ensure_object(Invocation)
        common = invocation.common
        if common.command is not None and any(isinstance(p, click.Argument) for p in self.params):
            args = [*args, "--", *common.command]
            common = common._replace(command=None)
            ctx.obj = dataclasses.replace(invocation, common=common)
        return super().parse_args(ctx, args)


def common_options(function: Callable[Concatenate[Invocation, P], T]) -> Callable[..., T]:
    """Add the shared options to a command, which receives them in its `Invocation`."""
    return _with_options(function, _OPTIONS, _NAMES)


def own_options(function: Callable[Concatenate[Invocation, P], T]) -> Callable[..., T]:
    """As `common_options`, for a command without a server; options that name one are rejected."""
    return _with_options(_refusing(function, _OWN_NAMES), (_DATA_DIR, _LOG_LEVEL), _OWN_NAMES)


def group_options(function: Callable[Concatenate[Invocation, P], T]) -> Callable[..., T]:
    """As `own_options`, for a group; its commands reject the options they cannot use."""
    return _with_options(function, (_DATA_DIR, _LOG_LEVEL), _OWN_NAMES)


def config_options(function: Callable[Concatenate[Invocation, P], T]) -> Callable[..., T]:
    names = ("config", *_OWN_NAMES)
    return _with_options(_refusing(function, names), (_CONFIG, _DATA_DIR, _LOG_LEVEL), names)


def _refusing(
    function: Callable[Concatenate[Invocation, P], T], names: Sequence[str]
) -> Callable[Concatenate[Invocation, P], T]:
    """The command, which rejects every shared option that is not one of `names`."""

    @functools.wraps(function)
    def command(invocation: Invocation, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for name in _NAMES:
            if name not in names and getattr(invocation.common, name):
                _refuse(f"--{name.replace('_', '-')}")
        if invocation.common.command is not None:
            _refuse("A server command")
        return function(invocation, *args, **kwargs)

    return command


def _refuse(what: str) -> NoReturn:
    command = click.get_current_context().info_name
    raise click.UsageError(f"{what} cannot be used with {command!r}, which connects to no server.")


def _with_options(
    function: Callable[Concatenate[Invocation, P], T],
    options: Sequence[Callable[[Any], Any]],
    names: Sequence[str],
) -> Callable[..., T]:
    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> T:
        invocation = click.get_current_context().ensure_object(Invocation)
        own: dict[str, Any] = {name: kwargs.pop(name) for name in names}
        common = CommonOptions(**own).over(invocation.common)
        return function(dataclasses.replace(invocation, common=common), *args, **kwargs)

    for option in reversed(options):
        option(command)
    return command


_OWN_NAMES = ("data_dir", "log_level")
_NAMES = tuple(name for name in CommonOptions._fields if name != "command")


def check_filter(option: str, text: str) -> None:
    """Refuse, as a usage error, an invalid filter."""
    from mcp_progress_monitor.filtering.filter import FilterError
    from mcp_progress_monitor.filtering.language import parse

    try:
        parse(text)
    except FilterError as error:
        raise click.UsageError(f"{option}: {error}") from error
