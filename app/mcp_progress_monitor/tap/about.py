"""Facts about the session of a tap, and functions that it needs from the rest of the program."""

from __future__ import annotations

import os
import time

from mcp_progress_monitor.tap.naming import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LONGEST_NAME = 60


class Rest:
    """Functions of the rest of the program, called only by the journal.

    They may fail: the program may have been updated or removed since this process started.
    """

    def __init__(
        self,
        version: str,
        data_dir: Callable[[], str],
        limits: Callable[[], tuple[int, int]],
        shown_arguments: Callable[[Sequence[str]], Sequence[str]],
        is_recorded: Callable[[], bool],
    ) -> None:
        """`data_dir` is the folder of the user's data, `shown_arguments` hides secrets.

        `limits` returns the most bytes of a recording's file and of all its files, `is_recorded`
        whether recording is on.
        """
        self.version = version
        self.data_dir = data_dir
        self.limits = limits
        self.shown_arguments = shown_arguments
        self.is_recorded = is_recorded


class About:
    """The session: names of server and client, command, and process id."""

    def __init__(
        self,
        command: Sequence[str],
        name: str | None,
        client: str | None,
        variables: Iterable[str],
        rest: Rest,
    ) -> None:
        """`name` defaults to that of what the command runs."""
        self.command = command
        self.name = (name or name_of(command))[:LONGEST_NAME]
        self.client = client
        self.variables = variables
        self.pid = 0  # of the server; known once it has a process
        self.rest = rest
        self.script: str | None = None  # the name of the script, if any
        self.requests_progress = False  # whether tokens are added to requests without one
        self.tap_pid, self.client_pid = os.getpid(), os.getppid()
        self.began = time.time(), time.monotonic()
        """When the tap started, from which the recording's times count."""
