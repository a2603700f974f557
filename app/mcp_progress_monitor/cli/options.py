"""The options that every command shares: which server, how to start it, where data lives.

Nothing heavy is imported here: `--help` and `--version` answer at once.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = ParamSpec("P")
T = TypeVar("T")

TRANSPORTS = ("http", "sse")
ERAS = ("auto", "handshake", "per-request")
LOG_LEVELS = ("debug", "info", "warning", "error")
_LEFT_OUT = (None, False, ())


@dataclasses.dataclass(frozen=True, slots=True)
class CommonOptions:
    """What the shared options said. None, () or False means the option was not given.

    `command` is what follows `--`, None without `--`. Times in seconds.
    """

    command: tuple[str, ...] | None = None
    url: str | None = None
    header: tuple[tuple[str, str], ...] = ()
    oauth: bool = False
    oauth_client_id: str | None = None
    transport: str | None = None
    demo: bool = False
    config: Path | None = None
    server: str | None = None
    cwd: Path | None = None
    env: tuple[tuple[str, str], ...] = ()
    era: str | None = None
    data_dir: Path | None = None
    record: Path | None = None
    log_level: str | None = None
    connect_timeout: float | None = None

    def over(self, outer: CommonOptions) -> CommonOptions:
        """These options, completed by those that stood before the command's name.

        An empty text counts as given: a script's variable was empty, which is to be told.
        """
        names = [field.name for field in dataclasses.fields(self)]
        merged = {name: getattr(self, name) for name in names}
        for name in names:
            if merged[name] in _LEFT_OUT:
                merged[name] = getattr(outer, name)
        merged["env"] = outer.env + self.env
        merged["header"] = outer.header + self.header
        return CommonOptions(**merged)


class Seconds(click.FloatRange):
    """A time in seconds, of at least 0; without the infinite and the undefined."""

    name = "number of seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse what no clock can reach."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


def name_values(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Split every `NAME=VALUE` of an option; values may be empty and hold further equals signs."""
    pairs = tuple(value.partition("=") for value in values)
    for text, (name, sign, _) in zip(values, pairs, strict=True):
        if not name or not sign:
            message = f"{text!r} is not NAME=VALUE, for example city=Oslo."
            raise click.BadParameter(message, ctx, param)
    return tuple((name, value) for name, _, value in pairs)


