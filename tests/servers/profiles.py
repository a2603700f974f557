"""How a whole server behaves: from starting late to never speaking MCP at all."""

import signal
import sys
import time
from collections.abc import Callable
from typing import Final

from mcp_progress_monitor.demo.eras import Negotiation
from mcp_progress_monitor.demo.wire import PeerGoneError, Wire
from tests.servers.options import Options
from tests.servers.saved_tasks import TaskStore, store_in
from tests.servers.server import FaultyServer, LyingNegotiation, changed
from tests.servers.tools import TOOLS

_WELCOME: Final = (
    b"Welcome to Not An MCP Server 4.2!\n"
    b"Listening on http://localhost:8080/ ...\n"
    b"Type 'help' for help.\n"
)


def run(options: Options, wire: Wire) -> int:
    """Serve one client as the profile wants, and return the exit code of the process."""
    if options.ignores_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(options.start_delay_s)
    try:
        return _BROKEN.get(options.profile, _serve)(options, wire)
    except PeerGoneError:
        return 0
    finally:
        time.sleep(options.linger_s if options.ignores_eof else options.shutdown_delay_s)


def make_server(
    options: Options, wire: Wire, store: TaskStore | None = None, *, has_many_clients: bool = False
) -> FaultyServer:
    """Return a server as the options want it, on that wire."""
    return FaultyServer(
        wire,
        make_negotiation(options),
        TOOLS,
        page_size=options.page_size,
        ignored_methods=options.ignored_methods,
        state_dir=options.state_dir,
        later_tools=[changed(tool) for tool in TOOLS] if options.changes_tools else (),
        acknowledges=options.acknowledges,
        store=store or store_in(options.state_dir),
        has_many_clients=has_many_clients,
    )


def make_negotiation(options: Options) -> Negotiation:
    """Return what agrees on a revision as the options want it."""
    return LyingNegotiation(
        options.versions, options.answered_version, offers_tasks=options.offers_tasks
    )


def _serve(options: Options, wire: Wire) -> int:
    server = make_server(options, wire)
    server.run()
    if not options.ignores_eof:
        server.close()
    return 0


def _stay_silent(_options: Options, wire: Wire) -> int:
    """Read everything and answer nothing."""
    for _ in wire.lines():
        continue
    return 0


def _exit_at_once(options: Options, _wire: Wire) -> int:
    """Fail as servers do that lack their configuration."""
    sys.stderr.write("demo server: DEMO_API_KEY is not set\n")
    sys.stderr.write("demo server: set it and start me again\n")
    return options.exit_code


def _talk_rubbish(_options: Options, wire: Wire) -> int:
    """Be some other program, with a prompt and an opinion on every line."""
    wire.send_bytes(_WELCOME)
    for line in wire.lines():
        wire.send_bytes(b"> Unknown command: " + line[:40].strip() + b"\n")
    return 0


_BROKEN: Final[dict[str, Callable[[Options, Wire], int]]] = {
    "silent": _stay_silent,
    "exit": _exit_at_once,
    "rubbish": _talk_rubbish,
}
