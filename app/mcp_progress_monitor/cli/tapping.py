"""Starts the stdio tap, `tap [OPTION]... -- COMMAND [ARG]...`, without importing click.

A client waits for its server to start, so only what that needs is imported.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from mcp_progress_monitor.tap.environment import Environment
    from mcp_progress_monitor.tap.journal import Journal
    from mcp_progress_monitor.tap.relay import Stream
    from mcp_progress_monitor.tap.script import Script

    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import TappedServer
    else:
        from mcp_progress_monitor.tap.posix import TappedServer

_OPTIONS = ("--name", "--client", "--data-dir")
_ALL_OPTIONS = (*_OPTIONS, "--script", "--seed")
_REQUESTS = "--request-progress"
_DIGITS = 19


class TapOrder:
    """The command to run, and its names in the recording."""

    def __init__(
        self,
        command: Sequence[str],
        name: str | None = None,
        client: str | None = None,
        data_dir: str | None = None,
        script: Script | None = None,
        *,
        requests_progress: bool = False,
    ) -> None:
        """`client` names the client that starts the tap; `script` changes messages.

        With `requests_progress`, a token is added to requests without one.
        """
        self.command = tuple(command)
        self.name = name
        self.client = client
        self.data_dir = data_dir
        self.script = script
        self.requests_progress = requests_progress


def plain_order(arguments: Sequence[str]) -> TapOrder | None:
    """The order in the program's arguments; None if they are for click to parse."""
    if not arguments or arguments[0] != "tap" or "--" not in arguments:
        return None
    place = arguments.index("--")
    command = arguments[place + 1 :]
    options: dict[str, str] = {}
    rest = list(arguments[1:place])
    requests_progress = _REQUESTS in rest
    rest = [word for word in rest if word != _REQUESTS]
    while rest:
        name, sign, value = rest.pop(0).partition("=")
        if name not in _ALL_OPTIONS or not (sign or rest):
            return None
        options[name] = value if sign else rest.pop(0)
    if not command or "" in options.values():
        return None
    chosen, client, data_dir = map(options.get, _OPTIONS)
    order = TapOrder(command, chosen, client, data_dir, requests_progress=requests_progress)
    return _with_script(order, options) if options else order


def _with_script(order: TapOrder, options: Mapping[str, str]) -> TapOrder | None:
    """The order with the script of its options; None if those are for click to validate."""
    path, seed = options.get("--script"), options.get("--seed")
    if path is None:
        return order if seed is None else None
    from mcp_progress_monitor.errors import UserError

    if seed is not None and not (seed.isascii() and seed.isdecimal() and len(seed) < _DIGITS):
        return None
    try:
        order.script = load_script(path, None if seed is None else int(seed))
    except UserError:
        return None
    return order


def load_script(path: str, seed: int | None, *, is_http: bool = False) -> Script:
    """The rules in a file, with a random seed by default; `UserError` if they are invalid.

    With `is_http`, all rules must apply to HTTP. A tap without a script imports none of this.
    """
    from mcp_progress_monitor.errors import ErrorDetails, UserError
    from mcp_progress_monitor.tap.script import Script, ScriptError, read_rules, refuse_over_http

    name = os.path.basename(path)  # noqa: PTH119  # as elsewhere here
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read().decode()
        rules = read_rules(text)
        if is_http:
            refuse_over_http(rules)
    except (OSError, ValueError) as error:
        if isinstance(error, ScriptError):
            where = f"{path}, line {error.line}"
            raise UserError(ErrorDetails(error.what, where, error.hint)) from error
        why = getattr(error, "strerror", None) or "It is not UTF-8 text"
        hint = "Use a text file with one rule per line, such as: delay 2s server progress"
        details = ErrorDetails("Cannot read the script", path, hint, why)
        raise UserError(details) from error
    drawn = int.from_bytes(os.urandom(3)) if seed is None else seed
    return Script(name, rules, drawn)


