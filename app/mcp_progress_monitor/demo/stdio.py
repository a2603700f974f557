"""The process around a server: its standard streams, and a quiet end."""

import io
from collections.abc import Callable
from typing import Final

from mcp_progress_monitor.demo.wire import Wire

_INTERRUPTED: Final = 130
_READ_SIZE: Final = 65_536


def serve(run: Callable[[Wire], int]) -> int:
    """Run a server on the process's own stdin and stdout and return its exit code.

    The streams are opened by number, because `sys.stdin` decodes and `sys.stdout` buffers.
    """
    source = io.BufferedReader(io.FileIO(0, closefd=False), _READ_SIZE)
    try:
        return run(Wire(source, io.FileIO(1, "w", closefd=False)))
    except KeyboardInterrupt:
        return _INTERRUPTED
