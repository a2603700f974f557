"""The demo server on stdio, started as a module or by the path of this file.

By its path, in an isolated Python, neither the current folder nor PYTHONPATH can interfere.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if not __package__:  # started by its path: import the package, but nothing else beside it
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    import mcp_progress_monitor.demo  # noqa: F401

    del sys.path[0]

from mcp_progress_monitor.demo.eras import ERAS, Negotiation
from mcp_progress_monitor.demo.server import Server
from mcp_progress_monitor.demo.tools import TOOLS
from mcp_progress_monitor.demo.wire import PeerGoneError, Wire, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client closes the connection, and return the exit code."""
    return serve(partial(_run, _parser().parse_args(arguments)))


def _run(options: argparse.Namespace, wire: Wire) -> int:
    server = Server(wire, Negotiation(ERAS[options.era]), TOOLS, state_dir=options.state_dir)
    try:
        server.run()
        server.close()
    except PeerGoneError:
        pass
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mcp_progress_monitor.demo",
        description="An MCP server on stdio that shows progress reporting and a few faults.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--era", choices=ERAS, default="both", help="protocol revisions to serve (default: both)"
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help="folder for resumable work (default: the user's state folder)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
