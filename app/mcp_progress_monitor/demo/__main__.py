"""The demo server on stdio, or over HTTP: started as a module, or as this file by its path.

By its path, in an isolated Python, it starts whatever lies in the current folder or on PYTHONPATH.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if not __package__:  # started by its path: the package around it is found, and nothing beside that
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    import mcp_progress_monitor.demo  # noqa: F401

    del sys.path[0]

from mcp_progress_monitor.demo import options, profiles, stdio


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client is done, or until told to end, and return the exit code."""
    wanted = options.parse(arguments)
    if wanted.http is None:
        return stdio.serve(partial(profiles.run, wanted))
    # Imported here: servers on stdio are started by the dozen, and need no sockets.
    from mcp_progress_monitor.demo.http import serving

    return serving.serve(wanted, wanted.http)


if __name__ == "__main__":
    sys.exit(main())
