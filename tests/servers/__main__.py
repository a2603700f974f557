"""Runs the test server on stdio or over HTTP, as a module or by this file's path.

By its path, it can be started in any folder.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if not __package__:
    _HERE = Path(__file__).resolve().parent  # its `http` would hide that of the standard library
    _ROOT = _HERE.parents[1]
    _others = [folder for folder in sys.path if Path(folder).resolve() != _HERE]
    sys.path[:] = [str(_ROOT), str(_ROOT / "app"), *_others]

from mcp_progress_monitor.demo.wire import serve
from tests.servers import options, server


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client disconnects or a signal arrives; return the exit code."""
    chosen = options.parse(arguments)
    if chosen.http is None:
        return serve(partial(server.run, chosen))
    # Late: tests start many servers on stdio, which need no sockets.
    from tests.servers.http import serving

    return serving.serve(chosen, chosen.http)


if __name__ == "__main__":
    sys.exit(main())