def run_tap(order: TapOrder) -> NoReturn:
    """Run the command, relaying and recording its traffic; exits as the command does."""
    began = time.time(), time.monotonic()
    _ignore_server_paths()
    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import TappedServer, run_untapped
    else:
        from mcp_progress_monitor.tap.posix import TappedServer, run_untapped
    _open_streams()
    environment = _server_environment()
    journal: Journal | None = None
    try:
        journal = _journal(order, environment, began)
        server = TappedServer(order.command, environment, journal.start_process)
    except (OSError, RuntimeError, MemoryError) as error:  # too few files, processes or threads
        if journal is not None:
            journal.give_up("")
        why = getattr(error, "strerror", None) or str(error) or "Not enough memory"
        run_untapped(order.command, environment, why)
    # The server is starting meanwhile, so these imports do not delay the client.
    from mcp_progress_monitor.tap.relay import relay

    if order.script is not None:
        _relay_changed(server, journal, order.script)
    if order.requests_progress:
        from mcp_progress_monitor.tap.progress import ProgressRequests
        from mcp_progress_monitor.tap.relay import requesting_streams

        requests = ProgressRequests()

        def streams(server: TappedServer, journal: Journal) -> tuple[Stream, Stream, Stream]:
            return requesting_streams(server, journal, requests)

        relay(server, journal, streams)
    relay(server, journal)


def _journal(order: TapOrder, environment: Environment, began: tuple[float, float]) -> Journal:
    """The journal of a session, not started."""
    from mcp_progress_monitor import __version__
    from mcp_progress_monitor.tap.about import About, Rest
    from mcp_progress_monitor.tap.journal import Journal

    chosen = order.data_dir
    rest = Rest(
        __version__,
        lambda: _data_dir(chosen),
        lambda: _limits(chosen),
        _shown_arguments,
        lambda: _is_recorded(chosen),
    )
    about = About(order.command, order.name, order.client, environment, rest)
    about.began = began
    about.script = None if order.script is None else order.script.name
    about.requests_progress = order.requests_progress
    return Journal(about)


def _server_environment() -> Environment:
    """The environment that the client gave its server."""
    from mcp_progress_monitor.tap.environment import (
        Environment,
        handed_environment,
        own_environment,
    )

    handed = handed_environment()
    if handed is not None:
        return handed
    if getattr(sys, "frozen", False):
        from mcp_progress_monitor import bundle

        return Environment.of(bundle.user_environment(own_environment().variables))
    return own_environment()


def _relay_changed(server: TappedServer, journal: Journal, script: Script) -> NoReturn:
    """Relay messages as the script changes them, and report that on standard error."""
    from mcp_progress_monitor.tap.faults import Faults
    from mcp_progress_monitor.tap.relay import relay

    text = f"mcp-progress-monitor tap: {script.text}\n"
    import contextlib

    with contextlib.suppress(OSError):  # stderr may be closed; the recording says so as well
        os.write(2, text.encode(errors="replace"))
    faults = Faults(server, script)
    relay(server, journal, faults.streams, faults.end_reason)


def _data_dir(chosen: str | None) -> str:
    """The data folder; `OSError` if it is unknown."""
    from pathlib import Path

    from mcp_progress_monitor.errors import UserError
    from mcp_progress_monitor.paths import chosen_data_dir

    try:
        return str(chosen_data_dir(None if chosen is None else Path(chosen)))
    except UserError as error:
        raise OSError(error.details.what) from error


def _limits(chosen: str | None) -> tuple[int, int]:
    """The limits in bytes of a recording's part and of all recordings."""
    from pathlib import Path

    from mcp_progress_monitor.recording.settings import load_settings

    settings, _ = load_settings(Path(_data_dir(chosen)))
    return settings.part_limit, settings.keep_bytes


def _is_recorded(chosen: str | None) -> bool:
    """Return whether recording is on; read when the session begins."""
    try:
        folder = _data_dir(chosen)
    except OSError:  # reported later
        return True
    if not os.path.lexists(os.path.join(folder, "recordings", "settings.json")):  # noqa: PTH118
        return True  # importing the parser takes long
    from pathlib import Path

    from mcp_progress_monitor.recording.settings import load_settings

    return load_settings(Path(folder))[0].is_on


def _shown_arguments(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments without their secrets."""
    from mcp_progress_monitor.protocol.secrets import shown_arguments

    return shown_arguments(arguments)


def _ignore_server_paths() -> None:
    """Remove the server's PYTHONPATH from `sys.path`: it may contain, say, a `queue.py`."""
    import mcp_progress_monitor

    own = os.path.dirname(mcp_progress_monitor.__path__[0])  # noqa: PTH120
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        try:
            path = os.path.abspath(folder)  # noqa: PTH100  # pathlib takes long to import
        except OSError:  # the current folder was deleted: Python could not add it either
            continue
        while path != own and path in sys.path:
            sys.path.remove(path)


def _open_streams() -> None:
    """Open missing standard streams; otherwise pipes would get their descriptors."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
