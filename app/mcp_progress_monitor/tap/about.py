"""What a tap knows of its session, and what it is handed by the rest of the program."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LONGEST_NAME = 60


class Rest:
    """What the rest of the program knows, as functions: called by the journal, never before.

    They may fail: the program may have been updated or removed since this process began.
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

        `limits` are how many bytes a recording's file, and all of them, may have, `is_recorded`
        whether the user wants any.
        """
        self.version = version
        self.data_dir = data_dir
        self.limits = limits
        self.shown_arguments = shown_arguments
        self.is_recorded = is_recorded


class About:
    """What is recorded: the server's name, its client's, its command, and its process's number."""

    def __init__(
        self,
        command: Sequence[str],
        name: str | None,
        client: str | None,
        variables: Iterable[str],
        pid: int,
        rest: Rest,
        script: str | None = None,
    ) -> None:
        """`name` is by default that of the command's file, `script` that of what changes bytes."""
        self.command = command
        self.name = (name or os.path.basename(command[0]) or "server")[:LONGEST_NAME]  # noqa: PTH119
        self.client = client
        self.variables = variables
        self.pid = pid
        self.rest = rest
        self.script = script
