"""What starting and ending a process with all its children means on each platform."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

if sys.platform == "win32":

    def start_options() -> dict[str, Any]:
        """Options that put a new process at the head of a group of its own."""
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def executable(command: str, environment: Mapping[str, str]) -> str:
        """The program that `command` names; Windows itself would not find `npx.cmd` as `npx`."""
        return shutil.which(command, path=environment.get("PATH")) or command

    def terminate(leader: int) -> None:
        """End the process and its children; Windows knows no polite way for them all."""
        kill(leader)

    def kill(leader: int) -> None:
        """End the process and its children at once."""
        tool = shutil.which("taskkill") or "taskkill"
        subprocess.run([tool, "/T", "/F", "/PID", str(leader)], check=False, capture_output=True)

    def is_alive(leader: int) -> bool:
        """Whether any process of the group is left: cannot be asked once its head has ended."""
        return False

else:

    def start_options() -> dict[str, Any]:
        """Options that put a new process at the head of a session and group of its own."""
        return {"start_new_session": True}

    def executable(command: str, environment: Mapping[str, str]) -> str:
        """The program that `command` names; the system searches PATH by itself."""
        return command

    def terminate(leader: int) -> None:
        """Ask every process of the group to end (SIGTERM)."""
        _signal(leader, signal.SIGTERM)

    def kill(leader: int) -> None:
        """End every process of the group at once (SIGKILL)."""
        _signal(leader, signal.SIGKILL)

    def is_alive(leader: int) -> bool:
        """Whether any process of the group is left, its head or a child that outlived it.

        A group keeps its number as long as it has a member, so that the number cannot have been
        given to strangers while this is true of our own.
        """
        return _signal(leader, 0)

    def _signal(leader: int, number: int) -> bool:
        try:
            os.killpg(leader, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            # macOS says so of a group of zombies; elsewhere a member changed its user.
            return False
        return True
