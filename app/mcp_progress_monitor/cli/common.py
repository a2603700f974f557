"""The options of every command, and the plainest start of the window, without importing click.

Click and its declarations of all commands take an eighth of the time until the window is painted.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEFT_OUT: Final = (None, False, ())
COMPLETING: Final = "_MCP_PROGRESS_MONITOR_COMPLETE"  # set by shells that click completes for


class CommonOptions(NamedTuple):
    """The values of the shared options; None, () or False for those not given.

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

    @property
    def names_server(self) -> bool:
        """True if they name a server, or a place where one is found."""
        named = (self.command, self.url, self.config, self.server)
        return self.demo or any(each is not None for each in named)

    def over(self, outer: CommonOptions) -> CommonOptions:
        """These options, completed by those given before the command's name.

        An empty string counts as given, so that a script's empty variable is reported.
        """
        merged = self._asdict()
        for name in self._fields:
            if merged[name] in _LEFT_OUT:
                merged[name] = getattr(outer, name)
        merged["env"] = outer.env + self.env
        merged["header"] = outer.header + self.header
        return CommonOptions(**merged)


def plain_window(arguments: Sequence[str]) -> CommonOptions | None:
    """The options for a window alone or with the demo server; None if click is to parse them."""
    if "--" in arguments or COMPLETING in os.environ:
        return None
    options, rest = CommonOptions(), list(arguments)
    while rest:
        name, sign, value = rest.pop(0).partition("=")
        if name == "--demo" and not sign:
            options = options._replace(demo=True)
        elif name == "--data-dir" and (sign or rest):
            folder = value if sign else rest.pop(0)
            if not folder or os.path.isfile(folder):  # noqa: PTH113  # as click does
                return None
            options = options._replace(data_dir=Path(folder))
        else:
            return None
    return options
