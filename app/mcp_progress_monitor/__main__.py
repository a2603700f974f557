"""The installed command `mcp-progress-monitor`, and `python -m mcp_progress_monitor`.

Nothing is imported here before it is needed: a tap's client waits for that.
"""

from __future__ import annotations

import os
import sys

if not __package__ and not getattr(sys, "frozen", False):  # started by its path
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))  # noqa: PTH120
    import mcp_progress_monitor  # noqa: F401

    del sys.path[0]


_COLLECTED_AFTER = 200_000
"""The objects after which garbage is looked for: by default 700.

A start makes 70,000 that stay. Looking at them takes 20 of 250 ms of CPU, whether in a hundred
small portions or in a single one. Sessions leave hardly any garbage: a call with five million ticks
takes as much memory with the usual 700.
"""


def main() -> int:
    """Be the program, or the part of it that the first argument names (`paths.internal_command`).

    Parts are asked for by the program itself, in a bundle, where no Python can be started.
    """
    part, arguments = sys.argv[1:2], sys.argv[2:]
    if part == ["watch-servers"]:
        from mcp_progress_monitor.sessions.transport import watchdog

        return watchdog.main(arguments)
    if part == ["serve-demo"]:
        from mcp_progress_monitor.demo.__main__ import main as serve

        return serve(arguments)
    from mcp_progress_monitor.cli.tapping import plain_order, run_tap

    order = plain_order(sys.argv[1:])
    if order is not None:
        run_tap(order)
    import gc

    gc.set_threshold(_COLLECTED_AFTER)
    from mcp_progress_monitor import bundle

    bundle.restore_search_path()
    code = _run(sys.argv[1:])
    import signal

    # Do not wait for threads that are still computing: Ctrl+C ends them, without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.freeze()  # what is left ends with the process
    _discard_unwritten()
    return code


def _discard_unwritten() -> None:
    """Keep the exit code: newer Pythons (3.13.5) end with 120 if they cannot flush at the end."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str]) -> int:
    """Open the window, or let click find out what is to be done."""
    from mcp_progress_monitor.cli.common import plain_window

    common = plain_window(arguments)
    if common is None:
        from mcp_progress_monitor.cli.entry import main as run

        return run(arguments)
    from mcp_progress_monitor.cli.exits import exit_code_of

    def open_it() -> int:
        from mcp_progress_monitor.cli.desktop import open_window

        return open_window(common)

    return exit_code_of(open_it, arguments)


if __name__ == "__main__":
    sys.exit(main())
