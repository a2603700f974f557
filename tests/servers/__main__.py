"""The test server on stdio or over HTTP: started as a module, or as this file by its path.

By its path it starts in any folder; it then finds the checkout that it lies in.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

if not __package__:
    _HERE = Path(__file__).resolve().parent  # whose `http` is not that of the standard library
    _ROOT = _HERE.parents[1]
    _others = [folder for folder in sys.path if Path(folder).resolve() != _HERE]
    sys.path[:] = [str(_ROOT), str(_ROOT / "app"), *_others]

from mcp_progress_monitor.demo.wire import serve
from tests.servers import options, profiles


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client is done, or until told to end, and return the exit code."""
    wanted = options.parse(arguments)
    if wanted.http is None:
        return serve(partial(profiles.run, wanted))
    # Imported here: servers on stdio are started by the dozen, and need no sockets.
    from tests.servers.http import serving

    return serving.serve(wanted, wanted.http)


if __name__ == "__main__":
    sys.exit(main())
