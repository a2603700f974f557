"""`tap --to URL`: a reverse proxy on this machine that records what passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.exits import ExitCode, failing

if TYPE_CHECKING:
    from pathlib import Path


def tap_url(
    to: str,
    *,
    listen: str | None,
    name: str | None,
    client: str | None,
    data_dir: Path | None,
    script: str | None = None,
    seed: int | None = None,
) -> int:
    """Run a tap until a signal ends it; the exit code. The file `script` has rules for it.

    `CommandFailed` with code 2 if it cannot begin.
    """
    from mcp_progress_monitor.cli.tapping import load_script
    from mcp_progress_monitor.tap_http.program import TapOptions, run_tap

    with failing(ExitCode.USAGE):
        rules = None if script is None else load_script(script, seed, is_http=True)
        return run_tap(TapOptions(to, listen, name, client, data_dir, rules))