def headers(
    ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Split every `NAME:VALUE` of an option; space around the value is none of it."""
    pairs = tuple(value.partition(":") for value in values)
    for number, (name, sign, _) in enumerate(pairs, 1):
        if not name.strip() or not sign:
            # Not with the text itself: it may be a secret.
            message = f"number {number} is not NAME:VALUE, for example 'X-Tenant: acme'."
            raise click.BadParameter(message, ctx, param)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


_DATA_DIR = click.option(
    "--data-dir",
    # Whether it may be read is told by whoever needs it, with what to try.
    type=click.Path(file_okay=False, readable=False, path_type=Path),
    metavar="DIR",
    help="Keep settings, logs, recordings and saved resume tokens in this folder.",
)
_CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take servers from any client's configuration file, once you have agreed to them.",
)
_LOG_LEVEL = click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS, case_sensitive=False),
    help="Tell more or less on standard error (default warning); info and below include"
    " the server's own standard error.",
)
_OPTIONS = (
    click.option("--demo", is_flag=True, help="Use the bundled demo server."),
    click.option("--url", metavar="URL", help="Reach the server by this URL (http or https)."),
    click.option(
        "--header",
        callback=headers,
        metavar="NAME:VALUE",
        multiple=True,
        help="Send this header with every request to a URL; ${env:NAME} in the value is taken from"
        " the environment. May be given again.",
    ),
    click.option("--oauth", is_flag=True, help="Sign in to the URL in the browser when asked to."),
    click.option(
        "--oauth-client-id",
        metavar="ID",
        help="Sign in as the client ID; an https URL is that of a client id metadata document."
        " Without, this program registers itself. Implies --oauth.",
    ),
    click.option(
        "--transport",
        type=click.Choice(TRANSPORTS),
        help="How to speak to the URL: Streamable HTTP (default), or the older HTTP with SSE.",
    ),
    _CONFIG,
    click.option(
        "--server",
        metavar="NAME",
        help="Choose a saved server by its name, or one of --config.",
    ),
    click.option(
        "--cwd",
        type=click.Path(exists=True, file_okay=False, readable=False, path_type=Path),
        metavar="DIR",
        help="Start the server in this folder.",
    ),
    click.option(
        "--env",
        callback=name_values,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set an environment variable for the server; may be given again.",
    ),
    click.option(
        "--era",
        type=click.Choice(ERAS),
        help="How to open the session: find out (auto), or as one of the two protocol eras.",
    ),
    click.option(
        "--connect-timeout",
        type=Seconds(min=0, min_open=True),
        metavar="S",
        help="Give up connecting after S seconds (default: 15 for a URL; for a command up to 60 "
        "while it is starting).",
    ),
    _DATA_DIR,
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Record the session into this new file (default: one in the data folder).",
    ),
    _LOG_LEVEL,
)


def _file_or_standard(
    _ctx: click.Context, _param: click.Parameter, file: Path | None
) -> Path | None:
    """None, standard output, for a dash: what other programs take it for."""
    return None if file == Path("-") else file


output = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=_file_or_standard,
    metavar="FILE",
    help="Write to FILE instead of standard output (-).",
)
"""Where an export goes, the same for recordings and for servers."""


@dataclasses.dataclass(slots=True)
class Invocation:
    """One run of the program: what stood before the command's name, and when it began.

    `started_at` is in the monotonic seconds of `time.monotonic`.
    """

    started_at: float = dataclasses.field(default_factory=time.monotonic)
    common: CommonOptions = CommonOptions()


class ServerCommand(click.Command):
    """Shows in its usage that a server's command may follow; `hides` options it only refuses."""

    def __init__(self, *args: Any, hides: Sequence[str] = (), **kwargs: Any) -> None:
        """As click's, without what it `hides` in its help."""
        super().__init__(*args, **kwargs)
        for param in self.params:
            if isinstance(param, click.Option) and param.name in hides:
                param.hidden = True

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Add what `main` has taken away before click reads the rest."""
        return [*super().collect_usage_pieces(ctx), "[-- SERVER_COMMAND [ARG]...]"]


class OwnCommand(click.Command):
    """Takes no server's command: two dashes end its options, as they do everywhere else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give back what `main` has taken away, to a command with arguments."""
        invocation = ctx.ensure_object(Invocation)
        common = invocation.common
        if common.command is not None and any(isinstance(p, click.Argument) for p in self.params):
            args = [*args, "--", *common.command]
            common = dataclasses.replace(common, command=None)
            ctx.obj = dataclasses.replace(invocation, common=common)
        return super().parse_args(ctx, args)


def common_options(
    function: Callable[Concatenate[Invocation, P], T],
) -> Callable[..., T]:
    """Add the shared options to a command and hand it an `Invocation` with what they said."""
    return _with_options(function, _OPTIONS, _NAMES)


def own_options(
    function: Callable[Concatenate[Invocation, P], T],
) -> Callable[..., T]:
    """As `common_options`, for a command that talks to no server; what names one is refused."""
    return _with_options(_refusing(function, _OWN_NAMES), (_DATA_DIR, _LOG_LEVEL), _OWN_NAMES)


def group_options(
    function: Callable[Concatenate[Invocation, P], T],
) -> Callable[..., T]:
    """As `own_options`, for a group of commands, each of which refuses what it has no use for."""
    return _with_options(function, (_DATA_DIR, _LOG_LEVEL), _OWN_NAMES)


def config_options(
    function: Callable[Concatenate[Invocation, P], T],
) -> Callable[..., T]:
    """As `own_options`, with the file that a server may stand in."""
    names = ("config", *_OWN_NAMES)
    return _with_options(_refusing(function, names), (_CONFIG, _DATA_DIR, _LOG_LEVEL), names)


def _refusing(
    function: Callable[Concatenate[Invocation, P], T], names: Sequence[str]
) -> Callable[Concatenate[Invocation, P], T]:
    """The command, refusing every shared option that is not one of `names`."""

    @functools.wraps(function)
    def command(invocation: Invocation, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for name in _NAMES:
            if name not in names and getattr(invocation.common, name):
                _refuse(f"--{name.replace('_', '-')}")
        if invocation.common.command is not None:
            _refuse("A server's command")
        return function(invocation, *args, **kwargs)

    return command


def _refuse(what: str) -> NoReturn:
    command = click.get_current_context().info_name
    raise click.UsageError(f"{what} has no meaning for {command!r}, which talks to no server.")


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
_NAMES = tuple(field.name for field in dataclasses.fields(CommonOptions) if field.name != "command")
